//! Running a launch: workers, workgroups and time slices.
//!
//! Each worker takes workgroups from a common counter and runs one at a time, its waves in turns. A workgroup that is
//! still not done after many turns may be waiting for another one (a lock, a producer), so the worker then takes a
//! further workgroup in and runs all that it has in turns: every workgroup that was started keeps making progress,
//! and those that were not get started as long as there is room.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::dispatch::{Dispatch, WAVE};
use crate::error::Fault;
use crate::lds::Lds;
use crate::memory::Memory;
use crate::program::{Cursor, Program, Stop};
use crate::report::{FindingKind, Kinds};
use crate::strict::{self, Party, RawFinding, Strict};
use crate::wave::Wave;

/// Instructions of a wave before the next one's turn.
const SLICE: u64 = 20_000;
/// Turns of a workgroup's waves before the next workgroup's.
const TURNS: u32 = 16;
/// Workgroups that a worker has under way at most.
pub const RESIDENT: usize = 32;

/// What the workers of a launch share.
pub struct Shared {
    pub dispatch: Dispatch,
    pub memory: Arc<Memory>,
    pub next_group: AtomicU64,
    pub groups: u64,
    pub stop: AtomicBool,
    /// What strict mode looks for, if it is on.
    pub strict: Option<Kinds>,
    /// Instructions after which a workgroup is given up.
    pub watchdog: u64,
    /// Where scratch begins, and the bytes of one workgroup's.
    pub scratch: u64,
    pub scratch_slot: u64,
}

/// Why a launch was stopped.
pub enum Trouble {
    Fault { pc: u64, text: String, workgroup: [u32; 3], wave: u32, fault: Fault },
    Watchdog { instructions: u64, pcs: Vec<String> },
}

/// What a worker brings home.
#[derive(Default)]
pub struct Outcome {
    pub groups: u64,
    pub waves: u64,
    pub trouble: Option<Trouble>,
    pub findings: Vec<(RawFinding, [u32; 3], u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier,
    Ended,
}

struct Group {
    id: [u32; 3],
    slot: usize,
    waves: Vec<(Box<Wave>, Cursor, State)>,
    instructions: u64,
}

impl Group {
    /// Strict mode at a barrier that all waves have come to, or ended.
    fn pass_barrier(&mut self) {
        let mut first: Option<Party> = None;
        let mut ended = None;
        for (number, (wave, _, state)) in self.waves.iter_mut().enumerate() {
            let Some(checks) = &mut wave.strict else { return };
            let party = Party { pc: checks.pc(), wave: number as u32 };
            match (*state, first) {
                (State::AtBarrier, None) => {
                    checks.pass_barrier();
                    first = Some(party);
                }
                (State::AtBarrier, Some(other)) if other.pc != party.pc => {
                    let message = "another wave of the workgroup waits at another barrier".to_string();
                    checks.report_pair(FindingKind::BarrierDivergence, message, other);
                }
                (State::Ended, _) => ended = Some(party),
                _ => {}
            }
        }
        let Some(first) = first else { return };
        if let (Some(ended), Some(checks)) = (ended, &mut self.waves[first.wave as usize].0.strict) {
            let message = "another wave of the workgroup has ended without coming to this barrier".to_string();
            checks.report_pair(FindingKind::BarrierDivergence, message, ended);
        }
    }
}

/// One worker: takes workgroups until none is left. `slot0` is its first scratch slot.
pub fn work(shared: &Shared, program: &mut Program, slot0: usize) -> Outcome {
    let mut worker = Worker {
        shared,
        program,
        slot0,
        free_waves: Vec::new(),
        free_slots: (0..RESIDENT).rev().collect(),
        outcome: Outcome::default(),
    };
    let mut resident: Vec<Group> = Vec::new();
    loop {
        if shared.stop.load(Relaxed) {
            break;
        }
        if resident.is_empty() && !worker.admit(&mut resident) {
            break;
        }
        let mut all_finished = true;
        let mut at = 0;
        while at < resident.len() {
            match worker.turns(&mut resident[at]) {
                Ok(true) => {
                    let group = resident.swap_remove(at);
                    worker.retire(group);
                }
                Ok(false) => {
                    all_finished = false;
                    at += 1;
                }
                Err(trouble) => {
                    shared.stop.store(true, Relaxed);
                    worker.outcome.trouble = Some(trouble);
                    // What strict mode found up to here still counts.
                    resident.into_iter().for_each(|group| worker.retire(group));
                    return worker.outcome;
                }
            }
        }
        if !all_finished && resident.len() < RESIDENT {
            worker.admit(&mut resident);
        }
    }
    worker.outcome
}

struct Worker<'a> {
    shared: &'a Shared,
    program: &'a mut Program,
    slot0: usize,
    #[allow(clippy::vec_box)] // a wave is large, and moves between lists
    free_waves: Vec<Box<Wave>>,
    free_slots: Vec<usize>,
    outcome: Outcome,
}

impl Worker<'_> {
    /// Starts the next workgroup; false if there is none.
    fn admit(&mut self, resident: &mut Vec<Group>) -> bool {
        let Some(&slot) = self.free_slots.last() else { return false };
        let number = self.shared.next_group.fetch_add(1, Relaxed);
        if number >= self.shared.groups {
            return false;
        }
        self.free_slots.pop();
        let d = &self.shared.dispatch;
        let id = d.group_id(number);
        let items = d.group_size(id).iter().product::<u32>();
        let lds = d.lds.next_multiple_of(4) as usize;
        let count = items.div_ceil(WAVE);
        let split = d.descriptor.tg_split();
        let checks = self.shared.strict.map(|kinds| (kinds, strict::Group::new(count as usize, lds, split)));
        let lds = Rc::new(Lds::new(lds));
        let scratch = self.shared.scratch + self.shared.scratch_slot * (self.slot0 + slot) as u64;
        let waves = (0..count)
            .map(|number| {
                let mut wave = self.free_waves.pop().unwrap_or_else(|| {
                    let mut wave = Box::new(Wave::new());
                    wave.memory = Arc::clone(&self.shared.memory);
                    wave
                });
                wave.lds = Rc::clone(&lds);
                wave.strict = checks.as_ref().map(|(kinds, group)| {
                    let own = scratch + u64::from(number) * d.wave_scratch();
                    let own = own..own + d.wave_scratch();
                    Box::new(Strict::new(*kinds, Rc::clone(group), number as u16, own))
                });
                d.start(&mut wave, id, number, scratch, self.shared.scratch_slot);
                (wave, Cursor::Address(d.entry, 0), State::Ready)
            })
            .collect();
        self.outcome.groups += 1;
        self.outcome.waves += u64::from(count);
        resident.push(Group { id, slot, waves, instructions: 0 });
        true
    }

    /// Gives a workgroup some turns; true when it is done.
    fn turns(&mut self, group: &mut Group) -> Result<bool, Trouble> {
        for _ in 0..TURNS {
            let mut ended = 0;
            let mut waiting = 0;
            for (number, (wave, cursor, state)) in group.waves.iter_mut().enumerate() {
                match state {
                    State::Ended => ended += 1,
                    State::AtBarrier => waiting += 1,
                    State::Ready => {
                        let (stop, done) = self.program.run(wave, cursor, SLICE);
                        group.instructions += done;
                        match stop {
                            Stop::Quantum => {}
                            Stop::Barrier => {
                                *state = State::AtBarrier;
                                waiting += 1;
                            }
                            Stop::End => {
                                *state = State::Ended;
                                ended += 1;
                            }
                            Stop::Fault { pc, text, refusal } => {
                                let fault = match (wave.fault.take(), refusal) {
                                    (Some(fault), _) => *fault,
                                    (None, refusal) => Fault {
                                        message: refusal.unwrap_or_else(|| "the instruction cannot go on".into()),
                                        lane: None,
                                        address: None,
                                        kind: crate::error::FaultKind::Unsupported,
                                    },
                                };
                                let wave = number as u32;
                                return Err(Trouble::Fault { pc, text, workgroup: group.id, wave, fault });
                            }
                        }
                    }
                }
            }
            if ended == group.waves.len() {
                return Ok(true);
            }
            // Ended waves no longer take part in barriers.
            if ended + waiting == group.waves.len() {
                group.pass_barrier();
                for (_, _, state) in &mut group.waves {
                    if *state == State::AtBarrier {
                        *state = State::Ready;
                    }
                }
            }
            if self.shared.stop.load(Relaxed) {
                return Ok(false);
            }
        }
        if group.instructions > self.shared.watchdog {
            let pcs = group.waves.iter().map(|(_, cursor, state)| match (state, cursor) {
                (State::Ended, _) => "ended".into(),
                (_, Cursor::Address(pc, _)) => format!("{pc:#x}"),
                (_, Cursor::Block(at)) => format!("{:#x}", self.program.block_address(*at)),
            });
            return Err(Trouble::Watchdog { instructions: group.instructions, pcs: pcs.collect() });
        }
        Ok(false)
    }

    fn retire(&mut self, group: Group) {
        self.free_slots.push(group.slot);
        for (number, (mut wave, _, _)) in group.waves.into_iter().enumerate() {
            if let Some(strict) = wave.strict.take() {
                let place = (group.id, number as u32);
                self.outcome.findings.extend(strict.into_findings().into_iter().map(|f| (f, place.0, place.1)));
            }
            self.free_waves.push(wave);
        }
    }
}
