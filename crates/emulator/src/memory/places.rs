//! Bytes of device memory that were checked, as the host has them.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Checked aligned places, one a lane.
pub struct Words {
    pub(super) ptr: *const u8,
    pub(super) offsets: [u64; 64],
    pub(super) size: u64,
}

impl Words {
    /// Word `k` of each lane, inactive ones included.
    #[inline]
    pub fn gather(&self, k: u64, out: &mut [u32; 64]) {
        assert!(4 * k + 4 <= self.size);
        for i in 0..64 {
            // SAFETY: `resolve_all` has checked `size` bytes from each offset on, and the alignment.
            out[i] = unsafe { &*self.ptr.add((self.offsets[i] + 4 * k) as usize).cast::<AtomicU32>() }.load(Relaxed);
        }
    }
    /// Stores word `k` of the lanes of the mask, the highest lane last.
    #[inline]
    pub fn scatter(&self, k: u64, value: &[u32; 64], mask: u64) {
        assert!(4 * k + 4 <= self.size);
        for i in crate::mem::lanes(mask) {
            // SAFETY: as in `gather`.
            unsafe { &*self.ptr.add((self.offsets[i] + 4 * k) as usize).cast::<AtomicU32>() }.store(value[i], Relaxed);
        }
    }
}

/// A pointer into device memory that [`super::Memory::resolve`] has checked for some number of bytes. The accessors must
/// stay within that number; they are atomic, so that racing kernels are no data race of ours.
#[derive(Clone, Copy)]
pub struct HostPtr(pub(super) *const u8);

impl HostPtr {
    /// `by` bytes on, still within what was resolved.
    #[inline(always)]
    pub fn at(self, by: u64) -> HostPtr {
        HostPtr(self.0.wrapping_add(by as usize))
    }
    #[inline(always)]
    fn aligned(self, to: usize) -> bool {
        self.0 as usize & (to - 1) == 0
    }
    #[inline(always)]
    fn a8(self) -> &'static AtomicU8 {
        // SAFETY: resolved; the buffer is made of atomics and is alive while a launch or a copy runs. The reference
        // does not leave the accessor that asks for it.
        unsafe { &*self.0.cast() }
    }
    #[inline(always)]
    fn a16(self) -> &'static AtomicU16 {
        debug_assert!(self.aligned(2));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { &*self.0.cast() }
    }
    /// The word at this 4-aligned place.
    #[inline(always)]
    pub fn a32(self) -> &'static AtomicU32 {
        debug_assert!(self.aligned(4));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { &*self.0.cast() }
    }
    /// The double word at this 8-aligned place.
    #[inline(always)]
    pub fn a64(self) -> &'static AtomicU64 {
        debug_assert!(self.aligned(8));
        // SAFETY: as `a8`; callers check the alignment.
        unsafe { &*self.0.cast() }
    }
    #[inline(always)]
    pub fn is_aligned(self, to: usize) -> bool {
        self.aligned(to)
    }
    /// Copies from here on, eight bytes at a time where that is possible.
    pub(super) fn read(self, out: &mut [u8]) {
        let whole = if self.aligned(8) { out.len() / 8 * 8 } else { 0 };
        let (words, rest) = out.split_at_mut(whole);
        for (i, word) in words.chunks_exact_mut(8).enumerate() {
            word.copy_from_slice(&self.at(8 * i as u64).a64().load(Relaxed).to_le_bytes());
        }
        for (i, byte) in rest.iter_mut().enumerate() {
            *byte = self.at((whole + i) as u64).load8();
        }
    }
    pub(super) fn write(self, bytes: &[u8]) {
        let whole = if self.aligned(8) { bytes.len() / 8 * 8 } else { 0 };
        let (words, rest) = bytes.split_at(whole);
        for (i, word) in words.chunks_exact(8).enumerate() {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
            self.at(8 * i as u64).a64().store(word, Relaxed);
        }
        for (i, &byte) in rest.iter().enumerate() {
            self.at((whole + i) as u64).store8(byte);
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
            u32::from_le_bytes(std::array::from_fn(|i| self.at(i as u64).load8()))
        }
    }
    #[inline(always)]
    pub fn store32(self, v: u32) {
        if self.aligned(4) {
            self.a32().store(v, Relaxed)
        } else {
            v.to_le_bytes().iter().enumerate().for_each(|(i, &b)| self.at(i as u64).store8(b));
        }
    }
}
