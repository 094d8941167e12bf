//! Copying functions with what is inserted in place.
//!
//! The unit of decision is the call-graph *component*: kernels and device functions that may run in one wave. A
//! component with an insertion anywhere is copied as a whole into a new segment. Its originals stay where they are; a
//! function's first instruction becomes a branch to its copy ([`redirect`]), so that pointers need not be found. In a
//! copy each instruction is the original's, bit for bit, except for branches, which aim at copies, sums on
//! `s_getpc_b64`, which come to the original's value ([`pcrel`]), and hints that an insertion would make false
//! ([`hints`]).
//!
//! | module | one idea |
//! |---|---|
//! | `copier` | what is at hand while it is made |
//! | [`function`] | the copy of one function, instruction by instruction |
//! | [`bodies`] | what is inserted at one place |
//! | [`called`] | hooks that stand once in a function, and are called |
//! | `literals` | inserted instructions with their literals |
//! | [`edges`] | what is inserted on the ways out of a block |
//! | [`entry`] | where functions begin |
//! | [`pcrel`], `pc_code` | the program counter in copies: what becomes of it, and the code |
//! | [`hints`] | clauses that are split, registers given up early |
//! | [`indexing`] | where VGPR operands are indexed |
//! | [`mod@prologue`] | what stands in front of a kernel, made when all of its component is copied |
//! | [`redirect`] | from the originals to the copies |

pub mod bodies;
pub mod called;
mod copier;
pub mod edges;
pub mod entry;
pub mod function;
pub mod hints;
pub mod indexing;
mod literals;
mod pc_code;
pub mod pcrel;
pub mod prologue;
pub mod redirect;

use luthier_isa::EncodeError;
use luthier_lifter::{FuncId, InstrId, Program};

use crate::check::{Looked, Violation};
use crate::layout::chunk::{Chunk, ChunkId, Place};
use crate::machine::registers::Counts;
use crate::plan::{Checked, Rejected};
use crate::splice::Env;

pub use crate::plan::Spot;
pub use function::copy;

/// Why a function cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    Reason(String),
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// A function's copy and what was done in it.
#[derive(Debug, Default)]
pub struct Copied {
    pub chunk: Chunk,
    /// What it calls, which stands behind it in the end.
    pub bodies: called::Bodies,
    /// The label that calls aim at.
    pub entry: u32,
    /// Insertions of the plan that stand in it, as often as they do.
    pub made: Vec<u32>,
    pub inserted: usize,
    pub copied: usize,
    pub rejected: Vec<Rejected>,
    pub violations: Vec<Violation>,
    pub highest: Counts,
    /// Bytes of scratch of our own.
    pub scratch: u32,
    /// Of a kernel's copy, its entries.
    pub starts: Vec<entry::Start>,
    /// Instructions that stay although something was to take their place: it, or part of it, is rejected.
    pub stays: Vec<InstrId>,
}

/// Which functions are copied, and where to.
#[derive(Debug)]
pub struct ChunkMap {
    pub of_function: Vec<Option<ChunkId>>,
}

impl ChunkMap {
    /// Where a branch from `func` to an original address goes. Calls, and jumps from other functions to a function's
    /// first instruction, go to its entry; branches within a function to the copy of the instruction.
    pub fn target(&self, program: &Program, from: FuncId, vaddr: u64, is_call: bool) -> Option<Place> {
        // Most branches stay in their function.
        let (instr, func) = match program.instr_within(from, vaddr) {
            Some(instr) => (instr, from),
            None => program.instr_at(vaddr).map(|instr| (instr, program.func_of(instr)))?,
        };
        let chunk = self.of_function[func.index()]?;
        let instrs = program.function_instrs(func);
        let entered = (is_call || func != from) && program.function(func).vaddr == vaddr;
        let label = if entered { instrs.len() as u32 } else { instr.0 - instrs.first.0 };
        Some(Place::Label { chunk, label })
    }
}

/// A function that is to be copied, with all that its copy depends on besides what is inserted.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub env: &'a Env<'a>,
    pub looked: &'a Looked<'a>,
    pub map: &'a ChunkMap,
    pub func: FuncId,
    pub chunk: ChunkId,
    /// If it is a kernel's first function.
    pub kernel: Option<KernelEntry>,
    pub checked: Checked,
}

/// How control gets into a kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    pub vaddr: u64,
    pub preloads: bool,
}
