//! Vector ALU operations: VOP1, VOP2, VOPC, VOP3, VOP3P.
//!
//! Each module holds one family and a `lookup` from an operation to its handler. A handler is a whole
//! wave's loop around a pure function of one lane, mostly from [`crate::fp`].
//!
//! | module | one idea |
//! |---|---|
//! | [`int32`] | 32-bit integers: add, multiply, shift, bits, minimum, sums of absolute differences |
//! | [`int16`], [`int64`] | the other widths |
//! | [`float32`], [`float16`], [`float64`] | add, multiply, fma, minimum, rounding; of f16 and f64 reciprocals, of f16 division's steps, too |
//! | [`unit32`] | the transcendental unit on f32 |
//! | [`division32`], [`division64`] | the steps of a division, and scaling by powers of two |
//! | [`lanewise`] | operations that the interpreter and native code have in common |
//! | `minmax` | minimum, maximum, median of three floats |
//! | [`convert`] | between formats |
//! | [`small`], [`scaled`] | to and from formats of 4, 6 and 8 bits; the same in blocks that share a scale |
//! | [`compare`], [`class`] | VOPC |
//! | [`packed`] | VOP3P on halves and on pairs of f32 |
//! | [`dot`], [`mix`] | dot products; fma with f16 and f32 sources mixed |
//! | [`cube`], [`partition`] | cube map coordinates; the shader engines that a rectangle of pixels touches |
//! | [`lane`], [`permlane`] | moves, select, readlane and its kin |
//! | [`rdna`], [`rdna4`] | what RDNA has beyond gfx9, RDNA4 beyond RDNA3 |
//! | [`gfx1250`], [`bf16`] | what gfx1250 has beyond RDNA4; bf16 |

use luthier_isa::op::Op as IsaOp;

pub mod bf16;
pub mod class;
pub mod compare;
pub mod convert;
pub mod cube;
pub mod division32;
pub mod division64;
pub mod dot;
pub mod float16;
pub mod float32;
pub mod float64;
pub mod gfx1250;
pub mod int16;
pub mod int32;
pub mod int64;
pub mod lane;
pub mod lanewise;
mod minmax;
pub mod mix;
pub mod packed;
pub mod partition;
pub mod permlane;
pub mod rdna;
pub mod rdna4;
pub mod scaled;
pub(crate) mod shapes;
pub mod small;
pub mod unit32;

#[cfg(test)]
mod tests;

use crate::registry::ValuOp;

/// A handler from an expression over the wave and the micro-op. The second form is not compiled for wider vectors:
/// for rare or inherently scalar operations.
macro_rules! op {
    ($w:ident, $op:ident => $body:expr) => {{
        struct K;
        impl $crate::op::Semantics for K {
            #[inline(always)]
            fn run($w: &mut $crate::wave::Wave, $op: &$crate::op::Op) -> $crate::op::Flow {
                $body
            }
        }
        $crate::registry::ValuOp::of::<K>()
    }};
    (scalar $w:ident, $op:ident => $body:expr) => {{
        struct K;
        impl $crate::op::Semantics for K {
            #[inline(always)]
            fn run($w: &mut $crate::wave::Wave, $op: &$crate::op::Op) -> $crate::op::Flow {
                $body
            }
        }
        let mut op = $crate::registry::ValuOp::of::<K>();
        op.variants = $crate::op::Variants::scalar::<K>();
        op
    }};
}
pub(crate) use op;

/// What a vector ALU operation does, if it is one of ours.
pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    None.or_else(|| int32::lookup(op))
        .or_else(|| float32::lookup(op))
        .or_else(|| lane::lookup(op))
        .or_else(|| int64::lookup(op))
        .or_else(|| int16::lookup(op))
        .or_else(|| float64::lookup(op))
        .or_else(|| float16::lookup(op))
        .or_else(|| convert::lookup(op))
        .or_else(|| small::lookup(op))
        .or_else(|| scaled::lookup(op))
        .or_else(|| compare::lookup(op))
        .or_else(|| class::lookup(op))
        .or_else(|| packed::lookup(op))
        .or_else(|| dot::lookup(op))
        .or_else(|| mix::lookup(op))
        .or_else(|| cube::lookup(op))
        .or_else(|| partition::lookup(op))
        .or_else(|| rdna::lookup(op))
        .or_else(|| rdna4::lookup(op))
        .or_else(|| permlane::lookup(op))
        .or_else(|| gfx1250::lookup(op))
        .or_else(|| bf16::lookup(op))
}

/// A wave in which everything is as `set` has made it, and then an operation has run.
#[cfg(test)]
fn run_alone(name: &str, op: crate::op::Op, set: impl Fn(&mut crate::wave::Wave)) -> crate::wave::Wave {
    // A half of VOPD's is no operation by itself.
    let half = (name == "v_dot2acc_f32_bf16").then(dot::dot2acc_f32_bf16);
    let valu = half.or_else(|| lookup(IsaOp::from_name(name)?)).expect("an operation");
    let mut wave = crate::wave::Wave::new();
    wave.set_exec(!0);
    set(&mut wave);
    // SAFETY: `select` gives a handler that this processor has the features for; all rows are in the file.
    let flow = unsafe { valu.variants.select()(&mut wave, &crate::op::Op { imm2: valu.variant, ..op }) };
    assert_eq!(flow, crate::op::Flow::Next);
    wave
}
