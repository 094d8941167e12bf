//! Looking into what is loaded: symbols, memory, and what an address belongs to.

use super::error::LinkError;
use super::loader::{MockLoader, Owner};
use super::object::{LoadedObject, LoadedSegment, is_reference, section_of};
use super::scope::{External, Resolution, is_exported};
use super::{AgentId, ExecutableId, ObjectId};
use crate::types::*;

/// A symbol with an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedSymbol<'a> {
    pub name: &'a str,
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// [`SymbolKind::NoType`] for an external.
    pub kind: SymbolKind,
    pub binding: SymbolBinding,
    /// Seen by other objects.
    pub exported: bool,
    /// `None` for an external.
    pub object: Option<ObjectId>,
    /// `None` for an external for all agents.
    pub agent: Option<AgentId>,
    pub executable: ExecutableId,
}

/// What an address belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location<'a> {
    /// `None` in an external.
    pub object: Option<ObjectId>,
    /// Of the object or the external.
    pub name: &'a str,
    /// In the object, before any base. `None` in an external, and in the GOT that the loader has made.
    pub vaddr: Option<u64>,
    pub section: Option<&'a str>,
    /// The symbol that covers the address, or else the last one before it in its section, and the distance from it.
    pub symbol: Option<(&'a str, u64)>,
    /// `None` in zero-filled memory, too.
    pub file_offset: Option<u64>,
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
}

/// A piece of loaded memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region<'a> {
    pub addr: u64,
    pub bytes: &'a [u8],
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
    pub object: Option<ObjectId>,
}

impl LoadedObject {
    /// The symbols that have a place, as indices into the object's, by address.
    fn placed(&self) -> &[u32] {
        self.by_address.get_or_init(|| {
            let symbols = self.object.symbols();
            let placed = |s: &Symbol| {
                !is_reference(s) && !s.is_absolute() && !matches!(s.kind, SymbolKind::Section | SymbolKind::File)
            };
            let mut found: Vec<u32> = (0..symbols.len() as u32).filter(|&i| placed(&symbols[i as usize])).collect();
            // Of several at one address the longest is the last, and of those the first of the table.
            found.sort_by_key(|&i| (symbols[i as usize].value, symbols[i as usize].size, std::cmp::Reverse(i)));
            found
        })
    }

    /// The symbol that a vaddr belongs to.
    fn nearest(&self, vaddr: u64) -> Option<(&Symbol, u64)> {
        let symbols = self.object.symbols();
        let placed = self.placed();
        let after = placed.partition_point(|&i| symbols[i as usize].value <= vaddr);
        let before = || placed[..after].iter().rev().map(|&i| &symbols[i as usize]);
        let near = before().next()?;
        // Small symbols may lie inside of large ones; a few steps back find the large one.
        let covering = before().take(16).find(|s| vaddr - s.value < s.size);
        let found = covering.unwrap_or(near);
        let same_section =
            covering.is_some() || section_of(&self.object, near.value).0 == section_of(&self.object, vaddr).0;
        same_section.then(|| (found, vaddr - found.value))
    }
}

impl MockLoader {
    /// By [`ObjectId`].
    pub fn objects(&self) -> &[LoadedObject] {
        &self.objects
    }

    pub fn object(&self, id: ObjectId) -> Result<&LoadedObject, LinkError> {
        let missing = || LinkError::NoSuchObject { object: id.0 as usize, count: self.objects.len() };
        self.objects.get(id.0 as usize).ok_or_else(missing)
    }

    pub fn externals(&self) -> &[External] {
        &self.externals
    }

    /// Everything that has memory, by address: segments, GOTs that the loader made, externals that it keeps.
    pub fn regions(&self) -> impl Iterator<Item = Region<'_>> {
        self.spans.values().flat_map(|&(_, owner)| {
            let (segments, external): (&[LoadedSegment], _) = match owner {
                Owner::Object(index) => (&self.objects[index as usize].segments, None),
                Owner::External(index) => (&[], Some(&self.externals[index as usize])),
            };
            let object = match owner {
                Owner::Object(index) => Some(ObjectId(index)),
                Owner::External(_) => None,
            };
            let segments = segments.iter().map(move |s| Region {
                addr: s.addr,
                bytes: &s.bytes,
                readable: s.readable,
                writable: s.writable,
                executable: s.executable,
                object,
            });
            segments.chain(external.map(|e| Region {
                addr: e.address,
                bytes: e.data().unwrap_or_default(),
                readable: true,
                writable: true,
                executable: false,
                object: None,
            }))
        })
    }

    /// The symbols that all objects define, local ones included, then the externals.
    pub fn symbols(&self) -> impl Iterator<Item = LoadedSymbol<'_>> {
        let of_objects = self.objects.iter().enumerate().flat_map(move |(number, object)| {
            let dynamic = object.object.has_dynamic_symbols();
            let defined = |s: &&Symbol| {
                !is_reference(s) && !s.name.is_empty() && !matches!(s.kind, SymbolKind::Section | SymbolKind::File)
            };
            object
                .object
                .symbols()
                .iter()
                .filter(defined)
                .map(move |s| self.loaded_symbol(ObjectId(number as u32), s, is_exported(s, dynamic)))
        });
        of_objects.chain(self.externals.iter().map(|e| self.external_symbol(e)))
    }

    fn loaded_symbol<'a>(&'a self, id: ObjectId, symbol: &'a Symbol, exported: bool) -> LoadedSymbol<'a> {
        let object = &self.objects[id.0 as usize];
        LoadedSymbol {
            name: &symbol.name,
            address: object.address_of(symbol),
            size: symbol.size,
            kind: symbol.kind,
            binding: symbol.binding,
            exported,
            object: Some(id),
            agent: Some(object.agent),
            executable: object.executable,
        }
    }

    fn external_symbol<'a>(&'a self, external: &'a External) -> LoadedSymbol<'a> {
        LoadedSymbol {
            name: &external.name,
            address: external.address,
            size: external.size,
            kind: SymbolKind::NoType,
            binding: SymbolBinding::Global,
            exported: true,
            object: None,
            agent: external.agent,
            executable: external.executable,
        }
    }

    /// A symbol by its name: of `object`, local ones included; without an object, the only exported definition or
    /// external of this name. Where a strong definition and weak ones have the name, the strong one is meant.
    pub fn symbol(&self, name: &str, object: Option<ObjectId>) -> Result<LoadedSymbol<'_>, LinkError> {
        let missing = || LinkError::NoSuchSymbol { symbol: name.to_owned() };
        if let Some(id) = object {
            let object = self.object(id)?;
            let symbol = object.object.symbol(name).filter(|s| !is_reference(s)).ok_or_else(missing)?;
            return Ok(self.loaded_symbol(id, symbol, is_exported(symbol, object.object.has_dynamic_symbols())));
        }
        let mut found = Vec::new();
        for (number, object) in self.objects.iter().enumerate() {
            let dynamic = object.object.has_dynamic_symbols();
            let symbol = object.object.symbol(name).filter(|s| is_exported(s, dynamic));
            found.extend(symbol.map(|s| self.loaded_symbol(ObjectId(number as u32), s, true)));
        }
        for &external in self.external_names.get(name).into_iter().flatten() {
            found.push(self.external_symbol(&self.externals[external]));
        }
        if found.iter().any(|s| s.binding != SymbolBinding::Weak) {
            found.retain(|s| s.binding != SymbolBinding::Weak);
        }
        match found.len() {
            0 => Err(missing()),
            1 => Ok(found.remove(0)),
            _ => {
                let owner = |s: &LoadedSymbol<'_>| match s.object {
                    Some(id) => self.objects[id.0 as usize].name.clone(),
                    None => format!("external at {:#x}", s.address),
                };
                let objects = found.iter().map(owner).collect();
                Err(LinkError::AmbiguousSymbol { symbol: name.to_owned(), objects })
            }
        }
    }

    /// What a symbol of an object stands for, by the precedence that relocation uses; `None` while nothing defines it.
    /// Settled once the loader is finalized.
    pub fn resolution(&self, id: ObjectId, name: &str) -> Result<Option<Resolution>, LinkError> {
        let object = self.object(id)?;
        let missing = || LinkError::NoSuchSymbol { symbol: name.to_owned() };
        let symbol = object.object.symbol(name).ok_or_else(missing)?;
        if !self.finalized {
            return Err(LinkError::NotFinalized { what: "asking what a name stands for" });
        }
        Ok(self.resolve(object, symbol))
    }

    fn owner(&self, address: u64) -> Option<Owner> {
        let (_, &(end, owner)) = self.spans.range(..=address).next_back()?;
        (address < end).then_some(owner)
    }

    /// `len` bytes at an address, of one segment or external.
    pub fn memory(&self, address: u64, len: u64) -> Result<&[u8], LinkError> {
        let missing = || LinkError::NoSuchAddress { address, len };
        let bytes = match self.owner(address).ok_or_else(missing)? {
            Owner::Object(index) => self.objects[index as usize].read(address, len),
            Owner::External(index) => {
                let external = &self.externals[index as usize];
                let at = (address - external.address) as usize;
                let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
                end.and_then(|end| external.data().unwrap_or_default().get(at..end))
            }
        };
        bytes.ok_or_else(missing)
    }

    /// Overwrites bytes, of one segment or external. The host may write anything, code and constants included; what it
    /// writes to a place before `finalize`, a relocation may overwrite.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), LinkError> {
        let missing = || LinkError::NoSuchAddress { address, len: bytes.len() as u64 };
        let place = match self.owner(address).ok_or_else(missing)? {
            Owner::Object(index) => {
                let object = &mut self.objects[index as usize];
                let (segment, at) = object.find(address, bytes.len() as u64).ok_or_else(missing)?;
                object.segments[segment].bytes.get_mut(at..at + bytes.len())
            }
            Owner::External(index) => {
                let external = &mut self.externals[index as usize];
                let at = (address - external.address) as usize;
                external.data.as_mut().and_then(|data| data.get_mut(at..at.checked_add(bytes.len())?))
            }
        };
        place.ok_or_else(missing)?.copy_from_slice(bytes);
        Ok(())
    }

    /// The contents of a variable.
    pub fn read_variable(&self, name: &str, object: Option<ObjectId>) -> Result<&[u8], LinkError> {
        let symbol = self.symbol(name, object)?;
        self.memory(symbol.address, symbol.size)
    }

    /// New contents for a variable, all of it.
    pub fn write_variable(&mut self, name: &str, object: Option<ObjectId>, bytes: &[u8]) -> Result<(), LinkError> {
        let symbol = self.symbol(name, object)?;
        let (address, size, given) = (symbol.address, symbol.size, bytes.len() as u64);
        if size != given {
            return Err(LinkError::WrongSize { symbol: name.to_owned(), size, given });
        }
        self.write(address, bytes)
    }

    /// What an address belongs to.
    pub fn locate(&self, address: u64) -> Option<Location<'_>> {
        match self.owner(address)? {
            Owner::External(index) => {
                let external = &self.externals[index as usize];
                Some(Location {
                    object: None,
                    name: &external.name,
                    vaddr: None,
                    section: None,
                    symbol: Some((&external.name, address - external.address)),
                    file_offset: None,
                    readable: true,
                    writable: true,
                    executable: false,
                })
            }
            Owner::Object(index) => {
                let object = &self.objects[index as usize];
                let (segment, _) = object.find(address, 1)?;
                let segment = &object.segments[segment];
                let vaddr = object.vaddr(address);
                let section = vaddr.and_then(|vaddr| section_of(&object.object, vaddr).0);
                Some(Location {
                    object: Some(ObjectId(index)),
                    name: &object.name,
                    vaddr,
                    section: section.map(|s| object.object.sections()[s].name.as_str()),
                    symbol: vaddr.and_then(|vaddr| object.nearest(vaddr)).map(|(s, at)| (s.name.as_str(), at)),
                    file_offset: vaddr.and_then(|vaddr| object.object.file_offset(vaddr)),
                    readable: segment.readable,
                    writable: segment.writable,
                    executable: segment.executable,
                })
            }
        }
    }
}
