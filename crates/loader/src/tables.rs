//! What the dynamic section and the section headers point at: where the symbol tables are, and the relocations.

use goblin::elf::dynamic;
use goblin::elf::reloc::reloc64::{Rel, Rela};

use crate::LoadError;
use crate::elf::{Loads, entry_size, records, slice, u32_at};
use crate::symbols::{SymbolTable, SymbolTables};
use crate::types::*;

const DT_RELR: u64 = 36;

/// The parts of the file that the dynamic section and the section headers point at.
pub(crate) struct Tables<'a> {
    pub bytes: &'a [u8],
    pub loads: &'a Loads,
    pub sections: &'a [Section],
    pub dynamic: &'a [DynamicEntry],
}

impl Tables<'_> {
    fn tag(&self, tag: u64) -> Option<u64> {
        self.dynamic.iter().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// File offset of `size` bytes that a dynamic entry points at.
    fn place(&self, tag: &'static str, vaddr: u64, size: u64) -> Result<u64, LoadError> {
        self.loads.file_offset(vaddr, size).ok_or(LoadError::BadDynamic {
            tag,
            value: vaddr,
            reason: "points outside of the file-backed part of every loadable segment",
        })
    }

    /// Where the symbol tables are: the dynamic one, and .symtab where there is one.
    pub fn symbols(&self) -> Result<SymbolTables, LoadError> {
        let mut tables = SymbolTables::default();
        if let Some(table) = self.tag(dynamic::DT_SYMTAB) {
            if let Some(size) = self.tag(dynamic::DT_SYMENT) {
                entry_size("DT_SYMENT", size, 24)?;
            }
            let count = self.dynamic_symbol_count(table)?;
            let offset = self.place("DT_SYMTAB", table, count.saturating_mul(24))?;
            let names = match (self.tag(dynamic::DT_STRTAB), self.tag(dynamic::DT_STRSZ)) {
                (Some(names), Some(size)) => (self.place("DT_STRTAB", names, size)?, size),
                _ => (0, 0),
            };
            tables.dynamic = SymbolTable { what: "dynamic symbol", offset, count, names };
        }
        if let Some(table) = self.sections.iter().find(|s| s.kind == SectionKind::SymTab) {
            let names = match self.sections.get(table.link as usize) {
                Some(names) if names.kind == SectionKind::StrTab => (names.offset, names.size),
                _ => (0, 0),
            };
            tables.rest = SymbolTable { what: "symbol", offset: table.offset, count: table.size / 24, names };
        }
        Ok(tables)
    }

    /// ELF does not say it directly: from the section header, else from either hash table.
    fn dynamic_symbol_count(&self, table: u64) -> Result<u64, LoadError> {
        if let Some(section) = self.sections.iter().find(|s| s.kind == SectionKind::DynSym && s.vaddr == table) {
            return Ok(section.size / 24);
        }
        if let Some(hash) = self.tag(dynamic::DT_HASH) {
            return Ok(u32_at(self.bytes, "DT_HASH table", self.place("DT_HASH", hash, 8)? + 4)?.into());
        }
        let Some(hash) = self.tag(dynamic::DT_GNU_HASH) else {
            return Err(LoadError::BadDynamic {
                tag: "DT_SYMTAB",
                value: table,
                reason: "has no length: there is neither a section header nor a hash table",
            });
        };
        let word = |at: u64| u32_at(self.bytes, "DT_GNU_HASH table", at);
        let start = self.place("DT_GNU_HASH", hash, 16)?;
        let (buckets, first, bloom) = (u64::from(word(start)?), word(start + 4)?, u64::from(word(start + 8)?));
        let bucket_start = start + 16 + bloom * 8;
        slice(self.bytes, "DT_GNU_HASH table", bucket_start, buckets * 4)?;
        let mut last = 0;
        for bucket in 0..buckets {
            last = last.max(word(bucket_start + bucket * 4)?);
        }
        if last < first {
            return Ok(first.into());
        }
        // The chain of the last bucket ends at a word with its low bit set.
        let chains = bucket_start + buckets * 4;
        let mut index = u64::from(last);
        while word(chains + (index - u64::from(first)) * 4)? & 1 == 0 {
            index += 1;
        }
        Ok(index + 1)
    }

    /// The dynamic relocations. `symbols` is how many dynamic symbols there are, the null symbol not counted.
    pub fn relocations(&self, symbols: usize) -> Result<Vec<Relocation>, LoadError> {
        let mut relocations = Vec::new();
        let mut add = |offset: u64, info: u64, addend: Option<i64>| {
            let symbol = (info >> 32) as u32;
            if symbol as usize > symbols {
                let (index, count) = (relocations.len(), symbols);
                return Err(LoadError::BadRelocationSymbol { index, symbol, count });
            }
            relocations.push(Relocation {
                offset,
                kind: RelocKind::from_number(info as u32),
                symbol: (symbol as usize).checked_sub(1),
                addend,
            });
            Ok(())
        };
        if let Some(value) = self.tag(DT_RELR) {
            return Err(LoadError::BadDynamic {
                tag: "DT_RELR",
                value,
                reason: "says that there are packed relocations, which ROCm does not load either; link with -z nopack-relative-relocs",
            });
        }
        if let (Some(vaddr), Some(size)) = (self.tag(dynamic::DT_RELA), self.tag(dynamic::DT_RELASZ)) {
            entry_size("DT_RELAENT", self.tag(dynamic::DT_RELAENT).unwrap_or(24), 24)?;
            let offset = self.place("DT_RELA", vaddr, size)?;
            for record in records::<Rela>(self.bytes, "DT_RELA table", offset, size / 24)? {
                add(record.r_offset, record.r_info, Some(record.r_addend))?;
            }
        }
        let rel = |this: &Self, tag, name, offset: Option<u64>, size: Option<u64>| match (offset, size) {
            (Some(vaddr), Some(size)) => {
                let offset = this.place(name, vaddr, size)?;
                records::<Rel>(this.bytes, tag, offset, size / 16)
            }
            _ => Ok(Vec::new()),
        };
        entry_size("DT_RELENT", self.tag(dynamic::DT_RELENT).unwrap_or(16), 16)?;
        let plain = rel(self, "DT_REL table", "DT_REL", self.tag(dynamic::DT_REL), self.tag(dynamic::DT_RELSZ))?;
        for record in plain {
            add(record.r_offset, record.r_info, None)?;
        }
        let (jumps, size) = (self.tag(dynamic::DT_JMPREL), self.tag(dynamic::DT_PLTRELSZ));
        if self.tag(dynamic::DT_PLTREL) == Some(dynamic::DT_REL) {
            for record in rel(self, "DT_JMPREL table", "DT_JMPREL", jumps, size)? {
                add(record.r_offset, record.r_info, None)?;
            }
        } else if let (Some(vaddr), Some(size)) = (jumps, size) {
            let offset = self.place("DT_JMPREL", vaddr, size)?;
            for record in records::<Rela>(self.bytes, "DT_JMPREL table", offset, size / 24)? {
                add(record.r_offset, record.r_info, Some(record.r_addend))?;
            }
        }
        Ok(relocations)
    }
}
