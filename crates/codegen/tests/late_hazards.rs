//! Hazards that outlast the twenty instructions that placement looks back, and hazards between an instruction of the
//! application and one of a hook, in either order: strict mode finds nothing in what was placed, nor does the checker.

mod support;
#[path = "support/words.rs"]
mod words;

use std::sync::Arc;

use luthier_codegen::*;
use luthier_isa::{Inst, Mode, RegSet, Target, Wave};
use luthier_lifter::Program;
use luthier_loader::CodeObject;
use support::launch::run;
use support::*;
use words::{Kernel, Words};

fn modes(targets: &[Target]) -> impl Iterator<Item = Mode> {
    Mode::all().filter(|mode| targets.contains(&mode.target()))
}

/// Strict mode finds nothing in the kernel, nor in its copy with one hook in front of one instruction.
fn nothing_is_found(mode: Mode, body: String, hook: &Arc<Template>, place: impl Fn(&Inst) -> bool) {
    let words = Words::of(mode);
    let Some(object) = Kernel { vgprs: 32, ..Kernel::of(body).unwrap() }.assemble(&words, "late") else { return };
    let title = format!("{} in waves of {}", mode.target().name(), mode.wave().lanes());
    let ran =
        |object: &CodeObject| run(mode.target(), object, "k", [64, 64]).unwrap_or_else(|e| panic!("{title}: {e}"));
    let plain = ran(&object);
    assert!(plain.report.findings.is_empty(), "{title}, as it was: {:?}", plain.report.findings[0]);
    let program = Program::lift(&object).unwrap();
    let mut plan = everywhere(&object, hook, vec![], Where::Before);
    plan.insertions.retain(|i| place(program.inst(program.instr_at(i.address).unwrap())));
    assert!(!plan.insertions.is_empty(), "{title}");
    let done = instrument(&object, &plan).unwrap_or_else(|e| panic!("{title}: {e}"));
    assert!(done.report.rejected.is_empty(), "{title}: {:?}", done.report.rejected);
    let new = CodeObject::parse(done.bytes).unwrap();
    let found = ran(&new);
    assert!(found.report.findings.is_empty(), "{title}: {:?}", found.report.findings[0]);
    assert!(found.buffers == plain.buffers, "{title}: memory differs");
}

/// Scalar instructions, more than placement looks back.
fn scalars(count: usize) -> String {
    (0..count).map(|n| format!("s_mov_b32 s{}, {n}\n", 20 + n % 20)).collect()
}

/// A hook that writes EXEC first of all, and accesses memory.
#[test]
fn exec_is_not_overwritten_while_an_access_long_ago_may_still_read_it() {
    for mode in modes(&[Target::Gfx1010, Target::Gfx1012]) {
        let Some(hook) = memory_counter_for(mode) else { return };
        let words = Words::of(mode);
        for count in [5, 19, 20, 21, 40, 100] {
            let access = format!("{} v4, v0, s[2:3]\n", words.load());
            let body = format!("{access}{}s_mov_b32 s10, 0x77\n{}", scalars(count), scalars(3));
            nothing_is_found(mode, body, &hook, |inst| inst.to_string().contains("s10, 0x77"));
        }
    }
}

/// LDS, a branch, and device memory: the hook's access is the second half.
#[test]
fn device_memory_is_not_accessed_behind_a_branch_and_lds_long_ago() {
    for mode in modes(&[Target::Gfx1010]) {
        let Some(hook) = memory_counter_for(mode) else { return };
        let words = Words::of(mode);
        for count in [5, 25, 60] {
            let access = format!("{} v0, v0\ns_branch .Lon\n.Lon:\n", words.local(false));
            let body = format!("{access}v_mov_b32_e32 v6, 0\n{}s_mov_b32 s10, 0x77\n{}", scalars(count), scalars(3));
            nothing_is_found(mode, body, &hook, |inst| inst.to_string().contains("s10, 0x77"));
        }
    }
}

/// Changes EXEC and gives it back, without a vector instruction.
fn exec_for_a_moment(mode: Mode) -> Option<Arc<Template>> {
    let source = "s_mov_b64 s[4:5], exec\ns_mov_b64 exec, 1\ns_nop 0\ns_mov_b64 exec, s[4:5]\n";
    let groups = vec![(s(4, 2), 2)];
    Maker { mode, source, groups, args: vec![], relocs: vec![], whole: RegSet::EMPTY }.make("moment")
}

#[test]
fn a_change_of_exec_between_vector_writes_is_waited_for() {
    for mode in modes(&[Target::Gfx1100]).filter(|mode| mode.wave() == Wave::W64) {
        let Some(hook) = exec_for_a_moment(mode) else { return };
        for between in ["", "s_mov_b32 s20, 3\n"] {
            let body =
                format!("v_mov_b32_e32 v5, 5\n{between}v_mov_b32_e32 v6, 0x77\n{between}v_add_nc_u32_e32 v1, v5, v6\n");
            nothing_is_found(mode, body, &hook, |inst| inst.to_string().contains("v6, 0x77"));
        }
    }
}
