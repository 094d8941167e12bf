//! A workgroup under way: its waves, and where each of them is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::barrier::{Barriers, Cluster, WORKGROUP, Waits};
use crate::choose::WaveId;
use crate::code::Place;
use crate::error::{Fault, FaultKind};
use crate::lds::Lds;
use crate::lower::Limits;
use crate::observe::{Observer, WaveEvent};
use crate::op::Flow;
use crate::outcome::{Outcome, Trouble, Waiting};
use crate::program::{Cursor, Program, Stop, Together};
use crate::report::FindingKind;
use crate::shared::{Shared, Slots};
use crate::start;
use crate::strict::race::Watched;
use crate::strict::{self, Looks, Party, Strict};
use crate::wave::{KeptRegisters, Wave};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Ready,
    AtBarrier,
    Ended,
}

/// A wave of a workgroup.
pub struct Running {
    pub wave: Box<Wave>,
    pub cursor: Cursor,
    pub state: State,
    /// That it has retired.
    pub instructions: u64,
}

pub struct Workgroup {
    pub id: [u32; 3],
    /// x fastest.
    pub number: u64,
    /// Which of the launch's pieces of scratch memory it has.
    pub slot: usize,
    pub waves: Vec<Running>,
    /// Which of the launch's clusters it is of; without clusters, its number.
    pub cluster: u64,
    barriers: Rc<Barriers>,
    /// That all its waves have retired.
    pub instructions: u64,
}

/// A workgroup as it was.
pub struct KeptGroup {
    pub id: [u32; 3],
    pub cluster: u64,
    pub slot: usize,
    instructions: u64,
    barriers: Barriers,
    lds: Vec<u8>,
    waves: Vec<KeptWave>,
}

impl KeptGroup {
    /// How much memory it takes, about.
    pub fn bytes(&self) -> u64 {
        let waves = self.waves.iter().map(|wave| wave.registers.bytes() + size_of::<KeptWave>());
        (self.lds.len() + waves.sum::<usize>()) as u64
    }
}

struct KeptWave {
    registers: KeptRegisters,
    place: Place,
    state: State,
    instructions: u64,
}

/// What becomes of a wave that was let go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Its time is over.
    Quantum,
    /// It lets others run.
    Yielded,
    /// It has come to a block that it is not to run as a whole.
    Halted,
    /// It waits at a barrier.
    Waits,
    Ended,
}

/// What a round of turns has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// All waves that have not ended have come to a barrier, and passed it; whether all are before blocks that are private, as in
    /// [`Workgroup::are_private`].
    Passed {
        private: bool,
    },
    Apart,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Running,
    /// No wave goes on unless another workgroup of its cluster, or any that uses global wave sync, lets it.
    Stuck,
    Ended,
}

impl Workgroup {
    /// Starts the workgroups of the next cluster, where one worker has all of the launch; none if there is no other, or no
    /// room for it.
    #[allow(clippy::vec_box)] // as below
    pub fn start_next(
        shared: &Shared,
        slots: &mut Slots,
        limits: Limits,
        free: &mut Vec<Box<Wave>>,
    ) -> Option<Vec<Workgroup>> {
        let (number, size) = (shared.next_cluster.load(Relaxed), shared.dispatch.cluster_size());
        if number >= shared.clusters {
            return None;
        }
        let taken: Vec<usize> = (0..size).map_while(|_| slots.take()).collect();
        if taken.len() < size as usize {
            taken.into_iter().for_each(|slot| slots.give(slot));
            return None;
        }
        shared.next_cluster.store(number + 1, Relaxed);
        let cluster = (size > 1).then(|| Cluster::new(size));
        let start = |(rank, slot)| {
            let id = shared.dispatch.group_in_cluster(number, rank);
            let cluster = (number, cluster.as_ref().map(|cluster| (Rc::clone(cluster), rank)));
            Workgroup::start(shared, id, cluster, slot, limits, free)
        };
        Some((0..).zip(taken).map(start).collect())
    }

    /// The launch's workgroup with this id, in its initial state. Waves that have ended are used again. `cluster` is the
    /// number of its cluster and, if that has more workgroups, their barrier and which of them it is.
    #[allow(clippy::vec_box)] // a wave is large, and moves between lists
    pub fn start(
        shared: &Shared,
        id: [u32; 3],
        cluster: (u64, Option<(Rc<Cluster>, u32)>),
        slot: usize,
        limits: Limits,
        free: &mut Vec<Box<Wave>>,
    ) -> Workgroup {
        let d = &shared.dispatch;
        let number = d.group_number(id);
        let size = d.group_size(id);
        let items = size.iter().product::<u32>();
        let lds = d.lds.next_multiple_of(4) as usize;
        let count = d.waves(items);
        let checks = shared.strict.map(|kinds| {
            let watched = |races| Watched::new(Arc::clone(races), number, cluster.0, count as usize);
            let races = shared.races.as_ref().map(watched);
            (kinds, strict::Group::new(count as usize, lds, d.has_engines(), races, Looks::of(kinds)))
        });
        let lds = Rc::new(Lds::new(lds));
        let barriers = Barriers::new(count, d.facts.named_barriers(&d.descriptor), cluster.1);
        let barriers = Rc::new(barriers.with_global(Arc::clone(&shared.global)));
        let group = Self::beginning(shared, id, slot);
        let start = |wave_number: u32| {
            let mut wave = free.pop().unwrap_or_else(|| {
                let mut wave = Box::new(Wave::with_file(shared.spare.take()));
                wave.memory = Arc::clone(&shared.memory);
                wave
            });
            wave.lds = Rc::clone(&lds);
            wave.barrier = Rc::clone(&barriers);
            wave.strict = checks.as_ref().map(|(kinds, checks)| {
                let own = Self::scratch_of(shared, &group, wave_number);
                match wave.strict.take() {
                    Some(mut strict) => {
                        strict.restart(*kinds, Rc::clone(checks), wave_number as u16, own);
                        strict
                    }
                    None => Box::new(Strict::new(*kinds, Rc::clone(checks), wave_number as u16, own)),
                }
            });
            wave.observer = shared.watch.as_ref().map(|watch| {
                let registers = (limits.vgprs, limits.agprs);
                Box::new(Observer::new(Arc::clone(watch), number, wave_number, registers))
            });
            let id_of_wave = WaveId { group: number, wave: wave_number };
            wave.weak = shared.caches.as_ref().map(|caches| Box::new(caches.part(id_of_wave)));
            let listens = wave.observer.as_ref().is_some_and(|observer| observer.hears_memory());
            wave.is_watched = listens || wave.must_hear();
            shared.start.put(d, &mut wave, &group, wave_number);
            Running {
                wave,
                cursor: Cursor::Place(Place { pc: d.entry, mode: 0 }),
                state: State::Ready,
                instructions: 0,
            }
        };
        let waves = (0..count).map(start).collect();
        Workgroup { id, number, slot, waves, cluster: cluster.0, barriers, instructions: 0 }
    }

    /// What its waves begin with.
    fn beginning(shared: &Shared, id: [u32; 3], slot: usize) -> start::Group {
        let scratch = shared.scratch + shared.scratch_slot * slot as u64;
        start::Group { id, size: shared.dispatch.group_size(id), scratch, scratch_len: shared.scratch_slot }
    }

    /// The scratch memory of a wave of a group.
    fn scratch_of(shared: &Shared, group: &start::Group, wave: u32) -> Range<u64> {
        let size = shared.dispatch.wave_scratch();
        let start = group.scratch + u64::from(wave) * size;
        start..start + size
    }

    /// Whether another workgroup of the launch can begin in its waves, LDS and barriers, as nothing but strict mode looks at
    /// what they do.
    pub fn can_begin_again(&self) -> bool {
        let looked_at = |wave: &Wave| wave.observer.is_some() || wave.weak.is_some();
        !self.barriers.has_cluster() && !self.waves.iter().any(|running| looked_at(&running.wave))
    }

    /// Makes a workgroup that has ended another one of the same launch with as many waves, in its initial state.
    pub fn begin_again(&mut self, shared: &Shared, id: [u32; 3], cluster: u64, slot: usize) {
        let d = &shared.dispatch;
        let group = self.take_place(shared, (id, d.group_number(id)), cluster, slot);
        self.barriers.begin_again();
        for (number, running) in (0..).zip(&mut self.waves) {
            if let Some(strict) = &mut running.wave.strict {
                if number == 0 {
                    strict.begin_group_again(self.number, cluster);
                }
                strict.begin_again(Self::scratch_of(shared, &group, number));
            }
            shared.start.put(d, &mut running.wave, &group, number);
            running.cursor = Cursor::Place(Place { pc: d.entry, mode: 0 });
            (running.state, running.instructions) = (State::Ready, 0);
        }
    }

    /// The same, but for its waves and barriers; what the waves begin with.
    #[inline(always)]
    pub fn take_place(
        &mut self,
        shared: &Shared,
        (id, number): ([u32; 3], u64),
        cluster: u64,
        slot: usize,
    ) -> start::Group {
        (self.id, self.number, self.slot, self.cluster, self.instructions) = (id, number, slot, cluster, 0);
        if let Some(running) = self.waves.first() {
            running.wave.lds.clear();
        }
        Self::beginning(shared, id, slot)
    }

    /// Lets a wave go on for about `budget` instructions, if it can.
    pub fn advance(&mut self, program: &mut Program, number: usize, budget: u64) -> Result<(), Trouble> {
        match self.advance_within(program, number, budget, u64::MAX)? {
            // Its program may look for what engines do anywhere in the workgroup.
            Pace::Quantum | Pace::Yielded => self.land_all(program),
            _ => Ok(()),
        }
    }

    /// The same for `most` instructions at the most; what becomes of the wave.
    pub fn advance_within(
        &mut self,
        program: &mut Program,
        number: usize,
        budget: u64,
        most: u64,
    ) -> Result<Pace, Trouble> {
        let ready = self.waves.get_mut(number).filter(|r| r.state == State::Ready);
        let Some(running) = ready else { return Ok(Pace::Waits) };
        let (stop, done) = program.run_within(&mut running.wave, &mut running.cursor, budget, most);
        running.instructions += done;
        self.instructions += done;
        // The usual ones first.
        match stop {
            Stop::Quantum => Ok(Pace::Quantum),
            Stop::Barrier => {
                running.state = State::AtBarrier;
                Ok(Pace::Waits)
            }
            stop => self.stopped(program, number, stop),
        }
    }

    /// Lets each wave that can go on do the block that it is before and the one behind it. Where that has brought all of them
    /// to the workgroup's barrier, they pass it.
    pub fn advance_by_two(&mut self, program: &mut Program) -> Result<Round, Trouble> {
        let (mut all_wait, mut trouble) = (true, Ok(()));
        let first = self.waves.iter().find(|running| running.state == State::Ready);
        let mut pair = first.and_then(|running| program.pair(running.cursor, self.waves.len(), &running.wave));
        for number in 0..self.waves.len() {
            let running = &mut self.waves[number];
            if running.state != State::Ready {
                continue;
            }
            let stands = |pair: &&mut Together| matches!(running.cursor, Cursor::Block(at) if at == pair.at);
            let Some(pair) = pair.as_mut().filter(stands) else {
                let slice = program.length(running.cursor) + 1;
                match self.advance_within(program, number, slice, u64::MAX) {
                    Ok(pace) => all_wait &= pace == Pace::Waits,
                    Err(found) => {
                        trouble = Err(found);
                        break;
                    }
                }
                continue;
            };
            let (stop, done) = program.run_pair(pair, &mut running.wave, &mut running.cursor);
            running.instructions += done;
            self.instructions += done;
            match stop {
                Stop::Barrier => running.state = State::AtBarrier,
                Stop::Quantum => all_wait = false,
                stop => match self.stopped(program, number, stop) {
                    Ok(pace) => all_wait &= pace == Pace::Waits,
                    Err(found) => {
                        trouble = Err(found);
                        break;
                    }
                },
            }
        }
        if let Some(pair) = &pair {
            program.count(pair);
        }
        trouble?;
        Ok(if all_wait { self.pass_together(program) } else { Round::Apart })
    }

    /// What [`Workgroup::settle`] does where no wave can go on and all wait for all others, at one barrier.
    fn pass_together(&mut self, program: &Program) -> Round {
        let mut waiting = (0..).zip(&self.waves).filter(|(_, running)| running.state == State::AtBarrier);
        let Some((first, _)) = waiting.next() else { return Round::Apart };
        let waits = self.barriers.waits(first);
        let signalled = waits == Waits::For(WORKGROUP);
        let passes = match signalled {
            true => self.barriers.would_pass_own(first) && waiting.all(|(wave, _)| self.barriers.would_pass_own(wave)),
            false => waits == Waits::ForAll && waiting.all(|(wave, _)| self.barriers.waits(wave) == waits),
        };
        if !passes {
            return Round::Apart;
        }
        if !signalled {
            self.pass_barrier();
        }
        let mut private = true;
        for (number, running) in (0..).zip(&mut self.waves).filter(|(_, running)| running.state == State::AtBarrier) {
            running.state = State::Ready;
            if signalled {
                self.barriers.pass_own(number);
                if running.wave.strict.is_some() {
                    crate::scalar::barrier::passed(&mut running.wave);
                }
            }
            private &= program.is_private(running.cursor);
        }
        Round::Passed { private }
    }

    /// What becomes of a wave that has stopped.
    #[inline(always)]
    pub fn stopped(&mut self, program: &Program, number: usize, stop: Stop) -> Result<Pace, Trouble> {
        let running = &mut self.waves[number];
        Ok(match stop {
            Stop::Quantum => Pace::Quantum,
            Stop::Yielded => Pace::Yielded,
            Stop::Halted => Pace::Halted,
            Stop::Barrier => {
                running.state = State::AtBarrier;
                Pace::Waits
            }
            Stop::End => {
                running.state = State::Ended;
                self.land(program, number)?;
                self.end_of(number);
                Pace::Ended
            }
            Stop::Fault { pc, text, refusal } => {
                let fault = match (running.wave.fault.take(), refusal) {
                    (Some(fault), _) => *fault,
                    (None, refusal) => Fault {
                        message: refusal.unwrap_or_else(|| "the instruction cannot go on".into()),
                        lane: None,
                        address: None,
                        kind: FaultKind::Unsupported,
                    },
                };
                return Err(Trouble::Fault { pc, text, workgroup: self.id, wave: number as u32, fault });
            }
        })
    }

    /// Whether all waves, which are at their beginning, may do the first block and the next one at once.
    pub fn begin_together(&mut self, program: &mut Program, shared: &Shared) -> bool {
        let place = Place { pc: shared.dispatch.entry, mode: 0 };
        let Some(begin) = program.begin(place, &shared.start.constants) else { return false };
        self.waves.iter_mut().for_each(|running| running.cursor = begin);
        true
    }

    /// Whether no wave waits, and each that goes on is before a block that is private ([`crate::code::Block::is_private`]).
    pub fn are_private(&self, program: &Program) -> bool {
        self.waves.iter().all(|running| match running.state {
            State::Ready => program.is_private(running.cursor),
            State::AtBarrier => false,
            State::Ended => true,
        })
    }

    /// What the engines of all waves have still to do is done.
    pub fn land_all(&mut self, program: &Program) -> Result<(), Trouble> {
        (0..self.waves.len()).try_for_each(|number| self.land(program, number))
    }

    /// In strict mode: all that a wave's engines have still to do is done.
    fn land(&mut self, program: &Program, number: usize) -> Result<(), Trouble> {
        let wave = &mut self.waves[number].wave;
        if strict::engine::land_all(wave) == Flow::Next {
            return Ok(());
        }
        let pc = wave.strict.as_ref().map_or(0, |strict| strict.pc());
        let message = || "the access cannot be made".into();
        let unknown = || Fault { message: message(), lane: None, address: None, kind: FaultKind::Unsupported };
        let fault = wave.fault.take().map_or_else(unknown, |fault| *fault);
        let text = program.text_at(pc).unwrap_or_default();
        Err(Trouble::Fault { pc, text, workgroup: self.id, wave: number as u32, fault })
    }

    /// A wave has ended, and takes no part in the workgroup's barrier any more.
    fn end_of(&mut self, number: usize) {
        let running = &mut self.waves[number];
        let committed = self.barriers.is_committed(number as u32);
        let pc = running.wave.strict.as_ref().map_or(0, |checks| checks.pc());
        let arrival = self.barriers.end(number as u32, pc);
        if let (Some(arrival), Some(checks)) = (arrival, &mut running.wave.strict) {
            checks.arrive(arrival.key, arrival.completes);
            if committed {
                let message = "the wave ends between a signal of the workgroup's barrier and the end of that round";
                checks.report(FindingKind::BarrierDivergence, None, None, message.into());
            }
        }
        if self.waves.iter().all(|r| r.state == State::Ended) {
            self.barriers.end_workgroup();
        }
    }

    /// Lets the waves pass whose barrier is complete: one with a number when it has its signals, `s_barrier` when all
    /// have come. Waves that have ended no longer take part in the workgroup's.
    pub fn settle(&mut self) -> Progress {
        let (mut ready, mut ended, mut for_all, mut globally) = (0, 0, 0, 0);
        for number in 0..self.waves.len() {
            match self.waves[number].state {
                State::Ready => ready += 1,
                State::Ended => ended += 1,
                State::AtBarrier if self.barriers.waits(number as u32) == Waits::ForAll => for_all += 1,
                State::AtBarrier if self.barriers.pass(number as u32) => {
                    self.waves[number].state = State::Ready;
                    crate::scalar::barrier::passed(&mut self.waves[number].wave);
                    ready += 1;
                }
                State::AtBarrier if matches!(self.barriers.waits(number as u32), Waits::Globally(_)) => globally += 1,
                State::AtBarrier => {}
            }
        }
        match () {
            () if ended == self.waves.len() => Progress::Ended,
            () if ready != 0 => Progress::Running,
            // Who waits for other workgroups will come yet.
            () if for_all != 0 && globally == 0 => {
                self.pass_barrier();
                for running in self.waves.iter_mut().filter(|r| r.state == State::AtBarrier) {
                    running.state = State::Ready;
                }
                Progress::Running
            }
            () => Progress::Stuck,
        }
    }

    /// Whether a wave waits for global wave sync, and so perhaps for another workgroup.
    pub fn waits_globally(&self) -> bool {
        (0..).zip(&self.waves).any(|(number, running)| {
            running.state == State::AtBarrier && matches!(self.barriers.waits(number), Waits::Globally(_))
        })
    }

    /// What is needed to have it again as it is, outside of strict mode; its waves have registers of these limits.
    pub fn keep(&self, program: &Program, limits: Limits) -> KeptGroup {
        let wave = |Running { wave, cursor, state, instructions }: &Running| KeptWave {
            registers: wave.keep(limits.vgprs, limits.agprs),
            place: program.place(*cursor),
            state: *state,
            instructions: *instructions,
        };
        KeptGroup {
            id: self.id,
            cluster: self.cluster,
            slot: self.slot,
            instructions: self.instructions,
            barriers: self.barriers.as_of(&self.barriers),
            lds: self.waves.first().map(|running| running.wave.lds.bytes()).unwrap_or_default(),
            waves: self.waves.iter().map(wave).collect(),
        }
    }

    /// Makes a workgroup that has just been started what one was.
    pub fn become_again(&mut self, kept: &KeptGroup) {
        self.instructions = kept.instructions;
        self.barriers = Rc::new(self.barriers.as_of(&kept.barriers));
        if let Some(running) = self.waves.first() {
            running.wave.lds.store_bytes(0, &kept.lds);
        }
        for (running, was) in self.waves.iter_mut().zip(&kept.waves) {
            running.wave.barrier = Rc::clone(&self.barriers);
            running.wave.become_again(&was.registers);
            running.cursor = Cursor::Place(was.place);
            (running.state, running.instructions) = (was.state, was.instructions);
        }
    }

    /// Whether its waves' observers hear of accesses to memory.
    pub fn hear(&mut self, all: bool) {
        for Running { wave, .. } in &mut self.waves {
            let wanted = wave.must_hear();
            wave.is_watched = wanted || all && wave.observer.as_ref().is_some_and(|observer| observer.hears_memory());
        }
    }

    /// Behind barriers its waves begin their turns together.
    pub fn pause_at_barriers(&self) {
        self.barriers.pause();
    }

    /// Whether some wave waits for nothing.
    pub fn has_ready_waves(&self) -> bool {
        self.waves.iter().any(|running| running.state == State::Ready)
    }

    /// Whether no wave can go on by itself.
    pub fn is_stuck(&self) -> bool {
        self.waves.iter().enumerate().all(|(number, running)| match running.state {
            State::Ready => false,
            State::Ended => true,
            State::AtBarrier => !self.barriers.would_pass(number as u32),
        })
    }

    /// That it is stuck for good: where its waves are, and what they wait for.
    pub fn deadlock(&self, program: &Program) -> Trouble {
        let wave = |number: usize| {
            let (at, missing) = (self.address(program, number), || self.barriers.missing(number as u32));
            match self.waves[number].state {
                State::Ended => Waiting { what: format!("wave {number} has ended"), at: None, why: String::new() },
                State::Ready => {
                    Waiting { what: format!("wave {number} goes on at "), at: Some(at), why: String::new() }
                }
                State::AtBarrier if matches!(self.barriers.waits(number as u32), Waits::Globally(_)) => {
                    // The instruction itself has ended the block before, and takes eight bytes, whichever it is.
                    let at = at.wrapping_sub(8);
                    let text = program.text_at(at).unwrap_or_default();
                    let why = format!(": {text}, waits for {}", missing());
                    Waiting { what: format!("wave {number}, at "), at: Some(at), why }
                }
                State::AtBarrier => {
                    let why = format!(", waits for {}", missing());
                    Waiting { what: format!("wave {number}, before "), at: Some(at), why }
                }
            }
        };
        Trouble::Deadlock { workgroup: self.id, waits: (0..self.waves.len()).map(wave).collect(), to_come: 0 }
    }

    /// Where a wave goes on.
    fn address(&self, program: &Program, number: usize) -> u64 {
        program.address(self.waves[number].cursor)
    }

    /// Where the waves are that have not ended, with the instructions there and how many waves.
    pub fn places(&self, program: &Program) -> Vec<(u64, String, usize)> {
        let mut waves: BTreeMap<u64, usize> = BTreeMap::new();
        for running in self.waves.iter().filter(|running| running.state != State::Ended) {
            *waves.entry(program.address(running.cursor)).or_default() += 1;
        }
        waves.into_iter().map(|(pc, waves)| (pc, program.text_at(pc).unwrap_or_default(), waves)).collect()
    }

    /// Hands in what strict mode and observers have to say, and gives back the waves.
    #[allow(clippy::vec_box)] // a wave is large, and moves between lists
    pub fn retire(mut self, shared: &Shared, outcome: &mut Outcome) -> Vec<Box<Wave>> {
        self.hand_in(outcome);
        let mut waves = Vec::new();
        for (number, Running { mut wave, instructions, .. }) in self.waves.into_iter().enumerate() {
            if let (Some(mut observer), Some(watch)) = (wave.observer.take(), &shared.watch) {
                observer.tell();
                let mut seen = observer.seen;
                let items = shared.dispatch.group_size(self.id).iter().product::<u32>();
                let lanes = shared.dispatch.wave_items(items, number as u32);
                seen.waves.push(WaveEvent { workgroup: self.number, instructions, wave: number as u32, lanes });
                outcome.observation.collect(seen, watch.limit);
            }
            waves.push(wave);
        }
        waves
    }

    /// Hands in what strict mode has to say.
    pub fn hand_in(&mut self, outcome: &mut Outcome) {
        for (number, running) in (0..).zip(&mut self.waves) {
            if let Some(strict) = &mut running.wave.strict {
                outcome.findings.extend(strict.take_findings().into_iter().map(|found| (found, self.id, number)));
            }
        }
    }

    /// Strict mode at a barrier that all waves have come to, or ended.
    fn pass_barrier(&mut self) {
        let mut first: Option<Party> = None;
        let mut ended = None;
        for (number, running) in self.waves.iter_mut().enumerate() {
            let Some(checks) = &mut running.wave.strict else { return };
            let party = Party { pc: checks.pc(), wave: number as u32 };
            match (running.state, first) {
                (State::AtBarrier, None) => {
                    checks.pass_barrier();
                    first = Some(party);
                }
                (State::AtBarrier, Some(other)) if other.pc != party.pc => {
                    let message = "another wave of the workgroup waits at another barrier".to_string();
                    checks.report_pair(FindingKind::BarrierPlace, message, other);
                }
                (State::Ended, _) => ended = Some(party),
                _ => {}
            }
        }
        let Some(first) = first else { return };
        if let (Some(ended), Some(checks)) = (ended, &mut self.waves[first.wave as usize].wave.strict) {
            let message = "another wave of the workgroup has ended without coming to this barrier".to_string();
            checks.report_pair(FindingKind::BarrierDivergence, message, ended);
        }
    }
}
