//! WMMA's integers ([`super::integers`]) by the host's vectors: elements become halves of words, which are multiplied two by two.

use std::mem::MaybeUninit;

use super::lanes::{Job, Lanes};
use super::layout::{self, is_rdna3};
use super::wmma::SIZE;
use crate::op::{Op, RawMods};
use crate::registers::Row;
use crate::wave::Wave;

/// Rows whose sums are in registers at once.
const ROWS: usize = 4;

/// Adds the products of A and B, `k` elements of `BITS` bits in a row of each, to C.
pub struct Sums<'a, const BITS: usize> {
    pub w: &'a mut Wave,
    pub op: &'a Op,
    pub k: usize,
}

impl<const BITS: usize> Job for Sums<'_, BITS> {
    type Result = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (w, op, clamps, rdna3) = (&*self.w, self.op, RawMods(self.op.imm).clamp(), is_rdna3(self.w));
        // On RDNA3 each part of the wave makes its rows of the result from its own copies of A and B.
        let parts = if rdna3 { w.lanes() as usize / SIZE } else { 1 };
        // Of every other eight products the sums are limited apart.
        let turns = if rdna3 { 1 } else { 2 };
        let mut results = Square::uninit();
        let to = results.as_mut_ptr().cast::<i32>();
        for part in 0..parts {
            let mut factors = [Square::uninit(); 2];
            // SAFETY: as the caller says; there are as many pairs as are asked for, and rows of C have all of their columns.
            unsafe {
                for (source, factor) in factors.iter_mut().enumerate() {
                    self.take::<L>(source, part, factor);
                }
                let [a, b] = [factors[0].as_ptr().cast::<i32>(), factors[1].as_ptr().cast::<i32>()];
                for first in (part..SIZE).step_by(ROWS * parts) {
                    // Loops: closures of arrays would be functions for the baseline processor.
                    let mut c = [std::ptr::null::<i32>(); ROWS];
                    for r in 0..ROWS {
                        let (register, part) = layout::of_row(w, first + r * parts);
                        c[r] = w.row(op.src[2] + register as u16).0[SIZE * part..][..SIZE].as_ptr().cast();
                    }
                    for column in (0..SIZE).step_by(L::N) {
                        let mut sums = [L::all_int(0); ROWS];
                        for r in 0..ROWS {
                            sums[r] = L::load_int(c[r].add(column));
                        }
                        for turn in 0..turns {
                            let mut products = [L::all_int(0); ROWS];
                            for eight in (turn..self.k / 8).step_by(turns) {
                                for pair in 4 * eight..4 * eight + 4 {
                                    let (x, y) = (a.add(SIZE * pair + first), L::load_int(b.add(SIZE * pair + column)));
                                    for r in 0..ROWS {
                                        let two = L::sums_of_products(L::all_int(*x.add(r * parts)), y);
                                        products[r] = L::add(products[r], two);
                                    }
                                }
                            }
                            for r in 0..ROWS {
                                let sum = L::add(sums[r], products[r]);
                                sums[r] = if clamps { limited::<L>(sums[r], products[r], sum) } else { sum };
                            }
                        }
                        for r in 0..ROWS {
                            L::store_int(to.add(SIZE * (first + r * parts) + column), sums[r]);
                        }
                    }
                }
            }
        }
        // SAFETY: all rows have been stored.
        let results = unsafe { results.assume_init_ref() };
        for row in 0..SIZE {
            let words = &results[row / 4].0[row % 4 * SIZE..][..SIZE];
            let (register, part) = layout::of_row(self.w, row);
            self.w.row_mut(self.op.dst + register as u16).0[SIZE * part..][..SIZE].copy_from_slice(words);
        }
    }
}

/// Two numbers' `sum`, or the one next to it that there is.
#[inline(always)]
unsafe fn limited<L: Lanes>(x: L::Int, y: L::Int, sum: L::Int) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let limit = L::xor(L::down_each(x, L::all_int(31)), L::all_int(i32::MAX));
        let overflows = L::and(L::xor(x, sum), L::xor(y, sum));
        L::where_less(overflows, L::all_int(0), limit, sum)
    }
}

/// Sixteen times sixteen words, each sixteen in a line of the processor's cache.
type Square = MaybeUninit<[Row; SIZE * SIZE / 64]>;

impl<const BITS: usize> Sums<'_, BITS> {
    /// Takes A or B apart, of RDNA3 the copy of a part: pairs of elements along K, each of all rows or columns.
    #[inline(always)]
    unsafe fn take<L: Lanes>(&self, source: usize, part: usize, pairs: &mut Square) {
        let &Sums { ref w, op, k } = self;
        let per_word = const { 32 / BITS };
        assert!((BITS == 4 || BITS == 8) && k.is_multiple_of(8) && k <= 2 * SIZE);
        let both = |half: u32| (half << 16 | half) as i32;
        let sign: u32 = if RawMods(op.imm).neg(source as u32) { 1 << (BITS - 1) } else { 0 };
        let to = pairs.as_mut_ptr().cast::<i32>();
        for word in 0..k / per_word {
            let (place, at) = layout::dense(w, BITS, k, word * per_word);
            let lane = SIZE * if is_rdna3(w) { part } else { place };
            let words = &w.row(op.src[source] + (at / per_word) as u16).0[lane..][..SIZE];
            for i in (0..SIZE).step_by(L::N) {
                // SAFETY: as the caller says; there is a place for each pair.
                unsafe {
                    let all = L::load_int(words.as_ptr().add(i).cast());
                    let less = L::all_int(both(sign.wrapping_neg() & 0xffff));
                    for pair in 0..per_word / 2 {
                        let code = L::and(L::down(all, (BITS * pair) as u32), L::all_int(both((1 << BITS) - 1)));
                        let element = L::add_halves(L::xor(code, L::all_int(both(sign))), less);
                        L::store_int(to.add(SIZE * (word * per_word / 2 + pair) + i), element);
                    }
                }
            }
        }
    }
}
