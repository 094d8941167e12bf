//! A code object laid out for a base address: what a loader would put into a device's memory.

use crate::types::*;
use crate::{CodeObject, LoadError};

/// One PT_LOAD segment in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedSegment {
    /// Absolute address.
    pub addr: u64,
    /// `memsz` bytes: the file's, then zeros; relocated.
    pub bytes: Vec<u8>,
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
}

/// Relocated segments and addresses of symbols.
#[derive(Clone, Debug)]
pub struct Image {
    /// Added to a vaddr, it gives the address.
    pub base: u64,
    /// From the base to the end of the last segment.
    pub size: u64,
    /// By address.
    pub segments: Vec<LoadedSegment>,
    symbols: std::collections::HashMap<String, u64>,
}

impl Image {
    /// What one image may take; a guard against absurd p_memsz values.
    pub const MAX_SIZE: u64 = 4 << 30;

    /// Lays the object out at `base`. Undefined symbols are an error, weak ones are 0.
    pub fn load(object: &CodeObject, base: u64) -> Result<Image, LoadError> {
        Image::load_with(object, base, |_| None)
    }

    /// As [`Image::load`], with addresses for the symbols that the object does not define.
    pub fn load_with(
        object: &CodeObject,
        base: u64,
        external: impl Fn(&str) -> Option<u64>,
    ) -> Result<Image, LoadError> {
        let loads = || object.segments().iter().filter(|s| s.kind == SegmentKind::Load && s.memsz != 0);
        let size = loads().map(|s| s.range().end).max().unwrap_or(0);
        let total: u64 = loads().fold(0, |sum, s| sum.saturating_add(s.memsz));
        if total > Image::MAX_SIZE || size > Image::MAX_SIZE {
            return Err(LoadError::ImageTooLarge { size: size.max(total), limit: Image::MAX_SIZE });
        }
        if base.checked_add(size).is_none() {
            return Err(LoadError::BaseTooHigh { base, size });
        }
        let align = loads().map(|s| s.align).max().unwrap_or(1).max(1);
        if !base.is_multiple_of(align) {
            return Err(LoadError::BaseMisaligned { base, align });
        }

        let mut undefined = Vec::new();
        let mut symbols = std::collections::HashMap::with_capacity(object.symbols().len());
        let mut addresses = Vec::with_capacity(object.symbols().len());
        for symbol in object.symbols() {
            let address = if !symbol.is_undefined() {
                if symbol.is_absolute() { symbol.value } else { base.wrapping_add(symbol.value) }
            } else if let Some(address) = external(&symbol.name) {
                address
            } else {
                if symbol.dynamic && symbol.binding != SymbolBinding::Weak && symbol.binding != SymbolBinding::Local {
                    undefined.push(symbol.name.clone());
                }
                0
            };
            addresses.push(address);
            if !symbol.is_undefined() && !symbol.name.is_empty() {
                symbols.entry(symbol.name.clone()).or_insert(address);
            }
        }
        if !undefined.is_empty() {
            return Err(LoadError::UndefinedSymbols { names: undefined });
        }

        let mut segments: Vec<LoadedSegment> = loads()
            .map(|s| {
                let mut bytes = vec![0; s.memsz as usize];
                if let Some(file) = object.read(s.vaddr, s.filesz) {
                    bytes[..file.len()].copy_from_slice(file);
                }
                LoadedSegment {
                    addr: base + s.vaddr,
                    bytes,
                    readable: s.readable(),
                    writable: s.writable(),
                    executable: s.executable(),
                }
            })
            .collect();
        segments.sort_by_key(|s| s.addr);
        let mut image = Image { base, size, segments, symbols };
        for relocation in object.relocations() {
            image.relocate(object, relocation, &addresses)?;
        }
        Ok(image)
    }

    fn relocate(&mut self, object: &CodeObject, record: &Relocation, addresses: &[u64]) -> Result<(), LoadError> {
        let symbol = record.symbol.and_then(|index| addresses.get(index)).copied().unwrap_or(0);
        let start = match record.kind {
            RelocKind::None => return Ok(()),
            RelocKind::Relative64 => self.base,
            RelocKind::Abs64 => symbol,
            kind => {
                return Err(LoadError::UnsupportedRelocation {
                    kind: kind.to_string(),
                    vaddr: record.offset,
                    symbol: record.symbol.and_then(|index| object.symbols().get(index)).map(|s| s.name.clone()),
                });
            }
        };
        let outside = || LoadError::RelocationOutside { kind: record.kind.to_string(), vaddr: record.offset };
        let place = self.base.checked_add(record.offset).and_then(|at| self.slice_mut(at, 8)).ok_or_else(outside)?;
        let addend = match record.addend {
            Some(addend) => addend as u64,
            None => place.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)),
        };
        place.copy_from_slice(&start.wrapping_add(addend).to_le_bytes());
        Ok(())
    }

    fn segment_of(&self, address: u64, len: u64) -> Option<(usize, usize)> {
        let index = self.segments.partition_point(|s| s.addr <= address).checked_sub(1)?;
        let segment = &self.segments[index];
        let at = address - segment.addr;
        (at.checked_add(len)? <= segment.bytes.len() as u64).then_some((index, at as usize))
    }

    fn slice_mut(&mut self, address: u64, len: u64) -> Option<&mut [u8]> {
        let (index, at) = self.segment_of(address, len)?;
        self.segments[index].bytes.get_mut(at..at + len as usize)
    }

    /// `len` bytes at an absolute address, of one segment.
    pub fn read(&self, address: u64, len: u64) -> Option<&[u8]> {
        let (index, at) = self.segment_of(address, len)?;
        self.segments[index].bytes.get(at..at + len as usize)
    }

    /// The address of a defined symbol.
    pub fn symbol_address(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// The vaddr, in the code object, of an address.
    pub fn vaddr(&self, address: u64) -> Option<u64> {
        self.segment_of(address, 1).map(|_| address - self.base)
    }
}
