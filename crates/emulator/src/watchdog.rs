//! When a launch is given up, and how far it is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The limits of a launch.
pub struct Watchdog {
    /// Of one workgroup.
    pub instructions: u64,
    time: Option<Duration>,
    start: Instant,
}

impl Watchdog {
    /// The launch begins now.
    pub fn new(instructions: u64, time: Option<Duration>) -> Watchdog {
        Watchdog { instructions, time, start: Instant::now() }
    }

    /// The same limits for a launch that begins now.
    pub fn again(&self) -> Watchdog {
        Watchdog::new(self.instructions, self.time)
    }

    /// The same with another limit of instructions, unless its own is lower.
    pub fn limited(&self, instructions: u64) -> Watchdog {
        Watchdog { instructions: instructions.min(self.instructions), ..*self }
    }

    /// How long the launch has taken, if that is too long.
    pub fn is_late(&self) -> Option<Duration> {
        let taken = self.time.map(|_| self.start.elapsed())?;
        Some(taken).filter(|taken| self.time.is_some_and(|most| *taken > most))
    }
}

/// How far a launch is, as its workers say now and then.
#[derive(Default)]
pub struct Done {
    pub instructions: AtomicU64,
    pub workgroups: AtomicU64,
}

/// How far a launch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// Instructions that waves have retired, up to a few thousand.
    pub instructions: u64,
    /// Workgroups that have ended, and all of them.
    pub workgroups: u64,
    pub of: u64,
}

impl Done {
    pub fn progress(&self, of: u64) -> Progress {
        Progress { instructions: self.instructions.load(Relaxed), workgroups: self.workgroups.load(Relaxed), of }
    }
}
