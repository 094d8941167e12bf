//! What a sum becomes: f32, f16 or bf16, which C is as well.

use super::sum::{Addend, NOTHING};
use super::{Bf16, F16, Factor, Unit};
use crate::fp::half;

/// A format of results.
pub trait Result {
    const INFINITY: u32;
    const SIGN: u32;
    /// Makes a NaN a quiet one.
    const QUIET: u32;
    /// What a NaN among the factors becomes, and what an invalid operation.
    const NAN: u32;
    const INVALID: u32;
    const LIMIT: u32;

    /// C is aligned as if its exponent were this one at the least.
    fn floor<U: Unit>() -> i32;
    /// A finite C that is added to products of `A`s.
    fn addend<U: Unit, A: Factor>(c: u32) -> Addend;
    /// A sum in units of 2 to the power of `last`; and a number that is above `LIMIT` where [`Result::exact`] is needed, for
    /// it or for what it is added to next.
    fn fast<U: Unit>(sum: i32, last: i32) -> (u32, u32);
    /// `saturates`: FP16_OVFL.
    fn exact<U: Unit>(sum: i32, last: i32, saturates: bool) -> u32;

    #[inline(always)]
    fn is_special(c: u32) -> bool {
        c & !Self::SIGN >= Self::INFINITY
    }
}

/// f32.
pub struct Single;

impl Result for Single {
    const INFINITY: u32 = 0x7f80_0000;
    const SIGN: u32 = 1 << 31;
    const QUIET: u32 = 1 << 22;
    const NAN: u32 = 0xffc0_0a3d;
    const INVALID: u32 = 0xffc0_0000;
    // The exponent of the largest numbers, counted from 0.
    const LIMIT: u32 = 253;

    #[inline(always)]
    fn floor<U: Unit>() -> i32 {
        if U::FLUSHES { NOTHING } else { -126 }
    }
    #[inline(always)]
    fn addend<U: Unit, A: Factor>(c: u32) -> Addend {
        let (field, fraction, negative) = ((c >> 23 & 255) as i32, (c & 0x7f_ffff) as i32, c as i32 >> 31);
        let whole = fraction | 1 << 23;
        if U::FLUSHES && A::EXPONENT == 8 {
            let (significand, exponent) = if field == 0 { (0, NOTHING) } else { (whole, field - 127) };
            Addend { significand, exponent, negative }
        } else if U::FLUSHES {
            // Zeros are taken for 2^-127, which leaves nothing in a sum with products of short exponents, and which is
            // zero as a result.
            Addend { significand: whole, exponent: field - 127, negative }
        } else {
            let significand = if field == 0 { fraction } else { whole };
            Addend { significand, exponent: field.max(1) - 127, negative }
        }
    }
    #[inline(always)]
    fn fast<U: Unit>(sum: i32, last: i32) -> (u32, u32) {
        let near = (sum as f32).to_bits();
        let field = (near >> 23 & 255) as i32 + last;
        let bits = near.wrapping_add((last as u32) << 23);
        let is_normal = (sum != 0) & (field > 0);
        let is_number = if U::FLUSHES { is_normal } else { sum != 0 };
        (if is_number { bits } else { 0 }, if is_number { (field - 1) as u32 } else { 0 })
    }
    fn exact<U: Unit>(sum: i32, last: i32, _saturates: bool) -> u32 {
        let scale = power(last);
        if U::FLUSHES {
            let rounded = f64::from(sum as f32) * scale;
            if rounded.abs() < f64::from(f32::MIN_POSITIVE) { 0 } else { (rounded as f32).to_bits() }
        } else {
            let rounded = (f64::from(sum) * scale) as f32;
            // What rounds to zero is +0.
            if rounded == 0.0 { 0 } else { rounded.to_bits() }
        }
    }
}

impl Result for Bf16 {
    const INFINITY: u32 = 0x7f80;
    const SIGN: u32 = 1 << 15;
    const QUIET: u32 = 1 << 6;
    const NAN: u32 = 0xfffd;
    const INVALID: u32 = 0xffc0;
    const LIMIT: u32 = Single::LIMIT;

    #[inline(always)]
    fn floor<U: Unit>() -> i32 {
        Single::floor::<U>()
    }
    #[inline(always)]
    fn addend<U: Unit, A: Factor>(c: u32) -> Addend {
        Single::addend::<U, A>(c << 16)
    }
    #[inline(always)]
    fn fast<U: Unit>(sum: i32, last: i32) -> (u32, u32) {
        let (bits, size) = Single::fast::<U>(sum, last);
        (bits >> 16, size)
    }
    fn exact<U: Unit>(sum: i32, last: i32, saturates: bool) -> u32 {
        Single::exact::<U>(sum, last, saturates) >> 16
    }
}

impl Result for F16 {
    const INFINITY: u32 = 0x7c00;
    const SIGN: u32 = 1 << 15;
    const QUIET: u32 = 1 << 9;
    const NAN: u32 = 0xfe3d;
    const INVALID: u32 = 0xfe00;
    const LIMIT: u32 = 0x7bff;

    #[inline(always)]
    fn floor<U: Unit>() -> i32 {
        -14
    }
    #[inline(always)]
    fn addend<U: Unit, A: Factor>(c: u32) -> Addend {
        // No f16 is denormal in f32.
        Single::addend::<U, A>(half::f16_to_f32(c).to_bits())
    }
    #[inline(always)]
    fn fast<U: Unit>(sum: i32, last: i32) -> (u32, u32) {
        let bits = half_of(sum, last);
        (bits, bits & !F16::SIGN)
    }
    fn exact<U: Unit>(sum: i32, last: i32, saturates: bool) -> u32 {
        let bits = half_of(sum, last);
        if saturates && bits & !F16::SIGN > F16::LIMIT { bits - 1 } else { bits }
    }
}

/// A sum as f16, to nearest even.
#[inline(always)]
fn half_of(sum: i32, last: i32) -> u32 {
    let magnitude = sum.unsigned_abs();
    // Without the second of its bits a number does not round up to a power of two: the exponent is that of the first.
    let first = ((magnitude & !(magnitude >> 1)) as i32 as f32).to_bits() >> 23;
    let exponent = (first as i32 - 127 + last).max(-14);
    let surplus = exponent - 10 - last;
    let (right, left) = (surplus.clamp(0, 31), (-surplus).clamp(0, 31));
    let cut = magnitude >> right;
    let up = if right > 0 { (1 << right >> 1) - 1 + (cut & 1) } else { 0 };
    let rounded = (magnitude + up) >> right << left;
    // The leading one of a normal number counts as one exponent.
    let bits = (((exponent + 14) as u32) << 10).wrapping_add(rounded).min(F16::INFINITY);
    if rounded == 0 { 0 } else { bits | (sum as u32 >> 31) << 15 }
}

/// 2 to the power of `n`, or the least normal number.
fn power(n: i32) -> f64 {
    f64::from_bits(((n.clamp(-1022, 1023) + 1023) as u64) << 52)
}
