//! What all places of a call-graph component have in common.

use std::collections::HashMap;

use luthier_isa::{Reg, RegRange, RegSet};
use luthier_lifter::{FuncId, Program};

use crate::Plan;
use crate::check::Looked;
use crate::layout::chunk::Place;
use crate::machine::Machine;
use crate::machine::registers::Counts;
use crate::machine::scratch::OwnScratch;
use crate::pipeline::selection::Selection;
use crate::plan::Rejection;
use crate::template::prepared::Prepared;

/// Where a slot is from the wave's start to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotHome {
    /// An SGPR pair.
    Pair(Reg),
    /// Two lanes of a VGPR, from this one on.
    Lanes(Reg, u8),
}

impl SlotHome {
    /// The registers that are kept for it.
    pub fn range(self) -> RegRange {
        match self {
            SlotHome::Pair(low) => RegRange::new(low, 2),
            SlotHome::Lanes(vgpr, _) => RegRange::new(vgpr, 1),
        }
    }
}

pub struct Env<'a> {
    pub program: &'a Program,
    pub plan: &'a Plan,
    pub machine: &'a Machine,
    /// The plan's templates, each once.
    pub templates: &'a [Prepared],
    /// For each insertion, its template, if it has one.
    pub template_of: &'a [Option<u32>],
    /// Symbols that templates may refer to.
    pub symbols: &'a HashMap<String, Place>,
    pub selection: &'a Selection,
    /// Of the plan's slots; `None` for those that this component does not use.
    pub slots: Vec<Option<SlotHome>>,
    /// Why slots have no home here.
    pub no_slot: Option<Rejection>,
    /// Registers that hold values between places: the slots, and what hooks look at although the application does
    /// not need it any more.
    pub reserved: RegSet,
    /// State that is in no register file, and that hooks look at although the application does not need it any more.
    pub watched_state: RegSet,
    /// Those of the reserved registers that no vector instruction reads while the wave runs.
    pub unread: RegSet,
    /// Registers that no instruction of the component touches. They are free everywhere, whatever liveness says of
    /// callers and callees that it does not know.
    pub never_used: RegSet,
    /// Registers that hold nothing, as neither hardware nor the code sets them.
    pub unset: RegSet,
    /// How far hooks may go, and what all the kernels have already.
    pub limits: Counts,
    pub allocated: Counts,
    /// What the kernels have that may run a function; absent where that is the same.
    pub allocated_in: HashMap<FuncId, Counts>,
    /// All kernels start with rounding to nearest and all denormals kept, and nothing changes that.
    pub default_fp_mode: bool,
    /// Memory instructions in a row may be replayed after a page fault (XNACK).
    pub replays: bool,
    /// Scratch of our own, if the kernels can be given some.
    pub scratch: Option<OwnScratch>,
    /// What the checker knows of the hooks' arguments.
    pub looked: Looked<'a>,
}

impl Env<'_> {
    pub fn slot(&self, index: usize) -> Option<SlotHome> {
        self.slots.get(index).copied().flatten()
    }
    /// The registers that a wave has which runs the instruction at this address.
    pub fn allocated_at(&self, address: u64) -> Counts {
        let func = self.program.instr_at(address).map(|i| self.program.func_of(i));
        func.and_then(|f| self.allocated_in.get(&f)).copied().unwrap_or(self.allocated)
    }
    pub fn prepared(&self, insertion: u32) -> Option<&Prepared> {
        self.template_of[insertion as usize].map(|t| &self.templates[t as usize])
    }
}
