//! Note records: where they are, and what those of AMDGPU say.
//!
//! Numbers and layouts from the LLVM AMDGPU usage page, section "Note Records". Objects of the formats before v3, which
//! cannot be loaded, have notes too: [`Note::read_all`] shows them.

use std::fmt;
use std::ops::Range;

use hashbrown::HashSet;

use crate::elf::{ElfHeader, slice, u32_at};
use crate::types::{Section, SectionKind, Segment, SegmentKind};
use crate::{LoadError, TargetId};

const NT_AMDGPU_METADATA: u32 = 32;

/// A note record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Who defines the kind: `AMDGPU` from v3 on, `AMD` before and for AMDPAL and Mesa3D, `GNU`.
    pub name: String,
    pub kind: u32,
    /// File range of the description.
    pub description: Range<usize>,
}

/// What a note says, for the kinds that AMDGPU objects have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoteContent {
    /// v2: the version of the code object format.
    CodeObjectVersion { major: u32, minor: u32 },
    /// v2: the HSAIL properties that the code was compiled from.
    Hsail { major: u32, minor: u32, profile: u8, machine_model: u8, rounding: u8 },
    /// v2: the instruction set, by numbers.
    IsaVersion { vendor: String, architecture: String, major: u32, minor: u32, stepping: u32 },
    /// v2: who compiled it.
    Producer { name: String, major: u32, minor: u32 },
    /// v2: the metadata as YAML.
    MetadataYaml(String),
    /// The instruction set by its target id, with the triple: `amdgcn-amd-amdhsa--gfx803`.
    IsaName(String),
    /// AMDPAL before msgpack: register numbers and values.
    PalRegisters(Vec<(u32, u32)>),
    /// From v3 on: the metadata as msgpack; see [`crate::Metadata`] and [`crate::PalMetadata`].
    Metadata,
    /// Another kind, or a description too short for its kind.
    Other,
}

impl NoteContent {
    /// The target that an instruction set note names. The odd numbers gfx901 to gfx907 of v2 are the even processors
    /// before them with XNACK on.
    pub fn target(&self) -> Option<Result<TargetId, LoadError>> {
        let target = match self {
            NoteContent::IsaName(name) => name.parse::<TargetId>(),
            NoteContent::IsaVersion { major, minor, stepping, .. } => {
                Ok(TargetId::of_processor(format!("gfx{major}{minor:x}{stepping:x}")))
            }
            _ => return None,
        };
        Some(target.map(|target| {
            const WITH_XNACK: [(&str, &str); 4] =
                [("gfx901", "gfx900"), ("gfx903", "gfx902"), ("gfx905", "gfx904"), ("gfx907", "gfx906")];
            match WITH_XNACK.iter().find(|row| row.0 == target.processor) {
                Some(row) => TargetId { xnack: Some(true), ..TargetId::of_processor(row.1) },
                None => target,
            }
        }))
    }
}

impl fmt::Display for NoteContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoteContent::CodeObjectVersion { major, minor } => write!(f, "code object version {major}.{minor}"),
            NoteContent::Hsail { major, minor, .. } => write!(f, "HSAIL {major}.{minor}"),
            NoteContent::IsaVersion { vendor, architecture, major, minor, stepping } => {
                write!(f, "{vendor} {architecture} {major}.{minor}.{stepping}")
            }
            NoteContent::Producer { name, major, minor } => write!(f, "{name} {major}.{minor}"),
            NoteContent::MetadataYaml(text) => f.write_str(text),
            NoteContent::IsaName(name) => f.write_str(name),
            NoteContent::PalRegisters(all) => write!(f, "{} registers", all.len()),
            NoteContent::Metadata => f.write_str("metadata"),
            NoteContent::Other => f.write_str("something else"),
        }
    }
}

impl Note {
    /// The notes of any 64-bit little-endian ELF file, of whatever version.
    pub fn read_all(bytes: &[u8]) -> Result<Vec<Note>, LoadError> {
        let header = ElfHeader::parse(bytes)?;
        notes(bytes, &header.segments(bytes)?, &header.sections(bytes)?)
    }

    /// Whether it is one of those that [`crate::Metadata`] is made of.
    pub(crate) fn is_metadata(&self) -> bool {
        self.name == "AMDGPU" && self.kind == NT_AMDGPU_METADATA
    }

    /// What it says. `bytes` is the file.
    pub fn content(&self, bytes: &[u8]) -> NoteContent {
        let description = bytes.get(self.description.clone()).unwrap_or_default();
        match (self.name.as_str(), self.kind) {
            ("AMDGPU", NT_AMDGPU_METADATA) => NoteContent::Metadata,
            ("AMD", kind) => amd(kind, description).unwrap_or(NoteContent::Other),
            _ => NoteContent::Other,
        }
    }

    /// The kind's name, where it has one.
    pub fn kind_name(&self) -> Option<&'static str> {
        Some(match (self.name.as_str(), self.kind) {
            ("AMD", 1) => "NT_AMD_HSA_CODE_OBJECT_VERSION",
            ("AMD", 2) => "NT_AMD_HSA_HSAIL",
            ("AMD", 3) => "NT_AMD_HSA_ISA_VERSION",
            ("AMD", 4) => "NT_AMD_HSA_PRODUCER",
            ("AMD", 10) => "NT_AMD_HSA_METADATA",
            ("AMD", 11) => "NT_AMD_HSA_ISA_NAME",
            ("AMD", 12) => "NT_AMD_PAL_METADATA",
            ("AMDGPU", 32) => "NT_AMDGPU_METADATA",
            ("AMDGPU", 33) => "NT_AMDGPU_KFD_CORE_STATE",
            ("GNU", 1) => "NT_GNU_ABI_TAG",
            ("GNU", 3) => "NT_GNU_BUILD_ID",
            _ => return None,
        })
    }
}

/// A note of before v3. `None` when the description is too short.
fn amd(kind: u32, description: &[u8]) -> Option<NoteContent> {
    let word = |at: usize| Some(u32::from_le_bytes(description.get(at..at + 4)?.try_into().ok()?));
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(description.get(at..at + 2)?.try_into().ok()?)));
    // Strings end at a zero byte or with the description.
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Some(match kind {
        1 => NoteContent::CodeObjectVersion { major: word(0)?, minor: word(4)? },
        2 => {
            let &[profile, machine_model, rounding] = description.get(8..11)? else { return None };
            NoteContent::Hsail { major: word(0)?, minor: word(4)?, profile, machine_model, rounding }
        }
        3 => {
            let (vendor, architecture) = (half(0)?, half(2)?);
            NoteContent::IsaVersion {
                vendor: text(description.get(16..16 + vendor)?),
                architecture: text(description.get(16 + vendor..16 + vendor + architecture)?),
                major: word(4)?,
                minor: word(8)?,
                stepping: word(12)?,
            }
        }
        4 => {
            // The size of the name, two bytes that are reserved, the version.
            let size = half(0)?;
            NoteContent::Producer { name: text(description.get(12..12 + size)?), major: word(4)?, minor: word(8)? }
        }
        10 => NoteContent::MetadataYaml(text(description)),
        11 => NoteContent::IsaName(text(description)),
        12 => {
            let pairs = description.chunks_exact(8);
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
            NoteContent::PalRegisters(pairs.map(|pair| (number(&pair[..4]), number(&pair[4..]))).collect())
        }
        _ => return None,
    })
}

/// The notes of the PT_NOTE segments, then those of note sections that are in no such segment: AMDPAL and Mesa3D objects
/// have only these. Segments that overlap tell each note once.
pub(crate) fn notes(bytes: &[u8], segments: &[Segment], sections: &[Section]) -> Result<Vec<Note>, LoadError> {
    let mut all: Vec<Note> = Vec::new();
    let mut seen: Vec<Range<u64>> = Vec::new();
    for segment in segments.iter().filter(|s| s.kind == SegmentKind::Note) {
        notes_in(bytes, segment.offset, segment.filesz, segment.align, &mut all)?;
        seen.push(segment.offset..segment.offset + segment.filesz);
    }
    if seen.len() > 1 {
        let mut told = HashSet::new();
        all.retain(|note| told.insert(note.description.clone()));
    }
    for section in sections.iter().filter(|s| s.kind == SectionKind::Note) {
        if !seen.iter().any(|range| range.start <= section.offset && section.offset < range.end) {
            notes_in(bytes, section.offset, section.size, section.align, &mut all)?;
            seen.push(section.offset..section.offset + section.size);
        }
    }
    Ok(all)
}

/// The notes in `size` bytes at `offset`, which lie in the file.
fn notes_in(bytes: &[u8], offset: u64, size: u64, align: u64, all: &mut Vec<Note>) -> Result<(), LoadError> {
    let align = if align == 8 { 8 } else { 4 };
    let end = offset + size;
    let mut at = offset;
    while end - at >= 12 {
        if all.len() > bytes.len() / 12 {
            return Err(LoadError::NotesOverlap { offset: at, notes: all.len() });
        }
        let name_size = u64::from(u32_at(bytes, "note", at)?);
        let size = u64::from(u32_at(bytes, "note", at + 4)?);
        let kind = u32_at(bytes, "note", at + 8)?;
        let name_start = at + 12;
        let start = (name_start + name_size).next_multiple_of(align);
        let stop = start + size;
        if stop > end {
            return Err(LoadError::NoteTooLarge { offset: at, namesz: name_size, descsz: size, end });
        }
        let name = slice(bytes, "note", name_start, name_size)?;
        let name = name.strip_suffix(b"\0").unwrap_or(name);
        let name = std::str::from_utf8(name).map_err(|_| LoadError::NoteName { offset: name_start })?;
        all.push(Note { name: name.to_owned(), kind, description: start as usize..stop as usize });
        at = stop.next_multiple_of(align).min(end);
    }
    Ok(())
}
