//! What is left to chance, by a seed: when stores arrive and late loads are done, since when lines are held, and how long.

use super::Time;
use crate::schedule::Numbers;

/// How long stores are under way, unless a wave waits for them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delay {
    None,
    /// About as many events as this until the next one arrives.
    About(u64),
}

/// Since when a line is held.
#[derive(Clone, Copy)]
enum Age {
    Youngest,
    Any,
    Oldest,
}

pub struct Chance {
    numbers: Numbers,
    /// About how many events it takes until one of the late loads and atomics is done; none if none is late.
    lateness: Option<u64>,
    delay: Delay,
    age: Age,
    /// Lines are dropped now and then, not only where the kernel says so.
    drops: bool,
}

/// Stores, or late loads, under way at most.
const MOST: usize = 1 << 12;

impl Chance {
    /// Neighbouring seeds differ in what they prefer.
    pub fn new(seed: u64) -> Chance {
        let delay = [Delay::About(3), Delay::None, Delay::About(12), Delay::About(400)][(seed % 4) as usize];
        let age = [Age::Any, Age::Oldest, Age::Any, Age::Youngest][(seed / 4 % 4) as usize];
        let lateness = [None, Some(64), Some(4), Some(64)][(seed / 32 % 4) as usize];
        Chance { numbers: Numbers::new(seed), lateness, delay, age, drops: seed / 16 % 2 == 1 }
    }

    /// Whether a load or an atomic is late.
    pub fn is_late(&mut self) -> bool {
        self.lateness.is_some() && self.numbers.below(4) != 0
    }

    /// Which of some late ones is done now, if one is.
    pub fn does(&mut self, count: usize) -> Option<usize> {
        match self.lateness {
            _ if count == 0 => None,
            _ if count > MOST => Some(0),
            None => None,
            Some(events) => (self.numbers.below(events) == 0).then(|| self.which(count)),
        }
    }

    pub fn delivers_at_once(&self) -> bool {
        self.delay == Delay::None
    }

    /// Which of some stores arrives now, if one does.
    pub fn delivers(&mut self, count: usize) -> Option<usize> {
        match self.delay {
            _ if count == 0 => None,
            Delay::None => Some(0),
            _ if count > MOST => Some(0),
            Delay::About(events) => (self.numbers.below(events) == 0).then(|| self.which(count)),
        }
    }

    /// One of some.
    pub fn which(&mut self, count: usize) -> usize {
        self.numbers.below(count as u64) as usize
    }

    /// Whether a line that was filled is still there.
    pub fn keeps(&mut self) -> bool {
        !self.drops || self.numbers.below(4) != 0
    }

    /// Whether a line came past the second cache, where it may or may not have.
    pub fn is_direct(&mut self) -> bool {
        self.numbers.below(2) == 0
    }

    /// A time from one on up to now, between which something was written at some `times`.
    pub fn pick(&mut self, from: Time, times: &[Time], now: Time) -> Time {
        match self.age {
            _ if times.is_empty() => now.max(from),
            Age::Youngest => now.max(from),
            Age::Oldest => from,
            Age::Any => match self.numbers.below(times.len() as u64 + 1) as usize {
                0 => from,
                last if last == times.len() => now.max(from),
                some => times[some - 1],
            },
        }
    }
}
