//! One object in memory: its segments copied to the addresses that it got.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::error::{Definition, LinkError, Site};
use super::records::{Record, Records, SymbolRef};
use super::{AgentId, ExecutableId};
use crate::types::*;
use crate::{CodeObject, LoadError};

/// A PT_LOAD segment in memory, or a table that the loader made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedSegment {
    /// Absolute address.
    pub addr: u64,
    /// `memsz` bytes: the file's, then zeros; relocated once the loader is finalized.
    pub bytes: Vec<u8>,
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
}

impl LoadedSegment {
    pub fn range(&self) -> Range<u64> {
        self.addr..self.addr + self.bytes.len() as u64
    }
}

/// Where an object goes, before anything is copied.
pub(super) struct Layout {
    /// The vaddrs from the first segment to the last, without the loader's own tables.
    pub vaddrs: Range<u64>,
    pub align: u64,
    /// Bytes from the last segment's end to the end of the GOT.
    pub tail: u64,
}

/// The distance from the last segment to the GOT that the loader makes is filled up to this.
const GOT_ALIGN: u64 = 256;

impl Layout {
    /// What one object may span; a guard against absurd p_vaddr and p_memsz values.
    pub const MAX_SIZE: u64 = 4 << 30;

    pub fn of(object: &CodeObject, name: &str, got_slots: usize) -> Result<Layout, LinkError> {
        let loads = || object.segments().iter().filter(|s| s.kind == SegmentKind::Load && s.memsz != 0);
        let start = loads().map(|s| s.vaddr).min();
        let (Some(start), end) = (start, loads().map(|s| s.range().end).max().unwrap_or(0)) else {
            return Err(LinkError::NoLoadSegment { object: name.to_owned() });
        };
        let got = 8 * got_slots as u64;
        let tail = if got == 0 { 0 } else { end.wrapping_neg() % GOT_ALIGN + got };
        let size = end - start;
        if size > Layout::MAX_SIZE {
            return Err(LinkError::TooLarge { object: name.to_owned(), size, limit: Layout::MAX_SIZE });
        }
        if end.checked_add(tail).is_none() {
            return Err(LinkError::BaseTooHigh { object: name.to_owned(), base: 0, end });
        }
        Ok(Layout { vaddrs: start..end, align: loads().map(|s| s.align).max().unwrap_or(1).max(1), tail })
    }

    /// From the first byte to the last, the GOT included.
    pub fn size(&self) -> u64 {
        self.vaddrs.end - self.vaddrs.start + self.tail
    }

    /// That it fits at `base`, which is what is added to vaddrs.
    pub fn check_base(&self, name: &str, base: u64) -> Result<(), LinkError> {
        let end = self.vaddrs.end + self.tail;
        if base.checked_add(end).is_none() {
            return Err(LinkError::BaseTooHigh { object: name.to_owned(), base, end });
        }
        if !base.is_multiple_of(self.align) {
            return Err(LinkError::BaseMisaligned { object: name.to_owned(), base, align: self.align });
        }
        Ok(())
    }
}

/// A code object that a loader has copied into memory.
#[derive(Debug)]
pub struct LoadedObject {
    pub(super) object: Arc<CodeObject>,
    pub(super) name: String,
    pub(super) agent: AgentId,
    pub(super) executable: ExecutableId,
    pub(super) base: u64,
    pub(super) span: Range<u64>,
    pub(super) segments: Vec<LoadedSegment>,
    /// The GOT that the loader makes is the last of the segments.
    pub(super) has_got: bool,
    pub(super) records: Records,
    /// Defined symbols with an address, as indices into the object's, by address.
    pub(super) by_address: OnceCell<Vec<u32>>,
}

impl LoadedObject {
    pub(super) fn copy(
        object: Arc<CodeObject>,
        name: String,
        (agent, executable): (AgentId, ExecutableId),
        base: u64,
        layout: &Layout,
        records: Records,
    ) -> Result<LoadedObject, LinkError> {
        let mut segments = Vec::new();
        for segment in object.segments().iter().filter(|s| s.kind == SegmentKind::Load && s.memsz != 0) {
            // The zero-filled part is a segment's own size field: more than the host has is an error, not an abort.
            let no_memory =
                |_| LinkError::TooLarge { object: name.clone(), size: segment.memsz, limit: Layout::MAX_SIZE };
            let length = usize::try_from(segment.memsz).unwrap_or(usize::MAX);
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(length).map_err(no_memory)?;
            let file = object.read(segment.vaddr, segment.filesz).unwrap_or_default();
            if length - file.len() <= 1 << 20 {
                bytes.extend_from_slice(file);
                bytes.resize(length, 0);
            } else {
                // Zeros that are never read cost nothing when the allocator is asked for them.
                drop(bytes);
                bytes = vec![0; length];
                bytes[..file.len()].copy_from_slice(file);
            }
            segments.push(LoadedSegment {
                addr: base.wrapping_add(segment.vaddr),
                bytes,
                readable: segment.readable(),
                writable: segment.writable(),
                executable: segment.executable(),
            });
        }
        segments.sort_by_key(|s| s.addr);
        let has_got = !records.got.is_empty();
        let start = base.wrapping_add(layout.vaddrs.start);
        let span = start..start + layout.size();
        if has_got {
            let size = 8 * records.got.len();
            let (addr, bytes) = (span.end - size as u64, vec![0; size]);
            segments.push(LoadedSegment { addr, bytes, readable: true, writable: false, executable: false });
        }
        let by_address = OnceCell::new();
        Ok(LoadedObject { object, name, agent, executable, base, span, segments, has_got, records, by_address })
    }

    pub fn object(&self) -> &Arc<CodeObject> {
        &self.object
    }
    /// What it was loaded under: a path, or what the caller said.
    pub fn name(&self) -> &str {
        &self.name
    }
    pub fn agent(&self) -> AgentId {
        self.agent
    }
    pub fn executable(&self) -> ExecutableId {
        self.executable
    }
    /// Added to a vaddr, modulo 2^64, it gives the address.
    pub fn base(&self) -> u64 {
        self.base
    }
    /// From the first segment to the last, the GOT that the loader made included.
    pub fn span(&self) -> Range<u64> {
        self.span.clone()
    }
    /// By address. Where the object needed GOT slots that its linker had not made, the last one has them.
    pub fn segments(&self) -> &[LoadedSegment] {
        &self.segments
    }
    /// The GOT that the loader made, if the object needed one.
    pub fn got(&self) -> Option<&LoadedSegment> {
        self.segments.last().filter(|_| self.has_got)
    }
    /// The address of a vaddr.
    pub fn address(&self, vaddr: u64) -> u64 {
        self.base.wrapping_add(vaddr)
    }
    /// The address of a symbol that the object defines, local ones included; dynamic symbols first.
    pub fn symbol_address(&self, name: &str) -> Option<u64> {
        self.object.symbol(name).filter(|s| !is_reference(s)).map(|s| self.address_of(s))
    }
    /// `len` bytes at an absolute address, of one segment.
    pub fn read(&self, address: u64, len: u64) -> Option<&[u8]> {
        let (index, at) = self.find(address, len)?;
        self.segments[index].bytes.get(at..at + len as usize)
    }
    /// The vaddr, in the code object, of an address in one of its segments.
    pub fn vaddr(&self, address: u64) -> Option<u64> {
        let (index, _) = self.find(address, 1)?;
        (!self.has_got || index + 1 != self.segments.len()).then(|| address.wrapping_sub(self.base))
    }

    /// Segment and offset of `len` bytes at an absolute address.
    pub(super) fn find(&self, address: u64, len: u64) -> Option<(usize, usize)> {
        let index = self.segments.partition_point(|s| s.addr <= address).checked_sub(1)?;
        let at = address - self.segments[index].addr;
        (at.checked_add(len)? <= self.segments[index].bytes.len() as u64).then_some((index, at as usize))
    }

    /// The address of a symbol that the object defines.
    pub(super) fn address_of(&self, symbol: &Symbol) -> u64 {
        if symbol.is_absolute() { symbol.value } else { self.address(symbol.value) }
    }

    pub(super) fn referenced(&self, symbol: SymbolRef) -> Option<&Symbol> {
        match symbol {
            SymbolRef::None => None,
            SymbolRef::Dynamic(index) => self.object.symbols().get(index as usize),
            SymbolRef::Static(index) => self.records.symbols.get(index as usize),
        }
    }

    /// Where a record applies, for an error's text.
    pub(super) fn site(&self, record: &Record) -> Box<Site> {
        let (section, offset) = section_of(&self.object, record.vaddr);
        Box::new(Site {
            object: self.name.clone(),
            section: section.map(|s| self.object.sections()[s].name.clone()).unwrap_or_default(),
            offset,
            vaddr: record.vaddr,
            kind: record.kind,
            symbol: self.referenced(record.symbol).map(|s| self.label(s)).unwrap_or_default(),
        })
    }

    /// A symbol's name; section symbols have their section's.
    fn label(&self, symbol: &Symbol) -> String {
        let section = symbol.section.filter(|_| symbol.name.is_empty());
        section.map_or_else(|| symbol.name.clone(), |index| self.object.sections()[index].name.clone())
    }

    pub(super) fn definition(&self, symbol: &Symbol) -> Box<Definition> {
        let section = symbol.section.map(|index| self.object.sections()[index].name.clone()).unwrap_or_default();
        Box::new(Definition { object: self.name.clone(), section, vaddr: symbol.value })
    }
}

/// Whether a symbol stands for something that has to be found elsewhere. A common symbol has no place of its own in a
/// linked object.
pub(super) fn is_reference(symbol: &Symbol) -> bool {
    symbol.is_undefined() || symbol.kind == SymbolKind::Common || symbol.shndx == 0xfff2
}

/// The section that covers a vaddr, and how far in it lies; without one, the vaddr.
pub(super) fn section_of(object: &CodeObject, vaddr: u64) -> (Option<usize>, u64) {
    let covers = |s: &Section| s.allocated() && vaddr >= s.vaddr && vaddr - s.vaddr < s.size;
    match object.sections().iter().position(covers) {
        Some(index) => (Some(index), vaddr - object.sections()[index].vaddr),
        None => (None, vaddr),
    }
}

pub(super) fn object_error(name: &str) -> impl Fn(LoadError) -> LinkError + use<> {
    let object = name.to_owned();
    move |source| LinkError::Object { object: object.clone(), source }
}
