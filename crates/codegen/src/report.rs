//! What came of a plan.

use crate::rejection::Rejection;

/// An insertion that was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Index into the plan's insertions.
    pub insertion: u32,
    pub address: u64,
    pub reason: Rejection,
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
    /// Bytes of scratch of each lane.
    pub scratch_before: u32,
    pub scratch_after: u32,
    /// Bytes of LDS of each workgroup, without what a launch adds.
    pub lds_before: u32,
    pub lds_after: u32,
    /// The most that a workgroup can have.
    pub lds_most: u32,
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
#[derive(Clone, Debug, Default)]
pub struct Instrumented {
    pub bytes: Vec<u8>,
    pub report: Report,
}
