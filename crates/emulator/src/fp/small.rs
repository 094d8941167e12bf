//! Formats of 4, 6 and 8 bits, and their conversions, alone or with the power of two that a block of them shares.
//!
//! What the manuals leave open follows AMD's own model of these conversions on the host (HIP's `amd_hip_ocp_host.hpp`):
//! * Stochastic rounding adds the leading bits of the random number to the bits that are cut off, and truncates. Of a
//!   result that is denormal, the bits that do not fit the source's own precision are cut off before that.
//! * A number that is too large becomes an infinity, where the format has none a NaN, or the largest number if the
//!   caller saturates (`MODE.fp16_ovfl`); so does an infinity. The formats that have neither always saturate, and take
//!   a NaN for the largest number too.
//! * A shared exponent of all ones is a NaN, and makes the result one.
//!
//! E5M3 has no sign and, as E4M3, one NaN and no infinity (LLVM's name for the conversions, MLIR's `f8E5M3FNU`, AMD's
//! rocjitsu). What a negative number becomes no source says: [`Small::loses_sign`].

use super::soft::{self, Format};

/// How a format ends: what its largest codes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Top {
    /// The largest exponent is for infinities and NaNs.
    Ieee,
    /// The code of all ones is a NaN; there are no infinities.
    OneNan,
    /// Every code is a number, but that of negative zero is the NaN: there is one zero and no infinity.
    Fnuz,
    /// Every code is a number.
    Numbers,
}

/// A format: widths in bits, and whether there is a sign above them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Small {
    signed: bool,
    exponent: u32,
    fraction: u32,
    bias: i32,
    top: Top,
}

const fn small(exponent: u32, fraction: u32, bias: i32, top: Top) -> Small {
    Small { signed: true, exponent, fraction, bias, top }
}

/// E4M3 and E5M2 of the Open Compute Project: gfx950, gfx12.
pub const FP8: Small = small(4, 3, 7, Top::OneNan);
pub const BF8: Small = small(5, 2, 15, Top::Ieee);
/// E4M3 and E5M2 "FNUZ": gfx942.
pub const FP8_FNUZ: Small = small(4, 3, 8, Top::Fnuz);
pub const BF8_FNUZ: Small = small(5, 2, 16, Top::Fnuz);
/// What gfx1250 takes for E4M3 where the clamp bit says so.
pub const E5M3: Small = Small { signed: false, ..small(5, 3, 15, Top::OneNan) };
/// E2M3.
pub const FP6: Small = small(2, 3, 1, Top::Numbers);
/// E3M2.
pub const BF6: Small = small(3, 2, 3, Top::Numbers);
/// E2M1.
pub const FP4: Small = small(2, 1, 1, Top::Numbers);
/// As destinations of stochastic rounding.
pub const F16: Small = small(5, 10, 15, Top::Ieee);
pub const BF16: Small = small(8, 7, 127, Top::Ieee);

/// How to narrow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rounding {
    NearestEven,
    /// With a random number, whose leading bits count.
    Stochastic(u32),
}

/// The power of two that a block shares: the biased exponent of an f32, or E8M0. `None`: a NaN.
#[inline(always)]
pub const fn shared_exponent(biased: u32) -> Option<i32> {
    if biased & 255 == 255 { None } else { Some((biased & 255) as i32 - 127) }
}

impl Small {
    /// Width of a code in bits.
    pub const fn bits(self) -> u32 {
        self.signed as u32 + self.exponent + self.fraction
    }
    const fn sign_bit(self) -> u32 {
        (self.signed as u32) << (self.exponent + self.fraction)
    }
    const fn magnitudes(self) -> u32 {
        (1 << (self.exponent + self.fraction)) - 1
    }
    /// The code of the largest number.
    pub const fn largest(self) -> u32 {
        match self.top {
            Top::Ieee => (((1 << self.exponent) - 1) << self.fraction) - 1,
            Top::OneNan => self.magnitudes() - 1,
            Top::Fnuz | Top::Numbers => self.magnitudes(),
        }
    }
    const fn least_exponent(self) -> i32 {
        1 - self.bias
    }
    #[inline(always)]
    pub const fn is_nan(self, code: u32) -> bool {
        match self.top {
            Top::Ieee => code & self.magnitudes() > self.largest() + 1,
            Top::OneNan => code & self.magnitudes() == self.magnitudes(),
            Top::Fnuz => code & (self.sign_bit() | self.magnitudes()) == self.sign_bit(),
            Top::Numbers => false,
        }
    }
    #[inline(always)]
    const fn is_infinite(self, code: u32) -> bool {
        matches!(self.top, Top::Ieee) && code & self.magnitudes() == self.largest() + 1
    }
    /// The NaN that conversions make.
    const fn nan(self, sign: bool) -> u32 {
        let signed = if sign { self.sign_bit() } else { 0 };
        match self.top {
            // Of E5M2 the quiet one, of wider formats that of all ones.
            Top::Ieee if self.bits() == 8 => signed | (self.magnitudes() - 1),
            Top::Fnuz => self.sign_bit(),
            Top::Ieee | Top::OneNan | Top::Numbers => signed | self.magnitudes(),
        }
    }
    const fn too_large(self, sign: bool, saturate: bool) -> u32 {
        let signed = if sign { self.sign_bit() } else { 0 };
        match self.top {
            Top::Numbers => signed | self.largest(),
            _ if saturate => signed | self.largest(),
            Top::Ieee => signed | (self.largest() + 1),
            Top::OneNan | Top::Fnuz => self.nan(sign),
        }
    }
    /// A number as `significand * 2^exponent`.
    const fn unpack(self, code: u32) -> (u64, i32) {
        let (magnitude, one) = (code & self.magnitudes(), 1 << self.fraction);
        let (biased, fraction) = ((magnitude >> self.fraction) as i32, (magnitude & (one - 1)) as u64);
        let least = self.least_exponent() - self.fraction as i32;
        if biased == 0 { (fraction, least) } else { (fraction | one as u64, least + biased - 1) }
    }

    /// To f32, exact.
    pub fn to_f32(self, code: u32) -> f32 {
        f32::from_bits(self.widen(code, soft::F32, Some(0)) as u32)
    }

    /// The same without branches, so that loops over lanes vectorise: an f32 has the same fields, but for the width of the
    /// exponent and its bias.
    #[inline(always)]
    pub fn number(self, code: u32) -> f32 {
        let magnitude = code & self.magnitudes();
        let rebias = f32::from_bits(((254 - self.bias) as u32) << 23);
        let number = (f32::from_bits(magnitude << (23 - self.fraction)) * rebias).to_bits();
        let number = if self.is_infinite(code) { 0x7f80_0000 } else { number };
        let number = if self.is_nan(code) { 0x7fc0_0000 } else { number };
        f32::from_bits(number | (code & self.sign_bit()) << (32 - self.bits()))
    }

    /// The number times 2^`scale` in a wider format, to nearest even. Denormals are kept.
    pub fn widen(self, code: u32, to: Format, scale: Option<i32>) -> u64 {
        let sign = code & self.sign_bit() != 0;
        let signed = u64::from(sign) << (to.exponent + to.fraction);
        let Some(scale) = scale.filter(|_| !self.is_nan(code)) else {
            return signed | to.infinity() | 1 << (to.fraction - 1);
        };
        if self.is_infinite(code) {
            return signed | to.infinity();
        }
        let (significand, exponent) = self.unpack(code);
        soft::round(to, crate::mode::Round::NearestEven, sign, significand.into(), exponent + scale, false)
    }

    /// Whether the number `x` of a wider format is negative, and this format has no sign.
    pub const fn loses_sign(self, from: Format, x: u64) -> bool {
        let sign = 1 << (from.exponent + from.fraction);
        !self.signed && x & sign != 0 && x & (sign - 1) != 0 && x & (sign - 1) <= from.infinity()
    }

    /// The number `x` of a wider format divided by 2^`scale`, as a code.
    pub fn narrow(self, from: Format, x: u64, rounding: Rounding, scale: Option<i32>, saturate: bool) -> u32 {
        let sign = x >> (from.exponent + from.fraction) & 1 != 0;
        let magnitude = x & ((1 << (from.exponent + from.fraction)) - 1);
        let Some(scale) = scale.filter(|_| magnitude <= from.infinity()) else { return self.nan(sign) };
        if magnitude == from.infinity() {
            return self.too_large(sign, saturate);
        }
        // The source's significand with its leading bit in the place of a normal number's.
        let fraction = magnitude & ((1 << from.fraction) - 1);
        let biased = (magnitude >> from.fraction) as i32;
        let bias = (1 << (from.exponent - 1)) - 1;
        let (significand, exponent) = if biased != 0 {
            (fraction | 1 << from.fraction, biased - bias)
        } else if fraction != 0 {
            let up = fraction.leading_zeros() as i32 - (63 - from.fraction as i32);
            (fraction << up, 1 - bias - up)
        } else {
            (0, self.least_exponent() + scale)
        };
        let exponent = exponent - scale;
        // Codes of equal sign are in the order of their numbers: a carry goes into the exponent by itself.
        let below = (self.least_exponent() - exponent).clamp(0, 40) as u32;
        let cut = from.fraction - self.fraction;
        let kept = match rounding {
            Rounding::NearestEven => {
                let shift = cut + below;
                let (kept, rest) =
                    if shift == 0 { (significand, 0) } else { (significand >> shift, significand << (64 - shift)) };
                let up = rest > 1 << 63 || (rest == 1 << 63 && kept & 1 != 0);
                kept + u64::from(up)
            }
            Rounding::Stochastic(random) => {
                let random = u64::from(random).checked_shr(32 - cut).unwrap_or(0);
                ((significand >> below) + random) >> cut
            }
        };
        let exponent = exponent.max(self.least_exponent()) - self.least_exponent();
        let code = ((exponent as u64) << self.fraction) + kept;
        if code > self.largest().into() {
            return self.too_large(sign, saturate);
        }
        let code = code as u32;
        if code == 0 && self.top == Top::Fnuz {
            return 0;
        }
        if sign { code | self.sign_bit() } else { code }
    }

    /// From f32, to nearest even.
    pub fn from_f32(self, x: u32, saturate: bool) -> u32 {
        self.narrow(soft::F32, x.into(), Rounding::NearestEven, Some(0), saturate)
    }
}

/// The pseudo-random number after `x`: `v_prng_b32`.
#[inline(always)]
pub const fn next_random(x: u32) -> u32 {
    x << 1 ^ if x >> 31 != 0 { 197 } else { 0 }
}

/// Code `k` of a row of codes of `bits` bits each, given its words.
#[inline(always)]
pub fn packed(words: impl Fn(usize) -> u32, bits: u32, k: usize) -> u32 {
    let at = k * bits as usize;
    let low = words(at / 32) >> (at % 32);
    let over = at % 32 + bits as usize > 32;
    let all = if over { low | words(at / 32 + 1) << (32 - at % 32) } else { low };
    all & ((1u32 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Small; 8] = [FP8, BF8, FP8_FNUZ, BF8_FNUZ, E5M3, FP6, BF6, FP4];

    #[test]
    fn the_largest_and_the_least() {
        let ends = |f: Small| (f.to_f32(f.largest()), f.to_f32(1));
        assert_eq!(ends(FP8), (448.0, 2f32.powi(-9)));
        assert_eq!(ends(BF8), (57344.0, 2f32.powi(-16)));
        assert_eq!(ends(FP8_FNUZ), (240.0, 2f32.powi(-10)));
        assert_eq!(ends(BF8_FNUZ), (57344.0, 2f32.powi(-17)));
        assert_eq!(ends(E5M3), (114_688.0, 2f32.powi(-17)));
        assert_eq!(ends(FP6), (7.5, 0.125));
        assert_eq!(ends(BF6), (28.0, 0.0625));
        assert_eq!(ends(FP4), (6.0, 0.5));
    }

    #[test]
    fn codes_survive() {
        for f in ALL {
            for code in 0..1 << f.bits() {
                let wide = f.to_f32(code);
                assert_eq!(f.number(code).to_bits(), wide.to_bits(), "{f:?} {code:#x}");
                if f.is_nan(code) {
                    assert!(wide.is_nan(), "{f:?} {code:#x}");
                    assert!(f.is_nan(f.from_f32(wide.to_bits(), true)), "{f:?} {code:#x}");
                } else {
                    assert_eq!(f.from_f32(wide.to_bits(), false), code, "{f:?} {code:#x}");
                    let half = f.widen(code, soft::F16, Some(0));
                    if half & 0x7fff < 0x7c00 {
                        assert_eq!(f.narrow(soft::F16, half, Rounding::NearestEven, Some(0), false), code);
                    }
                }
            }
        }
    }

    /// The nearest code by search: of two equally near the even one.
    #[test]
    fn to_the_nearest() {
        for f in ALL {
            let mut random = 1u32;
            for _ in 0..4000 {
                random =
                    random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & if f.signed { !0 } else { !0 >> 1 };
                let x = f32::from_bits(random & 0x801f_ffff | (105 + (random >> 23 & 31)) << 23);
                if x.abs() >= f.to_f32(f.largest()) {
                    continue;
                }
                let distance = |code: u32| (f64::from(f.to_f32(code)) - f64::from(x.abs())).abs();
                let best = (0..=f.largest())
                    .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))))
                    .unwrap_or(0);
                assert_eq!(f.from_f32(x.to_bits(), false) & f.magnitudes(), best, "{f:?} {x:e}");
            }
        }
    }

    #[test]
    fn too_large() {
        let inf = f32::INFINITY.to_bits();
        let just = |x: f32| x.to_bits();
        assert_eq!((FP8.from_f32(just(464.0), false), FP8.from_f32(just(465.0), false)), (0x7e, 0x7f));
        assert_eq!(
            (FP8.from_f32(just(-1e9), true), FP8.from_f32(inf, true), FP8.from_f32(inf, false)),
            (0xfe, 0x7e, 0x7f)
        );
        assert_eq!((BF8.from_f32(just(61440.0), false), BF8.from_f32(just(61440.0), true)), (0x7c, 0x7b));
        assert_eq!((FP8_FNUZ.from_f32(just(-300.0), false), FP8_FNUZ.from_f32(just(-300.0), true)), (0x80, 0xff));
        assert_eq!(FP8_FNUZ.from_f32(just(-1e-9), false), 0, "FNUZ has no negative zero");
        assert_eq!(FP8.from_f32(just(-1e-9), false), 0x80);
        assert_eq!((FP4.from_f32(just(-1e9), false), FP6.from_f32(inf, false)), (0xf, 0x1f));
        assert_eq!(FP4.from_f32(f32::NAN.to_bits(), false), 7);
    }

    #[test]
    fn blocks_share_an_exponent() {
        let x = |x: f32| u64::from(x.to_bits());
        assert_eq!(FP4.narrow(soft::F32, x(48.0), Rounding::NearestEven, Some(3), false), 7);
        assert_eq!(FP4.widen(7, soft::F32, Some(-3)), x(0.75));
        assert_eq!(FP8.widen(0x7e, soft::F16, Some(8)), 0x7c00, "448 * 256 is too large for f16");
        assert_eq!(FP8.widen(1, soft::BF16, Some(-126)), 0, "2^-135");
        assert_eq!(FP8.widen(1, soft::F32, Some(-126)), 1 << 14);
        assert!(shared_exponent(255).is_none());
        assert_eq!(BF6.narrow(soft::F32, x(1.0), Rounding::NearestEven, None, false), 0x1f);
        assert!(f32::from_bits(FP4.widen(1, soft::F32, None) as u32).is_nan());
    }

    #[test]
    fn random_numbers_decide() {
        let x = u64::from(1.0625f32.to_bits()); // half way between 1 and 1.125
        let sr = |random| FP8.narrow(soft::F32, x, Rounding::Stochastic(random), Some(0), false);
        assert_eq!((sr(0), sr(0x7fff_ffff), sr(0x8000_0000), sr(!0)), (0x38, 0x38, 0x39, 0x39));
        let denormal = u64::from((2f32.powi(-9) * 1.5).to_bits());
        let sr = |random| FP8.narrow(soft::F32, denormal, Rounding::Stochastic(random), Some(0), false);
        assert_eq!((sr(0x7fff_ffff), sr(0x8000_0000)), (1, 2));
        let largest = u64::from(1.99f32.to_bits());
        assert_eq!(FP8.narrow(soft::F32, largest, Rounding::Stochastic(!0), Some(0), false), 0x40, "the carry");
        assert_eq!(F16.narrow(soft::F32, 0x3f80_0000, Rounding::Stochastic(!0), Some(0), false), 0x3c00);
        assert_eq!(F16.narrow(soft::F32, 0x3f80_0001, Rounding::Stochastic(!0), Some(0), false), 0x3c01);
    }

    #[test]
    fn codes_lie_side_by_side() {
        let words = [0x8765_4321u32, 0xfedc_ba98, 0x0123_4567];
        let all = u128::from(words[0]) | u128::from(words[1]) << 32 | u128::from(words[2]) << 64;
        for k in 0..16 {
            assert_eq!(u128::from(packed(|i| words[i], 6, k)), all >> (6 * k) & 63);
        }
    }
}
