//! VOPC: comparisons into a lane mask, and into EXEC as well (`v_cmpx`).

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::fp::{flush32, flush64, half, in16};
use crate::lanes::{compare, compare64};
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

#[inline(always)]
fn float32(w: &mut Wave, op: &Op, f: impl Fn(f32, f32) -> bool) -> Flow {
    let keep = w.mode.denorm_in32();
    if keep {
        compare(w, op, |a, b| f(f32::from_bits(a), f32::from_bits(b)))
    } else {
        let read = |x: u32| f32::from_bits(flush32(x, false));
        compare(w, op, |a, b| f(read(a), read(b)))
    }
}
#[inline(always)]
fn float64(w: &mut Wave, op: &Op, f: impl Fn(f64, f64) -> bool) -> Flow {
    let keep = w.mode.denorm_in16_64();
    let read = |x: u64| f64::from_bits(flush64(x, keep));
    compare64(w, op, |a, b| f(read(a), read(b)))
}
#[inline(always)]
fn float16(w: &mut Wave, op: &Op, f: impl Fn(f32, f32) -> bool) -> Flow {
    let m = w.mode;
    let read = |x: u32| half::f16_to_f32(in16(m, x));
    compare(w, op, |a, b| f(read(a), read(b)))
}
#[inline(always)]
fn u16s(w: &mut Wave, op: &Op, f: impl Fn(u16, u16) -> bool) -> Flow {
    compare(w, op, |a, b| f(a as u16, b as u16))
}
#[inline(always)]
fn i16s(w: &mut Wave, op: &Op, f: impl Fn(i16, i16) -> bool) -> Flow {
    compare(w, op, |a, b| f(a as i16, b as i16))
}
#[inline(always)]
fn u32s(w: &mut Wave, op: &Op, f: impl Fn(u32, u32) -> bool) -> Flow {
    compare(w, op, f)
}
#[inline(always)]
fn i32s(w: &mut Wave, op: &Op, f: impl Fn(i32, i32) -> bool) -> Flow {
    compare(w, op, |a, b| f(a as i32, b as i32))
}
#[inline(always)]
fn u64s(w: &mut Wave, op: &Op, f: impl Fn(u64, u64) -> bool) -> Flow {
    compare64(w, op, f)
}
#[inline(always)]
fn i64s(w: &mut Wave, op: &Op, f: impl Fn(i64, i64) -> bool) -> Flow {
    compare64(w, op, |a, b| f(a as i64, b as i64))
}

/// EXEC becomes the mask too.
#[inline(always)]
pub(super) fn to_exec(w: &mut Wave, op: &Op, flow: Flow) -> Flow {
    let mask = w.mask(op.sdst);
    w.set_exec(mask);
    flow
}

/// The arms of one type: a condition's name and its function, for `v_cmp` and `v_cmpx`. The latter are rare, so not
/// compiled for wider vectors.
macro_rules! conditions {
    ($name:expr, $exec:expr, $run:ident, { $($cond:literal => $f:expr),* $(,)? }) => {
        match $name {
            $($cond => Some(if $exec {
                op!(scalar w, o => { let flow = $run(w, o, $f); to_exec(w, o, flow) })
            } else {
                op!(w, o => $run(w, o, $f))
            }),)*
            _ => None,
        }
    };
}

macro_rules! floats {
    ($name:expr, $exec:expr, $run:ident, $t:ty) => {
        conditions!($name, $exec, $run, {
            "f" => |_, _| false,
            "lt" => |a, b| a < b,
            "eq" => |a, b| a == b,
            "le" => |a, b| a <= b,
            "gt" => |a, b| a > b,
            "lg" => |a, b| (a < b) | (a > b),
            "ge" => |a, b| a >= b,
            "o" => |a: $t, b: $t| !a.is_nan() & !b.is_nan(),
            "u" => |a: $t, b: $t| a.is_nan() | b.is_nan(),
            "nge" => |a, b| !(a >= b),
            "nlg" => |a, b| !((a < b) | (a > b)),
            "ngt" => |a, b| !(a > b),
            "nle" => |a, b| !(a <= b),
            "neq" => |a, b| a != b,
            "nlt" => |a, b| !(a < b),
            "tru" => |_, _| true,
        })
    };
}

macro_rules! ints {
    ($name:expr, $exec:expr, $run:ident) => {
        conditions!($name, $exec, $run, {
            "f" => |_, _| false,
            "lt" => |a, b| a < b,
            "eq" => |a, b| a == b,
            "le" => |a, b| a <= b,
            "gt" => |a, b| a > b,
            "ne" => |a, b| a != b,
            "ge" => |a, b| a >= b,
            "t" => |_, _| true,
        })
    };
}

#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN makes the negated comparisons true")]
pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let base = op.name();
    let (rest, exec) = match base.strip_prefix("v_cmpx_") {
        Some(rest) => (rest, true),
        None => (base.strip_prefix("v_cmp_")?, false),
    };
    let (condition, ty) = rest.rsplit_once('_')?;
    match ty {
        "u32" => ints!(condition, exec, u32s),
        "i32" => ints!(condition, exec, i32s),
        "u64" => ints!(condition, exec, u64s),
        "i64" => ints!(condition, exec, i64s),
        "u16" => ints!(condition, exec, u16s),
        "i16" => ints!(condition, exec, i16s),
        "f32" => floats!(condition, exec, float32, f32),
        "f64" => floats!(condition, exec, float64, f64),
        "f16" => floats!(condition, exec, float16, f32),
        _ => None,
    }
}
