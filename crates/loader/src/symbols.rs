//! Symbol tables, read twice: checked when the object is opened, built when a caller asks for symbols.

use std::ops::Range;

use goblin::elf::sym::sym64::Sym;
use hashbrown::HashSet;
use scroll::{LE, Pread};

use crate::LoadError;
use crate::elf::{NameBudget, Names, slice};
use crate::types::*;

const SYMBOL_SIZE: u64 = 24;
const SHN_COMMON: u16 = 0xfff2;

/// Where a table is; empty when there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolTable {
    pub what: &'static str,
    pub offset: u64,
    /// With the null symbol.
    pub count: u64,
    /// Offset and size of the string table.
    pub names: (u64, u64),
}

/// .dynsym and .symtab.
#[derive(Clone, Debug, Default)]
pub(crate) struct SymbolTables {
    pub dynamic: SymbolTable,
    pub rest: SymbolTable,
}

/// A symbol that is not code: it may be a kernel's descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Datum {
    /// File range.
    pub name: Range<usize>,
    pub vaddr: u64,
    pub size: u64,
    pub kind: SymbolKind,
    pub defined: bool,
}

/// A function symbol that is defined.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    /// File range.
    pub name: Range<usize>,
    pub vaddr: u64,
    pub size: u64,
}

/// What opening an object needs of its symbols.
#[derive(Default)]
pub(crate) struct Defined {
    /// In the order of the tables, the dynamic one first.
    pub data: Vec<Datum>,
    /// By address, one for each address.
    pub code: Vec<Code>,
}

impl SymbolTable {
    /// Goes through the table. The null symbol is left out.
    fn each<'a>(
        &self,
        bytes: &'a [u8],
        budget: &mut NameBudget,
        mut visit: impl FnMut(Sym, &'a [u8]),
    ) -> Result<(), LoadError> {
        if self.count == 0 {
            return Ok(());
        }
        let records = slice(bytes, self.what, self.offset, self.count.saturating_mul(SYMBOL_SIZE))?;
        let names = Names::new(bytes, self.what, self.names)?;
        for record in records.chunks_exact(SYMBOL_SIZE as usize).skip(1) {
            let Ok(symbol) = record.pread_with::<Sym>(0, LE) else { break };
            visit(symbol, names.get(symbol.st_name, budget)?);
        }
        Ok(())
    }
}

impl SymbolTables {
    /// How many dynamic symbols there are, the null symbol not counted.
    pub fn dynamic_count(&self) -> usize {
        self.dynamic.count.saturating_sub(1) as usize
    }

    /// Whether a dynamic symbol may get its definition from elsewhere: it is undefined, or weak.
    pub fn looks_elsewhere(&self, bytes: &[u8]) -> bool {
        let table = &self.dynamic;
        let records =
            slice(bytes, table.what, table.offset, table.count.saturating_mul(SYMBOL_SIZE)).unwrap_or_default();
        records.chunks_exact(SYMBOL_SIZE as usize).skip(1).any(|record| {
            record.pread_with::<Sym>(0, LE).is_ok_and(|symbol| {
                matches!(symbol.st_shndx, 0 | SHN_COMMON) || symbol.st_info >> 4 == 2 || symbol.st_info & 15 == 5
            })
        })
    }

    /// Checks both tables.
    pub fn check(&self, bytes: &[u8]) -> Result<Defined, LoadError> {
        let mut budget = NameBudget::of(bytes);
        let mut defined = Defined::default();
        let base = bytes.as_ptr() as usize;
        for table in [&self.dynamic, &self.rest] {
            table.each(bytes, &mut budget, |symbol, name| {
                let defined_here = symbol.st_shndx != 0;
                // Empty names are not part of the file.
                let start = if name.is_empty() { 0 } else { name.as_ptr() as usize - base };
                let (name, vaddr, size) = (start..start + name.len(), symbol.st_value, symbol.st_size);
                match kind(symbol.st_info) {
                    SymbolKind::Func if defined_here => defined.code.push(Code { name, vaddr, size }),
                    kind => defined.data.push(Datum { name, vaddr, size, kind, defined: defined_here }),
                }
            })?;
        }
        // Of aliases the longest stays; the sort is stable, so dynamic symbols win over local ones.
        defined.code.sort_by_key(|code| (code.vaddr, std::cmp::Reverse(code.size)));
        defined.code.dedup_by_key(|code| code.vaddr);
        Ok(defined)
    }

    /// The dynamic symbols in their order without the null symbol, then those of .symtab that are not among them.
    /// `sections` is how many there are.
    pub fn build(&self, bytes: &[u8], sections: usize) -> Vec<Symbol> {
        let mut budget = NameBudget::of(bytes);
        let mut symbols = Vec::with_capacity(self.dynamic_count());
        let mut known = HashSet::with_capacity(self.dynamic_count());
        // `check` has been through them: there are no errors any more.
        let _ = self.dynamic.each(bytes, &mut budget, |symbol, name| {
            known.insert((name, symbol.st_value));
            symbols.push(build(&symbol, name, true, sections));
        });
        let _ = self.rest.each(bytes, &mut budget, |symbol, name| {
            if !known.contains(&(name, symbol.st_value)) {
                symbols.push(build(&symbol, name, false, sections));
            }
        });
        symbols
    }
}

fn kind(info: u8) -> SymbolKind {
    match info & 15 {
        0 => SymbolKind::NoType,
        1 => SymbolKind::Object,
        2 => SymbolKind::Func,
        3 => SymbolKind::Section,
        4 => SymbolKind::File,
        5 => SymbolKind::Common,
        6 => SymbolKind::Tls,
        10 => SymbolKind::AmdgpuHsaKernel,
        other => SymbolKind::Other(other),
    }
}

pub(crate) fn build(symbol: &Sym, name: &[u8], dynamic: bool, sections: usize) -> Symbol {
    let section = usize::from(symbol.st_shndx);
    Symbol {
        name: std::str::from_utf8(name).map(str::to_owned).unwrap_or_default(),
        value: symbol.st_value,
        size: symbol.st_size,
        kind: kind(symbol.st_info),
        binding: match symbol.st_info >> 4 {
            0 => SymbolBinding::Local,
            1 => SymbolBinding::Global,
            2 => SymbolBinding::Weak,
            other => SymbolBinding::Other(other),
        },
        visibility: match symbol.st_other & 3 {
            0 => SymbolVisibility::Default,
            1 => SymbolVisibility::Internal,
            2 => SymbolVisibility::Hidden,
            _ => SymbolVisibility::Protected,
        },
        section: (section != 0 && section < sections).then_some(section),
        shndx: symbol.st_shndx,
        dynamic,
    }
}

/// Symbols by name; of a name that is there twice, the first.
#[derive(Clone, Debug)]
pub(crate) struct SymbolIndex {
    hasher: hashbrown::DefaultHashBuilder,
    table: hashbrown::HashTable<u32>,
}

impl SymbolIndex {
    pub fn new(symbols: &[Symbol]) -> SymbolIndex {
        use std::hash::BuildHasher;
        let hasher = hashbrown::DefaultHashBuilder::default();
        let mut table = hashbrown::HashTable::with_capacity(symbols.len());
        let hash = |name: &str| hasher.hash_one(name);
        for (index, symbol) in symbols.iter().enumerate() {
            let same = |other: &u32| symbols[*other as usize].name == symbol.name;
            table.entry(hash(&symbol.name), same, |other| hash(&symbols[*other as usize].name)).or_insert(index as u32);
        }
        SymbolIndex { hasher, table }
    }

    /// `symbols` are those that it was made of.
    pub fn find(&self, symbols: &[Symbol], name: &str) -> Option<usize> {
        use std::hash::BuildHasher;
        let same = |index: &u32| symbols[*index as usize].name == name;
        self.table.find(self.hasher.hash_one(name), same).map(|index| *index as usize)
    }
}
