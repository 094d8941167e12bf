//! luthier-codegen

#[cfg(feature = "llvm")]
pub mod hook;
pub mod template;

pub use template::{ArgPlace, ArgSpec, RegGroup, RelocKind, Template, TemplateReloc};
