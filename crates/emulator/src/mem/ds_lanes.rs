//! DS instructions that exchange data between lanes and touch no memory.

use super::lanes;
use crate::op::{Flow, Handler, Op};
use crate::wave::{Row, Wave};

/// Lane `i` reads lane `address / 4`; inactive lanes read as zero.
fn bpermute(w: &mut Wave, op: &Op) -> Flow {
    let (exec, data) = (w.exec(), *w.row(op.src[1]));
    let from = w.row(op.src[0]);
    let mut out = Row::ZERO;
    for i in 0..64 {
        let source = (from.0[i].wrapping_add(op.imm as u32) >> 2 & 63) as usize;
        out.0[i] = if exec >> source & 1 != 0 { data.0[source] } else { 0 };
    }
    w.write(op.dst, &out);
    Flow::Next
}

/// Lane `i` writes lane `address / 4`; the highest writer wins, lanes that nobody writes get zero.
fn permute(w: &mut Wave, op: &Op) -> Flow {
    let (exec, data) = (w.exec(), *w.row(op.src[1]));
    let to = *w.row(op.src[0]);
    let mut out = Row::ZERO;
    for i in lanes(exec) {
        out.0[(to.0[i].wrapping_add(op.imm as u32) >> 2 & 63) as usize] = data.0[i];
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
pub fn lookup(base: &str, offset: u32) -> Option<Handler> {
    match base {
        "ds_bpermute_b32" => Some(bpermute),
        "ds_permute_b32" => Some(permute),
        // The FFT patterns, from 0xe000 on, are refused.
        "ds_swizzle_b32" if offset < 0xe000 => Some(swizzle),
        "ds_nop" => Some(super::nothing),
        _ => None,
    }
}
