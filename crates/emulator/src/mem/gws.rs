//! `ds_gws_*`: global wave sync, as an instruction of a wave. What the resources do is in [`crate::gws`].
//!
//! Micro-op: `src[0]` the operand's row, `imm` offset0, `imm2` what is asked of the resource; the operation ends its block,
//! since the wave may have to wait. The hardware would let it go on until a wait for lgkmcnt, which all manuals want behind
//! the instruction at once: strict mode says so where there is none ([`UNWAITED`]).

use luthier_isa::op::Op as IsaOp;

use luthier_isa::Generation;

use crate::barrier::Waits;
use crate::error::FaultKind;
use crate::gws::{Answer, Ask, Ticket};
use crate::op::{Flow, Handler, Op};
use crate::registers::scalar;
use crate::report::FindingKind;
use crate::wave::Wave;

/// In `imm`: what follows does not wait for the operation.
pub const UNWAITED: u64 = 1 << 32;

/// The handler of an isa `base` mnemonic, `imm2`, and whether there is an operand.
pub fn lookup(op: IsaOp) -> Option<(Handler, u64, bool)> {
    let (ask, operand) = match op.name().strip_prefix("ds_gws_")? {
        "init" => (Ask::Init, true),
        "barrier" => (Ask::Barrier, true),
        "sema_v" => (Ask::Give, false),
        "sema_br" => (Ask::Give, true),
        "sema_p" => (Ask::Take, false),
        "sema_release_all" => (Ask::ReleaseAll, false),
        _ => return None,
    };
    let code = ASKS.iter().position(|&a| a == ask)? as u64 | if operand { OPERAND } else { 0 };
    Some((gws, code, operand))
}

const ASKS: [Ask; 5] = [Ask::Init, Ask::Barrier, Ask::Give, Ask::Take, Ask::ReleaseAll];
/// In `imm2`: there is an operand.
const OPERAND: u64 = 8;

fn refuse(w: &mut Wave, message: String) -> Flow {
    w.fault(FaultKind::Unsupported, message)
}

fn gws(w: &mut Wave, op: &Op) -> Flow {
    let ask = ASKS[(op.imm2 & 7) as usize % ASKS.len()];
    let operand = op.imm2 & OPERAND != 0;
    if op.imm & UNWAITED != 0
        && let Some(strict) = &mut w.strict
    {
        let message = "the next instruction is not a wait for lgkmcnt(0), which an operation of global wave sync needs";
        strict.report(FindingKind::MissingWait, None, None, message.into());
    }
    let lane = match w.exec() {
        // RDNA3's manual: what has an operand takes that of lane 0, the others do nothing.
        0 if w.generation == Generation::Gfx11 && operand => 0,
        0 if w.generation == Generation::Gfx11 => return Flow::Fall,
        0 => return refuse(w, "what global wave sync does with no lane active is not documented".into()),
        exec => exec.trailing_zeros() as usize,
    };
    let number = ((w.s[usize::from(scalar::M0)] >> 16).wrapping_add(op.imm as u32) & 63) as u8;
    let value = if operand { w.row(op.src[0]).0[lane] } else { 1 };
    let asked = match w.barrier.global() {
        Some(global) => global.ask(number, ask, value),
        None => Err("there is no global wave sync here".into()),
    };
    let answer = match asked {
        Ok(answer) => answer,
        Err(message) => return refuse(w, message),
    };
    tell(w, number, ask, answer);
    match answer.waits {
        None => {
            if matches!(ask, Ask::Barrier | Ask::Take) {
                acquire(w, key(number, ask, answer.round));
            }
            Flow::Fall
        }
        Some(ticket) => {
            w.barrier.wait_globally(w.place.wave_in_group, ticket);
            Flow::Barrier
        }
    }
}

/// How strict mode's order of waves calls a round of a resource: beyond its own numbers of barriers.
fn key(number: u8, ask: Ask, round: u64) -> u32 {
    let round = if ask == Ask::Barrier { round as u32 % ROUNDS } else { ROUNDS };
    1 << 31 | u32::from(number) << 24 | round
}

/// Rounds that are told apart; several may be under way at a time.
const ROUNDS: u32 = 1 << 4;

/// Strict mode: what the wave has done so far is known to those whom it releases.
fn tell(w: &mut Wave, number: u8, ask: Ask, answer: Answer) {
    let Some(strict) = &mut w.strict else { return };
    match ask {
        Ask::Init | Ask::Take => {}
        Ask::Barrier => {
            // A key is used again long after the last round that had it.
            let old = key(number, ask, answer.round.wrapping_add(u64::from(ROUNDS) / 2));
            strict.signal(key(number, ask, answer.round), Some(old));
        }
        Ask::Give | Ask::ReleaseAll => strict.signal(key(number, ask, 0), None),
    }
}

fn acquire(w: &mut Wave, key: u32) {
    if let Some(strict) = &mut w.strict {
        strict.pass(key);
    }
}

/// Strict mode where a wave goes on that has waited.
pub(crate) fn passed(w: &mut Wave) {
    let ticket = match w.barrier.waits(w.place.wave_in_group) {
        Waits::Globally(ticket) => ticket,
        _ => return,
    };
    match ticket {
        Ticket::Barrier(number, round) => acquire(w, key(number, Ask::Barrier, round)),
        Ticket::Semaphore(number, _) => acquire(w, key(number, Ask::Take, 0)),
    }
}
