//! Writing the instrumented object: the original segments where they were, with a few words patched, and up to four new
//! segments behind them.
//!
//! | segment | what is in it |
//! |---|---|
//! | code | `.luthier.text`: preambles, instrumented copies, islands |
//! | constants | `.luthier.rodata`: the hooks' constants |
//! | data | `.luthier.data` and `.luthier.bss`: the tools' variables |
//! | headers | the program header table, and whatever of `.note`, `.dynsym`, `.hash`, `.gnu.hash`, `.dynstr` has grown |
//!
//! A table that has grown leaves its old place, to which nothing points any more; its section header moves with it,
//! so that indices stay valid. How the structures are encoded is the `object` crate's business.
//!
//! An object that is loaded beside the original has new segments only (`beside`).
//!
//! | module | one idea |
//! |---|---|
//! | `beside` | the object that is loaded beside the original |
//! | `file` | the file under construction: bytes, program headers, sections |
//! | `segments`, `headers` | the new segments; the one with tables that have grown |
//! | `symbols` | symbol tables that grow, and their hash tables |
//! | `dynamic` | the dynamic symbol table, and what points at it |
//! | `unloaded` | sections that are in no segment: symbols, origins, hooks, debug information |
//! | `data` | the tools' variables |
//! | `lines` | source lines of the copies |
//! | `note` | the metadata note |

mod beside;
mod data;
mod dynamic;
mod file;
mod headers;
pub mod lines;
mod note;
mod segments;
mod symbols;
#[cfg(test)]
mod tests;
mod unloaded;

use luthier_loader::lines::DebugSection;
use luthier_loader::{CodeObject, Metadata, SegmentKind};

use crate::layout::PAGE;
pub use beside::write as write_beside;
pub use data::Variables;
use file::File;

/// Instrumented code. An object that has this section was instrumented before.
const TEXT_SECTION: &str = ".luthier.text";
/// Where each instrumented instruction came from ([`luthier_loader::OriginMap`]).
pub const ORIGIN_SECTION: &str = luthier_loader::OriginMap::SECTION;
/// Hooks and variables ([`luthier_loader::HookMap`]).
const HOOKS_SECTION: &str = luthier_loader::HookMap::SECTION;

/// A variable with its address.
#[derive(Clone, Debug)]
pub struct PlacedVariable {
    pub name: String,
    pub vaddr: u64,
    pub size: u64,
    /// Lies in the zero-filled part.
    pub zero: bool,
}

/// A function symbol of the new code.
#[derive(Clone, Debug)]
pub struct CodeSymbol {
    pub name: String,
    pub vaddr: u64,
    pub size: u64,
}

/// What comes on top of the original file.
#[derive(Debug, Default)]
pub struct Additions {
    pub text_vaddr: u64,
    pub text: Vec<u8>,
    /// On the first page after the text.
    pub constants_vaddr: u64,
    /// What hooks read and nothing changes.
    pub constants: Vec<u8>,
    /// On the first page after that.
    pub data_vaddr: u64,
    pub data: Vec<u8>,
    /// Zero bytes after `data`.
    pub bss_size: u64,
    pub variables: Vec<PlacedVariable>,
    pub code_symbols: Vec<CodeSymbol>,
    /// Bytes of the original segments to overwrite, by virtual address.
    pub patches: Vec<(u64, Vec<u8>)>,
    /// What the metadata note is to say from now on.
    pub metadata: Option<Metadata>,
    /// Contents of `.luthier.origin`.
    pub origin: Vec<u8>,
    /// Contents of `.luthier.hooks`.
    pub hooks: Vec<u8>,
    /// Sections of debug information that take the place of the object's, or that it has not.
    pub debug: Vec<DebugSection>,
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("its ELF structures cannot be read: {0}")]
    Read(#[from] object::read::Error),
    #[error("{0}")]
    Encode(#[from] object::write::Error),
    #[error("the loaded segments end at file offset {end:#x}, outside the file")]
    OutOfFile { end: u64 },
    #[error("no file bytes lie behind address {vaddr:#x}, which has to be patched")]
    Unmapped { vaddr: u64 },
    #[error("it has {count} {what}; the format ends at {limit}")]
    TooMany { what: &'static str, count: usize, limit: usize },
}

/// The first address behind all segments, on a page.
pub fn end_of_segments(object: &CodeObject) -> u64 {
    let loads = object.segments().iter().filter(|s| s.kind == SegmentKind::Load);
    let ends = loads.map(|s| s.vaddr.saturating_add(s.memsz));
    ends.max().unwrap_or(0).next_multiple_of(PAGE)
}

/// Where the code of an object that is loaded beside the original begins: where the original's lines, if they are known, say
/// nothing of.
pub fn start_beside(object: &CodeObject) -> u64 {
    if object.section(".debug_info").is_some() { end_of_segments(object) } else { PAGE }
}

/// The new file.
pub fn write(object: &CodeObject, new: &Additions) -> Result<Vec<u8>, WriteError> {
    let original: &[u8] = object.bytes();
    let segments = || {
        let more = new.text.len() + new.constants.len() + new.data.len() + new.origin.len() + new.hooks.len();
        let lines: usize = new.debug.iter().map(|section| section.bytes.len()).sum();
        // A few symbols, headers and pages to fill up, besides the original's own tables, which grow.
        let mut file = File::start(original, more + lines + original.len() / 4)?;
        for (vaddr, bytes) in &new.patches {
            file.patch(*vaddr, bytes)?;
        }
        let sections = segments::code_and_data(&mut file, new);
        Ok::<_, WriteError>((file, sections))
    };
    // Of thousands of kernels, the note takes as long as everything else.
    let note = || new.metadata.as_ref().map(|metadata| note::section(object, metadata));
    let (written, note) = rayon::join(segments, note);
    let (mut file, sections) = written?;
    headers::add(&mut file, original, new, &sections, note.as_deref())?;
    unloaded::sections(&mut file, original, new, &sections)?;
    file.finish()
}
