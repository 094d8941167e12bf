//! Rows in which each lane has what another lane had: what DPP, `ds_bpermute`, `ds_swizzle` and `v_permlane*` share.

use luthier_isa::op::Op as IsaOp;

use crate::level::{Level, level};
use crate::masks::blend;
use crate::registers::Row;

/// What each lane reads: the lane in the low six bits.
pub type Sources = Row;

/// The sources that a function of a lane's number gives.
#[inline(always)]
pub fn sources(from: impl Fn(usize) -> usize) -> Sources {
    let mut out = Row::ZERO;
    for i in 0..64 {
        out.0[i] = from(i) as u32;
    }
    out
}

/// `row` as each lane reads it; lanes that read one that is not in `readable` have zero.
#[inline]
pub fn read(row: &Row, from: &Sources, readable: u64) -> Row {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` says that the processor has the features.
        return unsafe { read_avx512(row, from, readable) };
    }
    let mut out = Row::ZERO;
    for i in 0..64 {
        let lane = from.0[i] & 63;
        out.0[i] = row.0[lane as usize] & ((readable >> lane) as u32 & 1).wrapping_neg();
    }
    out
}

/// `row` in the lanes of `mask`, and zero elsewhere.
#[inline]
pub fn kept(row: &Row, mask: u64) -> Row {
    let mut out = Row::ZERO;
    blend(&mut out, row, mask);
    out
}

/// The lanes that read one in `readable`.
#[inline]
pub fn reading(from: &Sources, readable: u64) -> u64 {
    if readable == !0 {
        return !0;
    }
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: as above.
        return unsafe { reading_avx512(from, readable) };
    }
    (0..64).fold(0, |mask, i| mask | (readable >> (from.0[i] & 63) & 1) << i)
}

/// Which lane of its group a lane reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within {
    Broadcast,
    Up,
    Down,
    Xor,
}

impl Within {
    pub fn of(op: IsaOp) -> Option<Within> {
        Some(match op {
            IsaOp::VPermlaneBcastB32 => Within::Broadcast,
            IsaOp::VPermlaneUpB32 => Within::Up,
            IsaOp::VPermlaneDownB32 => Within::Down,
            IsaOp::VPermlaneXorB32 => Within::Xor,
            _ => return None,
        })
    }
    /// The lane that `lane` reads, given the second source and the group's width.
    pub fn source(self, lane: usize, by: u32, width: u32) -> usize {
        let (own, width) = (lane as u32, width.max(1));
        let (first, at) = (own & !(width - 1), own & (width - 1));
        let from = match self {
            Within::Broadcast => Some(first + (by & 63 & (width - 1))),
            Within::Up => at.checked_sub(by).map(|at| first + at),
            Within::Down => at.checked_add(by).filter(|&at| at < width).map(|at| first + at),
            // Lower groups are in reach.
            Within::Xor => Some(own ^ by).filter(|&from| by < 32 && from < first + width),
        };
        from.unwrap_or(own) as usize
    }
}

/// A group's width from a scalar, whose low six bits count.
pub fn group_width(scalar: u32) -> Option<u32> {
    Some(scalar & 63).filter(|width| width.is_power_of_two())
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::Row;

    /// The sixteen lanes from `16 * part` on.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn part(row: &Row, part: usize) -> __m512i {
        // SAFETY: 64 bytes.
        unsafe { _mm512_loadu_si512(row.0.as_chunks::<16>().0[part & 3].as_ptr().cast()) }
    }

    /// Sixteen lanes as they read all 64.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn permuted(row: [__m512i; 4], from: __m512i) -> __m512i {
        // These look at five bits.
        let low = _mm512_permutex2var_epi32(row[0], from, row[1]);
        let high = _mm512_permutex2var_epi32(row[2], from, row[3]);
        _mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(from, _mm512_set1_epi32(32)), high)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn read_avx512(row: &Row, from: &Sources, readable: u64) -> Row {
    use std::arch::x86_64::*;
    let parts = [0, 1, 2, 3].map(|k| _mm512_maskz_mov_epi32((readable >> (16 * k)) as u16, wide::part(row, k)));
    let mut out = Row::ZERO;
    for (k, out) in out.0.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), wide::permuted(parts, wide::part(from, k))) };
    }
    out
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn reading_avx512(from: &Sources, readable: u64) -> u64 {
    use std::arch::x86_64::*;
    let parts = [0, 16, 32, 48].map(|k| _mm512_maskz_set1_epi32((readable >> k) as u16, -1));
    (0..4).fold(0, |mask, k| {
        let on = wide::permuted(parts, wide::part(from, k));
        mask | u64::from(_mm512_test_epi32_mask(on, on)) << (16 * k)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_read_what_their_source_has_if_it_is_readable() {
        let mut seed = 1u64;
        let mut number = || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            seed >> 24
        };
        for round in 0..200 {
            let row = Row(std::array::from_fn(|_| number() as u32));
            // Only the low six bits count.
            let from = Row(std::array::from_fn(|_| number() as u32));
            let readable = match round % 3 {
                0 => !0,
                1 => 0xffff_ffff,
                _ => number() ^ number() << 30,
            };
            let (got, mask) = (read(&row, &from, readable), reading(&from, readable));
            for i in 0..64 {
                let lane = from.0[i] as usize & 63;
                let on = readable >> lane & 1 != 0;
                assert_eq!(got.0[i], if on { row.0[lane] } else { 0 });
                assert_eq!(mask >> i & 1 != 0, on);
            }
        }
    }
}
