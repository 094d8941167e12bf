//! exp2, log2, sine and cosine without branches, in f64: correctly rounded f32 results but for rare ties.
//!
//! The hardware's own results are within one unit in the last place of f32; which neighbour it takes is not published.

use super::scale::pow2;
use super::{is_nan32, quiet32};

#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut r = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        r = r * x + coefficients[i];
    }
    r
}

/// Reciprocals of factorials, alternating in sign, of the even or odd numbers from `first`.
const fn alternating<const N: usize>(first: u32) -> [f64; N] {
    let mut out = [0.0; N];
    let (mut i, mut factorial, mut n) = (0, 1.0, first as f64);
    while i < N {
        out[i] = if i % 2 == 0 { 1.0 / factorial } else { -1.0 / factorial };
        factorial *= (n + 1.0) * (n + 2.0);
        n += 2.0;
        i += 1;
    }
    out
}

/// Terms of the series of `2^x`.
pub const EXP2_TERMS: [f64; 13] = exp2_series();
/// The last place of an f32 that is added to this is that of one, and what is below 2^9 of the sum's bits is the number.
pub const SINGLE_ONES: f32 = 12_582_912.0; // 2^23 + 2^22

const fn exp2_series() -> [f64; 13] {
    let mut out = [0.0; 13];
    let (mut i, mut term) = (0, 1.0);
    while i < 13 {
        out[i] = term;
        term *= std::f64::consts::LN_2 / (i + 1) as f64;
        i += 1;
    }
    out
}

/// `2^x` for |x| up to 1000; larger arguments saturate there. NaN stays NaN.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let x = if x > 1000.0 { 1000.0 } else { x };
    let x = if x < -1000.0 { -1000.0 } else { x };
    let (whole, n) = nearest(x);
    exp2_near_zero::<false>(x - whole) * pow2(n)
}

/// `2^x` of f32, what would be a denormal as zero: the same numbers as [`exp2`]'s, with f64 for the series alone. NaNs are quieted.
/// `FUSED`: the processor multiplies and adds in one instruction; the result is the same for every f32. The compiler makes vectors
/// of each of the three loops.
#[inline(always)]
pub fn exp2_of_singles<const FUSED: bool, const N: usize>(x: &[u32; N], out: &mut [u32; N]) {
    let x = *x;
    let (mut fraction, mut whole, mut power) = ([0.0; N], [0; N], [0; N]);
    for i in 0..N {
        let x = f32::from_bits(x[i]);
        let inside = if x > 128.0 { 128.0 } else { x };
        let inside = if inside < -127.0 { -127.0 } else { inside };
        let sum = inside + SINGLE_ONES;
        (fraction[i], whole[i]) = (inside - (sum - SINGLE_ONES), sum.to_bits());
    }
    for i in 0..N {
        power[i] = (exp2_near_zero::<FUSED>(f64::from(fraction[i])) as f32).to_bits();
    }
    for i in 0..N {
        let single = f32::from_bits(x[i]);
        let found = power[i].wrapping_add(whole[i] << 23);
        let found = if single < -126.0 { 0 } else { found };
        let found = if single >= 128.0 { f32::INFINITY.to_bits() } else { found };
        out[i] = if is_nan32(x[i]) { quiet32(x[i]) } else { found };
    }
}

/// The series from its end, but for the lowest two terms four by four, so that vectors wait less. As f32, `2^x` of every f32 is
/// what it is by one term after the other.
#[inline(always)]
fn exp2_near_zero<const FUSED: bool>(x: f64) -> f64 {
    const TERMS: [f64; 13] = EXP2_TERMS;
    let add = |x: f64, y: f64, z: f64| if FUSED { x.mul_add(y, z) } else { x * y + z };
    let square = x * x;
    let fourth = square * square;
    let two = |at: usize| add(TERMS[at + 1], x, TERMS[at]);
    let four = |at: usize| add(two(at + 2), square, two(at));
    let above = add(add(TERMS[12], square, two(10)), fourth, four(6));
    let above = add(above, fourth, four(2));
    add(add(above, x, TERMS[1]), x, TERMS[0])
}

/// The nearest whole number, of two the even one, and the same as an integer (whose conversion vectors would not have). Of
/// less than 2^31.
#[inline(always)]
fn nearest(x: f64) -> (f64, i32) {
    // The sum's last place is that of one, and what is below 2^32 of it is the number.
    const ONES: f64 = 6_755_399_441_055_744.0; // 2^52 + 2^51
    let sum = x + ONES;
    (sum - ONES, sum.to_bits() as i32)
}

/// `log2(x)` of a positive normal number.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let bits = x.to_bits();
    // Split so that the significand lies in [sqrt(1/2), sqrt(2)).
    let shifted = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = (shifted as i64 >> 52) as i32;
    let m = f64::from_bits(bits.wrapping_sub((exponent as i64 as u64) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let series = polynomial(
        s * s,
        [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0],
    );
    exponent as f64 + series * s * (2.0 * std::f64::consts::LOG2_E)
}

/// Sine and cosine of an argument in revolutions, from the quarter turn that it lies in.
#[inline(always)]
fn quarter(turns: f64, offset: i32) -> f64 {
    let r = turns - turns.round_ties_even();
    let (q, number) = nearest(r * 4.0);
    let t = (r - q * 0.25) * std::f64::consts::TAU;
    let t2 = t * t;
    let sine = t * polynomial(t2, alternating::<9>(1));
    let cosine = polynomial(t2, alternating::<10>(0));
    let k = number.wrapping_add(offset) & 3;
    let v = if k & 1 == 0 { sine } else { cosine };
    if k & 2 == 0 { v } else { -v }
}

#[inline(always)]
pub fn sin_turns(x: f64) -> f64 {
    quarter(x, 0)
}

#[inline(always)]
pub fn cos_turns(x: f64) -> f64 {
    quarter(x, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fp::flush32;

    fn power<const FUSED: bool>(bits: u32) -> u32 {
        let mut out = [0];
        exp2_of_singles::<FUSED, 1>(&[bits], &mut out);
        out[0]
    }

    /// Of every f32, if `LUTHIER_NATIVE_DEEP` is set; else of one in 997.
    #[test]
    fn exp2_is_what_one_term_after_the_other_gives_and_fused_too() {
        let step = if std::env::var_os("LUTHIER_NATIVE_DEEP").is_some() { 1 } else { 997 };
        for bits in (0..0x7f80_0000u32).step_by(step).flat_map(|bits| [bits, bits | 1 << 31]) {
            let x = f64::from(f32::from_bits(bits)).clamp(-1000.0, 1000.0);
            let (whole, n) = nearest(x);
            let wanted = polynomial(x - whole, exp2_series()) * pow2(n);
            let wanted = (wanted as f32).to_bits();
            assert_eq!((exp2(x) as f32).to_bits(), wanted, "{bits:#x}");
            assert_eq!([power::<false>(bits), power::<true>(bits)], [flush32(wanted, false); 2], "{bits:#x}");
        }
        let ends = [f32::INFINITY, f32::NEG_INFINITY].map(|x| power::<false>(x.to_bits()));
        assert_eq!(ends, [f32::INFINITY.to_bits(), 0]);
        assert_eq!(power::<true>(0xffa0_0001), 0xffe0_0001);
    }

    #[test]
    fn close_to_the_library() {
        for i in -4000..4000 {
            let x = f64::from(i) * 0.0123 + 0.001;
            assert!((exp2(x * 0.5) / (x * 0.5).exp2() - 1.0).abs() < 1e-13, "exp2 {x}");
            let p = x.abs();
            assert!((log2(p) - p.log2()).abs() <= 1e-13 * p.log2().abs(), "log2 {p}: {} {}", log2(p), p.log2());
            let a = (x - x.round()) * std::f64::consts::TAU;
            assert!((sin_turns(x) - a.sin()).abs() < 1e-13, "sin {x}");
            assert!((cos_turns(x) - a.cos()).abs() < 1e-13, "cos {x}");
        }
        assert_eq!((log2(1.0), exp2(0.0), exp2(3.0), sin_turns(0.25), cos_turns(0.5)), (0.0, 1.0, 8.0, 1.0, -1.0));
    }
}
