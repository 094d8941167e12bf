//! What an AMDGPU code object is, and how it gets into memory.
//!
//! The problem: everything above this crate wants kernels, descriptors, symbols and bytes, and none of it should know
//! what an ELF is. So a file comes in here, of whatever wrapping, and leaves as typed values.
//!
//! Invariants:
//! * Input is hostile. Every offset, size and count of a file is checked against the file before it is used; nothing is
//!   allocated because a header says so; no input makes this crate panic. Whatever it refuses it names.
//! * [`CodeObject`] borrows nothing and copies nothing: it keeps the file's bytes and reads them in place.
//! * What is not understood is kept: unknown descriptor bits and unknown metadata keys survive a round trip.
//! * ELF types stay inside: goblin reads the records, our own types leave.
//!
//! | module | one idea |
//! |---|---|
//! | [`container`] | finding code objects in files, host executables and offload bundles |
//! | `repack` | containers written back with other code objects in them |
//! | `bundle` | the two offload bundle formats, plain and compressed |
//! | `source` | memory, or a file that is read only where a caller asks |
//! | [`uri`] | the runtime's names of loaded code objects |
//! | [`object`] | one parsed code object |
//! | [`kernel`] | kernels and functions: symbols, descriptors and metadata brought together |
//! | `elf` | the checked reading of ELF records |
//! | `symbols` | symbol tables, checked first and built when asked for |
//! | `tables` | what the dynamic section points at, relocations |
//! | [`types`] | segments, sections, symbols, relocations |
//! | [`notes`] | note records and what they say |
//! | [`target_id`] | processor and features, from flags and from text |
//! | [`descriptor`] | the 64 bytes of a kernel descriptor |
//! | [`entry`] | what a wave starts with: which value is in which register |
//! | [`kernel_code`] | the header that Mesa3D has instead |
//! | [`metadata`] | the metadata note of AMDHSA, typed and editable |
//! | [`pal`] | the metadata note of AMDPAL |
//! | `outline` | the check of that note |
//! | `listing` | the metadata notes of a file (a linked one has several) taken together |
//! | `fields` | its simple values |
//! | `arguments` | a kernel's arguments, built when asked for |
//! | `record`, `msgpack` | structs over msgpack maps that lose nothing |
//! | [`lines`] | source lines and inlined calls, from DWARF |
//! | [`link`] | the mock loader: objects in memory, linked with each other |
//! | `host` | functions and lines of host code, where calls of programs stand |
//! | [`origin`] | where the instructions of instrumented code came from |
//! | [`hooks`] | the hooks in instrumented code, and the tools' variables |

mod arguments;
mod bundle;
mod bytes;
pub mod container;
pub mod descriptor;
mod elf;
pub mod entry;
pub mod error;
mod fields;
#[doc(hidden)]
pub mod fuzz;
pub mod hooks;
mod host;
pub mod kernel;
pub mod kernel_code;
mod leb;
pub mod lines;
pub mod link;
mod listing;
pub mod metadata;
mod msgpack;
pub mod notes;
pub mod object;
pub mod origin;
mod outline;
pub mod pal;
mod record;
mod repack;
mod source;
mod symbols;
mod tables;
pub mod target_id;
pub mod types;
pub mod uri;

pub use arguments::{ArgMetadata, Arguments};
pub use bytes::Bytes;
pub use container::{Container, ContainerKind, Entry};
pub use descriptor::{Generation, KernelDescriptor};
pub use entry::{EntryField, EntryState, EntryValue};
pub use error::LoadError;
pub use fields::{KernelFields, MetadataFields};
pub use hooks::{HookLine, HookMap, HookVariable};
pub use host::HostFile;
pub use kernel::{Function, Kernel, MesaKernel};
pub use kernel_code::KernelCode;
pub use lines::{Frame, SourceLine, SourceMap};
pub use link::{LinkError, LoadOptions, LoadedObject, LoadedSegment, MockLoader};
pub use metadata::{KernelMetadata, Metadata};
pub use notes::{Note, NoteContent};
pub use object::CodeObject;
pub use origin::{OriginMap, OriginMapBuilder, OriginRange};
pub use pal::PalMetadata;
pub use target_id::{FeatureSetting, TargetId};
pub use types::{
    DynamicEntry, OsAbi, RelocKind, Relocation, Section, SectionKind, Segment, SegmentKind, Symbol, SymbolBinding,
    SymbolKind, SymbolVisibility,
};
pub use uri::CodeObjectUri;
