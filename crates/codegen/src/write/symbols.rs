//! Symbol tables that grow, and the two hash tables that find a symbol in them by name.

use std::borrow::Cow;

use object::LittleEndian;
use object::elf::{self, STB_LOCAL, SymbolBind, SymbolInfo, SymbolOther, SymbolSection, SymbolType};
use object::write::StringTable;
use object::write::elf::{GnuHashTable, Sym};

use super::file::{ENDIAN, encoder, records};
use super::segments::NewSections;
use super::{Additions, PlacedVariable, WriteError};

/// A symbol with its name.
#[derive(Clone, Debug)]
pub struct Symbol<'a> {
    pub name: Cow<'a, [u8]>,
    /// The name is in the string table that the symbol was read with, at `st_name`.
    named: bool,
    pub entry: Sym,
}

impl<'a> Symbol<'a> {
    /// What tables begin with.
    pub fn null() -> Symbol<'a> {
        let info = SymbolInfo::default();
        Symbol { name: Cow::Borrowed(&[]), named: true, entry: entry(info, 0, 0, 0) }
    }
    pub fn new(name: &'a str, bind: SymbolBind, kind: SymbolType, section: usize, value: u64, size: u64) -> Symbol<'a> {
        let entry = entry(SymbolInfo::new(bind, kind), section, value, size);
        Symbol { name: Cow::Borrowed(name.as_bytes()), named: false, entry }
    }
    pub fn is_local(&self) -> bool {
        self.entry.st_info.st_bind() == STB_LOCAL
    }
    /// Found through `.gnu.hash`.
    fn is_hashed(&self) -> bool {
        !self.is_local() && self.entry.st_shndx != elf::SHN_UNDEF
    }
}

fn entry(info: SymbolInfo, section: usize, value: u64, size: u64) -> Sym {
    Sym {
        section: None,
        st_name: 0,
        st_info: info,
        st_other: SymbolOther::default(),
        st_shndx: SymbolSection(section as u16),
        st_value: value,
        st_size: size,
    }
}

/// The symbols of the variables, as they stand in both tables.
pub fn of_variables<'a>(new: &'a Additions, sections: &NewSections) -> impl Iterator<Item = Symbol<'a>> {
    let NewSections { data, bss, .. } = *sections;
    new.variables.iter().map(move |v: &PlacedVariable| {
        let section = if v.zero { bss } else { data };
        Symbol::new(&v.name, elf::STB_GLOBAL, elf::STT_OBJECT, section, v.vaddr, v.size)
    })
}

/// The entries of a table, the null entry first.
pub fn read<'a>(table: &'a [u8], strings: &'a [u8]) -> Vec<Symbol<'a>> {
    let raw: &[elf::Sym64<LittleEndian>] = records(table);
    let mut symbols = Vec::with_capacity(raw.len() + 1);
    symbols.extend(raw.iter().map(|raw| {
        let entry = Sym::from_raw(ENDIAN, raw, None);
        let tail = strings.get(entry.st_name as usize..).unwrap_or_default();
        let end = memchr::memchr(0, tail).unwrap_or(tail.len());
        Symbol { name: Cow::Borrowed(&tail[..end]), named: true, entry }
    }));
    if symbols.is_empty() {
        symbols.push(Symbol::null());
    }
    symbols
}

/// A symbol table ready for its section.
pub struct Encoded {
    pub table: Vec<u8>,
    pub strings: Vec<u8>,
    /// How many local symbols lead it: the section's `sh_info`.
    pub locals: u32,
}

/// The table, and its string table grown from `strings`, into which other structures may point.
pub fn encode(symbols: &[Symbol], strings: &[u8]) -> Result<Encoded, WriteError> {
    let mut strings = if strings.is_empty() { vec![0] } else { strings.to_vec() };
    let base = u32::try_from(strings.len());
    let base =
        base.map_err(|_| WriteError::TooMany { what: "bytes of names", count: strings.len(), limit: 1 << 32 })?;
    let mut added = StringTable::new_in_order(base);
    let mut table = Vec::with_capacity(symbols.len() * encoder().sym_size() as usize);
    for symbol in symbols {
        let mut entry = symbol.entry.clone();
        if !symbol.named {
            let id = added.add(&symbol.name);
            entry.st_name = added.get_offset(id);
        }
        encoder().symbol(&mut table, &entry);
    }
    added.write(&mut strings, base)?;
    let locals = symbols.iter().take_while(|s| s.is_local()).count() as u32;
    Ok(Encoded { table, strings, locals })
}

/// `.hash` for a dynamic symbol table.
pub fn sysv_table(symbols: &[Symbol]) -> Vec<u8> {
    let mut out = Vec::new();
    let count = symbols.len() as u32;
    let hash = |i: u32| (i != 0).then(|| elf::hash(&symbols[i as usize].name));
    encoder().hash_table(&mut out, count.max(1), count, hash);
    out
}

/// `.gnu.hash`, which wants the defined symbols last and sorted by bucket. Sorts the table, and returns the bytes and,
/// for each old index, the new one.
pub fn gnu_table(symbols: &mut Vec<Symbol>) -> (Vec<u8>, Vec<u32>) {
    let defined = symbols.iter().skip(1).filter(|s| s.is_hashed()).count();
    let buckets = (defined / 4).max(1) as u32;
    let first = symbols.len() - defined;
    let mut order: Vec<usize> = (0..symbols.len()).collect();
    // Stable: the null entry, locals and undefined symbols stay in front in their order.
    order.sort_by_key(|&i| match &symbols[i] {
        s if i != 0 && s.is_hashed() => (1, elf::gnu_hash(&s.name) % buckets),
        s => (0, u32::from(!s.is_local())),
    });
    let mut renumbered = vec![0u32; symbols.len()];
    order.iter().enumerate().for_each(|(new, &old)| renumbered[old] = new as u32);
    *symbols = order.iter().map(|&i| symbols[i].clone()).collect();

    let table = GnuHashTable {
        bucket_count: buckets,
        bloom_count: (defined / 8).max(1).next_power_of_two() as u32,
        bloom_shift: 26,
        symbol_base: first as u32,
        symbol_count: defined as u32,
    };
    let mut out = Vec::new();
    encoder().gnu_hash_table(&mut out, &table, |i| elf::gnu_hash(&symbols[first + i as usize].name));
    (out, renumbered)
}
