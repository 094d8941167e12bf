//! What one instruction does to liveness.

use luthier_isa::{Access, Flags, Inst, Reg, RegRange, RegSet, Target};

use super::transfer::Sink;
use crate::class::{Classes, ExecEffect, Kind, Role};
use crate::exec::Modes;

/// Feeds the effects of an instruction to `sink`, in backward order. `modes` are those in front of the instruction.
/// Calls give only the effects of the branch itself.
#[inline]
pub(crate) fn effects(inst: &Inst, role: Role, classes: &Classes, modes: Modes, sink: &mut impl Sink) {
    let Role { kind, exec } = role;
    let vector = |range: RegRange| range.first.is_vgpr() || range.first.is_agpr();
    // With indexing on, a VGPR operand of a VALU instruction stands for one further up.
    let indexed = kind == Kind::VectorRelative || modes.indexed && inst.info().flags.contains(Flags::VALU);
    classes.for_each_write(inst, |range, access| match access {
        _ if vector(range) && indexed => {}
        Access::Write => sink.kill(range),
        Access::CondWrite if vector(range) && modes.exec_full => sink.kill(range),
        Access::CondWrite if vector(range) => sink.kill_active(range),
        // A write that also reads, or a scalar one that may not happen, ends nothing.
        _ => {}
    });
    match exec {
        ExecEffect::Grow if modes.exec_full => {}
        ExecEffect::None => {}
        exec => sink.exec(exec),
    }
    match kind {
        // The program stops; where the queue is told of, that is in the first two.
        Kind::Trap if crate::ends::is_llvm_trap(inst) => {
            return sink.read_set(&[Reg::sgpr(0), Reg::sgpr(1)].into_iter().collect());
        }
        // The handler, and the debugger behind it, see everything.
        Kind::Trap | Kind::Unsupported => return sink.read_set(super::all_units(classes.mode.target())),
        Kind::ScalarRelative => sink.read_set(&scalars()),
        _ => {}
    }
    if indexed {
        sink.read_set(&vectors(classes.mode.target()));
    }
    let crosses = matches!(kind, Kind::CrossLane | Kind::Readlane | Kind::Readfirstlane);
    classes.for_each_read(inst, |range| match vector(range) {
        // A write of one lane does not look at the register, it keeps the rest: nothing becomes live by it.
        true if kind == Kind::Writelane => {}
        true if !crosses => sink.read_active(range),
        _ => sink.read(range),
    });
}

fn scalars() -> RegSet {
    (0..106).map(Reg::sgpr).collect()
}

fn vectors(target: Target) -> RegSet {
    (0..target.vgprs()).map(Reg::vgpr).collect()
}
