//! Sine and cosine of turns.

use super::tables::TRIG;
use super::{INF, NAN32, ONE, SIGN32, from_fixed, nearest, quiet};
use crate::fp::{flush32, soft};
use crate::mode::Round;

/// Sine and cosine of arguments of less than 2^-12 turns: a product with 2 pi, which keeps denormals if asked to.
#[inline(always)]
fn small_sine(x: u32, keep: bool) -> u32 {
    const TAU: u64 = 0x00c9_0fd5;
    let exponent = x >> 23 & 255;
    let significand = u64::from(x & 0x7f_ffff | if exponent != 0 { 0x80_0000 } else { 0 });
    // 21 fraction bits of 2 pi, 23 of the significand.
    let power = exponent.max(1) as i32 - 127 - 44;
    let product = significand * TAU;
    let r = soft::round(soft::F32, Round::NearestEven, x & SIGN32 != 0, product.into(), power, false) as u32;
    flush32(r, keep)
}

/// The offset in a segment, rounded to its leading bits, but never up to the next twenty of them.
#[inline(always)]
fn trig_offset(offset: u32, cut: u32, mirrored: u32) -> u32 {
    let x = offset - mirrored;
    let last = (((x >> (20 + cut)) + 1) << 20) - 1;
    ((x + (1 << (cut - 1))) >> cut).min(last) << cut
}

/// Sine (0) or cosine (1) of a part of an eighth of a turn, in units of 2^-31 turns; `mirrored`: counted from its end, so
/// that the segment is that below.
#[inline(always)]
fn octant(table: usize, part: u32, mirrored: u32) -> u32 {
    if table == 1 && part - mirrored < 46592 {
        return ONE;
    }
    if part == 0 {
        return 0;
    }
    let segment = (part - mirrored) >> 24;
    let offset = part - (segment << 24);
    let c = TRIG[table][segment as usize].map(i64::from);
    // The quadratic coefficient is negative; the cubic one corrects it from the segment's beginning or from its end.
    let (from, at) = if c[3] <= 0 {
        (-c[2] << 24, offset - mirrored)
    } else {
        (-(c[2] + c[3]) << 24, (1 << 24) - 1 - (offset - mirrored))
    };
    let inner = nearest((from + c[3].abs() * i64::from(at & !63)) as u64, 17);
    let leading = u64::from((offset - mirrored) >> 7);
    if table == 0 && segment < 2 {
        // Near zero there are more places: four at a time.
        let width = 32 - offset.leading_zeros();
        let (more, shift) = if segment == 0 {
            (24u32.saturating_sub(width) / 4 * 4, 25u32.saturating_sub(width) / 4 * 4)
        } else {
            (0, 0)
        };
        let mut x = if segment == 0 { u64::from(offset) << shift } else { trig_offset(offset, 2, mirrored).into() };
        if segment == 0 && mirrored != 0 && (u64::from(offset) << more) & 0xf_ffff == 0 {
            x -= 1;
        }
        let places = if segment == 0 { 32 + more } else { 30 };
        let linear = (c[1] as u64 * x) >> (50 + shift - places);
        let kept = (24 + more).min(34);
        let square = (leading * leading) >> (34 - kept);
        let cut = 33 + kept - (34 + more);
        let product = u128::from(inner) * u128::from(square);
        let (whole, rest, half) = (product >> cut, product & ((1 << cut) - 1), 1 << (cut - 1));
        let quadratic = (whole + u128::from(rest > half || rest == half && whole & 1 != 0)) as u64;
        let fine = 34 + more;
        let sum = ((c[0] as u64) << (fine - 26)) + (linear << (fine - places)) - quadratic;
        return from_fixed(false, sum, fine, false);
    }
    let x = i64::from(trig_offset(offset, 4, mirrored));
    let product = c[1] * x;
    let magnitude = product.unsigned_abs();
    let linear = if magnitude >> 45 != 0 { nearest(magnitude, 22) << 1 } else { nearest(magnitude, 21) } as i64;
    let linear = if product < 0 { -linear } else { linear };
    let product = inner * ((leading * leading) >> 10);
    let half = if product >> 47 != 0 { 1 << 23 } else { 1 << 22 };
    let quadratic = product.saturating_sub(half).div_ceil(1 << 29) as i64;
    from_fixed(false, (c[0] * 8 + linear - quadratic * 2) as u64, 29, false)
}

/// Sine or cosine of x turns. `keep`: denormals that are read, that are written.
#[inline(always)]
fn trig(x: u32, cosine: bool, keep: [bool; 2]) -> u32 {
    let (sign, a) = (x & SIGN32, x & !SIGN32);
    if a >= INF {
        return if a == INF { NAN32 } else { quiet(x) };
    }
    if flush32(a, keep[0]) == 0 {
        return if cosine { ONE } else { sign };
    }
    if !cosine && a < 0x39c0_0000 {
        return small_sine(x, keep[1]);
    }
    // 31 bits of the turn. Numbers from 2^23 on are whole.
    let exponent = (a >> 23) as i32 - 127;
    let significand = u64::from(a & 0x7f_ffff | if exponent > -127 { 0x80_0000 } else { 0 });
    let phase = match exponent + 8 {
        31.. => 0,
        up @ 0.. => (significand << up & 0x7fff_ffff) as u32,
        down => significand.checked_shr(down.unsigned_abs()).unwrap_or(0) as u32,
    };
    let (quadrant, part) = (phase >> 29, phase & 0x1fff_ffff);
    let mirrored = u32::from(part >= 0x1000_0000);
    let part = if mirrored != 0 { 0x2000_0000 - part } else { part };
    let table = u32::from(cosine) ^ quadrant & 1 ^ mirrored;
    let r = octant(table as usize, part, mirrored);
    let negative = quadrant >> 1 ^ if cosine { quadrant & 1 } else { sign >> 31 };
    if r == 0 { 0 } else { r | negative << 31 }
}

#[inline]
pub fn sin(x: u32, keep: [bool; 2]) -> u32 {
    trig(x, false, keep)
}
#[inline]
pub fn cos(x: u32, keep: [bool; 2]) -> u32 {
    trig(x, true, keep)
}
