//! The relocation records of one object: the dynamic ones, and the static ones that `--emit-relocs` has kept.
//!
//! A linked object's static records have been applied once, by the linker, with the object at address 0. They are
//! applied again at the object's real address, which gives what the linker would have given there:
//! * a RELA record says its addend, so that writing `f(S, A, P)` again is right whatever the place holds, and is the
//!   only way to reach symbols that the linker did not have;
//! * a place that a dynamic record changes belongs to that: the linker has handed the static record's work over to it;
//! * a GOTPCREL record whose place refers to a word which a dynamic record fills with the symbol's address has its slot,
//!   made by the linker; any other gets one from us;
//! * a REL record's addend is what the place holds, which is true of a record that has not been applied. lld applies none
//!   but R_AMDGPU_ABS64 (it cannot read the addends of other types), and hands that one over to a dynamic record unless
//!   the symbol is absolute. Whether that has been done cannot be told, so it is refused.
//!
//! Records of sections that are not loaded (debug information) are left alone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use goblin::elf::dynamic;
use goblin::elf::reloc::reloc64::{Rel, Rela};
use goblin::elf::sym::sym64::Sym;

use super::apply::{Field, Start};
use super::error::LinkError;
use super::object::is_reference;
use crate::elf::{NameBudget, Names, records};
use crate::symbols::build;
use crate::types::*;
use crate::{CodeObject, LoadError};

/// The symbol of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum SymbolRef {
    None,
    /// Index into the object's symbols.
    Dynamic(u32),
    /// Index into [`Records::symbols`].
    Static(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub vaddr: u64,
    pub kind: RelocKind,
    pub symbol: SymbolRef,
    /// `None`: it is what the place holds.
    pub addend: Option<i64>,
    /// Kept by `--emit-relocs`.
    pub is_static: bool,
    pub slot: Slot,
}

/// What a GOT relocation refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// The vaddr of a word that the linker has set aside.
    Linker(u64),
    /// Index into [`Records::got`].
    Ours(u32),
    /// The record needs none.
    None,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// The static ones first.
    pub records: Vec<Record>,
    /// The symbols of static records.
    pub symbols: Vec<Symbol>,
    /// A symbol may get its definition from elsewhere.
    pub looks_elsewhere: bool,
    /// The slots that the loader has to make: for each the first record, by index, that needs it.
    pub got: Vec<u32>,
}

impl Records {
    pub fn of(object: &CodeObject, name: &str) -> Result<Records, LinkError> {
        let dynamic: Vec<Record> = object
            .relocations()
            .iter()
            .map(|r| Record {
                vaddr: r.offset,
                kind: r.kind,
                symbol: r.symbol.map_or(SymbolRef::None, |index| SymbolRef::Dynamic(index as u32)),
                addend: r.addend,
                is_static: false,
                slot: Slot::None,
            })
            .collect();
        let mut found = Records::default();
        let budget = NameBudget::of(object.bytes());
        Statics { object, name, found: &mut found, known: HashMap::new(), names: HashMap::new(), budget }.read()?;
        let replaceable = |s: &Symbol| is_reference(s) || s.binding == SymbolBinding::Weak;
        found.looks_elsewhere = object.looks_elsewhere() || found.symbols.iter().any(replaceable);
        if !found.records.is_empty() {
            found.drop_covered(&dynamic);
        }
        found.records.extend(dynamic);
        found.assign_slots(object);
        Ok(found)
    }

    /// Leaves out static records whose place a dynamic record changes.
    fn drop_covered(&mut self, dynamic: &[Record]) {
        let mut fields: Vec<(u64, u64)> =
            dynamic.iter().filter_map(|r| Some((r.vaddr, Field::of(r.kind)?.width))).collect();
        fields.sort_unstable();
        self.records.retain(|record| {
            let Some(field) = Field::of(record.kind) else { return true };
            let after = fields.partition_point(|f| f.0 <= record.vaddr);
            after.checked_sub(1).is_none_or(|index| {
                let (start, width) = fields[index];
                record.vaddr - start + field.width > width
            })
        });
    }

    /// Gives each GOT record the slot that it uses already, or one of ours.
    fn assign_slots(&mut self, object: &CodeObject) {
        let is_got = |record: &Record| Field::of(record.kind).is_some_and(|f| f.start == Start::Got);
        if !self.records.iter().any(is_got) {
            return;
        }
        let linker_slots = LinkerSlots::of(object);
        let mut ours: HashMap<SymbolRef, u32> = HashMap::new();
        for index in 0..self.records.len() {
            let record = &self.records[index];
            if !is_got(record) {
                continue;
            }
            let slot = match record.symbol {
                SymbolRef::Static(symbol) => linker_slots.find(object, record, &self.symbols[symbol as usize]),
                _ => None,
            };
            let symbol = record.symbol;
            self.records[index].slot = match slot {
                Some(vaddr) => Slot::Linker(vaddr),
                None => Slot::Ours(*ours.entry(symbol).or_insert_with(|| {
                    self.got.push(index as u32);
                    self.got.len() as u32 - 1
                })),
            };
        }
    }
}

/// The words of an object that dynamic records fill with the address of a symbol.
struct LinkerSlots<'a> {
    by_name: HashMap<&'a str, Vec<u64>>,
    by_vaddr: HashMap<u64, Vec<u64>>,
}

impl LinkerSlots<'_> {
    fn of(object: &CodeObject) -> LinkerSlots<'_> {
        let mut slots = LinkerSlots { by_name: HashMap::new(), by_vaddr: HashMap::new() };
        for record in object.relocations() {
            let word = || object.read(record.offset, 8).and_then(|b| b.try_into().ok()).map_or(0, i64::from_le_bytes);
            let addend = record.addend.unwrap_or_else(word);
            match record.kind {
                RelocKind::Abs64 if addend == 0 => {
                    let symbol = record.symbol.and_then(|index| object.symbols().get(index));
                    if let Some(symbol) = symbol.filter(|s| !s.name.is_empty()) {
                        slots.by_name.entry(&symbol.name).or_default().push(record.offset);
                    }
                }
                RelocKind::Relative64 => slots.by_vaddr.entry(addend as u64).or_default().push(record.offset),
                _ => {}
            }
        }
        slots
    }

    /// The slot that the place of a record refers to already.
    fn find(&self, object: &CodeObject, record: &Record, symbol: &Symbol) -> Option<u64> {
        let field = Field::of(record.kind)?;
        let addend = record.addend?;
        let place = field.read(object.read(record.vaddr, field.width)?);
        let named = self.by_name.get(symbol.name.as_str()).into_iter().flatten();
        let own = (!symbol.is_undefined() && !symbol.is_absolute()).then(|| self.by_vaddr.get(&symbol.value));
        // A slot of our own is right as well, so a file with words without end for one symbol need not be searched.
        let mut candidates = named.chain(own.flatten().into_iter().flatten()).copied().take(4096);
        candidates.find(|slot| {
            let value = slot.wrapping_add_signed(addend).wrapping_sub(record.vaddr);
            field.part(value) == place
        })
    }
}

/// Reads the static records of an object.
struct Statics<'a> {
    object: &'a CodeObject,
    name: &'a str,
    found: &'a mut Records,
    /// From symbol table and number to the place in [`Records::symbols`].
    known: HashMap<(u32, u32), u32>,
    /// The names of each symbol table.
    names: HashMap<u32, Names<'a>>,
    budget: NameBudget,
}

impl Statics<'_> {
    fn read(&mut self) -> Result<(), LinkError> {
        for section in self.object.sections() {
            let is_rela = section.kind == SectionKind::Rela;
            if !is_rela && section.kind != SectionKind::Rel || section.size == 0 || self.is_dynamic(section) {
                continue;
            }
            let target = self.object.sections().get(section.info as usize);
            if section.info != 0 && target.is_none() {
                return Err(self.bad(section, format!("sh_info is {}, which is no section", section.info)));
            }
            // Without sh_info the offsets alone say what is meant.
            if section.info != 0 && !target.is_some_and(Section::allocated) {
                continue;
            }
            let size = if is_rela { 24 } else { 16 };
            if section.entry_size != size {
                return Err(self.bad(section, format!("sh_entsize is {}, not {size}", section.entry_size)));
            }
            let bytes = self.object.bytes();
            let failed = super::object::object_error(self.name);
            if is_rela {
                for r in
                    records::<Rela>(bytes, "relocation section", section.offset, section.size / 24).map_err(&failed)?
                {
                    self.add(section, r.r_offset, r.r_info, Some(r.r_addend))?;
                }
            } else {
                for r in
                    records::<Rel>(bytes, "relocation section", section.offset, section.size / 16).map_err(&failed)?
                {
                    self.add(section, r.r_offset, r.r_info, None)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the dynamic section points at it.
    fn is_dynamic(&self, section: &Section) -> bool {
        let tags = [dynamic::DT_RELA, dynamic::DT_REL, dynamic::DT_JMPREL];
        section.allocated()
            && self.object.dynamic().iter().any(|entry| tags.contains(&entry.tag) && entry.value == section.vaddr)
    }

    fn bad(&self, section: &Section, reason: String) -> LinkError {
        LinkError::BadRelocationSection { object: self.name.to_owned(), section: section.name.clone(), reason }
    }

    fn add(&mut self, section: &Section, vaddr: u64, info: u64, addend: Option<i64>) -> Result<(), LinkError> {
        let kind = RelocKind::from_number(info as u32);
        if kind == RelocKind::None {
            return Ok(());
        }
        let symbol = match (info >> 32) as u32 {
            0 => SymbolRef::None,
            number => SymbolRef::Static(self.symbol(section, number)?),
        };
        self.found.records.push(Record { vaddr, kind, symbol, addend, is_static: true, slot: Slot::None });
        Ok(())
    }

    fn symbol(&mut self, section: &Section, number: u32) -> Result<u32, LinkError> {
        if let Some(&known) = self.known.get(&(section.link, number)) {
            return Ok(known);
        }
        let sections = self.object.sections();
        let Some(table) =
            sections.get(section.link as usize).filter(|s| matches!(s.kind, SectionKind::SymTab | SectionKind::DynSym))
        else {
            return Err(self.bad(section, format!("sh_link is {}, which is no symbol table", section.link)));
        };
        let count = table.size / 24;
        if u64::from(number) >= count {
            return Err(self.bad(section, format!("a record has symbol number {number}, {} has {count}", table.name)));
        }
        let bytes = self.object.bytes();
        let failed = |source: LoadError| LinkError::Object { object: self.name.to_owned(), source };
        let at = table.offset + 24 * u64::from(number);
        let sym: Sym = records(bytes, "symbol table", at, 1).map_err(failed)?[0];
        let names = match self.names.entry(section.link) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let names = match sections.get(table.link as usize) {
                    Some(names) if names.kind == SectionKind::StrTab => (names.offset, names.size),
                    _ => (0, 0),
                };
                entry.insert(Names::new(bytes, "symbol", names).map_err(failed)?)
            }
        };
        let name = names.get(sym.st_name, &mut self.budget).map_err(failed)?;
        let index = self.found.symbols.len() as u32;
        self.found.symbols.push(build(&sym, name, false, sections.len()));
        self.known.insert((section.link, number), index);
        Ok(index)
    }
}
