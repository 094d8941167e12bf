//! Between lane masks (one bit a lane) and rows (one word a lane).
//!
//! Rows are written in the widest pieces that the host has: a row written in 16-byte pieces and then read by a whole
//! vector misses store forwarding, which costs more than everything else that an instruction does.

use crate::level::{Level, level};
use crate::registers::Row;

/// The lanes of a mask, lowest first.
#[inline(always)]
pub fn lanes(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < 64).then_some(lane)
    })
}

/// Packs 64 words, each all zeros or all ones, into a lane mask.
#[inline(always)]
pub fn pack(lanes: &[u32; 64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        let mut mask = 0u64;
        for (i, c) in lanes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: SSE2 is part of x86_64; the loads are unaligned ones within a chunk of 64 bytes.
            let bits = unsafe {
                let p = c.as_ptr().cast::<__m128i>();
                let lo = _mm_packs_epi32(_mm_loadu_si128(p), _mm_loadu_si128(p.add(1)));
                let hi = _mm_packs_epi32(_mm_loadu_si128(p.add(2)), _mm_loadu_si128(p.add(3)));
                _mm_movemask_epi8(_mm_packs_epi16(lo, hi)) as u32
            };
            mask |= u64::from(bits) << (16 * i);
        }
        mask
    }
    #[cfg(not(target_arch = "x86_64"))]
    lanes.iter().enumerate().fold(0, |mask, (i, &lane)| mask | u64::from(lane & 1) << i)
}

/// Replaces the lanes of `mask` in `d`.
#[inline]
pub fn blend(d: &mut Row, value: &Row, mask: u64) {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: `level` says that the processor has the features.
        Level::Avx512 => return unsafe { blend_avx512(d, value, mask) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { blend_avx2(d, value, mask) },
        Level::Base => {}
    }
    for i in 0..64 {
        let on = ((mask >> i) as u32 & 1).wrapping_neg();
        d.0[i] = (d.0[i] & !on) | (value.0[i] & on);
    }
}

/// Unpacks a lane mask into all ones or all zeros a lane.
#[inline]
pub fn unpack(mask: u64) -> Row {
    let mut out = Row::ZERO;
    blend(&mut out, &ONES, mask);
    out
}

static ONES: Row = Row([!0; 64]);

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn blend_avx512(d: &mut Row, value: &Row, mask: u64) {
    use std::arch::x86_64::*;
    for i in 0..4 {
        // SAFETY: the `i`th 64 bytes of rows of 256 bytes.
        unsafe {
            let v = _mm512_loadu_si512(value.0.as_ptr().add(16 * i).cast());
            let p = d.0.as_mut_ptr().add(16 * i).cast();
            _mm512_storeu_si512(p, _mm512_mask_mov_epi32(_mm512_loadu_si512(p), (mask >> (16 * i)) as u16, v));
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn blend_avx2(d: &mut Row, value: &Row, mask: u64) {
    use std::arch::x86_64::*;
    let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for i in 0..8 {
        let bits = _mm256_set1_epi32((mask >> (8 * i)) as i32);
        let on = _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit), bit);
        // SAFETY: the `i`th 32 bytes of rows of 256 bytes.
        unsafe {
            let v = _mm256_loadu_si256(value.0.as_ptr().add(8 * i).cast());
            let p = d.0.as_mut_ptr().add(8 * i).cast();
            _mm256_storeu_si256(p, _mm256_blendv_epi8(_mm256_loadu_si256(p), v, on));
        }
    }
}
