//! Operations that RDNA4 adds: minima and maxima that propagate NaNs (whose results are not flushed: see
//! [`crate::fp::minmax`]).

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::fp;
use crate::fp::minmax::{maximum16, maximum32, maximum64, minimum16, minimum32, minimum64};
use crate::lanes::{lane64, map2, map3, write64};
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

#[inline(always)]
fn two32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let m = w.mode;
    map2(w, op, |a, b| f(fp::in32(m, a), fp::in32(m, b)))
}
#[inline(always)]
fn two16(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let m = w.mode;
    map2(w, op, |a, b| f(fp::in16(m, a), fp::in16(m, b)))
}
#[inline(always)]
fn three32(w: &mut Wave, op: &Op, f: impl Fn(u32, u32, u32) -> u32) -> Flow {
    let m = w.mode;
    map3(w, op, |a, b, c| f(fp::in32(m, a), fp::in32(m, b), fp::in32(m, c)))
}
#[inline(always)]
fn three16(w: &mut Wave, op: &Op, f: impl Fn(u32, u32, u32) -> u32) -> Flow {
    let m = w.mode;
    map3(w, op, |a, b, c| f(fp::in16(m, a), fp::in16(m, b), fp::in16(m, c)))
}
#[inline(always)]
fn two64(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> u64) -> Flow {
    let m = w.mode;
    write64(w, op.dst, |w, i| {
        let read = |k: usize| fp::in64(m, lane64(w.pair(op.src[k]), i));
        f(read(0), read(1))
    });
    Flow::Next
}
#[inline(always)]
fn packed(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> u32) -> Flow {
    let m = w.mode;
    let half = |a: u32, b: u32| f(fp::in16(m, a), fp::in16(m, b));
    map2(w, op, |a, b| half(a & 0xffff, b & 0xffff) | half(a >> 16, b >> 16) << 16)
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VMinimumF32 => op!(w, o => two32(w, o, minimum32)),
        IsaOp::VMaximumF32 => op!(w, o => two32(w, o, maximum32)),
        IsaOp::VMinimumF16 => op!(w, o => two16(w, o, minimum16)).keep_high(),
        IsaOp::VMaximumF16 => op!(w, o => two16(w, o, maximum16)).keep_high(),
        IsaOp::VMinimumF64 => op!(w, o => two64(w, o, minimum64)),
        IsaOp::VMaximumF64 => op!(w, o => two64(w, o, maximum64)),
        IsaOp::VMinimummaximumF32 => op!(w, o => three32(w, o, |a, b, c| maximum32(minimum32(a, b), c))),
        IsaOp::VMaximumminimumF32 => op!(w, o => three32(w, o, |a, b, c| minimum32(maximum32(a, b), c))),
        IsaOp::VMinimum3F16 => op!(w, o => three16(w, o, |a, b, c| minimum16(minimum16(a, b), c))).keep_high(),
        IsaOp::VMaximum3F16 => op!(w, o => three16(w, o, |a, b, c| maximum16(maximum16(a, b), c))).keep_high(),
        IsaOp::VMinimummaximumF16 => op!(w, o => three16(w, o, |a, b, c| maximum16(minimum16(a, b), c))).keep_high(),
        IsaOp::VMaximumminimumF16 => op!(w, o => three16(w, o, |a, b, c| minimum16(maximum16(a, b), c))).keep_high(),
        IsaOp::VPkMinimumF16 => op!(w, o => packed(w, o, minimum16)),
        IsaOp::VPkMaximumF16 => op!(w, o => packed(w, o, maximum16)),
        _ => return None,
    })
}
