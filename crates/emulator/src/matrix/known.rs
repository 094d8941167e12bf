//! What is known of a row of sums before its products are made.
//!
//! Most accumulators are not much larger than products. Their sums need no coarser unit, and nothing is cut off
//! ([`super::group`]): that saves a third of the instructions but for the products'. The processor cannot foresee which rows
//! need a coarser unit, and a branch that waits for numbers costs more than it saves. So the code looks at all rows first, and
//! the branch that comes later has its answer.

use std::mem::MaybeUninit;

use super::group::{UNIT, exponent, of_units, own, with_accumulator};
use super::lanes::Lanes;
use super::sum::NAN;

/// The least large accumulator, in units, as the bits of an f32: 3 times 2^29. A smaller accumulator is less than 2^7 times the
/// power of two of the largest product, so the rule keeps all its bits. Eight products are less than 2^29 units, so the sum
/// fits in 31 bits.
const LARGE: i32 = exponent(127 + 30) + (1 << 22);

/// Rows of sums, as many as a result has, in the columns of a vector. Functions are for a processor that has what `L` is named for.
pub struct Rows<L: Lanes, const GROWTH: i32> {
    known: [MaybeUninit<Known<L, GROWTH>>; 32],
    are_large: u32,
}

impl<L: Lanes, const GROWTH: i32> Rows<L, GROWTH> {
    #[inline(always)]
    pub fn new() -> Self {
        Rows { known: [const { MaybeUninit::uninit() }; 32], are_large: 0 }
    }

    /// Looks at a row: `growth` is `GROWTH` less the largest product's exponent, as [`super::group`] has it.
    ///
    /// # Safety
    /// There are accumulators at `c`.
    #[inline(always)]
    pub unsafe fn look(&mut self, row: usize, growth: L::Int, c: *const u32) {
        // SAFETY: as the caller says.
        unsafe {
            let known = self.known[row].write(Known::of(growth, L::load(c.cast())));
            self.are_large |= u32::from(known.is_large()) << row;
        }
    }

    /// What a row was given.
    ///
    /// # Safety
    /// It has been looked at.
    #[inline(always)]
    pub unsafe fn growth(&self, row: usize) -> L::Int {
        // SAFETY: as the caller says.
        unsafe { self.known[row].assume_init_ref().growth }
    }

    /// Adds a row's products, a sum of units, to the accumulators.
    ///
    /// # Safety
    /// It has been looked at, with these accumulators.
    #[inline(always)]
    pub unsafe fn add(&self, row: usize, sum: L::Int, c: *mut u32) {
        // SAFETY: as the caller says.
        unsafe {
            let (known, is_large) = (self.known[row].assume_init_ref(), self.are_large >> row & 1 != 0);
            L::store(c, if is_large { known.add_any(sum, L::load(c.cast())) } else { known.add(sum) });
        }
    }
}

struct Known<L: Lanes, const GROWTH: i32> {
    growth: L::Int,
    /// In units.
    accumulator: L::Float,
}

impl<L: Lanes, const GROWTH: i32> Known<L, GROWTH> {
    #[inline(always)]
    unsafe fn of(growth: L::Int, accumulator: L::Float) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            let unit = L::as_float(L::add(growth, L::all_int(UNIT.wrapping_sub(GROWTH))));
            Known { growth, accumulator: L::multiply(accumulator, unit) }
        }
    }

    /// Whether an accumulator is large, infinite, or a NaN.
    #[inline(always)]
    unsafe fn is_large(&self) -> bool {
        // SAFETY: as the caller says.
        unsafe { L::any_more(L::and(L::as_int(self.accumulator), L::all_int(i32::MAX)), L::all_int(LARGE - 1)) }
    }

    /// The exponent of the largest product.
    #[inline(always)]
    unsafe fn top(&self) -> L::Int {
        // SAFETY: as the caller says.
        unsafe { L::sub(L::all_int(GROWTH), self.growth) }
    }

    /// The products' sum, of units, and the accumulator, which is not large.
    #[inline(always)]
    unsafe fn add(&self, sum: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { of_units::<L>(L::add(sum, L::floor_whole(self.accumulator)), self.top()) }
    }

    /// The same with any accumulator.
    #[inline(always)]
    unsafe fn add_any(&self, sum: L::Int, accumulator: L::Float) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let all = with_accumulator::<L>(self.top(), sum, accumulator);
            let is_special = L::any_more(own::<L>(accumulator), L::all_int(exponent(254)));
            if is_special { or_special::<L>(accumulator, all) } else { all }
        }
    }
}

/// The result with an accumulator that is infinite or a NaN; `other` with others. The products are finite.
#[cold]
#[inline(always)]
unsafe fn or_special<L: Lanes>(accumulator: L::Float, other: L::Float) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        let size = L::and(L::as_int(accumulator), L::all_int(i32::MAX));
        let infinity = L::all_int(exponent(255));
        let special = L::where_less(infinity, size, L::all_int(NAN as i32), L::as_int(accumulator));
        L::as_float(L::where_less(size, infinity, L::as_int(other), special))
    }
}
