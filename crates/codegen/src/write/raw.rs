//! The ELF64 little-endian structures that the writer changes, as plain numbers.
//!
//! The loader has already judged the file; still, nothing here indexes without a check.

/// Where a structure could not be read.
#[derive(Clone, Copy, Debug)]
pub struct OutOfFile {
    pub what: &'static str,
    pub offset: u64,
}

pub const SHT_NULL: u32 = 0;
pub const SHT_PROGBITS: u32 = 1;
pub const SHT_SYMTAB: u32 = 2;
pub const SHT_STRTAB: u32 = 3;
pub const SHT_RELA: u32 = 4;
pub const SHT_HASH: u32 = 5;
pub const SHT_DYNAMIC: u32 = 6;
pub const SHT_NOTE: u32 = 7;
pub const SHT_NOBITS: u32 = 8;
pub const SHT_REL: u32 = 9;
pub const SHT_DYNSYM: u32 = 11;
pub const SHT_GNU_HASH: u32 = 0x6fff_fff6;

pub const SHF_WRITE: u64 = 1;
pub const SHF_ALLOC: u64 = 2;
pub const SHF_EXECINSTR: u64 = 4;

pub const PT_LOAD: u32 = 1;
pub const PT_NOTE: u32 = 4;
pub const PT_PHDR: u32 = 6;

pub const PF_X: u32 = 1;
pub const PF_W: u32 = 2;
pub const PF_R: u32 = 4;

pub const DT_HASH: u64 = 4;
pub const DT_STRTAB: u64 = 5;
pub const DT_SYMTAB: u64 = 6;
pub const DT_STRSZ: u64 = 10;
pub const DT_GNU_HASH: u64 = 0x6fff_fef5;

pub const EHDR_SIZE: usize = 64;
pub const PHDR_SIZE: usize = 56;
pub const SHDR_SIZE: usize = 64;
pub const SYM_SIZE: usize = 24;
pub const RELA_SIZE: usize = 24;
pub const REL_SIZE: usize = 16;

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

#[derive(Clone, Debug, Default)]
pub struct Phdr {
    pub kind: u32,
    pub flags: u32,
    pub offset: u64,
    pub vaddr: u64,
    pub filesz: u64,
    pub memsz: u64,
    pub align: u64,
}

impl Phdr {
    fn read(bytes: &[u8], at: usize) -> Option<Phdr> {
        Some(Phdr {
            kind: u32_at(bytes, at)?,
            flags: u32_at(bytes, at + 4)?,
            offset: u64_at(bytes, at + 8)?,
            vaddr: u64_at(bytes, at + 16)?,
            filesz: u64_at(bytes, at + 32)?,
            memsz: u64_at(bytes, at + 40)?,
            align: u64_at(bytes, at + 48)?,
        })
    }
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        for field in [self.offset, self.vaddr, self.vaddr, self.filesz, self.memsz, self.align] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Shdr {
    /// The name itself; the offset into `.shstrtab` is given when writing.
    pub name: String,
    pub kind: u32,
    pub flags: u64,
    pub addr: u64,
    pub offset: u64,
    pub size: u64,
    pub link: u32,
    pub info: u32,
    pub align: u64,
    pub entsize: u64,
}

impl Shdr {
    pub fn write(&self, name: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&name.to_le_bytes());
        out.extend_from_slice(&self.kind.to_le_bytes());
        for field in [self.flags, self.addr, self.offset, self.size] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.link.to_le_bytes());
        out.extend_from_slice(&self.info.to_le_bytes());
        for field in [self.align, self.entsize] {
            out.extend_from_slice(&field.to_le_bytes());
        }
    }
    pub fn is_alloc(&self) -> bool {
        self.flags & SHF_ALLOC != 0
    }
}

/// The headers of a file.
#[derive(Clone, Debug)]
pub struct Headers {
    pub phdrs: Vec<Phdr>,
    pub sections: Vec<Shdr>,
}

/// A string table's entry, lossy: names only have to be found again.
pub fn string_at(table: &[u8], at: usize) -> String {
    let tail = table.get(at..).unwrap_or_default();
    let end = tail.iter().position(|b| *b == 0).unwrap_or(tail.len());
    String::from_utf8_lossy(&tail[..end]).into_owned()
}

impl Headers {
    pub fn read(bytes: &[u8]) -> Result<Headers, OutOfFile> {
        let fail = |what, offset: usize| OutOfFile { what, offset: offset as u64 };
        let header = |at: usize| u64_at(bytes, at).and_then(|v| usize::try_from(v).ok());
        let count = |at: usize| u16_at(bytes, at).map(usize::from);
        let phoff = header(32).ok_or(fail("the file header", 32))?;
        let shoff = header(40).ok_or(fail("the file header", 40))?;
        let (phnum, shnum) = (count(56).ok_or(fail("e_phnum", 56))?, count(60).ok_or(fail("e_shnum", 60))?);
        let shstrndx = count(62).ok_or(fail("e_shstrndx", 62))?;
        let phdrs = (0..phnum)
            .map(|i| {
                let at = phoff.saturating_add(i * PHDR_SIZE);
                Phdr::read(bytes, at).ok_or(fail("a program header", at))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut names = Vec::with_capacity(shnum);
        let mut sections = Vec::with_capacity(shnum);
        for i in 0..shnum {
            let at = shoff.saturating_add(i * SHDR_SIZE);
            let (name, section) = read_shdr(bytes, at).ok_or(fail("a section header", at))?;
            names.push(name as usize);
            sections.push(section);
        }
        if let Some(table) = sections.get(shstrndx).and_then(|s: &Shdr| contents(bytes, s)) {
            for (section, name) in sections.iter_mut().zip(&names) {
                section.name = string_at(table, *name);
            }
        }
        Ok(Headers { phdrs, sections })
    }
}

fn read_shdr(bytes: &[u8], at: usize) -> Option<(u32, Shdr)> {
    Some((
        u32_at(bytes, at)?,
        Shdr {
            name: String::new(),
            kind: u32_at(bytes, at + 4)?,
            flags: u64_at(bytes, at + 8)?,
            addr: u64_at(bytes, at + 16)?,
            offset: u64_at(bytes, at + 24)?,
            size: u64_at(bytes, at + 32)?,
            link: u32_at(bytes, at + 40)?,
            info: u32_at(bytes, at + 44)?,
            align: u64_at(bytes, at + 48)?,
            entsize: u64_at(bytes, at + 56)?,
        },
    ))
}

/// The file bytes of a section; `None` for NOBITS and for those outside the file.
pub fn contents<'a>(bytes: &'a [u8], section: &Shdr) -> Option<&'a [u8]> {
    if section.kind == SHT_NOBITS || section.kind == SHT_NULL {
        return None;
    }
    let start = usize::try_from(section.offset).ok()?;
    bytes.get(start..start.checked_add(usize::try_from(section.size).ok()?)?)
}
