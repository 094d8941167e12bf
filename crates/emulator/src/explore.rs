//! One launch under many schedules: which outcomes there are.
//!
//! * **PCT**: random priorities, by seeds ([`crate::schedule::Pct`]).
//! * **By order**: all orders of conflicting accesses, so that at the end there are no others. Accesses conflict that reach
//!   the same bytes, one of them writing; of barriers with numbers and of global wave sync all do. A wave is tried at an
//!   earlier choice only where what it does now conflicts with what was done there (dynamic partial-order reduction:
//!   Flanagan and Godefroid, POPL 2005). Sleep sets, which would leave more schedules out, are not used: with them, the wave
//!   that this adds can be one that sleeps, and orders are lost (Abdulla and others, POPL 2014, add another one then).
//! * **Bounded**: all schedules that depart from the usual order at most N times (after Musuvathi and Qadeer, PLDI
//!   2007, and Emmi and others, POPL 2011), those that only differ in the order of what does not conflict included.
//!
//! Memory does as it is told at once: these are the outcomes of sequentially consistent interleavings. With a stage whose
//! schedule is [`Schedule::Weak`], it answers as weakly as caches let it ([`crate::weak`]); what it answers is up to seeds, so
//! that there are priorities only.

use std::collections::BTreeMap;

use crate::choose::WaveId;
use crate::error::EmuError;
use crate::observe::{MemoryEvent, Space};
use crate::outcome::Trouble;
use crate::report::{Finding, FindingKind};
use crate::schedule::{Pct, Schedule};
use crate::stage::{Stage, StaleRead};
use crate::workgroup::Pace;

/// Which schedules are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// Priorities of these seeds on, lost this often.
    Pct {
        seed: u64,
        depth: u32,
    },
    Order,
    /// Departures from the usual order at most: running waves are interrupted, or those that sleep go on at once.
    Preemptions(u32),
}

/// What schedules lead to: the same memory, or a stop at the same instruction.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What makes two outcomes one, across searches of one launch.
    pub key: String,
    /// The first one; it repeats it.
    pub schedule: Schedule,
    pub schedules: u64,
    /// Why the launch was stopped.
    pub error: Option<EmuError>,
    /// Of the first one.
    pub findings: Vec<Finding>,
    /// Under any of them.
    pub kinds: Vec<FindingKind>,
    /// Loads that had an older value than there was, in weak memory. Of the first one.
    pub stale: Vec<StaleRead>,
}

#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// In the order in which they were found.
    pub outcomes: Vec<Outcome>,
    /// Schedules that were run to their end.
    pub schedules: u64,
    /// There are no others.
    pub exhausted: bool,
    /// Choices of the longest one.
    pub choices: u64,
}

/// How much longer than the first schedule others are varied, and at least: waves that wait in loops have no end of orders.
const LONGER: usize = 3;
const LEAST: usize = 200;

struct Explorer<'a> {
    stage: &'a mut Stage,
    go_on: &'a dyn Fn() -> bool,
    most: u64,
    found: BTreeMap<String, usize>,
    explored: Explored,
    /// What memory answers by, from this seed on.
    weak: Option<u64>,
}

/// Tries `most` schedules at most; memory is what it was again. `stage` was made to listen, with a schedule of choices.
///
/// # Errors
/// The launch cannot be taken back; `go_on` said no; weak memory is to be explored by something else than priorities.
pub fn explore(stage: &mut Stage, by: By, most: u64, go_on: &dyn Fn() -> bool) -> Result<Explored, EmuError> {
    let weak = stage.choices().weak();
    if weak.is_some() && !matches!(by, By::Pct { .. }) {
        return Err(stage.refuses("weak memory is explored by pct: what it answers is up to seeds".to_owned()));
    }
    let mut explorer = Explorer { stage, go_on, most, found: BTreeMap::new(), explored: Explored::default(), weak };
    explorer.stage.hold_calls();
    let searched = match by {
        By::Pct { seed, depth } => explorer.by_priorities(seed, depth),
        By::Order => explorer.all(None),
        By::Preemptions(most) => explorer.all(Some(most)),
    };
    let explored = explorer.explored;
    let taken_back = stage.restart();
    stage.go_on_with_calls()?;
    searched.and(taken_back).map(|()| explored)
}

/// One turn that was taken in a schedule, and what else was possible.
struct Node {
    ready: Vec<WaveId>,
    taken: WaveId,
    foot: Foot,
    /// Who else was tried here.
    tried: Vec<WaveId>,
    wanted: Vec<WaveId>,
    /// Departures from the usual order up to here, this turn included.
    departures: u32,
}

impl Node {
    /// Departures if this one goes on.
    fn costs(&self, wave: WaveId, before: u32) -> u32 {
        before + u32::from(self.ready.first() != Some(&wave))
    }
}

/// What a turn did to what others may see.
#[derive(Clone, Debug, Default)]
struct Foot {
    /// Space, first address, the one behind the last, whether it writes. LDS is told apart by its workgroup.
    accesses: Vec<(u64, u64, u64, bool)>,
    syncs: bool,
}

impl Foot {
    fn of(events: &[MemoryEvent], syncs: bool) -> Foot {
        let mut accesses: Vec<(u64, u64, u64, bool)> = Vec::new();
        for event in events {
            let space = event.kind >> 4;
            let room = match space {
                s if s == Space::Lds as u8 => event.workgroup + 1,
                s if s == Space::Scratch as u8 => continue,
                _ => 0,
            };
            let (from, to, writes) = (event.address, event.address + u64::from(event.size), event.kind & 3 != 0);
            match accesses.last_mut() {
                Some((last, _, end, wrote)) if *last == room && *end == from && *wrote == writes => *end = to,
                _ => accesses.push((room, from, to, writes)),
            }
        }
        Foot { accesses, syncs }
    }

    fn conflicts(&self, other: &Foot) -> bool {
        let meet =
            |a: &(u64, u64, u64, bool), b: &(u64, u64, u64, bool)| a.0 == b.0 && a.1 < b.2 && b.1 < a.2 && (a.3 || b.3);
        self.syncs && other.syncs || self.accesses.iter().any(|a| other.accesses.iter().any(|b| meet(a, b)))
    }
}

/// How one schedule ended.
enum End {
    Over,
    Stopped(Trouble),
}

impl Explorer<'_> {
    fn may_go_on(&self) -> Result<(), EmuError> {
        self.stage.may_call()?;
        if (self.go_on)() { Ok(()) } else { Err(EmuError::Interrupted) }
    }

    /// As many seeds as there are to try, in turns of each depth; over how many choices they spread is about what the ones before
    /// had.
    fn by_priorities(&mut self, seed: u64, depth: u32) -> Result<(), EmuError> {
        let mut steps = 1;
        for number in 0..self.most {
            self.may_go_on()?;
            let depth = if depth < 2 { 1 } else { 2 + (number % u64::from(depth - 1)) as u32 };
            let schedule = Schedule::Pct(Pct { seed: seed.wrapping_add(number), depth, steps });
            let schedule = schedule.in_memory(self.weak.map(|first| first.wrapping_add(number)));
            self.stage.begin_again(&schedule)?;
            let end = self.run_chosen()?;
            let count = self.stage.chooser.count().max(1);
            steps = if number == 0 { count } else { steps.midpoint(count) };
            self.note(end, schedule);
        }
        Ok(())
    }

    /// A schedule whose choices are made by its chooser.
    fn run_chosen(&mut self) -> Result<End, EmuError> {
        loop {
            match self.stage.play.look() {
                Err(trouble) => return Ok(End::Stopped(trouble)),
                Ok([]) => return Ok(End::Over),
                Ok(_) => {}
            }
            let chosen = self.stage.chooser.choose(self.stage.play.ready(), self.stage.play.yielded());
            self.stage.play.begin(chosen);
            if let Err(trouble) = self.turn(false) {
                return Ok(End::Stopped(trouble));
            }
        }
    }

    /// The turn that has begun, to its end; what it did.
    fn turn(&mut self, wanted: bool) -> Result<Foot, Trouble> {
        let play = &mut self.stage.play;
        let Some(id) = play.turn() else { return Ok(Foot::default()) };
        let syncs = wanted && play.syncs();
        let mut paced = Ok(Pace::Quantum);
        while play.turn().is_some() && paced.is_ok() {
            paced = play.advance(u64::MAX);
        }
        let group = play.groups_mut().iter_mut().find(|group| group.number == id.group);
        let observer = group.and_then(|group| group.waves[id.wave as usize].wave.observer.as_mut());
        let events = observer.map(|observer| std::mem::take(&mut observer.seen.memory)).unwrap_or_default();
        paced.map(|_| if wanted { Foot::of(&events, syncs) } else { Foot::default() })
    }

    /// All schedules, or all with at most this number of interruptions.
    fn all(&mut self, bound: Option<u32>) -> Result<(), EmuError> {
        let mut nodes: Vec<Node> = Vec::new();
        let (mut complete, mut longest) = (true, usize::MAX);
        while self.explored.schedules < self.most {
            self.may_go_on()?;
            self.stage.begin_again(&Schedule::Choices([].into()))?;
            let end = match self.run_once(&mut nodes, bound, longest) {
                Some(end) => end,
                // Up to here it was varied; it ends as usual.
                None => {
                    complete = false;
                    self.run_chosen()?
                }
            };
            longest = longest.min((LONGER * nodes.len()).max(LEAST));
            complete &= !matches!(end, End::Stopped(Trouble::Watchdog { .. }));
            let schedule = self.stage.choices();
            self.note(end, schedule);
            if !next(&mut nodes, bound) {
                self.explored.exhausted = complete;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The schedule that begins with the turns of `nodes`, and goes on as usual; `None` after the `longest` number of turns.
    fn run_once(&mut self, nodes: &mut Vec<Node>, bound: Option<u32>, longest: usize) -> Option<End> {
        let known = nodes.len();
        for depth in 0..longest {
            let ready = match self.stage.play.look() {
                Err(trouble) => return Some(stopped(nodes, trouble)),
                Ok([]) => return Some(End::Over),
                Ok(ready) => ready.to_vec(),
            };
            if depth >= nodes.len() {
                let last = nodes.last();
                let before = last.map_or(0, |last| last.departures);
                // As usual, so that one that spins lets others go on.
                let usual = self.stage.chooser.usual() % ready.len();
                let taken = ready[usual];
                let wanted = if bound.is_some() { ready.clone() } else { vec![taken] };
                let (foot, tried) = (Foot::default(), Vec::new());
                let mut node = Node { ready, taken, foot, tried, wanted, departures: before };
                node.departures = node.costs(taken, before);
                nodes.push(node);
            }
            let taken = nodes[depth].taken;
            let chosen = self.stage.play.ready().iter().position(|wave| *wave == taken).unwrap_or_default();
            self.stage.chooser.told(self.stage.play.ready(), chosen);
            self.stage.play.begin(chosen);
            match self.turn(bound.is_none()) {
                Err(trouble) => return Some(stopped(nodes, trouble)),
                Ok(foot) => nodes[depth].foot = foot,
            }
            if bound.is_none() && depth + 1 >= known {
                want_earlier(nodes, depth);
            }
        }
        None
    }

    fn note(&mut self, end: End, schedule: Schedule) {
        self.explored.schedules += 1;
        self.explored.choices = self.explored.choices.max(self.stage.chooser.count());
        let stale = self.stage.stale();
        let outcome = self.stage.play.give_up();
        let findings = self.stage.tell_all(outcome.findings);
        let (key, error) = match end {
            End::Over => (format!("memory {:x}", self.stage.digest()), None),
            End::Stopped(trouble) => {
                let error = self.stage.error(trouble);
                let key = match &error {
                    EmuError::Fault { pc, .. } => format!("fault {pc:x}"),
                    EmuError::Deadlock { .. } => "deadlock".to_owned(),
                    EmuError::Watchdog { .. } => "endless".to_owned(),
                    other => other.to_string(),
                };
                (key, Some(error))
            }
        };
        let kinds = findings.iter().map(|finding| finding.kind).collect::<Vec<_>>();
        let outcomes = &mut self.explored.outcomes;
        let number = *self.found.entry(key.clone()).or_insert(outcomes.len());
        if number == outcomes.len() {
            outcomes.push(Outcome { key, schedule, schedules: 0, error, findings, kinds: Vec::new(), stale });
        }
        let outcome = &mut outcomes[number];
        outcome.schedules += 1;
        outcome.kinds.extend(kinds);
        outcome.kinds.sort_unstable();
        outcome.kinds.dedup();
    }
}

/// The launch was stopped: what other waves would have done next might matter to all that was before. (Of one that does not
/// end, not all orders are tried anyway.)
fn stopped(nodes: &mut [Node], trouble: Trouble) -> End {
    if !matches!(trouble, Trouble::Watchdog { .. }) {
        nodes.iter_mut().for_each(|node| node.wanted = node.ready.clone());
    }
    End::Stopped(trouble)
}

/// Who has just had its turn is to have it at each earlier turn of another wave's that conflicts.
fn want_earlier(nodes: &mut [Node], depth: usize) {
    let (earlier, now) = nodes.split_at_mut(depth);
    let (taken, foot) = (now[0].taken, &now[0].foot);
    for node in earlier.iter_mut().filter(|node| node.taken != taken && node.foot.conflicts(foot)) {
        let more = if node.ready.contains(&taken) { vec![taken] } else { node.ready.clone() };
        for wave in more {
            if !node.wanted.contains(&wave) {
                node.wanted.push(wave);
            }
        }
    }
}

/// Goes on to the next schedule; false if there is none.
fn next(nodes: &mut Vec<Node>, bound: Option<u32>) -> bool {
    while let Some(mut node) = nodes.pop() {
        let before = nodes.last().map_or(0, |last| last.departures);
        node.tried.push(node.taken);
        let is_new =
            |wave: &&WaveId| !node.tried.contains(*wave) && bound.is_none_or(|most| node.costs(**wave, before) <= most);
        if let Some(&wave) = node.wanted.iter().find(is_new) {
            node.taken = wave;
            node.departures = node.costs(wave, before);
            nodes.push(node);
            return true;
        }
    }
    false
}
