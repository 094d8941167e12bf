//! Values of an operand and codes of their exponents, as [`super::aligned`] adds products.
//!
//! Two neighbouring k share a word, the even one's code in its lower half. The sum of two codes is the exponent of an f32 in
//! its last eight bits, and less where an element is zero than where none is: [`NUMBER`] tells these apart.

use std::ops::Range;

use super::fields;
use super::side::Side;

/// What codes of numbers have besides an exponent, and all of a zero's code. No sum, nor code to which a scale was added, is
/// negative: the halves of a word are added at once.
const NUMBER: i32 = 1024;
const ZERO: i32 = 64;
/// Sums of two exponents count from here: 127 as those of f32, and 5 as [`super::aligned`] needs it.
const BIAS: i32 = (127 + 5) / 2;
/// The code of a sum of zeros, in each half: the exponent of 2^-96. An accumulator that is not zero is 2^-97 or more, so it has
/// no bits below the unit of that exponent.
pub const LOWEST: i32 = (2 * NUMBER + 127 + 5 - 96) * HALVES;
/// Exponents that suit no others.
const NONE: (i32, i32) = (i32::MIN / 4, i32::MAX / 4);
/// In both halves.
const HALVES: i32 = 0x1_0001;

#[repr(align(64))]
pub struct Codes<const PER_LANE: usize> {
    pub code: [[u32; 32]; PER_LANE],
    /// As those of [`Factors`].
    pub exponents: (i32, i32),
}

/// Some k of an operand, by k, then row or column.
#[derive(Clone, Copy)]
pub struct Factors<'a> {
    pub value: &'a [f32],
    /// Of two k each.
    pub code: &'a [u32],
    /// The exponents of all elements but zeros are between these, in the elements' own format. Where an element is infinite
    /// or a NaN, [`NONE`].
    pub exponents: (i32, i32),
}

impl<'a> Factors<'a> {
    /// Those of one of several blocks.
    #[inline(always)]
    pub fn block<const M: usize>(self, k: usize, block: usize) -> Factors<'a> {
        Factors {
            value: &self.value[block * k * M..][..k * M],
            code: &self.code[block * k / 2 * M..][..k / 2 * M],
            ..self
        }
    }
    /// Whether these are `k` rows of `M`.
    #[inline(always)]
    pub fn has<const M: usize>(self, k: usize) -> bool {
        k.is_multiple_of(2) && self.value.len() >= k * M && self.code.len() >= k / 2 * M
    }
}

impl<const PER_LANE: usize> Codes<PER_LANE> {
    #[inline(always)]
    pub fn new() -> Codes<PER_LANE> {
        Codes { code: [[0; 32]; PER_LANE], exponents: NONE }
    }

    /// The codes of values, or [`NONE`] where there are no vectors to find them.
    #[inline(always)]
    pub fn of<const M: usize>(side: &Side<PER_LANE>) -> Codes<PER_LANE> {
        let mut codes = Codes::new();
        #[cfg(target_arch = "x86_64")]
        if let Some(exponents) = super::lanes::by_widest(vectors::Take::<PER_LANE, M> { side, code: &mut codes.code }) {
            codes.exponents = exponents;
        }
        codes
    }

    #[inline(always)]
    pub fn factors<'a>(&'a self, side: &'a Side<PER_LANE>) -> Factors<'a> {
        Factors { value: side.value.as_flattened(), code: self.code.as_flattened(), exponents: self.exponents }
    }

    /// Multiplies the elements of neighbouring k by powers of two, by row or column.
    #[inline(always)]
    pub fn scale<const M: usize>(&mut self, ks: Range<usize>, powers: &[i32; M]) {
        let mut both = [0; M];
        for i in 0..M {
            both[i] = powers[i] * HALVES;
        }
        for code in &mut self.code.as_flattened_mut().as_chunks_mut::<M>().0[ks.start / 2..ks.end / 2] {
            fields::add_words(code, &both);
        }
    }

    /// All of them have been multiplied by powers of two between these.
    #[inline(always)]
    pub fn note_scales(&mut self, (least, most): (i32, i32)) {
        self.exponents.0 += least;
        self.exponents.1 += most;
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod vectors {
    use super::super::lanes::{Job, Lanes};
    use super::{BIAS, HALVES, NONE, NUMBER, Side, ZERO};

    /// Makes codes, and gives the least and the largest exponent.
    pub struct Take<'a, const PER_LANE: usize, const M: usize> {
        pub side: &'a Side<PER_LANE>,
        pub code: &'a mut [[u32; 32]; PER_LANE],
    }

    /// Sizes of numbers, as the bits of f32.
    struct Sizes<L: Lanes> {
        most: L::Int,
        /// As unsigned numbers less one, so that zeros are the largest of all.
        least: L::Int,
    }

    impl<L: Lanes> Sizes<L> {
        /// The exponents of numbers of a format, those of zeros far below. Their sizes are noted.
        #[inline(always)]
        unsafe fn exponents(&mut self, values: *const f32, least: i32) -> L::Int {
            // SAFETY: as the caller says.
            unsafe {
                let size = L::and(L::as_int(L::load(values)), L::all_int(i32::MAX));
                self.most = L::max(self.most, size);
                self.least = L::min_unsigned(self.least, L::sub(size, L::all_int(1)));
                let exponent = L::max(L::down(size, 23), L::all_int(least + 127));
                // The bits that no zero has.
                let above = L::all_int(ZERO - (NUMBER + BIAS - 127));
                L::where_less(size, L::all_int(1), above, exponent)
            }
        }
    }

    impl<const PER_LANE: usize, const M: usize> Job for Take<'_, PER_LANE, M> {
        type Result = (i32, i32);
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) -> (i32, i32) {
            assert!(M.is_multiple_of(16) && PER_LANE.is_multiple_of(2));
            let least = self.side.least;
            let (values, codes) = (self.side.value.as_flattened(), self.code.as_flattened_mut());
            // SAFETY: as the caller says; there are half as many codes as values.
            unsafe {
                let mut sizes = Sizes::<L> { most: L::all_int(0), least: L::all_int(-1) };
                for pair in 0..codes.len() / M {
                    for column in (0..M).step_by(L::N) {
                        let even = values.as_ptr().add(2 * pair * M + column);
                        let even = (sizes.exponents(even, least), sizes.exponents(even.add(M), least));
                        let both =
                            L::add(L::add(even.0, L::up(even.1, 16)), L::all_int((NUMBER + BIAS - 127) * HALVES));
                        L::store_int(codes.as_mut_ptr().add(pair * M + column).cast(), both);
                    }
                }
                let (mut most, mut smallest) = ([0i32; 16], [u32::MAX; 16]);
                L::store_int(most.as_mut_ptr(), sizes.most);
                L::store_int(smallest.as_mut_ptr().cast(), sizes.least);
                let most = most.iter().fold(0, |most, &x| most.max(x));
                let smallest = smallest.iter().fold(u32::MAX, |least, &x| least.min(x));
                let exponent = |size: u32| (size >> 23) as i32 - 127;
                match (exponent(smallest), exponent(most as u32)) {
                    (_, 128) => NONE,
                    _ if most == 0 => (0, 0),
                    // Of one less the exponent is not larger.
                    (smallest, most) => (smallest.max(least), most.max(least)),
                }
            }
        }
    }
}
