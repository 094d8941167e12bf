//! The new segments: code, the tools' variables, and headers with the tables that have grown.

use object::elf::{
    PF_R, PF_W, PF_X, PT_LOAD, PT_PHDR, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS, SHT_PROGBITS, SectionFlags,
};

use super::file::{File, Section, encoder};
use super::{Additions, PAGE, TEXT_SECTION, WriteError};

/// The numbers of the new sections; 0 for those that there are not.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewSections {
    pub text: usize,
    pub data: usize,
    pub bss: usize,
}

/// The code segment and the data segment.
pub fn code_and_data(file: &mut File, new: &Additions) -> NewSections {
    let mut sections = NewSections::default();
    if !new.text.is_empty() {
        let offset = file.align_for(new.text_vaddr);
        let size = new.text.len() as u64;
        file.bytes.extend_from_slice(&new.text);
        file.add_load(PF_R | PF_X, offset, new.text_vaddr, size, size);
        let section = Section::new(TEXT_SECTION, SHT_PROGBITS, 256);
        sections.text = loaded(file, section, SHF_EXECINSTR, offset, new.text_vaddr, size);
    }
    if !new.constants.is_empty() {
        let offset = file.align_for(new.constants_vaddr);
        let size = new.constants.len() as u64;
        file.bytes.extend_from_slice(&new.constants);
        file.add_load(PF_R, offset, new.constants_vaddr, size, size);
        let section = Section::new(".luthier.rodata", SHT_PROGBITS, 16);
        loaded(file, section, SectionFlags::default(), offset, new.constants_vaddr, size);
    }
    if !new.variables.is_empty() {
        let offset = file.align_for(new.data_vaddr);
        let filled = new.data.len() as u64;
        file.bytes.extend_from_slice(&new.data);
        file.add_load(PF_R | PF_W, offset, new.data_vaddr, filled, filled + new.bss_size);
        if filled > 0 {
            let section = Section::new(".luthier.data", SHT_PROGBITS, 16);
            sections.data = loaded(file, section, SHF_WRITE, offset, new.data_vaddr, filled);
        }
        if new.bss_size > 0 {
            let section = Section::new(".luthier.bss", SHT_NOBITS, 16);
            let (offset, vaddr) = (offset + filled, new.data_vaddr + filled);
            sections.bss = loaded(file, section, SHF_WRITE, offset, vaddr, new.bss_size);
        }
    }
    sections
}

fn loaded(file: &mut File, mut section: Section, flags: SectionFlags, offset: u64, vaddr: u64, size: u64) -> usize {
    section.header.sh_flags = SHF_ALLOC | flags;
    (section.header.sh_offset, section.header.sh_addr, section.header.sh_size) = (offset, vaddr, size);
    file.add_section(section)
}

/// The last segment under construction.
pub struct HeadersSegment {
    vaddr: u64,
    offset: u64,
}

impl HeadersSegment {
    /// Begins it behind all others, with room for `count` program headers.
    pub fn begin(file: &mut File, count: usize) -> HeadersSegment {
        let ends = file.phdrs.iter().filter(|p| p.p_type == PT_LOAD).map(|p| p.p_vaddr + p.p_memsz);
        let vaddr = ends.max().unwrap_or(0).next_multiple_of(PAGE);
        let segment = HeadersSegment { vaddr, offset: file.align_for(vaddr) };
        file.bytes.resize((segment.offset + table_size(count)) as usize, 0);
        segment
    }

    /// Appends `bytes`, which are the contents of a section from now on.
    pub fn take(&self, file: &mut File, section: usize, bytes: &[u8]) {
        let offset = file.append(bytes, file.sections[section].header.sh_addralign.clamp(1, 64));
        let header = &mut file.sections[section].header;
        header.sh_offset = offset;
        header.sh_addr = self.vaddr + (offset - self.offset);
        header.sh_size = bytes.len() as u64;
    }

    /// Ends it, and writes the program headers, its own among them.
    pub fn close(self, file: &mut File, count: usize) -> Result<(), WriteError> {
        let size = file.bytes.len() as u64 - self.offset;
        file.add_load(PF_R, self.offset, self.vaddr, size, size);
        for p in file.phdrs.iter_mut().filter(|p| p.p_type == PT_PHDR) {
            (p.p_offset, p.p_vaddr, p.p_paddr) = (self.offset, self.vaddr, self.vaddr);
            (p.p_filesz, p.p_memsz) = (table_size(count), table_size(count));
        }
        let mut table = Vec::with_capacity(table_size(count) as usize);
        file.phdrs.iter().for_each(|p| encoder().program_header(&mut table, p));
        let start = self.offset as usize;
        file.bytes[start..start + table.len()].copy_from_slice(&table);
        file.phoff = self.offset;
        let limit = usize::from(u16::MAX);
        if count >= limit {
            return Err(WriteError::TooMany { what: "program headers", count, limit });
        }
        Ok(())
    }
}

fn table_size(count: usize) -> u64 {
    count as u64 * encoder().program_header_size()
}
