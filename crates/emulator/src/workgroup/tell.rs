//! What a workgroup tells: where its waves are, what they wait for, and what strict mode and observers have to say of them.

use std::collections::BTreeMap;

use super::{Running, State, Workgroup};
use crate::barrier::Waits;
use crate::observe::WaveEvent;
use crate::outcome::{Outcome, Trouble, Waiting};
use crate::program::Program;
use crate::shared::Shared;
use crate::wave::Wave;

impl Workgroup {
    /// Where the waves are that have not ended, with the instructions there and how many waves.
    pub fn places(&self, program: &Program) -> Vec<(u64, String, usize)> {
        let mut waves: BTreeMap<u64, usize> = BTreeMap::new();
        for running in self.waves.iter().filter(|running| running.state != State::Ended) {
            *waves.entry(program.address(running.cursor)).or_default() += 1;
        }
        waves.into_iter().map(|(pc, waves)| (pc, program.text_at(pc).unwrap_or_default(), waves)).collect()
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
}
