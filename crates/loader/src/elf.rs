//! The checked reading of ELF records: headers, segments, sections, notes, the dynamic section. goblin knows how a record looks; where records are, how many there are and
//! whether they are inside the file is decided here.

use std::ops::Range;

use goblin::elf::dynamic::{self, dyn64::Dyn};
use goblin::elf::header::{self, header64::Header};
use goblin::elf::program_header::{self as ph, program_header64::ProgramHeader};
use goblin::elf::section_header::{self as sh, section_header64::SectionHeader};
use scroll::ctx::{SizeWith, TryFromCtx};
use scroll::{Endian, LE, Pread};

use crate::LoadError;
use crate::types::*;

const SECTION_HEADER_SIZE: u64 = 64;
const PROGRAM_HEADER_SIZE: u64 = 56;

/// The bytes `offset..offset + size`, or what was cut off.
pub(crate) fn slice<'a>(bytes: &'a [u8], what: &'static str, offset: u64, size: u64) -> Result<&'a [u8], LoadError> {
    let truncated = || LoadError::Truncated { what, offset, size, file_size: bytes.len() as u64 };
    let start = usize::try_from(offset).map_err(|_| truncated())?;
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok()).ok_or_else(truncated)?;
    bytes.get(start..end).ok_or_else(truncated)
}

/// The bytes of a section in a file.
pub(crate) fn section_bytes<'a>(bytes: &'a [u8], section: &Section) -> &'a [u8] {
    if matches!(section.kind, SectionKind::NoBits | SectionKind::Null) {
        return &[];
    }
    slice(bytes, "section", section.offset, section.size).unwrap_or_default()
}

/// Where code is: in sections that are in memory, or, without such, in segments.
pub(crate) fn code_ranges(
    segments: &[Segment],
    sections: &[Section],
    is_loaded: impl Fn(&Section) -> bool,
) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = sections
        .iter()
        .filter(|s| s.executable() && s.allocated() && s.kind == SectionKind::ProgBits && s.size != 0)
        .filter(|s| is_loaded(s))
        .map(|s| s.vaddr..s.vaddr + s.size)
        .collect();
    if ranges.is_empty() {
        let loads = segments.iter().filter(|s| s.kind == SegmentKind::Load && s.executable() && s.filesz != 0);
        ranges.extend(loads.map(|s| s.vaddr..s.vaddr + s.filesz));
    }
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// `count` records one after the other; their place is checked before anything is allocated.
pub(crate) fn records<'a, T>(bytes: &'a [u8], what: &'static str, offset: u64, count: u64) -> Result<Vec<T>, LoadError>
where
    T: TryFromCtx<'a, Endian, Error = scroll::Error> + SizeWith<Endian>,
{
    let size = T::size_with(&LE);
    let total = count.saturating_mul(size as u64);
    slice(bytes, what, offset, total)?
        .chunks_exact(size)
        .map(|record| {
            record.pread_with(0, LE).map_err(|_| LoadError::Truncated {
                what,
                offset,
                size: total,
                file_size: bytes.len() as u64,
            })
        })
        .collect()
}

pub(crate) fn u32_at(bytes: &[u8], what: &'static str, offset: u64) -> Result<u32, LoadError> {
    let word = slice(bytes, what, offset, 4)?;
    Ok(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// Names are copied out of string tables, and many symbols may share one long string: the copies of one file may not
/// add up to much more than the file.
pub(crate) struct NameBudget(u64);

impl NameBudget {
    pub fn of(bytes: &[u8]) -> NameBudget {
        NameBudget((bytes.len() as u64).saturating_mul(4).saturating_add(1 << 16))
    }
}

/// A string table.
pub(crate) struct Names<'a> {
    what: &'static str,
    offset: u64,
    strings: &'a [u8],
    /// All of it, so that no name needs a check of its own.
    utf8: bool,
}

impl<'a> Names<'a> {
    /// `table` is the offset and the size; `what` has names in it.
    pub fn new(bytes: &'a [u8], what: &'static str, table: (u64, u64)) -> Result<Names<'a>, LoadError> {
        let strings = slice(bytes, "string table", table.0, table.1)?;
        Ok(Names { what, offset: table.0, strings, utf8: strings.is_ascii() || std::str::from_utf8(strings).is_ok() })
    }

    /// The name at `offset`, which is UTF-8.
    pub fn get(&self, offset: u32, budget: &mut NameBudget) -> Result<&'a [u8], LoadError> {
        let bad = |reason| LoadError::BadString { what: self.what, table: self.offset, offset: offset.into(), reason };
        if offset == 0 {
            return Ok(&[]);
        }
        let rest = self.strings.get(offset as usize..).ok_or_else(|| bad("lies outside of the table"))?;
        // Looking for the end may not cost more than the budget either.
        let rest = &rest[..rest.len().min((budget.0 as usize).saturating_add(1))];
        let length = memchr::memchr(0, rest).ok_or_else(|| {
            if rest.len() as u64 > budget.0 { bad("makes all names together absurdly long") } else { bad("has no end") }
        })?;
        let name = &rest[..length];
        budget.0 -= name.len() as u64;
        // A name may begin in the middle of a character.
        if (!self.utf8 || name.first().is_some_and(|byte| !byte.is_ascii())) && std::str::from_utf8(name).is_err() {
            return Err(bad("is not UTF-8"));
        }
        Ok(name)
    }
}

/// The machines that a user may mistake for a GPU, or whose binaries carry GPU code.
fn machine_name(machine: u16) -> &'static str {
    match machine {
        3 => "x86",
        21 => "PowerPC64",
        40 => "ARM",
        62 => "x86-64",
        183 => "AArch64",
        190 => "NVIDIA CUDA",
        224 => "AMDGPU",
        243 => "RISC-V",
        247 => "BPF",
        258 => "LoongArch",
        _ => "another machine",
    }
}

/// The ELF header's fields that matter later.
pub(crate) struct ElfHeader {
    pub machine: u16,
    pub kind: u16,
    pub os_abi: u8,
    pub abi_version: u8,
    pub flags: u32,
    pub phoff: u64,
    pub phnum: u16,
    pub shoff: u64,
    pub shnum: u64,
    pub shstrndx: u32,
}

impl ElfHeader {
    pub fn machine_name(&self) -> &'static str {
        machine_name(self.machine)
    }

    /// The header of any 64-bit little-endian ELF file.
    pub fn parse(bytes: &[u8]) -> Result<ElfHeader, LoadError> {
        let first_section = |offset| Ok(slice(bytes, "first section header", offset, 64)?.to_vec());
        ElfHeader::parse_with(bytes, bytes.len() as u64, first_section)
    }

    /// The same from the beginning of a file of `size` bytes, and a way to read its first section header.
    pub fn parse_with(
        bytes: &[u8],
        size: u64,
        first_section: impl FnOnce(u64) -> Result<Vec<u8>, LoadError>,
    ) -> Result<ElfHeader, LoadError> {
        if !bytes.starts_with(b"\x7fELF") {
            if b"\x7fELF".starts_with(bytes) {
                slice(bytes, "ELF header", 0, 64)?;
            }
            return Err(LoadError::NotElf { found: bytes.iter().take(4).copied().collect() });
        }
        let ident = slice(bytes, "ELF header", 0, 16)?;
        if ident[header::EI_CLASS] != header::ELFCLASS64 {
            return Err(LoadError::NotElf64 { found: ident[header::EI_CLASS] });
        }
        if ident[header::EI_DATA] != header::ELFDATA2LSB {
            return Err(LoadError::NotLittleEndian { found: ident[header::EI_DATA] });
        }
        let (os_abi, abi_version) = (ident[header::EI_OSABI], ident[header::EI_ABIVERSION]);
        let header: Header = slice(bytes, "ELF header", 0, 64)?
            .pread_with(0, LE)
            .map_err(|_| LoadError::Truncated { what: "ELF header", offset: 0, size: 64, file_size: size })?;
        let mut parsed = ElfHeader {
            machine: header.e_machine,
            kind: header.e_type,
            os_abi,
            abi_version,
            flags: header.e_flags,
            phoff: header.e_phoff,
            phnum: header.e_phnum,
            shoff: header.e_shoff,
            shnum: header.e_shnum.into(),
            shstrndx: header.e_shstrndx.into(),
        };
        if header.e_phnum != 0 {
            entry_size("e_phentsize (offset 0x36)", header.e_phentsize.into(), PROGRAM_HEADER_SIZE)?;
        }
        if header.e_shoff != 0 {
            entry_size("e_shentsize (offset 0x3a)", header.e_shentsize.into(), SECTION_HEADER_SIZE)?;
            // Numbers that do not fit 16 bits are in the first section header.
            if parsed.shnum == 0 || parsed.shstrndx == 0xffff {
                let first = SectionRecord::read(&first_section(header.e_shoff)?, header.e_shoff)?;
                if parsed.shnum == 0 {
                    parsed.shnum = first.size;
                }
                if parsed.shstrndx == 0xffff {
                    parsed.shstrndx = first.link;
                }
            }
        } else {
            parsed.shnum = 0;
        }
        Ok(parsed)
    }

    /// That it is a code object which can be loaded. Gives the OS ABI and the code object version.
    pub fn check_code_object(&self) -> Result<(OsAbi, u8), LoadError> {
        if self.machine != header::EM_AMDGPU {
            return Err(LoadError::WrongMachine { found: self.machine, name: self.machine_name() });
        }
        let os_abi = match self.os_abi {
            64 => OsAbi::AmdHsa,
            65 => OsAbi::AmdPal,
            66 => OsAbi::Mesa3d,
            found => return Err(LoadError::UnsupportedOsAbi { found }),
        };
        let version = match (os_abi, self.abi_version) {
            (OsAbi::AmdHsa, found @ 1..=4) => found + 2,
            (OsAbi::AmdHsa, found) => return Err(LoadError::UnsupportedVersion { found }),
            // The other two have no versions of their own; LLVM writes 0 and means the flags of v3.
            (_, 0) => 3,
            (_, found @ 1..=4) => found + 2,
            (_, found) => return Err(LoadError::UnsupportedVersion { found }),
        };
        match self.kind {
            header::ET_DYN => {}
            header::ET_REL => return Err(LoadError::ObjectFile),
            found => return Err(LoadError::NotSharedObject { found }),
        }
        if self.phnum == 0 {
            return Err(LoadError::NoProgramHeaders);
        }
        Ok((os_abi, version))
    }

    pub fn segments(&self, bytes: &[u8]) -> Result<Vec<Segment>, LoadError> {
        let headers: Vec<ProgramHeader> = records(bytes, "program headers", self.phoff, self.phnum.into())?;
        let segments: Vec<Segment> = headers.iter().map(segment).collect();
        for (index, segment) in segments.iter().enumerate() {
            let &Segment { vaddr, offset, filesz, memsz, align, .. } = segment;
            if !matches!(segment.kind, SegmentKind::Load | SegmentKind::Dynamic | SegmentKind::Note) {
                continue;
            }
            let file_size = bytes.len() as u64;
            if offset.checked_add(filesz).is_none_or(|end| end > file_size) {
                return Err(LoadError::SegmentOutside { index, vaddr, offset, filesz, file_size });
            }
            if vaddr.checked_add(memsz).is_none() {
                return Err(LoadError::SegmentOverflow { index, vaddr, memsz });
            }
            if segment.kind != SegmentKind::Load {
                continue;
            }
            if filesz > memsz {
                return Err(LoadError::SegmentSizes { index, vaddr, filesz, memsz });
            }
            if align > 1 && (!align.is_power_of_two() || vaddr.wrapping_sub(offset) & (align - 1) != 0) {
                return Err(LoadError::SegmentAlignment { index, vaddr, offset, align });
            }
        }
        let mut loads: Vec<(usize, &Segment)> =
            segments.iter().enumerate().filter(|(_, s)| s.kind == SegmentKind::Load && s.memsz != 0).collect();
        loads.sort_by_key(|(_, s)| s.vaddr);
        for pair in loads.windows(2) {
            if pair[0].1.range().end > pair[1].1.vaddr {
                return Err(LoadError::OverlappingSegments {
                    first: pair[0].0,
                    second: pair[1].0,
                    vaddr: pair[1].1.vaddr,
                });
            }
        }
        Ok(segments)
    }

    pub fn sections(&self, bytes: &[u8]) -> Result<Vec<Section>, LoadError> {
        let headers: Vec<SectionHeader> = records(bytes, "section headers", self.shoff, self.shnum)?;
        let file_size = bytes.len() as u64;
        let outside = |index: usize, name: String, header: &SectionHeader| {
            let (offset, size) = (header.sh_offset, header.sh_size);
            LoadError::SectionOutside { index, name, offset, size, file_size }
        };
        let lies_outside = |header: &SectionHeader| {
            !matches!(header.sh_type, sh::SHT_NULL | sh::SHT_NOBITS)
                && header.sh_offset.checked_add(header.sh_size).is_none_or(|end| end > file_size)
        };
        let names = match headers.get(self.shstrndx as usize) {
            Some(table) if table.sh_type == sh::SHT_STRTAB => (table.sh_offset, table.sh_size),
            _ => (0, 0),
        };
        if let Some(index) = headers.iter().position(|header| header.sh_offset == names.0 && lies_outside(header)) {
            return Err(outside(index, ".shstrtab".to_owned(), &headers[index]));
        }
        let mut budget = NameBudget::of(bytes);
        let table = Names::new(bytes, "section header", names)?;
        let mut sections = Vec::with_capacity(headers.len());
        for (index, header) in headers.iter().enumerate() {
            // A file without section names is odd but harmless.
            let name = if names.1 == 0 { &[][..] } else { table.get(header.sh_name, &mut budget)? };
            let name = std::str::from_utf8(name).unwrap_or_default().to_owned();
            if lies_outside(header) {
                return Err(outside(index, name, header));
            }
            sections.push(section(header, name));
        }
        Ok(sections)
    }
}

/// What it takes to find a section in a file that is not read.
pub(crate) struct SectionRecord {
    /// In the table of names.
    pub name: u32,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub has_bytes: bool,
}

impl SectionRecord {
    pub fn read(bytes: &[u8], offset: u64) -> Result<SectionRecord, LoadError> {
        let header: SectionHeader = bytes.pread_with(0, LE).map_err(|_| LoadError::Truncated {
            what: "section header",
            offset,
            size: SECTION_HEADER_SIZE,
            file_size: offset + bytes.len() as u64,
        })?;
        Ok(SectionRecord {
            name: header.sh_name,
            offset: header.sh_offset,
            size: header.sh_size,
            link: header.sh_link,
            has_bytes: !matches!(header.sh_type, sh::SHT_NULL | sh::SHT_NOBITS),
        })
    }
}

pub(crate) fn entry_size(field: &'static str, found: u64, expected: u64) -> Result<(), LoadError> {
    if found == expected { Ok(()) } else { Err(LoadError::BadEntrySize { field, found, expected }) }
}

fn segment(header: &ProgramHeader) -> Segment {
    Segment {
        kind: match header.p_type {
            ph::PT_NULL => SegmentKind::Null,
            ph::PT_LOAD => SegmentKind::Load,
            ph::PT_DYNAMIC => SegmentKind::Dynamic,
            ph::PT_INTERP => SegmentKind::Interp,
            ph::PT_NOTE => SegmentKind::Note,
            ph::PT_PHDR => SegmentKind::Phdr,
            ph::PT_TLS => SegmentKind::Tls,
            ph::PT_GNU_STACK => SegmentKind::GnuStack,
            ph::PT_GNU_RELRO => SegmentKind::GnuRelro,
            other => SegmentKind::Other(other),
        },
        flags: header.p_flags,
        offset: header.p_offset,
        vaddr: header.p_vaddr,
        filesz: header.p_filesz,
        memsz: header.p_memsz,
        align: header.p_align,
    }
}

fn section(header: &SectionHeader, name: String) -> Section {
    Section {
        name,
        kind: match header.sh_type {
            sh::SHT_NULL => SectionKind::Null,
            sh::SHT_PROGBITS => SectionKind::ProgBits,
            sh::SHT_SYMTAB => SectionKind::SymTab,
            sh::SHT_STRTAB => SectionKind::StrTab,
            sh::SHT_RELA => SectionKind::Rela,
            sh::SHT_HASH => SectionKind::Hash,
            sh::SHT_DYNAMIC => SectionKind::Dynamic,
            sh::SHT_NOTE => SectionKind::Note,
            sh::SHT_NOBITS => SectionKind::NoBits,
            sh::SHT_REL => SectionKind::Rel,
            sh::SHT_DYNSYM => SectionKind::DynSym,
            sh::SHT_GNU_HASH => SectionKind::GnuHash,
            other => SectionKind::Other(other),
        },
        flags: header.sh_flags,
        vaddr: header.sh_addr,
        offset: header.sh_offset,
        size: header.sh_size,
        link: header.sh_link,
        info: header.sh_info,
        align: header.sh_addralign,
        entry_size: header.sh_entsize,
    }
}

/// The loadable segments by address, for look-ups: they do not overlap.
#[derive(Clone, Debug)]
pub(crate) struct Loads(Vec<Segment>);

impl Loads {
    pub fn new(segments: &[Segment]) -> Loads {
        let mut loads: Vec<Segment> =
            segments.iter().filter(|s| s.kind == SegmentKind::Load && s.memsz != 0).cloned().collect();
        loads.sort_by_key(|s| s.vaddr);
        Loads(loads)
    }

    /// The segment that `vaddr` lies in.
    pub fn find(&self, vaddr: u64) -> Option<&Segment> {
        let segment = &self.0[self.0.partition_point(|s| s.vaddr <= vaddr).checked_sub(1)?];
        segment.range().contains(&vaddr).then_some(segment)
    }

    /// Where in the file the bytes at `vaddr` are; `len` bytes must be backed by the file.
    pub fn file_offset(&self, vaddr: u64, len: u64) -> Option<u64> {
        let segment = &self.0[self.0.partition_point(|s| s.vaddr <= vaddr).checked_sub(1)?];
        let at = vaddr - segment.vaddr;
        (at.checked_add(len)? <= segment.filesz).then(|| segment.offset + at)
    }
}

pub(crate) fn dynamic(bytes: &[u8], segments: &[Segment]) -> Result<Vec<DynamicEntry>, LoadError> {
    let Some(segment) = segments.iter().find(|s| s.kind == SegmentKind::Dynamic) else { return Ok(Vec::new()) };
    let all: Vec<Dyn> = records(bytes, "dynamic section", segment.offset, segment.filesz / 16)?;
    let entries = all.iter().take_while(|entry| entry.d_tag != dynamic::DT_NULL);
    Ok(entries.map(|entry| DynamicEntry { tag: entry.d_tag, value: entry.d_val }).collect())
}
