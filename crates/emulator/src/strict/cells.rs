//! Who touched each byte of LDS last.
//!
//! Nearly all accesses are of whole words, so a word has one record; a word whose bytes were touched apart has four.

use std::collections::HashMap;

use super::order::{Access, AccessId, Order, Relation};

/// How an access touches bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Read,
    Write,
    Atomic,
}

/// An access as it touches memory.
#[derive(Clone, Copy, Debug)]
pub struct Toucher {
    pub id: AccessId,
    pub wave: u16,
    pub touch: Touch,
}

/// Two accesses that collide: the earlier one, and whether only a wait was missing.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    pub earlier: Access,
    pub relation: Relation,
}

/// The last writer, and up to two readers of different waves since.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Cell {
    writer: AccessId,
    readers: [AccessId; 2],
    waves: [u16; 2],
}

/// In place of a writer: the word's bytes have records of their own.
const SPLIT: AccessId = AccessId::MAX;

#[derive(Default)]
pub struct Cells {
    words: Vec<Cell>,
    split: HashMap<u32, [Cell; 4]>,
}

/// Looks accesses up, and remembers the last that was no obstacle: neighbours were mostly touched by the same.
struct Judge<'a> {
    order: &'a Order,
    by: Toucher,
    harmless: AccessId,
}

impl Judge<'_> {
    fn is_harmless(&self, id: AccessId) -> bool {
        id == self.harmless || self.order.is_settled(id)
    }

    /// The reader in the slot of this wave, else the older one, makes room.
    fn note_reader(&self, cell: &mut Cell) {
        let Toucher { id, wave, .. } = self.by;
        let free = |slot: usize| cell.waves[slot] == wave || self.order.is_settled(cell.readers[slot]);
        let slot = match () {
            () if free(0) => 0,
            () if free(1) => 1,
            () => {
                (cell.readers[0], cell.waves[0]) = (cell.readers[1], cell.waves[1]);
                1
            }
        };
        (cell.readers[slot], cell.waves[slot]) = (id, wave);
    }

    /// Notes an access to what a cell stands for, if it is plain that nothing collides.
    #[inline(always)]
    fn visit_quickly(&self, cell: &mut Cell) -> bool {
        let reads = self.by.touch == Touch::Read;
        let harmless = self.is_harmless(cell.writer) && (reads || cell.readers.iter().all(|&r| self.is_harmless(r)));
        if harmless && reads {
            self.note_reader(cell);
        } else if harmless {
            *cell = Cell { writer: self.by.id, ..Cell::default() };
        }
        harmless
    }

    fn collides(&mut self, other: AccessId) -> Option<Conflict> {
        if other == self.harmless {
            return None;
        }
        let found = self.order.get(other).and_then(|&earlier| {
            if earlier.wave == self.by.wave || (earlier.atomic && self.by.touch == Touch::Atomic) {
                return None;
            }
            let relation = self.order.relation(&earlier, self.by.wave);
            (relation != Relation::Ordered).then_some(Conflict { earlier, relation })
        });
        if found.is_none() {
            self.harmless = other;
        }
        found
    }

    /// Notes an access to what a cell stands for, and gives an earlier one that it collides with.
    fn visit(&mut self, cell: &mut Cell, same: impl FnOnce() -> bool) -> Option<Conflict> {
        let touch = self.by.touch;
        let mut found = None;
        if cell.writer != 0 {
            found = self.collides(cell.writer).filter(|_| touch != Touch::Write || !same());
        }
        if touch == Touch::Read {
            self.note_reader(cell);
        } else {
            for reader in cell.readers.into_iter().filter(|&reader| reader != 0) {
                found = found.or_else(|| self.collides(reader));
            }
            *cell = Cell { writer: self.by.id, ..Cell::default() };
        }
        found
    }
}

impl Cells {
    pub fn new(words: usize) -> Cells {
        Cells { words: vec![Cell::default(); words], split: HashMap::new() }
    }

    /// Notes an access of some lanes to `bytes` bytes each, all of them there, and tells which earlier accesses it
    /// collides with. `same` tells whether a byte (of a lane, counted from its address) gets the value that it has:
    /// such a write collides with no other write.
    pub fn touch(
        &mut self,
        order: &Order,
        by: Toucher,
        lanes: impl Iterator<Item = (usize, u32)>,
        bytes: u32,
        same: &dyn Fn(usize, u32) -> bool,
        found: &mut dyn FnMut(usize, Conflict),
    ) {
        let mut judge = Judge { order, by, harmless: 0 };
        let mut last = None;
        for (lane, address) in lanes {
            // Lanes often read the same.
            if by.touch == Touch::Read && last == Some(address) {
                continue;
            }
            last = Some(address);
            let first = address as usize / 4;
            if address.is_multiple_of(4)
                && bytes.is_multiple_of(4)
                && let Some(cells) = self.words.get_mut(first..first + bytes as usize / 4)
                && cells.iter_mut().all(|cell| judge.visit_quickly(cell))
            {
                continue;
            }
            // What was noted already is this access's own, and harmless.
            let mut at = address;
            let mut conflict = None;
            while at < address + bytes {
                let end = (at / 4 * 4 + 4).min(address + bytes);
                let same = |byte: u32| same(lane, byte - address);
                conflict = conflict.or(self.touch_word(&mut judge, at, end, &same));
                at = end;
            }
            if let Some(conflict) = conflict {
                found(lane, conflict);
            }
        }
    }

    /// From `at` to `end`, which lie in one word.
    #[inline(never)]
    fn touch_word(&mut self, judge: &mut Judge, at: u32, end: u32, same: &dyn Fn(u32) -> bool) -> Option<Conflict> {
        let word = at / 4;
        let cell = self.words.get_mut(word as usize)?;
        let whole = end - at == 4;
        if whole && cell.writer != SPLIT {
            return judge.visit(cell, || (at..end).all(same));
        }
        let old = *cell;
        cell.writer = SPLIT;
        let bytes = self.split.entry(word).or_insert([old; 4]);
        let mut found = None;
        for byte in at..end {
            found = found.or(judge.visit(&mut bytes[(byte % 4) as usize], || same(byte)));
        }
        if whole && judge.by.touch != Touch::Read {
            *cell = bytes[0];
            self.split.remove(&word);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a wave's access to some bytes collides with: the waves.
    fn touch(cells: &mut Cells, order: &mut Order, wave: u16, touch: Touch, address: u32, bytes: u32) -> Vec<u16> {
        let id = order.begin(wave, 0, touch == Touch::Atomic);
        let mut found = Vec::new();
        let by = Toucher { id, wave, touch };
        cells
            .touch(order, by, [(0, address)].into_iter(), bytes, &|_, _| false, &mut |_, c| found.push(c.earlier.wave));
        order.finish(id);
        found
    }

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let (mut cells, mut order) = (Cells::new(4), Order::new(3));
        assert!(touch(&mut cells, &mut order, 0, Touch::Write, 4, 1).is_empty());
        assert!(touch(&mut cells, &mut order, 1, Touch::Write, 5, 1).is_empty());
        assert_eq!(touch(&mut cells, &mut order, 2, Touch::Write, 5, 2), [1]);
        assert_eq!(touch(&mut cells, &mut order, 1, Touch::Read, 4, 1), [0]);
        // A whole word again, then two words of which one was touched.
        assert_eq!(touch(&mut cells, &mut order, 2, Touch::Write, 4, 4), [0]);
        assert!(cells.split.is_empty());
        assert_eq!(touch(&mut cells, &mut order, 0, Touch::Read, 0, 8), [2]);
        assert_eq!(touch(&mut cells, &mut order, 1, Touch::Atomic, 0, 4), [0]);
        order.barrier();
        assert!(touch(&mut cells, &mut order, 2, Touch::Write, 0, 16).is_empty());
    }

    #[test]
    fn two_readers_are_remembered() {
        let (mut cells, mut order) = (Cells::new(1), Order::new(4));
        assert!(touch(&mut cells, &mut order, 0, Touch::Read, 0, 4).is_empty());
        assert!(touch(&mut cells, &mut order, 1, Touch::Read, 0, 4).is_empty());
        assert!(touch(&mut cells, &mut order, 1, Touch::Read, 0, 4).is_empty());
        assert_eq!(touch(&mut cells, &mut order, 1, Touch::Write, 2, 2), [0]);
        assert_eq!(touch(&mut cells, &mut order, 0, Touch::Write, 0, 2), [1]);
    }
}
