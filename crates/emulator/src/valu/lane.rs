//! Moves, selection by mask, and the operations that cross lanes or reach the scalar file.

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::lanes::map1;
use crate::masks::blend;
use crate::op::{Flow, Op, RawMods};
use crate::registry::ValuOp;
use crate::wave::Wave;

#[inline(always)]
fn cndmask(w: &mut Wave, op: &Op) -> Flow {
    let mut out = *w.row(op.src[0]);
    blend(&mut out, w.row(op.src[1]), w.s64(op.ssrc));
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

/// Of each pair of groups of `by` lanes: the second group of the first register against the first group of the second
/// one. OP_SEL says what becomes of a lane whose partner EXEC has off: bit 0, it gets its value all the same; bit 1, it
/// gets zero; else it keeps its own.
#[inline(always)]
fn swap_groups(w: &mut Wave, op: &Op, by: usize) -> Flow {
    let mods = RawMods(op.imm);
    let (fetch, zero, exec) = (mods.op_sel(0), mods.op_sel(1), w.exec());
    let (first, second) = (*w.row(op.dst), *w.row(op.src[2]));
    let (mut a, mut b) = (first, second);
    let take = |own: u32, other: u32, to: usize, from: usize| match exec >> from & 1 {
        _ if exec >> to & 1 == 0 => own,
        0 if !fetch => {
            if zero {
                0
            } else {
                own
            }
        }
        _ => other,
    };
    for low in (0..64).filter(|lane| lane & by == 0) {
        let high = low + by;
        a.0[high] = take(first.0[high], second.0[low], high, low);
        b.0[low] = take(second.0[low], first.0[high], low, high);
        if op.dst == op.src[2] {
            (a.0[low], b.0[high]) = (b.0[low], a.0[high]);
        }
    }
    *w.row_mut(op.dst) = a;
    *w.row_mut(op.src[2]) = b;
    Flow::Next
}

#[inline(always)]
fn scalar_of(w: &Wave, code: u16) -> u32 {
    w.s[usize::from(code) & 255]
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VMovB32 | IsaOp::VAccvgprReadB32 | IsaOp::VAccvgprWriteB32 | IsaOp::VAccvgprMovB32 => {
            op!(w, o => map1(w, o, |a| a))
        }
        IsaOp::VCndmaskB32 => op!(w, o => cndmask(w, o)),
        IsaOp::VCndmaskB16 => op!(w, o => cndmask(w, o)).keep_high(),
        IsaOp::VSwapB32 => op!(w, o => swap(w, o)),
        IsaOp::VPermlane16SwapB32 => op!(w, o => swap_groups(w, o, 16)).raw_mods(),
        IsaOp::VPermlane32SwapB32 => op!(w, o => swap_groups(w, o, 32)).raw_mods(),
        IsaOp::VNop | IsaOp::VClrexcp => op!(scalar _w, _o => Flow::Next),
        // The lowest active lane; lane 0 if none is.
        IsaOp::VReadfirstlaneB32 => op!(scalar w, o => {
            let lane = w.exec().trailing_zeros() as usize & 63;
            w.s[usize::from(o.sdst)] = w.row(o.src[0]).0[lane];
            Flow::Next
        })
        .scalar_sources(),
        IsaOp::VReadlaneB32 => op!(scalar w, o => {
            let lane = (scalar_of(w, o.src[1]) & (w.lanes() - 1)) as usize;
            w.s[usize::from(o.sdst)] = w.row(o.src[0]).0[lane];
            Flow::Next
        })
        .scalar_sources(),
        IsaOp::VWritelaneB32 => op!(scalar w, o => {
            let (value, lane) = (scalar_of(w, o.src[0]), (scalar_of(w, o.src[1]) & (w.lanes() - 1)) as usize);
            w.row_mut(o.dst).0[lane] = value;
            Flow::Next
        })
        .scalar_sources(),
        _ => return None,
    })
}
