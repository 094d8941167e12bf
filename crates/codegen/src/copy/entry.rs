//! Where functions begin: what is inserted at a device function's entry, and what has to be known of a kernel's entries,
//! Something is put in front of it when all of its component is copied.

use std::rc::Rc;

use luthier_isa::{Inst, VgprMsb};
use luthier_lifter::{InFlight, Live};

use super::bodies::Spotted;
use super::copier::Copier;
use super::{KernelEntry, Refusal, Spot};
use crate::layout::chunk::Place;
use crate::machine::entry::PRELOAD_ENTRY;
use crate::plan::Where;

/// One of a function's entries.
#[derive(Clone, Debug)]
pub struct Start {
    pub vaddr: u64,
    /// The application's first instruction there, and all of its block.
    pub inst: Inst,
    pub block: Vec<Inst>,
    pub live: Live,
    pub loads: InFlight,
    pub indexed: bool,
    pub to: Place,
    /// It is where the function's copy begins.
    pub is_first: bool,
}

impl Start {
    /// The place in front of it.
    pub fn spotted(&self) -> Spotted<'_> {
        Spotted {
            address: self.vaddr,
            inst: &self.inst,
            live: &self.live,
            loads: &self.loads,
            previous: None,
            next: &[],
            indexed: self.indexed,
            msb: self.inst.msb().unwrap_or(VgprMsb::ZERO),
            olds: &[],
        }
    }
}

/// What is inserted at a function's entry, in order.
pub fn insertions(spots: &[Spot]) -> Vec<u32> {
    let mut spots: Vec<_> = spots.iter().filter(|s| s.at == Where::Entry).collect();
    spots.sort_by_key(|s| (s.order, s.insertion));
    spots.iter().map(|s| s.insertion).collect()
}

impl Copier<'_, '_> {
    /// The start of a device function's chunk. Gives the word where the code that runs at the entry begins, if there is
    /// any.
    pub(super) fn entry(&mut self) -> Result<Option<u32>, Refusal> {
        let insertions = insertions(self.known.spots);
        if insertions.is_empty() {
            return Ok(None);
        }
        let start = self.start(self.task.env.program.function(self.task.func).vaddr)?;
        // What the caller did last is not known.
        self.put.seam.begin(Some(Rc::new(|_| None)));
        self.put.bodies(&insertions, &start.spotted())?;
        if !start.is_first {
            self.put.branch(start.to)?;
        }
        Ok(Some(0))
    }

    /// A kernel's entries: where its descriptor says, and where the hardware starts if it preloads arguments.
    pub(super) fn starts(&self, kernel: KernelEntry) -> Result<Vec<Start>, Refusal> {
        let second = kernel.preloads.then_some(kernel.vaddr + PRELOAD_ENTRY);
        [Some(kernel.vaddr), second].into_iter().flatten().map(|vaddr| self.start(vaddr)).collect()
    }

    fn start(&self, vaddr: u64) -> Result<Start, Refusal> {
        let program = self.task.env.program;
        let Some(first) = program.instr_at(vaddr).filter(|i| program.func_of(*i) == self.task.func) else {
            let reason = format!("the function is entered at {vaddr:#x}, where it has no instruction");
            return Err(Refusal::Reason(reason));
        };
        let Some(to) = self.task.map.target(self.task.env.program, self.task.func, vaddr, false) else {
            return Err(Refusal::Reason(format!("{vaddr:#x} is not copied")));
        };
        let block = program.block_of(first);
        Ok(Start {
            vaddr,
            inst: *program.inst(first),
            block: program.block(block).instrs.iter().map(|i| *program.inst(i)).collect(),
            live: self.known.liveness.at_start(block),
            loads: self.known.loads.at(first),
            indexed: self.known.indexing.at_start(),
            to,
            is_first: first == program.function_instrs(self.task.func).first,
        })
    }
}
