//! What strict mode knows of a workgroup: which bits of its LDS are defined, and who touched each byte of it last.

use std::cell::RefCell;
use std::rc::Rc;

use super::Party;
use super::cells::{Cells, Conflict, Toucher};
use super::order::{AccessId, Order, Relation};
use crate::mem::lanes;

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
    /// One set bit for each undefined bit of LDS.
    undefined: Vec<u32>,
    /// By word: one set bit for each byte that was written, and [`DEFINED`] if there are no undefined bits.
    written: Vec<u8>,
    /// Words that are not written and defined.
    dubious: usize,
    cells: Cells,
    /// Whether device memory keeps no order between the waves of this workgroup, which then is watched too.
    split: bool,
    open: Vec<Open>,
    /// Who waited first for the round of the workgroup's barrier that some have waited for.
    first_wait: Option<(u32, Party)>,
}

const WRITTEN: u8 = 0xf;
const DEFINED: u8 = 0x10;

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
            dubious: words,
            // A single wave does everything in its own order.
            cells: Cells::new(if waves > 1 { words } else { 0 }),
            split,
            open: Vec::new(),
            first_wait: None,
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

    pub fn arrive(&mut self, wave: u16, barrier: u32, completes: bool) {
        self.order.arrive(wave, barrier, completes);
    }

    /// The wave that was the first to wait for a round of the workgroup's barrier, if not this one.
    pub fn first_wait(&mut self, round: u32, own: Party) -> Party {
        match self.first_wait {
            Some((known, first)) if known == round => first,
            _ => self.first_wait.insert((round, own)).1,
        }
    }

    pub fn pass(&mut self, wave: u16, barrier: u32) {
        self.order.pass(wave, barrier);
    }

    pub fn atomic(&mut self, wave: u16, address: u64, returns: bool) {
        self.order.atomic(wave, address, returns);
    }

    /// The lanes of a mask at whose addresses `len` bytes of LDS are there.
    pub fn holding(&self, addresses: &[u32; 64], mask: u64, len: u32) -> u64 {
        let outside = |lane: &usize| addresses[*lane] as usize + len as usize > 4 * self.undefined.len();
        lanes(mask).filter(outside).fold(mask, |mask, lane| mask & !(1 << lane))
    }

    /// Whether `len` bytes at the addresses of some lanes, which are there, are written and defined.
    pub fn all_defined(&self, addresses: &[u32; 64], mask: u64, len: u32) -> bool {
        self.dubious == 0
            || lanes(mask).all(|lane| {
                let at = addresses[lane] as usize;
                let words = at / 4..(at + len as usize).div_ceil(4);
                self.written[words].iter().all(|&written| written == WRITTEN | DEFINED)
            })
    }

    /// Words of LDS.
    pub fn words(&self) -> usize {
        self.written.len()
    }

    /// Whether all words are written and defined.
    pub fn is_defined(&self) -> bool {
        self.dubious == 0
    }

    /// Whether these words, which are there, are.
    pub fn words_defined(&self, first: usize, count: usize) -> bool {
        self.written[first..first + count].iter().all(|&written| written == WRITTEN | DEFINED)
    }

    /// These words, which are there, are written and have no undefined bits.
    pub fn define_words(&mut self, first: usize, count: usize) {
        if !self.words_defined(first, count) {
            (first..first + count).for_each(|word| self.define(4 * word as u32, 4, 0));
        }
    }

    /// Notes an access to words of LDS, as [`Cells::touch_words`].
    pub fn touch_words(&mut self, by: Toucher, reaches: impl Iterator<Item = (usize, usize)>) -> bool {
        self.cells.touch_words(&self.order, by, reaches)
    }

    fn set_written(&mut self, word: usize, bytes: u8) {
        let written = bytes | if self.undefined[word] == 0 { DEFINED } else { 0 };
        let dubious = |written: u8| usize::from(written != WRITTEN | DEFINED);
        self.dubious = self.dubious + dubious(written) - dubious(self.written[word]);
        self.written[word] = written;
    }

    /// The first byte of some that nothing has written; those outside do not count.
    pub fn unwritten(&self, address: u32, len: u32) -> Option<u32> {
        let unwritten = |a: &u32| self.written.get(*a as usize / 4).is_some_and(|w| w >> (a % 4) & 1 == 0);
        (0..len).filter_map(|i| address.checked_add(i)).find(unwritten)
    }

    /// Undefined bits of up to four bytes; bytes that nothing has written count as defined, being a finding already.
    pub fn undefined(&self, address: u32, bytes: u32) -> u32 {
        if bytes == 4 && address.is_multiple_of(4) && self.written[address as usize / 4] & WRITTEN == WRITTEN {
            return self.undefined[address as usize / 4];
        }
        (0..bytes).fold(0, |bits, i| {
            let a = address + i;
            let (word, shift) = (a as usize / 4, a % 4 * 8);
            let written = self.written[word] >> (a % 4) & 1 != 0;
            bits | if written { (self.undefined[word] >> shift & 0xff) << (8 * i) } else { 0 }
        })
    }

    /// Up to four bytes are written, with these undefined bits.
    pub fn define(&mut self, address: u32, bytes: u32, undefined: u32) {
        if bytes == 4 && address.is_multiple_of(4) {
            self.undefined[address as usize / 4] = undefined;
            self.set_written(address as usize / 4, WRITTEN);
            return;
        }
        for i in 0..bytes {
            let a = address + i;
            let (word, shift) = (a as usize / 4, a % 4 * 8);
            let bits = &mut self.undefined[word];
            *bits = *bits & !(0xff << shift) | (undefined >> (8 * i) & 0xff) << shift;
            self.set_written(word, self.written[word] & WRITTEN | 1 << (a % 4));
        }
    }

    /// Notes an access to LDS, as [`Cells::touch`].
    pub fn touch(
        &mut self,
        by: Toucher,
        lanes: impl Iterator<Item = (usize, u32)>,
        bytes: u32,
        same: &dyn Fn(usize, u32) -> bool,
        found: &mut dyn FnMut(usize, Conflict),
    ) {
        self.cells.touch(&self.order, by, lanes, bytes, same, found);
    }

    /// Notes an access to device memory, and gives one of another wave that it collides with: one that a barrier lies
    /// behind, but no wait.
    pub fn touch_device(
        &mut self,
        id: AccessId,
        wave: u16,
        writes: bool,
        addresses: &[u64; 64],
        mask: u64,
        size: u64,
    ) -> Option<(Conflict, usize)> {
        let found = self.open.iter().filter(|open| open.writes || writes).find_map(|open| {
            let earlier = *self.order.get(open.id)?;
            if self.order.relation(&earlier, wave) != Relation::NotWaitedFor {
                return None;
            }
            let mine = lanes(mask).find(|&lane| open.overlaps(addresses[lane], size))?;
            Some((Conflict { earlier, relation: Relation::NotWaitedFor }, mine))
        });
        self.open.push(Open { id, writes, lanes: Box::new(*addresses), mask, size });
        found
    }
}

impl Open {
    fn overlaps(&self, address: u64, size: u64) -> bool {
        lanes(self.mask).any(|lane| {
            let own = self.lanes[lane];
            own < address.saturating_add(size) && address < own.saturating_add(self.size)
        })
    }
}
