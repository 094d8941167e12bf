//! What all places of a call-graph component have in common.

use std::collections::HashMap;
use std::ops::Deref;

use luthier_isa::RegSet;
use luthier_lifter::{FuncId, Program};
use luthier_loader::Kernel;

use super::asked::Asked;
use super::slots::Slots;
use crate::Plan;
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

/// An object and a plan, and what was made of both before anything is placed: the same for all components.
#[derive(Clone, Copy)]
pub struct Given<'a> {
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
    /// Of the code object.
    pub version: u32,
    /// Memory instructions in a row may be replayed after a page fault (XNACK).
    pub replays: bool,
}

/// What each wave of a component has beside what its code expects.
#[derive(Debug, Default)]
pub struct Carried {
    /// Its own values, and where they are.
    pub slots: Slots,
    /// How it begins in each kernel.
    pub asked: Asked,
    /// Registers that hold values between places: the slots, and what hooks look at although the application does
    /// not need it any more.
    pub reserved: RegSet,
    /// State that is in no register file, and that hooks look at although the application does not need it any more.
    pub watched_state: RegSet,
    /// Those of the reserved registers that no vector instruction reads while the wave runs.
    pub unread: RegSet,
}

/// The registers of a component's waves.
#[derive(Debug)]
pub struct Registers {
    /// Those that no instruction of the component touches. They are free everywhere, whatever liveness says of callers
    /// and callees that it does not know.
    pub never_used: RegSet,
    /// Those that hold nothing, as neither hardware nor the code sets them.
    pub unset: RegSet,
    /// How far hooks may go, and what all the kernels have already.
    pub limits: Counts,
    pub allocated: Counts,
    /// What the kernels have that may run a function; absent where that is the same.
    pub allocated_in: HashMap<FuncId, Counts>,
}

/// What hooks are placed in: a component.
pub struct Env<'a> {
    pub given: Given<'a>,
    /// Those that begin in the component.
    pub kernels: Vec<&'a Kernel>,
    pub carried: Carried,
    pub registers: Registers,
    /// All kernels start with rounding to nearest and all denormals kept, and nothing changes that.
    pub default_fp_mode: bool,
    /// Scratch of our own, if the kernels can be given some.
    pub scratch: Option<OwnScratch>,
}

/// Nearly all that is asked of a component is asked of what all have in common.
impl<'a> Deref for Env<'a> {
    type Target = Given<'a>;
    fn deref(&self) -> &Given<'a> {
        &self.given
    }
}

impl Env<'_> {
    /// How the kernel begins one of whose entries is at this address.
    pub fn begins(&self, address: u64) -> Option<&Begins> {
        let program = self.program;
        let function = program.func_of(program.instr_at(address)?);
        self.carried.asked.begins(program.function(function).vaddr)
    }
    /// The registers that a wave has which runs the instruction at this address.
    pub fn allocated_at(&self, address: u64) -> Counts {
        if self.registers.allocated_in.is_empty() {
            return self.registers.allocated;
        }
        let func = self.program.instr_at(address).map(|i| self.program.func_of(i));
        func.and_then(|f| self.registers.allocated_in.get(&f)).copied().unwrap_or(self.registers.allocated)
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
                let ending = self.carried.slots.endings.get(n as usize)?;
                Some((self.templates.len() as u32 + n, &ending.prepared, &ending.args))
            }
        }
    }
}
