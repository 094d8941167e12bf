//! Writing the instrumented code object: ELF structures, symbol and hash tables, the metadata note.

pub mod note;
pub mod raw;
pub mod symbols;
pub mod variables;
pub mod writer;

/// Instrumented code. An object that has this section was instrumented before.
pub const TEXT_SECTION: &str = ".luthier.text";
/// Where each instrumented instruction came from ([`luthier_loader::OriginMap`]).
pub const ORIGIN_SECTION: &str = ".luthier.origin";
