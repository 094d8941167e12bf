//! Elements of RDNA3's and RDNA4's matrix operations as [`super::chain`] multiplies them.
//!
//! Functions are for a processor that has what their `L` is named for; those of [`Factors`] for rows and columns that there are.

use std::mem::MaybeUninit;

use super::lanes::Lanes;
use super::rdna::Elements;
use super::wmma::SIZE;
use crate::fp::dot::{Factor, Unit};

/// Elements other than zero have exponents of at most this, up or down.
pub const FURTHEST: i32 = 35;
/// A zero's part of a product's place, in A and in B: with it, a place is less than any other.
pub const NOTHING: (i32, i32) = (-60, -190);
/// Where places are in their words: where an f32 has its exponent.
const PLACE: u32 = 23;

pub const MAGNITUDE: i32 = i32::MAX;

/// The magnitudes of numbers, as whole numbers.
pub struct Sizes<L: Lanes> {
    largest: L::Int,
    /// The smallest but zero, less one: zeros are the largest of all so.
    smallest: L::Int,
}

impl<L: Lanes> Sizes<L> {
    #[inline(always)]
    pub unsafe fn none() -> Self {
        // SAFETY: as the caller says.
        unsafe { Sizes { largest: L::all_int(0), smallest: L::all_int(-1) } }
    }
    #[inline(always)]
    pub unsafe fn note(&mut self, magnitude: L::Int) {
        // SAFETY: as the caller says.
        unsafe {
            self.note_largest(magnitude);
            self.smallest = L::min_unsigned(self.smallest, L::sub(magnitude, L::all_int(1)));
        }
    }
    /// The same where none is too small.
    #[inline(always)]
    pub unsafe fn note_largest(&mut self, magnitude: L::Int) {
        // SAFETY: as the caller says.
        self.largest = unsafe { L::max(self.largest, magnitude) };
    }
    #[inline(always)]
    pub unsafe fn are_within(&self, (least, most): (i32, i32)) -> bool {
        // SAFETY: as the caller says.
        unsafe {
            let smallest = L::add(self.smallest, L::all_int(1));
            let lacking = L::as_float(L::sub(L::all_int(least), smallest));
            let lacking = L::as_int(L::zero_where_less(smallest, L::all_int(1), lacking));
            !L::any_more(self.largest, L::all_int(most)) && !L::any_more(lacking, L::all_int(0))
        }
    }
}

/// The magnitudes between which elements are taken, the first that of the least number, if it counts.
#[inline(always)]
pub const fn bounds<F: Factor>() -> (i32, i32) {
    if F::EXPONENT == 8 {
        ((F::BIAS - FURTHEST) << F::FRACTION, ((F::BIAS + FURTHEST) << F::FRACTION))
    } else if F::BITS == 16 {
        // Those of f32's exponents.
        (0, (255 << 23) - 1)
    } else {
        (0, F::SPECIAL as i32 - 1)
    }
}

/// Elements, whose codes are in the lower bits of words, as f32, and the exponents of these where they are in an f32.
#[inline(always)]
pub unsafe fn widened<L: Lanes, U: Unit, F: Factor>(code: L::Int, seen: &mut Sizes<L>) -> (L::Int, L::Int) {
    // SAFETY: as the caller says.
    unsafe {
        // An f32 has the same fields, but for the bias.
        let field = L::all_int(255 << 23);
        if F::BITS == 16 && F::EXPONENT == 5 {
            // The conversion is exact, and no f16 but zero has an f32's exponent of zero.
            let value = L::as_int(L::singles_of_halves(code));
            let exponent = L::and(value, field);
            seen.note_largest(exponent);
            return (value, exponent);
        }
        let rebias = L::as_float(L::all_int((254 - F::BIAS) << 23));
        let mut magnitude = L::and(code, L::all_int(F::MAGNITUDE as i32));
        if F::EXPONENT == 8 && U::FLUSHES {
            let normal = L::all_int(1 << F::FRACTION);
            magnitude = L::as_int(L::zero_where_less(magnitude, normal, L::as_float(magnitude)));
        }
        seen.note(magnitude);
        let size = L::as_int(L::multiply(L::as_float(L::up(magnitude, 23 - F::FRACTION)), rebias));
        let sign = L::and(L::up(code, 32 - F::BITS), L::all_int(i32::MIN));
        (L::xor(size, sign), L::and(size, field))
    }
}

/// An element's part of its product's place, by its exponent. Those of A get `more`.
#[inline(always)]
pub unsafe fn place<L: Lanes, F: Factor>(exponent: L::Int, more: Option<i32>) -> L::Int {
    let nothing = (if more.is_some() { NOTHING.0 } else { NOTHING.1 }) << PLACE;
    let above = ((more.unwrap_or(0) - 127) << PLACE) - nothing;
    // SAFETY: as the caller says.
    unsafe {
        // Denormals have the exponent of the least normal number.
        let above = L::add(L::max(exponent, L::all_int((128 - F::BIAS) << 23)), L::all_int(above));
        let place = L::as_int(L::zero_where_less(exponent, L::all_int(1), L::as_float(above)));
        L::add(place, L::all_int(nothing))
    }
}

/// Rows of A or columns of B: `K` elements of each, by k.
#[repr(align(64))]
pub struct Numbers<const K: usize> {
    value: [[f32; SIZE]; K],
    /// Those of a product's factors add up to the place of its last bit, which is where an f32 has its exponent.
    place: [[i32; SIZE]; K],
}

impl<const K: usize> Numbers<K> {
    /// The elements if all of them are of moderate size. Those of A get `more` to their places.
    #[inline(always)]
    pub(super) unsafe fn take<'a, L: Lanes, U: Unit, F: Factor>(
        room: &'a mut MaybeUninit<Numbers<K>>,
        elements: &Elements<K>,
        more: Option<i32>,
    ) -> Option<&'a Numbers<K>> {
        let out = room.as_mut_ptr();
        // SAFETY: as the caller says; elements and rooms have rows of `SIZE`.
        unsafe {
            let mut seen = Sizes::<L>::none();
            for k in 0..K {
                for column in (0..SIZE).step_by(L::N) {
                    let words = L::load_int(elements.words[k].as_ptr().add(column).cast());
                    let code = L::xor(L::down(words, elements.shift[k]), L::all_int(elements.sign[k] as i32));
                    let (value, exponent) = widened::<L, U, F>(code, &mut seen);
                    L::store_int((&raw mut (*out).value[k]).cast::<i32>().add(column), value);
                    L::store_int((&raw mut (*out).place[k]).cast::<i32>().add(column), place::<L, F>(exponent, more));
                }
            }
            // All of the room that is looked at has been written.
            seen.are_within(bounds::<F>()).then(|| &*out)
        }
    }
}

/// An element of A, by k and row, and a vector of B, by k and its first column.
#[derive(Clone, Copy)]
pub struct Factors<'a, const KA: usize, const KB: usize> {
    pub a: (&'a Numbers<KA>, usize, usize),
    pub b: (&'a Numbers<KB>, usize, usize),
}

impl<const KA: usize, const KB: usize> Factors<'_, KA, KB> {
    #[inline(always)]
    pub unsafe fn product<L: Lanes>(self) -> L::Float {
        let ((a, k, row), (b, l, column)) = (self.a, self.b);
        // SAFETY: as `rows` says.
        unsafe { L::multiply(L::all(a.value[k][row]), L::load(b.value[l].as_ptr().add(column))) }
    }
    #[inline(always)]
    pub unsafe fn place<L: Lanes>(self) -> L::Int {
        let ((a, k, row), (b, l, column)) = (self.a, self.b);
        // SAFETY: likewise.
        unsafe { L::add(L::all_int(a.place[k][row]), L::load_int(b.place[l].as_ptr().add(column))) }
    }
}

/// The coarsest place of some products.
#[inline(always)]
pub unsafe fn coarsest<L: Lanes, const KA: usize, const KB: usize>(factors: &[Factors<KA, KB>]) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let mut most = factors[0].place::<L>();
        for factors in &factors[1..] {
            most = L::max(most, factors.place::<L>());
        }
        most
    }
}
