//! Sums of RDNA3's matrix operations by the host's vectors, in the numbers of [`super::chain`].
//!
//! What is summed is magnitudes in C's sign, and a product of the other sign is complemented: one less than if it were
//! negated. So with their own signs, which conversions keep as they cut off, each negative product is one less where C is
//! not negative, and each other one is one more where C is. Both are what the sum of all is less the number of negative
//! products, and two more where C is negative.
//!
//! A step goes through all rows of the result, so that none waits for its own last step. B's elements of the step stay in
//! the processor's registers; A's, and how many products are negative by the signs of A's, are in memory.
//!
//! Places are the upper halves of words, so those of two rows are added and compared at once. The second row is that of the
//! next part of the wave, which may have another A and another B. A product of a zero has a place below zero, and a C that is
//! zero has zero: if there is nothing else, the unit is zero, and so is the result.

use super::held::Held;
use super::layout;
use super::rdna::Bits;
use super::wmma::SIZE;
use crate::fp::dot::{Factor, Result, Single};
use crate::op::{Op, RawMods};
use crate::registers::Row;
use crate::wave::Wave;

/// Words of a register.
const REGISTER: usize = 64;

/// Where a matrix is whose rows follow each other, two by two: so are results in registers.
#[derive(Clone, Copy)]
struct Place {
    first: *mut u32,
    /// Words from one pair of rows to the next.
    pair: usize,
}

impl Place {
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn row(self, row: usize) -> *mut u32 {
        // SAFETY: as the caller says.
        unsafe { self.first.add(row / 2 * self.pair + row % 2 * SIZE) }
    }
}

/// A's and B's registers, and what is done to their signs and to C's.
struct Sources {
    /// From the first part on that counts.
    factors: [*const u32; 2],
    /// Bits that are inverted in words of A and of B.
    flipped: [u32; 2],
    parts: Parts,
    /// Bits of C that count, and bits that are inverted.
    c: (u32, u32),
}

/// Which parts of the wave have A and B.
#[derive(Clone, Copy)]
enum Parts {
    /// So many, which are to be compared: if they are not the same, there must be two.
    Compared(usize),
    /// One that counts for all rows.
    One,
    /// One for the first of two rows, and the next one for the second.
    Two,
}

impl Sources {
    /// `rows`: the wave's.
    #[inline(always)]
    fn of(rows: *const Row, op: &Op, first_part: usize, parts: Parts) -> Sources {
        let mods = RawMods(op.imm);
        let words = |source: usize| words(rows, op.src[source]).wrapping_add(SIZE * first_part);
        let flipped = |source| u32::from(mods.neg(source)) << 15 | u32::from(mods.abs(source)) << 31;
        Sources { factors: [words(0), words(1)], flipped: [flipped(0), flipped(1)], parts, c: (!0, 0) }
    }
}

/// Where a register begins.
#[inline(always)]
fn words(rows: *const Row, register: u16) -> *const u32 {
    rows.wrapping_add(usize::from(register)).cast()
}

/// `c`, f32 numbers in registers, with A * B added to it, becomes the result, if all numbers are moderate and there are not
/// four parts that differ in A or B. Gives false, and changes nothing, where it cannot.
#[inline(always)]
pub(super) fn add_in_place<T: Factor>(w: &mut Wave, op: &Op, c: u16) -> bool {
    let mods = RawMods(op.imm);
    let parts = w.lanes() as usize / SIZE;
    let (register, part) = layout::of_row(w, 2);
    let pair = REGISTER * register + SIZE * part;
    let rows = w.rows.as_mut_ptr();
    let mut sources = Sources::of(rows, op, 0, Parts::Compared(parts));
    sources.c = (if mods.abs(2) { !Single::SIGN } else { !0 }, if mods.neg(2) { Single::SIGN } else { 0 });
    let place = |register| Place { first: words(rows, register).cast_mut(), pair };
    let done = by_vectors::<T, Single>(sources, place(c), place(op.dst), Pairs { first: 0, step: 2 });
    if done {
        // Who cannot is asked again, and counted then.
        super::chain::count(true);
    }
    done
}

/// Pairs of rows: the first one's first row, and from one to the next.
#[derive(Clone, Copy)]
struct Pairs {
    first: usize,
    step: usize,
}

/// `c` with A * B added to those rows that one part of a wave has, or two. `differing`: how many there are, one if all have
/// the same A and B. Gives false, and changes nothing, where it cannot.
#[inline(always)]
pub(super) fn add<T: Factor, R: Held>(w: &Wave, op: &Op, first_part: usize, differing: usize, c: &mut Bits) -> bool {
    let place = Place { first: c.as_mut_ptr().cast(), pair: 2 * SIZE };
    let parts = if differing == 1 { Parts::One } else { Parts::Two };
    let pairs = Pairs { first: first_part, step: differing.max(2) };
    by_vectors::<T, R>(Sources::of(w.rows.as_ptr(), op, first_part, parts), place, place, pairs)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn by_vectors<T: Factor, R: Held>(sources: Sources, from: Place, to: Place, pairs: Pairs) -> bool {
    let job = vectors::All::<T, R> { sources, from, to, pairs, types: std::marker::PhantomData };
    super::lanes::by_widest(job) == Some(true)
}

#[cfg(not(target_arch = "x86_64"))]
fn by_vectors<T: Factor, R: Held>(_sources: Sources, _from: Place, _to: Place, _pairs: Pairs) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use super::super::chain::vectors::{ACCUMULATORS, LARGEST_HALF, LEFT, LOWEST_OF_HALVES, PLACE, place, units};
    use super::super::lanes::{Job, Lanes};
    use super::super::numbers::{self, MAGNITUDE, Sizes, bounds, widened};
    use super::{Factor, Held, Pairs, Parts, Place, REGISTER, SIZE, Sources};
    use crate::fp::dot::Rdna3;
    use std::hint::black_box;
    use std::marker::PhantomData;
    use std::mem::MaybeUninit;

    /// Steps of two products.
    const STEPS: usize = SIZE / 2;
    /// The place of a sum whose unit is zero.
    const LOWEST: i32 = 26;

    /// All bits set for the second row of each pair.
    const SECOND: Second = Second([0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1]);
    #[repr(align(64))]
    struct Second([i32; SIZE]);

    /// What vectors leave to be read in other order, or later.
    #[repr(C, align(64))]
    struct Room {
        sums: [[f32; SIZE]; SIZE],
        /// A's elements, by k and row.
        value: [[f32; SIZE]; SIZE],
        /// Upper halves of their places, so that a word has those of two rows.
        place: [[u16; SIZE]; SIZE],
        /// By step and row: where the negative products of its two elements of A are counted.
        counted: [[u32; SIZE]; STEPS],
        /// Of the products of a step, how many are negative, by which of the two elements of A are; then those of the next
        /// part.
        negative: [[i32; SIZE]; 8],
    }

    /// What [`super::by_vectors`] does.
    pub struct All<T, R> {
        pub sources: Sources,
        pub from: Place,
        pub to: Place,
        pub pairs: Pairs,
        pub types: PhantomData<(T, R)>,
    }

    impl<T: Factor, R: Held> Job for All<T, R> {
        type Result = bool;
        #[inline(always)]
        unsafe fn run<L: Lanes>(self) -> bool {
            let All { sources, from, to, pairs, .. } = self;
            // To clear this room would take longer than to fill it.
            let mut room = MaybeUninit::<Room>::uninit();
            let room = room.as_mut_ptr();
            // SAFETY: as the caller says; sources have `STEPS` registers and matrices `SIZE` rows of `SIZE`.
            unsafe {
                let is_two = match sources.parts {
                    Parts::Compared(parts) => {
                        let differ = differ::<L>(&sources, parts);
                        if differ && parts != 2 {
                            return false;
                        }
                        differ
                    }
                    Parts::One => false,
                    Parts::Two => true,
                };
                let next = if is_two { SIZE } else { 0 };
                // The compiler would write out every turn of the loops whose lengths it knows: as much code again.
                let (steps, rows) = (black_box(STEPS), black_box(SIZE));
                let mut seen = Sizes::<L>::none();
                for step in 0..steps {
                    for row in (0..SIZE).step_by(L::N) {
                        let is_second = L::load_int(SECOND.0.as_ptr().add(row));
                        let (own, other) =
                            (taken::<L>(&sources, 0, step, row), taken::<L>(&sources, 0, step, next + row));
                        let words = L::xor(own, L::and(L::xor(own, other), is_second));
                        let signs = L::or(
                            L::and(L::down(words, 15 - 4), L::all_int(1 << 4)),
                            L::and(L::down(words, 31 - 5), L::all_int(2 << 4)),
                        );
                        let counted = L::or(signs, L::and(is_second, L::all_int(4 * next as i32)));
                        L::store_int((&raw mut (*room).counted[step]).cast::<i32>().add(row), counted);
                        for (k, code) in [(2 * step, words), (2 * step + 1, L::down(words, 16))] {
                            let (value, exponent) = widened::<L, Rdna3, T>(code, &mut seen);
                            L::store_int((&raw mut (*room).value[k]).cast::<i32>().add(row), value);
                            let place = L::down(numbers::place::<L, T>(exponent, Some(LEFT)), 16);
                            L::store_lower_halves((&raw mut (*room).place[k]).cast::<u16>().add(row), place);
                        }
                    }
                }
                let mut accumulators = Sizes::<L>::none();
                for row in 0..rows {
                    for column in (0..SIZE).step_by(L::N) {
                        let code = L::load_int(from.row(row).add(column).cast());
                        let code = L::xor(L::and(code, L::all_int(sources.c.0 as i32)), L::all_int(sources.c.1 as i32));
                        let c = R::read::<L>(code);
                        accumulators.note(L::and(L::as_int(c), L::all_int(MAGNITUDE)), ACCUMULATORS.0);
                        L::store((&raw mut (*room).sums[row]).cast::<u32>().add(column), c);
                    }
                }
                if !accumulators.are_within(ACCUMULATORS) {
                    return false;
                }
                let mut largest = L::all_int(0);
                for step in 0..steps {
                    for column in (0..SIZE).step_by(L::N) {
                        let words = taken::<L>(&sources, 1, step, column);
                        let first = right::<L, T>(room, words, (0, column), &mut seen);
                        let mut second = first;
                        if is_two {
                            let words = taken::<L>(&sources, 1, step, next + column);
                            second = right::<L, T>(room, words, (4, column), &mut seen);
                        }
                        let value = [first.0, second.0];
                        let both = |j: usize| L::or(second.1[j], L::down(first.1[j], 16));
                        let place = [both(0), both(1)];
                        let mut row = pairs.first;
                        while row < SIZE {
                            largest = L::max(largest, pair::<L, R>(room, (step, row, column), value, place));
                            row += pairs.step;
                        }
                    }
                }
                if !seen.are_within(bounds::<T>()) || R::IS_HALF && L::any_more(largest, L::all_int(LARGEST_HALF)) {
                    return false;
                }
                let mut first = pairs.first;
                while first < rows {
                    for row in [first, first + 1] {
                        for column in (0..SIZE).step_by(L::N) {
                            let sum = L::load((&raw const (*room).sums[row]).cast::<f32>().add(column));
                            L::store_int(to.row(row).add(column).cast(), R::code::<L>(sum));
                        }
                    }
                    first += pairs.step;
                }
            }
            true
        }
    }

    /// Whether some of the first parts have another A or B.
    #[inline(always)]
    unsafe fn differ<L: Lanes>(sources: &Sources, parts: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe {
            let mut differences = L::all_int(0);
            for source in 0..2 {
                for register in 0..STEPS {
                    for lane in (0..SIZE).step_by(L::N) {
                        let words = taken::<L>(sources, source, register, lane);
                        for part in 1..parts {
                            let others = taken::<L>(sources, source, register, SIZE * part + lane);
                            differences = L::or(differences, L::xor(words, others));
                        }
                    }
                }
            }
            // As unsigned numbers.
            L::any_more(L::xor(differences, L::all_int(i32::MIN)), L::all_int(i32::MIN))
        }
    }

    /// Words of a register of A or B.
    #[inline(always)]
    unsafe fn taken<L: Lanes>(sources: &Sources, source: usize, register: usize, lane: usize) -> L::Int {
        // SAFETY: as the caller says.
        unsafe {
            let words = L::load_int(sources.factors[source].add(REGISTER * register + lane).cast());
            L::xor(words, L::all_int(sources.flipped[source] as i32))
        }
    }

    /// Two elements of B in each of some columns: numbers, and their places.
    type Right<L> = ([<L as Lanes>::Float; 2], [<L as Lanes>::Int; 2]);

    /// Such elements, in words. How many of their products are negative is written into four rows of the room from `at` on.
    #[inline(always)]
    unsafe fn right<L: Lanes, T: Factor>(
        room: *mut Room,
        words: L::Int,
        (at, column): (usize, usize),
        seen: &mut Sizes<L>,
    ) -> Right<L> {
        // SAFETY: as the caller says.
        unsafe {
            let (first, second) = (L::and(L::down(words, 15), L::all_int(1)), L::down(words, 31));
            for of_a in 0..4 {
                let (x, y) = (L::all_int(of_a & 1), L::all_int(of_a >> 1));
                let to = (&raw mut (*room).negative[at + of_a as usize]).cast::<i32>().add(column);
                L::store_int(to, L::add(L::xor(first, x), L::xor(second, y)));
            }
            let (first, first_exponent) = widened::<L, Rdna3, T>(words, seen);
            let (second, second_exponent) = widened::<L, Rdna3, T>(L::down(words, 16), seen);
            let place = [numbers::place::<L, T>(first_exponent, None), numbers::place::<L, T>(second_exponent, None)];
            ([L::as_float(first), L::as_float(second)], place)
        }
    }

    /// A step of two rows. Gives the largest magnitude of the sums, if those are f16.
    #[inline(always)]
    unsafe fn pair<L: Lanes, R: Held>(
        room: *mut Room,
        (step, row, column): (usize, usize, usize),
        value: [[L::Float; 2]; 2],
        place_of_b: [L::Int; 2],
    ) -> L::Int {
        // SAFETY: as the caller says; `row` and `row + 1` are rows.
        unsafe {
            let both = |j: usize| {
                let of_a = (&raw const (*room).place[2 * step + j]).cast::<u16>().add(row).cast::<i32>();
                L::add_halves(L::all_int(of_a.read()), place_of_b[j])
            };
            let products = L::max_signed_halves(both(0), both(1));
            let mut largest = L::all_int(0);
            for r in 0..2 {
                let row = row + r;
                let sum = (&raw mut (*room).sums).cast::<f32>().add(row * SIZE + column);
                let c = L::load(sum);
                let mut last = if r == 0 {
                    L::max(L::up(products, 16), place::<L>(c))
                } else {
                    L::max_upper_halves(products, place::<L>(c))
                };
                if R::IS_HALF {
                    last = L::max(last, L::all_int(LOWEST_OF_HALVES << PLACE));
                }
                let units = units::<L>(last);
                let own = L::add_two_where_negative(L::whole(L::multiply(c, units)), c);
                let counted = (&raw const (*room).counted[step]).cast::<u32>().add(row).read();
                let negative = (&raw const (*room).negative).cast::<i32>().add(counted as usize + column);
                let own = L::sub(own, L::load_int(negative));
                let product = |j: usize| {
                    let a = (&raw const (*room).value[2 * step + j]).cast::<f32>().add(row);
                    L::whole(L::multiply(L::multiply(L::all(a.read()), value[r][j]), units))
                };
                let unit = L::as_float(L::sub_down_to_zero(last, L::all_int(LOWEST << PLACE)));
                let c = R::rounded::<L>(L::add(own, L::add(product(0), product(1))), unit);
                L::store(sum.cast(), c);
                if R::IS_HALF {
                    largest = L::max(largest, L::and(L::as_int(c), L::all_int(MAGNITUDE)));
                }
            }
            largest
        }
    }
}
