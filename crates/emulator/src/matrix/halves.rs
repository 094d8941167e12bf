//! f16 operands of CDNA's matrix operations, by the host's vectors: values, and codes of exponents for [`super::half_sums`].
//!
//! A code is a signed byte. The sum of two, counted from -128, is the exponent of a product as [`super::group`] has it; that of a
//! zero's and another one is less than those of all other products. Sums saturate at the least byte. Four rows of A share a
//! word; B's codes are in all bytes of one.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::lanes::{Job, Lanes, by_widest};
use crate::registers::Row;

/// Less this, an f16's biased exponent is its code: sums of two less 128 are exponents of f32, and 5 as [`super::group`] has it.
const BIAS: i32 = 15 - (127 + 5 - 128) / 2;
/// The largest biased exponent of elements that are usual.
const USUAL: i32 = 15 + 12;
/// A zero's code.
const ZERO: i32 = 0x80;
/// In both halves of a word.
const HALVES: i32 = 0x1_0001;

/// By block, then k, then row or column.
#[repr(align(64))]
pub struct Halves<const PER_LANE: usize> {
    value: [[f32; 64]; PER_LANE],
    /// A's are bytes.
    code: [[u32; 64]; PER_LANE],
}

/// Elements of A, by k, then row.
#[derive(Clone, Copy)]
pub struct Left<'a> {
    /// 2^-[`Left::LESS`] of them.
    pub value: &'a [f32],
    pub code: &'a [u8],
}

/// Elements of B, by k, then column.
#[derive(Clone, Copy)]
pub struct Right<'a> {
    pub value: &'a [f32],
    pub code: &'a [u32],
}

impl<'a> Left<'a> {
    pub const LESS: i32 = 6;
    /// Those of one of several blocks.
    #[inline(always)]
    pub fn block<const M: usize>(self, k: usize, block: usize) -> Left<'a> {
        Left { value: &self.value[block * k * M..][..k * M], code: &self.code[block * k * M..][..k * M] }
    }
}

impl<'a> Right<'a> {
    /// Those of one of several blocks.
    #[inline(always)]
    pub fn block<const M: usize>(self, k: usize, block: usize) -> Right<'a> {
        Right { value: &self.value[block * k * M..][..k * M], code: &self.code[block * k * M..][..k * M] }
    }
}

impl<const PER_LANE: usize> Halves<PER_LANE> {
    /// A's elements.
    ///
    /// # Safety
    /// They have been taken, with codes of rows.
    #[inline(always)]
    pub unsafe fn left(room: &MaybeUninit<Self>) -> Left<'_> {
        // SAFETY: as the caller says; there is a word for each byte.
        unsafe {
            let code = &raw const (*room.as_ptr()).code;
            Left { value: Self::values(room), code: std::slice::from_raw_parts(code.cast(), 64 * PER_LANE) }
        }
    }

    /// B's elements.
    ///
    /// # Safety
    /// They have been taken, with codes of columns.
    #[inline(always)]
    pub unsafe fn right(room: &MaybeUninit<Self>) -> Right<'_> {
        // SAFETY: as the caller says.
        unsafe { Right { value: Self::values(room), code: (*room.as_ptr()).code.as_flattened() } }
    }

    /// # Safety
    /// All values have been taken.
    #[inline(always)]
    pub unsafe fn values(room: &MaybeUninit<Self>) -> &[f32] {
        // SAFETY: as the caller says.
        unsafe { (*room.as_ptr()).value.as_flattened() }
    }

    /// Takes the values of any elements, denormals as zeros, if the processor has vectors.
    #[inline(always)]
    pub fn take_flushed<'a, const M: usize, const BLOCKS: usize>(
        rows: &[Row],
        room: &'a mut MaybeUninit<Self>,
    ) -> Option<&'a [f32]> {
        by_widest(Take::<WithoutCodes, M, BLOCKS, PER_LANE>::new(rows, room))?;
        // SAFETY: every value has been stored.
        Some(unsafe { Self::values(room) })
    }
}

/// What is stored of elements besides their values.
pub trait Codes {
    const ARE_STORED: bool = true;
    /// What values are multiplied by.
    const FACTOR: f32 = 1.0;
    /// Stores the lowest bytes of words, the first one's at `at`.
    ///
    /// # Safety
    /// As that of [`Lanes`], and there is room.
    unsafe fn store<L: Lanes>(room: *mut u32, at: usize, words: L::Int);
}

/// A's.
pub struct OfRows;
impl Codes for OfRows {
    const FACTOR: f32 = 1.0 / (1 << Left::LESS) as f32;
    #[inline(always)]
    unsafe fn store<L: Lanes>(room: *mut u32, at: usize, words: L::Int) {
        // SAFETY: as the caller says.
        unsafe { L::store_bytes(room.cast::<u8>().add(at), words) }
    }
}

/// B's.
pub struct OfColumns;
impl Codes for OfColumns {
    #[inline(always)]
    unsafe fn store<L: Lanes>(room: *mut u32, at: usize, words: L::Int) {
        // SAFETY: as the caller says.
        unsafe { L::store_int(room.add(at).cast(), L::four_times(words)) }
    }
}

/// None. Denormals are zeros.
pub struct WithoutCodes;
impl Codes for WithoutCodes {
    const ARE_STORED: bool = false;
    #[inline(always)]
    unsafe fn store<L: Lanes>(_: *mut u32, _: usize, _: L::Int) {}
}

/// Takes an operand's elements, `PER_LANE` a lane, `k` of each row (of `M`) of each of `BLOCKS` blocks.
pub struct Take<'a, C, const M: usize, const BLOCKS: usize, const PER_LANE: usize> {
    rows: &'a [Row],
    room: &'a mut MaybeUninit<Halves<PER_LANE>>,
    codes: PhantomData<C>,
}

impl<'a, C, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Take<'a, C, M, BLOCKS, PER_LANE> {
    pub fn new(rows: &'a [Row], room: &'a mut MaybeUninit<Halves<PER_LANE>>) -> Self {
        Take { rows, room, codes: PhantomData }
    }
}

/// What elements are, if their codes are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elements {
    pub are_numbers: bool,
    /// None is a zero, nor 2^13 or more.
    pub are_usual: bool,
}

impl<C: Codes, const M: usize, const BLOCKS: usize, const PER_LANE: usize> Job for Take<'_, C, M, BLOCKS, PER_LANE> {
    type Result = Elements;
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> Elements {
        let Take { rows, room, .. } = self;
        assert!(M.is_multiple_of(16) && PER_LANE.is_multiple_of(2) && rows.len() >= PER_LANE / 2);
        let k = PER_LANE * 64 / (M * BLOCKS);
        let (values, codes) = {
            let room = room.as_mut_ptr();
            // SAFETY: these are places in it.
            unsafe { ((&raw mut (*room).value).cast::<u32>(), (&raw mut (*room).code).cast::<u32>()) }
        };
        // SAFETY: as the caller says; every lane of every row has its place.
        unsafe {
            let (mut most, mut zeros) = (L::all_int(0), L::all_int(0));
            for lane in (0..64).step_by(L::N) {
                let (block, slice, row) = (lane / M % BLOCKS, lane / (M * BLOCKS), lane % M);
                for (pair, words) in rows.iter().enumerate().take(PER_LANE / 2) {
                    let at = (block * k + slice * PER_LANE + 2 * pair) * M + row;
                    let mut words = L::load_int(words.0.as_ptr().add(lane).cast());
                    if C::ARE_STORED {
                        let exponents = L::and(L::down(words, 10), L::all_int(31 * HALVES));
                        most = L::max_halves(most, exponents);
                        zeros = L::or(zeros, L::where_no_half(words, L::all_int(HALVES), L::all_int(0)));
                        let code =
                            L::sub_bytes(L::max_halves(exponents, L::all_int(HALVES)), L::all_int(BIAS * HALVES));
                        let code = L::where_no_half(words, L::all_int(ZERO * HALVES), code);
                        C::store::<L>(codes, at, code);
                        C::store::<L>(codes, at + M, L::down(code, 16));
                    } else {
                        words = L::normal_halves(words);
                    }
                    for half in 0..2 {
                        let value = L::singles_of_halves(L::down(words, 16 * half as u32));
                        let value = if C::FACTOR == 1.0 { value } else { L::multiply(value, L::all(C::FACTOR)) };
                        L::store(values.add(at + half * M), value);
                    }
                }
            }
            let largest = [L::and(most, L::all_int(0xffff)), L::down(most, 16)];
            let (mut are_numbers, mut are_usual) = (true, !L::any_more(zeros, L::all_int(0)));
            for exponents in largest {
                are_numbers &= !L::any_more(exponents, L::all_int(30));
                are_usual &= !L::any_more(exponents, L::all_int(USUAL));
            }
            Elements { are_numbers, are_usual }
        }
    }
}
