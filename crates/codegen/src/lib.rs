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
//! - Every placement can be proven by the splice checker ([`check`]), which shares no code with placement. Debug
//!   builds always do so, release builds when [`Plan::check`] is set.
//! - Cost is linear in the size of the object, and functions are worked on in parallel.
//!
//! | module | one idea |
//! |---|---|
//! | `hook` | the hook language, typed trees to LLVM IR to templates (feature `llvm`) |
//! | [`template`] | a compiled hook |
//! | [`plan`] | what to insert where, and the report of what was done |
//! | `instrument` | from an object and a plan to an instrumented object |
//! | [`place`] | registers, copies, layout |
//! | [`check`] | the splice checker |
//! | `write` | the ELF file of the instrumented object |
//! | [`error`] | why an object could not be instrumented |
//!
//! The output (offline): the original segments where they were, behind them a code segment (`.luthier.text`), a data
//! segment with the tools' variables (exported), and one with the headers and tables that have grown. Kernel
//! descriptors point to the copies. `.luthier.origin` maps each copied instruction to its original. Return addresses
//! that copies leave in registers are those of the copies: the only addresses that the application may see changed.

pub mod check;
pub mod error;
#[cfg(feature = "llvm")]
pub mod hook;
mod instrument;
pub mod place;
pub mod plan;
pub mod template;
#[cfg(test)]
mod testing;
mod write;

pub use error::CodegenError;
pub use instrument::instrument;
pub use plan::{ArgValue, Counter, Insertion, Instrumented, KernelRegisters, Plan, Rejected, Report, Variable, When};
pub use template::{ArgPlace, ArgSpec, RegGroup, RelocKind, Template, TemplateReloc};
