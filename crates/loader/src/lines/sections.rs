//! The debug sections of an object, decompressed, and the work that may be spent on them.

use std::borrow::Cow;
use std::io::Read;

use gimli::{DebugAbbrev, DebugLine, Dwarf, EndianSlice, LittleEndian, SectionId};

use crate::types::Section;
use crate::{CodeObject, LoadError, elf};

pub type Slice<'a> = EndianSlice<'a, LittleEndian>;

const SHF_COMPRESSED: u64 = 1 << 11;
const COMPRESSION_HEADER: usize = 24;
const ZLIB: u32 = 1;
const ZSTD: u32 = 2;

/// No compiler writes a debug section that shrinks to less than this part of itself.
const MAX_EXPANSION: u64 = 1024;

/// An error in the debug information.
pub fn bad(section: &str, reason: impl Into<String>) -> LoadError {
    LoadError::BadDebugInfo { section: section.to_owned(), reason: reason.into() }
}

/// gimli's errors name no section; the place where reading was is told instead.
pub fn because(what: &'static str) -> impl Fn(gimli::Error) -> LoadError {
    move |error| bad(what, error.to_string())
}

/// The debug sections that lines need; the others are empty.
pub struct Sections<'a> {
    found: Vec<(SectionId, Cow<'a, [u8]>)>,
}

impl<'a> Sections<'a> {
    pub fn of(object: &'a CodeObject) -> Result<Sections<'a>, LoadError> {
        Sections::read(object.bytes(), object.sections())
    }

    /// Those among the sections of a file.
    pub fn read(bytes: &'a [u8], sections: &[Section]) -> Result<Sections<'a>, LoadError> {
        let wanted = [
            SectionId::DebugAbbrev,
            SectionId::DebugAddr,
            SectionId::DebugInfo,
            SectionId::DebugLine,
            SectionId::DebugLineStr,
            SectionId::DebugRanges,
            SectionId::DebugRngLists,
            SectionId::DebugStr,
            SectionId::DebugStrOffsets,
        ];
        let mut found = Vec::new();
        for id in wanted {
            if let Some(section) = sections.iter().find(|section| section.name == id.name()) {
                found.push((id, contents(bytes, section)?));
            }
        }
        Ok(Sections { found })
    }

    pub fn bytes(&self, id: SectionId) -> &[u8] {
        self.found.iter().find(|(found, _)| *found == id).map_or(&[], |(_, bytes)| bytes)
    }

    pub fn dwarf(&self) -> Result<Dwarf<Slice<'_>>, LoadError> {
        Dwarf::load(|id| Ok(EndianSlice::new(self.bytes(id), LittleEndian)))
    }

    /// .debug_abbrev and .debug_line up to `end`: what starts at a known place cannot reach into what starts behind it,
    /// so that a hundred thousand units cannot have the same bytes read a hundred thousand times.
    pub fn abbreviations_until(&self, end: usize) -> DebugAbbrev<Slice<'_>> {
        let bytes = self.bytes(SectionId::DebugAbbrev);
        DebugAbbrev::new(&bytes[..end.min(bytes.len())], LittleEndian)
    }

    pub fn lines_until(&self, end: usize) -> DebugLine<Slice<'_>> {
        let bytes = self.bytes(SectionId::DebugLine);
        DebugLine::new(&bytes[..end.min(bytes.len())], LittleEndian)
    }

    pub fn work(&self) -> Work {
        let size: u64 = self.found.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        Work { left: size.saturating_mul(16).saturating_add(1 << 16) }
    }
}

/// How much reading is left: an attribute, an entry of a list and a byte of a name cost one each. Honest DWARF stays
/// far below what it begins with, sixteen for each byte.
pub struct Work {
    left: u64,
}

impl Work {
    pub fn spend(&mut self, cost: usize) -> Result<(), LoadError> {
        self.left = self.left.checked_sub(cost as u64).ok_or_else(|| {
            bad(".debug_info", "it refers to the same data over and over: reading it would take forever")
        })?;
        Ok(())
    }
}

fn contents<'a>(file: &'a [u8], section: &Section) -> Result<Cow<'a, [u8]>, LoadError> {
    let bytes = elf::section_bytes(file, section);
    if section.flags & SHF_COMPRESSED == 0 {
        return Ok(Cow::Borrowed(bytes));
    }
    let name = section.name.as_str();
    let (header, data) = bytes
        .split_at_checked(COMPRESSION_HEADER)
        .ok_or_else(|| bad(name, "it is marked as compressed, and too short for the header of that"))?;
    let field = |at: usize| header[at..at + 4].iter().rev().fold(0u32, |value, &byte| value << 8 | u32::from(byte));
    let size = u64::from(field(8)) | u64::from(field(12)) << 32;
    if size > (data.len() as u64).saturating_mul(MAX_EXPANSION).saturating_add(1 << 16) {
        return Err(bad(name, format!("{} compressed bytes cannot become {size}", data.len())));
    }
    // Grows with what really comes out, not with what the header promises.
    let mut out = Vec::new();
    let result = match field(0) {
        ZLIB => flate2::bufread::ZlibDecoder::new(data).take(size + 1).read_to_end(&mut out),
        ZSTD => zstd::stream::read::Decoder::with_buffer(data)
            .and_then(|decoder| decoder.take(size + 1).read_to_end(&mut out)),
        other => return Err(bad(name, format!("compression {other} is unknown (1 zlib, 2 zstd are supported)"))),
    };
    result.map_err(|error| bad(name, format!("it does not decompress: {error}")))?;
    if out.len() as u64 != size {
        return Err(bad(name, format!("it should decompress to {size} bytes, and gives {}", out.len())));
    }
    Ok(Cow::Owned(out))
}
