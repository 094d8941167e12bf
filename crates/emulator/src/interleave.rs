//! Running a launch one wave at a time, so that it can be done again exactly, stopped anywhere, and ordered as one likes.
//!
//! One worker has all workgroups under way that have room, and one wave of one of them has its *turn*. Where choices
//! matter ([`Schedule::is_chosen`](crate::Schedule::is_chosen)) a turn goes from one instruction by which waves meet
//! ([`crate::meets`]) to the next; else it takes about [`SLICE`] instructions. Which wave's turn is next,
//! [`crate::choose`] says, or the caller.
//!
//! Turns end where blocks do, whatever the caller looks at on the way: a block in which something is to be seen
//! ([`Halts`](crate::program::Halts)) is run an instruction at a time by a second [`Program`], and the turn goes on behind
//! it. So what a launch does depends neither on where it was stopped nor on what was watched.

use std::sync::atomic::Ordering::Relaxed;

use crate::attention::Attention;
use crate::choose::{Chooser, WaveId};
use crate::outcome::Outcome;
use crate::outcome::Trouble;
use crate::program::{Cursor, Program};
use crate::shared::{Shared, Slots};
use crate::wave::Wave;
use crate::workgroup::{KeptGroup, Pace, Progress, State, Workgroup};

/// Instructions of a turn where no choices matter.
const SLICE: u64 = 20_000;
/// Instructions after which it is asked whether the launch is to go on.
const BETWEEN_QUESTIONS: u64 = 5_000;

/// How far [`Interleaving::go`] came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Went {
    /// All workgroups have ended, or the launch was told to stop.
    Over,
    /// It stands before a block that is not to be run as a whole, or in one.
    Halted,
}

/// The wave whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Which of the workgroups under way.
    at: usize,
    wave: usize,
    /// Instructions left of it.
    left: u64,
    /// Instructions left of the block that it is in the midst of.
    within: u64,
}

/// Some instructions that a wave has executed in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    pub wave: WaveId,
    /// Instructions of all waves before them, and of this wave.
    pub event: u64,
    pub retired: u64,
}

/// A launch as it was, but for memory.
pub struct Kept {
    groups: Vec<KeptGroup>,
    slots: Slots,
    next_cluster: u64,
    pub event: u64,
    last: Option<WaveId>,
    yielded: bool,
    logged: usize,
}

impl Kept {
    /// How much memory it takes, about.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().map(KeptGroup::bytes).sum()
    }
}

// SAFETY: what is counted by one thread in it ([`Rc`]) is the cluster of a workgroup's barriers, and launches with clusters
// are not kept: there is none.
unsafe impl Send for Kept {}

/// A launch under way.
pub struct Interleaving {
    pub shared: Shared,
    program: Program,
    /// A block for each instruction.
    steps: Option<Program>,
    groups: Vec<Workgroup>,
    slots: Slots,
    #[allow(clippy::vec_box)] // a wave is large, and moves between lists
    free: Vec<Box<Wave>>,
    pub outcome: Outcome,
    event: u64,
    unasked: u64,
    ready: Vec<WaveId>,
    last: Option<WaveId>,
    yielded: bool,
    turn: Option<Turn>,
    /// Who has run when, as far as it has ever come, and how much of that is before now.
    log: Option<Vec<Stretch>>,
    logged: usize,
    /// Whether all accesses to memory are heard of, not only those of single instructions.
    pub hears: bool,
    /// A wave has an instruction that it could not execute: blocks are half done.
    broken: bool,
}

// SAFETY: its workgroups hold counted references of one thread ([`Rc`]) to what their waves share (LDS, barriers), and
// nothing else does: nothing that it gives out has one. They all go with it from one thread to another.
unsafe impl Send for Interleaving {}

impl Interleaving {
    /// `steps`, which runs single instructions, is for callers who halt.
    pub fn new(shared: Shared, program: Program, steps: Option<Program>) -> Interleaving {
        let (slots, log) = (Slots::new(0..shared.slots), steps.as_ref().map(|_| Vec::new()));
        let (groups, free, ready, outcome) = (Vec::new(), Vec::new(), Vec::new(), Outcome::default());
        let (event, unasked, last, yielded, turn) = (0, 0, None, false, None);
        Interleaving {
            shared,
            program,
            steps,
            groups,
            slots,
            free,
            outcome,
            event,
            unasked,
            ready,
            last,
            yielded,
            turn,
            log,
            logged: 0,
            hears: false,
            broken: false,
        }
    }

    /// The same launch from its beginning, in memory as it is.
    pub fn restart(&mut self, shared: Shared) {
        for group in std::mem::take(&mut self.groups) {
            self.retire(group);
        }
        self.slots = Slots::new(0..shared.slots);
        self.shared = shared;
        self.outcome = Outcome::default();
        (self.event, self.unasked, self.last, self.yielded, self.turn) = (0, 0, None, false, None);
        (self.broken, self.logged) = (false, 0);
    }

    /// It will be done in another order from its beginning on.
    pub fn forget(&mut self) {
        self.log.iter_mut().for_each(Vec::clear);
        self.logged = 0;
    }

    /// What is needed to have it again as it is, but for memory: where no turn is under way, no strict mode looks, no caches
    /// are modelled, and waves wait for none but those of their own workgroups.
    pub fn keep(&self) -> Option<Kept> {
        let alone = self.shared.dispatch.cluster_size() == 1 && !self.shared.global.has_waited();
        let looks = self.shared.strict.is_some() || self.shared.caches.is_some();
        if self.turn.is_some() || self.broken || looks || !alone {
            return None;
        }
        let limits = self.program.limits();
        Some(Kept {
            groups: self.groups.iter().map(|group| group.keep(&self.program, limits)).collect(),
            slots: self.slots.clone(),
            next_cluster: self.shared.next_cluster.load(Relaxed),
            event: self.event,
            last: self.last,
            yielded: self.yielded,
            logged: self.logged,
        })
    }

    /// Makes it what it was.
    pub fn become_again(&mut self, kept: &Kept, shared: Shared) {
        self.restart(shared);
        self.logged = kept.logged;
        self.shared.next_cluster.store(kept.next_cluster, Relaxed);
        self.slots = kept.slots.clone();
        for was in &kept.groups {
            let (limits, cluster) = (self.program.limits(), (was.cluster, None));
            let mut group = Workgroup::start(&self.shared, was.id, cluster, was.slot, limits, &mut self.free);
            group.hear(self.hears || self.steps.is_none());
            group.become_again(was);
            self.groups.push(group);
        }
        (self.event, self.last, self.yielded) = (kept.event, kept.last, kept.yielded);
    }

    /// Instructions that all waves have retired.
    pub fn event(&self) -> u64 {
        self.event
    }

    pub fn program(&mut self) -> &mut Program {
        &mut self.program
    }

    /// The text of the instruction at an address that was run.
    pub fn text_at(&self, pc: u64) -> Option<String> {
        self.program.text_at(pc).or_else(|| self.steps.as_ref()?.text_at(pc))
    }

    pub fn groups(&self) -> &[Workgroup] {
        &self.groups
    }

    pub fn groups_mut(&mut self) -> &mut [Workgroup] {
        &mut self.groups
    }

    /// Which stretches of instructions waves have executed, in order.
    pub fn log(&self) -> &[Stretch] {
        &self.known()[..self.logged]
    }

    /// The same, with those that are known to follow because it has been there.
    pub fn known(&self) -> &[Stretch] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Whose turn it is.
    pub fn turn(&self) -> Option<WaveId> {
        self.turn.map(|turn| WaveId { group: self.groups[turn.at].number, wave: turn.wave as u32 })
    }

    /// Whether the turn begins with an instruction whose order among waves counts, whatever memory it accesses.
    pub fn syncs(&mut self) -> bool {
        let Some(turn) = self.turn else { return false };
        let running = &self.groups[turn.at].waves[turn.wave];
        self.program.ahead(&running.wave, running.cursor).is_ok_and(|ahead| ahead.syncs)
    }

    /// A workgroup under way.
    pub fn group(&self, number: u64) -> Option<&Workgroup> {
        self.groups.iter().find(|group| group.number == number)
    }

    /// The address of the instruction that a wave executes next.
    pub fn address(&self, id: WaveId) -> Option<u64> {
        let cursor = self.group(id.group)?.waves.get(id.wave as usize)?.cursor;
        let within = self.turn.is_some_and(|turn| turn.within != 0) && self.turn() == Some(id);
        Some(match &self.steps {
            Some(steps) if within => steps.address(cursor),
            _ => self.program.address(cursor),
        })
    }

    /// Whether a wave has tried what it could not execute.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether the wave whose turn it is is in the midst of a block.
    pub fn is_within(&self) -> bool {
        self.turn.is_some_and(|turn| turn.within != 0)
    }

    /// Ends the turn's bookkeeping: workgroups that have ended are done with, others begin, waves whose barrier is complete
    /// pass it. Those that can go on then, in the order of [`crate::choose`]; none when all is over.
    ///
    /// # Errors
    /// No wave can ever go on.
    pub fn look(&mut self) -> Result<&[WaveId], Trouble> {
        loop {
            let mut at = 0;
            while at < self.groups.len() {
                match self.groups[at].settle() {
                    Progress::Ended => {
                        let group = self.groups.remove(at);
                        self.retire(group);
                        continue;
                    }
                    Progress::Stuck if !self.groups[at].waits_globally() => {
                        let cluster = self.groups[at].cluster;
                        let mut mates = self.groups.iter().filter(|group| group.cluster == cluster);
                        if mates.all(Workgroup::is_stuck) {
                            return Err(self.groups[at].deadlock(&self.program));
                        }
                    }
                    Progress::Stuck | Progress::Running => {}
                }
                at += 1;
            }
            while self.groups.len() < self.shared.resident && self.admit() {}
            self.list();
            if self.groups.is_empty() {
                self.shared.caches.iter().for_each(|caches| caches.flush());
            }
            if !self.ready.is_empty() || self.groups.is_empty() {
                return Ok(&self.ready);
            }
            // All wait, and not for one another alone: another one may let them go on.
            if self.groups.iter().all(Workgroup::is_stuck) && !self.admit() {
                let mut trouble = self.groups[0].deadlock(&self.program);
                if let Trouble::Deadlock { to_come, .. } = &mut trouble {
                    *to_come = self.shared.clusters.saturating_sub(self.shared.next_cluster.load(Relaxed));
                }
                return Err(trouble);
            }
        }
    }

    /// Whether the wave that has run last sleeps.
    pub fn yielded(&self) -> bool {
        self.yielded
    }

    /// Those that can go on when [`Interleaving::look`] was last asked.
    pub fn ready(&self) -> &[WaveId] {
        &self.ready
    }

    fn list(&mut self) {
        self.ready.clear();
        for group in &self.groups {
            let waves = (0..).zip(&group.waves).filter(|(_, running)| running.state == State::Ready);
            self.ready.extend(waves.map(|(wave, _)| WaveId { group: group.number, wave }));
        }
        // Workgroups of clusters need not begin in the order of their numbers.
        self.ready.sort_unstable();
        if let Some(last) = self.last {
            let first = self.ready.partition_point(|wave| if self.yielded { *wave <= last } else { *wave < last });
            self.ready.rotate_left(first);
        }
    }

    /// The turn of one of those that can go on begins.
    pub fn begin(&mut self, chosen: usize) {
        let id = self.ready[chosen];
        let at = self.groups.iter().position(|group| group.number == id.group).unwrap_or_default();
        let left = if self.is_chosen() { 1 } else { SLICE };
        (self.last, self.yielded) = (Some(id), false);
        self.turn = Some(Turn { at, wave: id.wave as usize, left, within: 0 });
        if let Some(log) = &mut self.log
            && self.logged.checked_sub(1).is_none_or(|last| log[last].wave != id)
        {
            // What follows is known where it is done again.
            if self.logged == log.len() {
                let retired = self.groups[at].waves[id.wave as usize].instructions;
                log.push(Stretch { wave: id, event: self.event, retired });
            }
            self.logged += 1;
        }
    }

    fn is_chosen(&self) -> bool {
        self.shared.schedule.is_chosen()
    }

    /// Lets the wave whose turn it is go on, by whole blocks, for `most` instructions at the most. [`Pace::Halted`] before a
    /// block that is not to be run so.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub fn advance(&mut self, most: u64) -> Result<Pace, Trouble> {
        let Some(turn) = &mut self.turn else { return Ok(Pace::Waits) };
        if turn.within != 0 {
            return Ok(Pace::Halted);
        }
        let group = &mut self.groups[turn.at];
        let before = group.instructions;
        let pace = group.advance_within(&mut self.program, turn.wave, turn.left, most);
        self.shared.caches.iter().for_each(|caches| caches.settle());
        let done = group.instructions - before;
        self.event += done;
        self.unasked += done;
        turn.left = turn.left.saturating_sub(done);
        self.broken = pace.is_err();
        let pace = pace?;
        if pace != Pace::Halted {
            self.end_of_block(pace)?;
        }
        Ok(pace)
    }

    /// The wave whose turn it is executes one instruction, wherever it is.
    ///
    /// # Errors
    /// As of [`Interleaving::advance`].
    pub fn step(&mut self) -> Result<Pace, Trouble> {
        let (Some(turn), Some(steps)) = (&mut self.turn, &mut self.steps) else { return Ok(Pace::Waits) };
        let group = &mut self.groups[turn.at];
        let running = &mut group.waves[turn.wave];
        if turn.within == 0 {
            match self.program.ahead(&running.wave, running.cursor) {
                Ok(ahead) => {
                    (turn.within, running.cursor) = (ahead.length, Cursor::Place(ahead.place));
                }
                // There is no code, which running it says.
                Err(_) => turn.within = 1,
            }
        }
        let pace = group.advance_within(steps, turn.wave, 1, u64::MAX);
        self.shared.caches.iter().for_each(|caches| caches.settle());
        self.broken = pace.is_err();
        let pace = pace?;
        self.event += 1;
        self.unasked += 1;
        turn.left = turn.left.saturating_sub(1);
        turn.within -= 1;
        if turn.within == 0 || pace != Pace::Quantum {
            turn.within = 0;
            let running = &mut group.waves[turn.wave];
            running.cursor = Cursor::Place(steps.place(running.cursor));
            self.end_of_block(pace)?;
        }
        Ok(pace)
    }

    /// The turn is over, or goes on with another block.
    fn end_of_block(&mut self, pace: Pace) -> Result<(), Trouble> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        let group = &mut self.groups[turn.at];
        if pace == Pace::Quantum && turn.left != 0 {
            return Ok(());
        }
        if group.instructions > self.shared.watchdog.instructions {
            let places = group.places(&self.program);
            return Err(Trouble::Watchdog { instructions: group.instructions, time: None, places });
        }
        if matches!(pace, Pace::Quantum | Pace::Yielded) {
            let running = &group.waves[turn.wave];
            if pace == Pace::Quantum
                && self.shared.schedule.is_chosen()
                && let Ok(ahead) = self.program.ahead(&running.wave, running.cursor)
                && !ahead.meets
            {
                turn.left = 1;
                return Ok(());
            }
            group.land_all(&self.program)?;
        }
        self.yielded = pace == Pace::Yielded || pace == Pace::Quantum && !self.shared.schedule.is_chosen();
        self.turn = None;
        Ok(())
    }

    /// Goes on with the choices of `chooser` until all is over, it halts, or `until` instructions have been executed in all
    /// (then, too, it has halted). `attention` is asked now and then.
    ///
    /// # Errors
    /// Why the launch cannot go on.
    pub fn go(
        &mut self,
        chooser: &mut Chooser,
        attention: Option<&Attention<'_>>,
        until: u64,
    ) -> Result<Went, Trouble> {
        loop {
            if self.turn.is_none() {
                if self.look()?.is_empty() {
                    return Ok(Went::Over);
                }
                let chosen = chooser.choose(&self.ready, self.yielded);
                self.begin(chosen);
            }
            if self.advance(until.saturating_sub(self.event))? == Pace::Halted {
                return Ok(Went::Halted);
            }
            if self.unasked >= BETWEEN_QUESTIONS && !self.goes_on(attention)? {
                return Ok(Went::Over);
            }
        }
    }

    /// Whether the launch is to go on.
    fn goes_on(&mut self, attention: Option<&Attention<'_>>) -> Result<bool, Trouble> {
        self.shared.done.instructions.fetch_add(self.unasked, Relaxed);
        self.unasked = 0;
        if let (Some(time), Some(group)) = (self.shared.watchdog.is_late(), self.groups.first()) {
            let places = group.places(&self.program);
            return Err(Trouble::Watchdog { instructions: group.instructions, time: Some(time), places });
        }
        if let Some(attention) = attention {
            attention.ask(&self.shared.stop);
        }
        Ok(!self.shared.stop.load(Relaxed))
    }

    /// All of it, to its end; what was found, and the code that has run.
    pub fn finish(mut self, attention: Option<&Attention<'_>>) -> (Shared, Program, Outcome) {
        let mut chooser = Chooser::new(&self.shared.schedule);
        self.outcome.trouble = self.go(&mut chooser, attention, u64::MAX).err();
        self.shared.caches.iter().for_each(|caches| caches.flush());
        for group in std::mem::take(&mut self.groups) {
            self.retire(group);
        }
        self.shared.spare.give(self.free.into_iter());
        (self.shared, self.program, self.outcome)
    }

    /// Waves that are under way still hand in what they have found.
    pub fn give_up(&mut self) -> Outcome {
        self.shared.caches.iter().for_each(|caches| caches.flush());
        for group in std::mem::take(&mut self.groups) {
            self.retire(group);
        }
        self.turn = None;
        std::mem::take(&mut self.outcome)
    }

    /// Starts the workgroups of the next cluster; false if there is none, or no room.
    fn admit(&mut self) -> bool {
        let limits = self.program.limits();
        let groups = Workgroup::start_next(&self.shared, &mut self.slots, limits, &mut self.free);
        let Some(groups) = groups else { return false };
        for mut group in groups {
            group.hear(self.hears || self.steps.is_none());
            self.outcome.groups += 1;
            self.outcome.waves += group.waves.len() as u64;
            self.groups.push(group);
        }
        true
    }

    fn retire(&mut self, group: Workgroup) {
        self.shared.done.workgroups.fetch_add(1, Relaxed);
        self.slots.give(group.slot);
        let mut written = *self.program.written();
        if let Some(steps) = &self.steps {
            written.iter_mut().zip(steps.written()).for_each(|(all, more)| *all |= more);
        }
        let waves = group.retire(&self.shared, &mut self.outcome).into_iter();
        self.free.extend(waves.map(|mut wave| {
            wave.note_written(&written);
            wave
        }));
    }
}
