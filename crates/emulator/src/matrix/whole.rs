//! CDNA3's products of small whole numbers ([`super::sum::Aligned`]) by the host's vectors, with integers.
//!
//! Nothing is cut off or rounded then: a unit of a sum in fixed point is less than one, and every sum is less than 2^24. What
//! tests multiply is often of this kind. Other elements are mostly seen to be none at the first look.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::dense::four_rows;
use super::lanes::{Job, Lanes};
use super::types::Element;
use crate::registers::Row;

/// The largest magnitude of an element: 32 products are 2^23 at most.
const LARGEST: i32 = 511;
/// The largest magnitude of an accumulator, as f32: 2^23.
const ACCUMULATORS: i32 = 0x4b00_0000;
const MAGNITUDE: i32 = i32::MAX;

/// Whole numbers of neighbouring k, two in a word: by block, then k, then row or column.
#[repr(align(64))]
pub struct Whole<const PER_LANE: usize>([[u32; 32]; PER_LANE]);

impl<const PER_LANE: usize> Whole<PER_LANE> {
    pub fn words(&self) -> &[u32] {
        self.0.as_flattened()
    }
}

/// Whether numbers were whole and small.
struct Seen<L: Lanes> {
    /// The bits in which they differ from whole ones.
    differ: L::Int,
    largest: L::Int,
}

impl<L: Lanes> Seen<L> {
    #[inline(always)]
    unsafe fn nothing() -> Seen<L> {
        // SAFETY: as the caller says.
        unsafe { Seen { differ: L::all_int(0), largest: L::all_int(0) } }
    }
    /// A number as a whole one.
    #[inline(always)]
    unsafe fn whole(&mut self, number: L::Float) -> L::Int {
        // SAFETY: likewise.
        unsafe {
            let whole = L::whole(number);
            self.differ = L::or(self.differ, L::xor(L::as_int(L::singles_of_ints(whole)), L::as_int(number)));
            self.largest = L::max(self.largest, L::and(L::as_int(number), L::all_int(MAGNITUDE)));
            whole
        }
    }
    /// Whether all were, up to the bits of an f32. (A zero may be negative.)
    #[inline(always)]
    unsafe fn are_small(&self, largest: i32) -> bool {
        // SAFETY: likewise.
        unsafe {
            let differ = L::and(self.differ, L::all_int(MAGNITUDE));
            !L::any_more(differ, L::all_int(0)) && !L::any_more(self.largest, L::all_int(largest))
        }
    }
}

/// Takes an operand's elements, `PER_LANE` of 16 bits a lane, if all of them are small whole numbers.
pub struct Take<'a, E, const M: usize, const BLOCKS: usize, const PER_LANE: usize> {
    pub rows: &'a [Row],
    pub room: &'a mut MaybeUninit<Whole<PER_LANE>>,
    pub element: PhantomData<E>,
}

impl<E: Element, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Job for Take<'_, E, M, BLOCKS, PER_LANE> {
    /// Whether they are.
    type Result = bool;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> bool {
        let Take { rows, room, .. } = self;
        assert!(M.is_multiple_of(16) && PER_LANE.is_multiple_of(2) && rows.len() >= PER_LANE / 2);
        let k = PER_LANE * 64 / (M * BLOCKS);
        let words = room.as_mut_ptr().cast::<u32>();
        for lane in (0..64).step_by(L::N) {
            let (block, slice, row) = (lane / M % BLOCKS, lane / (M * BLOCKS), lane % M);
            // SAFETY: as the caller says; every lane of every row has its place.
            unsafe {
                let mut seen = Seen::<L>::nothing();
                for pair in 0..PER_LANE / 2 {
                    let both = L::load_int(rows[pair].0.as_ptr().add(lane).cast());
                    let (even, odd) = (seen.whole(E::widened::<L>(both, 0)), seen.whole(E::widened::<L>(both, 16)));
                    let both = L::or(L::and(even, L::all_int(0xffff)), L::up(odd, 16));
                    let first = block * k + slice * PER_LANE + 2 * pair;
                    L::store_int(words.add(first / 2 * M + row).cast(), both);
                }
                if !seen.are_small((LARGEST as f32).to_bits() as i32) {
                    return false;
                }
            }
        }
        true
    }
}

/// Adds `k` products of `a` and `b` to each of a block's M x M results `c`, if those are whole and small, and stores them in
/// `sums`, a row after the other.
pub struct Block<'a, const M: usize> {
    pub a: &'a [u32],
    pub b: &'a [u32],
    pub k: usize,
    pub c: &'a [Row],
    pub sums: &'a mut [MaybeUninit<Row>],
}

impl<const M: usize> Job for Block<'_, M> {
    /// Whether they are.
    type Result = bool;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> bool {
        let Block { a, b, k, c, sums } = self;
        assert!(M.is_multiple_of(16) && k.is_multiple_of(2) && a.len() >= k / 2 * M && b.len() >= k / 2 * M);
        assert!(k <= 32 && c.len() == M * M / 64 && sums.len() == c.len());
        let (c, sums) = (c.as_ptr().cast::<f32>(), sums.as_mut_ptr().cast::<u32>());
        // SAFETY: as the caller says; all that is loaded and stored is there.
        unsafe {
            let mut seen = Seen::<L>::nothing();
            for column in (0..M).step_by(L::N) {
                for n in 0..M / 4 {
                    let first = four_rows::<M>(n) + column;
                    for r in 0..4 {
                        let (at, row) = (first + 64 * r, 4 * n + r);
                        let mut sum = seen.whole(L::load(c.add(at)));
                        for pair in 0..k / 2 {
                            let x = L::all_int(*a.as_ptr().add(pair * M + row) as i32);
                            let y = L::load_int(b.as_ptr().add(pair * M + column).cast());
                            sum = L::add(sum, L::sums_of_products(x, y));
                        }
                        L::store(sums.add(at), L::singles_of_ints(sum));
                    }
                }
            }
            seen.are_small(ACCUMULATORS)
        }
    }
}
