//! DS instructions that exchange data between lanes and touch no memory.

use luthier_isa::op::Op as IsaOp;

use luthier_isa::Generation;

use crate::crossing::{self, Sources};
use crate::masks::lanes;
use crate::op::{Flow, Handler, Op};
use crate::registers::Row;
use crate::wave::Wave;

/// The lane that each lane reaches by an address: some bits of it count, some of the lane's own number stay. Up to RDNA3 the
/// halves of a wave of RDNA stay among themselves (LLVM's GCNSubtarget::supportsWaveWideBPermute).
fn reached(w: &Wave, addresses: &Row, offset: u64) -> Sources {
    let (counts, stays) = match w.generation {
        Generation::Gfx10 | Generation::Gfx11 => (31, 32),
        _ => (w.lanes() - 1, 0),
    };
    let mut lanes = Row::ZERO;
    for i in 0..64 {
        lanes.0[i] = addresses.0[i].wrapping_add(offset as u32) >> 2 & counts | i as u32 & stays;
    }
    lanes
}

/// Whether an operation has each lane read any lane of the wave.
pub fn reaches_all(op: IsaOp, mode: luthier_isa::Mode) -> bool {
    if !matches!(op, IsaOp::DsBpermuteB32 | IsaOp::DsBpermuteFiB32) {
        return false;
    }
    let halves = matches!(mode.target().generation(), Generation::Gfx10 | Generation::Gfx11);
    !halves || mode.wave() == luthier_isa::Wave::W32
}

/// Lane `i` reads lane `address / 4`; inactive lanes read as zero.
fn bpermute(w: &mut Wave, op: &Op) -> Flow {
    let from = reached(w, w.row(op.src[0]), op.imm);
    let out = crossing::read(w.row(op.src[1]), &from, w.exec());
    w.write(op.dst, &out);
    Flow::Next
}

/// The same from inactive lanes too.
fn bpermute_all(w: &mut Wave, op: &Op) -> Flow {
    let from = reached(w, w.row(op.src[0]), op.imm);
    let out = crossing::read(w.row(op.src[1]), &from, !0);
    w.write(op.dst, &out);
    Flow::Next
}

/// Lane `i` writes lane `address / 4`; the highest writer wins; lanes that no lane writes get zero.
fn permute(w: &mut Wave, op: &Op) -> Flow {
    let (exec, data) = (w.exec(), *w.row(op.src[1]));
    let to = reached(w, w.row(op.src[0]), op.imm);
    let mut out = Row::ZERO;
    for i in lanes(exec) {
        out.0[to.0[i] as usize & 63] = data.0[i];
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// A fixed pattern within each 32 (bit masks, rotation) or 4 lanes; inactive lanes read as zero.
fn swizzle(w: &mut Wave, op: &Op) -> Flow {
    let pattern = op.imm as usize;
    let from = if pattern >= 0xc000 {
        let (mask, by) = (pattern & 31, pattern >> 5 & 31);
        let by = if pattern >> 10 & 1 != 0 { 32 - by } else { by };
        crossing::sources(|i| i & 32 | i & mask | (i + by) & !mask & 31)
    } else if pattern & 0x8000 != 0 {
        crossing::sources(|i| i & !3 | pattern >> (2 * (i & 3)) & 3)
    } else {
        let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
        crossing::sources(|i| i & 32 | ((i & 31 & and) | or) ^ xor)
    };
    let out = crossing::read(w.row(op.src[0]), &from, w.exec());
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
