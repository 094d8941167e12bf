//! Kernels that leave hooks no VGPR: the hooks' are put into scratch, which the kernel is given above its own.

#[path = "support/launch.rs"]
mod launches;
mod support;

use launches::{BUFFER, launch_of};
use luthier_codegen::*;
use luthier_emulator::{Device, DeviceConfig, Launch, LaunchReport, Strict};
use luthier_isa::Mode;
use luthier_loader::CodeObject;
use support::*;

fn all() -> bool {
    std::env::var_os("LUTHIER_ALL_TARGETS").is_some()
}

/// One processor of each kind whose scratch only code can find.
fn modes() -> Vec<Mode> {
    let some = ["gfx906", "gfx90a", "gfx1010", "gfx1030"];
    let wanted = |m: &Mode| m.target().has_tables() && (all() || some.contains(&m.target().name()));
    Mode::all().filter(wanted).filter(|m| !m.target().name().ends_with("generic")).collect()
}

fn run(object: &CodeObject, mode: Mode, kernel: &str) -> (Vec<Vec<u8>>, Option<u64>, LaunchReport) {
    let device = Device::new(mode.target(), DeviceConfig::default());
    let module = device.load(object).unwrap();
    // The last wave is not full.
    let (launch, buffers) = launch_of(&device, module, object, kernel, [120, 120]).unwrap();
    let report = device.launch(&Launch { strict: Strict::On, ..launch });
    let report = report.unwrap_or_else(|e| panic!("{} {kernel}: {e}", mode.target().name()));
    let read = |address: &u64, len: usize| {
        let mut bytes = vec![0; len];
        device.read(*address, &mut bytes).unwrap();
        bytes
    };
    let total = device.symbol(module, "tool.total").map(|(address, _)| read(&address, 8));
    let total = total.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    (buffers.iter().map(|b| read(b, BUFFER)).collect(), total, report)
}

#[test]
fn kernels_without_a_free_vgpr_lend_theirs_which_wait_in_scratch() {
    for mode in modes() {
        let Some(object) = kernel_for(mode, "pressure", "O2") else { return };
        let Some(hook) = memory_counter_for(mode) else { return };
        let title = format!("{} in waves of {}", mode.target().name(), mode.wave().lanes());
        let places: &[Where] = if all() { &[Where::Before, Where::After] } else { &[Where::Before] };
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
                let (memory, _, plain) = run(&object, mode, kernel);
                let (new_memory, total, report) = run(&new, mode, kernel);
                assert!(memory == new_memory, "{title}: {kernel}: memory differs");
                assert!(memory[1].iter().any(|byte| *byte != 0), "{title}: {kernel} leaves nothing behind");
                assert_eq!(report.app_instructions, plain.instructions, "{title}: {kernel}");
                // What the compiler's code does wrong by itself may be right with something in between.
                let found = report.findings.first();
                assert!(report.findings.len() <= plain.findings.len(), "{title}: {kernel}: {found:?}");
                if at == Where::Before {
                    assert_eq!(total, Some(plain.instructions), "{title}: {kernel}");
                }
            }
        }
    }
}
