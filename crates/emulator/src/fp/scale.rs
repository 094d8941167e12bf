//! Powers of two: ldexp, the parts of frexp, fract.

use super::{
    NAN32, NAN64, half, in16, in32, in64, is_nan16, is_nan32, is_nan64, out32, quiet16, quiet32, quiet64, soft,
};
use crate::mode::{Mode, Round};

/// `2^n` for n from -1022 to 1023.
#[inline(always)]
pub fn pow2(n: i32) -> f64 {
    f64::from_bits((n.wrapping_add(1023) as u64) << 52)
}

/// `x * 2^n`, rounded once.
pub fn ldexp32(m: Mode, x: u32, n: i32) -> u32 {
    out32(m, soft::ldexp(soft::F32, m.round32(), in32(m, x).into(), n) as u32)
}

/// As [`ldexp32`]; the exponent is a 16-bit integer.
#[inline(always)]
pub fn ldexp16(m: Mode, x: u32, n: i32) -> u32 {
    let x = half::f16_to_f32(in16(m, x));
    half::round_f16(m, x * pow2(n.clamp(-80, 80)) as f32)
}

pub fn ldexp64(m: Mode, x: u64, n: i32) -> u64 {
    super::out64(m, soft::ldexp(soft::F64, m.round16_64(), in64(m, x), n))
}

/// To nearest even, denormals kept.
pub fn ldexp64_host(x: u64, n: i32) -> u64 {
    soft::ldexp(soft::F64, Round::NearestEven, x, n)
}

/// The significand in [0.5, 1) with the sign of `x`.
#[inline(always)]
pub fn frexp_mant32(m: Mode, x: u32) -> u32 {
    let x = in32(m, x);
    // A denormal is made normal by a multiplication that is exact.
    let denormal = x & 0x7f80_0000 == 0;
    let y = if denormal { (f32::from_bits(x) * 16_777_216.0).to_bits() } else { x };
    let mant = y & 0x807f_ffff | 126 << 23;
    let special = x & 0x7f80_0000 == 0x7f80_0000;
    let r = if special { quiet32(x) } else { mant };
    if x & 0x7fff_ffff == 0 { x } else { r }
}

#[inline(always)]
pub fn frexp_exp32(m: Mode, x: u32) -> u32 {
    let x = in32(m, x);
    let denormal = x & 0x7f80_0000 == 0;
    let y = if denormal { (f32::from_bits(x) * 16_777_216.0).to_bits() } else { x };
    let e = (y >> 23 & 0xff) as i32 - 126 - if denormal { 24 } else { 0 };
    let none = (x & 0x7fff_ffff == 0) | (x & 0x7f80_0000 == 0x7f80_0000);
    if none { 0 } else { e as u32 }
}

#[inline(always)]
pub fn frexp_mant64(m: Mode, x: u64) -> u64 {
    let x = in64(m, x);
    const EXP: u64 = 0x7ff << 52;
    let y = if x & EXP == 0 { (f64::from_bits(x) * pow2(64)).to_bits() } else { x };
    let mant = y & !EXP | 1022 << 52;
    let r = if x & EXP == EXP { quiet64(x) } else { mant };
    if x << 1 == 0 { x } else { r }
}

#[inline(always)]
pub fn frexp_exp64(m: Mode, x: u64) -> u32 {
    let x = in64(m, x);
    const EXP: u64 = 0x7ff << 52;
    let denormal = x & EXP == 0;
    let y = if denormal { (f64::from_bits(x) * pow2(64)).to_bits() } else { x };
    let e = (y >> 52 & 0x7ff) as i32 - 1022 - if denormal { 64 } else { 0 };
    if (x << 1 == 0) | (x & EXP == EXP) { 0 } else { e as u32 }
}

#[inline(always)]
pub fn frexp_mant16(m: Mode, x: u32) -> u32 {
    let x = in16(m, x);
    let y = half::f16_to_f32(x).to_bits(); // normal in f32
    let mant = half::f32_to_f16(f32::from_bits(y & 0x807f_ffff | 126 << 23));
    let r = if x & 0x7c00 == 0x7c00 { quiet16(x) } else { mant };
    if x & 0x7fff == 0 { x } else { r }
}

#[inline(always)]
pub fn frexp_exp16(m: Mode, x: u32) -> u32 {
    let x = in16(m, x);
    let y = half::f16_to_f32(x).to_bits();
    let e = (y >> 23 & 0xff) as i32 - 126;
    if (x & 0x7fff == 0) | (x & 0x7c00 == 0x7c00) { 0 } else { e as u32 & 0xffff }
}

/// `x - floor(x)`, rounded as MODE says, at most the largest number below one; never -0; NaN for infinities. (So the
/// manuals' sum says, and rocjitsu's captures of gfx1201 in all modes; shared/fract.h.)
#[inline(always)]
pub fn fract32(m: Mode, x: u32) -> u32 {
    let v = f32::from_bits(in32(m, x));
    let r = if m.round32() == Round::NearestEven {
        (v - v.floor()).to_bits()
    } else {
        soft::add32(m.reading_denormals(), v.to_bits(), (-v.floor()).to_bits()) & !super::SIGN32
    };
    let r = if r == 0x3f80_0000 { 0x3f7f_ffff } else { r };
    let r = if v.is_infinite() { NAN32 } else { r };
    out32(m, if is_nan32(x) { quiet32(x) } else { r })
}

#[inline(always)]
pub fn fract64(m: Mode, x: u64) -> u64 {
    let v = f64::from_bits(in64(m, x));
    let r = if m.round16_64() == Round::NearestEven {
        (v - v.floor()).to_bits()
    } else {
        soft::add64(m.reading_denormals(), v.to_bits(), (-v.floor()).to_bits()) & !super::SIGN64
    };
    let r = if r == 0x3ff0_0000_0000_0000 { 0x3fef_ffff_ffff_ffff } else { r };
    let r = if v.is_infinite() { NAN64 } else { r };
    super::out64(m, if is_nan64(x) { quiet64(x) } else { r })
}

#[inline(always)]
pub fn fract16(m: Mode, x: u32) -> u32 {
    let h = in16(m, x);
    let v = half::f16_to_f32(h);
    let r = if m.round16_64() == Round::NearestEven {
        half::f32_to_f16(v - v.floor())
    } else {
        soft::add16(m.reading_denormals(), h, half::f32_to_f16(-v.floor())) & 0x7fff
    };
    let r = if r == 0x3c00 { 0x3bff } else { r };
    let r = if h & 0x7fff == 0x7c00 { super::NAN16 } else { r };
    super::out16(m, if is_nan16(h) { quiet16(h) } else { r })
}
