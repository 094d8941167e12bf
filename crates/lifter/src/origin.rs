//! What the instructions of instrumented code are to the application.

use luthier_loader::{CodeObject, OriginMap};
use serde::Serialize;

use crate::{FuncId, InstrId, LiftError, Program};

/// What the application knows of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The application's own, where its compiler put it.
    Application,
    /// Stands for the application's instruction that was at this address.
    Copy(u64),
    /// A tool's, or what leads from the application's code to its copy.
    Inserted,
}

/// What instrumented code adds to the names of functions whose copies run in their stead.
pub(crate) const REPLACED: &str = ".original";

/// The origin map of an instrumented object.
pub(crate) fn map_of(object: &CodeObject) -> Result<Option<OriginMap>, LiftError> {
    object.origin_map().map_err(|error| LiftError::Origin { reason: error.to_string() })
}

impl Program {
    /// The object was instrumented, so that [`Program::origin`] tells instructions apart.
    pub fn is_instrumented(&self) -> bool {
        self.origins.is_some()
    }

    pub fn origin(&self, instr: InstrId) -> Origin {
        let Some(origins) = &self.origins else { return Origin::Application };
        let vaddr = self.vaddr(instr);
        match origins.origin(vaddr) {
            Some(original) => Origin::Copy(original),
            None if origins.covers(vaddr) => Origin::Inserted,
            None => Origin::Application,
        }
    }

    /// How many instructions of the function are a tool's.
    pub fn inserted_in(&self, func: FuncId) -> usize {
        match self.is_instrumented() {
            true => self.function_instrs(func).iter().filter(|i| self.origin(*i) == Origin::Inserted).count(),
            false => 0,
        }
    }

    /// Of an instrumented copy: the address of the first instruction that it has of its original.
    pub fn copied_from(&self, func: FuncId) -> Option<u64> {
        self.origins.as_ref()?;
        let copied = |instr| match self.origin(instr) {
            Origin::Copy(original) => Some(original),
            _ => None,
        };
        self.function_instrs(func).iter().find_map(copied)
    }
}
