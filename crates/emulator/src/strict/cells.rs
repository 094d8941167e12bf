//! Who touched each byte of LDS last.
//!
//! Nearly all accesses are of whole words, so a word has one record; a word whose bytes were touched apart has four.

use std::collections::HashMap;

use super::order::{Access, AccessId, Actor, Order, Relation};
use crate::level::{Level, level};

/// How an access touches bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    Read,
    Write,
    Atomic,
    /// At a barrier in LDS, by each wave that arrives or looks.
    Meet,
}

impl Touch {
    fn is_atomic(self) -> bool {
        matches!(self, Touch::Atomic | Touch::Meet)
    }
}

/// An access as it touches memory.
#[derive(Clone, Copy, Debug)]
pub struct Toucher {
    pub id: AccessId,
    pub actor: Actor,
    pub touch: Touch,
}

/// Two accesses that collide: the earlier one, and whether only a wait was missing.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    pub earlier: Access,
    pub relation: Relation,
}

/// The last writer, and up to two readers of different actors since; without a reader its actor says nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Cell {
    writer: AccessId,
    readers: [AccessId; 2],
    actors: [u32; 2],
}

/// In place of a writer: the word's bytes have records of their own.
const SPLIT: AccessId = AccessId::MAX;

/// The records of all words, each field by itself: what touches neighbouring words is noted in all of them at once.
#[derive(Default)]
pub struct Cells {
    writer: Vec<AccessId>,
    readers: [Vec<AccessId>; 2],
    actors: [Vec<u32>; 2],
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

    /// The reader in the slot of this actor, else the older one, makes room.
    fn note_reader(&self, cell: &mut Cell) {
        let Toucher { id, actor, .. } = self.by;
        let actor = u32::from(actor);
        let free = |slot: usize| cell.actors[slot] == actor || self.order.is_settled(cell.readers[slot]);
        let slot = match () {
            () if free(0) => 0,
            () if free(1) => 1,
            () => {
                (cell.readers[0], cell.actors[0]) = (cell.readers[1], cell.actors[1]);
                1
            }
        };
        (cell.readers[slot], cell.actors[slot]) = (id, actor);
    }

    /// Notes an access to what a cell stands for, if it is plain that nothing collides.
    #[inline(always)]
    fn visit_quickly(&self, cell: &mut Cell) -> bool {
        let reads = self.by.touch == Touch::Read;
        let writer =
            if self.by.touch.is_atomic() { self.order.is_settled(cell.writer) } else { self.is_harmless(cell.writer) };
        let harmless = writer && (reads || cell.readers.iter().all(|&r| self.is_harmless(r)));
        if harmless && reads {
            self.note_reader(cell);
        } else if harmless {
            *cell = Cell { writer: self.by.id, readers: [0; 2], ..*cell };
        }
        harmless
    }

    fn collides(&mut self, other: AccessId) -> Option<Conflict> {
        if other == self.harmless {
            return None;
        }
        let found = self.order.get(other).and_then(|&earlier| {
            if earlier.atomic && self.by.touch.is_atomic() {
                return None;
            }
            let relation = self.order.relation(&earlier, self.order.get(self.by.id)?);
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
            // A wave that has looked at a barrier in LDS before does not matter.
            for reader in cell.readers.into_iter().filter(|&reader| reader != 0 && touch != Touch::Meet) {
                found = found.or_else(|| self.collides(reader));
            }
            let keeps = touch.is_atomic() && self.order.hides(cell.writer, self.by.id);
            let writer = if keeps { cell.writer } else { self.by.id };
            *cell = Cell { writer, readers: [0; 2], ..*cell };
        }
        found
    }
}

/// Whether an access is ordered behind these, if that is easily told: all but one are settled. Neighbours were mostly
/// touched by the same.
#[inline(always)]
fn is_ordered(order: &Order, by: Toucher, ids: &[AccessId]) -> bool {
    let latest = ids.iter().fold(0, |latest, &id| latest.max(id));
    if order.is_settled(latest) {
        return true;
    }
    let unsettled = order.first_unsettled();
    let others = ids.iter().fold(false, |others, &id| others | (id >= unsettled) & (id != latest));
    !others && order.get(latest).zip(order.get(by.id)).is_some_and(|(a, b)| order.relation(a, b) == Relation::Ordered)
}

/// [`Judge::note_reader`] for neighbouring words, without branches.
#[inline(always)]
fn note_readers(
    (id, actor): (AccessId, u32),
    unsettled: AccessId,
    [r0, r1]: [&mut [AccessId]; 2],
    [a0, a1]: [&mut [u32]; 2],
) {
    for (((r0, r1), a0), a1) in r0.iter_mut().zip(r1).zip(a0).zip(a1) {
        let first = *a0 == actor || *r0 < unsettled;
        let second = *a1 == actor || *r1 < unsettled;
        let (reader, owner) = if second { (*r0, *a0) } else { (*r1, *a1) };
        let (last, last_owner) = if first { (*r1, *a1) } else { (id, actor) };
        (*r0, *a0) = if first { (id, actor) } else { (reader, owner) };
        (*r1, *a1) = (last, last_owner);
    }
}

impl Cells {
    pub fn new(words: usize) -> Cells {
        let none = || vec![0; words];
        Cells {
            writer: none(),
            readers: [none(), none()],
            actors: [vec![0; words], vec![0; words]],
            split: HashMap::new(),
        }
    }

    /// As for a workgroup that begins. `settled`: all accesses up to now are, so words that remember them need not forget.
    pub fn begin_again(&mut self, settled: bool) {
        for (word, _) in self.split.drain() {
            self.writer[word as usize] = 0;
        }
        if !settled {
            self.writer.fill(0);
            self.readers.iter_mut().for_each(|readers| readers.fill(0));
        }
    }

    fn get(&self, word: usize) -> Option<Cell> {
        let writer = *self.writer.get(word)?;
        let (readers, actors) = ([0, 1].map(|k| self.readers[k][word]), [0, 1].map(|k| self.actors[k][word]));
        Some(Cell { writer, readers, actors })
    }

    fn set(&mut self, word: usize, cell: Cell) {
        self.writer[word] = cell.writer;
        for k in 0..2 {
            self.readers[k][word] = cell.readers[k];
            self.actors[k][word] = cell.actors[k];
        }
    }

    /// Notes an access to some words, each reach being the first and how many, if it is plain that it is ordered behind
    /// everything that touched them before; else false, and an access to the rest is still to be noted.
    pub fn touch_words(&mut self, order: &Order, by: Toucher, reaches: impl Iterator<Item = (usize, usize)>) -> bool {
        #[cfg(target_arch = "x86_64")]
        if level() != Level::Base {
            // SAFETY: `level` says that the processor has the features.
            return unsafe { self.touch_words_avx2(order, by, reaches) };
        }
        self.touch_all(order, by, reaches)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn touch_words_avx2(&mut self, order: &Order, by: Toucher, reaches: impl Iterator<Item = (usize, usize)>) -> bool {
        self.touch_all(order, by, reaches)
    }

    #[inline(always)]
    fn touch_all(&mut self, order: &Order, by: Toucher, reaches: impl Iterator<Item = (usize, usize)>) -> bool {
        for (first, count) in reaches {
            if !self.touch_reach(order, by, first, count) {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn touch_reach(&mut self, order: &Order, by: Toucher, first: usize, count: usize) -> bool {
        let Some(end) = first.checked_add(count).filter(|&end| end <= self.writer.len()) else { return false };
        let words = first..end;
        let Cells { writer, readers: [r0, r1], actors: [a0, a1], .. } = self;
        let (writer, r0, r1) = (&mut writer[words.clone()], &mut r0[words.clone()], &mut r1[words.clone()]);
        let (a0, a1) = (&mut a0[words.clone()], &mut a1[words]);
        let stands_back = |ids: &[AccessId]| is_ordered(order, by, ids);
        if !stands_back(writer) || by.touch != Touch::Read && !(stands_back(r0) && stands_back(r1)) {
            return false;
        }
        if by.touch != Touch::Read {
            writer.fill(by.id);
            r0.fill(0);
            r1.fill(0);
            return true;
        }
        note_readers((by.id, by.actor.into()), order.first_unsettled(), [r0, r1], [a0, a1]);
        true
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
                && (first..first + bytes as usize / 4).all(|word| self.visit_quickly(&judge, word))
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

    #[inline(always)]
    fn visit_quickly(&mut self, judge: &Judge, word: usize) -> bool {
        let Some(mut cell) = self.get(word) else { return false };
        let harmless = judge.visit_quickly(&mut cell);
        if harmless {
            self.set(word, cell);
        }
        harmless
    }

    /// From `at` to `end`, which lie in one word.
    #[inline(never)]
    fn touch_word(&mut self, judge: &mut Judge, at: u32, end: u32, same: &dyn Fn(u32) -> bool) -> Option<Conflict> {
        let word = at / 4;
        let old = self.get(word as usize)?;
        let mut cell = old;
        let whole = end - at == 4;
        if whole && cell.writer != SPLIT {
            let found = judge.visit(&mut cell, || (at..end).all(same));
            self.set(word as usize, cell);
            return found;
        }
        self.writer[word as usize] = SPLIT;
        let bytes = self.split.entry(word).or_insert([old; 4]);
        let mut found = None;
        for byte in at..end {
            found = found.or(judge.visit(&mut bytes[(byte % 4) as usize], || same(byte)));
        }
        if whole && judge.by.touch != Touch::Read {
            let joined = bytes[0];
            self.set(word as usize, joined);
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
        let by = Toucher { id, actor: wave, touch };
        cells
            .touch(order, by, [(0, address)].into_iter(), bytes, &|_, _| false, &mut |_, c| found.push(c.earlier.wave));
        order.finish(id);
        found
    }

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let (mut cells, mut order) = (Cells::new(4), Order::new(3, false));
        assert!(touch(&mut cells, &mut order, 0, Touch::Write, 4, 1).is_empty());
        assert!(touch(&mut cells, &mut order, 1, Touch::Write, 5, 1).is_empty());
        assert_eq!(touch(&mut cells, &mut order, 2, Touch::Write, 5, 2), [1]);
        assert_eq!(touch(&mut cells, &mut order, 1, Touch::Read, 4, 1), [0]);
        // A whole word again, then two words, one of them touched.
        assert_eq!(touch(&mut cells, &mut order, 2, Touch::Write, 4, 4), [0]);
        assert!(cells.split.is_empty());
        assert_eq!(touch(&mut cells, &mut order, 0, Touch::Read, 0, 8), [2]);
        assert_eq!(touch(&mut cells, &mut order, 1, Touch::Atomic, 0, 4), [0]);
        order.barrier();
        assert!(touch(&mut cells, &mut order, 2, Touch::Write, 0, 16).is_empty());
    }

    /// Neighbouring words at once, and each by itself, leave the same records.
    #[test]
    fn words_together_are_words_apart() {
        let (mut together, mut apart, mut order) = (Cells::new(64), Cells::new(64), Order::new(4, false));
        let mut seed = 7u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(0x9e37_79b1).wrapping_add(0x1234_5677);
            (seed >> 16) % below
        };
        let mut quick = 0;
        for step in 0..4000 {
            let (wave, first) = (random(4) as u16, random(48));
            let touch = [Touch::Read, Touch::Read, Touch::Write][random(3) as usize];
            let id = order.begin(wave, step, false);
            let by = Toucher { id, actor: wave, touch };
            let mut found = [0, 0];
            let lanes = || (0..16).map(|lane| (lane, 4 * (first + lane as u32)));
            if together.touch_words(&order, by, [(first as usize, 16)].into_iter()) {
                quick += 1;
            } else {
                together.touch(&order, by, lanes(), 4, &|_, _| false, &mut |_, _| found[0] += 1);
            }
            apart.touch(&order, by, lanes(), 4, &|_, _| false, &mut |_, _| found[1] += 1);
            assert_eq!(found[0], found[1], "step {step}");
            assert!((0..64).all(|word| together.get(word) == apart.get(word)), "step {step}");
            order.finish(id);
            if random(4) == 0 {
                order.barrier();
            }
        }
        assert!(quick > 500 && quick < 3500, "{quick} at once");
    }

    #[test]
    fn two_readers_are_remembered() {
        let (mut cells, mut order) = (Cells::new(1), Order::new(4, false));
        assert!(touch(&mut cells, &mut order, 0, Touch::Read, 0, 4).is_empty());
        assert!(touch(&mut cells, &mut order, 1, Touch::Read, 0, 4).is_empty());
        assert!(touch(&mut cells, &mut order, 1, Touch::Read, 0, 4).is_empty());
        assert_eq!(touch(&mut cells, &mut order, 1, Touch::Write, 2, 2), [0]);
        assert_eq!(touch(&mut cells, &mut order, 0, Touch::Write, 0, 2), [1]);
    }
}
