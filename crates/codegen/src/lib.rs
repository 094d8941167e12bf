//! luthier-codegen

pub mod check;
pub mod error;
#[cfg(feature = "llvm")]
pub mod hook;
mod instrument;
pub mod place;
pub mod plan;
pub mod rewrite;
pub mod template;
#[cfg(test)]
mod testing;

pub use error::CodegenError;
pub use instrument::instrument;
pub use plan::{ArgValue, Counter, Insertion, Instrumented, KernelRegisters, Plan, Rejected, Report, Variable, When};
pub use template::{ArgPlace, ArgSpec, RegGroup, RelocKind, Template, TemplateReloc};
