//! VOPC: comparisons into a lane mask, and into EXEC as well (`v_cmpx`).

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::fp::{flush32, flush64, half, in16};
use crate::lanes::{TO_EXEC, compare, compare64};
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

/// When a comparison is true; negated ones of floats are where a source is a NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    LessOrGreater,
    GreaterEqual,
    Ordered,
    Unordered,
    NotGreaterEqual,
    NotLessOrGreater,
    NotGreater,
    NotLessEqual,
    NotEqual,
    NotLess,
    Always,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compared {
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

/// What a comparison into a lane mask does.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    pub condition: Condition,
    pub compared: Compared,
    /// EXEC becomes the mask too (`v_cmpx`).
    pub to_exec: bool,
}

/// By type and condition: `v_cmp` and `v_cmpx`.
macro_rules! comparisons {
    ($($compared:ident { $($condition:ident $plain:ident $to_exec:ident,)* })*) => {
        /// What a comparison does, if the operation is one.
        pub fn comparison(op: IsaOp) -> Option<Comparison> {
            let found = |condition, compared, to_exec| Some(Comparison { condition, compared, to_exec });
            match op {
                $($(
                    IsaOp::$plain => found(Condition::$condition, Compared::$compared, false),
                    IsaOp::$to_exec => found(Condition::$condition, Compared::$compared, true),
                )*)*
                _ => None,
            }
        }
    };
}

comparisons! {
    U16 {
        Never VCmpFU16 VCmpxFU16,
        Less VCmpLtU16 VCmpxLtU16,
        Equal VCmpEqU16 VCmpxEqU16,
        LessEqual VCmpLeU16 VCmpxLeU16,
        Greater VCmpGtU16 VCmpxGtU16,
        NotEqual VCmpNeU16 VCmpxNeU16,
        GreaterEqual VCmpGeU16 VCmpxGeU16,
        Always VCmpTU16 VCmpxTU16,
    }
    I16 {
        Never VCmpFI16 VCmpxFI16,
        Less VCmpLtI16 VCmpxLtI16,
        Equal VCmpEqI16 VCmpxEqI16,
        LessEqual VCmpLeI16 VCmpxLeI16,
        Greater VCmpGtI16 VCmpxGtI16,
        NotEqual VCmpNeI16 VCmpxNeI16,
        GreaterEqual VCmpGeI16 VCmpxGeI16,
        Always VCmpTI16 VCmpxTI16,
    }
    U32 {
        Never VCmpFU32 VCmpxFU32,
        Less VCmpLtU32 VCmpxLtU32,
        Equal VCmpEqU32 VCmpxEqU32,
        LessEqual VCmpLeU32 VCmpxLeU32,
        Greater VCmpGtU32 VCmpxGtU32,
        NotEqual VCmpNeU32 VCmpxNeU32,
        GreaterEqual VCmpGeU32 VCmpxGeU32,
        Always VCmpTU32 VCmpxTU32,
    }
    I32 {
        Never VCmpFI32 VCmpxFI32,
        Less VCmpLtI32 VCmpxLtI32,
        Equal VCmpEqI32 VCmpxEqI32,
        LessEqual VCmpLeI32 VCmpxLeI32,
        Greater VCmpGtI32 VCmpxGtI32,
        NotEqual VCmpNeI32 VCmpxNeI32,
        GreaterEqual VCmpGeI32 VCmpxGeI32,
        Always VCmpTI32 VCmpxTI32,
    }
    U64 {
        Never VCmpFU64 VCmpxFU64,
        Less VCmpLtU64 VCmpxLtU64,
        Equal VCmpEqU64 VCmpxEqU64,
        LessEqual VCmpLeU64 VCmpxLeU64,
        Greater VCmpGtU64 VCmpxGtU64,
        NotEqual VCmpNeU64 VCmpxNeU64,
        GreaterEqual VCmpGeU64 VCmpxGeU64,
        Always VCmpTU64 VCmpxTU64,
    }
    I64 {
        Never VCmpFI64 VCmpxFI64,
        Less VCmpLtI64 VCmpxLtI64,
        Equal VCmpEqI64 VCmpxEqI64,
        LessEqual VCmpLeI64 VCmpxLeI64,
        Greater VCmpGtI64 VCmpxGtI64,
        NotEqual VCmpNeI64 VCmpxNeI64,
        GreaterEqual VCmpGeI64 VCmpxGeI64,
        Always VCmpTI64 VCmpxTI64,
    }
    F16 {
        Never VCmpFF16 VCmpxFF16,
        Less VCmpLtF16 VCmpxLtF16,
        Equal VCmpEqF16 VCmpxEqF16,
        LessEqual VCmpLeF16 VCmpxLeF16,
        Greater VCmpGtF16 VCmpxGtF16,
        LessOrGreater VCmpLgF16 VCmpxLgF16,
        GreaterEqual VCmpGeF16 VCmpxGeF16,
        Ordered VCmpOF16 VCmpxOF16,
        Unordered VCmpUF16 VCmpxUF16,
        NotGreaterEqual VCmpNgeF16 VCmpxNgeF16,
        NotLessOrGreater VCmpNlgF16 VCmpxNlgF16,
        NotGreater VCmpNgtF16 VCmpxNgtF16,
        NotLessEqual VCmpNleF16 VCmpxNleF16,
        NotEqual VCmpNeqF16 VCmpxNeqF16,
        NotLess VCmpNltF16 VCmpxNltF16,
        Always VCmpTruF16 VCmpxTruF16,
    }
    F32 {
        Never VCmpFF32 VCmpxFF32,
        Less VCmpLtF32 VCmpxLtF32,
        Equal VCmpEqF32 VCmpxEqF32,
        LessEqual VCmpLeF32 VCmpxLeF32,
        Greater VCmpGtF32 VCmpxGtF32,
        LessOrGreater VCmpLgF32 VCmpxLgF32,
        GreaterEqual VCmpGeF32 VCmpxGeF32,
        Ordered VCmpOF32 VCmpxOF32,
        Unordered VCmpUF32 VCmpxUF32,
        NotGreaterEqual VCmpNgeF32 VCmpxNgeF32,
        NotLessOrGreater VCmpNlgF32 VCmpxNlgF32,
        NotGreater VCmpNgtF32 VCmpxNgtF32,
        NotLessEqual VCmpNleF32 VCmpxNleF32,
        NotEqual VCmpNeqF32 VCmpxNeqF32,
        NotLess VCmpNltF32 VCmpxNltF32,
        Always VCmpTruF32 VCmpxTruF32,
    }
    F64 {
        Never VCmpFF64 VCmpxFF64,
        Less VCmpLtF64 VCmpxLtF64,
        Equal VCmpEqF64 VCmpxEqF64,
        LessEqual VCmpLeF64 VCmpxLeF64,
        Greater VCmpGtF64 VCmpxGtF64,
        LessOrGreater VCmpLgF64 VCmpxLgF64,
        GreaterEqual VCmpGeF64 VCmpxGeF64,
        Ordered VCmpOF64 VCmpxOF64,
        Unordered VCmpUF64 VCmpxUF64,
        NotGreaterEqual VCmpNgeF64 VCmpxNgeF64,
        NotLessOrGreater VCmpNlgF64 VCmpxNlgF64,
        NotGreater VCmpNgtF64 VCmpxNgtF64,
        NotLessEqual VCmpNleF64 VCmpxNleF64,
        NotEqual VCmpNeqF64 VCmpxNeqF64,
        NotLess VCmpNltF64 VCmpxNltF64,
        Always VCmpTruF64 VCmpxTruF64,
    }
}

/// The arms of one type: a condition and its function.
macro_rules! conditions {
    ($name:expr, $run:ident, { $($cond:ident => $f:expr),* $(,)? } $($others:pat => $none:expr)?) => {
        match $name {
            $(Condition::$cond => Some(op!(w, o => $run(w, o, $f))),)*
            $($others => $none,)?
        }
    };
}

macro_rules! floats {
    ($name:expr, $run:ident, $t:ty) => {
        conditions!($name, $run, {
            Never => |_, _| false,
            Less => |a, b| a < b,
            Equal => |a, b| a == b,
            LessEqual => |a, b| a <= b,
            Greater => |a, b| a > b,
            LessOrGreater => |a, b| (a < b) | (a > b),
            GreaterEqual => |a, b| a >= b,
            Ordered => |a: $t, b: $t| !a.is_nan() & !b.is_nan(),
            Unordered => |a: $t, b: $t| a.is_nan() | b.is_nan(),
            NotGreaterEqual => |a, b| !(a >= b),
            NotLessOrGreater => |a, b| !((a < b) | (a > b)),
            NotGreater => |a, b| !(a > b),
            NotLessEqual => |a, b| !(a <= b),
            NotEqual => |a, b| a != b,
            NotLess => |a, b| !(a < b),
            Always => |_, _| true,
        })
    };
}

macro_rules! ints {
    ($name:expr, $run:ident) => {
        conditions!($name, $run, {
            Never => |_, _| false,
            Less => |a, b| a < b,
            Equal => |a, b| a == b,
            LessEqual => |a, b| a <= b,
            Greater => |a, b| a > b,
            NotEqual => |a, b| a != b,
            GreaterEqual => |a, b| a >= b,
            Always => |_, _| true,
        } _ => None)
    };
}

#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN makes the negated comparisons true")]
pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    let Comparison { condition, compared, to_exec } = comparison(op)?;
    let found: Option<ValuOp> = match compared {
        Compared::U32 => ints!(condition, u32s),
        Compared::I32 => ints!(condition, i32s),
        Compared::U64 => ints!(condition, u64s),
        Compared::I64 => ints!(condition, i64s),
        Compared::U16 => ints!(condition, u16s),
        Compared::I16 => ints!(condition, i16s),
        Compared::F32 => floats!(condition, float32, f32),
        Compared::F64 => floats!(condition, float64, f64),
        Compared::F16 => floats!(condition, float16, f32),
    };
    Some(found?.variant(if to_exec { TO_EXEC } else { 0 }))
}
