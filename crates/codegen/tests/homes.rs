//! Kernels that leave hooks no VGPR: the hooks' are put into scratch, which the kernel is given above its own.

mod support;

use luthier_codegen::*;
use luthier_isa::Mode;
use luthier_loader::CodeObject;
use support::launch::ran;
use support::*;

/// One processor of each kind whose scratch only code can find.
fn modes() -> Vec<Mode> {
    let some = ["gfx906", "gfx90a", "gfx1010", "gfx1030"];
    let wanted = |m: &Mode| m.target().has_tables() && (all_targets() || some.contains(&m.target().name()));
    Mode::all().filter(wanted).filter(|m| !m.target().name().ends_with("generic")).collect()
}

#[test]
fn kernels_without_a_free_vgpr_lend_theirs_which_wait_in_scratch() {
    for mode in modes() {
        let Some(object) = kernel_for(mode, "pressure", "O2") else { return };
        let Some(hook) = memory_counter_for(mode) else { return };
        let title = format!("{} in waves of {}", mode.target().name(), mode.wave().lanes());
        let places: &[Where] = if all_targets() { &[Where::Before, Where::After] } else { &[Where::Before] };
        for &at in places {
            let done =
                instrument(&object, &everywhere(&object, &hook, vec![], at)).unwrap_or_else(|e| panic!("{title}: {e}"));
            assert!(done.report.rejected.is_empty(), "{title}: {:?}", done.report.rejected.first());
            let new = CodeObject::parse(done.bytes).unwrap();
            let lent: Vec<_> = done.report.registers.iter().filter(|k| k.scratch_after > k.scratch_before).collect();
            assert_eq!(lent.len(), 2, "{title}: {lent:?}");
            for kernel in ["pressure", "pressure_flat"] {
                let noted = new.kernel(kernel).and_then(|k| k.metadata()).and_then(|m| m.private_segment_fixed_size);
                assert_eq!(noted, lent.iter().find(|k| k.kernel == kernel).map(|k| k.scratch_after.into()), "{title}");
                let plain = ran(&object, mode, kernel);
                let after = ran(&new, mode, kernel);
                after.assert_like(&plain, &format!("{title}: {kernel}"));
                assert!(plain.buffers[1].iter().any(|byte| *byte != 0), "{title}: {kernel} leaves nothing behind");
                if at == Where::Before {
                    assert_eq!(after.total, Some(plain.report.instructions), "{title}: {kernel}");
                }
            }
        }
    }
}
