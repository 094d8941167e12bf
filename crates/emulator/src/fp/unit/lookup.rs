//! Coefficients of all lanes from tables of 32 segments: with AVX-512 they are permutations of registers, not loads.

use super::tables::Segment;
use crate::level::{Level, level};

/// 32 segments, coefficient after coefficient.
pub type Columns = [[u32; 32]; 4];

pub const fn columns<const N: usize>(table: &[Segment; N], from: usize) -> Columns {
    let mut out = [[0; 32]; 4];
    let mut i = 0;
    while i < 32 {
        let mut k = 0;
        while k < 4 {
            out[k][i] = table[from + i][k];
            k += 1;
        }
        i += 1;
    }
    out
}

/// The coefficients of the segments of lanes, counted through all tables.
#[inline(always)]
pub fn lookup<const N: usize>(tables: &[Columns], segments: &[u32; N]) -> [[u32; N]; 4] {
    let mut out = [[0; N]; 4];
    #[cfg(target_arch = "x86_64")]
    if N.is_multiple_of(16) && level() == Level::Avx512 {
        // SAFETY: `level` says that the processor has the features.
        unsafe { permute(tables, segments, &mut out) };
        return out;
    }
    for i in 0..N {
        let segment = segments[i] as usize;
        for k in 0..4 {
            out[k][i] = tables[segment / 32][k][segment % 32];
        }
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn permute<const N: usize>(tables: &[Columns], segments: &[u32; N], out: &mut [[u32; N]; 4]) {
    use std::arch::x86_64::*;
    // SAFETY: 64 bytes each.
    let load = |words: &[u32; 16]| unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
    for (k, out) in out.iter_mut().enumerate() {
        for (segments, out) in segments.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0) {
            let segments = load(segments);
            let mut found = _mm512_setzero_si512();
            for (number, table) in tables.iter().enumerate() {
                let [low, high] = [0, 1].map(|half| load(&table[k].as_chunks().0[half]));
                let here = _mm512_cmpeq_epi32_mask(_mm512_srli_epi32(segments, 5), _mm512_set1_epi32(number as i32));
                // What is above the segment's five bits does not count.
                found = _mm512_mask_mov_epi32(found, here, _mm512_permutex2var_epi32(low, segments, high));
            }
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), found) };
        }
    }
}
