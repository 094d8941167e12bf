//! How products are summed: a rule for each generation of matrix cores.
//!
//! AMD does not document it. These rules are those of MMA-Sim (Xie et al., "MMA-Sim: Bit-Accurate Reference Model of
//! Tensor Cores and Matrix Cores", arXiv 2511.10909), which its authors found by experiments on the processors and
//! compared with them bit for bit: CDNA1, CDNA2 and CDNA3. CDNA4's have not been published; it computes as CDNA3 here. Nor
//! have those of sparse and scaled operations, which sum what they multiply by the same rules. NaNs are
//! 0x7fc00000.

use super::aligned;
use super::codes::Factors;
use super::exact;
use super::side::{View, ZERO};
use super::sparse::Picks;
use crate::level::{Level, level};
use crate::op::{Op, OpFlags};
use crate::registers::Row;

/// The NaN of matrix operations.
pub const NAN: u32 = 0x7fc0_0000;

/// Where a row of A and the columns of B begin, and how many products there are.
#[derive(Clone, Copy)]
pub struct Span {
    pub a: usize,
    pub b: usize,
    pub k: usize,
    /// From one k to the next, in A.
    pub step: usize,
}

/// Adds the products of a row of A and `M` columns of B to `M` accumulators.
pub trait Rule {
    /// It works on significands and exponents; else on values, without denormals since CDNA2.
    const IN_PARTS: bool = true;
    /// On CDNA1 it works on f64.
    const IS_WIDE: bool = false;
    /// There is a form for vectors.
    const IS_ALIGNED: bool = false;
    /// Adds `k` products to each of a block's results, in their registers, if [`aligned::suits`] says that it can.
    #[inline(always)]
    fn add_aligned<const M: usize>(_a: Factors, _b: Factors, _k: usize, _c: &mut [Row]) {}
    /// The same for a row of A and the rows of B that are picked.
    #[inline(always)]
    fn add_picked<const M: usize>(_a: Factors, _row: usize, _b: Factors, _picks: &Picks, _c: &mut [u32; M]) {}
    fn add<const M: usize>(op: &Op, a: View, b: View, at: Span, c: &mut [u32; M]);
}

/// CDNA2: products are added in groups of `GROUP` (4 or 2), pair by pair, and each group to the accumulator. Denormals
/// are zeros everywhere. CDNA1: a group and the accumulator are summed exactly and rounded once.
pub struct Pairs<const GROUP: usize>;
/// CDNA3: groups of `GROUP` products are summed in fixed point, 24 bits below the largest one's exponent, then with the
/// accumulator, towards minus infinity, and rounded to nearest.
pub struct Aligned<const GROUP: usize>;
/// CDNA3's eight-bit floats: as [`Aligned`], sixteen products in two sums, of those with even and with odd numbers.
pub struct TwoSums;
/// Integers wrap.
pub struct Integers;

#[inline(always)]
fn flushed(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

impl<const GROUP: usize> Rule for Pairs<GROUP> {
    const IN_PARTS: bool = false;
    const IS_WIDE: bool = true;
    #[inline(always)]
    fn add<const M: usize>(op: &Op, a: View, b: View, at: Span, c: &mut [u32; M]) {
        if op.flags.contains(OpFlags::CDNA1) {
            return exact::add::<GROUP, M>(a, b, at, c);
        }
        // Products of halves have 22 bits, so that none is rounded, and are multiples of 2^-48, as are sums of them: never
        // denormal. Nor is what remains where an accumulator is taken from them: one that is as large as that is a multiple
        // of 2^-72.
        if a.least * b.least >= SAFE {
            match level() {
                Level::Base => in_pairs::<GROUP, M, false, false>(a, b, at, c),
                _ => in_pairs::<GROUP, M, false, true>(a, b, at, c),
            }
        } else {
            in_pairs::<GROUP, M, true, false>(a, b, at, c);
        }
    }
}

/// The least normal numbers of two halves, multiplied.
const SAFE: f32 = 1.0 / (1u32 << 28) as f32;

#[inline(always)]
pub(super) fn in_pairs<const GROUP: usize, const M: usize, const FLUSH: bool, const FUSE: bool>(
    a: View,
    b: View,
    at: Span,
    c: &mut [u32; M],
) {
    let keep = |x: f32| if FLUSH { flushed(x) } else { x };
    // The order of summation shows in a NaN's payload only, and there is one payload.
    let mut sum = [0f32; M];
    for j in 0..M {
        let c = f32::from_bits(c[j]);
        sum[j] = if c.abs() < f32::MIN_POSITIVE { 0.0 } else { c };
    }
    for first in (0..at.k).step_by(GROUP) {
        let mut group = [0f32; M];
        for pair in (0..GROUP).step_by(2) {
            let (k, l) = (first + pair, first + pair + 1);
            let (x, y) = (a.value[at.a + k * at.step], a.value[at.a + l * at.step]);
            let (p, q) = (&b.value[at.b + k * M..][..M], &b.value[at.b + l * M..][..M]);
            for j in 0..M {
                // The same where the first product is exact.
                let two = if FUSE { x.mul_add(p[j], y * q[j]) } else { keep(keep(x * p[j]) + keep(y * q[j])) };
                group[j] = if pair == 0 { two } else { keep(group[j] + two) };
            }
        }
        for j in 0..M {
            sum[j] = keep(sum[j] + group[j]);
        }
    }
    for j in 0..M {
        c[j] = if sum[j].is_nan() { NAN } else { sum[j].to_bits() };
    }
}

/// 2 to the power of n, or the least normal number.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52)
}

/// Products of one group in fixed point: their sum in units of 2^-24 of the largest one's exponent, and that exponent.
#[inline(always)]
fn aligned<const M: usize>(
    a: View,
    b: View,
    at: Span,
    ks: impl Iterator<Item = usize> + Clone,
    sum: &mut [i32; M],
    largest: &mut [i32; M],
) {
    *largest = [2 * ZERO; M];
    *sum = [0; M];
    for k in ks.clone() {
        let x = a.exponent[at.a + k * at.step];
        let y = &b.exponent[at.b + k * M..][..M];
        for j in 0..M {
            largest[j] = largest[j].max(x + y[j]);
        }
    }
    let up = 24 - a.fraction - b.fraction;
    for k in ks {
        let i = at.a + k * at.step;
        let (x, xe) = (a.significand[i], a.exponent[i]);
        let (y, ye) = (&b.significand[at.b + k * M..][..M], &b.exponent[at.b + k * M..][..M]);
        for j in 0..M {
            let product = x * y[j];
            let sign = product >> 31;
            let magnitude = ((product ^ sign) - sign) << up;
            let cut = magnitude >> (largest[j] - (xe + ye[j])).min(31);
            sum[j] += (cut ^ sign) - sign;
        }
    }
}

/// The sum of products, in units of 2^-24 of its exponent, and the accumulator.
#[inline(always)]
fn finish(sum: f64, exponent: i32, c: u32, forgets: bool) -> u32 {
    let biased = (c >> 23 & 0xff) as i32;
    let c_exponent = biased.max(1) - 127;
    let whole = (c & 0x7f_ffff | u32::from(biased != 0) << 23) as i32;
    let c_signed = f64::from(if c >> 31 != 0 { -whole } else { whole });
    let top = exponent.max(c_exponent);
    // In units of 2^-32 of the larger exponent.
    let products = (sum * power(exponent - top + 8)).floor();
    let accumulator = (c_signed * power(c_exponent - top + 1)).floor() * 256.0;
    let accumulator = if forgets & (c_exponent < top - 25) { 0.0 } else { accumulator };
    let total = products + accumulator;
    // 31 bits below the leading one remain.
    let leading = (total.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let below = (leading - 31).max(-125 - top).max(0);
    let kept = (total * power(-below)).floor() * power(below);
    let rounded = (kept * power(top - 32)) as f32;
    // No zero is negative.
    (rounded + 0.0).to_bits()
}

/// Replaces those results that are not finite. `before` are the accumulators.
#[cold]
fn specials<const M: usize>(
    a: View,
    b: View,
    at: Span,
    ks: impl Iterator<Item = usize> + Clone,
    before: &[u32; M],
    c: &mut [u32; M],
) {
    for j in 0..M {
        if let Some(other) = special(a, b, at, ks.clone(), M, j, before[j]) {
            c[j] = other;
        }
    }
}

/// The result where some operand is infinite or a NaN, or a product too large: `None` if it is finite after all.
fn special(
    a: View,
    b: View,
    at: Span,
    ks: impl Iterator<Item = usize>,
    stride: usize,
    j: usize,
    c: u32,
) -> Option<u32> {
    let mut all = 0f64;
    for k in ks {
        let i = at.a + k * at.step;
        let product = f64::from(a.value[i]) * f64::from(b.value[at.b + k * stride + j]);
        if product.is_nan() {
            return Some(NAN);
        }
        if product.abs() >= 2f64.powi(128) {
            all += f64::INFINITY.copysign(product);
        }
    }
    all += f64::from(f32::from_bits(c));
    match all {
        all if all.is_nan() => Some(NAN),
        all if all.is_infinite() => Some((all as f32).to_bits()),
        _ => None,
    }
}

#[inline(always)]
fn not_finite<const M: usize>(c: &[u32; M]) -> bool {
    c.iter().fold(0, |most, &x| most.max(x & 0x7fff_ffff)) >= 0x7f80_0000
}

impl<const GROUP: usize> Rule for Aligned<GROUP> {
    const IS_ALIGNED: bool = true;
    #[inline(always)]
    fn add_aligned<const M: usize>(a: Factors, b: Factors, k: usize, c: &mut [Row]) {
        aligned::add::<M, GROUP, 1>(a, b, k, c);
    }
    #[inline(always)]
    fn add_picked<const M: usize>(a: Factors, row: usize, b: Factors, picks: &Picks, c: &mut [u32; M]) {
        aligned::add_picked::<M, GROUP, 1>(a, row, b, picks, c);
    }
    #[inline(always)]
    fn add<const M: usize>(_op: &Op, a: View, b: View, at: Span, c: &mut [u32; M]) {
        let (mut sum, mut largest) = ([0; M], [0; M]);
        for first in (0..at.k).step_by(GROUP) {
            let ks = first..(first + GROUP).min(at.k);
            aligned(a, b, at, ks.clone(), &mut sum, &mut largest);
            let odd = a.special || b.special || not_finite(c) || largest.iter().fold(0, |m, &e| m.max(e)) >= 127;
            let before = *c;
            for j in 0..M {
                c[j] = finish(f64::from(sum[j]), largest[j], c[j], false);
            }
            if odd {
                specials(a, b, at, ks, &before, c);
            }
        }
    }
}

impl Rule for TwoSums {
    const IS_ALIGNED: bool = true;
    #[inline(always)]
    fn add_aligned<const M: usize>(a: Factors, b: Factors, k: usize, c: &mut [Row]) {
        aligned::add::<M, 16, 2>(a, b, k, c);
    }
    #[inline(always)]
    fn add_picked<const M: usize>(a: Factors, row: usize, b: Factors, picks: &Picks, c: &mut [u32; M]) {
        aligned::add_picked::<M, 16, 2>(a, row, b, picks, c);
    }
    #[inline(always)]
    fn add<const M: usize>(_op: &Op, a: View, b: View, at: Span, c: &mut [u32; M]) {
        let (mut even, mut odd, mut even_top, mut odd_top) = ([0; M], [0; M], [0; M], [0; M]);
        for first in (0..at.k).step_by(16) {
            let ks = first..(first + 16).min(at.k);
            aligned(a, b, at, ks.clone().step_by(2), &mut even, &mut even_top);
            aligned(a, b, at, ks.clone().skip(1).step_by(2), &mut odd, &mut odd_top);
            let unusual = a.special || b.special || not_finite(c);
            let before = *c;
            for j in 0..M {
                let top = even_top[j].max(odd_top[j]);
                let part = |sum: i32, own: i32| (f64::from(sum) * power(own - top)).floor();
                let sum = part(even[j], even_top[j]) + part(odd[j], odd_top[j]);
                c[j] = finish(sum, top, c[j], true);
            }
            if unusual {
                specials(a, b, at, ks, &before, c);
            }
        }
    }
}

impl Rule for Integers {
    #[inline(always)]
    fn add<const M: usize>(_op: &Op, a: View, b: View, at: Span, c: &mut [u32; M]) {
        for k in 0..at.k {
            let x = a.significand[at.a + k * at.step];
            let y = &b.significand[at.b + k * M..][..M];
            for j in 0..M {
                c[j] = c[j].wrapping_add(x.wrapping_mul(y[j]) as u32);
            }
        }
    }
}
