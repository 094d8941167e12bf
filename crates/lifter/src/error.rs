//! Why an object is not lifted at all, and what is left open in one that is.

use std::fmt;

use luthier_isa::Target;
use serde::Serialize;

use crate::why::Unresolved;

/// The object as a whole cannot be lifted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiftError {
    #[error("{processor} code cannot be lifted: its instruction set is not known here")]
    UnsupportedTarget { processor: String },
    #[error("the executable ranges {start:#x} to {end:#x} span more than 4 GiB")]
    TooLarge { start: u64, end: u64 },
    #[error("the executable range at {vaddr:#x} ({size} bytes) has no bytes in the file")]
    NoBytes { vaddr: u64, size: u64 },
    #[error("{reason}")]
    Origin { reason: String },
}

/// One thing that lifting could not settle. Nothing is guessed: each is in [`crate::Program::issues`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    pub vaddr: u64,
    /// The function it lies in, by name; empty outside of every function.
    pub function: String,
    pub kind: IssueKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IssueKind {
    /// Bytes that are reached, or lie between instructions, and are no instruction.
    Undecodable { reason: String },
    /// Bytes of a function that no path reaches and that do not all decode.
    UnreachedBytes { size: u64 },
    /// A branch into the middle of an instruction, or instructions that share bytes.
    Overlap { with: u64 },
    /// A function symbol whose range starts inside another one's.
    SymbolOverlap { symbol: String },
    /// A function symbol outside of every executable range, or misaligned.
    BadSymbol { symbol: String },
    /// Control leaves the function for code that is no function's first instruction.
    TargetOutside { target: u64 },
    /// Control enters this function at an address that is not its first instruction, from another function.
    EnteredInside { target: u64 },
    /// Control leaves the executable ranges of the object.
    TargetNowhere { target: u64 },
    /// A call or jump whose target is not known.
    UnresolvedCall {
        #[serde(flatten)]
        why: Unresolved,
    },
    UnresolvedJump {
        #[serde(flatten)]
        why: Unresolved,
    },
    /// `s_setpc_b64` of what looks like the return address, without proof that it is the caller's.
    UnprovenReturn,
    /// The last instruction of the function does not end it.
    FallsOffEnd { target: u64 },
    /// Bytes of an executable range outside of every function, that are not padding.
    OutsideFunctions { size: u64 },
    /// A kernel whose waves do not have as many lanes as those of the object's first kernel. It is not decoded.
    OtherWaveSize { lanes: u32 },
    /// The upper bits of VGPR numbers (gfx1250) are not known: in this many instructions of the function, from here on,
    /// each vector operand may mean any of four registers.
    UnknownVgprs { instructions: usize },
    /// An instruction that cannot be followed (`s_cbranch_g_fork` and its kin).
    Unsupported { mnemonic: String },
}

impl fmt::Display for IssueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IssueKind::Undecodable { reason } => write!(f, "not an instruction: {reason}"),
            IssueKind::UnreachedBytes { size } => write!(f, "{size} bytes that no path reaches, not all instructions"),
            IssueKind::Overlap { with } => write!(f, "overlaps the instruction at {with:#x}"),
            IssueKind::SymbolOverlap { symbol } => write!(f, "the symbol {symbol} starts inside this function"),
            IssueKind::BadSymbol { symbol } => write!(f, "the function symbol {symbol} is not in executable code"),
            IssueKind::TargetOutside { target } => write!(f, "control leaves for {target:#x}, no function's start"),
            IssueKind::EnteredInside { target } => write!(f, "control enters from outside at {target:#x}"),
            IssueKind::TargetNowhere { target } => write!(f, "control leaves the object's code for {target:#x}"),
            IssueKind::UnresolvedCall { why } => write!(f, "the call's target is not known: {why}"),
            IssueKind::UnresolvedJump { why } => write!(f, "the jump's target is not known: {why}"),
            IssueKind::UnprovenReturn => write!(f, "a return whose address is not proven to be the caller's"),
            IssueKind::FallsOffEnd { target } => {
                write!(f, "the function does not end; execution goes on at {target:#x}")
            }
            IssueKind::OutsideFunctions { size } => write!(f, "{size} bytes outside of every function"),
            IssueKind::OtherWaveSize { lanes } => write!(f, "the kernel's waves do not have {lanes} lanes"),
            IssueKind::UnknownVgprs { instructions } => {
                write!(f, "which VGPRs {instructions} instructions name is not known")
            }
            IssueKind::Unsupported { mnemonic } => write!(f, "{mnemonic} cannot be followed"),
        }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function.as_str() {
            "" => write!(f, "{:#x}: {}", self.vaddr, self.kind),
            name => write!(f, "{:#x} ({name}): {}", self.vaddr, self.kind),
        }
    }
}

/// The instruction set of a processor, or why there is none.
pub(crate) fn target_of(processor: &str) -> Result<Target, LiftError> {
    let target = Target::from_name(processor).filter(|target| target.has_tables());
    target.ok_or_else(|| LiftError::UnsupportedTarget { processor: processor.to_owned() })
}
