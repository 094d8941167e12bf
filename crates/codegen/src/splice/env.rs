//! What all places of a call-graph component have in common.

use std::collections::HashMap;

use luthier_isa::RegSet;
use luthier_lifter::{FuncId, Program};
use luthier_loader::Kernel;

use super::slots::Slots;
use crate::Plan;
use crate::check::looked::Looked;
use crate::component::asked::Asked;
use crate::layout::chunk::Place;
use crate::machine::Machine;
use crate::machine::entry::Begins;
use crate::machine::registers::Counts;
use crate::machine::scratch::OwnScratch;
use crate::plan::selection::Selection;
use crate::plan::{Arg, Body};
use crate::template::prepared::Prepared;

/// A hook at a place: one of the plan's insertions, or one of ours that ends what the wave carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookId {
    /// By index into the plan's insertions.
    Insertion(u32),
    /// By index into [`Slots::endings`].
    Ending(u32),
}

pub struct Env<'a> {
    pub program: &'a Program,
    pub plan: &'a Plan,
    pub machine: &'a Machine,
    /// Those that begin in the component.
    pub kernels: Vec<&'a Kernel>,
    /// The plan's templates, each once.
    pub templates: &'a [Prepared],
    /// For each insertion, its template, if it has one.
    pub template_of: &'a [Option<u32>],
    /// Symbols that templates may refer to.
    pub symbols: &'a HashMap<String, Place>,
    pub selection: &'a Selection,
    /// What each wave carries, and where.
    pub slots: Slots,
    /// Of the code object.
    pub version: u32,
    /// How each kernel's waves begin.
    pub asked: Asked,
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
    /// How the kernel begins one of whose entries is at this address.
    pub fn begins(&self, address: u64) -> Option<&Begins> {
        let program = self.program;
        let function = program.func_of(program.instr_at(address)?);
        self.asked.begins(program.function(function).vaddr)
    }
    /// The registers that a wave has which runs the instruction at this address.
    pub fn allocated_at(&self, address: u64) -> Counts {
        let func = self.program.instr_at(address).map(|i| self.program.func_of(i));
        func.and_then(|f| self.allocated_in.get(&f)).copied().unwrap_or(self.allocated)
    }
    /// A hook's template, with its number, and its arguments; `None` for an insertion without.
    pub fn hook(&self, id: HookId) -> Option<(u32, &Prepared, &[Arg])> {
        match id {
            HookId::Insertion(n) => {
                let template = (*self.template_of.get(n as usize)?)?;
                let Body::Hook { args, .. } = &self.plan.insertions.get(n as usize)?.body else { return None };
                Some((template, self.templates.get(template as usize)?, args))
            }
            HookId::Ending(n) => {
                let ending = self.slots.endings.get(n as usize)?;
                Some((self.templates.len() as u32 + n, &ending.prepared, &ending.args))
            }
        }
    }
}
