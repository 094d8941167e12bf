//! f16 and bf16 to and from f32, without branches, so that loops over lanes vectorise.
//!
//! Halves travel in the low 16 bits of a u32.

use super::{flush16, soft};
#[cfg(target_arch = "x86_64")]
use crate::level::{Level, level};
use crate::mode::{Mode, Round};

/// f16 to f32, exact. NaNs keep their payload and their signalling bit.
#[inline(always)]
pub fn f16_to_f32(h: u32) -> f32 {
    const REBIAS: u32 = (127 - 15) << 23;
    let magnitude = (h & 0x7fff) << 13;
    let exponent = magnitude & (0x7c00 << 13);
    let normal = magnitude + REBIAS;
    let special = normal + REBIAS;
    // A denormal is an integer multiple of 2^-24: give it the exponent of 2^-14 and subtract that again.
    let denormal = (f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23)).to_bits();
    let bits = if exponent == 0 { denormal } else { normal };
    let bits = if exponent == 0x7c00 << 13 { special } else { bits };
    f32::from_bits(bits | (h & 0x8000) << 16)
}

/// f16 to f32 of 64 lanes, as the host converts them where it can. NaNs may be quieted.
#[inline]
pub fn all_to_f32(halves: &[u32; 64]) -> [f32; 64] {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: `level` says that the processor has the features.
        Level::Avx512 => return unsafe { all_avx512(halves) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { all_avx2(halves) },
        Level::Base => {}
    }
    halves.map(f16_to_f32)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn all_avx512(halves: &[u32; 64]) -> [f32; 64] {
    use std::arch::x86_64::*;
    let mut out = [0.0; 64];
    for (from, to) in halves.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0) {
        // SAFETY: 64 bytes each.
        unsafe {
            let words = _mm512_cvtepi32_epi16(_mm512_loadu_si512(from.as_ptr().cast()));
            _mm512_storeu_ps(to.as_mut_ptr(), _mm512_cvtph_ps(words));
        }
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn all_avx2(halves: &[u32; 64]) -> [f32; 64] {
    use std::arch::x86_64::*;
    let mut out = [0.0; 64];
    for (from, to) in halves.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0) {
        // SAFETY: 32 bytes each.
        unsafe {
            let low = _mm256_and_si256(_mm256_loadu_si256(from.as_ptr().cast()), _mm256_set1_epi32(0xffff));
            let words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low));
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_cvtph_ps(words));
        }
    }
    out
}

/// f32 to f16, to nearest even. NaNs are quieted.
#[inline(always)]
pub fn f32_to_f16(x: f32) -> u32 {
    let bits = x.to_bits();
    let sign = bits & 0x8000_0000;
    let a = bits ^ sign;
    let odd = (a >> 13) & 1;
    let normal = a.wrapping_add(0xc800_0fff).wrapping_add(odd) >> 13;
    // Adding 0.5 puts the last bit that a denormal f16 keeps at the end of the f32's fraction.
    let denormal = (f32::from_bits(a) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let nan = 0x7e00 | (a >> 13 & 0x3ff);
    let h = if a < 113 << 23 { denormal } else { normal };
    let h = if a >= 0x4780_0000 { 0x7c00 } else { h };
    let h = if a > 0x7f80_0000 { nan } else { h };
    h | sign >> 16
}

/// f64 to f32, to odd: the result may be rounded again, to a format at least two bits shorter, as if directly.
#[inline(always)]
pub fn f64_to_f32_odd(x: f64) -> f32 {
    let near = x as f32;
    let bits = near.to_bits();
    let back = near as f64;
    let up = (back.abs() > x.abs()) as u32;
    let inexact = (back != x) as u32;
    // Truncate, then set the last bit where something was cut off.
    let truncated = bits.wrapping_sub(up);
    f32::from_bits(if x.is_nan() { bits } else { truncated | inexact })
}

/// f64 to f16, to nearest even, rounded once.
#[inline(always)]
pub fn f64_to_f16(x: f64) -> u32 {
    f32_to_f16(f64_to_f32_odd(x))
}

/// Whether MODE asks of f16 results nothing but nearest even, and perhaps flushing.
#[inline(always)]
pub fn plain_f16(m: Mode) -> bool {
    m.round16_64() == Round::NearestEven && !m.fp16_ovfl()
}

/// f32 to f16 as MODE says: rounding, flushing of denormal results, FP16_OVFL.
#[inline(always)]
pub fn round_f16(m: Mode, x: f32) -> u32 {
    let h = if m.round16_64() == Round::NearestEven {
        f32_to_f16(x)
    } else {
        soft::convert(soft::F32, soft::F16, m.round16_64(), x.to_bits().into()) as u32
    };
    finish_f16(m, h, x.is_infinite())
}

/// Flushes and saturates a rounded f16. `infinite`: the exact result was infinite, not too large.
#[inline(always)]
pub fn finish_f16(m: Mode, h: u32, infinite: bool) -> u32 {
    let h = flush16(h, m.denorm_out16_64());
    if m.fp16_ovfl() && !infinite && h & 0x7fff == 0x7c00 { h - 1 } else { h }
}

#[inline(always)]
pub fn bf16_to_f32(h: u32) -> f32 {
    f32::from_bits(h << 16)
}

/// f32 to bf16, to nearest even. NaNs are quieted.
#[inline(always)]
pub fn f32_to_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if x.is_nan() { bits >> 16 | 0x40 } else { rounded }
}
