//! Reciprocals, roots and powers of two: one table of cubics each.
//!
//! None has branches, so that loops over lanes vectorise.

use super::lookup::{Columns, columns, lookup};
use super::tables::{EXP, RCP, RSQ, SQRT, Segment};
use super::{INF, NAN32, ONE, SIGN32, nearest, product24, quiet};
use crate::fp::{half, soft};
use crate::mode::Round;

/// How wide the numbers of a table are.
struct Shape {
    /// Bits of an offset in a segment.
    offset: u32,
    /// Bits of the linear product; where it has them all, it is rounded one place higher.
    linear: u32,
    /// Its bits below 1/32 of a unit of the result.
    below: u32,
    /// Bits cut off the sum of quadratic and cubic coefficient.
    inner: u32,
    /// Bits of the quadratic term below a unit of the result.
    fine: u32,
}

const RCP_SHAPE: Shape = Shape { offset: 18, linear: 39, below: 15, inner: 12, fine: 11 };
const RSQ_SHAPE: Shape = Shape { offset: 18, linear: 38, below: 15, inner: 11, fine: 12 };
const SQRT_SHAPE: Shape = Shape { offset: 19, linear: 41, below: 17, inner: 12, fine: 12 };

impl Shape {
    /// The linear term in 1/32 of a unit, rounded `up` or cut off, and the quadratic one, negative where the other is not.
    #[inline(always)]
    fn terms(&self, c: Segment, x: u64, up: bool) -> (u64, u64) {
        let product = u64::from(c[1]) * x;
        let cut = self.linear - 24 - u32::from(product >> (self.linear - 1) == 0);
        let rounded = nearest(product, cut) << cut;
        let linear = if up { rounded + (1 << self.below) - 1 } else { rounded } >> self.below;
        let at = x << (20 - self.offset) | 1;
        let inner = nearest((u64::from(c[2]) << 20) - u64::from(c[3]) * at, self.inner);
        // The square of the offset's 17 leading bits.
        let leading = x >> (self.offset - 17);
        (linear, product24(inner * ((leading * leading) >> 10)))
    }

    /// Of a falling function, in units of its last bit.
    #[inline(always)]
    fn falling(&self, c: Segment, x: u64) -> u64 {
        let (linear, quadratic) = self.terms(c, x, true);
        let sum = (u64::from(c[0]) << (self.fine - 2)) - (linear << (self.fine - 5)) + quadratic;
        nearest(sum, self.fine)
    }

    /// Of a rising one.
    #[inline(always)]
    fn rising(&self, c: Segment, x: u64) -> u64 {
        let (linear, quadratic) = self.terms(c, x, false);
        let sum = (u64::from(c[0]) << (self.fine - 2)) + (linear << (self.fine - 5)) - quadratic;
        nearest(sum, self.fine)
    }
}

/// A function, given its tables.
pub trait Cubics {
    /// 32 segments each.
    const TABLES: &'static [Columns];
    /// The argument's segment, counted through all tables.
    fn segment(x: u32) -> u32;
    /// The function, given the segment's coefficients.
    fn value(x: u32, c: Segment) -> u32;
}

/// A function in one lane.
#[inline(always)]
fn of_lane<F: Cubics>(x: u32) -> u32 {
    let segment = F::segment(x) as usize;
    F::value(x, F::TABLES[segment / 32].map(|column| column[segment % 32]))
}

/// A function in some lanes.
#[inline(always)]
pub fn of_lanes<F: Cubics, const N: usize>(x: &[u32; N], out: &mut [u32; N]) {
    let mut segments = [0; N];
    for i in 0..N {
        segments[i] = F::segment(x[i]);
    }
    let c = lookup(F::TABLES, &segments);
    for i in 0..N {
        out[i] = F::value(x[i], [c[0][i], c[1][i], c[2][i], c[3][i]]);
    }
}

pub fn rcp(x: u32) -> u32 {
    of_lane::<Rcp>(x)
}
pub fn rsq(x: u32) -> u32 {
    of_lane::<Rsq>(x)
}
pub fn sqrt(x: u32) -> u32 {
    of_lane::<Sqrt>(x)
}
#[cfg(test)]
pub fn exp(x: u32) -> u32 {
    of_lane::<Exp>(x)
}

/// 1 / x.
pub struct Rcp;

impl Cubics for Rcp {
    const TABLES: &'static [Columns] = &[columns(&RCP, 0)];

    #[inline(always)]
    fn segment(x: u32) -> u32 {
        x >> 18 & 31
    }

    #[inline(always)]
    fn value(x: u32, c: Segment) -> u32 {
        let (sign, a) = (x & SIGN32, x & !SIGN32);
        let significand = RCP_SHAPE.falling(c, (a & 0x3_ffff).into()) as u32;
        // Of [1/2, 1] as an f32; 2^24 has gone into the exponent.
        let r = 0x3e80_0000 + significand + ONE;
        let exponent = a & INF;
        let is_zero = (exponent == INF) | (r < exponent + 0x0080_0000);
        let r = if is_zero { sign } else { sign | r.wrapping_sub(exponent) };
        let r = if a < 0x0080_0000 { sign | INF } else { r };
        if a > INF { quiet(x) } else { r }
    }
}

/// The exponent's last bit, inverted, above the fraction: zero for even powers of two.
#[inline(always)]
fn parity_and_fraction(a: u32) -> u32 {
    (a & 0xff_ffff) ^ 0x80_0000
}

/// 1 / sqrt(x).
pub struct Rsq;

impl Cubics for Rsq {
    const TABLES: &'static [Columns] = &[columns(&RSQ, 0), columns(&RSQ, 32)];

    #[inline(always)]
    fn segment(x: u32) -> u32 {
        parity_and_fraction(x) >> 18
    }

    #[inline(always)]
    fn value(x: u32, c: Segment) -> u32 {
        let (sign, a) = (x & SIGN32, x & !SIGN32);
        let r = 0x3e80_0000 + RSQ_SHAPE.falling(c, (a & 0x3_ffff).into()) as u32;
        let power = ((a >> 23) as i32 - 127) >> 1;
        let r = r.wrapping_sub((power as u32) << 23);
        let r = if a == INF { 0 } else { r };
        let r = if sign != 0 { NAN32 } else { r };
        let r = if a < 0x0080_0000 { sign | INF } else { r };
        if a > INF { quiet(x) } else { r }
    }
}

/// The square root of x.
pub struct Sqrt;

impl Cubics for Sqrt {
    const TABLES: &'static [Columns] = &[columns(&SQRT, 0)];

    #[inline(always)]
    fn segment(x: u32) -> u32 {
        parity_and_fraction(x) >> 19
    }

    #[inline(always)]
    fn value(x: u32, c: Segment) -> u32 {
        let (sign, a) = (x & SIGN32, x & !SIGN32);
        let r = SQRT_SHAPE.rising(c, (a & 0x7_ffff).into()) as u32;
        let power = ((a >> 23) as i32 - 127) >> 1;
        // The significand's leading bit counts in the exponent.
        let r = r.wrapping_add(((power + 126) as u32) << 23);
        let r = if a == INF { x } else { r };
        let r = if sign != 0 { NAN32 } else { r };
        let r = if a < 0x0080_0000 { sign } else { r };
        if a > INF { quiet(x) } else { r }
    }
}

/// 2^x.
pub struct Exp;

impl Cubics for Exp {
    const TABLES: &'static [Columns] = &[columns(&EXP, 0)];

    #[inline(always)]
    fn segment(x: u32) -> u32 {
        (exp_argument(x) >> 24) as u32 & 31
    }

    #[inline(always)]
    fn value(x: u32, c: Segment) -> u32 {
        let (significand, power) = exp_wide(x, c);
        let rounded = nearest(significand, 13) as u32;
        // A carry goes into the exponent by itself.
        let exponent = power + 126 + (rounded >> 23) as i32;
        let r = (exponent as u32) << 23 | rounded & 0x7f_ffff;
        let r = if exponent >= 255 { INF } else { r };
        let r = if exponent <= 0 { 0 } else { r };
        let (special, is_special) = exp_special(x);
        if is_special { special } else { r }
    }
}

/// Exponents, as f32 has them, from which on the steps of [`exp_wide`] are for, and up to which: below, 2^x is one, and
/// above it is infinite or zero.
const EXP_FROM: u32 = 103;
const EXP_TO: u32 = 133;

/// `x`, a number of the exponents that this is for, with 29 bits after the binary point; whole numbers have no more than 8.
#[inline(always)]
fn exp_argument(x: u32) -> u64 {
    let exponent = (x >> 23 & 255).clamp(EXP_FROM, EXP_TO);
    // The rest is cut off; of a negative number the bits are inverted, not subtracted.
    let significand = u64::from(x & 0x7f_ffff | 0x80_0000);
    let fixed = significand << exponent.saturating_sub(121) >> 121u32.saturating_sub(exponent);
    if x & SIGN32 != 0 { !fixed } else { fixed }
}

/// 2^x before it is rounded: a significand from 2^36 on, and the power of two of its leading bit.
#[inline(always)]
fn exp_wide(x: u32, c: Segment) -> (u64, i32) {
    let fixed = exp_argument(x);
    let (whole, fraction) = ((fixed as i64 >> 29) as i32, fixed & 0x1fff_ffff);
    let t = fraction & 0xff_ffff;
    let product = u64::from(c[1]) * t;
    let linear = (product + if product >> 47 != 0 { 1 << 23 } else { 1 << 22 }) >> 24;
    let leading = t >> 6;
    let inner = nearest((u64::from(c[2]) << 7) + u64::from(c[3]) * leading, 7);
    let quadratic = product24(inner * ((leading * leading) >> 12));
    (((u64::from(c[0]) + linear) << 8) + quadratic, whole)
}

/// What 2^x is where [`exp_wide`] is not for `x`, and whether that is so.
#[inline(always)]
fn exp_special(x: u32) -> (u32, bool) {
    let a = x & !SIGN32;
    let r = if a >> 23 < EXP_FROM { ONE } else { INF };
    let r = if (a >> 23 > EXP_TO) & (x & SIGN32 != 0) { 0 } else { r };
    (if a > INF { quiet(x) } else { r }, !(EXP_FROM..=EXP_TO).contains(&(a >> 23)))
}

/// 2^x of an f16, rounded once, to nearest.
#[inline(always)]
pub fn exp_half(h: u32) -> u32 {
    let x = half::f16_to_f32(h).to_bits();
    if let (special, true) = exp_special(x) {
        return half::f32_to_f16(f32::from_bits(special));
    }
    let (significand, power) = exp_wide(x, EXP[Exp::segment(x) as usize]);
    soft::round(soft::F16, Round::NearestEven, false, significand.into(), power - 36, false) as u32
}
