//! Memory results under way: the application's, from before the inserted code, and those of the inserted code itself.
//!
//! Operations that are issued in between only make a counter wait for more than it has to, so that the application's
//! need no other wait than where the inserted code began.

use luthier_isa::wait::{Counter, Wait, counted};
use luthier_isa::{Generation, Inst, Reg, RegSet};
use luthier_lifter::InFlight;

/// Counters, as fields of [`Wait`].
type Counters = [Option<u8>; Counter::ALL.len()];

fn counters(wait: &Wait) -> Counters {
    Counter::ALL.map(|counter| wait.get(counter))
}

/// A load of the inserted code: its register, and the counters that have yet to come down to zero.
#[derive(Clone, Copy, Debug)]
struct Own {
    reg: Reg,
    waits: [bool; Counter::ALL.len()],
}

#[derive(Debug)]
pub struct Flight<'a> {
    loads: &'a InFlight,
    /// The application's, as far as no wait has said that they have come.
    pending: RegSet,
    /// The lowest value that each counter was waited for.
    done: Counters,
    own: Vec<Own>,
}

impl<'a> Flight<'a> {
    /// `unused` are registers that no code of the application touches.
    pub fn new(loads: &'a InFlight, unused: &RegSet, generation: Generation) -> Flight<'a> {
        let mut pending = loads.registers();
        pending.subtract(unused);
        // More operations later than the counter can count, it has come: issuing waits where it is at its most.
        let may_come = |reg: &Reg| {
            let needs = loads.wait_for(&[*reg].into_iter().collect());
            needs.bounds().any(|(counter, n)| n < counter.most(generation))
        };
        let pending = pending.iter().filter(may_come).collect();
        Flight { loads, pending, done: [None; Counter::ALL.len()], own: Vec::new() }
    }

    /// The register may yet change, or be read, behind everybody's back.
    pub fn is_pending(&self, reg: Reg) -> bool {
        self.pending.contains(reg) || self.own.iter().any(|own| own.reg == reg)
    }

    pub fn is_quiet(&self) -> bool {
        self.pending.is_empty() && self.own.is_empty()
    }

    /// A register that the inserted code loads and has not waited for.
    pub fn left(&self) -> Option<Reg> {
        self.own.first().map(|own| own.reg)
    }

    /// The instruction is a wait.
    pub fn wait(&mut self, inst: &Inst) -> bool {
        let wait = Wait::of_instruction(inst);
        if wait.is_none() {
            return false;
        }
        let now = counters(&wait);
        for (done, now) in self.done.iter_mut().zip(now) {
            *done = match (*done, now) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        let arrived: Vec<Reg> = self.pending.iter().filter(|r| self.has_come(*r)).collect();
        arrived.into_iter().for_each(|r| self.pending.remove(r));
        for own in &mut self.own {
            own.waits.iter_mut().zip(now).filter(|(_, now)| *now == Some(0)).for_each(|(wait, _)| *wait = false);
        }
        self.own.retain(|own| own.waits.contains(&true));
        true
    }

    /// Each counter that the register waits for has been waited for.
    fn has_come(&self, reg: Reg) -> bool {
        let mut one = RegSet::EMPTY;
        one.insert(reg);
        let needs = counters(&self.loads.wait_for(&one));
        needs.iter().zip(self.done).all(|(needs, done)| needs.is_none_or(|n| done.is_some_and(|d| d <= n)))
    }

    /// A load outside of the hooks, which wait for their own.
    pub fn load(&mut self, inst: &Inst, reg: Reg) {
        let mut waits = [false; Counter::ALL.len()];
        // What counts accesses that may be replayed says nothing of their results.
        counted(inst).filter(|c| c.counter != Counter::X).for_each(|c| waits[c.counter as usize] = true);
        self.own.push(Own { reg, waits });
    }
}
