//! luthier-codegen

pub mod template;

pub use template::{ArgPlace, ArgSpec, RegGroup, RelocKind, Template, TemplateReloc};
