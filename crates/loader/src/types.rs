//! The parts of a code object: segments, sections, symbols, relocations, notes.

use std::fmt;
use std::ops::Range;

/// Which runtime the object is for (EI_OSABI).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum OsAbi {
    AmdHsa,
    AmdPal,
    Mesa3d,
}

impl fmt::Display for OsAbi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OsAbi::AmdHsa => "AMDHSA",
            OsAbi::AmdPal => "AMDPAL",
            OsAbi::Mesa3d => "Mesa3D",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SegmentKind {
    Null,
    Load,
    Dynamic,
    Interp,
    Note,
    Phdr,
    Tls,
    GnuStack,
    GnuRelro,
    Other(u32),
}

/// A program header. `offset + filesz` lies in the file, `filesz <= memsz`, and `vaddr + memsz` does not overflow, for
/// PT_LOAD, PT_DYNAMIC and PT_NOTE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    pub kind: SegmentKind,
    /// PF_X 1, PF_W 2, PF_R 4.
    pub flags: u32,
    pub offset: u64,
    pub vaddr: u64,
    pub filesz: u64,
    pub memsz: u64,
    pub align: u64,
}

impl Segment {
    pub fn readable(&self) -> bool {
        self.flags & 4 != 0
    }
    pub fn writable(&self) -> bool {
        self.flags & 2 != 0
    }
    pub fn executable(&self) -> bool {
        self.flags & 1 != 0
    }
    /// Addresses in memory.
    pub fn range(&self) -> Range<u64> {
        self.vaddr..self.vaddr.saturating_add(self.memsz)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SectionKind {
    Null,
    ProgBits,
    SymTab,
    StrTab,
    Rela,
    Hash,
    Dynamic,
    Note,
    NoBits,
    Rel,
    DynSym,
    GnuHash,
    Other(u32),
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SectionKind::Null => "NULL",
            SectionKind::ProgBits => "PROGBITS",
            SectionKind::SymTab => "SYMTAB",
            SectionKind::StrTab => "STRTAB",
            SectionKind::Rela => "RELA",
            SectionKind::Hash => "HASH",
            SectionKind::Dynamic => "DYNAMIC",
            SectionKind::Note => "NOTE",
            SectionKind::NoBits => "NOBITS",
            SectionKind::Rel => "REL",
            SectionKind::DynSym => "DYNSYM",
            SectionKind::GnuHash => "GNU_HASH",
            SectionKind::Other(number) => return write!(f, "{number:#x}"),
        })
    }
}

/// A section header. `offset + size` lies in the file unless the kind is [`SectionKind::NoBits`] or Null.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    pub name: String,
    pub kind: SectionKind,
    /// SHF_WRITE 1, SHF_ALLOC 2, SHF_EXECINSTR 4, ...
    pub flags: u64,
    pub vaddr: u64,
    pub offset: u64,
    pub size: u64,
    /// Number of another section, with a meaning that depends on the kind.
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entry_size: u64,
}

impl Section {
    /// Takes part in the memory image.
    pub fn allocated(&self) -> bool {
        self.flags & 2 != 0
    }
    pub fn executable(&self) -> bool {
        self.flags & 4 != 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SymbolKind {
    NoType,
    Object,
    Func,
    Section,
    File,
    Common,
    Tls,
    /// Before v3 and in Mesa3D objects: a header (amd_kernel_code_t) with the code of a kernel behind it.
    AmdgpuHsaKernel,
    Other(u8),
}

impl fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SymbolKind::NoType => "NOTYPE",
            SymbolKind::Object => "OBJECT",
            SymbolKind::Func => "FUNC",
            SymbolKind::Section => "SECTION",
            SymbolKind::File => "FILE",
            SymbolKind::Common => "COMMON",
            SymbolKind::Tls => "TLS",
            SymbolKind::AmdgpuHsaKernel => "AMDGPU_HSA_KERNEL",
            SymbolKind::Other(number) => return write!(f, "{number}"),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SymbolBinding {
    Local,
    Global,
    Weak,
    Other(u8),
}

impl fmt::Display for SymbolBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SymbolBinding::Local => "LOCAL",
            SymbolBinding::Global => "GLOBAL",
            SymbolBinding::Weak => "WEAK",
            SymbolBinding::Other(number) => return write!(f, "{number}"),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum SymbolVisibility {
    Default,
    Internal,
    Hidden,
    Protected,
}

impl fmt::Display for SymbolVisibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SymbolVisibility::Default => "DEFAULT",
            SymbolVisibility::Internal => "INTERNAL",
            SymbolVisibility::Hidden => "HIDDEN",
            SymbolVisibility::Protected => "PROTECTED",
        })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub name: String,
    /// The vaddr, or the value itself of an absolute symbol.
    pub value: u64,
    pub size: u64,
    pub kind: SymbolKind,
    pub binding: SymbolBinding,
    pub visibility: SymbolVisibility,
    /// Index into [`CodeObject::sections`](crate::CodeObject::sections); `None` for undefined, absolute and common ones.
    pub section: Option<usize>,
    /// st_shndx as it is in the file.
    pub shndx: u16,
    /// In .dynsym, so visible to other objects and to the runtime.
    pub dynamic: bool,
}

impl Symbol {
    pub fn is_undefined(&self) -> bool {
        self.shndx == 0
    }
    pub fn is_absolute(&self) -> bool {
        self.shndx == 0xfff1
    }
}

/// A relocation type of the AMDGPU back end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum RelocKind {
    None,
    Abs32Lo,
    Abs32Hi,
    Abs64,
    Rel32,
    Rel64,
    Abs32,
    GotPcRel,
    GotPcRel32Lo,
    GotPcRel32Hi,
    Rel32Lo,
    Rel32Hi,
    Relative64,
    Rel16,
    Unknown(u32),
}

const RELOC_KINDS: [(RelocKind, u32, &str); 14] = [
    (RelocKind::None, 0, "R_AMDGPU_NONE"),
    (RelocKind::Abs32Lo, 1, "R_AMDGPU_ABS32_LO"),
    (RelocKind::Abs32Hi, 2, "R_AMDGPU_ABS32_HI"),
    (RelocKind::Abs64, 3, "R_AMDGPU_ABS64"),
    (RelocKind::Rel32, 4, "R_AMDGPU_REL32"),
    (RelocKind::Rel64, 5, "R_AMDGPU_REL64"),
    (RelocKind::Abs32, 6, "R_AMDGPU_ABS32"),
    (RelocKind::GotPcRel, 7, "R_AMDGPU_GOTPCREL"),
    (RelocKind::GotPcRel32Lo, 8, "R_AMDGPU_GOTPCREL32_LO"),
    (RelocKind::GotPcRel32Hi, 9, "R_AMDGPU_GOTPCREL32_HI"),
    (RelocKind::Rel32Lo, 10, "R_AMDGPU_REL32_LO"),
    (RelocKind::Rel32Hi, 11, "R_AMDGPU_REL32_HI"),
    (RelocKind::Relative64, 13, "R_AMDGPU_RELATIVE64"),
    (RelocKind::Rel16, 14, "R_AMDGPU_REL16"),
];

impl RelocKind {
    pub fn from_number(number: u32) -> RelocKind {
        RELOC_KINDS.iter().find(|row| row.1 == number).map_or(RelocKind::Unknown(number), |row| row.0)
    }
    /// The value of ELF64_R_TYPE.
    pub fn number(self) -> u32 {
        match self {
            RelocKind::Unknown(number) => number,
            known => RELOC_KINDS.iter().find(|row| row.0 == known).map_or(0, |row| row.1),
        }
    }
}

impl fmt::Display for RelocKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match RELOC_KINDS.iter().find(|row| row.0 == *self) {
            Some(row) => f.write_str(row.2),
            None => write!(f, "R_AMDGPU type {}", self.number()),
        }
    }
}

/// A dynamic relocation: what remains to be done when the object is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// The vaddr of the place.
    pub offset: u64,
    pub kind: RelocKind,
    /// Index into [`CodeObject::symbols`](crate::CodeObject::symbols).
    pub symbol: Option<usize>,
    /// `None` for a REL record: the addend is what the place holds.
    pub addend: Option<i64>,
}

/// A record of PT_DYNAMIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DynamicEntry {
    pub tag: u64,
    pub value: u64,
}
