//! How the waves of a launch take turns.
//!
//! Real waves run side by side, and which of them gets somewhere first is not known. The usual order hides what depends
//! on it: a wave goes on for long, so that one that reads too early mostly finds what it needs. Other orders bring such
//! faults to light, and bring them again: they run on one thread.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// An order of turns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Schedule {
    /// Long turns, one wave after the other, but for short ones behind barriers; as fast as it gets.
    #[default]
    Fair,
    /// Each wave in turn, of several workgroups, up to its next branch.
    Alternate,
    /// Waves of several workgroups in an order, and for as long, as a seed says.
    Random(u64),
    /// One wave at a time, of all that are under way: the one of the highest priority, see [`crate::interleave`].
    Pct(Pct),
    /// One wave at a time; which one where it is not the usual one.
    Choices(Choices),
    /// One wave at a time, as the other one says, in memory that answers as weakly as caches and stores under way let it
    /// ([`crate::weak`]), by a seed.
    Weak(u64, Arc<Schedule>),
}

/// Random priorities (probabilistic concurrency testing: Burckhardt and others, ASPLOS 2010).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pct {
    pub seed: u64,
    /// How many orderings a fault may take to be found with the probability that the method promises: one less is how often
    /// the running wave loses its priority.
    pub depth: u32,
    /// Among how many choices these are spread.
    pub steps: u64,
}

impl Pct {
    pub const DEPTH: u32 = 3;
    pub const STEPS: u64 = 1000;

    pub fn of(seed: u64) -> Pct {
        Pct { seed, depth: Pct::DEPTH, steps: Pct::STEPS }
    }
}

/// At which choices (numbered from 0, those among several waves only) another wave than the usual one goes on, and which of
/// those that can: 0 is the one that has run last, 1 the next one.
pub type Choices = Arc<[(u64, u32)]>;

impl Schedule {
    /// Whether each turn is a choice of its own.
    pub fn is_chosen(&self) -> bool {
        matches!(self.turns(), Schedule::Pct(_) | Schedule::Choices(_))
    }

    /// Who goes on when, whatever memory answers.
    pub fn turns(&self) -> &Schedule {
        if let Schedule::Weak(_, turns) = self { turns } else { self }
    }

    /// What memory answers by, if not as it is told.
    pub fn weak(&self) -> Option<u64> {
        if let Schedule::Weak(seed, _) = self { Some(*seed) } else { None }
    }

    /// The same turns in memory that answers by a seed, if there is one.
    #[must_use]
    pub fn in_memory(self, seed: Option<u64>) -> Schedule {
        match seed {
            Some(seed) => Schedule::Weak(seed, Arc::new(self)),
            None => self,
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Fair => f.write_str("fair"),
            Schedule::Alternate => f.write_str("alternate"),
            Schedule::Random(seed) => write!(f, "random:{seed}"),
            Schedule::Pct(Pct { seed, depth: Pct::DEPTH, steps: Pct::STEPS }) => write!(f, "pct:{seed}"),
            Schedule::Pct(Pct { seed, depth, steps }) => write!(f, "pct:{seed}:{depth}:{steps}"),
            Schedule::Choices(choices) => {
                f.write_str("choices:")?;
                for (number, (at, which)) in choices.iter().enumerate() {
                    write!(f, "{}{at}={which}", if number == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Schedule::Weak(seed, turns) => write!(f, "weak:{seed}:{turns}"),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    /// # Errors
    /// In words, what the text should be.
    fn from_str(text: &str) -> Result<Schedule, String> {
        let found = match text.split_once(':') {
            None if text == "fair" => Some(Schedule::Fair),
            None if text == "alternate" => Some(Schedule::Alternate),
            Some(("random", seed)) => seed.parse().ok().map(Schedule::Random),
            Some(("pct", rest)) => pct(rest).map(Schedule::Pct),
            Some(("choices", rest)) => choices(rest).map(Schedule::Choices),
            Some(("weak", rest)) => weak(rest),
            _ => None,
        };
        found.ok_or_else(|| {
            format!(
                "{text:?} is no schedule: fair, alternate, random:SEED, pct:SEED or pct:SEED:DEPTH:STEPS, choices:AT=WHICH,..., \
                 or weak:SEED: before one of the last three (numbers less than 2^64, a depth from 1 to 1000, choices in order)"
            )
        })
    }
}

fn pct(text: &str) -> Option<Pct> {
    let parts: Vec<&str> = text.split(':').collect();
    let pct = match parts[..] {
        [seed] => Pct::of(seed.parse().ok()?),
        [seed, depth, steps] => {
            Pct { seed: seed.parse().ok()?, depth: depth.parse().ok()?, steps: steps.parse().ok()? }
        }
        _ => return None,
    };
    ((1..=1000).contains(&pct.depth) && pct.steps > 0).then_some(pct)
}

fn choices(text: &str) -> Option<Choices> {
    let one = |part: &str| part.split_once('=').and_then(|(at, which)| Some((at.parse().ok()?, which.parse().ok()?)));
    let all: Vec<(u64, u32)> = text.split(',').filter(|part| !part.is_empty()).map(one).collect::<Option<_>>()?;
    all.is_sorted_by(|(a, _), (b, _)| a < b).then(|| all.into())
}

fn weak(text: &str) -> Option<Schedule> {
    let (seed, turns) = text.split_once(':')?;
    let turns: Schedule = turns.parse().ok().filter(|turns: &Schedule| turns.is_chosen() && turns.weak().is_none())?;
    Some(turns.in_memory(Some(seed.parse().ok()?)))
}

/// Numbers that follow from a seed (splitmix64).
#[derive(Clone)]
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// One below another.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end.max(1)
    }
}

/// Workgroups that are under way together where the order is not the usual one.
pub const TOGETHER: usize = 8;

/// Whose turn it is.
pub struct Turns {
    schedule: Schedule,
    numbers: Numbers,
    /// Of a random schedule; others have theirs by number.
    order: Vec<usize>,
}

impl Turns {
    pub fn new(schedule: Schedule) -> Turns {
        let seed = if let Schedule::Random(seed) = schedule { seed } else { 0 };
        Turns { schedule, numbers: Numbers::new(seed), order: Vec::new() }
    }

    pub fn are_usual(&self) -> bool {
        self.schedule == Schedule::Fair
    }

    /// Begins a round of `waves` waves.
    pub fn begin(&mut self, count: usize) {
        if let Schedule::Random(_) = self.schedule {
            self.order.clear();
            self.order.extend(0..count);
            for last in (1..count).rev() {
                let other = self.numbers.below(last as u64 + 1) as usize;
                self.order.swap(last, other);
            }
        }
    }

    /// Who is the `n`th of the round, and for how many instructions, at least about; `None`: that one is passed over.
    pub fn next(&mut self, n: usize, usual: u64) -> Option<(usize, u64)> {
        let who = self.order.get(n).copied().unwrap_or(n);
        match self.schedule {
            // Those of choices do not come here.
            Schedule::Fair | Schedule::Pct(_) | Schedule::Choices(_) | Schedule::Weak(..) => Some((who, usual)),
            Schedule::Alternate => Some((who, 1)),
            Schedule::Random(_) => {
                // Mostly short, now and then long.
                let (passes, slice) = (self.numbers.below(3) == 0, 1 << self.numbers.below(12));
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
        let chosen = [Schedule::Pct(Pct::of(5)), Schedule::Pct(Pct { seed: 1, depth: 7, steps: 20 })];
        let listed = [Schedule::Choices([].into()), Schedule::Choices([(0, 1), (7, 30)].into())];
        let weak =
            [Schedule::Pct(Pct::of(5)).in_memory(Some(9)), Schedule::Choices([].into()).in_memory(Some(u64::MAX))];
        let usual = [Schedule::Fair, Schedule::Alternate, Schedule::Random(0), Schedule::Random(u64::MAX)];
        for schedule in usual.into_iter().chain(chosen).chain(listed).chain(weak) {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        let numbers = ["random", "random:", "random:-1", "random:18446744073709551616"];
        let chosen = [
            "pct",
            "pct:",
            "pct:1:2",
            "pct:1:0:5",
            "pct:1:2:0",
            "pct:1:2:3:4",
            "choices",
            "choices:1",
            "choices:2=1,2=1",
            "weak:1",
            "weak:1:fair",
            "weak::pct:1",
            "weak:1:weak:1:pct:1",
        ];
        for text in ["", "unfair", "fair:1"].into_iter().chain(numbers).chain(chosen) {
            assert!(text.parse::<Schedule>().unwrap_err().contains("alternate, random:SEED"), "{text}");
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
