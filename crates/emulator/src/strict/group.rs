//! What strict mode knows of a workgroup: which bits of its LDS are defined, and who touched each byte of it last.

use std::cell::RefCell;
use std::rc::Rc;

use super::order::{Access, AccessId, Order, Relation};

/// How an access touches bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Read,
    Write,
    Atomic,
}

/// Two accesses that collide: the earlier one, and whether only a wait was missing.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    pub earlier: Access,
    pub relation: Relation,
}

/// Who touched a byte last: its writer, and up to two readers of different waves since.
#[derive(Clone, Copy, Default)]
struct Cell {
    writer: AccessId,
    readers: [AccessId; 2],
}

/// Device memory that an access under way touches.
struct Open {
    id: AccessId,
    writes: bool,
    lanes: Box<[u64; 64]>,
    mask: u64,
    size: u64,
}

pub struct Group {
    order: Order,
    waves: usize,
    /// One set bit for each undefined bit of LDS, and one for each byte that was written.
    undefined: Vec<u32>,
    written: Vec<u8>,
    cells: Vec<Cell>,
    /// Whether device memory keeps no order between the waves of this workgroup, which then is watched too.
    split: bool,
    open: Vec<Open>,
}

/// A workgroup's state, shared by its waves, which one worker runs in turns.
pub type SharedGroup = Rc<RefCell<Group>>;

impl Group {
    pub fn new(waves: usize, lds: usize, split: bool) -> SharedGroup {
        let words = lds.div_ceil(4);
        Rc::new(RefCell::new(Group {
            order: Order::new(waves.max(1)),
            waves,
            undefined: vec![!0; words],
            written: vec![0; words],
            // A single wave does everything in its own order.
            cells: vec![Cell::default(); if waves > 1 { 4 * words } else { 0 }],
            split,
            open: Vec::new(),
        }))
    }

    pub fn is_watched(&self) -> bool {
        self.waves > 1
    }

    pub fn is_split(&self) -> bool {
        self.split && self.waves > 1
    }

    pub fn begin(&mut self, wave: u16, pc: u64, atomic: bool) -> AccessId {
        self.order.begin(wave, pc, atomic)
    }

    pub fn finish(&mut self, id: AccessId) {
        self.order.finish(id);
        self.open.retain(|open| open.id != id);
    }

    pub fn barrier(&mut self) {
        self.order.barrier();
    }

    pub fn atomic(&mut self, wave: u16, address: u64, returns: bool) {
        self.order.atomic(wave, address, returns);
    }

    /// Whether `len` bytes of LDS are there.
    pub fn holds(&self, address: u32, len: u32) -> bool {
        address as usize + len as usize <= 4 * self.undefined.len()
    }

    /// The first byte of some that nothing has written; those outside do not count.
    pub fn unwritten(&self, address: u32, len: u32) -> Option<u32> {
        let unwritten = |a: &u32| self.written.get(*a as usize / 4).is_some_and(|w| w >> (a % 4) & 1 == 0);
        (0..len).filter_map(|i| address.checked_add(i)).find(unwritten)
    }

    /// Undefined bits of up to four bytes; bytes that nothing has written count as defined, being a finding already.
    pub fn undefined(&self, address: u32, bytes: u32) -> u32 {
        (0..bytes).fold(0, |bits, i| {
            let a = address + i;
            let (word, shift) = (a as usize / 4, a % 4 * 8);
            let written = self.written[word] >> (a % 4) & 1 != 0;
            bits | if written { (self.undefined[word] >> shift & 0xff) << (8 * i) } else { 0 }
        })
    }

    /// Up to four bytes are written, with these undefined bits.
    pub fn define(&mut self, address: u32, bytes: u32, undefined: u32) {
        for i in 0..bytes {
            let a = address + i;
            let (word, shift) = (a as usize / 4, a % 4 * 8);
            self.written[word] |= 1 << (a % 4);
            let bits = &mut self.undefined[word];
            *bits = *bits & !(0xff << shift) | (undefined >> (8 * i) & 0xff) << shift;
        }
    }

    /// Notes an access to bytes of LDS, and gives an earlier one that it collides with. `same` tells whether a byte
    /// gets the value that it has: such a write collides with no other write.
    pub fn touch(
        &mut self,
        id: AccessId,
        wave: u16,
        address: u32,
        bytes: u32,
        touch: Touch,
        same: impl Fn(u32) -> bool,
    ) -> Option<Conflict> {
        let mut found = None;
        for i in 0..bytes {
            let cell = &mut self.cells[(address + i) as usize];
            let order = &self.order;
            let collides = |other: AccessId| {
                let earlier = *order.get(other)?;
                if earlier.wave == wave || (earlier.atomic && touch == Touch::Atomic) {
                    return None;
                }
                let relation = order.relation(&earlier, wave);
                (relation != Relation::Ordered).then_some(Conflict { earlier, relation })
            };
            if found.is_none() && cell.writer != 0 && !(touch == Touch::Write && same(i)) {
                found = collides(cell.writer);
            }
            if touch == Touch::Read {
                // The reader in the slot of this wave, else the older one, makes room.
                let of_wave = |id: AccessId| order.get(id).is_none_or(|a| a.wave == wave);
                if of_wave(cell.readers[0]) {
                    cell.readers[0] = id;
                } else if of_wave(cell.readers[1]) {
                    cell.readers[1] = id;
                } else {
                    cell.readers = [cell.readers[1], id];
                }
            } else {
                for reader in cell.readers.into_iter().filter(|&r| r != 0) {
                    found = found.or_else(|| collides(reader));
                }
                *cell = Cell { writer: id, readers: [0; 2] };
            }
        }
        found
    }

    /// Notes an access to device memory, and gives one of another wave that it collides with: one that a barrier lies
    /// behind, but no wait.
    pub fn touch_device(
        &mut self,
        id: AccessId,
        wave: u16,
        writes: bool,
        lanes: &[u64; 64],
        mask: u64,
        size: u64,
    ) -> Option<(Conflict, usize)> {
        let found = self.open.iter().filter(|open| open.writes || writes).find_map(|open| {
            let earlier = *self.order.get(open.id)?;
            if self.order.relation(&earlier, wave) != Relation::NotWaitedFor {
                return None;
            }
            let mine = crate::mem::lanes(mask).find(|&lane| open.overlaps(lanes[lane], size))?;
            Some((Conflict { earlier, relation: Relation::NotWaitedFor }, mine))
        });
        self.open.push(Open { id, writes, lanes: Box::new(*lanes), mask, size });
        found
    }
}

impl Open {
    fn overlaps(&self, address: u64, size: u64) -> bool {
        crate::mem::lanes(self.mask).any(|lane| {
            let own = self.lanes[lane];
            own < address.saturating_add(size) && address < own.saturating_add(self.size)
        })
    }
}
