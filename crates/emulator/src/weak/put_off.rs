//! Which loads and atomics are put off, and what has them done.

use std::ops::Range;

use super::Why;
use super::history::{self, By};
use super::late::{Asked, Issued, Late};
use super::mark::{ALL, Mark};
use super::state::{State, UnderWay, read};
use crate::choose::WaveId;
use crate::memory::Memory;

impl State {
    /// Whether an access to some places is put off.
    pub fn puts_off(
        &mut self,
        memory: &Memory,
        (wave, mark, pc): UnderWay,
        places: &[Range<u64>],
        issued: Issued,
    ) -> bool {
        let skips = match mark {
            Mark::Load(skips) => skips,
            Mark::Atomic if issued.can_change(memory) => ALL,
            _ => return false,
        };
        if places.is_empty() || !self.chance.is_late() {
            return false;
        }
        // What is not there is told of where it is asked for.
        let there = places.iter().map(|place| {
            let mut bytes = read(memory, place)?;
            self.stores.overlay(place, &mut bytes, &|stored| stored.by.wave.group == wave.group);
            Some(bytes)
        });
        let Some(there) = there.collect() else { return false };
        self.lates.add(Late::new(By { wave, pc }, skips, issued, places.to_vec(), there));
        true
    }

    /// Before a wave accesses some places: of those of the same cache, what was issued before to the same bytes is done before.
    /// What another one of its waves writes comes behind all that: it may know by a barrier, or by LDS, that the load was
    /// issued, and where waves share a cache LLVM's model has nothing wait for it.
    pub fn make_way(&mut self, memory: &Memory, wave: WaveId, places: &[Range<u64>], writes: bool) {
        if places.is_empty() {
            return;
        }
        let (caching, inner) = (self.caching, self.caching.inner_of(wave));
        self.do_if(memory, |late| {
            caching.inner_of(late.by.wave) == inner && (writes && late.by.wave != wave || late.meets(places))
        });
        if let Some((_, _, pc)) = self.current.filter(|_| writes) {
            self.lates.are_passed(wave, By { wave, pc });
        }
    }

    /// What a wave has loaded into its registers, up to the last that is asked for, in the order in which it was issued.
    pub fn landing(&mut self, memory: &Memory, wave: WaveId, is_asked: impl Fn(&Late) -> bool) -> Vec<Late> {
        let Some(last) = self.lates.last(|late| late.by.wave == wave && is_asked(late)) else { return Vec::new() };
        self.settle(memory);
        for at in 0..=last {
            if self.lates.is_under_way(at, |late| late.by.wave == wave) {
                self.do_late(memory, at);
            }
        }
        self.lates.take(last, wave)
    }

    pub fn do_if(&mut self, memory: &Memory, is_asked: impl Fn(&Late) -> bool) {
        while let Some(at) = self.lates.first(&is_asked) {
            self.do_late(memory, at);
        }
    }

    /// A late access is done, behind those of the same cache and the same bytes that were issued before.
    pub fn do_late(&mut self, memory: &Memory, at: usize) {
        let caching = self.caching;
        while let Some(earlier) = self.lates.before(at, |a, b| caching.inner_of(a) == caching.inner_of(b)) {
            self.do_late(memory, earlier);
        }
        self.now += 1;
        let Asked { by, skips, places, is_atomic } = self.lates.asked(at);
        if !is_atomic {
            let seen: Vec<_> = places.iter().map(|place| self.look(memory, by, Mark::Load(skips), place)).collect();
            let there: Vec<_> = places.iter().map(|place| read(memory, place).unwrap_or_default()).collect();
            if let Some((store, address)) = self.lates.answer(at, &seen, &there) {
                self.told.note(by, store, address, Why::Late);
            }
            return;
        }
        places.iter().for_each(|place| self.pass_caches(memory, by.wave, place));
        let parts = places.iter().flat_map(history::lines_of);
        let before: Vec<_> = parts.map(|part| (part.start, read(memory, &part).unwrap_or_default())).collect();
        self.lates.change(at, memory);
        for (start, before) in before {
            let after = read(memory, &(start..start + before.len() as u64)).unwrap_or_default();
            self.history.note(start, &before, &after, by, (self.now, self.now), false);
        }
    }

    /// What is on its way to some bytes arrives.
    pub fn arrive(&mut self, memory: &Memory, place: &Range<u64>) {
        self.settle(memory);
        self.stores.arrive_at(memory, &mut self.history, self.now, place);
        self.do_if(memory, |late| late.is_atomic() && late.meets(std::slice::from_ref(place)));
    }

    /// Whether nothing is late.
    #[cfg(test)]
    pub fn is_done(&self) -> bool {
        self.lates.under_way() == 0
    }
}
