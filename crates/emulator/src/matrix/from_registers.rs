//! gfx1250's products of 16-bit elements whose C and result are f32, from registers to registers.
//!
//! The same sums as those of [`super::steps`], which takes all elements from registers before it adds. Here they become f32
//! beside the sums, which take longer.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::lanes::{Job, Lanes};
use super::sum::NAN;
use super::types::Element;
use super::wmma::SIZE;
use crate::op::{Op, RawMods};
use crate::wave::Wave;

/// Elements along K.
const LENGTH: usize = 32;
/// How many of them a half of the wave has before the other has as many, and how many a word has.
const TURN: usize = 8;
const EACH: usize = 2;
/// Halves of a wave in a register.
const HALVES: usize = 64 / SIZE;
/// For each two elements along K, which half of which register has their words, counted from A's or B's first register. The last
/// entry is the first one again: A's elements are widened one pair ahead of B's.
const WORDS: [usize; LENGTH / EACH + 1] = {
    let (mut words, mut pair) = ([0; LENGTH / EACH + 1], 0);
    while pair < LENGTH / EACH {
        let k = pair * EACH;
        words[pair] = (k / (2 * TURN) * TURN + k % TURN) / EACH * HALVES + k / TURN % 2;
        pair += 1;
    }
    words
};

/// Elements of A as f32, by k, with room for those behind the last; no store crosses a line of the processor's cache.
#[repr(align(64))]
struct Room([[f32; SIZE]; LENGTH + EACH]);

/// Makes a product, if the processor has vector registers for all sums.
pub struct FromRegisters<'a, E> {
    // Two pointers, which a call has in registers: fields would be waited for.
    pub wave: &'a mut Wave,
    pub op: &'a Op,
    pub element: PhantomData<E>,
}

impl<E: Element> Job for FromRegisters<'_, E> {
    /// Whether it is done.
    type Result = bool;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> bool {
        if L::N != SIZE {
            return false;
        }
        let mods = RawMods(self.op.imm);
        let [a, b, c] = self.op.src.map(usize::from);
        let to = usize::from(self.op.dst);
        let rows = &mut self.wave.rows;
        assert!([a, b, c, to].iter().all(|first| first + 8 <= rows.len()));
        let rows = rows.as_mut_ptr().cast::<[u32; SIZE]>();
        // Bits that NEG and NEG_HI invert in words of A and B, and those that C's numbers keep, and that are inverted then.
        let flips = |source| (i32::from(mods.neg(source)) << 15) | (i32::from(mods.abs(source)) << 31);
        let (kept, inverted) = (!(i32::from(mods.abs(2)) << 31), i32::from(mods.neg(2)) << 31);
        // Registers by halves: lanes of a half of the wave have a row of a result, or words of A's rows, or of B's columns.
        let half = |register: usize, part: usize| rows.wrapping_add(HALVES * register + part).cast::<i32>();
        let words = |first: usize, pair: usize| half(first, WORDS[pair]);
        let mut room = MaybeUninit::<Room>::uninit();
        // SAFETY: it is there, whatever it holds.
        let room = unsafe { (&raw mut (*room.as_mut_ptr()).0).cast::<[f32; SIZE]>() };
        // SAFETY: as the caller says; the registers are there, and of A's elements those that have been stored are read.
        unsafe {
            let mut sums = [L::all(0.0); SIZE];
            for (row, sum) in sums.iter_mut().enumerate() {
                let bits = L::and(L::load_int(half(c + row % 8, row / 8)), L::all_int(kept));
                *sum = L::as_float(L::xor(bits, L::all_int(inverted)));
            }
            store::<L, E>(words(a, 0), flips(0), room);
            for pair in 0..LENGTH / EACH {
                // The next ones, for the processor to have them in time.
                let next = pair + 1;
                store::<L, E>(words(a, next), flips(0), room.add(next * EACH));
                for (e, b) in both::<L, E>(words(b, pair), flips(1)).into_iter().enumerate() {
                    let a = room.add(pair * EACH + e).cast::<f32>();
                    for (row, sum) in sums.iter_mut().enumerate() {
                        *sum = L::multiply_add(L::all(*a.add(row)), b, *sum);
                    }
                }
            }
            for (row, &sum) in sums.iter().enumerate() {
                let magnitude = L::and(L::as_int(sum), L::all_int(i32::MAX));
                let infinity = L::all_int(f32::INFINITY.to_bits() as i32);
                let bits = L::where_less(infinity, magnitude, L::all_int(NAN as i32), L::as_int(sum));
                L::store_int(half(to + row % 8, row / 8), bits);
            }
        }
        true
    }
}

/// The two elements of each word, in which some bits are inverted.
#[inline(always)]
unsafe fn both<L: Lanes, E: Element>(words: *const i32, inverted: i32) -> [L::Float; EACH] {
    // SAFETY: as the caller says.
    unsafe {
        let words = L::xor(L::load_int(words), L::all_int(inverted));
        [E::widened::<L>(words, 0), E::widened::<L>(words, 16)]
    }
}

/// Stores them.
#[inline(always)]
unsafe fn store<L: Lanes, E: Element>(words: *const i32, inverted: i32, to: *mut [f32; SIZE]) {
    // SAFETY: as the caller says.
    unsafe {
        for (e, numbers) in both::<L, E>(words, inverted).into_iter().enumerate() {
            L::store(to.add(e).cast(), numbers);
        }
    }
}
