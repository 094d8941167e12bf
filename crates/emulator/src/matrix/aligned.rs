//! Sums in fixed point ([`super::sum::Aligned`], [`super::sum::TwoSums`]) by the host's vectors.
//!
//! The same numbers otherwise: a product of elements that are [`narrow`](View::narrow) is exact as an f32, and so is the
//! product with a power of two that makes the place of the sum's last bit that of one. What is cut off is then what a
//! conversion to whole numbers cuts off. The sum and the accumulator are whole numbers of 39 bits at most, exact as f64.
//! Of those, 31 bits below the leading one are kept, towards minus infinity, before the host rounds to f32.
//!
//! Infinities, NaNs and elements that are not narrow are left to the other form, and so are 4 x 4 results.

use super::sum::Span;
use super::types::View;
use crate::op::{Level, level};

/// Adds the products of a row of A and `M` columns of B to `c`, in groups of `GROUP`, each in one sum, or in `SUMS` two, of
/// even and odd products. Gives false, and changes nothing, where it cannot.
#[inline(always)]
pub fn add<const M: usize, const GROUP: usize, const SUMS: usize>(
    a: View,
    b: View,
    at: Span,
    c: &mut [u32; M],
) -> bool {
    if !(a.narrow && b.narrow) || a.special || b.special || !M.is_multiple_of(16) {
        return false;
    }
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: the processor has these features.
        Level::Avx512 => return unsafe { wide::<M, GROUP, SUMS>(a, b, at, c) },
        // SAFETY: likewise.
        Level::Avx2 => return unsafe { narrow::<M, GROUP, SUMS>(a, b, at, c) },
        Level::Base => {}
    }
    false
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn wide<const M: usize, const GROUP: usize, const SUMS: usize>(
    a: View,
    b: View,
    at: Span,
    c: &mut [u32; M],
) -> bool {
    // SAFETY: the processor has AVX-512.
    unsafe { vectors::row::<super::lanes::Avx512, M, GROUP, SUMS>(a, b, at, c) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
pub(super) fn narrow<const M: usize, const GROUP: usize, const SUMS: usize>(
    a: View,
    b: View,
    at: Span,
    c: &mut [u32; M],
) -> bool {
    // SAFETY: the processor has AVX2.
    unsafe { vectors::row::<super::lanes::Avx2, M, GROUP, SUMS>(a, b, at, c) }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::super::lanes::Lanes;
    use super::super::types::ZERO;
    use super::{Span, View};

    /// # Safety
    /// The processor has what `L` is named for.
    #[inline(always)]
    pub unsafe fn row<L: Lanes, const M: usize, const GROUP: usize, const SUMS: usize>(
        a: View,
        b: View,
        at: Span,
        c: &mut [u32; M],
    ) -> bool {
        let last = at.k - 1;
        assert!(at.a + last * at.step < a.value.len() && at.a + last * at.step < a.exponent.len());
        assert!(at.b + last * M + M <= b.value.len() && at.b + last * M + M <= b.exponent.len());
        let mut out = *c;
        // SAFETY: as the caller says; what is loaded is inside, as was found above.
        unsafe {
            let mut most = L::all_int(0);
            for column in (0..M).step_by(L::N) {
                let mut sum = L::load(out.as_ptr().add(column).cast());
                let part = |first: usize, k| Span {
                    a: at.a + first * at.step,
                    b: at.b + first * M + column,
                    k,
                    step: at.step,
                };
                let whole = at.k - at.k % GROUP;
                // How many these have is known when it is compiled.
                for first in (0..whole).step_by(GROUP) {
                    let exponent = exponents::<L>(sum);
                    most = L::max(most, exponent);
                    sum = group::<L, M, SUMS>(a, b, part(first, GROUP), sum, exponent);
                }
                if whole < at.k {
                    let exponent = exponents::<L>(sum);
                    most = L::max(most, exponent);
                    sum = group::<L, M, SUMS>(a, b, part(whole, at.k - whole), sum, exponent);
                }
                L::store(out.as_mut_ptr().add(column), sum);
            }
            if L::any_more(most, L::all_int(127)) {
                return false;
            }
        }
        *c = out;
        true
    }

    /// The exponents of f32 numbers.
    #[inline(always)]
    unsafe fn exponents<L: Lanes>(x: L::Float) -> L::Int {
        // SAFETY: as the caller says.
        unsafe {
            let biased = L::and(L::down(L::as_int(x), 23), L::all_int(0xff));
            L::sub(L::max(biased, L::all_int(1)), L::all_int(127))
        }
    }

    /// The largest exponent of every `SUMS`th product, and the sum of those products in units of 2^-24 of that.
    #[inline(always)]
    unsafe fn sum<L: Lanes, const M: usize, const SUMS: usize>(
        a: View,
        b: View,
        at: Span,
        from: usize,
    ) -> (L::Int, L::Int) {
        // SAFETY: as the caller says.
        unsafe {
            let mut largest = L::all_int(2 * ZERO);
            for k in (from..at.k).step_by(SUMS) {
                let x = *a.exponent.get_unchecked(at.a + k * at.step);
                let y = L::load_int(b.exponent.as_ptr().add(at.b + k * M));
                largest = L::max(largest, L::add(L::all_int(x), y));
            }
            // That of zeros is out of range.
            let biased = L::sub(L::all_int(24 + 127), L::max(largest, L::all_int(-100)));
            let unit = L::as_float(L::up(biased, 23));
            let mut sum = L::all_int(0);
            for k in (from..at.k).step_by(SUMS) {
                let x = *a.value.get_unchecked(at.a + k * at.step);
                let y = L::load(b.value.as_ptr().add(at.b + k * M));
                sum = L::add(sum, L::whole(L::multiply(L::multiply(L::all(x), y), unit)));
            }
            (largest, sum)
        }
    }

    /// 2 to the power of the difference of two exponents and `more`, as f32: no less than 2^-100, which leaves nothing of a
    /// sum.
    #[inline(always)]
    unsafe fn ratio<L: Lanes>(own: L::Int, top: L::Int, more: i32) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let difference = L::max(L::sub(own, top), L::all_int(-100));
            L::as_float(L::up(L::add(difference, L::all_int(127 + more)), 23))
        }
    }

    /// Whole numbers times powers of two, towards minus infinity.
    #[inline(always)]
    unsafe fn moved<L: Lanes>(sum: [L::Double; 2], by: L::Float) -> [L::Double; 2] {
        // SAFETY: as the caller says.
        unsafe {
            let by = L::doubles(by);
            [L::floor(L::multiply_double(sum[0], by[0])), L::floor(L::multiply_double(sum[1], by[1]))]
        }
    }

    /// A group of products and the accumulator `c`.
    #[inline(always)]
    unsafe fn group<L: Lanes, const M: usize, const SUMS: usize>(
        a: View,
        b: View,
        at: Span,
        mut c: L::Float,
        c_exponent: L::Int,
    ) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let (mut exponent, products) = sum::<L, M, SUMS>(a, b, at, 0);
            let mut products = L::doubles_of_ints(products);
            if SUMS == 2 {
                let (odd_exponent, odd) = sum::<L, M, SUMS>(a, b, at, 1);
                let top = L::max(exponent, odd_exponent);
                let even = moved::<L>(products, ratio::<L>(exponent, top, 0));
                let odd = moved::<L>(L::doubles_of_ints(odd), ratio::<L>(odd_exponent, top, 0));
                products = [L::add_double(even[0], odd[0]), L::add_double(even[1], odd[1])];
                exponent = top;
            }
            let top = L::max(exponent, c_exponent);
            if SUMS == 2 {
                // The hardware forgets an accumulator that is too small.
                c = L::zero_where_less(c_exponent, L::sub(top, L::all_int(25)), c);
            }
            // In units of 2^-32 of the larger exponent.
            let products = moved::<L>(products, ratio::<L>(exponent, top, 8));
            let (c, units) = (L::doubles(c), L::powers(L::sub(L::all_int(1023 + 24), top)));
            let mut rounded = products;
            for half in 0..2 {
                let accumulator = L::floor(L::multiply_double(c[half], units[half]));
                // Whole numbers of 39 bits at most: nothing is rounded.
                let sum = L::multiply_add_double(accumulator, L::all_double(256.0), products[half]);
                let kept = L::floor_to_32_bits(sum);
                rounded[half] = L::multiply_double(kept, L::complement(2 * 1023 - 8, units[half]));
            }
            // No zero is negative.
            L::add_float(L::singles(rounded), L::all(0.0))
        }
    }
}
