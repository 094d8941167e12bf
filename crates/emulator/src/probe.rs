//! What happens before an instruction beside the instruction itself: its registers are poisoned, it is watched, caches hear
//! of it, strict mode checks it.
//!
//! A block holds the probes of its instructions, and their micro-ops point at them. What they ask for is known when the
//! block is translated, so an instruction without a probe costs nothing.

use std::sync::Arc;

use luthier_isa::Inst;

use crate::lower::Limits;
use crate::observe::{Seen, Watch};
use crate::op::{Flow, Op};
use crate::poison::{Doses, Poison};
use crate::strict::{Checked, Looks};
use crate::wave::Wave;
use crate::weak::{self, mark::Mark};

/// What a launch's instructions are probed for.
#[derive(Clone, Debug, Default)]
pub struct Probing {
    /// What strict mode looks at, if it is on.
    pub strict: Option<Looks>,
    pub poison: Option<Poison>,
    pub watch: Option<Arc<Watch>>,
    /// Caches and stores under way are modelled.
    pub weak: bool,
}

impl Probing {
    /// Whether each instruction has a probe, whatever it does.
    pub fn looks_at_all(&self) -> bool {
        self.strict.is_some_and(Looks::at_all)
            || self.watch.as_ref().is_some_and(|watch| watch.instructions && watch.only.is_empty())
    }
}

/// The probe of one instruction.
#[derive(Default)]
pub struct Probe {
    dose: Option<Doses>,
    seen: Option<Seen>,
    /// What caches are to hear, and the address.
    mark: Option<(Mark, u64)>,
    pub checked: Option<Checked>,
}

impl Probe {
    /// The probe of an instruction at an address (as loaded), without what strict mode checks.
    pub fn of(probing: &Probing, inst: &Inst, pc: u64, limits: Limits) -> Probe {
        let dead = probing.poison.as_ref().and_then(|poison| (poison.0)(pc));
        Probe {
            dose: dead.map(|dead| Doses::new(&dead, pc, limits)),
            seen: probing.watch.as_ref().and_then(|watch| Seen::of(watch, inst, pc)),
            mark: if probing.weak { Mark::of(inst).map(|mark| (mark, pc)) } else { None },
            checked: None,
        }
    }

    /// Whether registers are poisoned, something is watched, or caches hear of it.
    pub fn acts(&self) -> bool {
        self.dose.is_some() || self.seen.is_some() || self.mark.is_some()
    }

    /// The micro-op that does that. It points at the probe, which stays where it is as long as the op is there.
    pub fn op(&self, inst: u16) -> Op {
        Op { run: before, imm: std::ptr::from_ref::<Probe>(self) as u64, inst, ..Op::NOTHING }
    }
}

/// The micro-op before an instruction that poisons registers, says what it sees, and tells caches.
fn before(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: the block that holds this op holds the boxed probe too, and neither moves nor drops it while the op can
    // run.
    let probe = unsafe { &*(op.imm as *const Probe) };
    if let Some(dose) = &probe.dose {
        dose.apply(w);
    }
    if let Some(seen) = &probe.seen {
        seen.tell(w);
    }
    if let Some((mark, pc)) = probe.mark {
        weak::before(w, mark, pc);
    }
    Flow::Next
}
