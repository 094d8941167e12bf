//! What the checker finds.

use luthier_isa::{Inst, Reg};

use super::value::Value;
use crate::splice::HookId;

/// A placement that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Violation {
    /// Of the application's instruction.
    pub address: u64,
    pub kind: Wrong,
}

/// In what way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    #[error("no kernel begins at {address:#x}")]
    NoKernel { address: u64 },
    #[error("{reg} is live after the inserted code and holds {holds} instead of {wanted}")]
    Value { reg: Reg, holds: Value, wanted: Value },
    #[error("{reg} is live in inactive lanes, where it holds {holds} instead of {wanted}")]
    Inactive { reg: Reg, holds: Value, wanted: Value },
    #[error("lane {lane} of {of} is live and holds {holds} instead of {wanted}")]
    Lane { of: String, lane: u8, holds: Value, wanted: Value },
    #[error("what each lane carries in scratch at {offset} is {holds} instead of {wanted}")]
    Stored { offset: u32, holds: Value, wanted: Value },
    #[error("the inserted code leaves MODE changed: bits {bits:#010x} differ")]
    ModeBits { bits: u32 },
    #[error("unit {unit} of argument {arg} of {hook} is to be {wanted}, but {reg} holds {holds}")]
    Argument { hook: String, arg: usize, unit: usize, reg: Reg, holds: Value, wanted: Value },
    #[error("{hook} needs a stack of {bytes} bytes, and the kernel is given {given} for it")]
    Stack { hook: String, bytes: u32, given: u32 },
    #[error("argument {arg} of {hook} has no value at this place")]
    NoArgument { hook: String, arg: usize },
    #[error(
        "{hook} computes with the default rounding and denormal modes, and MODE's low byte is not known to be them"
    )]
    FpMode { hook: String },
    #[error("{what} begins under upper bits of VGPR numbers that are not known to be zero")]
    UpperBits { what: String },
    #[error("{inst} is taken for one under the upper bits {taken:?} of VGPR numbers, and runs under {runs:?}")]
    WrongUpperBits { inst: Box<Inst>, taken: Option<u8>, runs: Option<u8> },
    #[error("{what} runs under an EXEC that is not the application's")]
    Mask { what: String },
    #[error("{inst} touches {reg}, which a load in flight may write or an export read")]
    Pending { inst: Box<Inst>, reg: Reg },
    #[error("{reg} is still being loaded where the inserted code ends")]
    LeftPending { reg: Reg },
    #[error("{inst} stands outside of every hook, and is nothing that placement needs")]
    Unknown { inst: Box<Inst> },
    #[error("{inst} writes {reg}, which the kernel is not given")]
    NotAllocated { inst: Box<Inst>, reg: Reg },
    #[error("{inst} names a VGPR where VGPRs may be indexed")]
    Indexed { inst: Box<Inst> },
    #[error("{inst} reaches scratch at {offset}, and from {start} to {end} it is ours")]
    Scratch { inst: Box<Inst>, offset: u32, start: u32, end: u32 },
    #[error("{kernel} does not begin with setting FLAT_SCRATCH to the scratch of its wave")]
    ScratchBase { kernel: String },
    #[error("{what} claims instructions {start} to {end} of {count}")]
    Span { what: String, start: usize, end: usize, count: usize },
    #[error("the hooks {wanted:?} were to be placed, and {placed:?} were")]
    Hooks { wanted: Vec<HookId>, placed: Vec<HookId> },
    #[error("{hook} is said to be called, but {what}")]
    Called { hook: String, what: String },
    #[error("{hook} has {wanted} instructions, and {placed} stand here")]
    Length { hook: String, wanted: usize, placed: usize },
    #[error("instruction {index} of {hook}, {old}, became {new}")]
    Differs { hook: String, index: usize, old: Box<Inst>, new: Box<Inst> },
    #[error("{old} of {hook} cannot become {new}: {why}")]
    Renaming { hook: String, old: Reg, new: Reg, why: &'static str },
    #[error("a literal of instruction {index} of {hook} refers to something else than the plan says, or to nothing")]
    Literal { hook: String, index: usize },
    #[error("instruction {index} of the inserted code is given a literal that no hook has")]
    StrayLiteral { index: usize },
    #[error("{inst} runs too early: {what}")]
    Hazard { inst: Box<Inst>, what: String },
    #[error("inserted vector instructions have read {reg} and leave it marked as read at {inst}")]
    Marked { inst: Box<Inst>, reg: Reg },
    #[error("{inst} stands in one run with a memory instruction of other code, and the run may be replayed")]
    Replay { inst: Box<Inst> },
    #[error("{inst} writes {reg}, which keeps a value from before it for a hook behind it")]
    Keeper { inst: Box<Inst>, reg: Reg },
    #[error("slot {slot} is ended {times} times where its wave ends")]
    Ended { slot: usize, times: usize },
    #[error("{inst} is not the addition of one of its arguments to memory, from one lane")]
    NotAnAddition { inst: Box<Inst> },
    #[error("argument {arg} of {hook} is added {times} times to the memory of {slot}")]
    Added { hook: String, arg: usize, slot: String, times: usize },
}
