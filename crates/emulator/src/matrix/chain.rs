//! Sums of RDNA4's matrix operations by the host's vectors. Those of RDNA3 are in [`super::rdna3`], in the same numbers.
//!
//! The same numbers as [`Unit::sum`] gives, otherwise: a product of two elements is exact as an f32, and so is the product
//! with the power of two that makes the place of the sum's last bit that of one. What is cut off is then what a conversion to
//! whole numbers cuts off, and the sum is a whole number of 29 bits at most, which the host rounds to f32.
//!
//! Of bf16 results the lower half is cut off each f32. Those of f16 are rounded once: the sum becomes an f32 whose last bit is
//! set if something was cut off, which leaves enough bits behind those of an f16 to tell how that is rounded.
//!
//! Infinities, NaNs, and numbers so large or so small that a power of two or a result would be no normal f32, or an f16
//! infinite, are left to the other form.

use std::marker::PhantomData;

use super::rdna::{Bits, Elements, ROWS};
use super::wmma::SIZE;
use crate::fp::dot::{BELOW_PRODUCT, Factor, Unit};

pub(super) use super::held::Held;

/// The products of rows of A with the rows of B that `met` names are added to those rows of `c`, `N` in a step, in groups of
/// `GROUP`. Gives false, and changes nothing, where it cannot.
#[inline(always)]
pub(super) fn add<
    U: Unit,
    A: Factor,
    B: Factor,
    R: Held,
    const KA: usize,
    const KB: usize,
    const GROUP: usize,
    const N: usize,
>(
    a: &Elements<KA>,
    b: &Elements<KB>,
    met: impl Fn(usize, usize) -> usize,
    c: &mut Bits,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    let done = {
        let job = vectors::All::<U, A, B, R, _, KA, KB, GROUP, N> { a, b, met, c, types: PhantomData };
        super::lanes::by_widest(job) == Some(true)
    };
    #[cfg(not(target_arch = "x86_64"))]
    let done = false;
    count(done);
    done
}

/// That a product was asked for, and whether vectors have made it.
#[inline(always)]
pub(super) fn count(_done: bool) {
    #[cfg(test)]
    COUNTS.with(|counts| {
        let (asked, by_vectors) = counts.get();
        counts.set((asked + 1, by_vectors + usize::from(_done)));
    });
}

#[cfg(test)]
thread_local! {
    /// How many products this thread has asked for, and how many of them vectors have made.
    pub(super) static COUNTS: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((0, 0)) };
}

#[cfg(target_arch = "x86_64")]
pub(super) mod vectors {
    use super::super::lanes::{Job, Lanes};
    use super::super::numbers::{Factors, MAGNITUDE, Numbers, Sizes, coarsest};
    use super::{BELOW_PRODUCT, Bits, Elements, Factor, Held, PhantomData, ROWS, SIZE, Unit};
    use std::mem::MaybeUninit;

    /// The least and the largest accumulator. Sums of 32 products do not leave the range of normal numbers.
    pub const ACCUMULATORS: (i32, i32) = (30 << 23, 200 << 23);
    /// The largest f16, as f32.
    pub const LARGEST_HALF: i32 = 0x477f_e000;
    /// Where places are in their words: where an f32 has its exponent.
    pub const PLACE: u32 = 23;
    /// What a place counts from, so that an accumulator's is the exponent that its f32 has.
    pub const BIAS: i32 = 127 + 26;
    /// What is added to the places of left factors, so that sums are places of products.
    pub const LEFT: i32 = BIAS - BELOW_PRODUCT;
    /// The least place of a sum that becomes an f16, that of 2^-14.
    pub const LOWEST_OF_HALVES: i32 = 127 - 14;
    /// Where the place of a sum that becomes an f16 is not above this, that of 2^-14, a unit remains of a negative accumulator
    /// that is less than one.
    const KEEPS: i32 = BIAS - 14;
    const ONE: i32 = 0x3f80_0000;
    /// A place and the exponent of the power of two that makes it that of one add up to this.
    pub const ALL: i32 = ((127 + BIAS) as u32).wrapping_shl(PLACE) as i32;
    /// The exponents of a power of two and of its reciprocal add up to this.
    const RECIPROCAL: i32 = 254 << 23;

    /// What [`super::add`] does.
    pub struct All<'a, U, A, B, R, M, const KA: usize, const KB: usize, const GROUP: usize, const N: usize> {
        pub a: &'a Elements<'a, KA>,
        pub b: &'a Elements<'a, KB>,
        pub met: M,
        pub c: &'a mut Bits,
        pub types: PhantomData<(U, A, B, R)>,
    }

    impl<
        U: Unit,
        A: Factor,
        B: Factor,
        R: Held,
        M: Fn(usize, usize) -> usize,
        const KA: usize,
        const KB: usize,
        const GROUP: usize,
        const N: usize,
    > Job for All<'_, U, A, B, R, M, KA, KB, GROUP, N>
    {
        type Result = bool;
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) -> bool {
            // To clear this room would take longer than to fill it.
            let (mut left, mut right) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            // SAFETY: as the caller says; `c` has rows of `SIZE` numbers.
            unsafe {
                let mut sizes = Sizes::<L>::none();
                // Numbers of 16 bits are summed in another place, as f32; what is f32 stays where it is.
                let mut wider: MaybeUninit<Bits> = MaybeUninit::uninit();
                for row in 0..SIZE {
                    for column in (0..SIZE).step_by(L::N) {
                        let c = R::read::<L>(L::load_int(self.c[row].as_ptr().add(column).cast()));
                        sizes.note(L::and(L::as_int(c), L::all_int(MAGNITUDE)));
                        if !R::IS_SINGLE {
                            L::store(wider.as_mut_ptr().cast::<u32>().add(row * SIZE + column), c);
                        }
                    }
                }
                if !sizes.are_within(ACCUMULATORS) {
                    return false;
                }
                let Some(a) = Numbers::take::<L, U, A>(&mut left, self.a, Some(LEFT)) else { return false };
                let Some(b) = Numbers::take::<L, U, B>(&mut right, self.b, None) else { return false };
                let sums = if R::IS_SINGLE { &mut *self.c } else { wider.assume_init_mut() };
                let mut largest = L::all_int(0);
                for first in (0..SIZE).step_by(ROWS) {
                    let rows = std::array::from_fn(|r| first + r);
                    let seen = side_by_side::<L, R, KA, KB, GROUP, N>(a, b, rows, &self.met, sums);
                    largest = L::max(largest, seen);
                }
                if R::IS_HALF && L::any_more(largest, L::all_int(LARGEST_HALF)) {
                    return false;
                }
                if R::IS_SINGLE {
                    return true;
                }
                for row in 0..SIZE {
                    for column in (0..SIZE).step_by(L::N) {
                        let code = R::code::<L>(L::load(wider.assume_init_ref()[row].as_ptr().add(column).cast()));
                        L::store_int(self.c[row].as_mut_ptr().add(column).cast(), code);
                    }
                }
            }
            true
        }
    }

    /// Some rows of the result. Gives the largest magnitude of all sums, if those are f16.
    #[inline(always)]
    unsafe fn side_by_side<L: Lanes, R: Held, const KA: usize, const KB: usize, const GROUP: usize, const N: usize>(
        a: &Numbers<KA>,
        b: &Numbers<KB>,
        rows: [usize; ROWS],
        met: impl Fn(usize, usize) -> usize,
        c: &mut Bits,
    ) -> L::Int {
        // SAFETY: the caller has looked at the processor; `column + L::N` is at most `SIZE`, the length of a row.
        unsafe {
            let mut largest = L::all_int(0);
            for column in (0..SIZE).step_by(L::N) {
                let mut sums = [L::all(0.0); ROWS];
                for r in 0..ROWS {
                    sums[r] = L::load(c[rows[r]].as_ptr().add(column).cast());
                }
                for first in (0..KA).step_by(N) {
                    // Row by row, or the compiler would keep sums in memory.
                    let [mut c0, mut c1, mut c2, mut c3] = sums;
                    c0 = next::<L, R, KA, KB, GROUP, N>(a, b, (rows[0], column), first, &met, c0);
                    c1 = next::<L, R, KA, KB, GROUP, N>(a, b, (rows[1], column), first, &met, c1);
                    c2 = next::<L, R, KA, KB, GROUP, N>(a, b, (rows[2], column), first, &met, c2);
                    c3 = next::<L, R, KA, KB, GROUP, N>(a, b, (rows[3], column), first, &met, c3);
                    sums = [c0, c1, c2, c3];
                    if R::IS_HALF {
                        for sum in sums {
                            largest = L::max(largest, L::and(L::as_int(sum), L::all_int(MAGNITUDE)));
                        }
                    }
                }
                for r in 0..ROWS {
                    L::store(c[rows[r]].as_mut_ptr().add(column), sums[r]);
                }
            }
            largest
        }
    }

    /// One step of a row, from `first` on.
    #[inline(always)]
    unsafe fn next<L: Lanes, R: Held, const KA: usize, const KB: usize, const GROUP: usize, const N: usize>(
        a: &Numbers<KA>,
        b: &Numbers<KB>,
        (row, column): (usize, usize),
        first: usize,
        met: &impl Fn(usize, usize) -> usize,
        c: L::Float,
    ) -> L::Float {
        let mut factors = [Factors { a: (a, first, row), b: (b, 0, column) }; N];
        for j in 0..N {
            (factors[j].a.1, factors[j].b.1) = (first + j, met(row, first + j) % KB);
        }
        // SAFETY: as the caller says.
        unsafe { in_groups::<L, R, KA, KB, GROUP, N>(factors, c) }
    }

    /// The place of an accumulator.
    #[inline(always)]
    pub unsafe fn place<L: Lanes>(c: L::Float) -> L::Int {
        // SAFETY: as the caller says.
        unsafe { L::and(L::as_int(c), L::all_int(255 << PLACE)) }
    }

    /// How many units of a place's last bit one has.
    #[inline(always)]
    pub unsafe fn units<L: Lanes>(place: L::Int) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::as_float(L::sub(L::all_int(ALL), place)) }
    }

    /// What one unit is.
    #[inline(always)]
    unsafe fn unit<L: Lanes>(units: L::Float) -> L::Float {
        // SAFETY: as the caller says.
        unsafe { L::as_float(L::sub(L::all_int(RECIPROCAL), L::as_int(units))) }
    }

    /// RDNA4's step.
    #[inline(always)]
    unsafe fn in_groups<L: Lanes, R: Held, const KA: usize, const KB: usize, const GROUP: usize, const N: usize>(
        factors: [Factors<KA, KB>; N],
        c: L::Float,
    ) -> L::Float {
        // SAFETY: as the caller says.
        unsafe {
            let mut last = L::max(coarsest::<L, KA, KB>(&factors), place::<L>(c));
            if R::IS_HALF {
                last = L::max(last, L::all_int(LOWEST_OF_HALVES << PLACE));
            }
            let all = units::<L>(last);
            // Nothing remains of an accumulator that is less than one unit.
            let c = L::multiply(c, all);
            let magnitude = L::and(L::as_int(c), L::all_int(MAGNITUDE));
            let mut one = L::all_int(ONE);
            if R::IS_HALF {
                one = L::where_less(L::all_int(KEEPS << PLACE), last, one, L::all_int(0));
            }
            let mut sum = L::floor_whole(L::zero_where_less(magnitude, one, c));
            for group in factors.as_chunks::<GROUP>().0 {
                let own = coarsest::<L, KA, KB>(group);
                let units = units::<L>(own);
                let mut part = L::all_int(0);
                for factors in group {
                    part = L::add(part, L::floor_whole(L::multiply(factors.product::<L>(), units)));
                }
                sum = L::add(sum, L::down_each(part, L::down(L::sub(last, own), PLACE)));
            }
            R::rounded::<L>(sum, unit::<L>(all))
        }
    }
}
