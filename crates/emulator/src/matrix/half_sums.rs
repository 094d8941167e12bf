//! CDNA3's sums of f16 products ([`super::sum::Aligned`]) by the host's vectors: four rows at a time, as [`super::group`] adds
//! each of them.
//!
//! A word has the codes of a column's products in four rows. So the largest exponent is found for all four at once.
//!
//! A product of two f16 and the power of two that makes one of its unit are normal numbers of f32. So that power is
//! multiplied by as an integer: its exponent is added. Of a zero's product that makes less than one, which becomes no unit.
//!
//! All rows are looked at before products are made ([`super::known`]).

use super::dense::four_rows;
use super::group::exponent;
use super::halves::{Left, Right};
use super::known::Rows;
use super::lanes::{Job, Lanes};
use crate::registers::Row;

/// The code of 2^-96, the least exponent of a sum. A sum of zeros has it. An accumulator that is not zero is larger than that, if
/// it is of moderate size ([`super::aligned`]), and has no bits below its unit.
const LEAST: i8 = (-96 + 127 + 5 - 128_i32) as i8;
/// Less the exponent of the largest product, as [`super::group`] has it, this is what the exponents of all grow by.
const GROWTH: i32 = 24 + Left::LESS + 127 + 5;

/// Adds the products of `a` and `b`, `k` for each result, to the registers of a block's M x M results, in groups of eight, or
/// in one of four. Accumulators may be any if all elements are [usual](super::halves::Elements); else they are of moderate size:
/// with zeros the unit may be that of no product, and with large products denormals may be less than any number of units.
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
                    let mut rows = Rows::<L, { exponent(GROWTH) }>::new();
                    for four in 0..M / 4 {
                        let x_codes = a.code.as_ptr().add(from * M + 4 * four);
                        let growths = growths::<L, M, GROUP>(x_codes, b.code.as_ptr().add(at));
                        for row in 0..4 {
                            let growth = L::and(in_place::<L>(growths, row), L::all_int(exponent(255)));
                            rows.look(4 * four + row, growth, c.add(four_rows::<M>(four) + 64 * row + column));
                        }
                    }
                    // These stay in registers for all rows.
                    let mut y = [L::all(0.0); GROUP];
                    for k in 0..GROUP {
                        y[k] = L::load(b.value.as_ptr().add(at + k * M));
                    }
                    for row in 0..M {
                        let sum = products::<L, M, GROUP>(a.value.as_ptr().add(from * M + row), &y, rows.growth(row));
                        rows.add(row, sum, c.add(four_rows::<M>(row / 4) + 64 * (row % 4) + column));
                    }
                }
            }
        }
    }
}

/// What the exponents of products in four rows grow by, a byte each.
#[inline(always)]
unsafe fn growths<L: Lanes, const M: usize, const GROUP: usize>(x_codes: *const u8, y_codes: *const u32) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let mut tops = L::all_int(i32::from_ne_bytes([LEAST as u8; 4]));
        for k in 0..GROUP {
            let x = L::all_int(x_codes.add(k * M).cast::<i32>().read_unaligned());
            tops = L::max_bytes(tops, L::add_bytes(x, L::load_int(y_codes.add(k * M).cast())));
        }
        // The least signed number is the least exponent.
        L::sub_bytes(L::all_int(i32::from_ne_bytes([(GROWTH - 128) as u8; 4])), tops)
    }
}

/// A row's byte of four where f32 has an exponent, and others around.
#[inline(always)]
unsafe fn in_place<L: Lanes>(bytes: L::Int, row: usize) -> L::Int {
    // SAFETY: as the caller says.
    unsafe { if row == 3 { L::down(bytes, 1) } else { L::up(bytes, 23 - 8 * row as u32) } }
}

/// The sum of a row's products, in units.
#[inline(always)]
unsafe fn products<L: Lanes, const M: usize, const GROUP: usize>(
    x: *const f32,
    y: &[L::Float; GROUP],
    growth: L::Int,
) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let mut sum = in_units::<L>(L::multiply(L::all(*x), y[0]), growth);
        for k in 1..GROUP {
            sum = L::add(sum, in_units::<L>(L::multiply(L::all(*x.add(k * M)), y[k]), growth));
        }
        sum
    }
}

/// A product whose exponent grows.
#[inline(always)]
unsafe fn in_units<L: Lanes>(product: L::Float, growth: L::Int) -> L::Int {
    // SAFETY: as the caller says.
    unsafe { L::whole(L::as_float(L::add(L::as_int(product), growth))) }
}
