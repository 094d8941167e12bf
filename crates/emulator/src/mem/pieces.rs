//! Where a wave's lanes access memory, sixteen lanes at a time: kernels mostly read neighbouring words, or one word
//! together. What is regular needs no gathers, and its bounds are checked once for all of its lanes.

use crate::level::{Level, level};

/// Lanes of a piece.
pub const LANES: usize = 16;
/// A wave's pieces.
pub const COUNT: usize = 4;

/// The places of sixteen lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// No lane is active.
    Off,
    /// All are at this one.
    Same(u32),
    /// Four bytes from lane to lane, this being the first lane's; none lies beyond 2^32.
    Run(u32),
}

/// The pieces of a wave; each has only active lanes or only inactive ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// The first lane's place of each.
    first: [u32; COUNT],
    /// One bit for each piece whose lanes are at one place, or at neighbouring ones.
    same: u8,
    run: u8,
}

impl Pieces {
    /// Of a wave's offsets; `None` if they are not regular.
    #[inline(always)]
    pub fn of(offsets: &[u32; 64], mask: u64) -> Option<Pieces> {
        let first: [u32; COUNT] = std::array::from_fn(|k| offsets[LANES * k]);
        let (same, mut run) = survey(offsets);
        let (mut on, mut mixed) = (0, false);
        for k in 0..COUNT {
            let active = (mask >> (LANES * k)) as u16;
            on |= u8::from(active != 0) << k;
            mixed |= active.wrapping_add(1) > 1;
            run &= !(u8::from(first[k] > u32::MAX - 4 * LANES as u32) << k);
        }
        (!mixed && (same | run) & on == on).then_some(Pieces { first, same: same & on, run: run & on })
    }

    #[inline(always)]
    pub fn get(&self, k: usize) -> Piece {
        match (self.same >> k & 1, self.run >> k & 1) {
            (1, _) => Piece::Same(self.first[k]),
            (_, 1) => Piece::Run(self.first[k]),
            _ => Piece::Off,
        }
    }

    /// The first word that a piece reaches, and how many, when each lane accesses `words` of them `offset` bytes further
    /// on; `None` if no lane does.
    #[inline(always)]
    pub fn reach(&self, k: usize, offset: u32, words: u8) -> Option<(usize, usize)> {
        let more = if self.run >> k & 1 != 0 { LANES - 1 } else { 0 };
        let first = (u64::from(self.first[k]) + u64::from(offset)) as usize / 4;
        ((self.same | self.run) >> k & 1 != 0).then_some((first, usize::from(words) + more))
    }

    /// The reaches of all pieces, but for some that other pieces have as well.
    #[inline(always)]
    pub fn reaches(&self, offset: u32, words: u8) -> impl Iterator<Item = (usize, usize)> {
        let repeats = |k: usize, earlier: usize| {
            let bit = |bits: u8| bits >> k & 1 == bits >> earlier & 1;
            self.first[k] == self.first[earlier] && bit(self.same) && bit(self.run)
        };
        (0..COUNT)
            .filter(move |&k| k == 0 || !repeats(k, 0) && !repeats(k, k - 1))
            .filter_map(move |k| self.reach(k, offset, words))
    }

    /// Whether all words are aligned and among the first `len`.
    #[inline(always)]
    pub fn fit(&self, offset: u32, words: u8, len: usize) -> bool {
        let (mut bits, mut outside) = (0, false);
        for k in 0..COUNT {
            let Some((first, count)) = self.reach(k, offset, words) else { continue };
            bits |= self.first[k].wrapping_add(offset);
            outside |= first + count > len;
        }
        bits & 3 == 0 && !outside
    }

    /// Whether some lanes are at neighbouring places.
    #[inline(always)]
    pub fn has_runs(&self) -> bool {
        self.run != 0
    }
}

/// Pieces whose lanes are at one place, and those at neighbouring ones, inactive lanes included.
#[inline(always)]
fn survey(offsets: &[u32; 64]) -> (u8, u8) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` says that the processor has the features.
        return unsafe { survey_avx512(offsets) };
    }
    let (mut same, mut run) = (0, 0);
    for (k, lanes) in offsets.as_chunks::<LANES>().0.iter().enumerate() {
        same |= u8::from(is_same(lanes)) << k;
        let step = |i: usize| lanes[i] ^ lanes[0].wrapping_add(4 * i as u32);
        run |= u8::from((0..LANES).fold(0, |odd, i| odd | step(i)) == 0) << k;
    }
    (same, run)
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn survey_avx512(offsets: &[u32; 64]) -> (u8, u8) {
    use std::arch::x86_64::*;
    let step = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60);
    let (mut same, mut run) = (0, 0);
    for k in 0..COUNT {
        // SAFETY: the `k`th 64 bytes of 256.
        let lanes = unsafe { _mm512_loadu_si512(offsets.as_ptr().add(LANES * k).cast()) };
        let first = _mm512_broadcastd_epi32(_mm512_castsi512_si128(lanes));
        same |= u8::from(_mm512_cmpneq_epi32_mask(lanes, first) == 0) << k;
        run |= u8::from(_mm512_cmpneq_epi32_mask(lanes, _mm512_add_epi32(first, step)) == 0) << k;
    }
    (same, run)
}

/// Whether sixteen lanes hold the same.
#[inline(always)]
fn is_same(lanes: &[u32; LANES]) -> bool {
    lanes.iter().fold(0, |odd, lane| odd | lane ^ lanes[0]) == 0
}

/// One bit for each piece of a row whose lanes hold the same, inactive ones included.
#[inline(always)]
pub fn same_pieces(row: &[u32; 64]) -> u8 {
    survey(row).0
}

/// Lanes of a row that belong to piece `k`.
#[inline(always)]
pub fn part(row: &[u32; 64], k: usize) -> &[u32; LANES] {
    &row.as_chunks::<LANES>().0[k]
}

#[inline(always)]
pub fn part_mut(row: &mut [u32; 64], k: usize) -> &mut [u32; LANES] {
    &mut row.as_chunks_mut::<LANES>().0[k]
}

/// Writes the words of sixteen lanes, in the widest pieces that the host has ([`crate::masks`] says why).
#[inline(always)]
pub fn put(to: &mut [u32; LANES], quads: [[u32; 4]; 4]) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        // SAFETY: `level` says that the processor has the features.
        return unsafe { put_avx512(to, quads) };
    }
    to.copy_from_slice(quads.as_flattened());
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn put_avx512(to: &mut [u32; LANES], quads: [[u32; 4]; 4]) {
    use std::arch::x86_64::*;
    // SAFETY: sixteen bytes each.
    let [a, b, c, d]: [__m128i; 4] = unsafe { std::mem::transmute(quads) };
    let all = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
    let all = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(all, c), d);
    // SAFETY: 64 bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), all) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_regular_or_none() {
        let row = |f: fn(u32) -> u32| std::array::from_fn(|i| f(i as u32));
        use Piece::{Off, Run, Same};
        let pieces = |offsets: &[u32; 64], mask| {
            Pieces::of(offsets, mask).map(|pieces| std::array::from_fn::<_, COUNT, _>(|k| pieces.get(k)))
        };
        assert_eq!(pieces(&row(|i| 8 + 4 * i), !0), Some([Run(8), Run(72), Run(136), Run(200)]));
        assert_eq!(pieces(&row(|i| 64 * (i / 16)), !0), Some([Same(0), Same(64), Same(128), Same(192)]));
        assert_eq!(pieces(&row(|i| 4 * (i % 16)), 0xffff_0000_ffff), Some([Run(0), Off, Run(0), Off]));
        assert_eq!(pieces(&row(|i| 4 * i), 0xff), None);
        assert_eq!(pieces(&row(|i| 8 * i), !0), None);
        assert_eq!(pieces(&row(|i| 4 * i + u32::from(i == 63)), !0), None);
        assert_eq!(pieces(&row(|i| 0xffff_ffd0u32.wrapping_add(4 * (i % 16))), !0), None);
    }
}
