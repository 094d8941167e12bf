//! A workgroup's local data share. One worker runs all waves of a workgroup, one instruction after the other, so plain cells
//! do: no access is ever seen in parts, however wide.

use std::cell::Cell;

use crate::level::{Level, level};
use crate::registers::Row;

/// Offsets that [`Lds::aligned`] has checked.
pub struct Aligned {
    at: [u32; 64],
    words: usize,
}

/// Offsets of bytes, or of halves of words, that [`Lds::short`] has checked.
pub struct Short {
    at: [u32; 64],
    bytes: usize,
}

/// The LDS of one workgroup.
pub struct Lds {
    words: Box<[Cell<u32>]>,
}

impl Lds {
    /// `len` bytes of zero, in whole words.
    pub fn new(len: usize) -> Lds {
        Lds { words: vec![Cell::new(0); len.div_ceil(4)].into_boxed_slice() }
    }
    /// Zeros in all of it.
    pub fn clear(&self) {
        self.words.iter().for_each(|word| word.set(0));
    }
    /// In bytes.
    pub fn len(&self) -> usize {
        4 * self.words.len()
    }
    /// Where it is, and its bytes, for native code of the worker that runs the workgroup.
    pub fn place(&self) -> (*const u8, u32) {
        (self.words.as_ptr().cast(), self.len() as u32)
    }
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
    /// A copy of all of it.
    pub fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.get().to_le_bytes()).collect()
    }
    #[inline(always)]
    fn byte(&self, address: u32) -> Option<u8> {
        Some((self.words.get(address as usize / 4)?.get() >> (address % 4 * 8)) as u8)
    }
    fn set_byte(&self, address: u32, value: u8) {
        if let Some(word) = self.words.get(address as usize / 4) {
            let shift = address % 4 * 8;
            word.set(word.get() & !(0xff << shift) | u32::from(value) << shift);
        }
    }
    /// `N` bytes at `address`; `None` if any is outside.
    #[inline(always)]
    pub fn load<const N: usize>(&self, address: u32) -> Option<[u8; N]> {
        let mut out = [0; N];
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.byte(address.checked_add(i as u32)?)?;
        }
        Some(out)
    }
    /// Stores `N` bytes; `None` if any is outside (then nothing is stored).
    #[inline(always)]
    pub fn store<const N: usize>(&self, address: u32, value: [u8; N]) -> Option<()> {
        if address as usize + N > self.len() {
            return None;
        }
        if N == 2 && address.is_multiple_of(2) {
            let (word, shift) = (&self.words[address as usize / 4], address % 4 * 8);
            let value = u32::from(value[0]) | u32::from(value[1]) << 8;
            word.set(word.get() & !(0xffff << shift) | value << shift);
            return Some(());
        }
        value.iter().enumerate().for_each(|(i, &v)| self.set_byte(address + i as u32, v));
        Some(())
    }
    /// Copies bytes to `address`; all are inside.
    pub fn store_bytes(&self, address: u32, bytes: &[u8]) {
        if !address.is_multiple_of(4) {
            return bytes.iter().zip(address..).for_each(|(&byte, at)| self.set_byte(at, byte));
        }
        let (words, rest) = bytes.as_chunks::<4>();
        for (word, at) in words.iter().zip((address..).step_by(4)) {
            self.store32(at, u32::from_le_bytes(*word));
        }
        rest.iter().zip(address + 4 * words.len() as u32..).for_each(|(&byte, at)| self.set_byte(at, byte));
    }
    /// Copies bytes from `address`; all are inside.
    pub fn load_bytes(&self, address: u32, bytes: &mut [u8]) {
        let words = if address.is_multiple_of(4) { bytes.len() / 4 } else { 0 };
        let (whole, rest) = bytes.split_at_mut(4 * words);
        for (word, at) in whole.as_chunks_mut::<4>().0.iter_mut().zip((address..).step_by(4)) {
            *word = self.load32(at).unwrap_or(0).to_le_bytes();
        }
        rest.iter_mut().zip(address + 4 * words as u32..).for_each(|(byte, at)| *byte = self.byte(at).unwrap_or(0));
    }
    /// `count` words from the `first` on; `None` if any is outside.
    #[inline(always)]
    pub fn words_from(&self, (first, count): (usize, usize)) -> Option<&[Cell<u32>]> {
        self.words.get(first..first + count)
    }
    /// The offsets with those of inactive lanes zero, if every active lane's `words` words are aligned and inside.
    pub fn aligned(&self, offsets: &[u32; 64], mask: u64, words: usize) -> Option<Aligned> {
        let mut lanes = Aligned { at: [0; 64], words };
        let (bits, most) = survey(offsets, mask, &mut lanes.at);
        (bits & 3 == 0 && most as usize / 4 + words <= self.words.len()).then_some(lanes)
    }
    /// The same of each active lane's byte, or two.
    pub fn short(&self, offsets: &[u32; 64], mask: u64, bytes: usize) -> Option<Short> {
        let mut lanes = Short { at: [0; 64], bytes };
        let (bits, most) = survey(offsets, mask, &mut lanes.at);
        let fits = bytes <= 2 && bits as usize & (bytes - 1) == 0 && (most as usize) < self.len();
        fits.then_some(lanes)
    }
    fn bytes_at(&self, at: u32) -> *mut u8 {
        self.words.as_ptr().cast::<u8>().wrapping_add(at as usize).cast_mut()
    }
    /// The byte, or the two, of each of the first lanes; inactive ones have what LDS begins with.
    #[inline(always)]
    pub fn gather_short<const BYTES: usize>(&self, lanes: &Short, out: &mut Row, count: usize) {
        assert!(lanes.bytes == BYTES && count <= 64);
        for i in 0..count {
            let at = self.bytes_at(lanes.at[i]);
            // SAFETY: `short` has checked that these bytes are inside, and aligned; they are in cells, and one thread has them.
            out.0[i] =
                unsafe { if BYTES == 1 { at.read().into() } else { u16::from_le(at.cast::<u16>().read()).into() } };
        }
    }
    /// Stores the lowest byte, or the two, of the lanes of the mask, the highest lane last.
    #[inline(always)]
    pub fn scatter_short<const BYTES: usize>(&self, lanes: &Short, values: &Row, mask: u64) {
        assert!(lanes.bytes == BYTES);
        for i in crate::masks::lanes(mask) {
            let (at, value) = (self.bytes_at(lanes.at[i]), values.0[i]);
            // SAFETY: as in `gather_short`.
            unsafe { if BYTES == 1 { at.write(value as u8) } else { at.cast::<u16>().write((value as u16).to_le()) } }
        }
    }
    /// Word `k` of each lane's, into the lanes of the mask.
    pub fn gather(&self, lanes: &Aligned, k: usize, out: &mut Row, mask: u64) {
        assert!(k < lanes.words);
        #[cfg(target_arch = "x86_64")]
        match level() {
            // SAFETY: `level` says that the processor has the features, and `aligned` has checked that `words` words
            // from each offset on are inside.
            Level::Avx512 => return unsafe { gather_avx512(self.words[k..].as_ptr(), &lanes.at, out, mask) },
            // SAFETY: as above.
            Level::Avx2 if mask == !0 => return unsafe { gather_avx2(self.words[k..].as_ptr(), &lanes.at, out) },
            _ => {}
        }
        for i in crate::masks::lanes(mask) {
            // SAFETY: `aligned` has checked that `words` words from each offset on are inside.
            out.0[i] = unsafe { self.words.get_unchecked(lanes.at[i] as usize / 4 + k) }.get();
        }
    }
    /// Stores word `k` of each lane of the mask, the highest lane last.
    pub fn scatter(&self, lanes: &Aligned, k: usize, value: &Row, mask: u64) {
        for i in crate::masks::lanes(mask) {
            if let Some(word) = self.words.get(lanes.at[i] as usize / 4 + k) {
                word.set(value.0[i]);
            }
        }
    }
    #[inline(always)]
    pub fn load32(&self, address: u32) -> Option<u32> {
        if address.is_multiple_of(4) {
            return self.words.get(address as usize / 4).map(Cell::get);
        }
        self.load(address).map(u32::from_le_bytes)
    }
    #[inline(always)]
    pub fn store32(&self, address: u32, value: u32) -> Option<()> {
        if address.is_multiple_of(4) {
            self.words.get(address as usize / 4)?.set(value);
            return Some(());
        }
        self.store(address, value.to_le_bytes())
    }
}

/// Copies the offsets of active lanes, and gives all their bits and the largest.
#[inline(always)]
fn survey_lanes(offsets: &[u32; 64], mask: u64, at: &mut [u32; 64]) -> (u32, u32) {
    let (mut bits, mut most) = (0, 0);
    for i in 0..64 {
        at[i] = offsets[i] & ((mask >> i) as u32 & 1).wrapping_neg();
        bits |= at[i];
        most = most.max(at[i]);
    }
    (bits, most)
}

fn survey(offsets: &[u32; 64], mask: u64, at: &mut [u32; 64]) -> (u32, u32) {
    #[cfg(target_arch = "x86_64")]
    match level() {
        // SAFETY: `level` says that the processor has the features.
        Level::Avx512 => return unsafe { survey_avx512(offsets, mask, at) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { survey_avx2(offsets, mask, at) },
        Level::Base => {}
    }
    survey_lanes(offsets, mask, at)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn survey_avx512(offsets: &[u32; 64], mask: u64, at: &mut [u32; 64]) -> (u32, u32) {
    survey_lanes(offsets, mask, at)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn survey_avx2(offsets: &[u32; 64], mask: u64, at: &mut [u32; 64]) -> (u32, u32) {
    survey_lanes(offsets, mask, at)
}

/// # Safety
/// The words at the byte offsets `at` from `base` are there.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn gather_avx512(base: *const Cell<u32>, at: &[u32; 64], out: &mut Row, mask: u64) {
    use std::arch::x86_64::*;
    for i in 0..4 {
        // SAFETY: the `i`th 64 bytes of rows of 256 bytes; the words are there.
        unsafe {
            let p = out.0.as_mut_ptr().add(16 * i).cast();
            let offsets = _mm512_loadu_si512(at.as_ptr().add(16 * i).cast());
            let old = _mm512_loadu_si512(p);
            let got = _mm512_mask_i32gather_epi32::<1>(old, (mask >> (16 * i)) as u16, offsets, base.cast());
            _mm512_storeu_si512(p, got);
        }
    }
}

/// # Safety
/// As [`gather_avx512`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn gather_avx2(base: *const Cell<u32>, at: &[u32; 64], out: &mut Row) {
    use std::arch::x86_64::*;
    for i in 0..8 {
        // SAFETY: the `i`th 32 bytes of rows of 256 bytes; the words are there.
        unsafe {
            let offsets = _mm256_loadu_si256(at.as_ptr().add(8 * i).cast());
            let got = _mm256_i32gather_epi32::<1>(base.cast(), offsets);
            _mm256_storeu_si256(out.0.as_mut_ptr().add(8 * i).cast(), got);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_bytes_and_bounds() {
        let lds = Lds::new(8);
        lds.store32(0, 0x0403_0201).unwrap();
        lds.store(4, [5u8, 6]).unwrap();
        assert_eq!(lds.load32(2), Some(0x0605_0403));
        assert_eq!(lds.load::<1>(7), Some([0]));
        assert_eq!(lds.load32(5), None);
        assert_eq!(lds.store32(6, 1), None);
        assert_eq!(lds.load32(u32::MAX), None);
    }

    #[test]
    fn bytes_and_halves_of_all_lanes() {
        let fresh = || {
            let lds = Lds::new(4 * 50);
            (0..50).for_each(|i| lds.store32(4 * i, 0x0101_0101 * i + 0x4030_2010).unwrap());
            lds
        };
        let lds = fresh();
        let bytes: [u32; 64] = std::array::from_fn(|lane| lane as u32 * 37 % 200);
        let halves = bytes.map(|at| at & !1);
        let values = Row(std::array::from_fn(|lane| 0xabcd_0000 + 0x1111 * lane as u32));
        for mask in [!0, 1 << 63, 0x5555_0000_ffff_1234] {
            let (one, two) = (lds.short(&bytes, mask, 1).unwrap(), lds.short(&halves, mask, 2).unwrap());
            let mut out = [Row::ZERO; 2];
            lds.gather_short::<1>(&one, &mut out[0], 64);
            lds.gather_short::<2>(&two, &mut out[1], 64);
            let (got, want) = ([fresh(), fresh()], [fresh(), fresh()]);
            got[0].scatter_short::<1>(&one, &values, mask);
            got[1].scatter_short::<2>(&two, &values, mask);
            for lane in crate::masks::lanes(mask) {
                assert_eq!(Some([out[0].0[lane] as u8]), lds.load(bytes[lane]));
                assert_eq!(Some((out[1].0[lane] as u16).to_le_bytes()), lds.load(halves[lane]));
                want[0].store(bytes[lane], [values.0[lane] as u8]).unwrap();
                want[1].store(halves[lane], (values.0[lane] as u16).to_le_bytes()).unwrap();
            }
            assert_eq!(got.each_ref().map(Lds::bytes), want.each_ref().map(Lds::bytes));
        }
        let at = |lane: usize, offset: u32| {
            let mut all = halves;
            all[lane] = offset;
            all
        };
        assert!(lds.short(&at(9, 31), !0, 2).is_none() && lds.short(&at(9, 31), !(1 << 9), 2).is_some());
        for (lane, beyond) in [(0, 200), (63, 201), (5, u32::MAX)] {
            assert!(lds.short(&at(lane, beyond), !0, 1).is_none());
            assert!(lds.short(&at(lane, beyond), !(1 << lane), 1).is_some());
        }
        assert!(Lds::new(0).short(&halves, 0, 1).is_none());
    }

    #[test]
    fn words_of_all_lanes() {
        let lds = Lds::new(4 * 100);
        (0..100).for_each(|i| lds.store32(4 * i, i * i).unwrap());
        let mut offsets: [u32; 64] = std::array::from_fn(|lane| (lane as u32 * 37 % 97) * 4);
        for mask in [!0, 1 << 63, 0x5555_0000_ffff_1234, 0] {
            let at = lds.aligned(&offsets, mask, 3).unwrap();
            for k in 0..3 {
                let mut out = Row([7; 64]);
                lds.gather(&at, k, &mut out, mask);
                for lane in 0..64 {
                    let word = offsets[lane] / 4 + k as u32;
                    let wanted = if mask >> lane & 1 != 0 { word * word } else { 7 };
                    assert_eq!(out.0[lane], wanted, "lane {lane} of {mask:#x}");
                }
            }
        }
        let room = 100 - offsets.iter().max().unwrap() / 4;
        assert!(lds.aligned(&offsets, !0, room as usize).is_some());
        assert!(lds.aligned(&offsets, !0, room as usize + 1).is_none());
        offsets[3] = 2;
        assert!(lds.aligned(&offsets, !0, 1).is_none() && lds.aligned(&offsets, !8, 1).is_some());
        offsets[3] = u32::MAX - 3;
        assert!(lds.aligned(&offsets, !0, 1).is_none() && lds.aligned(&offsets, !8, 1).is_some());
    }
}
