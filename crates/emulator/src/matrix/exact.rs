//! CDNA1's sums: a group of products and the accumulator are summed exactly and rounded once.

use super::side::{Reach, View};
use super::sum::{NAN, Span};
use crate::fp::soft;
use crate::level::{Level, level};
use crate::mode::Round;

#[cfg(test)]
thread_local! {
    /// How many rows of results this thread has made, and how many of them in f64.
    pub(super) static COUNTS: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((0, 0)) };
}

/// Adds the products of a row of A and `M` columns of B to `M` accumulators.
#[inline(always)]
pub fn add<const GROUP: usize, const M: usize>(a: View, b: View, at: Span, c: &mut [u32; M]) {
    let in_doubles = are_exact(a.reach, b.reach, at.k, c);
    #[cfg(test)]
    COUNTS.with(|counts| {
        let (asked, wide) = counts.get();
        counts.set((asked + 1, wide + usize::from(in_doubles)));
    });
    match (in_doubles, level()) {
        (false, _) => exactly::<GROUP, M>(a, b, at, c),
        (true, Level::Base) => as_doubles::<GROUP, M, false>(a, b, at, c),
        (true, _) => as_doubles::<GROUP, M, true>(a, b, at, c),
    }
}

/// Bits of the longest fractions of A's and B's elements (f16's), and of an accumulator's.
const FRACTION: i32 = 10;
const ACCUMULATORS_FRACTION: i32 = 23;

/// Whether f64 has every sum of accumulators `c` and of `k` products each. All are multiples of what the last bit of the
/// least product, or of the least accumulator, stands for; so are sums, and what they are rounded to. And they are less than what
/// all the largest ones together would be.
#[inline(always)]
fn are_exact<const M: usize>(a: Reach, b: Reach, k: usize, c: &[u32; M]) -> bool {
    let c = Reach::of(&[c.map(f32::from_bits)]);
    let last = (a.least + b.least - 2 * FRACTION).min(c.least - ACCUMULATORS_FRACTION);
    // A number is less than twice what its exponent says. One bit is for the sum of both, and one for rounding up.
    let products = a.most + b.most + 2 + k.next_power_of_two().ilog2() as i32;
    let first = products.max(c.most + 1) + 2;
    // (Less than an infinity's.)
    a.most.max(b.most).max(c.most) < 128 && first - last <= f64::MANTISSA_DIGITS as i32
}

/// The same as [`exactly`], where f64 has all sums.
#[inline(always)]
fn as_doubles<const GROUP: usize, const M: usize, const FUSE: bool>(a: View, b: View, at: Span, c: &mut [u32; M]) {
    let (mut sum, mut rounded) = ([0f64; M], [0f32; M]);
    for j in 0..M {
        rounded[j] = f32::from_bits(c[j]);
    }
    for first in (0..at.k).step_by(GROUP) {
        for j in 0..M {
            // No zero is negative.
            sum[j] = f64::from(rounded[j]) + 0.0;
        }
        for k in first..first + GROUP {
            let (x, y) = (a.wide[at.a + k * at.step], &b.wide[at.b + k * M..][..M]);
            for j in 0..M {
                sum[j] = if FUSE { x.mul_add(y[j], sum[j]) } else { x * y[j] + sum[j] };
            }
        }
        for j in 0..M {
            rounded[j] = sum[j] as f32;
        }
    }
    for j in 0..M {
        c[j] = rounded[j].to_bits();
    }
}

/// Each group with the accumulator, rounded once.
fn exactly<const GROUP: usize, const M: usize>(a: View, b: View, at: Span, c: &mut [u32; M]) {
    for first in (0..at.k).step_by(GROUP) {
        for j in 0..M {
            let mut terms = [0f64; 5];
            for k in 0..GROUP {
                let (x, y) = (a.value[at.a + (first + k) * at.step], b.value[at.b + (first + k) * M + j]);
                terms[k] = f64::from(x) * f64::from(y);
            }
            terms[GROUP] = f32::from_bits(c[j]).into();
            c[j] = rounded_once(&terms[..=GROUP]);
        }
    }
}

/// The sum of some numbers, each of them a product of two f32 or less, rounded to f32 to nearest even.
pub(super) fn rounded_once(terms: &[f64]) -> u32 {
    // While every addition is exact, the sum is.
    let (mut sum, mut exact) = (0f64, true);
    for &term in terms {
        let next = sum + term;
        let back = next - sum;
        exact &= (sum - (next - back)) + (term - back) == 0.0;
        sum = next;
    }
    if exact {
        return (sum as f32).to_bits();
    }
    if !sum.is_finite() {
        return if sum.is_nan() { NAN } else { (sum as f32).to_bits() };
    }
    // Else in fixed point: products of f32 are multiples of 2^-298 and less than 2^256, and there are few.
    let (mut words, mut negative) = ([0u64; 10], false);
    for &term in terms {
        add_fixed(&mut words, term);
    }
    if words[9] >> 63 != 0 {
        negative = true;
        let mut carry = true;
        for word in &mut words {
            let (inverted, over) = (!*word).overflowing_add(u64::from(carry));
            (*word, carry) = (inverted, over);
        }
    }
    let Some(top) = words.iter().rposition(|&w| w != 0) else { return 0 };
    let low = top.saturating_sub(1);
    let significand = u128::from(words[low]) | if top > low { u128::from(words[top]) << 64 } else { 0 };
    let sticky = words[..low].iter().any(|&w| w != 0);
    soft::round(soft::F32, Round::NearestEven, negative, significand, 64 * low as i32 - 298, sticky) as u32
}

/// Adds a number to a fixed-point one in two's complement, whose last place is 2^-298.
fn add_fixed(words: &mut [u64; 10], term: f64) {
    if term == 0.0 {
        return;
    }
    let bits = term.to_bits();
    let biased = (bits >> 52 & 0x7ff) as i32;
    let whole = bits & ((1 << 52) - 1) | u64::from(biased != 0) << 52;
    let shift = biased.max(1) - 1075 + 298;
    // What a product of two f32 has below its last place is zeros.
    let (whole, shift) = if shift < 0 { (whole >> -shift, 0) } else { (whole, shift as usize) };
    let wide = u128::from(whole) << (shift % 64);
    let (mut parts, mut carry) = ([0u64; 10], bits >> 63 != 0);
    parts[shift / 64] = wide as u64;
    parts[shift / 64 + 1] = (wide >> 64) as u64;
    let flip = if bits >> 63 != 0 { !0 } else { 0 };
    for (word, part) in words.iter_mut().zip(parts) {
        let (sum, first) = word.overflowing_add(part ^ flip);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (*word, carry) = (sum, first | second);
    }
}
