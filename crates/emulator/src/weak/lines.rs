//! Which lines caches hold, and since when.

use std::collections::HashMap;
use std::ops::Range;

use luthier_isa::Generation;

use super::Time;
use crate::choose::WaveId;
use crate::strict::race::coherence::Within;

/// The caches of a processor that a launch may find in its way.
#[derive(Clone, Copy, Debug)]
pub struct Caching {
    /// The waves of a workgroup may run on several compute units, and then do not share the first cache.
    apart: bool,
    /// There is a second cache that not all share: of a shader array (RDNA1 to 3), or the L2 of a die (gfx942, gfx950).
    pub has_outer: bool,
    /// The logarithm of a line's bytes.
    line: u32,
}

impl Caching {
    pub fn new(generation: Generation, within: Within) -> Caching {
        let (has_outer, line) = match generation {
            Generation::Gfx9 | Generation::Gfx90a => (false, 6),
            Generation::Gfx940 | Generation::Gfx10 | Generation::Gfx11 => (true, 7),
            Generation::Gfx12 | Generation::Gfx1250 => (false, 7),
        };
        Caching { apart: within.invalidates, has_outer, line }
    }

    /// Whose the first cache is that a wave has.
    pub fn inner_of(&self, wave: WaveId) -> Domain {
        (wave.group, self.apart.then_some(wave.wave))
    }

    /// Whether what a wave stores goes through the first cache of this one.
    pub fn is_own(&self, wave: WaveId) -> impl Fn(WaveId) -> bool + use<> {
        let caching = *self;
        move |other| caching.inner_of(other) == caching.inner_of(wave)
    }

    pub fn line_of(&self, address: u64) -> u64 {
        address >> self.line
    }

    pub fn lines_of(&self, place: &Range<u64>) -> Range<u64> {
        self.line_of(place.start)..self.line_of(place.end - 1) + 1
    }

    pub fn bytes_of(&self, line: u64) -> Range<u64> {
        line << self.line..(line + 1) << self.line
    }
}

/// A cache: a workgroup's, or that of one of its waves.
pub type Domain = (u64, Option<u32>);

/// What a line holds: what was in memory up to one time, and what the workgroup itself had written up to another.
#[derive(Clone, Copy, Default, Debug)]
pub struct Seen {
    pub held: Time,
    pub filled: Time,
}

#[derive(Default)]
struct Cache {
    /// All lines were dropped then, and how often that was done.
    forgotten: Time,
    age: u64,
    lines: HashMap<u64, Line>,
}

/// What a line has or had last, whether that was to stay, and the cache's age then.
#[derive(Clone, Copy, Default)]
struct Line {
    seen: Seen,
    stays: bool,
    age: u64,
}

/// The caches of one kind.
#[derive(Default)]
pub struct Lines(HashMap<Domain, Cache>);

impl Lines {
    /// A line that is there.
    pub fn held(&self, domain: Domain, line: u64) -> Option<Seen> {
        let cache = self.0.get(&domain)?;
        let last = cache.lines.get(&line)?;
        (last.stays && last.age == cache.age).then_some(last.seen)
    }

    /// What was last seen of a line, there or not: no value is followed by an older one.
    pub fn last(&self, domain: Domain, line: u64) -> Seen {
        self.0.get(&domain).and_then(|cache| cache.lines.get(&line)).map(|last| last.seen).unwrap_or_default()
    }

    /// When all lines were dropped last.
    pub fn forgotten(&self, domain: Domain) -> Time {
        self.0.get(&domain).map_or(0, |cache| cache.forgotten)
    }

    /// A load has seen a line so; whether it is there now.
    pub fn put(&mut self, domain: Domain, line: u64, seen: Seen, stays: bool) -> Seen {
        let cache = self.0.entry(domain).or_default();
        let last = cache.lines.entry(line).or_default();
        debug_assert!(
            last.seen.held <= seen.held && last.seen.filled <= seen.filled,
            "no value is followed by an older one"
        );
        *last = Line { seen, stays, age: cache.age };
        seen
    }

    /// An access has passed a line by: it is dropped.
    pub fn pass(&mut self, domain: Domain, line: u64, now: Time) {
        self.put(domain, line, Seen { held: now, filled: now }, false);
    }

    /// All lines are dropped.
    pub fn forget(&mut self, domain: Domain, now: Time) {
        let cache = self.0.entry(domain).or_default();
        cache.forgotten = now;
        cache.age += 1;
    }
}
