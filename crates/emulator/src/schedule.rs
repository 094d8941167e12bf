//! How the waves of a launch take turns.
//!
//! Real waves run side by side, and which of them gets somewhere first is not known. The usual order hides what depends
//! on it: a wave goes on for long, so that one that reads too early mostly finds what it needs. Other orders bring such
//! faults to light, and bring them again: they run on one thread.

use std::fmt;
use std::str::FromStr;

/// An order of turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// Long turns, one wave after the other; as fast as it gets.
    #[default]
    Fair,
    /// Each wave in turn, of several workgroups, up to its next branch.
    Alternate,
    /// Waves of several workgroups in an order, and for as long, as a seed says.
    Random(u64),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Fair => f.write_str("fair"),
            Schedule::Alternate => f.write_str("alternate"),
            Schedule::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    /// # Errors
    /// In words, what the text should be.
    fn from_str(text: &str) -> Result<Schedule, String> {
        let seed = |text: &str| text.strip_prefix("random:").and_then(|seed| seed.parse().ok());
        match text {
            "fair" => Ok(Schedule::Fair),
            "alternate" => Ok(Schedule::Alternate),
            _ => seed(text).map(Schedule::Random).ok_or_else(|| {
                format!("{text:?} is no schedule: fair, alternate, or random:SEED, the seed less than 2^64")
            }),
        }
    }
}

/// Workgroups that are under way together where the order is not the usual one.
pub const TOGETHER: usize = 8;

/// Whose turn it is.
pub struct Turns {
    schedule: Schedule,
    state: u64,
    order: Vec<usize>,
}

impl Turns {
    pub fn new(schedule: Schedule) -> Turns {
        let state = if let Schedule::Random(seed) = schedule { seed } else { 0 };
        Turns { schedule, state, order: Vec::new() }
    }

    pub fn are_usual(&self) -> bool {
        self.schedule == Schedule::Fair
    }

    /// A number below another one (splitmix64).
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ self.state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end.max(1)
    }

    /// Begins a round of `waves` waves.
    pub fn begin(&mut self, count: usize) {
        self.order.clear();
        self.order.extend(0..count);
        if let Schedule::Random(_) = self.schedule {
            for last in (1..count).rev() {
                let other = self.below(last as u64 + 1) as usize;
                self.order.swap(last, other);
            }
        }
    }

    /// Who is the `n`th of the round, and for how many instructions, at least about; `None`: that one is passed over.
    pub fn next(&mut self, n: usize, usual: u64) -> Option<(usize, u64)> {
        let who = self.order.get(n).copied().unwrap_or(n);
        match self.schedule {
            Schedule::Fair => Some((who, usual)),
            Schedule::Alternate => Some((who, 1)),
            Schedule::Random(_) => {
                // Mostly short, now and then long.
                let (passes, slice) = (self.below(3) == 0, 1 << self.below(12));
                (!passes).then_some((who, slice))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_what_its_text_says() {
        for schedule in [Schedule::Fair, Schedule::Alternate, Schedule::Random(0), Schedule::Random(u64::MAX)] {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        for text in ["", "unfair", "random", "random:", "random:-1", "random:18446744073709551616"] {
            assert!(text.parse::<Schedule>().unwrap_err().contains("alternate, or random:SEED"), "{text}");
        }
    }

    #[test]
    fn a_seed_says_all_and_nobody_waits_for_ever() {
        let rounds = |seed| {
            let mut turns = Turns::new(Schedule::Random(seed));
            let mut all = Vec::new();
            for _ in 0..100 {
                turns.begin(5);
                all.push((0..5).map(|n| turns.next(n, 1000)).collect::<Vec<_>>());
            }
            all
        };
        assert_eq!(rounds(7), rounds(7));
        assert_ne!(rounds(7), rounds(8));
        for who in 0..5 {
            assert!(rounds(7).iter().flatten().flatten().any(|turn| turn.0 == who));
        }
    }
}
