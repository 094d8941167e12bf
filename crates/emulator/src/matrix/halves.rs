//! f16 operands of CDNA's matrix operations, by the host's vectors: values, and codes of their exponents, four in a word.
//!
//! A code is a signed byte. The sum of two, counted from -128, is what [`super::group`] takes for the exponent of a product;
//! the sum of a zero's and another one is less than those of all other products.

use std::mem::MaybeUninit;

use super::codes::Factors;
use super::lanes::{Job, Lanes, by_widest};
use crate::registers::Row;

/// Less this, an f16's biased exponent is its code: sums of two less 128 are exponents of f32, and 5 as [`super::group`] has it.
const BIAS: i32 = 15 - (127 + 5 - 128) / 2;
/// A zero's code.
const ZERO: i32 = 0x80;
/// In both halves of a word.
const HALVES: i32 = 0x1_0001;

/// By block, then k, then row or column.
#[repr(align(64))]
pub struct Halves<const PER_LANE: usize> {
    value: [[f32; 64]; PER_LANE],
    /// Of four k each.
    code: [[u32; 16]; PER_LANE],
}

impl<const PER_LANE: usize> Halves<PER_LANE> {
    /// Takes an operand's elements, `PER_LANE` a lane, `k` of each row (of `M`) of each of `BLOCKS` blocks, if all of them are
    /// numbers and the processor has vectors.
    #[inline(always)]
    pub fn take<'a, const M: usize, const BLOCKS: usize>(
        rows: &[Row],
        room: &'a mut MaybeUninit<Self>,
    ) -> Option<Factors<'a>> {
        let all_are_numbers = by_widest(Take::<true, M, BLOCKS, PER_LANE> { rows, room })?;
        // SAFETY: every value and every code has been stored.
        let taken = unsafe { room.assume_init_ref() };
        all_are_numbers.then(|| taken.factors())
    }

    /// The same of any elements, denormals as zeros, and without codes.
    #[inline(always)]
    pub fn take_flushed<'a, const M: usize, const BLOCKS: usize>(
        rows: &[Row],
        room: &'a mut MaybeUninit<Self>,
    ) -> Option<&'a [f32]> {
        by_widest(Take::<false, M, BLOCKS, PER_LANE> { rows, room })?;
        // SAFETY: every value has been stored.
        Some(unsafe { values(room) })
    }

    pub(super) fn factors(&self) -> Factors<'_> {
        Factors { value: self.value.as_flattened(), code: self.code.as_flattened(), exponents: (-14, 15) }
    }
}

/// The values of an operand.
///
/// # Safety
/// All of them have been stored.
pub(super) unsafe fn values<const PER_LANE: usize>(room: &MaybeUninit<Halves<PER_LANE>>) -> &[f32] {
    // SAFETY: as the caller says.
    unsafe { (*room.as_ptr()).value.as_flattened() }
}

/// Says whether all elements are numbers, if they are taken `WITH_CODES`.
pub(super) struct Take<'a, const WITH_CODES: bool, const M: usize, const BLOCKS: usize, const PER_LANE: usize> {
    pub rows: &'a [Row],
    pub room: &'a mut MaybeUninit<Halves<PER_LANE>>,
}

impl<const WITH_CODES: bool, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Job
    for Take<'_, WITH_CODES, M, BLOCKS, PER_LANE>
{
    type Result = bool;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> bool {
        let Take { rows, room } = self;
        assert!(M.is_multiple_of(16) && PER_LANE.is_multiple_of(4) && rows.len() >= PER_LANE / 2);
        let k = PER_LANE * 64 / (M * BLOCKS);
        let (values, codes) = {
            let room = room.as_mut_ptr();
            // SAFETY: these are places in it.
            unsafe { ((&raw mut (*room).value).cast::<f32>(), (&raw mut (*room).code).cast::<u32>()) }
        };
        // SAFETY: as the caller says; every lane of every row has its place.
        unsafe {
            let mut most = L::all_int(0);
            for lane in (0..64).step_by(L::N) {
                let (block, slice, row) = (lane / M % BLOCKS, lane / (M * BLOCKS), lane % M);
                for four in 0..PER_LANE / 4 {
                    let first = block * k + slice * PER_LANE + 4 * four;
                    let mut both = L::all_int(0);
                    for pair in 0..2 {
                        let mut words = L::load_int(rows[2 * four + pair].0.as_ptr().add(lane).cast());
                        if WITH_CODES {
                            let exponents = L::and(L::down(words, 10), L::all_int(31 * HALVES));
                            most = L::max_halves(most, exponents);
                            let code =
                                L::sub_bytes(L::max_halves(exponents, L::all_int(HALVES)), L::all_int(BIAS * HALVES));
                            let code = L::where_no_half(words, L::all_int(ZERO * HALVES), code);
                            both = if pair == 0 { code } else { L::xor(both, L::up(code, 8)) };
                        } else {
                            words = L::normal_halves(words);
                        }
                        for half in 0..2 {
                            let value = L::singles_of_halves(L::down(words, 16 * half as u32));
                            L::store(values.add((first + 2 * pair + half) * M + row).cast(), value);
                        }
                    }
                    if WITH_CODES {
                        L::store_int(codes.add(first / 4 * M + row).cast(), both);
                    }
                }
            }
            let limit = L::all_int(30);
            !L::any_more(L::and(most, L::all_int(0xffff)), limit) && !L::any_more(L::down(most, 16), limit)
        }
    }
}
