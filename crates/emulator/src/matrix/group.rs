//! A group of products and an accumulator, as [`super::aligned`] adds them.
//!
//! This module adds products and accumulator as whole numbers of 32 bits, in units of 2^-24 of the products' exponent. If the
//! accumulator's exponent is larger by more than [`ABOVE`], it takes a coarser unit. In that unit the accumulator has 30 bits,
//! and its last [`ABOVE`] bits are zeros. So the sum has at least two bits behind those of an f32, and one more bit stands for
//! all lower bits of the products; these bits decide how the sum is rounded. The rule keeps 31 bits below the leading one, and eight below 2^-24
//! of the larger exponent: of what was cut off those bits whose place is above that of the sum's leading one.

use super::codes::LOWEST;
use super::lanes::Lanes;

/// By how much the accumulator's exponent may be the larger one before units are coarser.
const ABOVE: i32 = 5;

/// A number in the place of an f32's exponent.
pub const fn exponent(biased: i32) -> i32 {
    ((biased as u32) << 23) as i32
}
/// Codes' sums, and what an accumulator's exponent is compared with, are exponents of f32 and [`ABOVE`]. Less one of
/// these, this is the exponent of the power that makes one of a unit.
pub const UNIT: i32 = exponent(127 + 24 + 127 + ABOVE);
/// And less this, it is the exponent of the unit.
const BACK: i32 = exponent(24 + ABOVE);

/// The sum of every `SUMS`th product from one on; `units`: what makes one of a unit.
#[inline(always)]
pub unsafe fn products<L: Lanes, const M: usize, const GROUP: usize, const SUMS: usize>(
    x: *const f32,
    y: &[L::Float; GROUP],
    from: usize,
    units: L::Float,
) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let mut sum = L::whole(L::multiply(L::multiply(L::all(*x.add(from * M)), y[from]), units));
        for k in (from + SUMS..GROUP).step_by(SUMS) {
            sum = L::add(sum, L::whole(L::multiply(L::multiply(L::all(*x.add(k * M)), y[k]), units)));
        }
        sum
    }
}

/// The exponents of the largest products, in halves of words: of those with even numbers, and of the others.
#[inline(always)]
unsafe fn halves<L: Lanes, const M: usize, const GROUP: usize>(
    x_codes: *const u32,
    y_codes: &[L::Int; GROUP],
) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let mut codes = L::all_int(LOWEST);
        for pair in 0..GROUP / 2 {
            let x = L::all_int(*x_codes.add(pair * M) as i32);
            codes = L::max_halves(codes, L::add(x, y_codes[pair]));
        }
        codes
    }
}

/// The exponent of the largest product.
///
/// # Safety
/// As [`in_two_sums`].
#[inline(always)]
pub unsafe fn top<L: Lanes, const M: usize, const GROUP: usize>(
    x_codes: *const u32,
    y_codes: &[L::Int; GROUP],
) -> L::Int {
    // SAFETY: as the caller says.
    unsafe {
        let codes = halves::<L, M, GROUP>(x_codes, y_codes);
        L::up(L::max_halves(codes, L::down(codes, 16)), 23)
    }
}

/// The two sums of a group of products, and the accumulator `c`. `x` is the first number of a row of A, `x_codes` its code; those
/// of the next k, or of the next two, are `M` further on.
///
/// # Safety
/// The processor has what `L` is named for; `x` and `x_codes` have as many elements as that.
#[inline(always)]
pub unsafe fn in_two_sums<L: Lanes, const M: usize, const GROUP: usize>(
    x: *const f32,
    x_codes: *const u32,
    y: &[L::Float; GROUP],
    y_codes: &[L::Int; GROUP],
    mut c: L::Float,
) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        let codes = halves::<L, M, GROUP>(x_codes, y_codes);
        let (even, odd) = (L::up(codes, 23), L::up(L::down(codes, 16), 23));
        let top = L::max(even, odd);
        let units = (L::sub(L::all_int(UNIT), even), L::sub(L::all_int(UNIT), odd));
        let evens = products::<L, M, GROUP, 2>(x, y, 0, L::as_float(units.0));
        let odds = products::<L, M, GROUP, 2>(x, y, 1, L::as_float(units.1));
        let below = (L::down(L::sub(top, even), 23), L::down(L::sub(top, odd), 23));
        let sum = L::add(L::down_each(evens, below.0), L::down_each(odds, below.1));
        // The hardware forgets an accumulator that is too small.
        c = L::zero_where_less(own::<L>(c), L::sub(top, L::all_int(exponent(25 + ABOVE))), c);
        with_accumulator::<L>(top, sum, c)
    }
}

/// An accumulator's exponent.
#[inline(always)]
pub unsafe fn own<L: Lanes>(c: L::Float) -> L::Int {
    // SAFETY: as the caller says.
    unsafe { L::and(L::as_int(c), L::all_int(exponent(255))) }
}

/// The sum of units of the largest product and of an accumulator.
#[inline(always)]
pub unsafe fn with_accumulator<L: Lanes>(top: L::Int, sum: L::Int, c: L::Float) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        let coarsest = L::max(top, own::<L>(c));
        let below = L::down(L::sub(coarsest, top), 23);
        let units = L::as_float(L::sub(L::all_int(UNIT), coarsest));
        let accumulator = L::floor_whole(L::multiply(c, units));
        let cut_off = L::up_each(sum, L::sub(L::all_int(32), below));
        of_units::<L>(L::mark(L::add(accumulator, L::down_each(sum, below)), cut_off), coarsest)
    }
}

/// A number of units as f32. Where all products and the accumulator are zeros a unit may be any number, even a negative one;
/// no zero is negative.
#[inline(always)]
pub unsafe fn of_units<L: Lanes>(total: L::Int, top: L::Int) -> L::Float {
    // SAFETY: as the caller says.
    unsafe {
        let unit = L::as_float(L::sub(top, L::all_int(BACK)));
        L::multiply_add(L::singles_of_ints(total), unit, L::all(0.0))
    }
}
