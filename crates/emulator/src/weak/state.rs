//! What caches hold and what is under way, and what each instruction does to that.

use std::collections::HashMap;
use std::mem::take;
use std::ops::Range;

use super::Time;
use super::chance::Chance;
use super::history::{self, By, History};
use super::late::{Late, Lates};
use super::lines::{Caching, Lines};
use super::mark::{ALL, INNER, Mark, OUTER};
use super::stores::{Stored, Stores};
use super::told::Told;
use crate::choose::WaveId;
use crate::memory::Memory;

/// When a wave last waited, and whether it has been at a barrier since.
pub struct Waited {
    pub at: Time,
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

pub struct State {
    pub caching: Caching,
    pub chance: Chance,
    pub now: Time,
    /// The instruction under way.
    pub current: Option<UnderWay>,
    /// What memory holds where a load is given something else.
    pub patches: Vec<(u64, Vec<u8>)>,
    changes: Vec<Change>,
    pub history: History,
    pub stores: Stores,
    pub lates: Lates,
    pub inner: Lines,
    pub outer: Lines,
    pub scalar: Lines,
    pub waited: HashMap<WaveId, Waited>,
    pub told: Told,
}

/// An instruction, and its address.
pub type UnderWay = (WaveId, Mark, u64);

impl State {
    pub fn new(seed: u64, caching: Caching) -> State {
        State {
            caching,
            chance: Chance::new(seed),
            now: 1,
            current: None,
            patches: Vec::new(),
            changes: Vec::new(),
            history: History::default(),
            stores: Stores::default(),
            lates: Lates::default(),
            inner: Lines::default(),
            outer: Lines::default(),
            scalar: Lines::default(),
            waited: HashMap::new(),
            told: Told::default(),
        }
    }

    /// All stores arrive, and all atomics are done.
    pub fn flush(&mut self, memory: &Memory) {
        self.settle(memory);
        self.do_if(memory, Late::is_atomic);
        while self.stores.len() != 0 {
            let which = self.chance.which(self.stores.len());
            self.stores.arrive(memory, &mut self.history, self.now, which);
        }
    }

    /// The instruction that was under way is done.
    pub fn settle(&mut self, memory: &Memory) {
        for (address, bytes) in self.patches.drain(..).rev() {
            let _ = memory.write(address, &bytes);
        }
        for Change { start, before, by, kind } in take(&mut self.changes) {
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

    /// Before an instruction that has a mark. The late loads that are in their wave's registers then.
    pub fn before(&mut self, memory: &Memory, wave: WaveId, mark: Mark, pc: u64) -> Vec<Late> {
        self.settle(memory);
        self.lates.forget_done();
        self.now += 1;
        let State { chance, stores, history, now, .. } = self;
        if let Some(at) = chance.delivers(stores.len()) {
            stores.arrive(memory, history, *now, at);
        }
        self.now += 1;
        if let Some(which) = self.chance.does(self.lates.under_way()) {
            self.do_late(memory, self.lates.nth(which));
        }
        let mut landed = Vec::new();
        match mark {
            Mark::Wait { stores, loads } => {
                if stores {
                    self.stores.waited(memory, &mut self.history, self.now, wave.group);
                }
                if stores || loads {
                    // With those of its workgroup's other waves, as stores.
                    self.do_if(memory, |late| late.is_atomic() && late.by.wave.group == wave.group);
                }
                if loads {
                    landed = self.landing(memory, wave, |_| true);
                }
            }
            Mark::Meet => self.do_if(memory, |late| late.by.wave == wave),
            Mark::Other => {
                self.stores.arrive_all(memory, &mut self.history, self.now);
                landed = self.landing(memory, wave, |_| true);
                self.do_if(memory, |late| late.is_atomic() || late.by.wave.group == wave.group);
            }
            Mark::End => self.lates.forget_loads(wave),
            _ => {}
        }
        let now = self.now;
        let waited = self.waited.entry(wave).or_insert(Waited { at: now, met: false });
        if take(&mut waited.met) {
            waited.at = now;
        }
        self.current = Some((wave, mark, pc));
        match mark {
            Mark::Wait { .. } => waited.at = now,
            Mark::Meet => (waited.at, waited.met) = (now, true),
            Mark::Control { back, drops } => {
                if back {
                    self.stores.back(wave.group);
                }
                self.drop_lines(wave, drops);
            }
            Mark::Constants => self.scalar.forget((wave.group, None), now),
            Mark::Other => {
                self.drop_lines(wave, ALL);
                self.scalar.forget((wave.group, None), now);
            }
            Mark::Load(_) | Mark::Scalar | Mark::Store { .. } | Mark::Atomic | Mark::End => {}
        }
        self.now += 1;
        landed
    }

    fn drop_lines(&mut self, wave: WaveId, drops: u8) {
        if drops & INNER != 0 {
            self.inner.forget(self.caching.inner_of(wave), self.now);
        }
        if drops & OUTER != 0 {
            self.outer.forget((wave.group, None), self.now);
        }
    }

    /// A wave is about to change a place where all share it.
    pub fn pass_caches(&mut self, memory: &Memory, wave: WaveId, place: &Range<u64>) {
        self.stores.arrive_within(memory, &mut self.history, self.now, wave.group, place);
        let (now, inner) = (self.now, self.caching.inner_of(wave));
        for line in self.caching.lines_of(place) {
            self.inner.pass(inner, line, now);
            self.outer.pass((wave.group, None), line, now);
        }
    }

    /// Before the instruction under way accesses a place.
    pub fn access(&mut self, memory: &Memory, (wave, mark, pc): UnderWay, place: Range<u64>, writes: bool) {
        let by = By { wave, pc };
        let kind = match (mark, writes) {
            (Mark::Load(_) | Mark::Scalar, false) => {
                return history::lines_of(&place).for_each(|part| self.give(memory, by, mark, &part));
            }
            (Mark::Store { through }, true) => Kind::Store { through },
            (Mark::Atomic, true) => Kind::Direct { scalar: false },
            (_, true) => Kind::Direct { scalar: true },
            (_, false) => return,
        };
        if let Kind::Direct { .. } = kind {
            self.pass_caches(memory, wave, &place);
        }
        for part in history::lines_of(&place) {
            if let Some(before) = read(memory, &part) {
                self.changes.push(Change { start: part.start, before, by, kind });
            }
        }
    }
}

/// What memory holds at a place, if it is there.
pub fn read(memory: &Memory, place: &Range<u64>) -> Option<Vec<u8>> {
    let mut bytes = vec![0; (place.end - place.start) as usize];
    memory.read(place.start, &mut bytes).is_ok().then_some(bytes)
}
