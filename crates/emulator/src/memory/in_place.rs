//! Memory of the process's that kernels find at the process's own addresses.
//!
//! Such allocations lie as close to one another as the process has them, in one page or in one word: each has the bytes
//! that were asked for, and no gap behind them. The last word is whole all the same, for atomics that compilers have
//! widened, even if its other bytes are the next one's: an access belongs to the allocation that it begins in.

use std::sync::Arc;

use super::{Allocation, Memory, SHARED_BASE};
use crate::buffer::Buffer;

impl Memory {
    /// Adds bytes at their own address; `asked` of them are meant; the buffer ends with a whole word. False if another
    /// allocation has one of the bytes that are meant, or if these addresses are none of memory's.
    pub fn add_in_place(&mut self, buffer: Buffer, asked: u64, writable: bool) -> bool {
        let (start, len) = (buffer.ptr().addr() as u64, buffer.len());
        debug_assert!(asked <= len);
        if asked == 0 || start.checked_add(len).is_none_or(|end| end >= SHARED_BASE) {
            return false;
        }
        let after = self.allocations.partition_point(|a| a.start < start);
        let is_behind = after.checked_sub(1).is_none_or(|i| self.allocations[i].asked_end() <= start);
        let is_before = self.allocations.get(after).is_none_or(|next| start + asked <= next.start);
        if !is_behind || !is_before {
            return false;
        }
        self.allocations.insert(after, Allocation { start, len, asked, writable, buffer: Arc::new(buffer) });
        self.has_tails |= asked != len;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::super::{BadAddress, Edge, FIRST, Recent, Words};
    use super::*;

    /// Bytes of the process's, and where they begin.
    fn process_memory() -> (Box<[AtomicU64]>, u64) {
        let words: Box<[AtomicU64]> = (0..8).map(AtomicU64::new).collect();
        let at = words.as_ptr().expose_provenance() as u64;
        (words, at)
    }

    fn part(at: u64, len: u64) -> Buffer {
        // SAFETY: the tests' bytes outlive their memory, and are atomics.
        unsafe { Buffer::in_place(std::ptr::with_exposed_provenance_mut(at as usize), len) }
    }

    #[test]
    fn allocations_in_one_word_have_their_own_bounds() {
        let (words, at) = process_memory();
        let mut m = Memory::new();
        assert!(m.add_in_place(part(at + 2, 16), 16, true));
        assert!(!m.add_in_place(part(at + 8, 2), 2, true) && !m.add_in_place(part(at, 4), 4, true));
        assert!(!m.add_in_place(part(at + 17, 8), 8, true) && !m.add_in_place(part(at + 40, 0), 0, true));
        assert!(m.add_in_place(part(at + 18, 2), 2, false) && m.add_in_place(part(at, 2), 2, true));
        let (mut first, mut second) = (Recent::NONE, Recent::NONE);
        assert!(m.resolve(&mut first, at + 2, 18, true).is_ok() && m.resolve(&mut first, at + 2, 19, true).is_err());
        assert_eq!(m.resolve(&mut second, at + 18, 2, true).err(), Some(BadAddress::ReadOnly));
        // Nor are they the first one's where that is remembered.
        assert_eq!(m.resolve(&mut first, at + 18, 2, true).err(), Some(BadAddress::ReadOnly));
        assert!(m.resolve(&mut first, at + 16, 2, true).is_ok() && m.resolve(&mut first, at + 16, 4, true).is_ok());
        let bytes = |last: u64| std::array::from_fn(|i| at + if i == 63 { last } else { 2 + i as u64 % 16 });
        let mut all = |last| m.resolve_all(&mut first, &bytes(last), !0, 1, true, &mut { Words::NONE });
        assert_eq!([18, 17].map(&mut all), [false, true]);
        // The word at 16 may be accessed, and its last two bytes are not the first allocation's.
        assert_eq!(
            [(16, 2), (16, 4), (18, 2)].map(|(by, n)| m.tail(at + by, n)),
            [None, Some(Edge::End(at + 18)), None]
        );
        m.write(at + 8, &[7]).unwrap();
        assert_eq!(words[1].load(Relaxed), 7);
        assert!(m.free(at + 2) && m.find(at + 5).is_none() && m.find(at + 18).is_some());
        // Beside allocations an address is out of their bounds, whatever else it was.
        assert!(!m.was_freed(at + 5) && m.free(at) && m.free(at + 18) && m.was_freed(at + 5));
    }

    #[test]
    fn words_are_aligned_by_their_addresses() {
        let (_words, at) = process_memory();
        let mut m = Memory::new();
        assert!(m.add_in_place(part(at + 2, 30), 30, true));
        let lanes = std::array::from_fn(|i| at + 4 + 4 * (i as u64 % 2));
        let mut recent = Recent::NONE;
        let mut words = Words::NONE;
        assert!(!m.resolve_all(&mut recent, &lanes.map(|a| a - 2), !0, 4, true, &mut words));
        assert!(m.resolve(&mut recent, at + 4, 4, true).is_ok_and(|p| p.is_aligned(4)));
    }

    #[test]
    fn what_is_allocated_later_keeps_clear_of_it() {
        let mut m = Memory::new();
        for start in [FIRST + (1 << 20), FIRST + (3 << 20), 1 << 20] {
            assert!(m.add_in_place(part(start, 4096), 4096, true));
        }
        let (small, large) = (m.allocate(4096, true).unwrap(), m.allocate(2 << 20, true).unwrap());
        assert_eq!(small, FIRST);
        assert!(large > FIRST + (3 << 20) && m.next_address(1) > large);
        assert!([small, large + (2 << 20) - 1, FIRST + (3 << 20)].iter().all(|&at| m.find(at).is_some()));
        assert!(!m.add_in_place(part(large + 64, 64), 64, true));
    }
}
