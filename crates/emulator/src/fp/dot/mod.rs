//! Sums of products as the dot product units of RDNA3 and RDNA4 form them: no rounding between the steps of a sum, but
//! fixed point of a limited width. `v_dot2_*`, `v_dot4_f32_*` and WMMA are made of such sums.
//!
//! # RDNA3
//!
//! A sum has two products and an addend C. What is aligned is significands, and by the factors' exponents, not by the
//! product's: a product's last place lies 24 below the sum of them, that of C 26 below its leading one. The coarsest of the
//! three is the sum's, and what lies below is cut off. The sum is formed in C's sign: a product of the other sign, be
//! it zero, is complemented and not negated, which is one unit too little. It is rounded to nearest even as if exponents
//! had no end; then what is below the normal numbers becomes +0. Denormals of bf16 and f32 are zeros, those of f16 are not.
//!
//! # RDNA4
//!
//! Products are first summed in groups, those of one register, each of them to the group's coarsest last place, 24 below
//! as before; then the groups, and C, to the coarsest place of all. Here what is cut off is cut off towards minus
//! infinity. Of a negative C of which nothing would be left there remains a unit only where the sum's place is not above
//! 2^-126. Denormals are kept, in results too. A zero is +0.
//!
//! # Both
//!
//! MODE's rounding and denormals have no influence. Sums of bf16 are f32's with the lower half cut off; sums of f16 are
//! rounded to nearest even at once, C's last place being that of 2^-14 at the least (which then is what 2^-126 is above);
//! FP16_OVFL makes the largest number of what overflows. A NaN among the factors gives 0xffc00a3d (0xfe3d, 0xfffd), before
//! an invalid operation, which gives 0xffc00000, before a NaN in C, which is quieted. Eight-bit factors give 0xffc00a3d for
//! an invalid operation too.
//!
//! # Where this is from
//!
//! Measured on gfx1100 (W7900) and gfx1201 (R9700) by AMD: ROCm/rocm-systems, issue 12056 and pull request 12120, whose
//! captured results of `v_dot2_f32_*` and of WMMA are what `tests/measured_dots.rs` and `tests/measured_wmma.rs` compare with;
//! so are what becomes of constants. The issue's own measurements, on gfx1151, led to the rules of RDNA3. That
//! `v_dot2_f16_f16` and `v_dot2_bf16_bf16` form the sums of WMMA with such results, and what eight-bit factors do, is from the
//! same repository, without captures.

mod exact;
#[cfg(test)]
pub(crate) mod reference;
mod result;
mod sum;

pub use exact::exact;
pub use result::{Result, Single};
pub use sum::{BELOW_PRODUCT, Parts, Rdna3, Rdna4, Unit, left, product, take};

/// A format of factors: a sign, an exponent, a fraction.
pub trait Factor {
    const EXPONENT: u32;
    const FRACTION: u32;
    /// It has infinities; else only its last code is special, a NaN.
    const INFINITE: bool = true;
    const BITS: u32 = 1 + Self::EXPONENT + Self::FRACTION;
    const BIAS: i32 = (1 << (Self::EXPONENT - 1)) - 1;
    /// What is left of a code without its sign.
    const MAGNITUDE: u32 = (1 << (Self::BITS - 1)) - 1;
    /// The least magnitude that is no number.
    const SPECIAL: u32 =
        if Self::INFINITE { Self::MAGNITUDE >> Self::FRACTION << Self::FRACTION } else { Self::MAGNITUDE };

    /// An infinity or a NaN.
    #[inline(always)]
    fn is_special(code: u32) -> bool {
        code & Self::MAGNITUDE >= Self::SPECIAL
    }
}

pub struct F16;
pub struct Bf16;
/// E4M3 and E5M2 as OCP has them.
pub struct Fp8;
pub struct Bf8;

impl Factor for F16 {
    const EXPONENT: u32 = 5;
    const FRACTION: u32 = 10;
}
impl Factor for Bf16 {
    const EXPONENT: u32 = 8;
    const FRACTION: u32 = 7;
}
impl Factor for Fp8 {
    const EXPONENT: u32 = 4;
    const FRACTION: u32 = 3;
    const INFINITE: bool = false;
}
impl Factor for Bf8 {
    const EXPONENT: u32 = 5;
    const FRACTION: u32 = 2;
}
