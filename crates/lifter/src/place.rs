//! What lies at an address of the object: constants, relocated pointers, names.

use std::ops::Range;

use luthier_loader::{CodeObject, RelocKind, SectionKind, SegmentKind, SymbolKind};
use serde::Serialize;

/// What an address names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Place {
    /// The first instruction of a function.
    Function { name: String },
    /// `offset` bytes into a function.
    Code { function: String, offset: u64 },
    /// A data symbol.
    Data { symbol: String, offset: u64, constant: bool },
    /// A slot that the loader fills with the address of something.
    Slot { section: String, target: u64, names: String },
    /// Bytes of a section, without a symbol.
    Section { section: String, offset: u64, constant: bool },
    /// Outside of the object.
    Nowhere,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plus = |f: &mut std::fmt::Formatter<'_>, offset: u64| match offset {
            0 => Ok(()),
            n => write!(f, "+{n:#x}"),
        };
        match self {
            Place::Function { name } => write!(f, "{name}"),
            Place::Code { function, offset } => write!(f, "{function}").and_then(|()| plus(f, *offset)),
            Place::Data { symbol, offset, .. } => write!(f, "{symbol}").and_then(|()| plus(f, *offset)),
            Place::Slot { section, names, .. } => write!(f, "{section} slot of {names}"),
            Place::Section { section, offset, .. } => write!(f, "{section}").and_then(|()| plus(f, *offset)),
            Place::Nowhere => write!(f, "outside of the object"),
        }
    }
}

/// Sorted look-ups over a code object's symbols, sections and relocations.
pub(crate) struct Places<'a> {
    object: &'a CodeObject,
    /// (place, value) of every pointer whose value is known but for the load address.
    pointers: Vec<(u64, u64)>,
    /// Addresses of everything that is relocated.
    relocated: Vec<u64>,
    /// Address ranges that never change after loading.
    constant: Vec<Range<u64>>,
    /// (address, size, index) of the data symbols.
    data: Vec<(u64, u64, usize)>,
}

impl<'a> Places<'a> {
    pub fn new(object: &'a CodeObject) -> Places<'a> {
        let mut pointers: Vec<(u64, u64)> = object.relocations().iter().filter_map(|r| pointer(object, r)).collect();
        pointers.sort_unstable();
        let mut relocated: Vec<u64> = object.relocations().iter().map(|r| r.offset).collect();
        relocated.sort_unstable();
        let mut constant: Vec<Range<u64>> = object
            .segments()
            .iter()
            .filter(|s| s.kind == SegmentKind::GnuRelro || s.kind == SegmentKind::Load && !s.writable())
            .map(|s| s.range())
            .collect();
        constant.sort_by_key(|r| r.start);
        let mut data: Vec<(u64, u64, usize)> = object
            .symbols()
            .iter()
            .enumerate()
            .filter(|(_, s)| s.kind == SymbolKind::Object && !s.is_undefined() && !s.is_absolute())
            .map(|(i, s)| (s.value, s.size, i))
            .collect();
        data.sort_unstable();
        Places { object, pointers, relocated, constant, data }
    }
    pub fn is_constant(&self, vaddr: u64, size: u64) -> bool {
        self.constant.iter().any(|r| r.start <= vaddr && vaddr.saturating_add(size) <= r.end)
    }
    /// The address that the loader stores at `vaddr`, whether or not it can change later.
    pub fn pointer_at(&self, vaddr: u64) -> Option<u64> {
        self.pointers.binary_search_by_key(&vaddr, |p| p.0).ok().map(|i| self.pointers[i].1)
    }
    /// A pointer that cannot change after loading.
    pub fn constant_pointer(&self, vaddr: u64) -> Option<u64> {
        self.pointer_at(vaddr).filter(|_| self.is_constant(vaddr, 8))
    }
    /// A word that neither the loader nor the program changes.
    pub fn constant_word(&self, vaddr: u64) -> Option<u32> {
        let before = self.relocated.partition_point(|&r| r < vaddr.saturating_add(4));
        let relocated = before > 0 && self.relocated[before - 1].saturating_add(8) > vaddr;
        if relocated || !self.is_constant(vaddr, 4) {
            return None;
        }
        self.object.read(vaddr, 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
    }
    /// Every pointer that the loader stores: (place, value).
    pub fn pointers(&self) -> &[(u64, u64)] {
        &self.pointers
    }
    /// The section at an address.
    pub fn section(&self, vaddr: u64) -> Option<&'a luthier_loader::Section> {
        self.object.sections().iter().find(|s| {
            s.allocated() && s.kind != SectionKind::Null && (s.vaddr..s.vaddr.saturating_add(s.size)).contains(&vaddr)
        })
    }
    pub fn in_got(&self, vaddr: u64) -> bool {
        self.section(vaddr).is_some_and(|s| s.name.starts_with(".got"))
    }
    /// Names an address that is not in code.
    pub fn name_data(&self, vaddr: u64) -> Place {
        let constant = self.is_constant(vaddr, 1);
        let upto = self.data.partition_point(|d| d.0 <= vaddr);
        // The nearest symbol that covers the address; one without a size names its first byte only.
        if let Some(&(start, _, index)) =
            self.data[..upto].iter().rev().take(4).find(|d| vaddr < d.0.saturating_add(d.1.max(1)))
        {
            return Place::Data { symbol: self.object.symbols()[index].name.clone(), offset: vaddr - start, constant };
        }
        match self.section(vaddr) {
            Some(s) => Place::Section { section: s.name.clone(), offset: vaddr - s.vaddr, constant },
            None => Place::Nowhere,
        }
    }
}

fn pointer(object: &CodeObject, relocation: &luthier_loader::Relocation) -> Option<(u64, u64)> {
    let addend = match relocation.addend {
        Some(addend) => addend,
        None => i64::from_le_bytes(object.read(relocation.offset, 8)?.try_into().ok()?),
    };
    let base = match relocation.kind {
        RelocKind::Relative64 => 0,
        RelocKind::Abs64 => {
            let symbol = object.symbols().get(relocation.symbol?)?;
            if symbol.is_undefined() || symbol.is_absolute() {
                return None;
            }
            symbol.value
        }
        _ => return None,
    };
    Some((relocation.offset, base.wrapping_add_signed(addend)))
}
