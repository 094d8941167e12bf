//! A workgroup's local data share. One worker runs all waves of a workgroup, so plain cells do.

use std::cell::Cell;

use crate::masks::unpack;
use crate::wave::Row;

/// Offsets that [`Lds::aligned`] has checked.
pub struct Aligned {
    at: [u32; 64],
    words: usize,
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
    /// In bytes.
    pub fn len(&self) -> usize {
        4 * self.words.len()
    }
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
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
        value.iter().enumerate().for_each(|(i, &v)| self.set_byte(address + i as u32, v));
        Some(())
    }
    /// The offsets with those of inactive lanes zero, if every active lane's `words` words are aligned and inside.
    pub fn aligned(&self, offsets: &[u32; 64], mask: u64, words: usize) -> Option<Aligned> {
        let on = unpack(mask).0;
        let mut at = [0; 64];
        let (mut bits, mut most) = (0, 0);
        for i in 0..64 {
            at[i] = offsets[i] & on[i];
            bits |= at[i];
            most = most.max(at[i]);
        }
        (bits & 3 == 0 && most as usize / 4 + words <= self.words.len()).then_some(Aligned { at, words })
    }
    /// Word `k` of each lane's; inactive lanes get what is at the beginning.
    pub fn gather(&self, lanes: &Aligned, k: usize) -> Row {
        let mut out = Row::ZERO;
        assert!(k < lanes.words);
        for i in 0..64 {
            // SAFETY: `aligned` has checked that `words` words from each offset on are inside.
            out.0[i] = unsafe { self.words.get_unchecked(lanes.at[i] as usize / 4 + k) }.get();
        }
        out
    }
    /// Stores word `k` of each lane of the mask, the highest lane last.
    pub fn scatter(&self, lanes: &Aligned, k: usize, value: &Row, mask: u64) {
        for i in crate::mem::lanes(mask) {
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
}
