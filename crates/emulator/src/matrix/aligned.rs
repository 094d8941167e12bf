//! Sums in fixed point ([`super::sum::Aligned`], [`super::sum::TwoSums`]) by the host's vectors.
//!
//! The same numbers otherwise: a product of two elements is exact as an f32, and so is the product with a power of two that
//! makes the place of the sum's last bit that of one. What is cut off is then what a conversion to whole numbers cuts off.
//!
//! How a group of products and an accumulator are added is in [`super::group`].
//!
//! Where a number is no f32 of moderate size (see [`PRODUCTS`], [`ACCUMULATORS`]), the other form does it, and 4 x 4 results.

use super::codes::Factors;
use super::sparse::Picks;
use crate::registers::Row;

/// The least and the largest exponents of products that are not zero. No unit, nor a sum of theirs, leaves f32's normal
/// numbers, and an accumulator that is not zero is more than none in each of their units.
const PRODUCTS: (i32, i32) = (-73, 74);
/// The least accumulator but zero, and one that is larger than all, as f32: what sums of such products do not leave.
const ACCUMULATORS: (i32, i32) = (30 << 23, 247 << 23);

/// Whether products of `a` and `b` can be added to accumulators by vectors.
#[inline(always)]
pub fn suits(a: &Factors, b: &Factors, accumulators: &[Row]) -> bool {
    are_moderate(a, b) && are_moderate_accumulators(accumulators)
}

/// Whether accumulators are zeros or within [`ACCUMULATORS`].
#[inline(always)]
pub fn are_moderate_accumulators(accumulators: &[Row]) -> bool {
    #[cfg(target_arch = "x86_64")]
    return super::lanes::by_widest_apart(vectors::AreModerate(accumulators)) == Some(true);
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Whether no product can leave [`PRODUCTS`].
#[inline(always)]
pub fn are_moderate(a: &Factors, b: &Factors) -> bool {
    a.exponents.0 + b.exponents.0 >= PRODUCTS.0 && a.exponents.1 + b.exponents.1 <= PRODUCTS.1
}

/// Adds the products of `a` and `b`, `k` of them for each result, to the registers of a block's M x M results, in groups of
/// `GROUP`, each in one sum, or in `SUMS` two, of even and odd products.
#[inline(always)]
pub fn add<const M: usize, const GROUP: usize, const SUMS: usize>(a: Factors, b: Factors, k: usize, c: &mut [Row]) {
    #[cfg(target_arch = "x86_64")]
    super::lanes::by_widest(vectors::Block::<M, GROUP, SUMS> { a, b, k, c });
}

/// The same for a row of `a` and the rows of `b` that its elements meet.
#[inline(always)]
pub fn add_picked<const M: usize, const GROUP: usize, const SUMS: usize>(
    a: Factors,
    row: usize,
    b: Factors,
    picks: &Picks,
    c: &mut [u32; M],
) {
    #[cfg(target_arch = "x86_64")]
    super::lanes::by_widest_apart(vectors::Picked::<M, GROUP, SUMS> { a, row, b, picks, c });
}

#[cfg(target_arch = "x86_64")]
pub(super) mod vectors {
    use super::super::dense::four_rows;
    use super::super::group::{UNIT, in_two_sums, products, top};
    use super::super::known::Rows;
    use super::super::lanes::{Job, Lanes};
    use super::{ACCUMULATORS, Factors, Picks, Row};

    /// Whether accumulators are zeros and numbers of moderate size.
    pub struct AreModerate<'a>(pub &'a [Row]);

    impl Job for AreModerate<'_> {
        type Result = bool;
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) -> bool {
            // SAFETY: as the caller says; a row has 64 words.
            unsafe {
                // Mostly the first two bits of all exponents differ: the numbers are less than 2^65, and 2^-63 or more.
                let mut differ = L::all_int(-1);
                for row in self.0 {
                    for i in (0..64).step_by(L::N) {
                        let bits = L::load_int(row.0.as_ptr().add(i).cast());
                        differ = L::and(differ, L::xor(bits, L::add(bits, bits)));
                    }
                }
                let first = L::all_int(1 << 30);
                if !L::any_more(first, L::and(differ, first)) {
                    return true;
                }
                // Of zeros that are taken to be less than none, the least is the largest of all.
                let (mut most, mut least) = (L::all_int(0), L::all_int(-1));
                for row in self.0 {
                    for i in (0..64).step_by(L::N) {
                        let size = L::and(L::load_int(row.0.as_ptr().add(i).cast()), L::all_int(i32::MAX));
                        most = L::max(most, size);
                        least = L::min_unsigned(least, L::sub(size, L::all_int(1)));
                    }
                }
                let limit = L::all_int(ACCUMULATORS.0 - 1);
                !L::any_more(most, L::all_int(ACCUMULATORS.1 - 1)) && !L::any_more(limit, L::min_unsigned(least, limit))
            }
        }
    }

    /// Rows of B, or of those that some elements of A meet.
    trait Met: Copy {
        /// Numbers of row `k` from a column on.
        unsafe fn value<L: Lanes>(self, k: usize, column: usize) -> L::Float;
        /// The codes of a word's rows.
        unsafe fn codes<L: Lanes>(self, word: usize, column: usize) -> L::Int;
    }

    #[derive(Clone, Copy)]
    struct All<'a, const M: usize>(Factors<'a>);

    impl<const M: usize> Met for All<'_, M> {
        #[inline(always)]
        unsafe fn value<L: Lanes>(self, k: usize, column: usize) -> L::Float {
            // SAFETY: the caller has seen that the row is there.
            unsafe { L::load(self.0.value.as_ptr().add(k * M + column)) }
        }
        #[inline(always)]
        unsafe fn codes<L: Lanes>(self, word: usize, column: usize) -> L::Int {
            // SAFETY: likewise.
            unsafe { L::load_int(self.0.code.as_ptr().add(word * M + column).cast()) }
        }
    }

    #[derive(Clone, Copy)]
    struct Chosen<'a, const M: usize>(Factors<'a>, &'a Picks);

    impl<const M: usize> Chosen<'_, M> {
        /// The code of the row that the `k`th element meets, in both halves of a lane or in one.
        #[inline(always)]
        unsafe fn code<L: Lanes>(self, k: usize, column: usize) -> L::Int {
            let k = usize::from(self.1.rows[k]);
            // SAFETY: likewise.
            unsafe {
                let both = L::load_int(self.0.code.as_ptr().add(k / 2 * M + column).cast());
                L::and(L::down(both, 16 * (k % 2) as u32), L::all_int(0xffff))
            }
        }
    }

    impl<const M: usize> Met for Chosen<'_, M> {
        #[inline(always)]
        unsafe fn value<L: Lanes>(self, k: usize, column: usize) -> L::Float {
            // SAFETY: likewise.
            unsafe { L::load(self.0.value.as_ptr().add(usize::from(self.1.rows[k]) * M + column)) }
        }
        #[inline(always)]
        unsafe fn codes<L: Lanes>(self, pair: usize, column: usize) -> L::Int {
            // SAFETY: likewise.
            unsafe {
                let second = self.code::<L>(2 * pair + 1, column);
                L::xor(self.code::<L>(2 * pair, column), L::up(second, 16))
            }
        }
    }

    /// Where rows of results lie: `ROWS` of them a register apart, and so on `COUNT` times.
    trait Results {
        const COUNT: usize;
        const ROWS: usize;
        /// Words from the start of the first row.
        fn place(n: usize) -> usize;
    }

    /// The registers of a block.
    struct Registers<const M: usize>;
    impl<const M: usize> Results for Registers<M> {
        const COUNT: usize = M / 4;
        const ROWS: usize = 4;
        #[inline(always)]
        fn place(n: usize) -> usize {
            four_rows::<M>(n)
        }
    }

    /// One row by itself.
    struct Single;
    impl Results for Single {
        const COUNT: usize = 1;
        const ROWS: usize = 1;
        #[inline(always)]
        fn place(_: usize) -> usize {
            0
        }
    }

    /// All rows of a block's result.
    pub struct Block<'a, const M: usize, const GROUP: usize, const SUMS: usize> {
        pub a: Factors<'a>,
        pub b: Factors<'a>,
        pub k: usize,
        pub c: &'a mut [Row],
    }

    impl<const M: usize, const GROUP: usize, const SUMS: usize> Job for Block<'_, M, GROUP, SUMS> {
        type Result = ();
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            let Block { a, b, k, c } = self;
            assert!(M.is_multiple_of(16) && c.len() == M * M / 64 && a.has::<M>(k) && b.has::<M>(k));
            // SAFETY: as the caller says; all that is loaded and stored is there.
            unsafe { rows::<L, Registers<M>, M, GROUP, SUMS>(a, 0, All::<M>(b), k, c.as_mut_ptr().cast()) }
        }
    }

    /// One row of a result.
    pub struct Picked<'a, const M: usize, const GROUP: usize, const SUMS: usize> {
        pub a: Factors<'a>,
        pub row: usize,
        pub b: Factors<'a>,
        pub picks: &'a Picks,
        pub c: &'a mut [u32; M],
    }

    impl<const M: usize, const GROUP: usize, const SUMS: usize> Job for Picked<'_, M, GROUP, SUMS> {
        type Result = ();
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) {
            let Picked { a, row, b, picks, c } = self;
            let k = picks.stored;
            assert!(M.is_multiple_of(16) && row < M && a.has::<M>(k) && b.has::<M>(2 * k));
            // SAFETY: as the caller says; all that is loaded and stored is there, as each element meets one of its two rows.
            unsafe { rows::<L, Single, M, GROUP, SUMS>(a, row, Chosen::<M>(b, picks), k, c.as_mut_ptr()) }
        }
    }

    /// Results of rows of A, from `first` on, and of all columns.
    #[inline(always)]
    unsafe fn rows<L: Lanes, R: Results, const M: usize, const GROUP: usize, const SUMS: usize>(
        a: Factors,
        first: usize,
        b: impl Met,
        k: usize,
        c: *mut u32,
    ) {
        assert!(k.is_multiple_of(GROUP) || k == 4);
        // SAFETY: as the caller says.
        unsafe {
            if k.is_multiple_of(GROUP) {
                rows_in_groups::<L, R, M, GROUP, SUMS>(a, first, b, k, c);
            } else {
                // Fewer than make a group.
                rows_in_groups::<L, R, M, 4, SUMS>(a, first, b, k, c);
            }
        }
    }

    #[inline(always)]
    unsafe fn rows_in_groups<L: Lanes, R: Results, const M: usize, const GROUP: usize, const SUMS: usize>(
        a: Factors,
        first: usize,
        b: impl Met,
        k: usize,
        c: *mut u32,
    ) {
        // So many products are what `Rows` has room for.
        const { assert!(SUMS == 2 || GROUP <= 8) }
        // SAFETY: as the caller says.
        unsafe {
            for column in (0..M).step_by(L::N) {
                for from in (0..k).step_by(GROUP) {
                    // These stay in registers for all rows.
                    let (mut y, mut y_codes) = ([L::all(0.0); GROUP], [L::all_int(0); GROUP]);
                    for j in 0..GROUP {
                        y[j] = b.value::<L>(from + j, column);
                    }
                    for word in 0..GROUP / 2 {
                        y_codes[word] = b.codes::<L>(from / 2 + word, column);
                    }
                    let rows = (0..R::COUNT * R::ROWS).map(|row| {
                        let place = R::place(row / R::ROWS) + 64 * (row % R::ROWS) + column;
                        let row = first + row;
                        (a.value.as_ptr().add(from * M + row), a.code.as_ptr().add(from / 2 * M + row), c.add(place))
                    });
                    if SUMS == 2 {
                        for (x, x_codes, c) in rows {
                            L::store(c, in_two_sums::<L, M, GROUP>(x, x_codes, &y, &y_codes, L::load(c.cast())));
                        }
                        continue;
                    }
                    let mut sums = Rows::<L, UNIT>::new();
                    for (row, (_, x_codes, c)) in rows.clone().enumerate() {
                        sums.look(row, L::sub(L::all_int(UNIT), top::<L, M, GROUP>(x_codes, &y_codes)), c);
                    }
                    for (row, (x, _, c)) in rows.enumerate() {
                        let units = L::as_float(sums.growth(row));
                        sums.add(row, products::<L, M, GROUP, 1>(x, &y, 0, units), c);
                    }
                }
            }
        }
    }
}
