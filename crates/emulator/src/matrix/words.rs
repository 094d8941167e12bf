//! Elements of 16 bits, two in each word, as [`super::rdna3`] takes and multiplies them.
//!
//! Functions are for a processor that has what their `L` is named for.

use super::lanes::Lanes;
use super::numbers::{FURTHEST, NOTHING};
use crate::fp::dot::Factor;

/// Where places are in their halves of words: where the upper half of an f32 has its exponent.
const PLACE: u32 = 7;
/// Signs in both halves.
const SIGNS: i32 = both(1 << 15);

/// The same in both halves of a word.
const fn both(half: i32) -> i32 {
    half & 0xffff | half << 16
}

const fn is_f16<F: Factor>() -> bool {
    assert!(F::BITS == 16);
    F::EXPONENT == 5
}

/// Exponents where they are in the elements.
#[inline(always)]
unsafe fn exponents<L: Lanes, F: Factor>(words: L::Int) -> L::Int {
    // SAFETY: as the caller says.
    unsafe { L::and(words, L::all_int(both(F::MAGNITUDE as i32 & !((1 << F::FRACTION) - 1)))) }
}

/// The magnitudes of elements. Those of f16 are exponents alone.
pub struct Magnitudes<L: Lanes> {
    largest: L::Int,
    /// How much the smallest but zero is too small.
    lacking: L::Int,
}

impl<L: Lanes> Magnitudes<L> {
    #[inline(always)]
    pub unsafe fn none() -> Self {
        // SAFETY: as the caller says.
        unsafe { Magnitudes { largest: L::all_int(0), lacking: L::all_int(0) } }
    }
    #[inline(always)]
    pub unsafe fn note<F: Factor>(&mut self, words: L::Int) {
        // SAFETY: as the caller says.
        unsafe {
            let exponents = exponents::<L, F>(words);
            if is_f16::<F>() {
                self.largest = L::max_halves(self.largest, exponents);
                return;
            }
            let magnitudes = L::and(words, L::all_int(!SIGNS));
            self.largest = L::max_halves(self.largest, magnitudes);
            // Denormals are zeros.
            let least = L::all_int(both((F::BIAS - FURTHEST) << F::FRACTION));
            let lacking = L::where_no_half(exponents, L::all_int(0), L::sub_down_to_zero(least, magnitudes));
            self.lacking = L::or(self.lacking, lacking);
        }
    }
    /// Whether all are numbers, and of moderate size.
    #[inline(always)]
    pub unsafe fn are_moderate<F: Factor>(&self) -> bool {
        let most = if is_f16::<F>() { F::SPECIAL as i32 - 1 } else { (F::BIAS + FURTHEST) << F::FRACTION };
        // SAFETY: as the caller says.
        unsafe {
            let excess = L::sub_down_to_zero(self.largest, L::all_int(both(most)));
            !L::any_more(L::or(excess, self.lacking), L::all_int(0))
        }
    }
}

/// The elements, with zeros for what RDNA3 takes for them.
#[inline(always)]
pub unsafe fn normal<L: Lanes, F: Factor>(words: L::Int) -> L::Int {
    if is_f16::<F>() {
        return words;
    }
    // SAFETY: as the caller says.
    unsafe { L::where_no_half(exponents::<L, F>(words), L::and(words, L::all_int(SIGNS)), words) }
}

/// Of each word the lower element and the upper one, as f32.
#[inline(always)]
pub unsafe fn values<L: Lanes, F: Factor>(normal: L::Int) -> [L::Float; 2] {
    // SAFETY: as the caller says.
    unsafe { [upper::<L, F>(L::up(normal, 16)), upper::<L, F>(normal)] }
}

#[inline(always)]
unsafe fn upper<L: Lanes, F: Factor>(normal: L::Int) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        if !is_f16::<F>() {
            return L::as_float(L::and(normal, L::all_int(!0xffff)));
        }
        // The fields of an f32 with a smaller exponent, be it that of denormals. The sign is shifted in.
        let down = (32 - F::BITS + F::FRACTION) as i32 - 23;
        let fields = i32::MIN | (F::MAGNITUDE as i32) << (23 - F::FRACTION);
        let rebias = L::as_float(L::all_int((254 - F::BIAS) << 23));
        L::multiply(L::as_float(L::and(L::down_each(normal, L::all_int(down)), L::all_int(fields))), rebias)
    }
}

/// The elements' parts of their products' places. Those of A get `more`.
#[inline(always)]
pub unsafe fn places<L: Lanes, F: Factor>(normal: L::Int, more: Option<i32>) -> L::Int {
    let nothing = if more.is_some() { NOTHING.0 } else { NOTHING.1 };
    // SAFETY: as the caller says.
    unsafe {
        let mut exponents = exponents::<L, F>(normal);
        if is_f16::<F>() {
            // Denormals have the exponent of the least normal number.
            exponents = L::max_halves(exponents, L::all_int(both(1 << F::FRACTION)));
            exponents = L::down(exponents, F::FRACTION - PLACE);
        }
        let places = L::add_halves(exponents, L::all_int(both((more.unwrap_or(0) - F::BIAS) << PLACE)));
        L::where_no_half(normal, L::all_int(both(nothing << PLACE)), places)
    }
}
