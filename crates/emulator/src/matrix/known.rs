//! What is known of a row of sums before its products are made.
//!
//! Most accumulators are not much larger than products. Then no coarser unit is needed, nor what is cut off with it
//! ([`super::group`]): a third of the instructions but for the products'. Which rows that is so in is not to be foreseen, and a
//! branch that waits for numbers costs more than it saves. So all rows are looked at first: when the branches come, they are known.

use super::group::{UNIT, exponent, of_units, own, with_accumulator};
use super::lanes::Lanes;
use super::sum::NAN;

/// An accumulator of so many units, 3 times 2^29, as f32. With one of less, which is less than 2^7 times as large as the largest
/// product's exponent says, the rule keeps all bits, and the sum has 31: eight products have less than 2^29 units.
const LARGE: i32 = exponent(127 + 30) + (1 << 22);

/// `GROWTH` less the largest product's exponent, as [`super::group`] has it, and the accumulator.
pub struct Known<L: Lanes, const GROWTH: i32> {
    pub growth: L::Int,
    /// In units.
    accumulator: L::Float,
}

/// Functions are for a processor that has what `L` is named for.
impl<L: Lanes, const GROWTH: i32> Known<L, GROWTH> {
    #[inline(always)]
    pub unsafe fn of(growth: L::Int, accumulator: L::Float) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            let unit = L::as_float(L::add(growth, L::all_int(UNIT.wrapping_sub(GROWTH))));
            Known { growth, accumulator: L::multiply(accumulator, unit) }
        }
    }

    /// Whether an accumulator is large, infinite, or a NaN.
    #[inline(always)]
    pub unsafe fn is_large(&self) -> bool {
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
    pub unsafe fn add(&self, sum: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { of_units::<L>(L::add(sum, L::floor_whole(self.accumulator)), self.top()) }
    }

    /// The same with any accumulator.
    #[inline(always)]
    pub unsafe fn add_any(&self, sum: L::Int, accumulator: L::Float) -> L::Float {
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
