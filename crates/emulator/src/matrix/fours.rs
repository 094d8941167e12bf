//! Products of bytes ([`mod@super::bytes`]) by the host's vectors: four k at a time, or twice two.
//!
//! Sums of sixteen rows (eight with AVX2) and of a vector of columns stay in registers for all k. A's words are broadcast
//! from memory. A register of A or B has the words of some k one after the other, so they are used where they lie.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{__m512i, _mm512_dpbusd_epi32};
use std::mem::MaybeUninit;

use super::accumulate::b_lane;
use super::bytes::{MOST, Products};
use super::dense::four_rows;
use super::lanes::{Avx512, Job, Lanes, by_widest_apart};
use crate::level::{Level, level};
use crate::op::RawMods;
use crate::registers::Row;

/// Makes the result, or gives back what it has no vectors for.
pub fn multiply<const M: usize>(products: Products<M>) -> Option<Products<M>> {
    if level() == Level::Base {
        return Some(products);
    }
    if has_fours() {
        // SAFETY: the processor has the features.
        unsafe { by_fours(products) };
    } else {
        by_widest_apart(products);
    }
    None
}

/// Whether the processor can add four products of bytes at once.
fn has_fours() -> bool {
    level() == Level::Avx512 && is_x86_feature_detected!("avx512vnni")
}

#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub fn by_fours<const M: usize>(products: Products<M>) {
    // SAFETY: the processor has AVX-512 with VNNI.
    unsafe { add_all::<Avx512, Fours, M>(products) };
}

impl<const M: usize> Job for Products<'_, M> {
    type Result = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: as the caller says.
        unsafe { add_all::<L, Twos, M>(self) };
    }
}

/// How products are added to sums. To be inlined, always.
///
/// # Safety
/// The processor has what it needs.
unsafe trait Form<L: Lanes> {
    /// Words that a word of four bytes becomes.
    const PARTS: usize;
    unsafe fn of_a(word: L::Int, part: usize) -> L::Int;
    unsafe fn of_b(word: L::Int, part: usize) -> L::Int;
    unsafe fn add(sum: L::Int, a: L::Int, b: L::Int) -> L::Int;
    /// What is to be subtracted from all sums of these columns, with that for `b` added.
    unsafe fn add_excess(excess: L::Int, b: L::Int) -> L::Int;
}

/// Bytes as halves of words: 0 and 2, 1 and 3.
struct Twos;
// SAFETY: it uses `L` alone.
unsafe impl<L: Lanes> Form<L> for Twos {
    const PARTS: usize = 2;
    #[inline(always)]
    unsafe fn of_a(word: L::Int, part: usize) -> L::Int {
        // SAFETY: as the caller says.
        unsafe {
            let bytes = L::and(L::down(word, 8 * part as u32), L::all_int(0x00ff_00ff));
            // The sign.
            L::add_halves(L::xor(bytes, L::all_int(0x0080_0080)), L::all_int(0xff80_ff80_u32 as i32))
        }
    }
    #[inline(always)]
    unsafe fn of_b(word: L::Int, part: usize) -> L::Int {
        // SAFETY: as the caller says.
        unsafe { <Twos as Form<L>>::of_a(word, part) }
    }
    #[inline(always)]
    unsafe fn add(sum: L::Int, a: L::Int, b: L::Int) -> L::Int {
        // SAFETY: as the caller says.
        unsafe { L::add(sum, L::sums_of_products(a, b)) }
    }
    #[inline(always)]
    unsafe fn add_excess(excess: L::Int, _: L::Int) -> L::Int {
        excess
    }
}

/// All four. The instruction takes A's for unsigned, so they are 128 more than they should be.
struct Fours;
const MORE: i32 = 0x8080_8080_u32 as i32;
// SAFETY: it uses AVX-512 with VNNI.
unsafe impl Form<Avx512> for Fours {
    const PARTS: usize = 1;
    #[inline(always)]
    unsafe fn of_a(word: __m512i, _: usize) -> __m512i {
        // SAFETY: as the caller says.
        unsafe { Avx512::xor(word, Avx512::all_int(MORE)) }
    }
    #[inline(always)]
    unsafe fn of_b(word: __m512i, _: usize) -> __m512i {
        word
    }
    #[inline(always)]
    unsafe fn add(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as the caller says.
        unsafe { _mm512_dpbusd_epi32(sum, a, b) }
    }
    #[inline(always)]
    unsafe fn add_excess(excess: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as the caller says.
        unsafe { _mm512_dpbusd_epi32(excess, Avx512::all_int(MORE), b) }
    }
}

/// Words of A or B, those of a part after those of the one before.
type Words = MaybeUninit<[[Row; MOST]; 2]>;

#[inline(always)]
unsafe fn add_all<L: Lanes, F: Form<L>, const M: usize>(products: Products<M>) {
    let (registers, blocks, blgp) = (products.registers, products.blocks, RawMods(products.op.imm).blgp());
    assert!(M.is_multiple_of(16) && registers <= MOST && 64 % (M * blocks) == 0);
    let (mut a, mut b) = (Words::uninit(), Words::uninit());
    let (a, b) = (a.as_mut_ptr().cast::<i32>(), b.as_mut_ptr().cast::<i32>());
    for register in 0..registers {
        let of = |source| products.factor(source)[register].0.as_ptr().cast::<i32>();
        let (a_row, b_row) = (of(0), of(1));
        for lane in (0..64).step_by(L::N) {
            // SAFETY: as the caller says. Lanes that B's permutation takes apart are sixteen apart.
            unsafe {
                let (x, y) = (L::load_int(a_row.add(lane)), L::load_int(b_row.add(b_lane(blgp, lane))));
                for part in 0..F::PARTS {
                    let at = 64 * (part * registers + register) + lane;
                    L::store_int(a.add(at), F::of_a(x, part));
                    L::store_int(b.add(at), F::of_b(y, part));
                }
            }
        }
    }
    let words = 64 * F::PARTS * registers;
    products.for_each_block(|a_block, block, results| {
        let c = results.as_mut_ptr().cast::<i32>();
        for column in (0..M).step_by(L::N) {
            for row in (0..M).step_by(L::N) {
                // SAFETY: as the caller says; all that is loaded has been stored, and a block has all of its rows.
                unsafe {
                    let (a, b) = (a.add(a_block * M + row), b.add(block * M + column));
                    let c = c.add(four_rows::<M>(row / 4) + column);
                    if L::N == 16 {
                        add_some::<L, F, M, 4>(a, b, words, M * blocks, c);
                    } else {
                        add_some::<L, F, M, 2>(a, b, words, M * blocks, c);
                    }
                }
            }
        }
    });
}

/// Adds products of words of `a` and `b` to the results of `FOURS` times four rows and a vector of columns. It takes every `step`th
/// of the first `words` words.
#[inline(always)]
unsafe fn add_some<L: Lanes, F: Form<L>, const M: usize, const FOURS: usize>(
    a: *const i32,
    b: *const i32,
    words: usize,
    step: usize,
    c: *mut i32,
) {
    // SAFETY: as the caller says.
    unsafe {
        let mut sums = [[L::all_int(0); 4]; FOURS];
        let mut excess = L::all_int(0);
        for n in 0..FOURS {
            for r in 0..4 {
                sums[n][r] = L::load_int(c.add(four_rows::<M>(n) + 64 * r));
            }
        }
        for first in (0..words).step_by(step) {
            let y = L::load_int(b.add(first));
            excess = F::add_excess(excess, y);
            for n in 0..FOURS {
                for r in 0..4 {
                    sums[n][r] = F::add(sums[n][r], L::all_int(*a.add(first + 4 * n + r)), y);
                }
            }
        }
        for n in 0..FOURS {
            for r in 0..4 {
                L::store_int(c.add(four_rows::<M>(n) + 64 * r), L::sub(sums[n][r], excess));
            }
        }
    }
}
