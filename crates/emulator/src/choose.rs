//! Which wave goes on: one choice at a time, among all waves of all workgroups that are under way.
//!
//! Those that can go on are listed from the one that has run last, if it can, in the order of their workgroups and numbers,
//! and around; one that sleeps comes last. The usual choice is the first of them, so that a wave goes on until it waits,
//! sleeps or ends, and those that sleep take turns. One that waits for another one without sleeping would keep it from
//! running for ever: after [`PATIENCE`] choices in a row the next one is the usual choice.

use std::collections::{BTreeSet, HashMap};

use crate::schedule::{Choices, Numbers, Pct, Schedule};

/// Choices in a row that fall on one wave while others could go on.
pub const PATIENCE: u64 = 1000;

/// A wave of a launch: the number of its workgroup (x fastest), and its own in that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WaveId {
    pub group: u64,
    pub wave: u32,
}

/// Makes the choices of a launch.
#[derive(Clone)]
pub struct Chooser {
    policy: Policy,
    /// Choices so far, among several waves each.
    choices: u64,
    /// Those that were not the usual ones.
    made: Vec<(u64, u32)>,
    last: Option<WaveId>,
    /// Choices in a row that fell on it.
    in_row: u64,
}

#[derive(Clone)]
enum Policy {
    Usual,
    Pct(Priorities),
    Listed(Choices, usize),
}

/// What each wave's is; who is not asked for yet has none.
#[derive(Clone)]
struct Priorities {
    numbers: Numbers,
    of: HashMap<WaveId, i64>,
    /// Choices at which the wave that runs loses its own.
    changes: BTreeSet<u64>,
    /// Below all that were given.
    lowest: i64,
}

impl Priorities {
    fn new(pct: Pct) -> Priorities {
        let mut numbers = Numbers::new(pct.seed);
        let changes = (1..pct.depth).map(|_| numbers.below(pct.steps)).collect();
        Priorities { numbers, of: HashMap::new(), changes, lowest: 0 }
    }

    fn lower(&mut self, wave: WaveId) {
        self.lowest -= 1;
        self.of.insert(wave, self.lowest);
    }

    /// The first of the highest ones.
    fn highest(&mut self, ready: &[WaveId]) -> usize {
        let mut best = (i64::MIN, 0);
        for (number, wave) in ready.iter().enumerate() {
            let new = || (self.numbers.draw() >> 2) as i64 | 1;
            let own = *self.of.entry(*wave).or_insert_with(new);
            if own > best.0 {
                best = (own, number);
            }
        }
        best.1
    }
}

impl Chooser {
    /// Any schedule but those of choices has the usual ones.
    pub fn new(schedule: &Schedule) -> Chooser {
        let policy = match schedule.turns() {
            Schedule::Pct(pct) => Policy::Pct(Priorities::new(*pct)),
            Schedule::Choices(listed) => Policy::Listed(listed.clone(), 0),
            _ => Policy::Usual,
        };
        Chooser { policy, choices: 0, made: Vec::new(), last: None, in_row: 0 }
    }

    /// Which of those that can go on does; `yielded` if the one that has run last sleeps.
    pub fn choose(&mut self, ready: &[WaveId], yielded: bool) -> usize {
        let mut chosen = 0;
        if ready.len() > 1 {
            let number = self.choices;
            self.choices += 1;
            let usual = self.usual();
            chosen = match &mut self.policy {
                Policy::Usual => usual,
                Policy::Listed(listed, at) => match listed.get(*at) {
                    Some(&(here, which)) if here == number => {
                        *at += 1;
                        which as usize % ready.len()
                    }
                    _ => usual,
                },
                Policy::Pct(priorities) => {
                    let impatient = usual != 0 || priorities.changes.contains(&number);
                    if let Some(last) = self.last.filter(|_| yielded || impatient) {
                        priorities.lower(last);
                    }
                    priorities.highest(ready)
                }
            };
            if chosen != usual {
                self.made.push((number, chosen as u32));
            }
        }
        self.note(ready[chosen]);
        chosen
    }

    /// The usual choice among several.
    pub fn usual(&self) -> usize {
        (self.in_row >= PATIENCE).into()
    }

    /// A choice was made elsewhere: `chosen` of those that can go on.
    pub fn told(&mut self, ready: &[WaveId], chosen: usize) {
        if ready.len() > 1 {
            if chosen != self.usual() {
                self.made.push((self.choices, chosen as u32));
            }
            self.choices += 1;
        }
        self.note(ready[chosen]);
    }

    fn note(&mut self, wave: WaveId) {
        if self.last == Some(wave) {
            self.in_row += 1;
        } else {
            (self.last, self.in_row) = (Some(wave), 0);
        }
    }

    /// How many choices there were so far.
    pub fn count(&self) -> u64 {
        self.choices
    }

    /// The schedule that makes the same choices again.
    pub fn made(&self) -> Schedule {
        Schedule::Choices(self.made.as_slice().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waves(numbers: &[u32]) -> Vec<WaveId> {
        numbers.iter().map(|&wave| WaveId { group: 0, wave }).collect()
    }

    /// Three waves that go on for ever, listed from the last one on; gives who ran.
    fn play(chooser: &mut Chooser, turns: usize) -> Vec<u32> {
        let mut last = 0;
        let mut all = Vec::new();
        for _ in 0..turns {
            let ready = waves(&[last, (last + 1) % 3, (last + 2) % 3]);
            last = ready[chooser.choose(&ready, false)].wave;
            all.push(last);
        }
        all
    }

    #[test]
    fn what_priorities_chose_can_be_chosen_again_by_a_list() {
        for seed in 0..20 {
            let mut pct = Chooser::new(&Schedule::Pct(Pct { seed, depth: 6, steps: 50 }));
            let first = play(&mut pct, 4000);
            assert!((0..3).all(|wave| first.contains(&wave)), "seed {seed}: a wave waits for ever");
            let mut listed = Chooser::new(&pct.made());
            assert_eq!(play(&mut listed, 4000), first, "seed {seed}");
        }
    }

    #[test]
    fn a_wave_that_spins_lets_others_run_at_last() {
        let ran = play(&mut Chooser::new(&Schedule::Choices([].into())), 3 * PATIENCE as usize + 10);
        assert!((0..3).all(|wave| ran.contains(&wave)));
    }

    #[test]
    fn who_sleeps_loses_its_priority() {
        let mut chooser = Chooser::new(&Schedule::Pct(Pct::of(1)));
        let first = chooser.choose(&waves(&[0, 1]), false);
        let last = waves(&[0, 1])[first];
        let other = waves(&[1, 0])[first];
        assert_eq!(chooser.choose(&[other, last], true), 0);
    }
}
