//! CDNA3's sums of f16 products ([`super::sum::Aligned`]) by the host's vectors: four rows at a time, as [`super::group`] adds
//! each of them.
//!
//! A word has the codes of a column's products in four rows. So the largest exponent is found for all four at once.
//!
//! A product of two f16 and the power of two that makes one of its unit are normal numbers of f32. So that power is
//! multiplied by as an integer: its exponent is added. Of a zero's product that makes less than one, which becomes no unit.

use super::dense::four_rows;
use super::group::{exponent, own, with_accumulator};
use super::halves::{Left, Right};
use super::lanes::{Job, Lanes};
use super::sum::NAN;
use crate::registers::Row;

/// The code of 2^-96, the least exponent of a sum. A sum of zeros has it. An accumulator that is not zero is larger than that, if
/// it is of moderate size ([`super::aligned`]), and has no bits below its unit.
const LEAST: i8 = (-96 + 127 + 5 - 128_i32) as i8;
/// Less the exponent of the largest product, as [`super::group`] has it, this is what the exponents of all grow by.
const UNIT: i32 = exponent(24 + Left::LESS + 127 + 5);

/// Adds the products of `a` and `b`, `k` for each result, to the registers of a block's M x M results, in groups of eight, or
/// in one of four. Without zeros among elements, accumulators may be any; else of moderate size.
pub struct Block<'a, const M: usize> {
    pub a: Left<'a>,
    pub b: Right<'a>,
    pub k: usize,
    pub c: &'a mut [Row],
}

impl<const M: usize> Job for Block<'_, M> {
    type Result = ();
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: as the caller says.
        unsafe { if self.k == 4 { self.groups::<L, 4>() } else { self.groups::<L, 8>() } }
    }
}

impl<const M: usize> Block<'_, M> {
    #[inline(always)]
    unsafe fn groups<L: Lanes, const GROUP: usize>(self) {
        let Block { a, b, k, c } = self;
        assert!(M.is_multiple_of(16) && c.len() == M * M / 64 && k.is_multiple_of(GROUP));
        assert!([a.value.len(), a.code.len(), b.value.len(), b.code.len()].iter().all(|&len| len == k * M));
        let c = c.as_mut_ptr().cast::<u32>();
        for column in (0..M).step_by(L::N) {
            for from in (0..k).step_by(GROUP) {
                let at = from * M + column;
                // SAFETY: as the caller says; all that is loaded and stored is there.
                unsafe {
                    // These stay in registers for all rows.
                    let mut y = [L::all(0.0); GROUP];
                    for k in 0..GROUP {
                        y[k] = L::load(b.value.as_ptr().add(at + k * M));
                    }
                    for n in 0..M / 4 {
                        let row = from * M + 4 * n;
                        let x_codes = a.code.as_ptr().add(row);
                        let tops = tops::<L, M, GROUP>(x_codes, b.code.as_ptr().add(at));
                        let c = c.add(four_rows::<M>(n) + column);
                        rows::<L, M, GROUP>(a.value.as_ptr().add(row), &y, tops, c);
                    }
                }
            }
        }
    }
}

/// The exponents of the largest products in four rows, a byte each, as f32 has exponents.
#[inline(always)]
unsafe fn tops<L: Lanes, const M: usize, const GROUP: usize>(x_codes: *const u8, y_codes: *const u32) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let mut tops = L::all_int(i32::from_ne_bytes([LEAST as u8; 4]));
        for k in 0..GROUP {
            let x = L::all_int(x_codes.add(k * M).cast::<i32>().read_unaligned());
            tops = L::max_bytes(tops, L::add_bytes(x, L::load_int(y_codes.add(k * M).cast())));
        }
        // The least signed number is the least exponent.
        L::xor(tops, L::all_int(i32::from_ne_bytes([0x80; 4])))
    }
}

/// Adds a group to the accumulators of four rows, which are a register apart.
#[inline(always)]
unsafe fn rows<L: Lanes, const M: usize, const GROUP: usize>(
    x: *const f32,
    y: &[L::Float; GROUP],
    tops: L::Int,
    c: *mut u32,
) {
    // SAFETY: as the caller says.
    unsafe {
        let place = |row: usize| c.add(64 * row);
        let before = [0, 1, 2, 3].map(|row| L::load(place(row).cast()));
        let largest = before.map(|c| own::<L>(c));
        let largest = L::max(L::max(largest[0], largest[1]), L::max(largest[2], largest[3]));
        let are_special = L::any_more(largest, L::all_int(exponent(254)));
        for row in 0..4 {
            let top = L::and(in_place::<L>(tops, row), L::all_int(exponent(255)));
            let sum = products::<L, M, GROUP>(x.add(row), y, L::sub(L::all_int(UNIT), top));
            let mut all = with_accumulator::<L>(top, sum, before[row]);
            if are_special {
                all = or_special::<L>(before[row], all);
            }
            L::store(place(row), all);
        }
    }
}

/// The exponent of a row of four where f32 has it, and others around.
#[inline(always)]
unsafe fn in_place<L: Lanes>(tops: L::Int, row: usize) -> L::Int {
    // SAFETY: as the caller says.
    unsafe { if row == 3 { L::down(tops, 1) } else { L::up(tops, 23 - 8 * row as u32) } }
}

/// The sum of products, each with `units` more of an exponent.
#[inline(always)]
unsafe fn products<L: Lanes, const M: usize, const GROUP: usize>(
    x: *const f32,
    y: &[L::Float; GROUP],
    units: L::Int,
) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let product = |k: usize| {
            let product = L::multiply(L::all(*x.add(k * M)), y[k]);
            L::whole(L::as_float(L::add(L::as_int(product), units)))
        };
        let mut sum = product(0);
        for k in 1..GROUP {
            sum = L::add(sum, product(k));
        }
        sum
    }
}

/// The result with an accumulator that is infinite or a NaN; `other` with others. The products are finite.
#[cold]
#[inline(always)]
unsafe fn or_special<L: Lanes>(accumulator: L::Float, other: L::Float) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        let size = L::and(L::as_int(accumulator), L::all_int(i32::MAX));
        let infinity = L::all_int(exponent(255));
        let special = L::where_less(infinity, size, L::all_int(NAN as i32), L::as_int(accumulator));
        L::as_float(L::where_less(size, infinity, L::as_int(other), special))
    }
}
