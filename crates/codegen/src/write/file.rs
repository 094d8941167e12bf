//! The file under construction: its bytes so far, its program headers and its sections.

use object::elf::{FileHeader64, PT_LOAD, SHF_ALLOC, SHN_LORESERVE, SHT_NOBITS, SHT_NULL, SHT_STRTAB, SectionType};
use object::pod::{self, Pod};
use object::read::elf::FileHeader as _;
use object::write::StringTable;
use object::write::elf::{Encoder, FileHeader, FileHeaderLayout, ProgramHeader, SectionHeader};
use object::{LittleEndian, elf};

use super::{PAGE, WriteError};

const SHSTRTAB: &[u8] = b".shstrtab";

pub const ENDIAN: LittleEndian = LittleEndian;

/// Little-endian, 64 bits.
pub fn encoder() -> Encoder<LittleEndian> {
    Encoder::new(ENDIAN, true, elf::EM_AMDGPU)
}

/// As many records as there are in `bytes`.
pub fn records<T: Pod>(bytes: &[u8]) -> &[T] {
    // They have no alignment (the feature `unaligned`), so that nothing but the length counts.
    pod::slice_from_bytes(bytes, bytes.len() / size_of::<T>()).map(|(records, _)| records).unwrap_or_default()
}

/// A section with its name; `sh_name` is given at the end.
#[derive(Clone, Debug)]
pub struct Section {
    pub name: Vec<u8>,
    pub header: SectionHeader,
    /// Its contents are in the file already, or never will be.
    pub placed: bool,
}

impl Section {
    pub fn new(name: &str, kind: SectionType, align: u64) -> Section {
        let header = SectionHeader { sh_type: kind, sh_addralign: align, ..SectionHeader::default() };
        Section { name: name.into(), header, placed: true }
    }
    pub fn is_alloc(&self) -> bool {
        self.header.sh_flags.contains(SHF_ALLOC)
    }
    /// Its bytes in a file; none for NOBITS and for those outside the file.
    pub fn contents<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        let header = &self.header;
        if header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL {
            return &[];
        }
        let end = header.sh_offset.checked_add(header.sh_size);
        end.and_then(|end| file.get(header.sh_offset as usize..end as usize)).unwrap_or_default()
    }
}

pub struct File {
    header: FileHeader,
    pub bytes: Vec<u8>,
    pub phdrs: Vec<ProgramHeader>,
    pub sections: Vec<Section>,
    /// Where the program headers are to be.
    pub phoff: u64,
}

impl File {
    /// Keeps the file up to the end of the last loaded byte. `more`: about how many bytes come in addition to the original's.
    pub fn start(original: &[u8], more: usize) -> Result<File, WriteError> {
        let header = FileHeader64::<LittleEndian>::parse(original)?;
        let phdrs = header.program_headers(ENDIAN, original)?;
        let phdrs: Vec<ProgramHeader> = phdrs.iter().map(|p| ProgramHeader::from_raw(ENDIAN, p)).collect();
        let table = header.sections(ENDIAN, original)?;
        let section = |s: &elf::SectionHeader64<LittleEndian>| {
            let header = SectionHeader::from_raw(ENDIAN, s);
            let placed = header.sh_flags.contains(SHF_ALLOC) || header.sh_type == SHT_NULL;
            Section { name: table.section_name(ENDIAN, s).unwrap_or_default().to_vec(), header, placed }
        };
        let mut sections: Vec<Section> = table.iter().map(section).collect();
        if sections.is_empty() {
            sections.push(Section { name: Vec::new(), header: SectionHeader::default(), placed: true });
        }
        let loads = phdrs.iter().filter(|p| p.p_type == PT_LOAD);
        let end = loads.map(|p| p.p_offset.saturating_add(p.p_filesz)).max().unwrap_or(0);
        let end = end.max(encoder().file_header_size());
        let kept =
            usize::try_from(end).ok().and_then(|end| original.get(..end)).ok_or(WriteError::OutOfFile { end })?;
        let mut bytes = Vec::with_capacity(original.len() + more);
        bytes.extend_from_slice(kept);
        Ok(File { header: FileHeader::from_raw(ENDIAN, header), bytes, phdrs, sections, phoff: 0 })
    }

    /// Only the original's header, with no segments and no sections.
    pub fn bare(original: &[u8]) -> Result<File, WriteError> {
        let header = FileHeader64::<LittleEndian>::parse(original)?;
        let none = Section { name: Vec::new(), header: SectionHeader::default(), placed: true };
        let bytes = vec![0; encoder().file_header_size() as usize];
        let header = FileHeader::from_raw(ENDIAN, header);
        Ok(File { header, bytes, phdrs: Vec::new(), sections: vec![none], phoff: 0 })
    }

    /// The first section of a type.
    pub fn find(&self, kind: SectionType) -> Option<usize> {
        self.sections.iter().position(|s| s.header.sh_type == kind)
    }

    /// Adds a section; gives its number.
    pub fn add_section(&mut self, section: Section) -> usize {
        self.sections.push(section);
        self.sections.len() - 1
    }

    /// A new PT_LOAD goes behind the last one: the table must be sorted by address.
    pub fn add_load(&mut self, flags: elf::ProgramFlags, offset: u64, vaddr: u64, filesz: u64, memsz: u64) {
        let at = self.phdrs.iter().rposition(|p| p.p_type == PT_LOAD).map_or(0, |i| i + 1);
        let phdr = ProgramHeader {
            p_type: PT_LOAD,
            p_flags: flags,
            p_offset: offset,
            p_vaddr: vaddr,
            p_paddr: vaddr,
            p_filesz: filesz,
            p_memsz: memsz,
            p_align: PAGE,
        };
        self.phdrs.insert(at, phdr);
    }

    /// Overwrites bytes of a loaded segment.
    pub fn patch(&mut self, vaddr: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let covers = |p: &&ProgramHeader| {
            let inside = vaddr.checked_sub(p.p_vaddr).and_then(|at| p.p_filesz.checked_sub(at));
            p.p_type == PT_LOAD && inside.is_some_and(|room| room >= bytes.len() as u64)
        };
        let place = self.phdrs.iter().find(covers).map(|p| (p.p_offset + (vaddr - p.p_vaddr)) as usize);
        let place = place.and_then(|at| self.bytes.get_mut(at..at + bytes.len()));
        place.ok_or(WriteError::Unmapped { vaddr })?.copy_from_slice(bytes);
        Ok(())
    }

    /// Grows the file to the next offset that may be mapped at `vaddr`.
    pub fn align_for(&mut self, vaddr: u64) -> u64 {
        let offset = (self.bytes.len() as u64).next_multiple_of(PAGE) + vaddr % PAGE;
        self.bytes.resize(offset as usize, 0);
        offset
    }

    /// Appends contents to the file; gives their offset.
    pub fn append(&mut self, bytes: &[u8], align: u64) -> u64 {
        let offset = self.bytes.len().next_multiple_of(align.clamp(1, PAGE) as usize);
        self.bytes.resize(offset, 0);
        self.bytes.extend_from_slice(bytes);
        offset as u64
    }

    /// Appends the contents of a section that no segment loads.
    pub fn append_unloaded(&mut self, section: usize, bytes: &[u8]) {
        let offset = self.append(bytes, self.sections[section].header.sh_addralign);
        let section = &mut self.sections[section];
        section.placed = true;
        (section.header.sh_offset, section.header.sh_addr, section.header.sh_size) = (offset, 0, bytes.len() as u64);
    }

    /// Section names, the section header table and the file header.
    pub fn finish(mut self) -> Result<Vec<u8>, WriteError> {
        let names = self.sections.iter().position(|s| s.name == SHSTRTAB);
        let names = names.unwrap_or_else(|| self.add_section(Section::new(".shstrtab", SHT_STRTAB, 1)));
        let limit = usize::from(SHN_LORESERVE);
        if self.sections.len() >= limit {
            return Err(WriteError::TooMany { what: "sections", count: self.sections.len(), limit });
        }
        let sections = self.sections.clone();
        let mut strings = StringTable::new();
        let ids: Vec<_> = sections.iter().map(|s| (!s.name.is_empty()).then(|| strings.add(&s.name))).collect();
        let mut text = Vec::new();
        encoder().strtab(&mut text, &mut strings)?;
        self.append_unloaded(names, &text);

        let table = self.append(&[], encoder().address_size());
        let layout = FileHeaderLayout {
            e_phoff: self.phoff,
            segment_num: self.phdrs.len() as u32,
            e_shoff: table,
            section_num: self.sections.len() as u32,
            shstrtab_index: names as u32,
        };
        encoder().null_section_header(&mut self.bytes, &layout);
        for (section, name) in self.sections.iter_mut().zip(ids).skip(1) {
            section.header.sh_name = strings.maybe_get_offset(name);
            encoder().section_header(&mut self.bytes, &section.header);
        }
        let mut start = Vec::new();
        encoder().file_header(&mut start, &self.header, &layout)?;
        self.bytes[..start.len()].copy_from_slice(&start);
        Ok(self.bytes)
    }
}
