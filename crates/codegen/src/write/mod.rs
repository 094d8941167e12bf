//! Writing the instrumented code object: ELF structures, symbol and hash tables, the metadata note.

mod data;
mod note;
mod raw;
mod symbols;
mod writer;

pub use data::Variables;
pub use writer::{Additions, CodeSymbol, PAGE, PlacedVariable, WriteError, end_of_segments, write};

/// Instrumented code. An object that has this section was instrumented before.
pub const TEXT_SECTION: &str = ".luthier.text";
/// Where each instrumented instruction came from ([`luthier_loader::OriginMap`]).
pub const ORIGIN_SECTION: &str = ".luthier.origin";
