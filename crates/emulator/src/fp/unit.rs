//! The transcendental unit of RDNA3 and RDNA4, bit for bit.
//!
//! Each function is a table of cubics over segments of the reduced argument, evaluated in fixed point: the linear term
//! is rounded to 24 bits, the cubic coefficient corrects the quadratic one (at the offset's middle, hence the `+ 1`
//! below), their sum and the square are cut to 24 bits, the product of the two is rounded to 24 bits, and the sum to 24.
//!
//! What silicon gives has been published as digests of complete captures, by AMD's rocjitsu (ROCm/rocm-systems, tests of
//! its transcendental functions, 2026): reciprocals, roots and their reciprocals of all fractions, on gfx1100 and gfx1201
//! alike; exp2 and log2 of all fractions on gfx1201; all seven functions of every f16 on gfx1201, in all modes. The tests
//! below hold this module to them. The coefficients are rocjitsu's. So are the steps of sqrt, exp2, log2, sine and cosine;
//! for the other two it keeps tables of exceptions, which the steps here (those of sqrt) make superfluous.
//!
//! Sine and cosine of f32 are held to points only, captured on gfx1100 and gfx1201, and to all of f16's. They take whole
//! turns off any argument: what older manuals say of arguments beyond 256 is not so here.
//!
//! f32 ignores MODE, but for the denormals of sine; denormals are zero on both sides.

use super::{NAN32, SIGN32, flush16, half};

use cubics::exp_half;
pub use cubics::{Cubics, Exp, Rcp, Rsq, Sqrt, of_lanes, rcp, rsq, sqrt};
pub use log::log;
pub use trig::{cos, sin};

mod cubics;
mod log;
mod lookup;
mod tables;
mod trig;

const INF: u32 = 0x7f80_0000;
const ONE: u32 = 0x3f80_0000;

#[inline(always)]
fn nearest(x: u64, cut: u32) -> u64 {
    let (whole, rest, half) = (x >> cut, x & ((1 << cut) - 1), 1 << (cut - 1));
    whole + u64::from((rest > half) | (rest == half) & (whole & 1 != 0))
}

/// A product of two numbers of 24 bits, rounded to 24 bits, in units of its bit 23.
#[inline(always)]
fn product24(x: u64) -> u64 {
    if x >> 47 != 0 { nearest(x, 24) << 1 } else { nearest(x, 23) }
}

#[inline(always)]
fn quiet(x: u32) -> u32 {
    x | 0x0040_0000
}

/// A fixed-point number with `point` bits after the point, as an f32: away from zero, or towards it.
#[inline(always)]
fn from_fixed(negative: bool, magnitude: u64, point: u32, away: bool) -> u32 {
    let leading = 63 - magnitude.leading_zeros();
    let cut = leading.saturating_sub(23);
    let kept = if away { magnitude + (1 << cut) - 1 } else { magnitude } >> cut << (23 + cut - leading);
    let bits = ((leading + 126 - point) << 23) + kept as u32;
    if negative { SIGN32 | bits } else { bits }
}

/// What the unit does with an f16: denormals as MODE says, one more rounding, to nearest whatever MODE says; with
/// `saturate` (FP16_OVFL) an infinity that no infinity has made becomes the largest number.
#[derive(Clone, Copy)]
pub struct Halves {
    pub keep: [bool; 2],
    pub saturate: bool,
}

impl Halves {
    #[inline(always)]
    fn finish(self, source: u32, h: u32) -> u32 {
        let h = flush16(h, self.keep[1]);
        if self.saturate && h & 0x7fff == 0x7c00 && source & 0x7fff != 0x7c00 { h - 1 } else { h }
    }

    #[inline(always)]
    pub fn apply(self, h: u32, f: impl Fn(u32) -> u32) -> u32 {
        let source = flush16(h & 0xffff, self.keep[0]);
        let r = f(half::f16_to_f32(source).to_bits());
        self.finish(source, half::f32_to_f16(f32::from_bits(r)))
    }

    #[inline(always)]
    pub fn exp(self, h: u32) -> u32 {
        let source = flush16(h & 0xffff, self.keep[0]);
        self.finish(source, exp_half(source))
    }
}
#[cfg(test)]
mod tests;
