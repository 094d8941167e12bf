//! A workgroup as it was, to have it again.

use std::rc::Rc;

use super::{Running, State, Workgroup};
use crate::barrier::Barriers;
use crate::code::Place;
use crate::lower::Limits;
use crate::program::{Cursor, Program};
use crate::wave::KeptRegisters;

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

impl Workgroup {
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
}
