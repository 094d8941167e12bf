//! Moves, selection by mask, and the operations that cross lanes or reach the scalar file.

use super::op;
use crate::lanes::{fill3, map1};
use crate::masks::unpack;
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

#[inline(always)]
fn cndmask(w: &mut Wave, op: &Op) -> Flow {
    let select = unpack(w.s64(op.ssrc));
    let mut out = Row::ZERO;
    fill3(&mut out, w.row(op.src[0]), w.row(op.src[1]), &select, |a, b, mask| a & !mask | b & mask);
    w.write(op.dst, &out);
    Flow::Next
}

/// Both operands are written: the lowering gives the second in `src[2]`.
#[inline(always)]
fn swap(w: &mut Wave, op: &Op) -> Flow {
    let (a, b) = (*w.row(op.dst), *w.row(op.src[2]));
    w.write(op.dst, &b);
    w.write(op.src[2], &a);
    Flow::Next
}

#[inline(always)]
fn scalar_of(w: &Wave, code: u16) -> u32 {
    w.s[usize::from(code) & 255]
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    Some(match base {
        "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" => {
            op!(w, o => map1(w, o, |a| a))
        }
        "v_cndmask_b32" => op!(w, o => cndmask(w, o)),
        "v_swap_b32" => op!(w, o => swap(w, o)),
        "v_nop" | "v_clrexcp" => op!(scalar _w, _o => Flow::Next),
        // The lowest active lane; lane 0 if none is.
        "v_readfirstlane_b32" => op!(scalar w, o => {
            let lane = w.exec().trailing_zeros() as usize & 63;
            w.s[usize::from(o.sdst)] = w.row(o.src[0]).0[lane];
            Flow::Next
        })
        .scalar_sources(),
        "v_readlane_b32" => op!(scalar w, o => {
            let lane = scalar_of(w, o.src[1]) as usize & 63;
            w.s[usize::from(o.sdst)] = w.row(o.src[0]).0[lane];
            Flow::Next
        })
        .scalar_sources(),
        "v_writelane_b32" => op!(scalar w, o => {
            let (value, lane) = (scalar_of(w, o.src[0]), scalar_of(w, o.src[1]) as usize & 63);
            w.row_mut(o.dst).0[lane] = value;
            Flow::Next
        })
        .scalar_sources(),
        _ => return None,
    })
}
