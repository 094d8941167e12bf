//! A small builder of code objects, for what no linker makes: REL records, odd relocation types, symbols at will.
//!
//! Three segments: tables at 0, text (read, execute) at `TEXT`, data (read, write) at `DATA`, the last with zero-filled
//! memory behind it. File offsets are vaddrs less `Elf::vaddr`.

pub const TEXT: u64 = 0x2000;
pub const DATA: u64 = 0x4000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// vaddr, before `Elf::vaddr` is added.
    Text(u64),
    Data(u64),
    Absolute(u64),
    Undefined,
}

#[derive(Clone, Debug)]
pub struct Sym {
    pub name: &'static str,
    pub at: At,
    pub size: u64,
    /// 0 local, 1 global, 2 weak.
    pub binding: u8,
    /// 0 none, 1 object, 2 function.
    pub kind: u8,
    /// 0 default, 2 hidden, 3 protected.
    pub visibility: u8,
    pub dynamic: bool,
}

impl Sym {
    pub fn global(name: &'static str, at: At) -> Sym {
        Sym { name, at, size: 8, binding: 1, kind: 1, visibility: 0, dynamic: true }
    }
    pub fn local(name: &'static str, at: At) -> Sym {
        Sym { binding: 0, dynamic: false, ..Sym::global(name, at) }
    }
    pub fn weak(name: &'static str, at: At) -> Sym {
        Sym { binding: 2, ..Sym::global(name, at) }
    }
}

#[derive(Clone, Debug)]
pub struct Reloc {
    pub place: At,
    pub kind: u32,
    /// Index into the symbols.
    pub symbol: Option<usize>,
    /// `None`: a REL record, whose addend is in the data given.
    pub addend: Option<i64>,
    pub is_static: bool,
}

#[derive(Clone, Debug)]
pub struct Elf {
    pub os_abi: u8,
    pub abi_version: u8,
    pub flags: u32,
    /// Added to all vaddrs: an object that was linked for an address of its own.
    pub vaddr: u64,
    pub text: Vec<u8>,
    pub data: Vec<u8>,
    /// Zero-filled bytes behind the data.
    pub zeros: u64,
    pub symbols: Vec<Sym>,
    pub relocs: Vec<Reloc>,
}

impl Default for Elf {
    fn default() -> Elf {
        Elf {
            os_abi: 64,
            abi_version: 3,
            // gfx90a, both features "any".
            flags: 0x53f,
            vaddr: 0,
            text: vec![0; 0x100],
            data: vec![0; 0x100],
            zeros: 0x40,
            symbols: Vec::new(),
            relocs: Vec::new(),
        }
    }
}

struct Section {
    name: &'static str,
    kind: u32,
    flags: u64,
    vaddr: u64,
    bytes: Vec<u8>,
    link: u32,
    info: u32,
    entry: u64,
    offset: u64,
}

fn put(out: &mut Vec<u8>, value: u64, width: usize) {
    out.extend_from_slice(&value.to_le_bytes()[..width]);
}

impl Elf {
    pub fn address(&self, at: At) -> u64 {
        match at {
            At::Text(offset) => self.vaddr + TEXT + offset,
            At::Data(offset) => self.vaddr + DATA + offset,
            At::Absolute(value) => value,
            At::Undefined => 0,
        }
    }

    /// Writes a number over the text or the data.
    pub fn fill(&mut self, at: At, value: u64, width: usize) {
        let (bytes, offset) = match at {
            At::Text(offset) => (&mut self.text, offset as usize),
            At::Data(offset) => (&mut self.data, offset as usize),
            _ => panic!("not a place"),
        };
        if offset + width <= bytes.len() {
            bytes[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
        } else {
            assert_eq!(value, 0, "the zero-filled part holds zeros");
        }
    }

    fn symbol_table(&self, dynamic_only: bool) -> (Vec<u8>, Vec<u8>, Vec<usize>) {
        let (mut table, mut names, mut numbers) = (vec![0; 24], vec![0], vec![0; self.symbols.len()]);
        for (index, symbol) in self.symbols.iter().enumerate() {
            if dynamic_only && !symbol.dynamic {
                continue;
            }
            numbers[index] = table.len() / 24;
            put(&mut table, names.len() as u64, 4);
            names.extend(symbol.name.bytes());
            names.push(0);
            table.extend([symbol.binding << 4 | symbol.kind, symbol.visibility]);
            let section = match symbol.at {
                At::Text(_) => SECTION_TEXT,
                At::Data(_) => SECTION_DATA,
                At::Absolute(_) => 0xfff1,
                At::Undefined => 0,
            };
            put(&mut table, section, 2);
            put(&mut table, self.address(symbol.at), 8);
            put(&mut table, symbol.size, 8);
        }
        (table, names, numbers)
    }

    fn relocations(&self, numbers: &[usize], pick: impl Fn(&Reloc) -> bool) -> Vec<u8> {
        let mut out = Vec::new();
        for reloc in self.relocs.iter().filter(|r| pick(r)) {
            put(&mut out, self.address(reloc.place), 8);
            let symbol = reloc.symbol.map_or(0, |index| numbers[index]) as u64;
            put(&mut out, symbol << 32 | u64::from(reloc.kind), 8);
            if let Some(addend) = reloc.addend {
                put(&mut out, addend as u64, 8);
            }
        }
        out
    }

    pub fn build(&self) -> Vec<u8> {
        let (dynsym, dynstr, dynamic_numbers) = self.symbol_table(true);
        let (symtab, strtab, numbers) = self.symbol_table(false);
        let rela_dyn = self.relocations(&dynamic_numbers, |r| !r.is_static && r.addend.is_some());
        let rel_dyn = self.relocations(&dynamic_numbers, |r| !r.is_static && r.addend.is_none());
        let statics = |text: bool, rela: bool| {
            self.relocations(&numbers, |r| {
                r.is_static && matches!(r.place, At::Text(_)) == text && r.addend.is_some() == rela
            })
        };
        let mut sections: Vec<Section> = Vec::new();
        let mut add = |name, kind, flags, vaddr, bytes: Vec<u8>, link, info, entry| {
            sections.push(Section { name, kind, flags, vaddr, bytes, link, info, entry, offset: vaddr });
        };
        add("", 0, 0, 0, vec![], 0, 0, 0);
        // The tables from 0x200 on, each 16-aligned.
        let mut at = 0x200;
        let mut place = |bytes: &[u8]| {
            let here = at;
            at = (at + bytes.len() as u64).next_multiple_of(16);
            here
        };
        let mut hash = Vec::new();
        let count = dynsym.len() as u64 / 24;
        for word in
            [1, count, u64::from(count > 1)].into_iter().chain((0..count).map(|i| (i + 1) % count * u64::from(i != 0)))
        {
            put(&mut hash, word, 4);
        }
        let places = [&dynsym, &dynstr, &hash, &rela_dyn, &rel_dyn].map(|bytes| place(bytes));
        let mut dynamic = Vec::new();
        let mut tags =
            vec![(6, places[0] + self.vaddr), (11, 24), (5, places[1] + self.vaddr), (10, dynstr.len() as u64)];
        tags.push((4, places[2] + self.vaddr));
        if !rela_dyn.is_empty() {
            tags.extend([(7, places[3] + self.vaddr), (8, rela_dyn.len() as u64), (9, 24)]);
        }
        if !rel_dyn.is_empty() {
            tags.extend([(17, places[4] + self.vaddr), (18, rel_dyn.len() as u64), (19, 16)]);
        }
        tags.push((0, 0));
        tags.iter().for_each(|&(tag, value)| {
            put(&mut dynamic, tag, 8);
            put(&mut dynamic, value, 8);
        });
        let dynamic_at = place(&dynamic);
        let tables_end = at;
        assert!(tables_end <= TEXT);
        add(".dynsym", 11, 2, places[0], dynsym, 2, 1, 24);
        add(".dynstr", 3, 2, places[1], dynstr, 0, 0, 0);
        add(".hash", 5, 2, places[2], hash, 1, 0, 4);
        add(".text", 1, 6, TEXT, self.text.clone(), 0, 0, 0);
        add(".data", 1, 3, DATA, self.data.clone(), 0, 0, 0);
        add(".rela.dyn", 4, 2, places[3], rela_dyn.clone(), 1, 0, 24);
        add(".rel.dyn", 9, 2, places[4], rel_dyn.clone(), 1, 0, 16);
        add(".dynamic", 6, 3, dynamic_at, dynamic.clone(), 2, 0, 16);
        add(".symtab", 2, 0, 0, symtab, 10, 1, 24);
        add(".strtab", 3, 0, 0, strtab, 0, 0, 0);
        for (name, text, rela) in [
            (".rela.text", true, true),
            (".rel.text", true, false),
            (".rela.data", false, true),
            (".rel.data", false, false),
        ] {
            let bytes = statics(text, rela);
            if !bytes.is_empty() {
                let info = if text { SECTION_TEXT } else { SECTION_DATA } as u32;
                add(name, if rela { 4 } else { 9 }, 0x40, 0, bytes, 9, info, if rela { 24 } else { 16 });
            }
        }
        let mut names = vec![0];
        let name_offsets: Vec<u64> = sections
            .iter()
            .chain([&Section {
                name: ".shstrtab",
                kind: 3,
                flags: 0,
                vaddr: 0,
                bytes: vec![],
                link: 0,
                info: 0,
                entry: 0,
                offset: 0,
            }])
            .map(|s| {
                let at = names.len() as u64;
                names.extend(s.name.bytes());
                names.push(0);
                at
            })
            .collect();
        sections.push(Section {
            name: ".shstrtab",
            kind: 3,
            flags: 0,
            vaddr: 0,
            bytes: names,
            link: 0,
            info: 0,
            entry: 0,
            offset: 0,
        });

        let mut file = vec![0; (DATA + self.data.len() as u64) as usize];
        for section in &mut sections[1..] {
            if section.flags & 2 == 0 {
                file.resize(file.len().next_multiple_of(16), 0);
                section.offset = file.len() as u64;
                file.extend_from_slice(&section.bytes);
            } else {
                file[section.offset as usize..][..section.bytes.len()].copy_from_slice(&section.bytes);
                section.vaddr += self.vaddr;
            }
        }
        file.resize(file.len().next_multiple_of(16), 0);
        let headers = file.len() as u64;
        for (section, name) in sections.iter().zip(&name_offsets) {
            put(&mut file, *name, 4);
            put(&mut file, section.kind.into(), 4);
            let size = section.bytes.len() as u64;
            for value in [section.flags, section.vaddr, section.offset, size] {
                put(&mut file, value, 8);
            }
            put(&mut file, section.link.into(), 4);
            put(&mut file, section.info.into(), 4);
            put(&mut file, u64::from(section.kind != 0), 8);
            put(&mut file, section.entry, 8);
        }
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.extend([self.os_abi, self.abi_version, 0, 0, 0, 0, 0, 0, 0]);
        for (value, width) in [(3, 2), (224, 2), (1, 4), (0, 8), (64, 8), (headers, 8), (self.flags.into(), 4)] {
            put(&mut head, value, width);
        }
        for value in [64, 56, 4, 64, sections.len() as u64, sections.len() as u64 - 1] {
            put(&mut head, value, 2);
        }
        let (text, data) = (self.text.len() as u64, self.data.len() as u64);
        for (kind, flags, offset, file_size, size) in [
            (1, 4, 0, tables_end, tables_end),
            (1, 5, TEXT, text, text),
            (1, 6, DATA, data, data + self.zeros),
            (2, 4, dynamic_at, dynamic.len() as u64, dynamic.len() as u64),
        ] {
            put(&mut head, kind, 4);
            put(&mut head, flags, 4);
            for value in [offset, offset + self.vaddr, offset + self.vaddr, file_size, size] {
                put(&mut head, value, 8);
            }
            put(&mut head, if kind == 1 { 0x1000 } else { 8 }, 8);
        }
        file[..head.len()].copy_from_slice(&head);
        file
    }
}

const SECTION_TEXT: u64 = 4;
const SECTION_DATA: u64 = 5;
