//! Memory that answers as weakly as caches and stores under way let it, for schedules that ask for it
//! ([`Schedule::Weak`](crate::Schedule::Weak)).
//!
//! The device's memory is what all share (L2, or beyond it where a processor has several); one wave at a time goes on
//! ([`crate::interleave`]). Before it:
//!
//! * **Caches**, those of each workgroup: of vector loads ([`lines`]) and of scalar loads. A line says since when it is held;
//!   what it held then follows from what was written since ([`history`]). A load that may hit is given the old bytes: they are
//!   put into memory while its instruction runs, and taken out again, so that each form of load reads them in its own way.
//! * **Stores under way** ([`stores`]). What an instruction has stored is taken out of memory again, and arrives there when its
//!   wave has waited for it, or earlier, not in the order of the program but for the same bytes. The workgroup's own
//!   loads see it at once.
//! * **Loads that pass one another**: one that passes the caches has what memory held at some time since its wave last waited.
//!
//! When lines are filled and dropped and stores arrive, a seed says ([`chance`]). Which instructions do what is in [`mark`].
//! Nothing of this is there for other schedules: no instruction has a mark, and waves have no [`Part`].
//!
//! Source: LLVM "User Guide for AMDGPU Backend", the memory models of each generation, which say what the hardware has and
//! what code has to do; so nothing is seen that the models forbid. A workgroup has caches of its own, as if it were alone
//! on its compute unit: what others there would fill or invalidate earlier or later, the seed decides.

pub(crate) mod chance;
mod history;
mod lines;
pub mod mark;
mod stores;
mod told;

use std::collections::HashMap;
use std::iter::once;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::choose::WaveId;
use crate::mem::access::{Addresses, Rows};
use crate::mem::{Action, lanes};
use crate::memory::Memory;
use crate::wave::Wave;

use chance::Chance;
pub use history::By;
use history::History;
pub use lines::Caching;
use lines::{Lines, Seen};
use mark::{ALL, INNER, Mark, OUTER};
use stores::{Stored, Stores};
pub use told::{Stale, Why};

/// Numbers what happens in a launch.
type Time = u64;

/// The caches of a launch, and its stores under way.
pub struct Caches {
    state: Mutex<State>,
    memory: Arc<Memory>,
    /// Scratch, which no two waves share.
    private: Range<u64>,
}

/// A wave's part in them.
pub struct Part {
    caches: Arc<Caches>,
    wave: WaveId,
}

/// When a wave last waited, and whether it has been at a barrier since.
struct Waited {
    at: Time,
    met: bool,
}

/// What an instruction writes, taken down before it does.
struct Change {
    start: u64,
    before: Vec<u8>,
    by: By,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// It arrives later; whether a wait is enough for that, without a write-back.
    Store { through: bool },
    /// It is in memory at once.
    Direct { scalar: bool },
}

struct State {
    caching: Caching,
    chance: Chance,
    now: Time,
    /// The instruction under way.
    current: Option<(WaveId, Mark, u64)>,
    /// What memory holds where a load is given something else.
    patches: Vec<(u64, Vec<u8>)>,
    changes: Vec<Change>,
    history: History,
    stores: Stores,
    inner: Lines,
    outer: Lines,
    scalar: Lines,
    waited: HashMap<WaveId, Waited>,
    told: told::Told,
}

impl Caches {
    pub fn new(seed: u64, caching: Caching, memory: Arc<Memory>, private: Range<u64>) -> Caches {
        let state = State {
            caching,
            chance: Chance::new(seed),
            now: 1,
            current: None,
            patches: Vec::new(),
            changes: Vec::new(),
            history: History::default(),
            stores: Stores::default(),
            inner: Lines::default(),
            outer: Lines::default(),
            scalar: Lines::default(),
            waited: HashMap::new(),
            told: told::Told::default(),
        };
        Caches { state: Mutex::new(state), memory, private }
    }

    pub fn part(self: &Arc<Caches>, wave: WaveId) -> Part {
        Part { caches: Arc::clone(self), wave }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The instruction that was under way is done: memory is what all share again.
    pub fn settle(&self) {
        self.lock().settle(&self.memory);
    }

    /// All stores arrive.
    pub fn flush(&self) {
        let mut state = self.lock();
        state.settle(&self.memory);
        let State { stores, history, chance, now, .. } = &mut *state;
        while stores.len() != 0 {
            stores.arrive(&self.memory, history, *now, chance.which(stores.len()));
        }
    }

    /// Loads that were given an older value than there was.
    pub fn told(&self) -> Vec<Stale> {
        self.lock().told.all.clone()
    }

    fn access(&self, places: impl Iterator<Item = Range<u64>>, writes: bool) {
        let mut places: Vec<_> = places.collect();
        places.retain(|place| !self.private.contains(&place.start));
        merge(&mut places);
        let mut state = self.lock();
        state.settle(&self.memory);
        let Some((wave, mark, pc)) = state.current else { return };
        places.into_iter().for_each(|place| state.access(&self.memory, (wave, mark, pc), place, writes));
    }
}

/// Neighbouring and overlapping places become one.
fn merge(places: &mut Vec<Range<u64>>) {
    places.sort_unstable_by_key(|place| place.start);
    places.dedup_by(|next, last| {
        let meets = next.start <= last.end;
        last.end = if meets { last.end.max(next.end) } else { last.end };
        meets
    });
}

/// Before an instruction that has a mark.
pub fn before(w: &mut Wave, mark: Mark, pc: u64) {
    if let Some(Part { caches, wave }) = w.weak.as_deref() {
        caches.lock().before(&caches.memory, *wave, mark, pc);
    }
}

/// What is on its way to some bytes arrives: strict mode compares with what is there.
pub fn arrive(w: &Wave, place: Range<u64>) {
    if let Some(Part { caches, .. }) = w.weak.as_deref() {
        let State { stores, history, now, .. } = &mut *caches.lock();
        stores.arrive_at(&caches.memory, history, *now, &place);
    }
}

/// Before lanes access device memory.
#[cold]
pub fn device(w: &Wave, action: Action, rows: Rows, at: &Addresses) {
    let Some(part) = &w.weak else { return };
    let (count, size) = if at.stride == 4 { (1, bytes_of(action, rows)) } else { (u64::from(rows.words), 4) };
    let of_lane = |lane: usize| (0..count).map(move |k| at.lane[lane].wrapping_add(k * at.stride));
    let places = lanes(at.mask).flat_map(of_lane).map(|start| start..start.wrapping_add(size));
    part.caches.access(places, !matches!(action, Action::Load(_)));
}

/// Before lanes access bytes that lie apart.
#[cold]
pub fn bytes(w: &Wave, action: Action, rows: Rows, mask: u64, place: &dyn Fn(usize, u32) -> u64) {
    let Some(part) = &w.weak else { return };
    let size = bytes_of(action, rows) as u32;
    let each = lanes(mask).flat_map(|lane| (0..size).map(move |byte| place(lane, byte)));
    let places = each.map(|start| start..start.wrapping_add(1));
    part.caches.access(places, !matches!(action, Action::Load(_)));
}

/// Before the wave accesses some bytes.
#[cold]
pub fn scalar(w: &Wave, action: Action, address: u64, size: u64) {
    let Some(part) = &w.weak else { return };
    part.caches.access(once(address..address.wrapping_add(size)), !matches!(action, Action::Load(_)));
}

fn bytes_of(action: Action, rows: Rows) -> u64 {
    match action {
        Action::Load(transfer) | Action::Store(transfer) => transfer.bytes(rows.words),
        Action::Atomic(..) => 4 * u64::from(rows.words),
    }
}

impl State {
    fn settle(&mut self, memory: &Memory) {
        for (address, bytes) in self.patches.drain(..).rev() {
            let _ = memory.write(address, &bytes);
        }
        for Change { start, before, by, kind } in std::mem::take(&mut self.changes) {
            let mut after = vec![0; before.len()];
            if memory.read(start, &mut after).is_err() {
                continue;
            }
            match kind {
                Kind::Direct { scalar } => self.history.note(start, &before, &after, by, (self.now, self.now), scalar),
                Kind::Store { through } => {
                    let _ = memory.write(start, &before);
                    let stored = Stored { start, bytes: after, by, issued: self.now, through, backed: false };
                    self.stores.add(stored);
                }
            }
        }
        if self.chance.delivers_at_once() {
            self.stores.arrive_all(memory, &mut self.history, self.now);
        }
    }

    fn before(&mut self, memory: &Memory, wave: WaveId, mark: Mark, pc: u64) {
        self.settle(memory);
        self.now += 1;
        let State { chance, stores, history, now, .. } = self;
        if let Some(at) = chance.delivers(stores.len()) {
            stores.arrive(memory, history, *now, at);
        }
        self.now += 1;
        let now = self.now;
        let waited = self.waited.entry(wave).or_insert(Waited { at: now, met: false });
        if std::mem::take(&mut waited.met) {
            waited.at = now;
        }
        self.current = Some((wave, mark, pc));
        match mark {
            Mark::Wait { stores } => {
                waited.at = now;
                if stores {
                    self.stores.waited(memory, &mut self.history, now, wave.group);
                }
            }
            Mark::Meet => (waited.at, waited.met) = (now, true),
            Mark::Control { back, drops } => {
                if back {
                    self.stores.back(wave.group);
                }
                self.drop_lines(wave, drops);
            }
            Mark::Constants => self.scalar.forget((wave.group, None), now),
            Mark::Other => {
                self.stores.arrive_all(memory, &mut self.history, now);
                self.drop_lines(wave, ALL);
                self.scalar.forget((wave.group, None), now);
            }
            Mark::Load(_) | Mark::Scalar | Mark::Store { .. } | Mark::Atomic => {}
        }
        self.now += 1;
    }

    fn drop_lines(&mut self, wave: WaveId, drops: u8) {
        if drops & INNER != 0 {
            self.inner.forget(self.caching.inner_of(wave), self.now);
        }
        if drops & OUTER != 0 {
            self.outer.forget((wave.group, None), self.now);
        }
    }

    fn access(&mut self, memory: &Memory, (wave, mark, pc): (WaveId, Mark, u64), place: Range<u64>, writes: bool) {
        let by = By { wave, pc };
        let kind = match (mark, writes) {
            (Mark::Load(_) | Mark::Scalar, false) => {
                return history::lines_of(&place).for_each(|part| self.load(memory, by, mark, part));
            }
            (Mark::Store { through }, true) => Kind::Store { through },
            (Mark::Atomic, true) => Kind::Direct { scalar: false },
            (_, true) => Kind::Direct { scalar: true },
            (_, false) => return,
        };
        if let Kind::Direct { .. } = kind {
            self.stores.arrive_within(memory, &mut self.history, self.now, wave.group, &place);
            let (now, inner) = (self.now, self.caching.inner_of(wave));
            for line in self.caching.lines_of(&place) {
                self.inner.pass(inner, line, now);
                self.outer.pass((wave.group, None), line, now);
            }
        }
        for part in history::lines_of(&place) {
            let mut before = vec![0; (part.end - part.start) as usize];
            if memory.read(part.start, &mut before).is_ok() {
                self.changes.push(Change { start: part.start, before, by, kind });
            }
        }
    }

    /// Puts into memory what a load is to see.
    fn load(&mut self, memory: &Memory, by: By, mark: Mark, place: Range<u64>) {
        let group = by.wave.group;
        if !self.history.holds(&place) && !self.stores.hold(&place) {
            return;
        }
        let mut there = vec![0; (place.end - place.start) as usize];
        if memory.read(place.start, &mut there).is_err() {
            return;
        }
        let line = self.caching.line_of(place.start);
        let (seen, why) = match mark {
            Mark::Scalar => (self.scalar_seen(group, line), Why::ScalarCache),
            Mark::Load(skips) => self.vector_seen(by.wave, skips, line),
            _ => return,
        };
        let own = self.caching.is_own(by.wave);
        let is_visible = |writer: WaveId, issued: Time, arrived: Option<Time>, scalar: bool| {
            let is_here = match mark {
                Mark::Scalar => scalar && writer.group == group,
                _ => own(writer) || writer.group == group && issued <= seen.filled,
            };
            is_here || arrived.is_some_and(|arrived| arrived <= seen.held)
        };
        let mut bytes = there.clone();
        let missed = self.history.undo(&place, &mut bytes, &is_visible);
        let is_here = |stored: &Stored| is_visible(stored.by.wave, stored.issued, None, false);
        self.stores.overlay(&place, &mut bytes, &is_here);
        if let Some((store, address)) = missed {
            self.told.note(by, store, address, why);
        } else if let Some((store, address)) = self.stores.missed(&place, &bytes, &is_here) {
            self.told.note(by, store, address, Why::UnderWay);
        }
        if bytes != there {
            let _ = memory.write(place.start, &bytes);
            self.patches.push((place.start, there));
        }
    }

    fn scalar_seen(&mut self, group: u64, line: u64) -> Seen {
        let domain = (group, None);
        if let Some(seen) = self.scalar.held(domain, line).filter(|_| self.chance.keeps()) {
            return seen;
        }
        let last = self.scalar.last(domain, line);
        let held = self.pick(last.held.max(self.scalar.forgotten(domain)), line);
        self.scalar.put(domain, line, Seen { held, filled: held }, true)
    }

    /// As of when a vector load that passes by some caches sees a line, and what gives it so.
    fn vector_seen(&mut self, wave: WaveId, skips: u8, line: u64) -> (Seen, Why) {
        let (own, shared) = (self.caching.inner_of(wave), (wave.group, None));
        let uses_inner = skips & INNER == 0;
        if let Some(seen) = self.inner.held(own, line).filter(|_| uses_inner && self.chance.keeps()) {
            return (seen, Why::Cache);
        }
        let (last, dropped) = (self.inner.last(own, line), self.inner.forgotten(own));
        let uses_outer = self.caching.has_outer && skips & OUTER == 0;
        let behind = self.outer.last(shared, line).held.max(self.outer.forgotten(shared));
        // Filled while the second cache did not have it, perhaps before that was invalidated.
        let may_be_direct = last.held.max(dropped) < behind;
        let is_direct = uses_inner && (!uses_outer || may_be_direct && self.chance.is_direct());
        let held = if is_direct {
            self.pick(last.held.max(dropped), line)
        } else if uses_outer {
            let is_new = |outer: &Seen| outer.held >= last.held;
            match self.outer.held(shared, line).filter(is_new).filter(|_| self.chance.keeps()) {
                Some(outer) => outer.held,
                None => {
                    let held = self.pick(behind.max(last.held), line);
                    self.outer.put(shared, line, Seen { held, filled: held }, true).held
                }
            }
        } else {
            let waited = self.waited.get(&wave).map_or(self.now, |waited| waited.at);
            let held = self.pick(last.held.max(dropped).max(behind).max(waited), line);
            self.outer.put(shared, line, Seen { held, filled: held }, false).held
        };
        let filled = match () {
            () if is_direct || !uses_inner && !uses_outer => held.max(last.filled),
            () if uses_inner => self.pick(last.filled.max(dropped).max(held), line),
            () => self.now,
        };
        let seen = self.inner.put(own, line, Seen { held, filled }, uses_inner);
        (seen, if uses_inner || uses_outer { Why::Cache } else { Why::Passed })
    }

    /// A time from one on up to now: what was written to a line up to then is seen.
    fn pick(&mut self, from: Time, line: u64) -> Time {
        let times = self.history.times(self.caching.bytes_of(line), from);
        self.chance.pick(from, &times, self.now)
    }
}

#[cfg(test)]
mod tests;
