//! The steps of the division sequence: v_div_scale, v_div_fmas, v_div_fixup.
//!
//! The manual of CDNA 2 gives v_div_fmas a factor of 2^32 (2^64 for f64), which cannot undo v_div_scale's 2^64
//! (2^128); here the factor is the scale's, up or down by the quotient's size. A quotient that overflowed on the way is
//! a NaN by then (infinity minus infinity in the last step): v_div_fixup makes it the overflow that it stands for. With
//! both, the sequence that compilers emit divides correctly for all operands, which the tests hold it to.
//! The manuals also scale a denominator up when both its reciprocal and the quotient are subnormal; it would overflow, so
//! it can only be down (which v_div_fmas undoes). Of RDNA3 and RDNA4 it is known what v_div_scale does: [`rdna_scale32`].

use super::{in32, in64, out32, out64, quiet16, quiet32, quiet64, scale, soft};
use crate::mode::{Mode, Round};

/// v_div_scale_f32: source 0 (which is source 1 or 2) scaled so that the quotient's steps neither overflow nor
/// underflow, and whether v_div_fmas must scale back.
#[inline(always)]
pub fn scale32(m: Mode, s0: u32, denominator: u32, numerator: u32) -> (u32, bool) {
    let (s0, d, n) = (in32(m, s0), in32(m, denominator), in32(m, numerator));
    let (fd, fn_) = (f32::from_bits(d), f32::from_bits(n));
    let exponent = |x: u32| (x >> 23 & 0xff) as i32;
    let subnormal = |x: f32| (x.to_bits() & 0x7f80_0000 == 0) & (x.to_bits() << 1 != 0);
    let (up, down) = (18_446_744_073_709_551_616.0f32, 1.0 / 18_446_744_073_709_551_616.0f32); // 2^64, 2^-64
    let (is_d, is_n) = (s0 == d, s0 == n);
    let reciprocal = subnormal(1.0 / fd);
    let quotient = subnormal(fn_ / fd);
    let zero = (fd == 0.0) | (fn_ == 0.0);
    let huge = exponent(n) - exponent(d) >= 96;
    let tiny_d = subnormal(fd);
    // From the last case to the first: later lines win.
    let mut factor = if exponent(n) <= 23 { up } else { 1.0 };
    let mut vcc = false;
    factor = if quotient { if is_n { up } else { 1.0 } } else { factor };
    vcc |= quotient;
    factor = if reciprocal { down } else { factor };
    vcc &= !reciprocal;
    let both = reciprocal & quotient;
    factor = if both { if is_d { down } else { 1.0 } } else { factor };
    vcc |= both;
    factor = if tiny_d { up } else { factor };
    vcc &= !tiny_d;
    factor = if huge { if is_d { up } else { 1.0 } } else { factor };
    vcc |= huge;
    vcc &= !zero;
    let r = (f32::from_bits(s0) * factor).to_bits();
    let r = if factor == 1.0 { s0 } else { r };
    (if zero { 0x7fc0_0000 } else { out32(m, quiet32(r)) }, vcc)
}

/// v_div_scale_f64, as [`scale32`].
#[inline(always)]
pub fn scale64(m: Mode, s0: u64, denominator: u64, numerator: u64) -> (u64, bool) {
    let (s0, d, n) = (in64(m, s0), in64(m, denominator), in64(m, numerator));
    let (fd, fn_) = (f64::from_bits(d), f64::from_bits(n));
    let exponent = |x: u64| (x >> 52 & 0x7ff) as i32;
    let subnormal = |x: f64| (x.to_bits() & 0x7ff0_0000_0000_0000 == 0) & (x.to_bits() << 1 != 0);
    let (up, down) = (scale::pow2(128), scale::pow2(-128));
    let (is_d, is_n) = (s0 == d, s0 == n);
    let reciprocal = subnormal(1.0 / fd);
    let quotient = subnormal(fn_ / fd);
    let zero = (fd == 0.0) | (fn_ == 0.0);
    let huge = exponent(n) - exponent(d) >= 768;
    let tiny_d = subnormal(fd);
    let mut factor = if exponent(n) <= 53 { up } else { 1.0 };
    let mut vcc = false;
    factor = if quotient { if is_n { up } else { 1.0 } } else { factor };
    vcc |= quotient;
    factor = if reciprocal { down } else { factor };
    vcc &= !reciprocal;
    let both = reciprocal & quotient;
    factor = if both { if is_d { down } else { 1.0 } } else { factor };
    vcc |= both;
    factor = if tiny_d { up } else { factor };
    vcc &= !tiny_d;
    factor = if huge { if is_d { up } else { 1.0 } } else { factor };
    vcc |= huge;
    vcc &= !zero;
    let r = (f64::from_bits(s0) * factor).to_bits();
    let r = if factor == 1.0 { s0 } else { r };
    (if zero { 0x7ff8_0000_0000_0000 } else { out64(m, quiet64(r)) }, vcc)
}

/// v_div_scale as RDNA3 and RDNA4 have it: which of the two is scaled, and how, is decided by the exponents as they stand in
/// the operands, and a quotient counts as too small long before it is denormal. Where one of the two is zero the result is
/// a NaN, and the flag is what the exponents make it. (AMD's rocjitsu, shared/division.h, checked on gfx1100 and gfx1201;
/// the manuals' pseudocode does not give what they do.)
macro_rules! scale_by_exponents {
    ($name:ident, $t:ty, $fraction:expr, $far:expr, $by:expr, $tiny:expr, $nan:expr, $read:path, $write:path, $mul:path, $quiet:path) => {
        pub fn $name(m: Mode, s0: $t, denominator: $t, numerator: $t) -> ($t, bool) {
            const SIGN: $t = 1 << (<$t>::BITS - 1);
            const INF: $t = (SIGN - 1) >> $fraction << $fraction;
            const ONE: $t = INF >> ($fraction + 1) << $fraction;
            const TOP: i32 = (INF >> $fraction) as i32;
            let (s0, d, n) = ($read(m, s0), $read(m, denominator), $read(m, numerator));
            let exponent = |x: $t| ((x & INF) >> $fraction) as i32;
            let (far, is_d) = (exponent(n) - exponent(d), s0 == d);
            let (power, again) = if far >= $far {
                (if is_d { $by } else { 0 }, true)
            } else if exponent(d) == 0 {
                ($by, false)
            } else if exponent(d) >= TOP - 2 {
                (if far <= -$far && !is_d { 0 } else { -$by }, far <= -$far)
            } else if far <= -$far {
                (if is_d { 0 } else { $by }, true)
            } else {
                (if exponent(n) <= $tiny { $by } else { 0 }, false)
            };
            if d << 1 == 0 || n << 1 == 0 {
                return ($nan, again);
            }
            if power == 0 || s0 & (SIGN - 1) >= INF {
                return ($write(m, $quiet(s0)), again);
            }
            let factor = ONE.wrapping_add(((power as i64) as $t) << $fraction);
            ($mul(m.reading_denormals(), s0, factor), again)
        }
    };
}

scale_by_exponents!(rdna_scale32, u32, 23, 96, 64, 24, super::NAN32, in32, out32, soft::mul32, quiet32);
scale_by_exponents!(rdna_scale64, u64, 52, 768, 128, 53, super::NAN64, in64, out64, soft::mul64, quiet64);

/// As [`rdna_scale32`], without branches, so that loops over lanes vectorise; the last is whether the value is to be had there.
#[inline(always)]
pub fn rdna_scale32_fast(m: Mode, s0: u32, denominator: u32, numerator: u32) -> (u32, bool, bool) {
    const INF: u32 = 0x7f80_0000;
    let (s0, d, n) = (in32(m, s0), in32(m, denominator), in32(m, numerator));
    let exponent = |x: u32| (x >> 23 & 255) as i32;
    let (far, is_d) = (exponent(n) - exponent(d), s0 == d);
    let (up, down) = (0x5f80_0000u32, 0x1f80_0000u32); // 2^64, 2^-64
    // From the last case to the first, as the other has them: later lines win.
    let mut factor = if exponent(n) <= 24 { up } else { ONE };
    let mut again = false;
    let behind = far <= -96;
    factor = if behind { if is_d { ONE } else { up } } else { factor };
    again |= behind;
    factor = if exponent(d) >= 253 { if behind & !is_d { ONE } else { down } } else { factor };
    let tiny = exponent(d) == 0;
    factor = if tiny { up } else { factor };
    again &= !tiny;
    let ahead = far >= 96;
    factor = if ahead { if is_d { up } else { ONE } } else { factor };
    again |= ahead;
    let is_zero = (d << 1 == 0) | (n << 1 == 0);
    let as_it_is = (factor == ONE) | (s0 & !super::SIGN32 >= INF);
    let scaled = (f32::from_bits(s0) * f32::from_bits(factor)).to_bits();
    let size = scaled & !super::SIGN32;
    // Neither rounded nor flushed.
    let is_normal = (0x0080_0000..INF).contains(&size);
    let value = if as_it_is { out32(m, quiet32(s0)) } else { scaled };
    (if is_zero { super::NAN32 } else { value }, again, !(is_zero | as_it_is | is_normal))
}
const ONE: u32 = 0x3f80_0000;

/// v_div_fmas_f32 in a lane whose VCC bit is set.
pub fn fmas32(m: Mode, a: u32, b: u32, c: u32) -> u32 {
    let (a, b, c) = (in32(m, a), in32(m, b), in32(m, c));
    let n = if c >> 23 & 0xff > 127 { 64 } else { -64 };
    out32(m, soft::fma_scaled(soft::F32, m.round32(), a.into(), b.into(), c.into(), n) as u32)
}

pub fn fmas64(m: Mode, a: u64, b: u64, c: u64) -> u64 {
    let (a, b, c) = (in64(m, a), in64(m, b), in64(m, c));
    let n = if c >> 52 & 0x7ff > 1023 { 128 } else { -128 };
    out64(m, soft::fma_scaled(soft::F64, m.round16_64(), a, b, c, n))
}

macro_rules! fixup {
    ($name:ident, $limits:ident, $t:ty, $sign:expr, $inf:expr, $shift:expr, $nan:expr, $far:expr, $lost:expr,
     $read:path, $write:path, $quiet:path, $round:ident,
     $dout:ident) => {
        /// What MODE makes of results too small and too large: of positive ones, of negative ones; denormals read.
        pub struct $limits {
            underflow: [$t; 2],
            overflow: [$t; 2],
            mode: Mode,
        }
        impl $limits {
            pub fn new(mode: Mode) -> Self {
                let least = if mode.$dout() { 1 } else { 0 };
                let (underflow, overflow) = match mode.$round() {
                    Round::NearestEven => ([0, 0], [$inf, $inf]),
                    Round::Up => ([least, 0], [$inf, $inf - 1]),
                    Round::Down => ([0, least], [$inf - 1, $inf]),
                    Round::Zero => ([0, 0], [$inf - 1, $inf - 1]),
                };
                $limits { underflow, overflow, mode }
            }
        }
        /// v_div_fixup: the special cases of a quotient. `q`: the quotient's magnitude.
        #[inline(always)]
        pub fn $name(limits: &$limits, q: $t, denominator: $t, numerator: $t) -> $t {
            const SIGN: $t = $sign;
            let m = limits.mode;
            let (d, n) = ($read(m, denominator), $read(m, numerator));
            let q = $read(m, q);
            let (ad, an) = (d & (SIGN - 1), n & (SIGN - 1));
            let sign = (d ^ n) & SIGN;
            let exponent = |x: $t| (x >> $shift) as i32;
            let by_sign = |v: &[$t; 2]| if sign == 0 { v[0] } else { v[1] };
            let (underflow, overflow) = (by_sign(&limits.underflow), by_sign(&limits.overflow));
            let r = q & (SIGN - 1);
            let r = if $lost & (r > $inf) { overflow } else { r };
            let r = if exponent(an) - exponent(ad) < $far { underflow } else { r };
            let r = if (ad == $inf) | (an == 0) { 0 } else { r };
            let r = if (ad == 0) | (an == $inf) { $inf } else { r };
            let r = sign | r;
            let r = if ((ad == 0) & (an == 0)) | ((ad == $inf) & (an == $inf)) { $nan } else { r };
            let r = if ad > $inf { $quiet(d) } else { r };
            $write(m, if an > $inf { $quiet(n) } else { r })
        }
    };
}

fixup!(
    fixup32,
    Limits32,
    u32,
    1 << 31,
    0x7f80_0000,
    23,
    super::NAN32,
    -150,
    true,
    super::in32,
    out32,
    quiet32,
    round32,
    denorm_out32
);
fixup!(
    fixup64,
    Limits64,
    u64,
    1 << 63,
    0x7ff0_0000_0000_0000,
    52,
    super::NAN64,
    -1075,
    true,
    super::in64,
    out64,
    quiet64,
    round16_64,
    denorm_out16_64
);
// f16 has neither the underflow case nor that of a lost quotient: its quotient comes from f32.
fixup!(
    fixup16,
    Limits16,
    u32,
    1 << 15,
    0x7c00,
    10,
    super::NAN16,
    -1000,
    false,
    super::in16,
    super::out16,
    quiet16,
    round16_64,
    denorm_out16_64
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_without_branches_gives_what_scaling_with_them_does() {
        // Around each power of two by which a case begins, and zeros, denormals, infinities and NaNs.
        let exponents = [0u32, 1, 2, 23, 24, 25, 63, 64, 65, 126, 127, 128, 190, 191, 222, 223, 252, 253, 254, 255];
        let fractions = [0u32, 1, 0x40_0000, 0x7f_ffff];
        let numbers: Vec<u32> = (0..2)
            .flat_map(|sign| exponents.iter().map(move |e| sign << 31 | e << 23))
            .flat_map(|high| fractions.iter().map(move |fraction| high | fraction))
            .collect();
        let mut had = 0;
        for mode in [0, 0x10, 0x30, 0xf0, 0xf1, 0xf2, 0xf3, 0xc3].map(Mode) {
            for &d in &numbers {
                for &n in &numbers {
                    for s0 in [d, n, !d] {
                        let (value, again) = rdna_scale32(mode, s0, d, n);
                        let (fast, same, is_rare) = rdna_scale32_fast(mode, s0, d, n);
                        assert_eq!(same, again, "{s0:#x} {d:#x} {n:#x} {mode:?}");
                        assert!(is_rare || fast == value, "{s0:#x} {d:#x} {n:#x} {mode:?}: {fast:#x} {value:#x}");
                        had += u32::from(!is_rare);
                    }
                }
            }
        }
        assert!(had > 8 * 3 * (numbers.len() * numbers.len()) as u32 / 2, "{had} without");
    }
}
