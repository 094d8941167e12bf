//! A kernel as two functions: what is done once for a workgroup, and what all its waves do, one after the other ([`super::alike`]).

use super::alike::{Facts, Split, split};
use super::emit::{self, Beginning, Purpose};
use super::machine::Machine;
use super::phase::{Phase, What};
use super::run::{Entry, Left, Run};
use super::whole::read_first;
use crate::batch::Batch;
use crate::op::Flow;
use crate::wave::Wave;

/// Their code, which a [`Run`] keeps.
pub struct Apart {
    pub(super) once: Entry,
    /// What does waves whose lanes are all on, and what does any.
    pub(super) waves: [Entry; 2],
    pub(super) facts: Facts,
}

/// Where the functions begin in a run's code.
pub struct Emitted {
    pub once: usize,
    pub waves: [usize; 2],
    pub facts: Facts,
}

/// Adds both to a run's code, if it is such a kernel.
pub(super) fn emit(phases: &[Phase], machine: Machine, wave64: bool, code: &mut Vec<u8>) -> Option<Emitted> {
    let Split { once, each, facts } = split(phases, wave64)?;
    let mut add = |phases: &[Phase], purpose| {
        let emitted = emit::emit(phases, machine, wave64, purpose).ok()?;
        code.resize(code.len().next_multiple_of(64), 0xcc);
        let entries = [emitted.full, emitted.partial].map(|entry| code.len() + entry);
        code.extend(emitted.bytes);
        Some(entries)
    };
    let zeros: Vec<u16> = read_first(phases).into_iter().collect();
    let beginning = Beginning {
        zeros: &zeros,
        restored: &facts.restored,
        has_hardware: each.iter().any(|phase| matches!(phase.what, What::Hardware(_))),
        has_skip: each.iter().any(|phase| matches!(phase.what, What::Skip(..))),
    };
    let ([once, _], waves) = (add(&once, Purpose::Part)?, add(&each, Purpose::Waves(beginning))?);
    Some(Emitted { once, waves, facts })
}

impl Apart {
    /// Whether waves may begin so: `set` are the registers that they begin with something in, `differing` those of them in
    /// which not all waves of a workgroup have the same.
    pub fn suits(&self, set: u128, differing: &[u8]) -> bool {
        let is_set = |&code: &u8| set >> code & 1 != 0;
        !self.facts.homes.iter().any(is_set) && !differing.iter().any(|code| self.facts.begun.contains(code))
    }

    /// Does what is done once, in a wave that has just begun; whether that has been possible. If not, nothing has changed for it
    /// but SCC and what it remembers of memory.
    pub fn once(&self, run: &Run, w: &mut Wave) -> bool {
        matches!(run.enter(self.once, w), Ok(Flow::Next))
    }

    /// Has waves begin and end in the registers of `w`, which has done what is done once. If one was left in its middle, the
    /// interpreter has gone on with it, and this says how that has ended; [`Wave::batch`] says how many waves are left,
    /// it among them.
    #[inline(always)]
    pub fn waves(&self, run: &Run, w: &mut Wave, batch: Batch) -> Option<Flow> {
        let [full, partial] = self.waves;
        let is_full = batch.exec == w.all_lanes() && batch.last_exec == batch.exec;
        let all = batch.left;
        w.batch = batch;
        match run.enter(if is_full { full } else { partial }, w) {
            Ok(_) => None,
            Err(left) => {
                w.place.wave_in_group = all - w.batch.left;
                Some(self.finish(run, w, left))
            }
        }
    }

    /// The interpreter does what is left, with all registers where it looks for them.
    #[cold]
    #[inline(never)]
    fn finish(&self, run: &Run, w: &mut Wave, Left { phase, done }: Left) -> Flow {
        let number = self.facts.numbers[phase] as usize;
        for &(code, home) in &self.facts.moved[number] {
            w.s[usize::from(code)] = w.s[usize::from(home)];
        }
        run.finish(w, number, done)
    }

    /// Homes become what they are in all waves that begin.
    pub fn clear(&self, w: &mut Wave) {
        self.facts.homes.iter().for_each(|&home| w.s[usize::from(home)] = 0);
    }
}
