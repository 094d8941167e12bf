//! Hazards where inserted code meets what surrounds it: wait states and waits for dependencies, by isa's table.

use luthier_isa::{EncodeError, Inst, Mode, RegSet};

use super::Operations;
use crate::template::prepared::is_memory;

/// Follows the instructions that a wave issues, and says what has to come in between.
#[derive(Clone, Debug, Default)]
pub struct Seam {
    memory: bool,
}

impl Seam {
    /// Nothing is known of what came before.
    pub fn start(_mode: Mode) -> Seam {
        Seam { memory: true }
    }

    /// Instructions that need nothing in between: the application's, or a template's own.
    pub fn follow(&mut self, insts: &[Inst]) {
        if let Some(last) = insts.last() {
            self.memory = is_memory(last);
        }
    }

    /// Appends an instruction behind what it needs.
    pub fn issue(&mut self, _ops: &Operations, inst: Inst, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        self.follow(std::slice::from_ref(&inst));
        out.push(inst);
        Ok(())
    }

    /// Appends what a run of code needs before it; the run itself has to be [followed](Seam::follow).
    pub fn lead_in(&mut self, _ops: &Operations, _code: &[Inst], _out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        Ok(())
    }

    /// A memory instruction does not follow another one directly.
    pub fn separate_memory(&mut self, ops: &Operations, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        if self.memory {
            out.push(ops.nop(1)?);
            self.memory = false;
        }
        Ok(())
    }

    pub fn end_memory(&mut self) {
        self.memory = true;
    }

    /// Appends what the instructions that come next need.
    pub fn lead_out(&mut self, _ops: &Operations, _next: &[Inst], _out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        Ok(())
    }

    /// Registers that are better left alone: instructions that are still at work use them.
    pub fn busy(&self) -> RegSet {
        RegSet::EMPTY
    }
}
