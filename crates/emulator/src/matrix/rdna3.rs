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
    use super::super::chain::vectors::{ACCUMULATORS, LARGEST_HALF, LEFT};
    use super::super::lanes::{Job, Lanes};
    use super::super::numbers::{MAGNITUDE, Sizes};
    use super::super::two_rows::{self, Counts, Left, Right};
    use super::super::words::{self, Magnitudes};
    use super::{Factor, Held, Pairs, Parts, Place, REGISTER, SIZE, Sources};
    use std::hint::black_box;
    use std::marker::PhantomData;
    use std::mem::MaybeUninit;

    /// Steps of two products.
    const STEPS: usize = SIZE / 2;
    /// All bits set for the second row of each pair.
    const SECOND: Second = Second([0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1]);
    #[repr(align(64))]
    struct Second([i32; SIZE]);

    /// What vectors leave to be read in other order, or later.
    #[repr(C, align(64))]
    struct Room {
        /// Where they cannot be where the result is to be.
        sums: [[f32; SIZE]; SIZE],
        left: [Left; STEPS],
        /// Steps take turns.
        counts: [Counts; 2],
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
                let Some(is_two) = counting::<L, T>(&sources) else { return false };
                let next = if is_two { SIZE } else { 0 };
                let are_apart = !R::IS_SINGLE || !sources.leave(from, to);
                let sums = if are_apart { Place { first: (&raw mut (*room).sums).cast(), pair: 2 * SIZE } } else { to };
                // The compiler would write out every turn of the loops whose lengths it knows: as much code again.
                let (steps, rows) = (black_box(STEPS), black_box(SIZE));
                let mut accumulators = Sizes::<L>::none();
                for row in 0..rows {
                    for column in (0..SIZE).step_by(L::N) {
                        let code = L::load_int(from.row(row).add(column).cast());
                        let code = L::xor(L::and(code, L::all_int(sources.c.0 as i32)), L::all_int(sources.c.1 as i32));
                        let c = R::read::<L>(code);
                        accumulators.note(L::and(L::as_int(c), L::all_int(MAGNITUDE)));
                        if are_apart {
                            L::store(sums.row(row).add(column), c);
                        }
                    }
                }
                if !accumulators.are_within(ACCUMULATORS) {
                    return false;
                }
                for step in 0..steps {
                    for row in (0..SIZE).step_by(L::N) {
                        left::<L, T>(room, &sources, next, (step, row));
                    }
                }
                let mut largest = L::all_int(0);
                // Those of the next step are made before this one's products, which need not wait for them then.
                let mut factors = right::<L, T>(room, &sources, next, 0);
                for turn in 0..steps * (SIZE / L::N) {
                    let (step, column) = (turn / (SIZE / L::N), turn % (SIZE / L::N) * L::N);
                    let these = factors;
                    factors = right::<L, T>(room, &sources, next, (turn + 1) % (STEPS * (SIZE / L::N)));
                    let left = &raw const (*room).left[step];
                    let counts = (&raw const (*room).counts[turn % 2]).cast::<i32>().add(column);
                    let mut row = pairs.first;
                    while row < SIZE {
                        let sums = sums.row(row).add(column);
                        largest = L::max(largest, two_rows::add::<L, R>(left, row, &these, counts, sums));
                        row += pairs.step;
                    }
                }
                if R::IS_HALF && L::any_more(largest, L::all_int(LARGEST_HALF)) {
                    return false;
                }
                if are_apart {
                    let mut first = pairs.first;
                    while first < rows {
                        for row in [first, first + 1] {
                            for column in (0..SIZE).step_by(L::N) {
                                let sum = L::load(sums.row(row).add(column).cast());
                                L::store_int(to.row(row).add(column).cast(), R::code::<L>(sum));
                            }
                        }
                        first += pairs.step;
                    }
                }
            }
            true
        }
    }

    impl Sources {
        /// Whether sums may be where the result is to be: C is there as it is, and B is not, which is read meanwhile.
        fn leave(&self, from: Place, to: Place) -> bool {
            let b = self.factors[1];
            let are_before = b.wrapping_add(REGISTER * STEPS) <= to.first.cast_const();
            let are_behind = to.first.wrapping_add(SIZE / 2 * to.pair).cast_const() <= b;
            from.first == to.first && self.c == (!0, 0) && (are_before || are_behind)
        }
    }

    /// Whether a second part counts, if all elements of those that do are moderate and there are no more.
    #[inline(always)]
    unsafe fn counting<L: Lanes, T: Factor>(sources: &Sources) -> Option<bool> {
        let (compared, known) = match sources.parts {
            Parts::Compared(parts) => (parts, false),
            Parts::One => (1, false),
            Parts::Two => (1, true),
        };
        // SAFETY: as the caller says.
        unsafe {
            let (mut differences, mut seen) = (L::all_int(0), Magnitudes::<L>::none());
            for words in sources.factors {
                for register in 0..STEPS {
                    for lane in (0..SIZE).step_by(L::N) {
                        let words = words.add(REGISTER * register + lane).cast::<i32>();
                        let own = L::load_int(words);
                        seen.note::<T>(own);
                        for part in 1..compared {
                            let others = L::load_int(words.add(SIZE * part));
                            differences = L::or(differences, L::xor(own, others));
                        }
                    }
                }
            }
            // As unsigned numbers.
            let differ = L::any_more(L::xor(differences, L::all_int(i32::MIN)), L::all_int(i32::MIN));
            if differ && compared != 2 {
                return None;
            }
            let is_two = differ || known;
            if is_two {
                for words in sources.factors {
                    for register in 0..STEPS {
                        for lane in (0..SIZE).step_by(L::N) {
                            seen.note::<T>(L::load_int(words.add(REGISTER * register + SIZE + lane).cast()));
                        }
                    }
                }
            }
            seen.are_moderate::<T>().then_some(is_two)
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

    /// Writes two elements of A in each of some rows into the room, every second row's from the part that is `next`.
    #[inline(always)]
    unsafe fn left<L: Lanes, T: Factor>(room: *mut Room, sources: &Sources, next: usize, (step, row): (usize, usize)) {
        // SAFETY: as the caller says.
        unsafe {
            let left = &raw mut (*room).left[step];
            let is_second = L::load_int(SECOND.0.as_ptr().add(row));
            let (own, other) = (taken::<L>(sources, 0, step, row), taken::<L>(sources, 0, step, next + row));
            let words = L::xor(own, L::and(L::xor(own, other), is_second));
            let signs = L::or(
                L::and(L::down(words, 15 - 4), L::all_int(1 << 4)),
                L::and(L::down(words, 31 - 5), L::all_int(2 << 4)),
            );
            let counted = L::or(signs, L::and(is_second, L::all_int(4 * next as i32)));
            L::store_int((&raw mut (*left).counted).cast::<i32>().add(row), counted);
            let words = words::normal::<L, T>(words);
            for (j, value) in words::values::<L, T>(words).into_iter().enumerate() {
                L::store((&raw mut (*left).value[j]).cast::<u32>().add(row), value);
            }
            let places = L::transposed_halves(words::places::<L, T>(words, Some(LEFT)));
            L::store_int((&raw mut (*left).place).cast::<i32>().add(row), places);
        }
    }

    /// Two elements of B in each of a turn's columns. How many of their products are negative is written into the room.
    #[inline(always)]
    unsafe fn right<L: Lanes, T: Factor>(room: *mut Room, sources: &Sources, next: usize, turn: usize) -> Right<L> {
        let (step, column) = (turn / (SIZE / L::N), turn % (SIZE / L::N) * L::N);
        // SAFETY: as the caller says.
        unsafe {
            let negative = (&raw mut (*room).counts[turn % 2]).cast::<i32>().add(column);
            let (value, own) = of_part::<L, T>(negative, taken::<L>(sources, 1, step, column));
            let (mut values, mut others) = ([value; 2], own);
            if next != 0 {
                let words = taken::<L>(sources, 1, step, next + column);
                (values[1], others) = of_part::<L, T>(negative.add(4 * SIZE), words);
            }
            let (lower, upper) = (L::all_int(0xffff), L::all_int(!0xffff));
            let place = [L::or(L::and(own, lower), L::up(others, 16)), L::or(L::down(own, 16), L::and(others, upper))];
            Right { value: values, place }
        }
    }

    /// Elements of B in words of a part, and their places.
    #[inline(always)]
    unsafe fn of_part<L: Lanes, T: Factor>(negative: *mut i32, words: L::Int) -> ([L::Float; 2], L::Int) {
        // SAFETY: as the caller says.
        unsafe {
            // All bits where they are negative: minus one.
            let (first, second) = (L::down_each(L::up(words, 16), L::all_int(31)), L::down_each(words, L::all_int(31)));
            let (both, more) = (L::add(first, second), L::sub(second, first));
            let all = |x| L::all_int(x);
            let of_a = [both, L::sub(more, all(1)), L::sub(all(-1), more), L::sub(all(-2), both)];
            for (signs, counts) in of_a.into_iter().enumerate() {
                L::store_int(negative.add(SIZE * signs), counts);
            }
            let words = words::normal::<L, T>(words);
            (words::values::<L, T>(words), words::places::<L, T>(words, None))
        }
    }
}
