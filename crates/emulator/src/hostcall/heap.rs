//! Memory that kernels get while they run: what `malloc` of the device library asks the host for, in pieces of 2 MB, of
//! which it gives out small blocks, or in whole pages for large ones.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::buffer::Buffer;
use crate::memory::Span;

/// The first address given out: far above a device's own, and below where Linux puts a process's memory.
const FIRST: u64 = 1 << 46;
const END: u64 = FIRST + (1 << 44);
/// What the device library finds a small block's piece by.
const SLAB: u64 = 2 << 20;
/// What it tells large blocks from small ones by.
const PAGE: u64 = 1 << 12;
/// Distance between large blocks.
const GUARD: u64 = 1 << 16;
/// Bytes in all: more than that, malloc() gives a null pointer.
const MOST: u64 = 16 << 30;
const FREED: usize = 1 << 12;
/// What the device library keeps of its heap: all zeros when it is new. (It has 108,704 bytes in ROCm 6.)
pub const STATE: u64 = 128 << 10;

/// The blocks of one device.
#[derive(Default)]
pub struct Heap(RwLock<Table>);

#[derive(Default)]
struct Table {
    blocks: BTreeMap<u64, Buffer>,
    given: u64,
    bytes: u64,
    freed: VecDeque<(u64, u64)>,
    /// Freed, but a launch under way may look at them.
    leftovers: Vec<Buffer>,
}

impl Heap {
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of `len` zeros; `None` if there is no room, or nothing is asked for.
    pub fn allocate(&self, len: u64) -> Option<u64> {
        let mut table = self.write();
        let bytes = table.bytes.checked_add(len).filter(|&bytes| len != 0 && bytes <= MOST)?;
        let align = if len == SLAB { SLAB } else { PAGE };
        let start = (FIRST + table.given).next_multiple_of(align);
        let whole = len.next_multiple_of(8);
        let end = (start + whole + GUARD).next_multiple_of(PAGE);
        if end > END {
            return None;
        }
        let buffer = Buffer::zeroed(whole)?;
        table.blocks.insert(start, buffer);
        (table.given, table.bytes) = (end - FIRST, bytes);
        Some(start)
    }

    /// Takes a block back; false if there is none.
    pub fn free(&self, start: u64) -> bool {
        let mut table = self.write();
        let Some(buffer) = table.blocks.remove(&start) else { return false };
        table.bytes = table.bytes.saturating_sub(buffer.len());
        if table.freed.len() == FREED {
            table.freed.pop_front();
        }
        table.freed.push_back((start, buffer.len()));
        table.leftovers.push(buffer);
        true
    }

    /// No launch is under way.
    pub fn clean(&self) {
        if !self.read().leftovers.is_empty() {
            self.write().leftovers.clear();
        }
    }

    pub fn find(&self, address: u64) -> Option<Span> {
        if !(FIRST..END).contains(&address) {
            return None;
        }
        let table = self.read();
        let (&start, buffer) = table.blocks.range(..=address).next_back()?;
        // SAFETY: buffers are aligned; those that are freed stay until no launch is under way.
        (address - start < buffer.len()).then(|| unsafe { Span::of_host(start, buffer.ptr(), buffer.len(), true) })
    }

    pub fn was_freed(&self, address: u64) -> bool {
        (FIRST..END).contains(&address)
            && self.read().freed.iter().any(|&(start, len)| address.wrapping_sub(start) < len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_until_they_are_freed() {
        let heap = Heap::default();
        let (large, slab) = (heap.allocate(5000).unwrap(), heap.allocate(SLAB).unwrap());
        assert_eq!((large % PAGE, slab % SLAB), (0, 0));
        assert!(slab >= large + 5000 + GUARD);
        assert!(
            heap.find(large + 4999).is_some() && heap.find(large + 5000).is_none() && heap.find(slab - 1).is_none()
        );
        assert!(!heap.free(large + 8) && heap.free(large) && !heap.free(large));
        assert!(heap.find(large).is_none() && heap.was_freed(large + 4999) && !heap.was_freed(slab));
        assert!(heap.allocate(0).is_none() && heap.allocate(MOST).is_none() && heap.allocate(MOST / 8).is_some());
        heap.clean();
        assert!(heap.find(slab + SLAB - 1).is_some());
    }
}
