//! Elements of RDNA3's and RDNA4's matrix operations as [`super::chain`] multiplies them.
//!
//! Functions are for a processor that has what their `L` is named for; those of [`Factors`] for rows and columns that there are.

use std::mem::MaybeUninit;

use super::lanes::Lanes;
use super::rdna::Elements;
use super::wmma::SIZE;
use crate::fp::dot::{Factor, Unit};

/// Elements other than zero have exponents of at most this, up or down.
const FURTHEST: i32 = 35;
/// A zero's part of a product's place: less than any other. (No sum of two of these, or of one and another place, gives
/// the exponent of an infinity.)
const NOTHING: i32 = -400;

pub const MAGNITUDE: i32 = i32::MAX;

/// The magnitudes of numbers, as whole numbers.
pub struct Sizes<L: Lanes> {
    largest: L::Int,
    /// How much the smallest but zero is too small.
    lacking: L::Int,
}

impl<L: Lanes> Sizes<L> {
    #[inline(always)]
    pub unsafe fn none() -> Self {
        // SAFETY: as the caller says.
        unsafe { Sizes { largest: L::all_int(0), lacking: L::all_int(0) } }
    }
    #[inline(always)]
    pub unsafe fn note(&mut self, magnitude: L::Int, least: i32) {
        // SAFETY: as the caller says.
        unsafe {
            let lacking = L::as_float(L::sub(L::all_int(least), magnitude));
            let lacking = L::as_int(L::zero_where_less(magnitude, L::all_int(1), lacking));
            (self.largest, self.lacking) = (L::max(self.largest, magnitude), L::max(self.lacking, lacking));
        }
    }
    #[inline(always)]
    pub unsafe fn are_within(&self, (_, most): (i32, i32)) -> bool {
        // SAFETY: as the caller says.
        unsafe { !L::any_more(self.largest, L::all_int(most)) && !L::any_more(self.lacking, L::all_int(0)) }
    }
}

/// Rows of A or columns of B: `K` elements of each, by k.
pub struct Numbers<const K: usize> {
    /// For RDNA3 magnitudes.
    value: [[f32; SIZE]; K],
    /// Those of a product's factors add up to the place of its last bit.
    place: [[i32; SIZE]; K],
    /// All ones for negative elements, and for those that are not: for RDNA3.
    negative: [[[i32; SIZE]; 2]; K],
}

impl<const K: usize> Numbers<K> {
    /// The elements if all of them are of moderate size. `more` is added to their places.
    #[inline(always)]
    pub(super) unsafe fn take<'a, L: Lanes, U: Unit, F: Factor>(
        room: &'a mut MaybeUninit<Numbers<K>>,
        elements: &Elements<K>,
        more: i32,
    ) -> Option<&'a Numbers<K>> {
        let out = room.as_mut_ptr();
        let is_long = F::EXPONENT == 8;
        let sizes = if is_long {
            ((F::BIAS - FURTHEST) << F::FRACTION, ((F::BIAS + FURTHEST) << F::FRACTION))
        } else {
            (0, F::SPECIAL as i32 - 1)
        };
        // SAFETY: as the caller says; elements and rooms have rows of `SIZE`.
        unsafe {
            // An f32 has the same fields, but for the bias.
            let rebias = L::as_float(L::all_int((254 - F::BIAS) << 23));
            let mut seen = Sizes::<L>::none();
            for k in 0..K {
                for column in (0..SIZE).step_by(L::N) {
                    let words = L::load_int(elements.words[k].as_ptr().add(column).cast());
                    let code = L::xor(L::down(words, elements.shift[k]), L::all_int(elements.sign[k] as i32));
                    let mut magnitude = L::and(code, L::all_int(F::MAGNITUDE as i32));
                    if is_long && U::FLUSHES {
                        let normal = L::all_int(1 << F::FRACTION);
                        magnitude = L::as_int(L::zero_where_less(magnitude, normal, L::as_float(magnitude)));
                    }
                    seen.note(magnitude, sizes.0);
                    let negative = L::signs(L::up(code, 32 - F::BITS));
                    let value = L::multiply(L::as_float(L::up(magnitude, 23 - F::FRACTION)), rebias);
                    let sign = L::and(negative, L::all_int(if U::SIGNED { i32::MIN } else { 0 }));
                    let value = L::xor(L::as_int(value), sign);
                    let field = L::max(L::down(magnitude, F::FRACTION), L::all_int(1));
                    let above = L::as_float(L::add(field, L::all_int(more - F::BIAS - NOTHING)));
                    let above = L::as_int(L::zero_where_less(magnitude, L::all_int(1), above));
                    let place = L::add(above, L::all_int(NOTHING));
                    L::store_int((&raw mut (*out).value[k]).cast::<i32>().add(column), value);
                    L::store_int((&raw mut (*out).place[k]).cast::<i32>().add(column), place);
                    L::store_int((&raw mut (*out).negative[k][0]).cast::<i32>().add(column), negative);
                    let other = L::xor(negative, L::all_int(-1));
                    L::store_int((&raw mut (*out).negative[k][1]).cast::<i32>().add(column), other);
                }
            }
            // All of the room has been written.
            seen.are_within(sizes).then(|| room.assume_init_ref())
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
    /// All ones where the product is negative.
    #[inline(always)]
    pub unsafe fn negative<L: Lanes>(self) -> L::Int {
        let ((a, k, row), (b, l, column)) = (self.a, self.b);
        let inverted = a.negative[k][0][row] & 1;
        // SAFETY: likewise.
        unsafe { L::load_int(b.negative[l][inverted as usize].as_ptr().add(column)) }
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
