//! Writing the instrumented object: the original segments where they were, with a few words patched, and three new
//! segments behind them.
//!
//! | segment | what is in it |
//! |---|---|
//! | code | `.luthier.text`: preambles, instrumented copies, islands |
//! | data | `.luthier.data` and `.luthier.bss`: the tools' variables |
//! | headers | the program header table, and whatever of `.note`, `.dynsym`, `.hash`, `.gnu.hash`, `.dynstr` has grown |
//!
//! A table that has grown leaves its old place, to which nothing points any more; its section header moves with it,
//! so that indices stay valid.

use luthier_loader::{CodeObject, Metadata, SegmentKind};

use super::note;
use super::raw::{self, *};
use super::symbols::{self, STB_GLOBAL, STB_LOCAL, STT_FUNC, STT_OBJECT, Strings, Sym};

/// All segments start on a page of their own, as lld lays them out.
pub const PAGE: u64 = 0x1000;

/// A variable with its address.
#[derive(Clone, Debug)]
pub struct PlacedVariable {
    pub name: String,
    pub vaddr: u64,
    pub size: u64,
    /// Lies in the zero-filled part.
    pub zero: bool,
}

/// A function symbol of the new code.
#[derive(Clone, Debug)]
pub struct CodeSymbol {
    pub name: String,
    pub vaddr: u64,
    pub size: u64,
}

/// What comes on top of the original file.
#[derive(Debug, Default)]
pub struct Additions {
    pub text_vaddr: u64,
    pub text: Vec<u8>,
    /// On the first page after the text.
    pub data_vaddr: u64,
    pub data: Vec<u8>,
    /// Zero bytes after `data`.
    pub bss_size: u64,
    pub variables: Vec<PlacedVariable>,
    pub code_symbols: Vec<CodeSymbol>,
    /// Bytes of the original segments to overwrite, by virtual address.
    pub patches: Vec<(u64, Vec<u8>)>,
    /// What the metadata note is to say from now on.
    pub metadata: Option<Metadata>,
    /// Contents of `.luthier.origin`.
    pub origin: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{} at file offset {:#x} lies outside the file", .0.what, .0.offset)]
    OutOfFile(OutOfFile),
    #[error("no file bytes lie behind address {vaddr:#x}, which has to be patched")]
    Unmapped { vaddr: u64 },
    #[error("the object has {count} {what}; the format ends at {limit}")]
    TooMany { what: &'static str, count: usize, limit: usize },
}

/// The first address behind all segments, on a page.
pub fn end_of_segments(object: &CodeObject) -> u64 {
    let loads = object.segments().iter().filter(|s| s.kind == SegmentKind::Load);
    let ends = loads.map(|s| s.vaddr.saturating_add(s.memsz));
    ends.max().unwrap_or(0).next_multiple_of(PAGE)
}

/// The new file.
pub fn write(object: &CodeObject, new: &Additions) -> Result<Vec<u8>, WriteError> {
    let original: &[u8] = object.bytes();
    let headers = Headers::read(original).map_err(WriteError::OutOfFile)?;
    let mut w = Writer::start(original, &headers)?;
    for (vaddr, bytes) in &new.patches {
        w.patch(*vaddr, bytes)?;
    }
    w.code_and_data(new);
    let note = new.metadata.as_ref().map(|metadata| note::section(object, metadata));
    w.headers_segment(original, new, note)?;
    w.unloaded_sections(original, new);
    w.finish()
}

fn load(flags: u32, offset: u64, vaddr: u64, filesz: u64, memsz: u64) -> Phdr {
    Phdr { kind: PT_LOAD, flags, offset, vaddr, filesz, memsz, align: PAGE }
}

struct Writer {
    out: Vec<u8>,
    phdrs: Vec<Phdr>,
    sections: Vec<Shdr>,
    /// Sections whose contents are in `out` already or never will be.
    placed: Vec<bool>,
    text_section: u16,
    data_section: u16,
    bss_section: u16,
}

impl Writer {
    /// Keeps the file up to the end of the last loaded byte.
    fn start(original: &[u8], headers: &Headers) -> Result<Writer, WriteError> {
        let loads = headers.phdrs.iter().filter(|p| p.kind == PT_LOAD);
        let end = loads.map(|p| p.offset.saturating_add(p.filesz)).max().unwrap_or(0).max(EHDR_SIZE as u64);
        let kept = usize::try_from(end)
            .ok()
            .and_then(|end| original.get(..end))
            .ok_or(WriteError::OutOfFile(OutOfFile { what: "a loaded segment", offset: end }))?;
        let mut out = Vec::with_capacity(original.len() * 2);
        out.extend_from_slice(kept);
        Ok(Writer {
            out,
            phdrs: headers.phdrs.clone(),
            placed: headers.sections.iter().map(|s| s.is_alloc() || s.kind == SHT_NULL).collect(),
            sections: headers.sections.clone(),
            text_section: 0,
            data_section: 0,
            bss_section: 0,
        })
    }

    fn file_offset(&self, vaddr: u64, len: usize) -> Option<usize> {
        let covers = |p: &&Phdr| {
            p.kind == PT_LOAD
                && vaddr >= p.vaddr
                && vaddr - p.vaddr <= p.filesz
                && p.filesz - (vaddr - p.vaddr) >= len as u64
        };
        let p = self.phdrs.iter().find(covers)?;
        usize::try_from(p.offset + (vaddr - p.vaddr)).ok()
    }

    fn patch(&mut self, vaddr: u64, bytes: &[u8]) -> Result<(), WriteError> {
        let at = self.file_offset(vaddr, bytes.len()).ok_or(WriteError::Unmapped { vaddr })?;
        self.out.get_mut(at..at + bytes.len()).ok_or(WriteError::Unmapped { vaddr })?.copy_from_slice(bytes);
        Ok(())
    }

    /// Grows the file to the next offset that may be mapped at `vaddr`.
    fn align_for(&mut self, vaddr: u64) -> u64 {
        let at = self.out.len() as u64;
        let offset = at.next_multiple_of(PAGE) + vaddr % PAGE;
        self.out.resize(offset as usize, 0);
        offset
    }

    fn add_section(&mut self, section: Shdr) -> u16 {
        self.sections.push(section);
        self.placed.push(true);
        (self.sections.len() - 1) as u16
    }

    /// A new PT_LOAD goes behind the last one: the table must be sorted by address.
    fn add_load(&mut self, phdr: Phdr) {
        let at = self.phdrs.iter().rposition(|p| p.kind == PT_LOAD).map_or(0, |i| i + 1);
        self.phdrs.insert(at, phdr);
    }

    fn code_and_data(&mut self, new: &Additions) {
        if !new.text.is_empty() {
            self.code(new);
        }
        if !new.variables.is_empty() {
            self.data(new);
        }
    }

    fn code(&mut self, new: &Additions) {
        let offset = self.align_for(new.text_vaddr);
        let size = new.text.len() as u64;
        self.out.extend_from_slice(&new.text);
        self.add_load(load(PF_R | PF_X, offset, new.text_vaddr, size, size));
        self.text_section = self.add_section(Shdr {
            name: super::TEXT_SECTION.into(),
            kind: SHT_PROGBITS,
            flags: SHF_ALLOC | SHF_EXECINSTR,
            addr: new.text_vaddr,
            offset,
            size,
            align: 256,
            ..Shdr::default()
        });
    }

    fn data(&mut self, new: &Additions) {
        let offset = self.align_for(new.data_vaddr);
        let filled = new.data.len() as u64;
        self.out.extend_from_slice(&new.data);
        self.add_load(load(PF_R | PF_W, offset, new.data_vaddr, filled, filled + new.bss_size));
        let section = |name: &str, kind, addr, offset, size| Shdr {
            name: name.into(),
            kind,
            flags: SHF_ALLOC | SHF_WRITE,
            addr,
            offset,
            size,
            align: 16,
            ..Shdr::default()
        };
        if filled > 0 {
            self.data_section =
                self.add_section(section(".luthier.data", SHT_PROGBITS, new.data_vaddr, offset, filled));
        }
        if new.bss_size > 0 {
            let (addr, offset) = (new.data_vaddr + filled, offset + filled);
            self.bss_section = self.add_section(section(".luthier.bss", SHT_NOBITS, addr, offset, new.bss_size));
        }
    }

    /// The symbols of the variables, as they stand in both tables.
    fn variable_symbols(&self, new: &Additions) -> Vec<Sym> {
        let section = |v: &PlacedVariable| if v.zero { self.bss_section } else { self.data_section };
        let symbol = |v: &PlacedVariable| Sym::new(v.name.clone(), STB_GLOBAL, STT_OBJECT, section(v), v.vaddr, v.size);
        new.variables.iter().map(symbol).collect()
    }

    /// The last loaded segment: program headers and the tables that have grown.
    fn headers_segment(&mut self, original: &[u8], new: &Additions, note: Option<Vec<u8>>) -> Result<(), WriteError> {
        let end = self.phdrs.iter().filter(|p| p.kind == PT_LOAD).map(|p| p.vaddr + p.memsz).max().unwrap_or(0);
        let vaddr = end.next_multiple_of(PAGE);
        let start = self.align_for(vaddr);
        let table_size = (self.phdrs.len() + 1) * PHDR_SIZE; // this segment's own entry included
        self.out.resize(start as usize + table_size, 0);

        if let (Some(note), Some(i)) = (&note, self.sections.iter().position(|s| s.kind == SHT_NOTE && s.is_alloc())) {
            let (old, addr, offset) = (self.sections[i].addr, vaddr, start);
            self.move_section(i, note, addr, offset);
            let section = self.sections[i].clone();
            for p in self.phdrs.iter_mut().filter(|p| p.kind == PT_NOTE && p.vaddr == old) {
                (p.offset, p.vaddr, p.filesz, p.memsz) = (section.offset, section.addr, section.size, section.size);
            }
        }
        let dynamic_symbols = self.sections.iter().position(|s| s.kind == SHT_DYNSYM);
        if let (Some(table), false) = (dynamic_symbols, new.variables.is_empty()) {
            self.grow_dynamic_symbols(original, new, table, vaddr, start)?;
        }

        let size = self.out.len() as u64 - start;
        self.add_load(load(PF_R, start, vaddr, size, size));
        if let Some(p) = self.phdrs.iter_mut().find(|p| p.kind == PT_PHDR) {
            (p.offset, p.vaddr) = (start, vaddr);
            (p.filesz, p.memsz) = (table_size as u64, table_size as u64);
        }
        let mut table = Vec::with_capacity(table_size);
        self.phdrs.iter().for_each(|p| p.write(&mut table));
        self.out[start as usize..start as usize + table_size].copy_from_slice(&table);
        self.out[32..40].copy_from_slice(&start.to_le_bytes());
        let count = u16::try_from(self.phdrs.len()).map_err(|_| WriteError::TooMany {
            what: "program headers",
            count: self.phdrs.len(),
            limit: 65535,
        })?;
        self.out[56..58].copy_from_slice(&count.to_le_bytes());
        Ok(())
    }

    /// Appends `bytes` to the headers segment, which starts at `vaddr` and file offset `start`, as section `i`.
    fn move_section(&mut self, i: usize, bytes: &[u8], vaddr: u64, start: u64) {
        let align = self.sections[i].align.clamp(1, 64);
        let offset = (self.out.len() as u64).next_multiple_of(align);
        self.out.resize(offset as usize, 0);
        self.out.extend_from_slice(bytes);
        let section = &mut self.sections[i];
        (section.offset, section.addr, section.size) = (offset, vaddr + (offset - start), bytes.len() as u64);
    }

    fn grow_dynamic_symbols(
        &mut self,
        original: &[u8],
        new: &Additions,
        table: usize,
        vaddr: u64,
        start: u64,
    ) -> Result<(), WriteError> {
        let strings = self.sections[table].link as usize;
        let bytes_of = |s: Option<&Shdr>| s.and_then(|s| raw::contents(original, s)).unwrap_or_default();
        let old_strings = bytes_of(self.sections.get(strings));
        let mut all = symbols::read(bytes_of(self.sections.get(table)), old_strings);
        all.extend(self.variable_symbols(new));
        let (gnu, renumbered) = symbols::gnu_table(&mut all);
        let (symbol_bytes, string_bytes, locals) = symbols::write(&all, old_strings);
        self.sections[table].info = locals;

        let mut tags: Vec<(u64, u64)> = Vec::new();
        self.move_section(table, &symbol_bytes, vaddr, start);
        tags.push((DT_SYMTAB, self.sections[table].addr));
        if strings < self.sections.len() {
            self.move_section(strings, &string_bytes, vaddr, start);
            tags.push((DT_STRTAB, self.sections[strings].addr));
            tags.push((DT_STRSZ, string_bytes.len() as u64));
        }
        for (kind, tag, bytes) in [(SHT_GNU_HASH, DT_GNU_HASH, gnu), (SHT_HASH, DT_HASH, symbols::sysv_table(&all))] {
            if let Some(i) = self.sections.iter().position(|s| s.kind == kind) {
                self.move_section(i, &bytes, vaddr, start);
                tags.push((tag, self.sections[i].addr));
            }
        }
        self.renumber_relocations(table, &renumbered);
        self.set_dynamic_tags(&tags);
        Ok(())
    }

    /// Dynamic relocations name symbols by index.
    fn renumber_relocations(&mut self, table: usize, renumbered: &[u32]) {
        let uses = |s: &&Shdr| s.is_alloc() && matches!(s.kind, SHT_REL | SHT_RELA) && s.link as usize == table;
        for s in self.sections.iter().filter(uses) {
            let entry = if s.kind == SHT_RELA { RELA_SIZE } else { REL_SIZE };
            for i in 0..s.size as usize / entry {
                let at = s.offset as usize + i * entry + 12; // the high half of r_info
                if let Some(index) = u32_at(&self.out, at)
                    && let Some(new) = renumbered.get(index as usize)
                {
                    self.out[at..at + 4].copy_from_slice(&new.to_le_bytes());
                }
            }
        }
    }

    fn set_dynamic_tags(&mut self, tags: &[(u64, u64)]) {
        let Some(s) = self.sections.iter().find(|s| s.kind == SHT_DYNAMIC) else { return };
        for i in 0..s.size as usize / 16 {
            let at = s.offset as usize + i * 16;
            let Some(tag) = u64_at(&self.out, at) else { return };
            if let (Some((_, value)), true) = (tags.iter().find(|(t, _)| *t == tag), at + 16 <= self.out.len()) {
                self.out[at + 8..at + 16].copy_from_slice(&value.to_le_bytes());
            }
        }
    }

    /// Everything that is not loaded: copied, except the symbol table, which is rebuilt, and the section names.
    fn unloaded_sections(&mut self, original: &[u8], new: &Additions) {
        let table = self.sections.iter().position(|s| s.kind == SHT_SYMTAB);
        let table = table.unwrap_or_else(|| self.add_symbol_table());
        let strings = self.sections[table].link as usize;
        let names = self.sections.iter().position(|s| s.name == ".shstrtab");
        for i in 0..self.sections.len() {
            if self.placed[i] || i == table || i == strings || Some(i) == names {
                continue;
            }
            let bytes = raw::contents(original, &self.sections[i]).unwrap_or_default();
            self.append_unloaded(i, bytes);
        }

        let origin = self.add_section(Shdr {
            name: super::ORIGIN_SECTION.into(),
            kind: SHT_PROGBITS,
            align: 8,
            ..Shdr::default()
        });
        self.append_unloaded(origin.into(), &new.origin);

        let bytes_of = |s: Option<&Shdr>| s.and_then(|s| raw::contents(original, s)).unwrap_or_default();
        let old_strings = bytes_of(self.sections.get(strings));
        let mut all = symbols::read(bytes_of(self.sections.get(table)), old_strings);
        if all.is_empty() {
            all.push(Sym::new(String::new(), STB_LOCAL, 0, 0, 0, 0));
        }
        let section = self.text_section;
        let code = |s: &CodeSymbol| Sym::new(s.name.clone(), STB_LOCAL, STT_FUNC, section, s.vaddr, s.size);
        let globals = all.iter().skip(1).position(|s| !s.is_local()).map_or(all.len(), |i| i + 1);
        all.splice(globals..globals, new.code_symbols.iter().map(code));
        all.extend(self.variable_symbols(new));
        let (symbol_bytes, string_bytes, locals) = symbols::write(&all, old_strings);
        self.sections[table].info = locals;
        self.append_unloaded(table, &symbol_bytes);
        self.append_unloaded(strings, &string_bytes);
    }

    /// `.symtab` and `.strtab` for an object that was stripped of them. Returns the former's index.
    fn add_symbol_table(&mut self) -> usize {
        let strings = self.add_section(Shdr { name: ".strtab".into(), kind: SHT_STRTAB, align: 1, ..Shdr::default() });
        let entsize = SYM_SIZE as u64;
        let link = strings.into();
        let table = Shdr { name: ".symtab".into(), kind: SHT_SYMTAB, align: 8, entsize, link, ..Shdr::default() };
        self.add_section(table).into()
    }

    fn append_unloaded(&mut self, i: usize, bytes: &[u8]) {
        let Some(section) = self.sections.get_mut(i) else { return };
        let offset = (self.out.len() as u64).next_multiple_of(section.align.clamp(1, 4096));
        self.out.resize(offset as usize, 0);
        self.out.extend_from_slice(bytes);
        (section.offset, section.addr, section.size) = (offset, 0, bytes.len() as u64);
    }

    /// Section names and the section header table.
    fn finish(mut self) -> Result<Vec<u8>, WriteError> {
        let names = self.sections.iter().position(|s| s.name == ".shstrtab");
        let names = names.unwrap_or_else(|| {
            self.add_section(Shdr { name: ".shstrtab".into(), kind: SHT_STRTAB, align: 1, ..Shdr::default() }).into()
        });
        let mut strings = Strings::after(&[]);
        let name_offsets: Vec<u32> = self.sections.iter().map(|s| strings.add(&s.name)).collect();
        self.append_unloaded(names, &strings.0);
        let limit = 0xff00; // SHN_LORESERVE
        if self.sections.len() >= limit {
            return Err(WriteError::TooMany { what: "sections", count: self.sections.len(), limit });
        }
        let offset = self.out.len().next_multiple_of(8);
        self.out.resize(offset, 0);
        for (section, name) in self.sections.iter().zip(name_offsets) {
            section.write(name, &mut self.out);
        }
        self.out[40..48].copy_from_slice(&(offset as u64).to_le_bytes());
        self.out[58..60].copy_from_slice(&(SHDR_SIZE as u16).to_le_bytes());
        self.out[60..62].copy_from_slice(&(self.sections.len() as u16).to_le_bytes());
        self.out[62..64].copy_from_slice(&(names as u16).to_le_bytes());
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use luthier_loader::MockLoader;

    fn additions(object: &CodeObject) -> Additions {
        let text_vaddr = end_of_segments(object);
        let data_vaddr = text_vaddr + PAGE;
        let variable = |name: &str, vaddr, zero| PlacedVariable { name: name.into(), vaddr, size: 16, zero };
        Additions {
            text_vaddr,
            text: 0xbf81_0000u32.to_le_bytes().repeat(3),
            data_vaddr,
            data: vec![7; 16],
            bss_size: 4096,
            variables: vec![variable("tool.filled", data_vaddr, false), variable("tool.zero", data_vaddr + 16, true)],
            code_symbols: vec![CodeSymbol { name: "k.instrumented".into(), vaddr: text_vaddr, size: 12 }],
            patches: vec![],
            metadata: object.metadata().map(|m| {
                let mut m = m.clone();
                m.kernels.iter_mut().for_each(|k| k.fields.vgpr_count = Some(300));
                m
            }),
            origin: luthier_loader::OriginMap::default().encode(),
        }
    }

    #[test]
    fn llvm_and_our_loader_accept_what_is_written() {
        let Some(corpus) = testing::corpus() else { return };
        let mut count = 0;
        for path in ["clang/gfx90a", "triton/gfx90a", "bitsandbytes/gfx90a"]
            .iter()
            .flat_map(|d| testing::objects(&corpus.join(d)))
        {
            let bytes = std::fs::read(&path).unwrap();
            let object = CodeObject::parse(bytes.clone()).unwrap();
            let new = additions(&object);
            let written = write(&object, &new).unwrap();

            let again = CodeObject::parse(written.clone()).unwrap();
            for variable in &new.variables {
                let symbol = again.symbol(&variable.name).unwrap();
                assert_eq!((symbol.value, symbol.size), (variable.vaddr, 16), "{path:?}");
            }
            assert!(
                object.symbols().iter().all(|s| again.symbol(&s.name).is_some_and(|t| t.value == s.value)),
                "{path:?}"
            );
            assert_eq!(again.kernels().len(), object.kernels().len());
            assert!(again.kernels().iter().all(|k| k.metadata().is_none_or(|m| m.vgpr_count == Some(300))));
            // Relocations still name the same symbols, and the image is the old one with more behind it.
            let symbol = |o: &CodeObject, r: &luthier_loader::Relocation| r.symbol.map(|s| o.symbols()[s].name.clone());
            for (old, new) in object.relocations().iter().zip(again.relocations()) {
                assert_eq!(symbol(&object, old), symbol(&again, new), "{path:?}");
            }
            let loader = MockLoader::single(again, 0x10_0000).unwrap();
            assert_eq!(loader.objects()[0].symbol_address("tool.zero"), Some(0x10_0000 + new.data_vaddr + 16));

            let file = testing::scratch("writer.hsaco", &written);
            let Some(text) = testing::llvm("llvm-readelf", &["-a", "-W", file.to_str().unwrap()]) else { return };
            assert!(!text.contains("warning") && text.contains("tool.zero"), "{path:?}: {text}");
            let text = testing::llvm("llvm-objdump", &["-d", file.to_str().unwrap()]).unwrap();
            assert!(!text.contains("warning") && text.contains("<k.instrumented>:"), "{path:?}: {text}");
            count += 1;
        }
        assert!(count > 20);
    }
}
