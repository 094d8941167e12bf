//! Moments of a launch that are kept to go back to: near where it is they lie close together, and farther apart with distance.
//!
//! What a launch does is settled by its schedule, so a moment stays true when the launch is taken back before it: it is also
//! gone *on* to.

use std::time::{Duration, Instant};

use crate::choose::Chooser;
use crate::image::Image;
use crate::interleave::Kept;

/// Events between two moments that are kept while the launch goes on, at first.
const APART: u64 = 1 << 20;
/// The same at least, while it goes to an event: turns of usual schedules have as many.
const NEAR: u64 = 20_000;
/// How many are kept at most, and about how many bytes.
const MOST: usize = 24;
const MOST_BYTES: u64 = 1 << 30;
/// Keeping moments may take this part of the time that the launch takes, and near ones at most so long.
const PART: u32 = 20;
const QUICK: Duration = Duration::from_millis(5);

/// A launch as it was.
pub struct Moment {
    pub kept: Kept,
    pub chooser: Chooser,
    pub image: Image,
}

impl Moment {
    fn event(&self) -> u64 {
        self.kept.event
    }
}

/// Moments, in order.
pub struct Moments {
    all: Vec<Moment>,
    apart: u64,
    /// Whether they lie farther apart where it takes long to keep one.
    adapts: bool,
    /// How long that took last, and when it was done.
    took: Duration,
    done: Instant,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { all: Vec::new(), apart: APART, adapts: true, took: Duration::ZERO, done: Instant::now() }
    }
}

impl Moments {
    /// From now on one is kept each time this number of events has passed.
    pub fn keep_every(&mut self, events: u64) {
        (self.apart, self.adapts) = (events.max(1), false);
    }

    /// The last one that is not behind an event.
    pub fn before(&self, event: u64) -> Option<&Moment> {
        self.all[..self.all.partition_point(|moment| moment.event() <= event)].last()
    }

    /// Whether one is to be kept at an event, on the way to another one if `target` says so.
    pub fn is_due(&self, event: u64, target: Option<u64>) -> bool {
        let gap = match target {
            Some(target) if !self.adapts || self.took < QUICK => {
                (target.saturating_sub(event) / 2).clamp(NEAR.min(self.apart), self.apart)
            }
            _ => self.apart,
        };
        event - self.before(event).map_or(0, Moment::event) >= gap
    }

    /// One more, which it took some time to make; `is_near` if the launch was on its way to an event, where they lie close.
    pub fn add(&mut self, moment: Moment, took: Duration, is_near: bool) {
        let (here, ran) = (moment.event(), self.done.elapsed().saturating_sub(took));
        if self.adapts && !is_near && took * PART > ran {
            self.apart = self.apart.saturating_mul(2);
        }
        (self.took, self.done) = (took, Instant::now());
        let at = self.all.partition_point(|other| other.event() < here);
        self.all.insert(at, moment);
        let bytes = |moment: &Moment| moment.kept.bytes() + moment.image.own_bytes();
        while self.all.len() > MOST || self.all.len() > 2 && self.all.iter().map(bytes).sum::<u64>() > MOST_BYTES {
            self.thin(here);
        }
    }

    /// One less: the one that leaves the smallest gap, for how far it is from an event.
    fn thin(&mut self, here: u64) {
        let event = |at: usize| self.all.get(at).map_or(u64::MAX, Moment::event);
        let cost = |at: usize| {
            let before = at.checked_sub(1).map_or(0, event);
            let gap = event(at + 1).min(here.max(event(at))) - before;
            gap as f64 / (1 + event(at).abs_diff(here)) as f64
        };
        let others = (0..self.all.len()).filter(|at| event(*at) != here);
        if let Some(at) = others.min_by(|a, b| cost(*a).total_cmp(&cost(*b))) {
            self.all.remove(at);
        }
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }
}
