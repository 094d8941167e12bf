//! DS instructions that exchange data between lanes and touch no memory.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::Generation;

use super::lanes;
use crate::op::{Flow, Handler, Op};
use crate::wave::{Row, Wave};

/// The lane that lane `i` reaches by an address. Up to RDNA3 the halves of a wave of RDNA stay among themselves (LLVM's
/// GCNSubtarget::supportsWaveWideBPermute).
#[inline(always)]
fn reached(w: &Wave, i: usize, address: u32) -> usize {
    let lane = (address >> 2) as usize;
    match w.generation {
        Generation::Gfx10 | Generation::Gfx11 => i & 32 | lane & 31,
        _ => lane & (w.lanes() as usize - 1),
    }
}

/// Lane `i` reads lane `address / 4`; inactive lanes read as zero.
fn bpermute(w: &mut Wave, op: &Op) -> Flow {
    let (exec, data) = (w.exec(), *w.row(op.src[1]));
    let from = w.row(op.src[0]);
    let mut out = Row::ZERO;
    for i in 0..64 {
        let source = reached(w, i, from.0[i].wrapping_add(op.imm as u32));
        out.0[i] = if exec >> source & 1 != 0 { data.0[source] } else { 0 };
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// The same from inactive lanes too.
fn bpermute_all(w: &mut Wave, op: &Op) -> Flow {
    let (data, from) = (w.row(op.src[1]), w.row(op.src[0]));
    let mut out = Row::ZERO;
    for i in 0..64 {
        out.0[i] = data.0[reached(w, i, from.0[i].wrapping_add(op.imm as u32))];
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// Lane `i` writes lane `address / 4`; the highest writer wins; lanes that no lane writes get zero.
fn permute(w: &mut Wave, op: &Op) -> Flow {
    let (exec, data) = (w.exec(), *w.row(op.src[1]));
    let to = *w.row(op.src[0]);
    let mut out = Row::ZERO;
    for i in lanes(exec) {
        out.0[reached(w, i, to.0[i].wrapping_add(op.imm as u32))] = data.0[i];
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// A fixed pattern within each 32 (bit masks, rotation) or 4 lanes; inactive lanes read as zero.
fn swizzle(w: &mut Wave, op: &Op) -> Flow {
    let (exec, data, pattern) = (w.exec(), *w.row(op.src[0]), op.imm as usize);
    let mut out = Row::ZERO;
    for i in 0..64 {
        let source = if pattern >= 0xc000 {
            let (mask, by) = (pattern & 31, pattern >> 5 & 31);
            let turned = if pattern >> 10 & 1 != 0 { i + 32 - by } else { i + by };
            i & 32 | i & mask | turned & !mask & 31
        } else if pattern & 0x8000 != 0 {
            i & !3 | pattern >> (2 * (i & 3)) & 3
        } else {
            let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
            i & 32 | ((i & 31 & and) | or) ^ xor
        };
        out.0[i] = if exec >> source & 1 != 0 { data.0[source] } else { 0 };
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// The handler of a cross-lane DS instruction. `offset` is its 16-bit offset.
pub fn lookup(op: IsaOp, offset: u32) -> Option<Handler> {
    match op {
        IsaOp::DsBpermuteB32 => Some(bpermute),
        IsaOp::DsBpermuteFiB32 => Some(bpermute_all),
        IsaOp::DsPermuteB32 => Some(permute),
        // The FFT patterns, from 0xe000 on, are refused.
        IsaOp::DsSwizzleB32 if offset < 0xe000 => Some(swizzle),
        IsaOp::DsNop => Some(super::nothing),
        _ => None,
    }
}
