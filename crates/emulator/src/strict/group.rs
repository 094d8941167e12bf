//! What strict mode knows of a workgroup: which bits of its LDS are defined, and who touched each byte of it last.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::cells::{Cells, Conflict, Toucher};
use super::order::{AccessId, Actor, Clock, Order, Relation};
use super::origin::Origin;
use super::race::{Passage, Watched};
use super::{Looks, Party};
use crate::masks::lanes;
use crate::mem::access::in_a_row;
use crate::mem::engine::Engine;

/// Device memory that an access under way touches.
struct Open {
    id: AccessId,
    writes: bool,
    /// By an engine.
    apart: bool,
    /// Addresses and lengths.
    reach: Vec<(u64, u64)>,
}

/// Stores of waves that are remembered for the sake of engines.
const STORES: usize = 64;

pub struct Group {
    order: Order,
    waves: usize,
    /// Of LDS.
    words: usize,
    /// One set bit for each undefined bit of LDS; empty, like `written`, where values are not looked at.
    undefined: Vec<u32>,
    /// What brought those of some words, by word.
    origins: HashMap<u32, Origin>,
    /// By word: one set bit for each byte that was written, and [`DEFINED`] if there are no undefined bits.
    written: Vec<u8>,
    /// Words that are not written and defined.
    dubious: usize,
    cells: Cells,
    /// Whether the processor has engines that move bytes beside the waves.
    engines: bool,
    open: Vec<Open>,
    /// Device memory, if races there are looked for.
    races: Option<Watched>,
    /// Who waited first for the round of the workgroup's barrier that some have waited for.
    first_wait: Option<(u32, Party)>,
}

/// Whether a key is of a barrier of a cluster, or of global wave sync.
fn is_between_groups(key: u32) -> bool {
    key == crate::barrier::CLUSTER_KEY || key >> 31 != 0
}

const WRITTEN: u8 = 0xf;
const DEFINED: u8 = 0x10;

/// A workgroup's state, shared by its waves, which one worker runs in turns.
pub type SharedGroup = Rc<RefCell<Group>>;

impl Group {
    /// For a workgroup of `waves` waves with `lds` bytes of LDS.
    pub fn new(waves: usize, lds: usize, engines: bool, races: Option<Watched>, looks: Looks) -> SharedGroup {
        let words = lds.div_ceil(4);
        let with_values = if looks.contains(Looks::VALUES) { words } else { 0 };
        let is_watched = (waves > 1 || engines) && looks.contains(Looks::TOUCHES);
        Rc::new(RefCell::new(Group {
            order: Order::new(waves.max(1), engines),
            waves,
            words,
            undefined: vec![!0; with_values],
            origins: HashMap::new(),
            written: vec![0; with_values],
            dubious: with_values,
            // A single wave does everything in its own order, as long as it does it itself.
            cells: Cells::new(if is_watched { words } else { 0 }),
            engines,
            open: Vec::new(),
            races,
            first_wait: None,
        }))
    }

    /// As for another workgroup of the launch, with as many waves, that begins: its number, and its cluster's.
    pub fn begin_again(&mut self, number: u64, cluster: u64) {
        let settled = self.order.begin_again();
        self.cells.begin_again(settled);
        self.undefined.fill(!0);
        self.origins.clear();
        self.written.fill(0);
        self.dubious = self.written.len();
        self.open.clear();
        if let Some(races) = &mut self.races {
            races.begin_again(number, cluster);
        }
        self.first_wait = None;
    }

    /// Whether accesses to LDS are.
    pub fn is_watched(&self) -> bool {
        self.waves > 1 || self.engines
    }

    pub fn has_waves(&self) -> bool {
        self.waves > 1
    }

    /// Whether an access of a wave to device memory is to be told: stores, whose data an engine may want,
    /// or whatever may want what an engine has under way.
    pub fn wants(&self, writes: bool) -> bool {
        self.engines && (writes || self.open.iter().any(|open| open.apart))
    }

    pub fn begin_engine(&mut self, wave: u16, engine: Engine, pc: u64, atomic: bool, main: bool) -> AccessId {
        self.order.begin_engine(wave, engine, pc, atomic, main)
    }

    pub fn actor(&self, wave: u16, engine: Engine) -> Actor {
        self.order.actor(wave, engine)
    }

    pub fn knowledge(&self, wave: u16, engine: Option<Engine>) -> Clock {
        self.order.knowledge(wave, engine)
    }

    pub fn meet(&mut self, address: u32) {
        self.order.meet(address);
    }

    pub fn arrive_in_lds(&mut self, address: u32, knows: &Clock, ends: bool) {
        self.order.arrive_in_lds(address, knows, ends);
    }

    pub fn look(&mut self, wave: u16, first: u32, len: u32) -> bool {
        self.order.look(wave, first, len)
    }

    pub fn tick(&mut self, wave: u16) {
        self.order.tick(wave);
    }

    pub fn has_object(&self, first: u32, len: u32) -> bool {
        self.order.has_object(first, len)
    }

    pub fn has_objects(&self) -> bool {
        self.order.has_objects()
    }

    pub fn begin(&mut self, wave: u16, pc: u64, atomic: bool) -> AccessId {
        self.order.begin(wave, pc, atomic)
    }

    pub fn finish(&mut self, id: AccessId) {
        self.order.finish(id);
        if !self.open.is_empty() {
            self.open.retain(|open| open.id != id);
        }
    }

    pub fn barrier(&mut self) {
        self.order.barrier();
    }

    /// What is known of accesses to device memory, if races there are looked for.
    pub fn races(&mut self) -> Option<(&Order, &mut Watched)> {
        Some((&self.order, self.races.as_mut()?))
    }

    /// Waits until no other thread stores to the same pieces of device memory, if races there are looked for.
    pub fn enter(&self, addresses: impl Iterator<Item = u64>, size: u64) -> Passage {
        self.races.as_ref().map_or_else(Passage::default, |races| races.enter(addresses, size))
    }

    pub fn arrive(&mut self, wave: u16, barrier: u32, completes: bool) {
        self.come(wave, barrier);
        self.order.arrive(wave, barrier, completes);
    }

    /// The wave that was the first to wait for a round of the workgroup's barrier, if not this one.
    pub fn first_wait(&mut self, round: u32, own: Party) -> Party {
        match self.first_wait {
            Some((known, first)) if known == round => first,
            _ => self.first_wait.insert((round, own)).1,
        }
    }

    /// A wave comes to a barrier of several workgroups.
    fn come(&mut self, wave: u16, key: u32) {
        if is_between_groups(key)
            && let Some((order, races)) = self.races()
        {
            races.come(order, wave, key);
        }
    }

    pub fn signal(&mut self, wave: u16, key: u32, old: Option<u32>) {
        self.come(wave, key);
        self.order.signal(wave, key, old);
    }

    pub fn pass(&mut self, wave: u16, barrier: u32) {
        self.order.pass(wave, barrier);
        if is_between_groups(barrier)
            && let Some((order, races)) = self.races()
        {
            races.meet(order, wave, barrier);
        }
    }

    pub fn atomic(&mut self, wave: u16, address: u64, returns: bool) {
        self.order.atomic(wave, address, returns);
    }

    /// The lanes of a mask at whose addresses `len` bytes of LDS are there.
    pub fn holding(&self, addresses: &[u32; 64], mask: u64, len: u32) -> u64 {
        let outside = |lane: &usize| addresses[*lane] as usize + len as usize > 4 * self.words;
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
        self.words
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
        let written = &mut self.written[first..first + count];
        self.dubious -= written.iter().map(|&written| usize::from(written != WRITTEN | DEFINED)).sum::<usize>();
        written.fill(WRITTEN | DEFINED);
        self.undefined[first..first + count].fill(0);
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

    /// What brought the undefined bits of a word, if that was a read of LDS.
    pub fn origin(&self, address: u32) -> Option<Origin> {
        if self.origins.is_empty() { None } else { self.origins.get(&(address / 4)).copied() }
    }

    pub fn set_origin(&mut self, address: u32, origin: Option<Origin>) {
        match origin {
            Some(origin) => self.origins.insert(address / 4, origin),
            None if self.origins.is_empty() => None,
            None => self.origins.remove(&(address / 4)),
        };
    }

    /// Undefined bits of up to four bytes; bytes that nothing has written count as defined unless `all` do.
    pub fn undefined(&self, address: u32, bytes: u32, all: bool) -> u32 {
        if bytes == 4 && address.is_multiple_of(4) && self.written[address as usize / 4] & WRITTEN == WRITTEN {
            return self.undefined[address as usize / 4];
        }
        (0..bytes).fold(0, |bits, i| {
            let a = address + i;
            let (word, shift) = (a as usize / 4, a % 4 * 8);
            let written = all || self.written[word] >> (a % 4) & 1 != 0;
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

    /// These bytes, which are there, are written and have no undefined bits.
    pub fn define_all(&mut self, at: u32, len: u32) {
        if self.written.is_empty() {
            return;
        }
        let (first, end) = (at.next_multiple_of(4).min(at + len), (at + len) / 4 * 4);
        (at..first).for_each(|byte| self.define(byte, 1, 0));
        if end > first {
            self.define_words(first as usize / 4, (end - first) as usize / 4);
        }
        (end.max(first)..at + len).for_each(|byte| self.define(byte, 1, 0));
    }

    /// Notes an access of a wave to device memory, and gives one of another actor that it collides with: one that was
    /// begun before and not waited for.
    pub fn touch_device(
        &mut self,
        id: AccessId,
        writes: bool,
        addresses: &[u64; 64],
        mask: u64,
        size: u64,
    ) -> Option<(Conflict, usize)> {
        let mut reach: Vec<(u64, u64)> = in_a_row(addresses, mask, size).into_iter().collect();
        for lane in lanes(if reach.is_empty() { mask } else { 0 }) {
            match reach.last_mut() {
                Some((at, len)) if at.checked_add(*len) == Some(addresses[lane]) => *len += size,
                _ => reach.push((addresses[lane], size)),
            }
        }
        // Which lane it is matters only if there is one.
        let each = || lanes(mask).map(|lane| (addresses[lane], size)).collect::<Vec<_>>();
        let found = self.collision(id, writes, false, &reach).and_then(|_| self.collision(id, writes, false, &each()));
        let (conflict, which) = found.unzip();
        let stores = self.open.iter().filter(|open| !open.apart).count();
        if stores >= STORES
            && let Some(oldest) = self.open.iter().position(|open| !open.apart)
        {
            self.open.remove(oldest);
        }
        if writes {
            self.open.push(Open { id, writes, apart: false, reach });
        }
        Some((conflict?, lanes(mask).nth(which?)?))
    }

    /// The same of an engine; gives an address at which it collides.
    pub fn touch_memory(&mut self, id: AccessId, writes: bool, reach: Vec<(u64, u64)>) -> Option<(Conflict, u64)> {
        let found = self.collision(id, writes, true, &reach).map(|(conflict, which)| (conflict, reach[which].0));
        self.open.push(Open { id, writes, apart: true, reach });
        found
    }

    /// The first collision with an open access, and which of these reaches has a part in it.
    fn collision(&self, id: AccessId, writes: bool, apart: bool, reach: &[(u64, u64)]) -> Option<(Conflict, usize)> {
        let later = self.order.get(id)?;
        let may = |open: &&Open| (open.writes || writes) && (open.apart || apart);
        self.open.iter().filter(may).find_map(|open| {
            let earlier = *self.order.get(open.id)?;
            if self.order.relation(&earlier, later) != Relation::NotWaitedFor {
                return None;
            }
            let mine = reach.iter().position(|&(at, len)| open.overlaps(at, len))?;
            Some((Conflict { earlier, relation: Relation::NotWaitedFor }, mine))
        })
    }
}

impl Open {
    fn overlaps(&self, address: u64, size: u64) -> bool {
        let end = address.saturating_add(size);
        self.reach.iter().any(|&(own, len)| own < end && address < own.saturating_add(len))
    }
}
