//! Waves go on: one of them for a while, or all by a block or two; and what becomes of each that stops.

#[cfg(target_arch = "x86_64")]
use super::rounds::Rounds;
use super::{Pace, Round, State, Workgroup};
use crate::error::{Fault, FaultKind};
use crate::op::Flow;
use crate::outcome::Trouble;
use crate::program::{Cursor, Program, Stop, Together};
use crate::strict;

impl Workgroup {
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
        self.came(program, number, stop, done)
    }

    /// Lets each wave that can go on do the block that it is before and the one behind it. Where that has brought all of them
    /// to the workgroup's barrier, they pass it. Rounds in which all waves do the same may follow, until the workgroup has done `far`
    /// instructions.
    pub fn advance_by_two(&mut self, program: &mut Program, far: u64) -> Result<Round, Trouble> {
        #[cfg(target_arch = "x86_64")]
        let (from, all_wait) = match self.rounds(program, far)? {
            Rounds::Passed { private } => return Ok(Round::Passed { private }),
            Rounds::Open(from, all_wait) => (from, all_wait),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let (from, all_wait, _) = (0, true, far);
        let first = self.waves[from..].iter().find(|running| running.state == State::Ready);
        let mut pair = first.and_then(|running| program.pair(running.cursor, self.waves.len()));
        let found = self.rest_by_two(program, pair.as_mut(), from);
        if let Some(pair) = &pair {
            program.count(pair);
        }
        Ok(if found? && all_wait { self.pass_together(program) } else { Round::Apart })
    }

    /// The same for the waves from one on: whether all of them wait then.
    fn rest_by_two(
        &mut self,
        program: &mut Program,
        mut pair: Option<&mut Together>,
        from: usize,
    ) -> Result<bool, Trouble> {
        let mut all_wait = true;
        for number in from..self.waves.len() {
            let running = &mut self.waves[number];
            if running.state != State::Ready {
                continue;
            }
            let stands = |pair: &&mut Together| matches!(running.cursor, Cursor::Block(at) if at == pair.at);
            let pace = match pair.as_deref_mut().filter(stands) {
                Some(pair) => {
                    let (stop, done) = program.run_pair(pair, &mut running.wave, &mut running.cursor);
                    self.came(program, number, stop, done)?
                }
                None => {
                    let slice = program.length(running.cursor) + 1;
                    self.advance_within(program, number, slice, u64::MAX)?
                }
            };
            all_wait &= pace == Pace::Waits;
        }
        Ok(all_wait)
    }

    /// Counts the `done` instructions of a wave, and sees to what has stopped it.
    #[inline(always)]
    pub(super) fn came(&mut self, program: &Program, number: usize, stop: Stop, done: u64) -> Result<Pace, Trouble> {
        let running = &mut self.waves[number];
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
}
