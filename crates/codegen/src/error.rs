//! Why an object could not be instrumented at all. What could not be done at single points is in the report.

use luthier_isa::EncodeError;

use crate::layout::LayoutError;
use crate::machine::NoInstruction;
use crate::template::HookError;
use crate::write::WriteError;

#[derive(Debug, thiserror::Error)]
pub enum CodegenError {
    #[error(transparent)]
    Lift(#[from] luthier_lifter::LiftError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("the instrumented object cannot be written: {0}")]
    Write(#[from] WriteError),
    /// A hook of the plan cannot be compiled; `index` is into the plan's hooks.
    #[error("{error}")]
    Hook { index: usize, error: HookError },
    #[error("an insertion names hook {index}, and the plan has {count}")]
    NoHook { index: usize, count: usize },
    #[error(
        "the object is instrumented already (it has a {section} section); instrument the original with all tools at once"
    )]
    AlreadyInstrumented { section: &'static str },
    #[error(transparent)]
    NoInstruction(#[from] NoInstruction),
    #[error("an instruction could not be built: {0}")]
    Encode(#[from] EncodeError),
    #[error("the variable {name}: {reason}")]
    Variable { name: String, reason: String },
    /// A slot of the plan that cannot be.
    #[error("the slot {name}: {reason}")]
    Slot { name: String, reason: String },
    #[error("the origin map could not be written: {0}")]
    Origin(luthier_loader::LoadError),
    /// An insertion that was lost on the way, or counted twice: a mistake of ours, which must not look like a result.
    #[error("insertion {insertion}, at {address:#x}, was {what}: this is a mistake in Luthier")]
    Lost { insertion: usize, address: u64, what: &'static str },
    /// Placement has made a mistake: ours, and not the plan's. Never empty.
    #[error("{}", wrong(.0))]
    Check(Vec<crate::check::Violation>),
}

fn wrong(found: &[crate::check::Violation]) -> String {
    let first = found.first().map_or(String::new(), |v| format!("; the first, at {:#x}: {v}", v.address));
    let count =
        if found.len() == 1 { "1 wrong placement".to_owned() } else { format!("{} wrong placements", found.len()) };
    format!("the splice checker found {count}{first}")
}
