//! Instructions by which waves meet: what one wave does there can matter to another one, or depend on it.
//!
//! Between two of them a wave is alone, so that the order in which waves run matters at these only: accesses to memory
//! that is not the wave's or a lane's own, barriers, global wave sync, sleeping, and messages to the host.

use luthier_isa::op::Op;
use luthier_isa::{Flags, Format, Inst, Space};

/// Whether an instruction is such.
pub fn meets(inst: &Inst) -> bool {
    let info = inst.info();
    inst.memory().is_some_and(|access| access.space != Space::Scratch || access.lds)
        || info.flags.contains(Flags::BARRIER)
        || info.format == Format::Tensor
        || syncs(inst)
        || matches!(info.op(), Op::SSleep | Op::SSleepVar | Op::SMonitorSleep | Op::SSendmsg | Op::SSendmsghalt)
}

/// Whether it is one of a barrier with a number or of global wave sync, whose order among waves counts. That waves come
/// to their workgroup's barrier, and leave it, is the same in any order.
pub fn syncs(inst: &Inst) -> bool {
    let op = inst.info().op();
    let of_workgroup =
        || inst.operands().any(|(info, _)| inst.constant(info).is_some_and(|number| number as i16 == -1));
    match op {
        Op::SBarrier => false,
        Op::SBarrierSignal | Op::SBarrierWait => !of_workgroup(),
        Op::SGetBarrierState => true,
        _ => op.is_gws() || inst.info().flags.contains(Flags::BARRIER),
    }
}
