//! Barriers of a workgroup: which waves wait, which of them pass, and what that is to strict mode.

use super::{Progress, Round, State, Workgroup};
use crate::barrier::{WORKGROUP, Waits};
use crate::program::Program;
use crate::report::FindingKind;
use crate::strict::Party;

impl Workgroup {
    /// Behind barriers its waves begin their turns together.
    pub fn pause_at_barriers(&self) {
        self.barriers.pause();
    }

    /// What [`Workgroup::settle`] does where no wave can go on and all wait for all others, at one barrier.
    pub(super) fn pass_together(&mut self, program: &Program) -> Round {
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

    /// A wave has ended, and takes no part in the workgroup's barrier any more.
    pub(super) fn end_of(&mut self, number: usize) {
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

    /// Whether a wave waits for global wave sync, and so perhaps for another workgroup.
    pub fn waits_globally(&self) -> bool {
        (0..).zip(&self.waves).any(|(number, running)| {
            running.state == State::AtBarrier && matches!(self.barriers.waits(number), Waits::Globally(_))
        })
    }

    /// Whether no wave can go on by itself.
    pub fn is_stuck(&self) -> bool {
        self.waves.iter().enumerate().all(|(number, running)| match running.state {
            State::Ready => false,
            State::Ended => true,
            State::AtBarrier => !self.barriers.would_pass(number as u32),
        })
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
