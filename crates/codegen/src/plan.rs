//! What to change in a code object, and what came of it.

use std::sync::Arc;

use luthier_isa::RegRange;

use crate::Template;

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

/// A 64-bit counter of each wave, zero when the wave starts, added to memory when it ends.
#[derive(Clone, Debug)]
pub struct Counter {
    pub name: String,
    /// The [`Variable`] it is added to ...
    pub symbol: String,
    /// ... and the byte offset within it.
    pub offset: u64,
}

/// Which side of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum When {
    Before,
    After,
}

/// What a hook's argument is at one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArgValue {
    /// Nothing to supply: a constant, or a variable's address in a relocation.
    Baked,
    /// By index into [`Plan::counters`].
    Counter(usize),
    /// The value of an application register.
    Reg(RegRange),
    /// The same, and the hook's new value goes back into it.
    RegInOut(RegRange),
}

/// One hook at one point.
#[derive(Clone, Debug)]
pub struct Insertion {
    /// Virtual address of an instruction in the original object.
    pub address: u64,
    pub when: When,
    pub template: Arc<Template>,
    /// One for each of the template's arguments.
    pub args: Vec<ArgValue>,
    /// Hooks at the same point run in ascending order; equals in the order of [`Plan::insertions`].
    pub order: i32,
}

/// Everything that is to be inserted into one code object.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub variables: Vec<Variable>,
    pub counters: Vec<Counter>,
    pub insertions: Vec<Insertion>,
    /// Have the splice checker prove every placement. Costs about as much again as placing.
    pub check: bool,
}

/// An insertion that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    pub address: u64,
    pub reason: String,
}

/// Registers of one kernel, as allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRegisters {
    pub kernel: String,
    pub sgprs_before: u32,
    pub sgprs_after: u32,
    /// Accumulation VGPRs included.
    pub vgprs_before: u32,
    pub vgprs_after: u32,
    /// Waves per SIMD that the registers allow.
    pub occupancy_before: u32,
    pub occupancy_after: u32,
}

/// What [`crate::instrument`] did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Insertions made.
    pub points: usize,
    /// Instructions added at them: hooks, saves and restores, waits. Preambles and what re-aiming needs are not counted.
    pub inserted_instructions: usize,
    /// Instructions of the application that now exist as instrumented copies.
    pub copied_instructions: usize,
    pub registers: Vec<KernelRegisters>,
    pub rejected: Vec<Rejected>,
    pub notes: Vec<String>,
}

/// The instrumented object.
#[derive(Clone, Debug)]
pub struct Instrumented {
    pub bytes: Vec<u8>,
    pub report: Report,
}
