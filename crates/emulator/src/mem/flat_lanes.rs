//! Loads and stores of global memory and scratch in which the lane's number, M0 or the neighbours have a say.
//!
//! *Transposing* (RDNA4, waves of 32 lanes): every lane loads eight elements, from where it says; then groups of eight
//! lanes exchange them, so that each lane has one element of each of eight lanes. In AMD's documents that is a picture;
//! which lanes they are has been measured on gfx1201 (public notes on the kernels of two projects agree).
//!
//! *Blocks*: up to 32 registers, those that M0 has a bit for; each has its place in memory, whether others are moved or not.
//!
//! *By lane number*: the address is a scalar base and four times the lane's number.

use luthier_isa::op::Op as IsaOp;

use super::access::{self, Addresses, Rows};
use super::flat::{self, Encoded};
use super::{Action, Transfer};
use crate::masks::lanes;
use crate::op::{Flow, Handler, Op};
use crate::registers::{Row, scalar};
use crate::wave::Wave;

/// Eight elements of `BITS` bits for each lane. `from(lane, k)` is the lane whose row element `k` comes from.
fn transposed<const BITS: usize>(w: &mut Wave, op: &Op, from: impl Fn(usize, usize) -> usize) -> Flow {
    let words = BITS / 4;
    let exec = w.exec();
    let mut at = Addresses { lane: [0; 64], mask: exec, stride: 4 };
    flat::global_addresses(w, op, &mut at.lane);
    let rows = Rows { dst: op.dst, data: op.dst, words: words as u8 };
    let flow = access::perform(w, Action::Load(Transfer::Words), rows, &at);
    if flow != Flow::Next {
        return flow;
    }
    let loaded: [Row; 4] = std::array::from_fn(|k| if k < words { *w.row(op.dst + k as u16) } else { Row::ZERO });
    let mut out = [Row::ZERO; 4];
    for lane in lanes(exec) {
        let (bit, mask) = (lane % 8 * BITS, (1u32 << BITS) - 1);
        for k in 0..8 {
            let source = from(lane, k);
            // What a lane that is off would have loaded is undefined.
            if exec >> source & 1 != 0 {
                let element = loaded[bit / 32].0[source] >> (bit % 32) & mask;
                out[k * BITS / 32].0[lane] |= element << (k * BITS % 32);
            }
        }
    }
    for (k, row) in out[..words].iter().enumerate() {
        w.write(op.dst + k as u16, row);
    }
    Flow::Next
}

fn halves(w: &mut Wave, op: &Op) -> Flow {
    transposed::<16>(w, op, |lane, k| lane / 8 * 8 + k)
}

fn bytes(w: &mut Wave, op: &Op) -> Flow {
    transposed::<8>(w, op, |lane, k| lane / 16 * 16 + lane / 8 % 2 * 4 + k / 4 * 8 + k % 4)
}

/// The registers that M0 has a bit for, one word each.
fn chosen(w: &Wave, op: &Op) -> impl Iterator<Item = (u32, Rows)> + use<> {
    let (bits, dst, data) = (w.s[usize::from(scalar::M0)], op.dst, op.src[1]);
    (0..32u16)
        .filter(move |k| bits >> k & 1 != 0)
        .map(move |k| (4 * u32::from(k), Rows { dst: dst + k, data: data + k, words: 1 }))
}

fn global_block(w: &mut Wave, op: &Op) -> Flow {
    let mut first = [0; 64];
    flat::global_addresses(w, op, &mut first);
    let (action, mask) = (Encoded(op.imm2).action(), w.exec());
    for (offset, rows) in chosen(w, op) {
        let at = Addresses { lane: first.map(|a: u64| a.wrapping_add(offset.into())), mask, stride: 4 };
        let flow = access::perform(w, action, rows, &at);
        if flow != Flow::Next {
            return flow;
        }
    }
    Flow::Next
}

fn scratch_block(w: &mut Wave, op: &Op) -> Flow {
    let first = flat::scratch_offsets(w, op);
    let (action, mask) = (Encoded(op.imm2).action(), w.exec());
    for (offset, rows) in chosen(w, op) {
        let flow = flat::private_access(w, action, rows, &first.map(|a| a.wrapping_add(offset)), mask, |i| i);
        if flow != Flow::Next {
            return flow;
        }
    }
    Flow::Next
}

fn by_lane(w: &mut Wave, op: &Op) -> Flow {
    let base = if op.ssrc == flat::NO_BASE { 0 } else { w.s64(op.ssrc) }.wrapping_add(op.imm);
    let lane = std::array::from_fn(|lane| base.wrapping_add(4 * lane as u64));
    let rows = Rows { dst: op.dst, data: op.src[1], words: 1 };
    access::perform(w, Encoded(op.imm2).action(), rows, &Addresses { lane, mask: w.exec(), stride: 4 })
}

/// The handler of an operation, what it does, and the registers that it moves at most.
pub fn lookup(op: IsaOp) -> Option<(Handler, Action, u16)> {
    const LOAD: Action = Action::Load(Transfer::Words);
    const STORE: Action = Action::Store(Transfer::Words);
    Some(match op {
        IsaOp::GlobalLoadTrB128 => (halves, LOAD, 4),
        IsaOp::GlobalLoadTrB64 => (bytes, LOAD, 2),
        IsaOp::GlobalLoadBlock => (global_block, LOAD, 32),
        IsaOp::GlobalStoreBlock => (global_block, STORE, 32),
        IsaOp::ScratchLoadBlock => (scratch_block, LOAD, 32),
        IsaOp::ScratchStoreBlock => (scratch_block, STORE, 32),
        IsaOp::GlobalLoadDwordAddtid => (by_lane, LOAD, 1),
        IsaOp::GlobalStoreDwordAddtid => (by_lane, STORE, 1),
        _ => return None,
    })
}
