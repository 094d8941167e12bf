//! Sums of RDNA3's and RDNA4's matrix operations by the host's vectors.
//!
//! The same numbers as [`Unit::sum`] gives, otherwise: a product of two elements is exact as an f32, and so is the product
//! with the power of two that makes the place of the sum's last bit that of one. What is cut off is then what a conversion to
//! whole numbers cuts off, and the sum is a whole number of 29 bits at most, which the host rounds to f32.
//!
//! Infinities, NaNs, and numbers so large or so small that a power of two or a result would be no normal f32 are left to the
//! other form; so are results of 16 bits.

use super::rdna::{Bits, Elements, ROWS, Rows};
use super::wmma::SIZE;
use crate::fp::dot::{BELOW_PRODUCT, Factor, Unit};
use crate::op::{Level, level};

/// The products of rows of A with the rows of B that `met` names are added to those rows of `c`, `N` in a step, in groups of
/// `GROUP`. Gives false, and changes nothing, where it cannot.
#[inline(always)]
pub(super) fn add<
    U: Unit,
    A: Factor,
    B: Factor,
    const KA: usize,
    const KB: usize,
    const GROUP: usize,
    const N: usize,
>(
    a: &Elements<KA>,
    b: &Elements<KB>,
    rows: Rows,
    met: impl Fn(usize, usize) -> usize,
    c: &mut Bits,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: the processor has these features.
        Level::Avx512 => return unsafe { wide::<U, A, B, KA, KB, GROUP, N>(a, b, rows, met, c) },
        // SAFETY: likewise.
        Level::Avx2 => return unsafe { narrow::<U, A, B, KA, KB, GROUP, N>(a, b, rows, met, c) },
        Level::Base => {}
    }
    false
}

/// The function of a level.
macro_rules! at_level {
    ($name:ident, $lanes:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $name<
            U: Unit,
            A: Factor,
            B: Factor,
            const KA: usize,
            const KB: usize,
            const GROUP: usize,
            const N: usize,
        >(
            a: &Elements<KA>,
            b: &Elements<KB>,
            rows: Rows,
            met: impl Fn(usize, usize) -> usize,
            c: &mut Bits,
        ) -> bool {
            // SAFETY: the processor has the features.
            unsafe { vectors::all::<super::lanes::$lanes, U, A, B, KA, KB, GROUP, N>(a, b, rows, met, c) }
        }
    };
}
at_level!(wide, Avx512, "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl");
at_level!(narrow, Avx2, "avx2,fma");

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::super::lanes::Lanes;
    use super::{BELOW_PRODUCT, Bits, Elements, Factor, ROWS, Rows, SIZE, Unit};
    use std::mem::MaybeUninit;

    /// Elements other than zero have exponents of at most this, up or down.
    const FURTHEST: i32 = 35;
    /// The least and the largest accumulator. Sums of 32 products do not leave the range of normal numbers.
    const ACCUMULATORS: (i32, i32) = (30 << 23, 200 << 23);
    /// What a place counts from, so that an accumulator's is the exponent that its f32 has.
    const BIAS: i32 = 127 + 26;
    /// What is added to the places of left factors, so that sums are places of products.
    const LEFT: i32 = BIAS - BELOW_PRODUCT;
    /// The place of an accumulator that is zero, where all products are: so low that the sum's unit is zero.
    const LOWEST: i32 = 26;
    /// A zero's part of a product's place: less than any other. (No sum of two of these, or of one and another place, gives
    /// the exponent of an infinity.)
    const NOTHING: i32 = -400;

    const MAGNITUDE: i32 = i32::MAX;
    const ONE: i32 = 0x3f80_0000;
    /// The exponents of a power of two and of its reciprocal add up to this.
    const RECIPROCAL: i32 = 254 << 23;

    /// # Safety
    /// The processor has what `L` is named for.
    #[inline(always)]
    pub unsafe fn all<
        L: Lanes,
        U: Unit,
        A: Factor,
        B: Factor,
        const KA: usize,
        const KB: usize,
        const GROUP: usize,
        const N: usize,
    >(
        a: &Elements<KA>,
        b: &Elements<KB>,
        rows: Rows,
        met: impl Fn(usize, usize) -> usize,
        c: &mut Bits,
    ) -> bool {
        // To clear this room would take longer than to fill it.
        let (mut left, mut right) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: as the caller says; `c` has rows of `SIZE` numbers.
        unsafe {
            let mut sizes = Sizes::<L>::none();
            for row in c.iter() {
                for column in (0..SIZE).step_by(L::N) {
                    let c = L::load_int(row.as_ptr().add(column).cast());
                    sizes.note(L::and(c, L::all_int(MAGNITUDE)), ACCUMULATORS.0);
                }
            }
            if !sizes.are_within(ACCUMULATORS) {
                return false;
            }
            let Some(a) = Numbers::take::<L, U, A>(&mut left, a, LEFT) else { return false };
            let Some(b) = Numbers::take::<L, U, B>(&mut right, b, 0) else { return false };
            for first in rows.groups() {
                side_by_side::<L, U, KA, KB, GROUP, N>(a, b, rows.group(first), &met, c);
            }
        }
        true
    }

    /// The magnitudes of numbers, as whole numbers.
    struct Sizes<L: Lanes> {
        largest: L::Int,
        /// How much the smallest but zero is too small.
        lacking: L::Int,
    }

    impl<L: Lanes> Sizes<L> {
        #[inline(always)]
        unsafe fn none() -> Self {
            // SAFETY: as the caller says.
            unsafe { Sizes { largest: L::all_int(0), lacking: L::all_int(0) } }
        }
        #[inline(always)]
        unsafe fn note(&mut self, magnitude: L::Int, least: i32) {
            // SAFETY: as the caller says.
            unsafe {
                let lacking = L::as_float(L::sub(L::all_int(least), magnitude));
                let lacking = L::as_int(L::zero_where_less(magnitude, L::all_int(1), lacking));
                (self.largest, self.lacking) = (L::max(self.largest, magnitude), L::max(self.lacking, lacking));
            }
        }
        #[inline(always)]
        unsafe fn are_within(&self, (_, most): (i32, i32)) -> bool {
            // SAFETY: as the caller says.
            unsafe { !L::any_more(self.largest, L::all_int(most)) && !L::any_more(self.lacking, L::all_int(0)) }
        }
    }

    /// Rows of A or columns of B: `K` elements of each, by k.
    struct Numbers<const K: usize> {
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
        unsafe fn take<'a, L: Lanes, U: Unit, F: Factor>(
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

    /// Some rows of the result.
    #[inline(always)]
    unsafe fn side_by_side<L: Lanes, U: Unit, const KA: usize, const KB: usize, const GROUP: usize, const N: usize>(
        a: &Numbers<KA>,
        b: &Numbers<KB>,
        rows: [usize; ROWS],
        met: impl Fn(usize, usize) -> usize,
        c: &mut Bits,
    ) {
        // SAFETY: the caller has looked at the processor; `column + L::N` is at most `SIZE`, the length of a row.
        unsafe {
            for column in (0..SIZE).step_by(L::N) {
                let mut sums = [L::all(0.0); ROWS];
                for r in 0..ROWS {
                    sums[r] = L::load(c[rows[r]].as_ptr().add(column).cast());
                }
                for first in (0..KA).step_by(N) {
                    for r in 0..ROWS {
                        let row = rows[r];
                        let mut factors = [Factors { a: (a, first, row), b: (b, 0, column) }; N];
                        for j in 0..N {
                            (factors[j].a.1, factors[j].b.1) = (first + j, met(row, first + j) % KB);
                        }
                        sums[r] = if U::SIGNED {
                            in_groups::<L, KA, KB, GROUP, N>(factors, sums[r])
                        } else {
                            complemented::<L, KA, KB, N>(factors, sums[r])
                        };
                    }
                }
                for r in 0..ROWS {
                    L::store(c[rows[r]].as_mut_ptr().add(column), sums[r]);
                }
            }
        }
    }

    /// An element of A, by k and row, and a vector of B, by k and its first column.
    #[derive(Clone, Copy)]
    struct Factors<'a, const KA: usize, const KB: usize> {
        a: (&'a Numbers<KA>, usize, usize),
        b: (&'a Numbers<KB>, usize, usize),
    }

    impl<const KA: usize, const KB: usize> Factors<'_, KA, KB> {
        #[inline(always)]
        unsafe fn product<L: Lanes>(self) -> L::Float {
            let ((a, k, row), (b, l, column)) = (self.a, self.b);
            // SAFETY: as `rows` says.
            unsafe { L::multiply(L::all(a.value[k][row]), L::load(b.value[l].as_ptr().add(column))) }
        }
        #[inline(always)]
        unsafe fn place<L: Lanes>(self) -> L::Int {
            let ((a, k, row), (b, l, column)) = (self.a, self.b);
            // SAFETY: likewise.
            unsafe { L::add(L::all_int(a.place[k][row]), L::load_int(b.place[l].as_ptr().add(column))) }
        }
        /// All ones where the product is negative.
        #[inline(always)]
        unsafe fn negative<L: Lanes>(self) -> L::Int {
            let ((a, k, row), (b, l, column)) = (self.a, self.b);
            let inverted = a.negative[k][0][row] & 1;
            // SAFETY: likewise.
            unsafe { L::load_int(b.negative[l][inverted as usize].as_ptr().add(column)) }
        }
    }

    /// The coarsest place of some products.
    #[inline(always)]
    unsafe fn coarsest<L: Lanes, const KA: usize, const KB: usize>(factors: &[Factors<KA, KB>]) -> L::Int {
        // SAFETY: as the caller says.
        unsafe {
            let mut most = factors[0].place::<L>();
            for factors in &factors[1..] {
                most = L::max(most, factors.place::<L>());
            }
            most
        }
    }

    /// The place of an accumulator.
    #[inline(always)]
    unsafe fn place<L: Lanes>(c: L::Float) -> L::Int {
        // SAFETY: as the caller says.
        unsafe { L::and(L::down(L::as_int(c), 23), L::all_int(255)) }
    }

    /// How many units of a place's last bit one has.
    #[inline(always)]
    unsafe fn units<L: Lanes>(place: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::as_float(L::up(L::sub(L::all_int(127 + BIAS), place), 23)) }
    }

    /// A sum of units as f32, where zero is not negative.
    #[inline(always)]
    unsafe fn rounded<L: Lanes>(sum: L::Int, units: L::Float) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let unit = L::as_float(L::sub(L::all_int(RECIPROCAL), L::as_int(units)));
            L::multiply_add(L::singles_of_ints(sum), unit, L::all(0.0))
        }
    }

    /// RDNA3's step.
    #[inline(always)]
    unsafe fn complemented<L: Lanes, const KA: usize, const KB: usize, const N: usize>(
        factors: [Factors<KA, KB>; N],
        c: L::Float,
    ) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let negative = L::signs(L::as_int(c));
            let last = L::max(L::max(coarsest::<L, KA, KB>(&factors), L::all_int(LOWEST)), place::<L>(c));
            let units = units::<L>(last);
            let magnitude = L::as_float(L::and(L::as_int(c), L::all_int(MAGNITUDE)));
            let mut sum = L::whole(L::multiply(magnitude, units));
            for factors in factors {
                let product = L::whole(L::multiply(factors.product::<L>(), units));
                sum = L::add(sum, L::xor3(product, factors.negative::<L>(), negative));
            }
            rounded::<L>(L::sub(L::xor(sum, negative), negative), units)
        }
    }

    /// RDNA4's step.
    #[inline(always)]
    unsafe fn in_groups<L: Lanes, const KA: usize, const KB: usize, const GROUP: usize, const N: usize>(
        factors: [Factors<KA, KB>; N],
        c: L::Float,
    ) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let last = L::max(coarsest::<L, KA, KB>(&factors), place::<L>(c));
            let all = units::<L>(last);
            // Nothing remains of an accumulator that is less than one unit.
            let c = L::multiply(c, all);
            let magnitude = L::and(L::as_int(c), L::all_int(MAGNITUDE));
            let mut sum = L::floor_whole(L::zero_where_less(magnitude, L::all_int(ONE), c));
            for group in factors.as_chunks::<GROUP>().0 {
                let own = coarsest::<L, KA, KB>(group);
                let units = units::<L>(own);
                let mut part = L::all_int(0);
                for factors in group {
                    part = L::add(part, L::floor_whole(L::multiply(factors.product::<L>(), units)));
                }
                sum = L::add(sum, L::down_each(part, L::sub(last, own)));
            }
            rounded::<L>(sum, all)
        }
    }
}
