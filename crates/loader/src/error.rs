//! Everything that can be wrong with a file, and where.

use std::path::PathBuf;

/// Why something was not loaded. Offsets are byte offsets in the file that was being read (for an entry of a bundle,
/// in that entry); `vaddr`s are addresses as the code object states them, before any load base.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },

    // What kind of file it is.
    #[error(
        "not an ELF file: it starts with {found:02x?}, not 7f 45 4c 46; expected a code object (.hsaco), a host binary \
         with a .hip_fatbin section or an offload bundle"
    )]
    NotElf { found: Vec<u8> },
    #[error(
        "truncated: {what} at offset {offset:#x} needs {size} bytes, the file ends at {file_size:#x}; the file is \
         incomplete or its header is damaged"
    )]
    Truncated { what: &'static str, offset: u64, size: u64, file_size: u64 },
    #[error("EI_CLASS (offset 4) is {found}: AMDGPU code objects are 64-bit ELF (2)")]
    NotElf64 { found: u8 },
    #[error("EI_DATA (offset 5) is {found}: AMDGPU code objects are little endian (1)")]
    NotLittleEndian { found: u8 },
    #[error("e_machine (offset 0x12) is {found} ({name}), not EM_AMDGPU (224): this is not AMDGPU code")]
    WrongMachine { found: u16, name: &'static str },
    #[error(
        "EI_OSABI (offset 7) is {found}: expected ELFOSABI_AMDGPU_HSA (64), ELFOSABI_AMDGPU_PAL (65) or \
         ELFOSABI_AMDGPU_MESA3D (66)"
    )]
    UnsupportedOsAbi { found: u8 },
    #[error(
        "EI_ABIVERSION (offset 8) is {found}, which is code object {}: versions 3 to 6 (1 to 4) are supported; rebuild \
         with -mcode-object-version=5",
        if *.found == 0 { "version 2 or older" } else { "of a version newer than 6" }
    )]
    UnsupportedVersion { found: u8 },
    #[error(
        "e_type (offset 0x10) is ET_REL: an object file without program headers cannot be loaded; link it first \
         (ld.lld -shared)"
    )]
    ObjectFile,
    #[error("e_type (offset 0x10) is {found}: a code object is a shared object, ET_DYN (3)")]
    NotSharedObject { found: u16 },
    #[error(
        "e_phnum (offset 0x38) is 0: without program headers nothing can be loaded; link the object as a shared one"
    )]
    NoProgramHeaders,
    #[error("{field} is {found}, expected {expected}: the header is damaged or of another format")]
    BadEntrySize { field: &'static str, found: u64, expected: u64 },
    #[error("the EF_AMDGPU_MACH field of e_flags (offset 0x30) is {mach:#x}: no AMDGCN processor has this number")]
    UnknownProcessor { mach: u32 },
    #[error("`{text}` is not a target id: {reason}; expected something like gfx90a or gfx90a:sramecc+:xnack-")]
    BadTargetId { text: String, reason: &'static str },
    #[error("the metadata note says the target is {note}, e_flags says {flags}: one of the two is wrong")]
    TargetMismatch { note: String, flags: String },

    #[error("`{text}` is not the name of a loaded code object: {reason}")]
    BadUri { text: String, reason: &'static str },
    #[error("{size:#x} bytes of memory at {address:#x} are more than the {limit:#x} that a code object may have")]
    MemoryRange { address: u64, size: u64, limit: u64 },

    // What is inside.
    #[error(
        "segment {index} (vaddr {vaddr:#x}): p_offset + p_filesz, {offset:#x} + {filesz:#x}, pass the end of the file at \
         {file_size:#x}"
    )]
    SegmentOutside { index: usize, vaddr: u64, offset: u64, filesz: u64, file_size: u64 },
    #[error("segment {index}: p_vaddr + p_memsz, {vaddr:#x} + {memsz:#x}, overflow")]
    SegmentOverflow { index: usize, vaddr: u64, memsz: u64 },
    #[error("segment {index} (vaddr {vaddr:#x}): p_filesz is {filesz:#x}, larger than p_memsz, {memsz:#x}")]
    SegmentSizes { index: usize, vaddr: u64, filesz: u64, memsz: u64 },
    #[error(
        "segment {index} (vaddr {vaddr:#x}, offset {offset:#x}): p_align is {align:#x}, which is not a power of two or \
         does not divide the difference of p_vaddr and p_offset"
    )]
    SegmentAlignment { index: usize, vaddr: u64, offset: u64, align: u64 },
    #[error("segments {first} and {second} overlap at vaddr {vaddr:#x}")]
    OverlappingSegments { first: usize, second: usize, vaddr: u64 },
    #[error(
        "section {index} ({name}): sh_offset + sh_size, {offset:#x} + {size:#x}, pass the end of the file at {file_size:#x}"
    )]
    SectionOutside { index: usize, name: String, offset: u64, size: u64, file_size: u64 },
    #[error("{what}: the name at offset {offset:#x} of the string table at {table:#x} {reason}")]
    BadString { what: &'static str, table: u64, offset: u64, reason: &'static str },
    #[error("dynamic section: {tag} = {value:#x} {reason}")]
    BadDynamic { tag: &'static str, value: u64, reason: &'static str },
    #[error(
        "note at offset {offset:#x}: its name of {namesz:#x} bytes (n_namesz) and description of {descsz:#x} bytes \
         (n_descsz) pass the end of the notes at {end:#x}"
    )]
    NoteTooLarge { offset: u64, namesz: u64, descsz: u64, end: u64 },
    #[error("the name of the note, at offset {offset:#x}, is not UTF-8")]
    NoteName { offset: u64 },
    #[error("note at offset {offset:#x}: it is number {notes}, more than the file can hold: note segments overlap")]
    NotesOverlap { offset: u64, notes: usize },
    #[error("metadata note at offset {offset:#x}: {reason}")]
    BadMetadata { offset: u64, reason: String },
    #[error("metadata note: {path}: expected {expected}, found {found} at offset {offset:#x}")]
    MetadataType { offset: u64, path: String, expected: &'static str, found: &'static str },
    #[error("metadata note at offset {offset:#x}: kernel {kernel} is listed twice")]
    KernelTwice { offset: u64, kernel: String },
    #[error("the metadata notes at offsets {first:#x} and {second:#x} contradict each other in {what}")]
    NotesDisagree { first: u64, second: u64, what: String },
    #[error("kernel {kernel}: its descriptor symbol {symbol} is not defined in the code object")]
    MissingDescriptor { kernel: String, symbol: String },
    #[error("kernel {kernel}: the descriptor at vaddr {vaddr:#x} {reason}")]
    BadDescriptor { kernel: String, vaddr: u64, reason: &'static str },
    #[error(
        "kernel {kernel}: KERNEL_CODE_ENTRY_BYTE_OFFSET of the descriptor at vaddr {descriptor:#x} gives the entry \
         {entry:#x}, which is in no executable segment"
    )]
    BadEntryPoint { kernel: String, descriptor: u64, entry: u64 },
    #[error("a kernel descriptor of {generation:?} has no field {field}")]
    DescriptorField { field: String, generation: crate::Generation },
    #[error("kernel descriptor: {field} cannot be {value}: it holds {min} to {max}")]
    DescriptorValue { field: &'static str, value: i128, min: i128, max: i128 },
    #[error("relocation record {index}: symbol number {symbol}, but there are {count} dynamic symbols")]
    BadRelocationSymbol { index: usize, symbol: u32, count: usize },

    // Containers.
    #[error("this {machine} ELF has no .hip_fatbin section: it holds no HIP device code")]
    NoFatBinary { machine: &'static str },
    #[error("the .hip_fatbin section at offset {offset:#x} holds no offload bundle")]
    EmptyFatBinary { offset: u64 },
    #[error("offload bundle at offset {offset:#x}: {reason}")]
    BadBundle { offset: u64, reason: String },
    #[error(
        "compressed offload bundle at offset {offset:#x}: format version {version} is unknown (1 to 3 are supported)"
    )]
    UnsupportedBundleVersion { offset: u64, version: u16 },
    #[error(
        "compressed offload bundle at offset {offset:#x}: compression method {method} is unknown (0 zlib, 1 zstd are \
         supported)"
    )]
    UnsupportedCompression { offset: u64, method: u16 },
    #[error("compressed offload bundle at offset {offset:#x}: {reason}")]
    Decompression { offset: u64, reason: String },
    #[error("no code object for {wanted}; there are: {}", available.join(", "))]
    NoMatchingEntry { wanted: String, available: Vec<String> },
    #[error("the entry {entry} cannot hold code for {code}")]
    EntryMismatch { entry: String, code: String },
    #[error("the host binary cannot hold other device code: {reason}")]
    HostBinary { reason: String },
    #[error("entry {index} does not exist: there are {count}")]
    NoSuchEntry { index: usize, count: usize },

    // Debug information.
    #[error("debug information, {section}: {reason}")]
    BadDebugInfo { section: String, reason: String },

    // Instrumented code.
    #[error("section .luthier.origin, byte {offset}: {reason}")]
    BadOriginMap { offset: usize, reason: &'static str },
    #[error("section .luthier.hooks, byte {offset}: {reason}")]
    BadHookMap { offset: usize, reason: &'static str },
}
