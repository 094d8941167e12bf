//! Floating-point arithmetic as the device does it, where the host's differs.
//!
//! Vector handlers use the host's arithmetic where it gives the same bits: nearest-even rounding, denormals kept or
//! flushed by masks, no NaN in the result. Everything else (directed rounding, the choice among several NaNs) goes
//! through [`soft`], which is exact for every format and mode and slow.
//!
//! Decisions where the manuals are silent: an operation that has NaN sources returns the first of them, quieted; an
//! invalid operation returns the NaN that the manuals' examples show (`0xffc00000` and its like); a result counts as
//! denormal after rounding.
//!
//! | module | one idea |
//! |---|---|
//! | [`half`] | 16-bit formats to and from f32, branch-free |
//! | [`small`] | formats of 4, 6 and 8 bits |
//! | [`soft`] | exact arithmetic in any format with any rounding |
//! | [`minmax`] | minimum, maximum, median with the device's NaN rules |
//! | [`scale`] | ldexp, frexp, fract |
//! | [`factor`] | output modifiers' factors on RDNA |
//! | [`division`] | the steps of the division sequence |
//! | [`dot`] | sums of products in RDNA3's and RDNA4's fixed point |
//! | [`transcendental`] | exp2, log2, sine, cosine |
//! | [`unit`](mod@unit) | the transcendental unit of RDNA3 and RDNA4, bit for bit |
//! | [`trig`] | the bits of 2/pi |

pub mod division;
pub mod dot;
pub mod factor;
pub mod half;
pub mod minmax;
pub mod scale;
pub mod small;
pub mod soft;
pub mod transcendental;
pub mod trig;
pub mod unit;

use crate::mode::Mode;

pub const SIGN32: u32 = 1 << 31;
pub const SIGN64: u64 = 1 << 63;
/// What an invalid 32-bit operation returns.
pub const NAN32: u32 = 0xffc0_0000;
pub const NAN64: u64 = 0xfff8_0000_0000_0000;
pub const NAN16: u32 = 0xfe00;

#[inline(always)]
pub fn is_nan32(x: u32) -> bool {
    x & !SIGN32 > 0x7f80_0000
}
#[inline(always)]
pub fn is_nan64(x: u64) -> bool {
    x & !SIGN64 > 0x7ff0_0000_0000_0000
}
#[inline(always)]
pub fn is_nan16(x: u32) -> bool {
    x & 0x7fff > 0x7c00
}
#[inline(always)]
pub fn is_snan32(x: u32) -> bool {
    is_nan32(x) && x & 0x0040_0000 == 0
}
#[inline(always)]
pub fn is_snan64(x: u64) -> bool {
    is_nan64(x) && x & 0x0008_0000_0000_0000 == 0
}
#[inline(always)]
pub fn is_snan16(x: u32) -> bool {
    is_nan16(x) && x & 0x0200 == 0
}
#[inline(always)]
pub fn quiet32(x: u32) -> u32 {
    if is_nan32(x) { x | 0x0040_0000 } else { x }
}
#[inline(always)]
pub fn quiet64(x: u64) -> u64 {
    if is_nan64(x) { x | 0x0008_0000_0000_0000 } else { x }
}
#[inline(always)]
pub fn quiet16(x: u32) -> u32 {
    if is_nan16(x) { x | 0x0200 } else { x }
}

/// Denormals become zero of their sign unless `keep`.
#[inline(always)]
pub fn flush32(x: u32, keep: bool) -> u32 {
    let mask = if keep { !0 } else { SIGN32 };
    if x & 0x7f80_0000 == 0 { x & mask } else { x }
}
#[inline(always)]
pub fn flush64(x: u64, keep: bool) -> u64 {
    let mask = if keep { !0 } else { SIGN64 };
    if x & 0x7ff0_0000_0000_0000 == 0 { x & mask } else { x }
}
#[inline(always)]
pub fn flush16(x: u32, keep: bool) -> u32 {
    let mask = if keep { !0 } else { 0x8000 };
    if x & 0x7c00 == 0 { x & mask } else { x }
}

/// A 32-bit source as MODE has it read.
#[inline(always)]
pub fn in32(m: Mode, x: u32) -> u32 {
    flush32(x, m.denorm_in32())
}
#[inline(always)]
pub fn out32(m: Mode, x: u32) -> u32 {
    flush32(x, m.denorm_out32())
}
#[inline(always)]
pub fn in64(m: Mode, x: u64) -> u64 {
    flush64(x, m.denorm_in16_64())
}
#[inline(always)]
pub fn out64(m: Mode, x: u64) -> u64 {
    flush64(x, m.denorm_out16_64())
}
#[inline(always)]
pub fn in16(m: Mode, x: u32) -> u32 {
    flush16(x & 0xffff, m.denorm_in16_64())
}
#[inline(always)]
pub fn out16(m: Mode, x: u32) -> u32 {
    flush16(x, m.denorm_out16_64())
}
