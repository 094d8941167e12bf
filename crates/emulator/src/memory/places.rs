//! Bytes of device memory that were checked, as the host has them.
//!
//! Each naturally aligned piece of an access, of two, four, eight or sixteen bytes, is moved at once, whatever other threads do:
//! GPUs promise that, each of its own accesses (docs/device.md says which promises what). Where a place is aligned on the
//! device it is so on the host ([`crate::buffer`]).

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::shorts::{self, Shorts};
use super::wide::{self, Quad};
use crate::level::{Work, at_best};
use crate::registers::Row;

/// Checked aligned places, one a lane.
pub struct Words {
    pub(super) first: HostPtr,
    pub(super) offsets: [u64; 64],
    pub(super) size: u64,
    /// The bits that any of the places' addresses has.
    pub(super) bits: u64,
}

impl Words {
    /// Room for them.
    pub const NONE: Words =
        Words { first: HostPtr { ptr: std::ptr::null(), writable: false }, offsets: [0; 64], size: 0, bits: 0 };

    /// The `N` words of each of the first lanes, inactive ones included.
    #[inline]
    pub fn gather<const N: usize>(&self, out: &mut [Row; N], lanes: usize) {
        assert!(4 * N as u64 <= self.size && lanes <= 64 && lanes.is_multiple_of(4));
        // `resolve_all` has checked `size` bytes from each offset on, and that words are aligned.
        let at = |i: usize| self.first.at(self.offsets[i]);
        match <&mut [Row; 4]>::try_from(&mut out[..]) {
            Ok(out) if self.all_are_quads() => {
                for i in (0..lanes).step_by(4) {
                    let columns = wide::transposed(&std::array::from_fn(|k| at(i + k).load128()));
                    (0..4).for_each(|k| out[k].0[i..i + 4].copy_from_slice(&columns[k]));
                }
            }
            _ => {
                for i in 0..lanes {
                    let words: [u32; N] = at(i).load_some();
                    (0..N).for_each(|k| out[k].0[i] = words[k]);
                }
            }
        }
    }
    /// Stores the `N` words of the lanes of the mask, the highest lane last.
    #[inline]
    pub fn scatter<const N: usize>(&self, values: &[Row; N], mask: u64) {
        assert!(4 * N as u64 <= self.size);
        match <&[Row; 4]>::try_from(&values[..]) {
            Ok(values) if self.all_are_quads() => self.scatter_quads(values, mask),
            _ => {
                for i in crate::masks::lanes(mask) {
                    self.first.at(self.offsets[i]).store_some::<N>(std::array::from_fn(|k| values[k].0[i]));
                }
            }
        }
    }
    /// The byte, or the two, of each of the first lanes, inactive ones included.
    #[inline]
    pub fn gather_short<const BYTES: u64>(&self, out: &mut Row, lanes: usize) {
        assert!(self.size == BYTES && BYTES <= 2 && lanes <= 64 && lanes.is_multiple_of(shorts::NEIGHBOURS));
        at_best(Shorts::<BYTES> { words: self, out, lanes });
    }
    /// Stores the lowest byte, or the two, of the lanes of the mask, the highest lane last.
    #[inline(always)]
    pub fn scatter_short<const BYTES: u64>(&self, values: &Row, mask: u64) {
        assert!(self.size == BYTES && BYTES <= 2);
        for i in crate::masks::lanes(mask) {
            let (at, value) = (self.first.at(self.offsets[i]), values.0[i]);
            if BYTES == 1 { at.a8().store(value as u8, Relaxed) } else { at.a16().store(value as u16, Relaxed) }
        }
    }
    #[inline(always)]
    fn all_are_quads(&self) -> bool {
        self.bits & 15 == 0 && self.first.aligned(16)
    }
    /// Four lanes at a time, whose words become columns.
    #[inline(always)]
    fn scatter_quads(&self, values: &[Row; 4], mask: u64) {
        for i in (0..64).step_by(4).filter(|i| mask >> i & 15 != 0) {
            let rows = values.each_ref().map(|row| std::array::from_fn(|lane| row.0[i + lane]));
            let lanes = wide::transposed(&rows);
            for (k, words) in lanes.into_iter().enumerate().filter(|(k, _)| mask >> (i + k) & 1 != 0) {
                self.first.at(self.offsets[i + k]).store128(words);
            }
        }
    }
}

/// Finds the offsets of the first `N` lanes' addresses.
pub(super) struct Offsets<'a, const N: usize> {
    pub lanes: &'a [u64; 64],
    pub mask: u64,
    /// Of the allocation.
    pub start: u64,
    /// What inactive lanes get.
    pub spare: u64,
    pub out: &'a mut [u64; 64],
}

impl<const N: usize> Work for Offsets<'_, N> {
    /// The bits that any address has, and the largest offset.
    type Result = (u64, u64);
    #[inline(always)]
    fn run(self) -> Self::Result {
        // Buffers are aligned, so that offsets say all, but for those at the process's own addresses.
        let (mut bits, mut most) = (self.start, 0);
        for i in 0..N {
            let on = ((self.mask >> i) & 1).wrapping_neg();
            let offset = (self.lanes[i].wrapping_sub(self.start) & on) | (self.spare & !on);
            bits |= offset;
            most = most.max(offset);
            self.out[i] = offset;
        }
        (bits, most)
    }
}

/// A pointer into device memory that [`super::Memory::resolve`] has checked for some number of bytes. The accessors must
/// stay within that number; they are atomic, so that racing kernels are no data race of ours.
#[derive(Clone, Copy)]
pub struct HostPtr {
    ptr: *const u8,
    /// Whether kernels may write there.
    writable: bool,
}

impl HostPtr {
    #[inline(always)]
    pub(super) fn new(ptr: *const u8, writable: bool) -> HostPtr {
        HostPtr { ptr, writable }
    }
    /// `by` bytes on, still within what was resolved.
    #[inline(always)]
    pub fn at(self, by: u64) -> HostPtr {
        HostPtr { ptr: self.ptr.wrapping_add(by as usize), ..self }
    }
    #[inline(always)]
    pub(super) fn aligned(self, to: usize) -> bool {
        self.ptr as usize & (to - 1) == 0
    }
    #[inline(always)]
    pub(super) fn a8(self) -> &'static AtomicU8 {
        // SAFETY: resolved; the buffer is made of atomics and is alive while a launch or a copy runs. The reference
        // does not leave the accessor that asks for it.
        unsafe { &*self.ptr.cast() }
    }
    #[inline(always)]
    pub(super) fn a16(self) -> &'static AtomicU16 {
        debug_assert!(self.aligned(2));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { &*self.ptr.cast() }
    }
    /// The word at this 4-aligned place.
    #[inline(always)]
    pub fn a32(self) -> &'static AtomicU32 {
        debug_assert!(self.aligned(4));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { &*self.ptr.cast() }
    }
    /// The double word at this 8-aligned place.
    #[inline(always)]
    pub fn a64(self) -> &'static AtomicU64 {
        debug_assert!(self.aligned(8));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { &*self.ptr.cast() }
    }
    #[inline(always)]
    pub fn is_aligned(self, to: usize) -> bool {
        self.aligned(to)
    }
    /// The four words at this 16-aligned place.
    #[inline(always)]
    pub(super) fn load128(self) -> Quad {
        debug_assert!(self.aligned(16));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { wide::load(self.ptr, self.writable) }
    }
    #[inline(always)]
    fn store128(self, words: Quad) {
        debug_assert!(self.aligned(16));
        // SAFETY: as `a8`; callers check the alignment, and have resolved it to be written.
        unsafe { wide::store(self.ptr, words) }
    }
    /// The largest naturally aligned piece that begins here, of at most `bytes` bytes.
    #[inline(always)]
    fn piece(self, bytes: usize) -> usize {
        let aligned = 1 << (self.ptr as usize | 16).trailing_zeros();
        if bytes < 16 { aligned.min(1 << bytes.max(1).ilog2()) } else { aligned }
    }
    /// Copies from here on, each naturally aligned piece of up to sixteen bytes at once.
    pub fn read(self, mut out: &mut [u8]) {
        let mut at = self;
        while !out.is_empty() {
            let (piece, rest) = out.split_at_mut(at.piece(out.len()));
            match piece.len() {
                16 => {
                    let words = at.load128().map(u32::to_le_bytes);
                    piece.copy_from_slice(words.as_flattened());
                }
                8 => piece.copy_from_slice(&at.a64().load(Relaxed).to_le_bytes()),
                4 => piece.copy_from_slice(&at.a32().load(Relaxed).to_le_bytes()),
                2 => piece.copy_from_slice(&at.a16().load(Relaxed).to_le_bytes()),
                _ => piece[0] = at.load8(),
            }
            at = at.at(piece.len() as u64);
            out = rest;
        }
    }
    /// Copies to here, likewise.
    pub fn write(self, mut bytes: &[u8]) {
        let mut at = self;
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(at.piece(bytes.len()));
            let word = |k: usize| piece[4 * k..][..4].iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte));
            match piece.len() {
                16 => at.store128(std::array::from_fn(word)),
                8 => at.a64().store(u64::from(word(0)) | u64::from(word(1)) << 32, Relaxed),
                4 => at.a32().store(word(0), Relaxed),
                2 => at.a16().store(u16::from(piece[0]) | u16::from(piece[1]) << 8, Relaxed),
                _ => at.store8(piece[0]),
            }
            at = at.at(piece.len() as u64);
            bytes = rest;
        }
    }
    /// Words from here on, each naturally aligned piece of up to sixteen bytes at once.
    #[inline(always)]
    pub fn load_words(self, out: &mut [u32]) {
        let (quads, rest) = out.as_chunks_mut::<4>();
        if !rest.is_empty() || !self.aligned(16) {
            return self.load_pieces(out);
        }
        for (k, quad) in quads.iter_mut().enumerate() {
            *quad = self.at(16 * k as u64).load128();
        }
    }
    /// Stores words from here on, likewise.
    #[inline(always)]
    pub fn store_words(self, words: &[u32]) {
        let (quads, rest) = words.as_chunks::<4>();
        if !rest.is_empty() || !self.aligned(16) {
            return self.store_pieces(words);
        }
        for (k, quad) in quads.iter().enumerate() {
            self.at(16 * k as u64).store128(*quad);
        }
    }
    /// Sixteen words, four at a time; none where that is not possible.
    #[inline(always)]
    pub fn load_quads(self) -> Option<[Quad; 4]> {
        self.aligned(16).then(|| std::array::from_fn(|k| self.at(16 * k as u64).load128()))
    }
    /// A few words, as [`HostPtr::load_words`].
    #[inline(always)]
    pub fn load_some<const N: usize>(self) -> [u32; N] {
        let mut out = [0; N];
        match &mut out[..] {
            [one] => *one = self.load32(),
            [low, high] if self.aligned(8) => {
                let both = self.a64().load(Relaxed);
                (*low, *high) = (both as u32, (both >> 32) as u32);
            }
            words => self.load_words(words),
        }
        out
    }
    /// Stores a few words, as [`HostPtr::store_words`].
    #[inline(always)]
    pub fn store_some<const N: usize>(self, words: [u32; N]) {
        match words[..] {
            [one] => self.store32(one),
            [low, high] if self.aligned(8) => self.a64().store(u64::from(low) | u64::from(high) << 32, Relaxed),
            _ => self.store_words(&words),
        }
    }
    #[inline(never)]
    fn load_pieces(self, mut out: &mut [u32]) {
        let mut at = self;
        while !out.is_empty() {
            let (piece, rest) = out.split_at_mut((at.piece(4 * out.len()) / 4).max(1));
            let bytes = 4 * piece.len() as u64;
            match piece {
                [one] => *one = at.load32(),
                [low, high] => {
                    let both = at.a64().load(Relaxed);
                    (*low, *high) = (both as u32, (both >> 32) as u32);
                }
                four => four.copy_from_slice(&at.load128()),
            }
            at = at.at(bytes);
            out = rest;
        }
    }
    #[inline(never)]
    fn store_pieces(self, mut words: &[u32]) {
        let mut at = self;
        while !words.is_empty() {
            let (piece, rest) = words.split_at((at.piece(4 * words.len()) / 4).max(1));
            match *piece {
                [one] => at.store32(one),
                [low, high] => at.a64().store(u64::from(low) | u64::from(high) << 32, Relaxed),
                _ => at.store128(std::array::from_fn(|k| piece[k])),
            }
            at = at.at(4 * piece.len() as u64);
            words = rest;
        }
    }
    #[inline(always)]
    pub fn load8(self) -> u8 {
        self.a8().load(Relaxed)
    }
    #[inline(always)]
    pub fn store8(self, v: u8) {
        self.a8().store(v, Relaxed)
    }
    #[inline(always)]
    pub fn load16(self) -> u16 {
        if self.aligned(2) { self.a16().load(Relaxed) } else { u16::from_le_bytes([self.load8(), self.at(1).load8()]) }
    }
    #[inline(always)]
    pub fn store16(self, v: u16) {
        if self.aligned(2) {
            self.a16().store(v, Relaxed)
        } else {
            v.to_le_bytes().iter().enumerate().for_each(|(i, &b)| self.at(i as u64).store8(b));
        }
    }
    #[inline(always)]
    pub fn load32(self) -> u32 {
        if self.aligned(4) {
            self.a32().load(Relaxed)
        } else {
            let mut bytes = [0; 4];
            self.read(&mut bytes);
            u32::from_le_bytes(bytes)
        }
    }
    #[inline(always)]
    pub fn store32(self, v: u32) {
        if self.aligned(4) {
            self.a32().store(v, Relaxed)
        } else {
            self.write(&v.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicBool;

    use super::super::{Memory, Recent};
    use super::*;

    /// What is stored in one go at once, everywhere from here on.
    fn pattern(round: u32) -> [u32; 20] {
        [round % 251 * 0x0101_0101; 20]
    }

    /// Whether each naturally aligned piece of some bytes has equal words.
    fn is_whole(at: u64, bytes: &[u8]) -> bool {
        [2, 4, 8, 16].into_iter().all(|size| {
            let first = at.next_multiple_of(size) - at;
            let pieces = bytes.get(first as usize..).unwrap_or_default().chunks_exact(size as usize);
            pieces.into_iter().all(|piece| piece.iter().all(|byte| *byte == piece[0]))
        })
    }

    /// One thread moves bytes out while others move bytes in.
    fn check(offset: u64, bytes: u64, load: fn(HostPtr, &mut [u8]), store: fn(HostPtr, &[u8])) {
        let mut memory = Memory::new();
        let start = memory.allocate(256, true).unwrap() + 64 + offset;
        let (over, begun) = (AtomicBool::new(false), Barrier::new(3));
        let place = || memory.resolve(&mut Recent::NONE.clone(), start, bytes, true).unwrap();
        std::thread::scope(|scope| {
            for first in 0..2 {
                let (over, begun, place) = (&over, &begun, &place);
                scope.spawn(move || {
                    begun.wait();
                    for words in (first..).step_by(2).take_while(|_| !over.load(Relaxed)).map(pattern) {
                        store(place(), &words.map(u32::to_le_bytes).as_flattened()[..bytes as usize]);
                    }
                });
            }
            begun.wait();
            let mut out = vec![0; bytes as usize];
            let is_whole = (0..30_000).all(|_| {
                load(place(), &mut out);
                is_whole(start, &out)
            });
            over.store(true, Relaxed);
            assert!(is_whole, "{bytes} bytes {offset} behind a multiple of 64: {out:x?}");
        });
    }

    fn words_of(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn naturally_aligned_pieces_are_moved_whole() {
        let load_words = |at: HostPtr, out: &mut [u8]| {
            let mut words = words_of(out);
            at.load_words(&mut words);
            out.copy_from_slice(words.iter().map(|word| word.to_le_bytes()).collect::<Vec<_>>().as_flattened());
        };
        let store_words = |at: HostPtr, bytes: &[u8]| at.store_words(&words_of(bytes));
        for offset in [0, 4, 8, 12] {
            for words in [1, 2, 3, 4, 8, 19] {
                check(offset, 4 * words, load_words, store_words);
            }
        }
        for (offset, bytes) in [(0, 8), (0, 16), (1, 40), (6, 12), (8, 8), (12, 20), (2, 2), (2, 6)] {
            check(offset, bytes, |at, out| at.read(out), |at, bytes| at.write(bytes));
        }
    }

    #[test]
    fn words_are_the_bytes_that_lie_there() {
        let mut memory = Memory::new();
        let start = memory.allocate(256, true).unwrap();
        let bytes: Vec<u8> = (0..=255).collect();
        memory.write(start, &bytes).unwrap();
        let mut recent = Recent::NONE;
        for (offset, words) in (0..20).flat_map(|offset| (1..=20).map(move |words| (offset, words))) {
            let at = memory.resolve(&mut recent, start + offset, 4 * words as u64, true).unwrap();
            let mut out = vec![0; words];
            at.load_words(&mut out);
            assert_eq!(out, words_of(&bytes[offset as usize..][..4 * words]));
            at.store_words(&vec![!0; words]);
            let mut all = vec![0; 256];
            memory.read(start, &mut all).unwrap();
            let range = offset as usize..offset as usize + 4 * words;
            assert!(all.iter().enumerate().all(|(k, &byte)| byte == if range.contains(&k) { !0 } else { k as u8 }));
            memory.write(start, &bytes).unwrap();
        }
    }
}
