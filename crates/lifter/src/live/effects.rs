//! What one instruction does to liveness.

use luthier_isa::{Access, Flags, Inst, Reg, RegSet, Target};

use super::transfer::Sink;
use crate::class::{Classes, ExecEffect, Kind};
use crate::exec::{Modes, effect_of};

/// Feeds the effects of an instruction to `sink`, in backward order. `modes` are those in front of the instruction.
/// Calls give only the effects of the branch itself. `reads` is scratch space.
pub(crate) fn effects(inst: &Inst, classes: &Classes, modes: Modes, reads: &mut Vec<Reg>, sink: &mut impl Sink) {
    effects_with(inst, classes, modes, effect_of(classes, inst), reads, sink);
}

/// The same, given how the instruction changes EXEC.
pub(crate) fn effects_with(
    inst: &Inst,
    classes: &Classes,
    modes: Modes,
    mut effect: ExecEffect,
    reads: &mut Vec<Reg>,
    sink: &mut impl Sink,
) {
    let kind = classes.of(inst);
    let flags = inst.info().flags;
    let vector = |reg: Reg| reg.is_vgpr() || reg.is_agpr();
    // With indexing on, a VGPR operand of a VALU instruction stands for one further up.
    let indexed = kind == Kind::VectorRelative || modes.indexed && flags.contains(Flags::VALU);
    reads.clear();
    classes.for_each_access(inst, |a| {
        if a.access.reads() {
            reads.push(a.reg);
        }
        match a.access {
            _ if vector(a.reg) && indexed => {}
            Access::Write => sink.kill(a.reg),
            Access::CondWrite if vector(a.reg) && modes.exec_full => sink.kill(a.reg),
            Access::CondWrite if vector(a.reg) => sink.kill_active(a.reg),
            // A write that also reads, or a scalar one that may not happen, ends nothing.
            _ => {}
        }
    });
    if modes.exec_full && effect == ExecEffect::Grow {
        effect = ExecEffect::None;
    }
    match effect {
        ExecEffect::None => {}
        ExecEffect::Full => sink.exec_full(),
        ExecEffect::Grow => sink.exec_grows(),
        ExecEffect::Shrink => sink.exec_shrinks(),
        ExecEffect::Unknown => sink.exec_changes(),
    }
    match kind {
        // The handler, and the debugger behind it, see everything.
        Kind::Trap | Kind::Unsupported => return sink.read_set(super::all_units(classes.mode.target())),
        Kind::ScalarRelative => sink.read_set(&scalars()),
        _ => {}
    }
    if indexed {
        sink.read_set(&vectors(classes.mode.target()));
    }
    let crosses = matches!(kind, Kind::CrossLane | Kind::Readlane | Kind::Readfirstlane);
    for &reg in reads.iter() {
        // A write of one lane does not look at the register, it keeps the rest: nothing becomes live by it.
        if kind == Kind::Writelane && vector(reg) {
            continue;
        }
        if vector(reg) && !crosses {
            sink.read_active(reg);
        } else {
            sink.read(reg);
        }
    }
}

fn scalars() -> RegSet {
    (0..106).map(Reg::sgpr).collect()
}

fn vectors(target: Target) -> RegSet {
    (0..target.vgprs()).map(Reg::vgpr).collect()
}
