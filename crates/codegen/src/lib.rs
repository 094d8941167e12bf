//! How a kernel is changed: hooks are compiled once, placed anywhere, and the object is written anew.
//!
//! The problem: a hook is code that the application's compiler has never seen, and the application may not notice it.
//! Every register, condition code and mode that is live at a point has to survive, code that has moved must compute
//! the same addresses, and all of it has to fit into the registers that a wave has left.
//!
//! Invariants:
//! - The application's instructions stay as they are; copies differ only where they see their own address.
//! - Nothing is placed that is not exact. What cannot be is left out, with its address and a reason, in the
//!   [`Report`]; a wrong plan is a [`CodegenError`]. There are no silent skips.
//! - Every placement can be proven by the splice checker ([`check`]), which shares no code with placement. Small plans
//!   are proven whole, of large ones a sample, unless [`Plan::check`] says otherwise; debug builds prove all.
//! - Cost is linear in the size of the object, and functions are worked on in parallel.
//!
//! | module | one idea |
//! |---|---|
//! | `hook` | the hook language, typed trees to LLVM IR to templates (feature `llvm`) |
//! | [`template`] | a compiled hook |
//! | [`plan`] | what to insert where |
//! | `entry_value` | what waves start with, and hooks may ask for |
//! | `register_file` | the files that hooks take registers from |
//! | `rejection`, `report` | why an insertion was not made; what was done |
//! | [`pipeline`] | from an object and a plan to an instrumented object |
//! | [`machine`] | what a processor is to placement |
//! | [`component`] | kernels and functions that share a wave, and what their places have in common |
//! | [`splice`] | the hooks of one place: site, demand, allocation, emission |
//! | [`mod@copy`] | functions with insertions |
//! | [`layout`] | code without addresses; addresses, islands, bytes |
//! | [`check`] | the splice checker |
//! | `write` | the ELF file of the instrumented object |
//! | [`error`] | why an object could not be instrumented |
//!
//! Data flows one way: `plan` and `template` know nothing of `splice`, `splice` nothing of `copy`, `copy` nothing of
//! `layout`'s addresses. What a processor is, only `machine` knows.
//!
//! The output (offline): the original segments where they were, behind them a code segment (`.luthier.text`), a data
//! segment with the tools' variables (exported), and one with the headers and tables that have grown. Kernel
//! descriptors point to the copies. `.luthier.origin` maps each copied instruction to its original. Return addresses
//! that copies leave in registers are those of the copies: the only addresses that the application may see changed.

// The tests' helpers call it by name.
#[cfg(test)]
extern crate self as luthier_codegen;

pub mod check;
pub mod component;
pub mod copy;
mod entry_value;
pub mod error;
#[cfg(feature = "llvm")]
pub mod hook;
pub mod layout;
pub mod machine;
pub mod pipeline;
pub mod plan;
mod register_file;
mod rejection;
mod report;
pub mod splice;
pub mod template;
#[cfg(test)]
mod testing;
mod write;

pub use error::CodegenError;
pub use pipeline::{instrument, instrument_lifted};
pub use plan::{
    Arg, Beside, Bodies, Body, Checking, End, EntryValue, Init, Insertion, Instrumented, KernelRegisters, Placement,
    Plan, Rejected, Rejection, Report, Slot, Variable, Where,
};
pub use template::{
    AddressShape, ArgPlace, ArgSpec, Blob, BlobReloc, HookError, Place, RegGroup, RelocKind, RelocTarget, Stack,
    Template, TemplateReloc, TemplateSource,
};
