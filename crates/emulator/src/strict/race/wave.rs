//! A wave's accesses to device memory, as the search for races sees them.

use super::coherence::{ALL, CacheControl, Scope};
use super::{Access, Lack, Passage, Places, Race};
use crate::masks::lanes;
use crate::mem::Action;
use crate::mem::access::{Addresses, Rows, in_a_row};
use crate::mem::atomic::Atomic;
use crate::report::FindingKind;
use crate::strict::memory::with;
use crate::strict::{Party, Strict};
use crate::wave::Wave;

/// A load that races, unless it turns out to be the first of a loop that compares and swaps.
pub struct Suspect {
    access: Access,
    race: Race,
    by_lanes: bool,
}

/// Before a store of lanes to device memory is judged, each lane's of `size` bytes.
pub fn enter(w: &Wave, action: Action, at: &Addresses, size: u64) -> Passage {
    let (Action::Store(_), Some(strict)) = (action, &w.strict) else { return Passage::default() };
    match at.mask & !strict.scratch.lanes(at) {
        0 => Passage::default(),
        mask => strict.group.borrow().enter(lanes(mask).map(|lane| at.lane[lane]), size),
    }
}

/// Before an access of lanes to device memory, each to `size` bytes in one piece.
pub fn lanes_at(w: &mut Wave, action: Action, rows: Rows, at: &Addresses, size: u64) {
    with(w, |strict, w| {
        let mask = at.mask & !strict.scratch.lanes(at);
        if mask == 0 || !strict.looks_for_races() {
            return;
        }
        let same = |lane: usize| rows.words != 0 && is_in_memory(w, action, rows, lane, at.lane[lane]);
        let is_first_lanes = mask & mask.wrapping_add(1) == 0;
        let mut count = mask.count_ones() as usize;
        // Whether lanes are in a row, the last one says if they are not.
        let (start, last) = (at.lane[0], at.lane[(count - 1) & 63]);
        let may_be_row = is_first_lanes && last.wrapping_sub(start) == size.wrapping_mul(count as u64 - 1);
        if may_be_row
            && !matches!(action, Action::Atomic(..))
            && in_a_row(&at.lane, mask, size).is_some_and(|(_, len)| len != 0)
        {
            return strict.race(action, Places::Row { start, count }, size, true, &same);
        }
        let mut places: [(usize, u64); 64] = std::array::from_fn(|lane| (lane, at.lane[lane]));
        if !is_first_lanes {
            count = 0;
            for lane in lanes(mask) {
                places[count] = (lane, at.lane[lane]);
                count += 1;
            }
        }
        strict.race(action, Places::List(&places[..count]), size, true, &same);
    });
}

/// Before an access whose bytes lie apart.
pub fn bytes(w: &mut Wave, action: Action, mask: u64, count: u32, place: &dyn Fn(usize, u32) -> u64) {
    with(w, |strict, _| {
        if strict.looks_for_races() {
            let all = lanes(mask).flat_map(|lane| (0..count).map(move |byte| (lane, place(lane, byte))));
            let places: Vec<_> = all.filter(|&(_, address)| !strict.scratch.holds(address)).collect();
            strict.race(action, Places::List(&places), 1, true, &|_| false);
        }
    });
}

/// Before a scalar access.
pub fn scalar(w: &mut Wave, action: Action, address: u64, size: u64) {
    with(w, |strict, _| {
        if strict.looks_for_races() {
            strict.race(action, Places::List(&[(0, address)]), size, false, &|_| false);
        }
    });
}

/// Whether memory holds what a lane is about to store.
fn is_in_memory(w: &Wave, action: Action, rows: Rows, lane: usize, address: u64) -> bool {
    let Action::Store(transfer) = action else { return false };
    let mut there = [0; 64];
    let size = transfer.bytes(rows.words) as usize;
    let Some(there) = there.get_mut(..size) else { return false };
    crate::weak::arrive(w, address..address.wrapping_add(size as u64));
    let stored = (0..usize::from(rows.words)).map(|k| transfer.extract(w.rows[usize::from(rows.data) + k].0[lane]));
    let stored: Vec<u8> = stored.flat_map(u32::to_le_bytes).take(size).collect();
    w.memory.read(address, there).is_ok() && *there == *stored
}

impl Strict {
    fn looks_for_races(&self) -> bool {
        self.group.borrow_mut().races().is_some()
    }

    fn race(&mut self, action: Action, places: Places<'_>, size: u64, by_lanes: bool, same: &dyn Fn(usize) -> bool) {
        let mut group = self.group.borrow_mut();
        let Some(((order, races), first)) = group.races().zip(places.first()) else { return };
        let (atomic, compares) = match action {
            Action::Atomic(atomic, returns) => (Some(returns), matches!(atomic, Atomic::CmpSwap | Atomic::FCmpSwap)),
            _ => (None, false),
        };
        if compares
            && !self.suspects.is_empty()
            && let Places::List(places) = places
        {
            let is_here = |address: u64| places.iter().any(|&(_, at)| at >> 2 == address >> 2);
            self.suspects.retain(|_, suspect| !is_here(suspect.race.address));
        }
        let writes = !matches!(action, Action::Load(_));
        let done = self.waits.done(races.issued(self.wave));
        let told = writes.then(|| races.tell(order, self.wave, done));
        let seq = races.issue(order, self.wave);
        let stream = self.waits.number(seq);
        let (scope, marked) = self.scope;
        if writes && atomic.is_none() && scope != Scope::Device {
            races.store(self.wave, seq, stream);
        }
        let access = Access { wave: self.wave, pc: self.log.pc, writes, atomic, scope, size, marked, seq, stream };
        let in_ring = races.is_in_ring(first);
        let race = if in_ring { None } else { races.touch(order, &access, places, told.as_ref(), done, same) };
        drop(group);
        match race {
            Some(race) if race.may_compare => {
                self.suspects.entry(access.pc).or_insert(Suspect { access, race, by_lanes });
            }
            Some(race) => self.report_race(&access, race, by_lanes),
            None => {}
        }
    }

    /// Reports loads that no compare and swap has followed.
    pub(in crate::strict) fn report_suspects(&mut self) {
        let mut suspects: Vec<_> = self.suspects.drain().collect();
        suspects.sort_by_key(|(pc, _)| *pc);
        for (pc, Suspect { access, race, by_lanes }) in suspects {
            self.log.pc = pc;
            self.report_race(&access, race, by_lanes);
        }
    }

    #[cold]
    fn report_race(&mut self, access: &Access, race: Race, by_lanes: bool) {
        let Race { lane, address, pc, wrote, lack, group: [x, y, z], wave, .. } = race;
        let what = if wrote { "writes" } else { "reads" };
        let (kind, why) = match lack {
            Lack::Wait => (FindingKind::MissingWait, "it began before a barrier and was not waited for"),
            Lack::Invalidation => (
                FindingKind::MemoryRace,
                "this wave has not invalidated its cache since, which may hold an older value",
            ),
            Lack::Order if access.scope == Scope::Group => {
                (FindingKind::MemoryRace, "nothing orders the two: this access is atomic within its workgroup only")
            }
            Lack::Order => (FindingKind::MemoryRace, "nothing orders the two"),
        };
        let message = format!("wave {wave} of workgroup ({x}, {y}, {z}) {what} the same bytes of memory, and {why}");
        let party = Party { pc, wave };
        let lane = by_lanes.then_some(lane as u32);
        self.log.report_pair(kind, lane, Some(address), message, Some(party));
    }

    /// What the wave's waits guarantee has changed.
    #[cold]
    pub(in crate::strict) fn note_done(&mut self) {
        let mut group = self.group.borrow_mut();
        if let Some((order, races)) = group.races() {
            races.note_done(order, self.wave, self.waits.done(races.issued(self.wave)));
        }
    }

    /// An instruction for caches is about to be issued.
    pub(in crate::strict) fn invalidate_caches(&mut self, control: CacheControl) {
        let caches = match control {
            CacheControl::Invalidate(caches) => caches,
            CacheControl::Both => ALL,
            CacheControl::WriteBack => return,
        };
        let mut group = self.group.borrow_mut();
        let Some((order, races)) = group.races() else { return };
        let waits = &self.waits;
        races.invalidate(order, self.wave, caches, |issued| waits.done(issued));
    }

    /// The same has been issued: its wave can wait for what it writes back.
    pub(in crate::strict) fn write_caches_back(&mut self, control: CacheControl) {
        if matches!(control, CacheControl::Invalidate(_)) {
            return;
        }
        let mut group = self.group.borrow_mut();
        let Some((order, races)) = group.races() else { return };
        let seq = races.issue(order, self.wave);
        let stream = self.waits.number(seq);
        races.write_back(order, self.wave, seq, stream);
    }
}
