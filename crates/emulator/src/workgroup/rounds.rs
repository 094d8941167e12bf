//! Waves that all stand before one pair of blocks run it in turns, from barrier to barrier, and so on.
//!
//! A tree in LDS is made so. That all waves stand before the same block is asked once; and a barrier is no more than the place
//! where the next round begins, as all waves of the workgroup come to it.

use super::{Pace, State, Workgroup};
use crate::outcome::Trouble;
use crate::program::{Cursor, Program};

/// How far the waves have come.
pub(super) enum Rounds {
    /// All have passed a barrier; whether each may go on at once, as in [`super::Round::Passed`].
    Passed { private: bool },
    /// Waves from this one on have still to do the round; whether all others wait at the barrier.
    Open(usize, bool),
}

impl Workgroup {
    /// Has the waves run pairs for as long as one follows the other, and until the workgroup has done `far` instructions.
    pub(super) fn rounds(&mut self, program: &mut Program, far: u64) -> Result<Rounds, Trouble> {
        let Some(mut at) = self.common_block() else { return Ok(Rounds::Open(0, true)) };
        loop {
            let lap = program.lap(at, self.waves.len(), &self.waves[0].wave);
            let Some(mut lap) = lap.filter(|lap| !lap.signals() || self.barriers.is_even()) else {
                return Ok(Rounds::Open(0, true));
            };
            let (mut done, mut left) = (0, None);
            for (number, running) in self.waves.iter_mut().enumerate() {
                match lap.run(&mut running.wave) {
                    Ok(length) => {
                        running.instructions += length;
                        running.cursor = Cursor::Block(lap.next());
                        done += length;
                    }
                    Err(flow) => {
                        left = Some((number, flow));
                        break;
                    }
                }
            }
            self.instructions += done;
            let (next, private, signals, went) = (lap.next(), lap.goes_on(), lap.signals(), lap.went);
            program.count_ways(at, went);
            if let Some((number, flow)) = left {
                self.wait_for_others(number, signals);
                let Some(flow) = flow else { return Ok(Rounds::Open(number, true)) };
                let running = &mut self.waves[number];
                let (stop, done) = program.end_pair(at, &mut running.wave, &mut running.cursor, flow);
                let waits = self.came(program, number, stop, done)? == Pace::Waits;
                return Ok(Rounds::Open(number + 1, waits));
            }
            if !private || self.instructions >= far {
                return Ok(Rounds::Passed { private });
            }
            at = next;
        }
    }

    /// The block before which all waves stand, if strict mode does not follow them to the barrier.
    #[inline(always)]
    fn common_block(&self) -> Option<u32> {
        let Cursor::Block(at) = self.waves.first()?.cursor else { return None };
        let stands = |cursor| matches!(cursor, Cursor::Block(other) if other == at);
        self.waves
            .iter()
            .all(|running| running.state == State::Ready && stands(running.cursor) && running.wave.strict.is_none())
            .then_some(at)
    }

    /// The first `count` waves wait for all others.
    fn wait_for_others(&mut self, count: usize, signals: bool) {
        for (number, running) in (0..).zip(&mut self.waves[..count]) {
            running.state = State::AtBarrier;
            match signals {
                true => drop(self.barriers.meet(number)),
                false => self.barriers.wait_for_all(number),
            }
        }
    }
}
