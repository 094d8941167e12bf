//! What a load sees: what memory held when the line that it finds was filled, and what its own workgroup has stored since.

use std::ops::Range;

use super::history::{self, By};
use super::lines::Seen;
use super::mark::{INNER, Mark, OUTER};
use super::state::State;
use super::stores::Stored;
use super::{Time, Why};
use crate::choose::WaveId;
use crate::memory::Memory;

impl State {
    /// Puts into memory what a load is to see of some bytes within a line.
    pub fn give(&mut self, memory: &Memory, by: By, mark: Mark, place: &Range<u64>) {
        let mut there = vec![0; (place.end - place.start) as usize];
        if !self.is_known(place) || memory.read(place.start, &mut there).is_err() {
            return;
        }
        let bytes = self.see(by, mark, place, &there);
        if bytes != there {
            let _ = memory.write(place.start, &bytes);
            self.patches.push((place.start, there));
        }
    }

    /// What a load sees of some bytes.
    pub fn look(&mut self, memory: &Memory, by: By, mark: Mark, place: &Range<u64>) -> Vec<u8> {
        let mut bytes = vec![0; (place.end - place.start) as usize];
        let _ = memory.read(place.start, &mut bytes);
        for part in history::lines_of(place).filter(|part| self.is_known(part)).collect::<Vec<_>>() {
            let at = (part.start - place.start) as usize..(part.end - place.start) as usize;
            let seen = self.see(by, mark, &part, &bytes[at.clone()]);
            bytes[at].copy_from_slice(&seen);
        }
        bytes
    }

    /// Whether something was stored to a line.
    fn is_known(&self, place: &Range<u64>) -> bool {
        self.history.holds(place) || self.stores.hold(place)
    }

    /// What a load sees where memory holds something.
    fn see(&mut self, by: By, mark: Mark, place: &Range<u64>, there: &[u8]) -> Vec<u8> {
        let group = by.wave.group;
        let line = self.caching.line_of(place.start);
        let (seen, why) = match mark {
            Mark::Scalar => (self.scalar_seen(group, line), Why::ScalarCache),
            Mark::Load(skips) => self.vector_seen(by.wave, skips, line),
            _ => return there.to_vec(),
        };
        let own = self.caching.is_own(by.wave);
        let is_visible = |writer: WaveId, issued: Time, arrived: Option<Time>, scalar: bool| {
            let is_here = match mark {
                Mark::Scalar => scalar && writer.group == group,
                _ => own(writer) || writer.group == group && issued <= seen.filled,
            };
            is_here || arrived.is_some_and(|arrived| arrived <= seen.held)
        };
        let mut bytes = there.to_vec();
        let missed = self.history.undo(place, &mut bytes, &is_visible);
        let is_here = |stored: &Stored| is_visible(stored.by.wave, stored.issued, None, false);
        self.stores.overlay(place, &mut bytes, &is_here);
        if let Some((store, address)) = missed {
            self.told.note(by, store, address, why);
        } else if let Some((store, address)) = self.stores.missed(place, &bytes, &is_here) {
            self.told.note(by, store, address, Why::UnderWay);
        }
        bytes
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
