//! CDNA2's sums of products of f16 ([`super::sum::Pairs`]) by the host's vectors.
//!
//! No product, and no sum of some, is a denormal: they are multiples of 2^-48, and of 2^-72 with an accumulator of their size.
//! Products are exact, so that to fuse one with a sum changes nothing.

use super::dense::four_rows;
use super::lanes::{Job, Lanes};
use super::sum::NAN;
use crate::registers::Row;

/// The first bits of a number's magnitude that is no denormal, and of an infinite one's.
const NORMAL: i32 = 0x0080_0000;
const INFINITE: i32 = 0x7f80_0000;

/// Adds `K` products of `a` and `b`, which are without denormals, to each of a block's M x M results.
pub struct Block<'a, const M: usize, const K: usize> {
    pub a: &'a [f32],
    pub b: &'a [f32],
    pub c: &'a mut [Row],
}

impl<const M: usize, const K: usize> Job for Block<'_, M, K> {
    type Result = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Block { a, b, c } = self;
        assert!(M.is_multiple_of(16) && K.is_multiple_of(4) && a.len() >= K * M && b.len() >= K * M);
        assert!(c.len() == M * M / 64);
        let c = c.as_mut_ptr().cast::<u32>();
        for column in (0..M).step_by(L::N) {
            // SAFETY: as the caller says; all that is loaded and stored is there.
            unsafe {
                // These stay in registers for all rows.
                let mut y = [L::all(0.0); K];
                for k in 0..K {
                    y[k] = L::load(b.as_ptr().add(k * M + column));
                }
                for n in 0..M / 4 {
                    let first = c.add(four_rows::<M>(n) + column);
                    for r in 0..4 {
                        let at = first.add(64 * r);
                        L::store(at, sum::<L, M, K>(a.as_ptr().add(4 * n + r), &y, L::load(at.cast())));
                    }
                }
            }
        }
    }
}

/// A row's products with some columns, added to `c`. `x`: the row's first element; those of the next k are `M` further on.
#[inline(always)]
unsafe fn sum<L: Lanes, const M: usize, const K: usize>(x: *const f32, y: &[L::Float; K], c: L::Float) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        let magnitude = |x: L::Float| L::and(L::as_int(x), L::all_int(i32::MAX));
        let mut sum = L::zero_where_less(magnitude(c), L::all_int(NORMAL), c);
        for k in (0..K).step_by(4) {
            let product = |k: usize| (L::all(*x.add(k * M)), y[k]);
            let two = |k: usize| {
                let (one, other) = (product(k), product(k + 1));
                L::multiply_add(one.0, one.1, L::multiply(other.0, other.1))
            };
            sum = L::add_float(sum, L::add_float(two(k), two(k + 2)));
        }
        // Which NaN it is does not show.
        L::as_float(L::where_less(L::all_int(INFINITE), magnitude(sum), L::all_int(NAN as i32), L::as_int(sum)))
    }
}
