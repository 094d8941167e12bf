//! Linking: every reference gets its definition, every record its value, and only then anything is written.

use std::collections::HashSet;

use super::apply::{Field, Misfit, Start};
use super::error::{LinkError, Site, Unresolved};
use super::loader::MockLoader;
use super::object::{LoadedObject, is_reference};
use super::records::{Record, Slot, SymbolRef};
use crate::types::*;

/// Bytes that change: `width` of them in a segment of an object.
struct Patch {
    object: u32,
    segment: u32,
    offset: u64,
    width: u64,
    value: u64,
}

impl MockLoader {
    /// Relocates everything that was loaded. When this fails nothing has changed: missing symbols can be defined or
    /// loaded, and it can be tried again. All unresolved symbols are named at once.
    pub fn finalize(&mut self) -> Result<(), LinkError> {
        if self.finalized {
            return Err(LinkError::AlreadyFinalized);
        }
        self.index_scopes()?;
        let unresolved = self.unresolved();
        if !unresolved.is_empty() {
            return Err(LinkError::Unresolved { symbols: unresolved });
        }
        let mut patches = Vec::new();
        for number in 0..self.objects.len() {
            self.link(number, &mut patches)?;
        }
        for patch in patches {
            let segment = &mut self.objects[patch.object as usize].segments[patch.segment as usize];
            let place = &mut segment.bytes[patch.offset as usize..][..patch.width as usize];
            place.copy_from_slice(&patch.value.to_le_bytes()[..patch.width as usize]);
        }
        self.finalized = true;
        Ok(())
    }

    /// Indexes the scopes in which a name has to be looked for.
    fn index_scopes(&mut self) -> Result<(), LinkError> {
        for scope in self.scopes.values_mut() {
            let looks_elsewhere = |&number: &u32| self.objects[number as usize].records.looks_elsewhere;
            if scope.indexed < scope.objects.len() && scope.objects.iter().any(looks_elsewhere) {
                // A second definition within one object changes nothing: the first counts, as it does for the object.
                scope.index(&self.objects);
            }
        }
        Ok(())
    }

    /// The names that records use and nothing defines, each once for each object, in the order of the objects. A name that
    /// no record uses may be undefined, as for ROCr: compilers leave such symbols behind (clang 14 with `-g` those of LDS
    /// variables), and the value would go nowhere.
    fn unresolved(&self) -> Vec<Unresolved> {
        let mut found: Vec<Unresolved> = Vec::new();
        for object in self.objects.iter().filter(|object| object.records.looks_elsewhere) {
            let mut seen: HashSet<&str> = HashSet::new();
            let missing = |symbol: &Symbol| is_reference(symbol) && self.resolve(object, symbol).is_none();
            for record in object.records.records.iter().filter(|r| r.kind != RelocKind::None) {
                if let Some(symbol) = object.referenced(record.symbol)
                    && missing(symbol)
                    && seen.insert(&symbol.name)
                {
                    let site = object.site(record);
                    found.push(Unresolved { symbol: symbol.name.clone(), object: object.name.clone(), site });
                }
            }
        }
        found
    }

    /// The address that a record's symbol stands for.
    fn target(&self, object: &LoadedObject, symbol: SymbolRef, site: impl Fn() -> Box<Site>) -> Result<u64, LinkError> {
        let Some(symbol) = object.referenced(symbol) else { return Ok(0) };
        if symbol.kind == SymbolKind::Tls {
            return Err(LinkError::ThreadLocal { site: site() });
        }
        self.resolve(object, symbol).map(|r| r.address()).ok_or_else(|| LinkError::Unresolved {
            symbols: vec![Unresolved { symbol: symbol.name.clone(), object: object.name.clone(), site: site() }],
        })
    }

    fn link(&self, number: usize, patches: &mut Vec<Patch>) -> Result<(), LinkError> {
        let object = &self.objects[number];
        let mut patch = |place: (usize, usize), width, value| {
            let (segment, offset) = (place.0 as u32, place.1 as u64);
            patches.push(Patch { object: number as u32, segment, offset, width, value });
        };
        let got = object.got().map_or(0, |segment| segment.addr);
        // Records come in runs with one symbol.
        let mut last = (SymbolRef::None, 0);
        for record in &object.records.records {
            if record.kind == RelocKind::None {
                continue;
            }
            let site = || object.site(record);
            let field = Field::of(record.kind).ok_or_else(|| LinkError::UnknownRelocation { site: site() })?;
            let address = object.address(record.vaddr);
            let place = object
                .find(address, field.width)
                .filter(|place| !object.has_got || place.0 + 1 != object.segments.len())
                .ok_or_else(|| LinkError::RelocationOutside { site: site(), width: field.width })?;
            let start = match (field.start, record.slot) {
                (Start::Base, _) => object.base,
                (Start::Got, Slot::Linker(vaddr)) => object.address(vaddr),
                (Start::Got, Slot::Ours(index)) => got + 8 * u64::from(index),
                (Start::Got | Start::Symbol, _) => {
                    if last.0 != record.symbol || record.symbol == SymbolRef::None {
                        last = (record.symbol, self.target(object, record.symbol, site)?);
                    }
                    last.1
                }
            };
            let addend = match record.addend {
                Some(addend) => addend,
                None => self.implicit_addend(object, record, field, place)?,
            };
            let sum = start.wrapping_add_signed(addend).wrapping_sub(if field.relative { address } else { 0 });
            let value = field.encode(sum).map_err(|misfit| match misfit {
                Misfit::Overflow { value, bits } => LinkError::Overflow { site: site(), value, bits },
                Misfit::Misaligned { value } => LinkError::MisalignedBranch { site: site(), value },
            })?;
            patch(place, field.width, value);
        }
        for (index, &asking) in object.records.got.iter().enumerate() {
            let record = &object.records.records[asking as usize];
            let address = self.target(object, record.symbol, || object.site(record))?;
            patch((object.segments.len() - 1, 8 * index), 8, address);
        }
        Ok(())
    }

    fn implicit_addend(
        &self,
        object: &LoadedObject,
        record: &Record,
        field: Field,
        (segment, offset): (usize, usize),
    ) -> Result<i64, LinkError> {
        // The one type whose REL records lld applies and keeps, and the one case where no dynamic record takes over.
        let absolute = |s: &Symbol| s.is_absolute() && s.value != 0;
        if record.is_static && record.kind == RelocKind::Abs64 && object.referenced(record.symbol).is_some_and(absolute)
        {
            return Err(LinkError::AmbiguousAddend { site: object.site(record) });
        }
        Ok(field.implicit_addend(&object.segments[segment].bytes[offset..]))
    }
}
