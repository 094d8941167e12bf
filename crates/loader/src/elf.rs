//! The checked reading of ELF records: headers, segments, sections, notes, the dynamic section. goblin knows how a record looks; where records are, how many there are and
//! whether they are inside the file is decided here.

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

    pub fn name(
        &mut self,
        bytes: &[u8],
        what: &'static str,
        table: (u64, u64),
        offset: u32,
    ) -> Result<String, LoadError> {
        let bad = |reason| LoadError::BadString { what, table: table.0, offset: offset.into(), reason };
        if offset == 0 {
            return Ok(String::new());
        }
        let strings = slice(bytes, "string table", table.0, table.1)?;
        let rest = strings.get(offset as usize..).ok_or_else(|| bad("lies outside of the table"))?;
        let length = rest.iter().take(self.0 as usize).position(|&byte| byte == 0).ok_or_else(|| {
            if rest.len() as u64 > self.0 { bad("makes all names together absurdly long") } else { bad("has no end") }
        })?;
        self.0 -= length as u64;
        std::str::from_utf8(&rest[..length]).map(str::to_owned).map_err(|_| bad("is not UTF-8"))
    }
}

/// The machines that somebody may mistake for a GPU, or whose binaries carry GPU code.
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
        let header: Header = slice(bytes, "ELF header", 0, 64)?.pread_with(0, LE).map_err(|_| {
            LoadError::Truncated { what: "ELF header", offset: 0, size: 64, file_size: bytes.len() as u64 }
        })?;
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
                let first: Vec<SectionHeader> = records(bytes, "first section header", header.e_shoff, 1)?;
                if parsed.shnum == 0 {
                    parsed.shnum = first[0].sh_size;
                }
                if parsed.shstrndx == 0xffff {
                    parsed.shstrndx = first[0].sh_link;
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
            let bad = |reason| LoadError::BadSegment { index, vaddr: segment.vaddr, offset: segment.offset, reason };
            if !matches!(segment.kind, SegmentKind::Load | SegmentKind::Dynamic | SegmentKind::Note) {
                continue;
            }
            slice(bytes, "segment", segment.offset, segment.filesz)
                .map_err(|_| bad("p_offset + p_filesz passes the end of the file"))?;
            if segment.vaddr.checked_add(segment.memsz).is_none() {
                return Err(bad("p_vaddr + p_memsz overflows"));
            }
            if segment.kind != SegmentKind::Load {
                continue;
            }
            if segment.filesz > segment.memsz {
                return Err(bad("p_filesz is larger than p_memsz"));
            }
            if segment.align > 1 {
                if !segment.align.is_power_of_two() {
                    return Err(bad("p_align is not a power of two"));
                }
                if segment.vaddr.wrapping_sub(segment.offset) & (segment.align - 1) != 0 {
                    return Err(bad("p_vaddr and p_offset differ modulo p_align"));
                }
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
        for (index, header) in headers.iter().enumerate() {
            if !matches!(header.sh_type, sh::SHT_NULL | sh::SHT_NOBITS)
                && slice(bytes, "section", header.sh_offset, header.sh_size).is_err()
            {
                let (offset, size) = (header.sh_offset, header.sh_size);
                return Err(LoadError::BadSection { index, offset, size, reason: "it passes the end of the file" });
            }
        }
        let names = match headers.get(self.shstrndx as usize) {
            Some(table) if table.sh_type == sh::SHT_STRTAB => (table.sh_offset, table.sh_size),
            _ => (0, 0),
        };
        let mut budget = NameBudget::of(bytes);
        headers
            .iter()
            .map(|header| {
                // A file without section names is odd but harmless.
                let name = if names.1 == 0 {
                    String::new()
                } else {
                    budget.name(bytes, "section header", names, header.sh_name)?
                };
                Ok(section(header, name))
            })
            .collect()
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

pub(crate) fn notes(bytes: &[u8], segments: &[Segment]) -> Result<Vec<Note>, LoadError> {
    let mut notes = Vec::new();
    for segment in segments.iter().filter(|s| s.kind == SegmentKind::Note) {
        let align = if segment.align == 8 { 8 } else { 4 };
        let end = segment.offset + segment.filesz;
        let mut at = segment.offset;
        while end - at >= 12 {
            let bad = |reason| LoadError::BadNote { offset: at, reason };
            if notes.len() > bytes.len() / 12 {
                return Err(bad("more notes than the file can hold: note segments overlap"));
            }
            let name_size = u64::from(u32_at(bytes, "note", at)?);
            let size = u64::from(u32_at(bytes, "note", at + 4)?);
            let kind = u32_at(bytes, "note", at + 8)?;
            let name_start = at + 12;
            let start = (name_start + name_size).next_multiple_of(align);
            let stop = start + size;
            if stop > end {
                return Err(bad("its n_namesz or n_descsz passes the end of the note segment"));
            }
            let name = slice(bytes, "note", name_start, name_size)?;
            let name = name.strip_suffix(b"\0").unwrap_or(name);
            let name = std::str::from_utf8(name).map_err(|_| bad("its name is not UTF-8"))?;
            notes.push(Note { name: name.to_owned(), kind, description: start as usize..stop as usize });
            at = stop.next_multiple_of(align).min(end);
        }
    }
    Ok(notes)
}

pub(crate) fn dynamic(bytes: &[u8], segments: &[Segment]) -> Result<Vec<DynamicEntry>, LoadError> {
    let Some(segment) = segments.iter().find(|s| s.kind == SegmentKind::Dynamic) else { return Ok(Vec::new()) };
    let all: Vec<Dyn> = records(bytes, "dynamic section", segment.offset, segment.filesz / 16)?;
    let entries = all.iter().take_while(|entry| entry.d_tag != dynamic::DT_NULL);
    Ok(entries.map(|entry| DynamicEntry { tag: entry.d_tag, value: entry.d_val }).collect())
}
