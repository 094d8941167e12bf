//! Operations that RDNA4 adds: minima and maxima that propagate NaNs (whose results are not flushed: see
//! [`crate::fp::minmax`]).

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

pub fn lookup(base: &str) -> Option<ValuOp> {
    Some(match base {
        "v_minimum_f32" => op!(w, o => two32(w, o, minimum32)),
        "v_maximum_f32" => op!(w, o => two32(w, o, maximum32)),
        "v_minimum_f16" => op!(w, o => two16(w, o, minimum16)).keep_high(),
        "v_maximum_f16" => op!(w, o => two16(w, o, maximum16)).keep_high(),
        "v_minimum_f64" => op!(w, o => two64(w, o, minimum64)),
        "v_maximum_f64" => op!(w, o => two64(w, o, maximum64)),
        "v_minimummaximum_f32" => op!(w, o => three32(w, o, |a, b, c| maximum32(minimum32(a, b), c))),
        "v_maximumminimum_f32" => op!(w, o => three32(w, o, |a, b, c| minimum32(maximum32(a, b), c))),
        "v_minimum3_f16" => op!(w, o => three16(w, o, |a, b, c| minimum16(minimum16(a, b), c))).keep_high(),
        "v_maximum3_f16" => op!(w, o => three16(w, o, |a, b, c| maximum16(maximum16(a, b), c))).keep_high(),
        "v_minimummaximum_f16" => op!(w, o => three16(w, o, |a, b, c| maximum16(minimum16(a, b), c))).keep_high(),
        "v_maximumminimum_f16" => op!(w, o => three16(w, o, |a, b, c| minimum16(maximum16(a, b), c))).keep_high(),
        "v_pk_minimum_f16" => op!(w, o => packed(w, o, minimum16)),
        "v_pk_maximum_f16" => op!(w, o => packed(w, o, maximum16)),
        _ => return None,
    })
}
