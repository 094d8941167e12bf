//! What to change in a code object.

mod argument;
mod bodies;
mod checking;
mod placement;
pub mod selection;
mod slot;
mod spot;

use std::sync::Arc;

use luthier_isa::Inst;

pub use crate::entry_value::{Axis, EntryValue};
pub use crate::rejection::Rejection;
pub use crate::report::{Instrumented, KernelRegisters, Rejected, Report};
pub use argument::Arg;
pub(crate) use argument::overwrites;
pub use bodies::Bodies;
pub use checking::{Checked, Checking};
pub use placement::Placement;
pub use slot::{End, Init, Slot};
pub use spot::Spot;

use crate::layout::chunk::Place;
use crate::template::TemplateSource;

/// A tool's device variable: lives in the instrumented object, exported under its name.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Bytes, a power of two.
    pub align: u64,
    /// First bytes; the rest is zero.
    pub init: Vec<u8>,
}

/// Where an insertion goes, relative to the instruction (or function) at its address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Where {
    /// The address is a function's: each time that it is entered, before anything else. In a kernel, once a wave.
    Entry,
    /// Each time that control gets to the instruction.
    Before,
    /// In the instruction's place.
    Instead,
    /// Each time that control leaves the instruction, on every way.
    After,
    /// Between the instruction, which ends its block, and the block that starts at `to`.
    Edge { to: u64 },
}

impl Where {
    /// The instruction has run.
    pub fn is_behind(self) -> bool {
        matches!(self, Where::After | Where::Edge { .. })
    }
}

/// What runs there.
#[derive(Clone, Debug)]
pub enum Body {
    /// By index into [`Plan::hooks`]; one argument for each of its parameters.
    Hook { hook: usize, args: Arc<[Arg]> },
    /// Instructions that run as the application's own: nothing is saved around them.
    Raw(Arc<[Inst]>),
    /// Nothing: with [`Where::Instead`], the instruction is removed.
    Nothing,
}

/// One change at one place.
#[derive(Clone, Debug)]
pub struct Insertion {
    /// Virtual address of an instruction in the original object.
    pub address: u64,
    pub at: Where,
    pub body: Body,
    /// At one place the lower runs first; equals in the order of [`Plan::insertions`].
    pub order: i32,
}

/// Everything that is to be changed in one code object.
#[derive(Clone, Default)]
pub struct Plan {
    pub hooks: Vec<Arc<dyn TemplateSource>>,
    pub variables: Vec<Variable>,
    /// What each wave carries.
    pub slots: Vec<Slot>,
    pub insertions: Vec<Insertion>,
    /// The kernels that the insertions are for, by name: others run the code that they ran. `None` for all.
    pub kernels: Option<Vec<String>>,
    pub placement: Placement,
    pub bodies: Bodies,
    /// Which placements the splice checker proves.
    pub check: Checking,
    /// The result is loaded beside the original, which stays as it is.
    pub beside: Option<Beside>,
}

/// Where things are that an object beside the original refers to. It has no variables of its own.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Vaddr 0 of the original.
    pub original: u64,
    /// Each of [`Plan::variables`].
    pub variables: Vec<u64>,
}

impl Plan {
    /// The address of a place that is not in the object to be made, if that is loaded beside the original.
    pub(crate) fn elsewhere(&self, place: Place) -> Option<u64> {
        let beside = self.beside.as_ref()?;
        match place {
            Place::Original(vaddr) => Some(beside.original.wrapping_add(vaddr)),
            Place::Variable { index, offset } => {
                beside.variables.get(index as usize).map(|address| address.wrapping_add_signed(offset))
            }
            Place::Label { .. } | Place::Constant { .. } => None,
        }
    }
}
