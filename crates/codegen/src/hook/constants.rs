//! Constants that a part refers to: the read-only sections of LLVM's object.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use goblin::elf::{
    Elf,
    section_header::{SHF_ALLOC, SHF_WRITE, SHT_PROGBITS},
};

use super::code;
use crate::template::{Blob, BlobReloc, RelocKind};

/// The sections that are taken along, each once.
pub struct Constants<'a> {
    elf: &'a Elf<'a>,
    bytes: &'a [u8],
    numbers: HashMap<usize, usize>,
    sections: Vec<usize>,
    /// What the names begin with, the same for the same constants.
    prefix: String,
}

impl<'a> Constants<'a> {
    pub fn new(elf: &'a Elf<'a>, bytes: &'a [u8]) -> Constants<'a> {
        // All of the object's is in it, so that equal names are equal constants.
        let mut hash = DefaultHasher::new();
        bytes.hash(&mut hash);
        let prefix = format!("luthier.constants.{:016x}", hash.finish());
        Constants { elf, bytes, numbers: HashMap::new(), sections: Vec::new(), prefix }
    }

    /// The name of the blob that a section is. An error is a sentence about the hook.
    pub fn take(&mut self, section: usize) -> Result<String, String> {
        if let Some(known) = self.numbers.get(&section) {
            return Ok(self.name(*known));
        }
        let header = self.elf.section_headers.get(section).ok_or("a relocation names no section")?;
        let (alloc, write) = (u64::from(SHF_ALLOC), u64::from(SHF_WRITE));
        let name = self.elf.shdr_strtab.get_at(header.sh_name).unwrap_or_default();
        // Tables of addresses are read-only once these are known.
        let is_constant = header.sh_flags & write == 0 || name.starts_with(".data.rel.ro");
        if header.sh_type != SHT_PROGBITS || header.sh_flags & alloc == 0 || !is_constant || name.starts_with(".text") {
            return Err(format!("the hook refers to the section {name}, which is neither a variable nor a constant"));
        }
        self.numbers.insert(section, self.sections.len());
        self.sections.push(section);
        Ok(self.name(self.sections.len() - 1))
    }

    fn name(&self, number: usize) -> String {
        format!("{}.{number}", self.prefix)
    }

    /// All of them, with those that they refer to.
    pub fn finish(mut self) -> Result<Vec<Blob>, String> {
        let mut blobs = Vec::new();
        while let Some(section) = self.sections.get(blobs.len()).copied() {
            let header = &self.elf.section_headers[section];
            let bytes =
                header.file_range().and_then(|range| self.bytes.get(range)).ok_or("LLVM's object is cut off")?;
            let relocs = self.relocs(section)?;
            let name = self.name(blobs.len());
            blobs.push(Blob { name, bytes: bytes.to_vec(), align: header.sh_addralign.max(1), relocs });
        }
        Ok(blobs)
    }

    fn relocs(&mut self, section: usize) -> Result<Vec<BlobReloc>, String> {
        let elf = self.elf;
        let mut found = Vec::new();
        let lists = elf
            .shdr_relocs
            .iter()
            .filter(|(i, _)| elf.section_headers.get(*i).is_some_and(|header| header.sh_info as usize == section));
        for reloc in lists.flat_map(|(_, list)| list.iter()) {
            let symbol = elf.syms.get(reloc.r_sym).ok_or("a relocation names no symbol")?;
            let name = elf.strtab.get_at(symbol.st_name).unwrap_or_default();
            if symbol.st_shndx == 0 {
                return Err(format!("a constant of the hook's holds the address of {name}, which is no constant"));
            }
            let kind = match code::kind(reloc.r_type) {
                Some((RelocKind::Rel32Lo, _)) => RelocKind::Rel32Lo,
                Some((RelocKind::Rel64, _)) => RelocKind::Rel64,
                _ => {
                    return Err(
                        "a constant of the hook's holds addresses, which are known only when it is loaded".to_owned()
                    );
                }
            };
            let addend = reloc.r_addend.unwrap_or(0) + symbol.st_value as i64;
            found.push(BlobReloc { at: reloc.r_offset, to: self.take(symbol.st_shndx)?, kind, addend });
        }
        Ok(found)
    }
}
