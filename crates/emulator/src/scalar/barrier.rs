//! Barriers with numbers, as RDNA4 and gfx1250 have them. The state is [`crate::barrier`]'s.
//!
//! A number is an immediate or in M0, whose upper half has the member count of `s_barrier_init` and, unless it is zero,
//! of a signal.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::Generation;

use super::{s32, set32};
use crate::barrier::{Arrival, WORKGROUP, Waits};
use crate::error::FaultKind;
use crate::op::{Flow, Handler, Op};
use crate::registers::scalar;
use crate::report::FindingKind;
use crate::strict::Party;
use crate::wave::Wave;

/// The number, and the member count where it comes from M0.
fn operand(w: &Wave, op: &Op, mask: u32) -> (i32, u32) {
    let value = s32(w, op, 0);
    if op.src[0] == u16::from(scalar::M0) { ((value & mask) as i32, value >> 16 & 0x7f) } else { (value as i32, 0) }
}

fn refuse(w: &mut Wave, message: String) -> Flow {
    w.fault(FaultKind::Unsupported, message)
}

/// A mistake that the hardware lets pass.
fn notice(w: &mut Wave, mistake: bool, message: &str) {
    if mistake && let Some(strict) = &mut w.strict {
        strict.report(FindingKind::BarrierDivergence, None, None, message.into());
    }
}

fn arrived(w: &mut Wave, arrival: Option<Arrival>) {
    if let (Some(arrival), Some(strict)) = (arrival, &mut w.strict) {
        strict.arrive(arrival.key, arrival.completes);
    }
}

fn signal(w: &mut Wave, op: &Op) -> Result<Option<Arrival>, String> {
    let (number, members) = operand(w, op, 31);
    let wave = w.place.wave_in_group;
    let again = number == WORKGROUP && w.barrier.signals_again(wave);
    notice(w, again, "the wave signals the workgroup's barrier again without having waited for it");
    let arrival = w.barrier.signal(wave, number, members)?;
    arrived(w, arrival);
    Ok(arrival)
}

/// SCC of a signal that does nothing is 0 in the RDNA4 manual. gfx1250 leaves it alone: LLVM has a workgroup of one wave
/// signal its cluster's barrier by setting SCC before.
fn signal_isfirst(w: &mut Wave, op: &Op) -> Result<(), String> {
    match signal(w, op)? {
        Some(arrival) => w.set_scc(arrival.first),
        None if w.generation == Generation::Gfx1250 => {}
        None => w.set_scc(false),
    }
    Ok(())
}

fn wait(w: &mut Wave, number: i32) -> Flow {
    let wave = w.place.wave_in_group;
    let unjoined = number > 0 && w.barrier.joined(wave) == 0;
    notice(w, unjoined, "the wave waits for a named barrier and has joined none, so nothing holds it");
    match w.barrier.wait(wave, number) {
        Ok(true) => {
            passed(w);
            Flow::Fall
        }
        Ok(false) => Flow::Barrier,
        Err(message) => refuse(w, message),
    }
}

/// Strict mode where a wave has passed what it waited for.
pub(crate) fn passed(w: &mut Wave) {
    if let Waits::Globally(_) = w.barrier.waits(w.place.wave_in_group) {
        return crate::mem::gws::passed(w);
    }
    let Some(strict) = &mut w.strict else { return };
    let wave = w.place.wave_in_group;
    strict.pass(w.barrier.waits_key(wave));
    if w.barrier.waits(wave) == Waits::For(WORKGROUP) && !w.barrier.is_single() {
        strict.compare_wait(w.barrier.round(wave));
        if let Some((wave, pc)) = w.barrier.absent() {
            let message = "another wave of the workgroup has ended without coming to this barrier".to_string();
            strict.report_pair(FindingKind::BarrierDivergence, message, Party { pc, wave });
        }
    }
}

macro_rules! barrier {
    (|$w:ident, $op:ident| $body:expr) => {{
        fn run($w: &mut Wave, $op: &Op) -> Flow {
            let done: Result<(), String> = $body;
            match done {
                Ok(()) => Flow::Next,
                Err(message) => refuse($w, message),
            }
        }
        Some(run as Handler)
    }};
}

pub(super) fn lookup(op: IsaOp) -> Option<Handler> {
    match op {
        IsaOp::SBarrierSignal => barrier!(|w, op| signal(w, op).map(|_| ())),
        IsaOp::SBarrierSignalIsfirst => barrier!(|w, op| signal_isfirst(w, op)),
        IsaOp::SBarrierWait => {
            fn run(w: &mut Wave, op: &Op) -> Flow {
                wait(w, (op.imm as i16).into())
            }
            Some(run)
        }
        IsaOp::SGetBarrierState => barrier!(|w, op| {
            let state = w.barrier.state(operand(w, op, 31).0);
            state.map(|state| set32(w, op, state))
        }),
        IsaOp::SBarrierInit => barrier!(|w, op| {
            let members = w.s[usize::from(scalar::M0)] >> 16 & 0x7f;
            w.barrier.init(operand(w, op, 0xffff).0, members)
        }),
        IsaOp::SBarrierJoin => barrier!(|w, op| w.barrier.join(w.place.wave_in_group, operand(w, op, 0xffff).0)),
        IsaOp::SBarrierLeave => barrier!(|w, _op| {
            let unjoined = w.barrier.joined(w.place.wave_in_group) == 0;
            notice(w, unjoined, "the wave leaves a named barrier and has joined none");
            w.barrier.leave(w.place.wave_in_group).map(|(empty, arrival)| {
                arrived(w, arrival);
                w.set_scc(empty);
            })
        }),
        _ => None,
    }
}
