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

use super::half;
use super::soft;
use super::unit_tables::{EXP, LOG, LOG_ABOVE, LOG_BELOW, RCP, RSQ, SQRT, Segment, TRIG};
use super::{NAN32, SIGN32};
use crate::mode::Round;

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

#[inline(always)]
fn quiet(x: u32) -> u32 {
    x | 0x0040_0000
}

/// 1 / x. (This and what follows has no branches, so that loops over lanes vectorise.)
#[inline(always)]
pub fn rcp(x: u32) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    let fraction = a & 0x7f_ffff;
    let significand = RCP_SHAPE.falling(RCP[(fraction >> 18) as usize & 31], (fraction & 0x3_ffff).into()) as u32;
    // Of [1/2, 1] as an f32; 2^24 has gone into the exponent.
    let r = 0x3e80_0000 + significand + ONE;
    let exponent = a & INF;
    let is_zero = (exponent == INF) | (r < exponent + 0x0080_0000);
    let r = if is_zero { sign } else { sign | r.wrapping_sub(exponent) };
    let r = if a < 0x0080_0000 { sign | INF } else { r };
    if a > INF { quiet(x) } else { r }
}

/// The exponent's last bit, inverted, above the fraction: zero for even powers of two.
#[inline(always)]
fn parity_and_fraction(a: u32) -> u32 {
    (a & 0xff_ffff) ^ 0x80_0000
}

/// 1 / sqrt(x).
#[inline(always)]
pub fn rsq(x: u32) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    let index = parity_and_fraction(a);
    let r = 0x3e80_0000 + RSQ_SHAPE.falling(RSQ[(index >> 18) as usize & 63], (index & 0x3_ffff).into()) as u32;
    let power = ((a >> 23) as i32 - 127) >> 1;
    let r = r.wrapping_sub((power as u32) << 23);
    let r = if a == INF { 0 } else { r };
    let r = if sign != 0 { NAN32 } else { r };
    let r = if a < 0x0080_0000 { sign | INF } else { r };
    if a > INF { quiet(x) } else { r }
}

/// The square root of x.
#[inline(always)]
pub fn sqrt(x: u32) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    let index = parity_and_fraction(a);
    let r = SQRT_SHAPE.rising(SQRT[(index >> 19) as usize & 31], (index & 0x7_ffff).into()) as u32;
    let power = ((a >> 23) as i32 - 127) >> 1;
    // The significand's leading bit counts in the exponent.
    let r = r.wrapping_add(((power + 126) as u32) << 23);
    let r = if a == INF { x } else { r };
    let r = if sign != 0 { NAN32 } else { r };
    let r = if a < 0x0080_0000 { sign } else { r };
    if a > INF { quiet(x) } else { r }
}

/// Exponents, as f32 has them, from which on the steps of [`exp_wide`] are for, and up to which: below, 2^x is one, and
/// above it is infinite or zero.
const EXP_FROM: u32 = 103;
const EXP_TO: u32 = 133;

/// 2^x before it is rounded: a significand from 2^36 on, and the power of two of its leading bit; `x` is a number of the
/// exponents that this is for.
#[inline(always)]
fn exp_wide(x: u32) -> (u64, i32) {
    let negative = x & SIGN32 != 0;
    let exponent = (x >> 23 & 255).clamp(EXP_FROM, EXP_TO);
    // 29 bits after the binary point, the rest is cut off; of a negative number they are inverted, not subtracted.
    let significand = u64::from(x & 0x7f_ffff | 0x80_0000);
    let fixed = significand << exponent.saturating_sub(121) >> 121u32.saturating_sub(exponent);
    let fixed = if negative { !fixed } else { fixed };
    let (whole, fraction) = ((fixed as i64 >> 29) as i32, fixed & 0x1fff_ffff);
    let (c, t) = (EXP[(fraction >> 24) as usize & 31], fraction & 0xff_ffff);
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

/// 2^x.
#[inline(always)]
pub fn exp(x: u32) -> u32 {
    let (significand, power) = exp_wide(x);
    let rounded = nearest(significand, 13) as u32;
    // A carry goes into the exponent by itself.
    let exponent = power + 126 + (rounded >> 23) as i32;
    let r = (exponent as u32) << 23 | rounded & 0x7f_ffff;
    let r = if exponent >= 255 { INF } else { r };
    let r = if exponent <= 0 { 0 } else { r };
    let (special, is_special) = exp_special(x);
    if is_special { special } else { r }
}

/// 2^x of an f16, rounded once, to nearest.
#[inline(always)]
fn exp_half(h: u32) -> u32 {
    let x = half::f16_to_f32(h).to_bits();
    if let (special, true) = exp_special(x) {
        return half::f32_to_f16(f32::from_bits(special));
    }
    let (significand, power) = exp_wide(x);
    soft::round(soft::F16, Round::NearestEven, false, significand.into(), power - 36, false) as u32
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

/// log2 of what lies up to 1/32 above one. The fewer the leading bits, the more places: four at a time.
#[inline(always)]
fn log_above_one(x: u32) -> u32 {
    let n = x - ONE;
    let row = if n < 0x1_0000 { 0 } else { 1 + (n >> 17) as usize };
    let c = LOG_ABOVE[row].map(u64::from);
    let width = 32 - n.leading_zeros();
    let more = if row == 0 { (18 - width) / 4 * 4 } else { 0 };
    let (n, scaled) = (u64::from(n), u64::from(n) << more);
    let linear = (c[1] * scaled) >> 13 << 2;
    let inner = nearest((c[2] << 22) - c[3] * (2 * n + 1), 22);
    let quadratic = product24(inner * ((scaled * n) >> 12));
    let fixed = c[0] + linear - quadratic;
    // Cut off, and always one more: also where nothing was cut off.
    let leading = 63 - fixed.leading_zeros();
    ((leading + 126 - 35 - more) << 23) + (fixed >> (leading - 23)) as u32 + 1
}

/// log2 of what lies up to 1/64 below one.
#[inline(always)]
fn log_below_one(x: u32) -> u32 {
    let n = ONE - x;
    let c = LOG_BELOW[usize::from(n >= 0x2_0000)].map(u64::from);
    let width = 32 - n.leading_zeros();
    let more = if width < 18 { (18 - width) / 4 * 4 } else { 0 };
    let n = u64::from(n);
    let cut = |x: u64, bits: u32| x >> bits << bits;
    let linear = cut(2 * c[1] * n, 14u32.saturating_sub(more));
    let square = cut(n * n, 12u32.saturating_sub(more));
    let inner = nearest((c[2] << 22) + c[3] * (n - 1), 22);
    let quadratic = (inner * square).div_ceil(1 << (38 - more));
    from_fixed(true, (linear << 2) + (quadratic << (16 - more)) - (c[0] << 16), 50, true)
}

/// log2(x); it is rounded down.
#[inline]
pub fn log(x: u32) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    if a > INF {
        return quiet(x);
    }
    if a < 0x0080_0000 {
        return SIGN32 | INF;
    }
    if sign != 0 {
        return NAN32;
    }
    match x {
        INF => return INF,
        ONE => return 0,
        0x3f7c_0000..ONE => return log_below_one(x),
        0x3f80_0001..0x3f84_0000 => return log_above_one(x),
        _ => {}
    }
    let n = u64::from(x & 0x3_ffff);
    let second_half = x >> 17 & 63 == 3;
    let c = LOG[if second_half { 32 } else { (x >> 18 & 31) as usize }].map(u64::from);
    let linear = (c[1] * n) >> 16;
    let inner = nearest((c[2] << 22) - c[3] * (2 * n + 1), 22);
    let quadratic = product24(inner * ((n * n) >> 12));
    let whole = ((x >> 23) as i64 - 127) << 35;
    let fixed = whole + (((c[0] + linear) << 5) as i64 - quadratic as i64);
    from_fixed(fixed < 0, fixed.unsigned_abs(), 35, fixed < 0)
}

/// Sine and cosine of arguments of less than 2^-12 turns: a product with 2 pi, which keeps denormals if asked to.
#[inline(always)]
fn small_sine(x: u32, keep: bool) -> u32 {
    const TAU: u64 = 0x00c9_0fd5;
    let exponent = x >> 23 & 255;
    let significand = u64::from(x & 0x7f_ffff | if exponent != 0 { 0x80_0000 } else { 0 });
    // 21 fraction bits of 2 pi, 23 of the significand.
    let power = exponent.max(1) as i32 - 127 - 44;
    let product = significand * TAU;
    let r = soft::round(soft::F32, Round::NearestEven, x & SIGN32 != 0, product.into(), power, false) as u32;
    super::flush32(r, keep)
}

/// The offset in a segment, rounded to its leading bits, but never up to the next twenty of them.
#[inline(always)]
fn trig_offset(offset: u32, cut: u32, mirrored: u32) -> u32 {
    let x = offset - mirrored;
    let last = (((x >> (20 + cut)) + 1) << 20) - 1;
    ((x + (1 << (cut - 1))) >> cut).min(last) << cut
}

/// Sine (0) or cosine (1) of a part of an eighth of a turn, in units of 2^-31 turns; `mirrored`: counted from its end, so
/// that the segment is that below.
#[inline(always)]
fn octant(table: usize, part: u32, mirrored: u32) -> u32 {
    if table == 1 && part - mirrored < 46592 {
        return ONE;
    }
    if part == 0 {
        return 0;
    }
    let segment = (part - mirrored) >> 24;
    let offset = part - (segment << 24);
    let c = TRIG[table][segment as usize].map(i64::from);
    // The quadratic coefficient is negative; the cubic one corrects it from the segment's beginning or from its end.
    let (from, at) = if c[3] <= 0 {
        (-c[2] << 24, offset - mirrored)
    } else {
        (-(c[2] + c[3]) << 24, (1 << 24) - 1 - (offset - mirrored))
    };
    let inner = nearest((from + c[3].abs() * i64::from(at & !63)) as u64, 17);
    let leading = u64::from((offset - mirrored) >> 7);
    if table == 0 && segment < 2 {
        // Near zero there are more places: four at a time.
        let width = 32 - offset.leading_zeros();
        let (more, shift) = if segment == 0 {
            (24u32.saturating_sub(width) / 4 * 4, 25u32.saturating_sub(width) / 4 * 4)
        } else {
            (0, 0)
        };
        let mut x = if segment == 0 { u64::from(offset) << shift } else { trig_offset(offset, 2, mirrored).into() };
        if segment == 0 && mirrored != 0 && (u64::from(offset) << more) & 0xf_ffff == 0 {
            x -= 1;
        }
        let places = if segment == 0 { 32 + more } else { 30 };
        let linear = (c[1] as u64 * x) >> (50 + shift - places);
        let kept = (24 + more).min(34);
        let square = (leading * leading) >> (34 - kept);
        let cut = 33 + kept - (34 + more);
        let product = u128::from(inner) * u128::from(square);
        let (whole, rest, half) = (product >> cut, product & ((1 << cut) - 1), 1 << (cut - 1));
        let quadratic = (whole + u128::from(rest > half || rest == half && whole & 1 != 0)) as u64;
        let fine = 34 + more;
        let sum = ((c[0] as u64) << (fine - 26)) + (linear << (fine - places)) - quadratic;
        return from_fixed(false, sum, fine, false);
    }
    let x = i64::from(trig_offset(offset, 4, mirrored));
    let product = c[1] * x;
    let magnitude = product.unsigned_abs();
    let linear = if magnitude >> 45 != 0 { nearest(magnitude, 22) << 1 } else { nearest(magnitude, 21) } as i64;
    let linear = if product < 0 { -linear } else { linear };
    let product = inner * ((leading * leading) >> 10);
    let half = if product >> 47 != 0 { 1 << 23 } else { 1 << 22 };
    let quadratic = product.saturating_sub(half).div_ceil(1 << 29) as i64;
    from_fixed(false, (c[0] * 8 + linear - quadratic * 2) as u64, 29, false)
}

/// Sine or cosine of x turns. `keep`: denormals that are read, that are written.
#[inline(always)]
fn trig(x: u32, cosine: bool, keep: [bool; 2]) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    if a >= INF {
        return if a == INF { NAN32 } else { quiet(x) };
    }
    if super::flush32(a, keep[0]) == 0 {
        return if cosine { ONE } else { sign };
    }
    if !cosine && a < 0x39c0_0000 {
        return small_sine(x, keep[1]);
    }
    // 31 bits of the turn. Numbers from 2^23 on are whole.
    let exponent = (a >> 23) as i32 - 127;
    let significand = u64::from(a & 0x7f_ffff | if exponent > -127 { 0x80_0000 } else { 0 });
    let phase = match exponent + 8 {
        31.. => 0,
        up @ 0.. => (significand << up & 0x7fff_ffff) as u32,
        down => significand.checked_shr(down.unsigned_abs()).unwrap_or(0) as u32,
    };
    let (quadrant, part) = (phase >> 29, phase & 0x1fff_ffff);
    let mirrored = u32::from(part >= 0x1000_0000);
    let part = if mirrored != 0 { 0x2000_0000 - part } else { part };
    let table = u32::from(cosine) ^ quadrant & 1 ^ mirrored;
    let r = octant(table as usize, part, mirrored);
    let negative = quadrant >> 1 ^ if cosine { quadrant & 1 } else { sign >> 31 };
    if r == 0 { 0 } else { r | negative << 31 }
}

#[inline]
pub fn sin(x: u32, keep: [bool; 2]) -> u32 {
    trig(x, false, keep)
}
#[inline]
pub fn cos(x: u32, keep: [bool; 2]) -> u32 {
    trig(x, true, keep)
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
        let h = super::flush16(h, self.keep[1]);
        if self.saturate && h & 0x7fff == 0x7c00 && source & 0x7fff != 0x7c00 { h - 1 } else { h }
    }

    #[inline(always)]
    pub fn apply(self, h: u32, f: impl Fn(u32) -> u32) -> u32 {
        let source = super::flush16(h & 0xffff, self.keep[0]);
        let r = f(half::f16_to_f32(source).to_bits());
        self.finish(source, half::f32_to_f16(f32::from_bits(r)))
    }

    #[inline(always)]
    pub fn exp(self, h: u32) -> u32 {
        let source = super::flush16(h & 0xffff, self.keep[0]);
        self.finish(source, exp_half(source))
    }
}

#[cfg(test)]
mod tests;
