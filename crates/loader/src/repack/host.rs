//! New contents for .hip_fatbin of a host executable or shared object.
//!
//! What does not fit where the old bundles are goes into a segment of its own behind everything else, together with the
//! program header table, which has to grow for it. File offsets and addresses of that segment are as far apart as those
//! of the first one, so that kernels that work out the table's address from there find it.
//!
//! Who uses the bundles: the registration wrappers in .hipFatBinSegment, each a magic, a version and a pointer to a
//! bundle. Such a pointer is a relative relocation, a symbol, or (in executables at a fixed address, and with packed
//! relative relocations) plain bytes. All are changed; a pointer into a bundle's middle, or a bundle without a pointer,
//! is an error.

use goblin::elf::header::{EM_AARCH64, EM_PPC64, EM_RISCV, EM_X86_64};
use goblin::elf::program_header::program_header64::ProgramHeader;
use goblin::elf::program_header::{PF_R, PT_LOAD, PT_PHDR};
use goblin::elf::reloc::reloc64::Rela;
use goblin::elf::section_header::section_header64::SectionHeader;
use goblin::elf::section_header::{SHF_ALLOC, SHT_DYNSYM, SHT_RELA, SHT_SYMTAB};
use goblin::elf::sym::STT_SECTION;
use goblin::elf::sym::sym64::Sym;
use scroll::ctx::{SizeWith, TryFromCtx, TryIntoCtx};
use scroll::{Endian, LE, Pread, Pwrite};

use super::{ALIGN, NewBundle};
use crate::LoadError;

// Fields of the file header.
const MACHINE: u64 = 18;
const PHOFF: u64 = 32;
const SHOFF: u64 = 40;
const PHENTSIZE: u64 = 54;
const PHNUM: u64 = 56;
const SHNUM: u64 = 60;
const SHSTRNDX: u64 = 62;

const PHDR_SIZE: u64 = 56;
const SHDR_SIZE: u64 = 64;
const WRAPPER_MAGIC: u32 = 0x4849_5046; // "HIPF", backwards
const WRAPPER_SIZE: u64 = 24;

/// Zeros between the end of the file and the new segment, whose address has to lie behind all zero-filled data.
const MAX_HOLE: u64 = 256 << 20;

/// `whole` with these bundles in .hip_fatbin.
pub(super) fn with_bundles(whole: &[u8], bundles: &[NewBundle]) -> Result<Vec<u8>, LoadError> {
    let mut host = Host::read(whole)?;
    let fat = &host.sections[host.fat];
    let inside = |bundle: &NewBundle| bundle.start >= fat.sh_offset && bundle.start - fat.sh_offset < fat.sh_size;
    if !bundles.iter().all(inside) || !bundles.is_sorted_by_key(|bundle| bundle.start) {
        return Err(bad("its .hip_fatbin section is not where the bundles were found"));
    }
    if host.fits(bundles) {
        host.fill(bundles);
        return Ok(host.bytes);
    }
    host.move_bundles(bundles)?;
    Ok(host.bytes)
}

fn bad(reason: impl Into<String>) -> LoadError {
    LoadError::HostBinary { reason: reason.into() }
}

struct Host {
    bytes: Vec<u8>,
    sections: Vec<SectionHeader>,
    /// Number of .hip_fatbin.
    fat: usize,
    /// Number of .hipFatBinSegment.
    wrappers: Option<usize>,
}

/// Where a bundle was and is, as addresses.
struct Move {
    from: u64,
    to: u64,
    /// Something that was changed points there.
    used: bool,
}

impl Host {
    fn read(whole: &[u8]) -> Result<Host, LoadError> {
        let bytes = whole.to_vec();
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(bad("it is not a little-endian 64-bit ELF"));
        }
        let table: u64 = get(&bytes, SHOFF)?;
        let section = |i: u64| get::<SectionHeader>(&bytes, table.saturating_add(i * SHDR_SIZE));
        // Files with more sections than fit say so in the first one.
        let count = match get::<u16>(&bytes, SHNUM)? {
            0 => section(0)?.sh_size,
            count => count.into(),
        };
        let names = match get::<u16>(&bytes, SHSTRNDX)? {
            u16::MAX => section(0)?.sh_link,
            names => names.into(),
        };
        if count > bytes.len() as u64 / SHDR_SIZE {
            return Err(bad("it says to have more sections than it has room for"));
        }
        let sections = (0..count).map(section).collect::<Result<Vec<_>, _>>()?;
        let names = sections.get(names as usize).map_or(0, |s| s.sh_offset);
        let named = |wanted: &[u8]| {
            let is = |s: &SectionHeader| {
                let at = names.saturating_add(s.sh_name.into()) as usize;
                bytes.get(at..).is_some_and(|name| name.starts_with(wanted) && name.get(wanted.len()) == Some(&0))
            };
            sections.iter().position(is)
        };
        let fat = named(b".hip_fatbin").ok_or_else(|| bad("it has no .hip_fatbin section"))?;
        let section = &sections[fat];
        if section.sh_offset.checked_add(section.sh_size).is_none_or(|end| end > bytes.len() as u64) {
            return Err(bad("its .hip_fatbin section passes the end of the file"));
        }
        let wrappers = named(b".hipFatBinSegment");
        Ok(Host { fat, wrappers, sections, bytes })
    }

    /// Whether every bundle fits in front of the next one.
    fn fits(&self, bundles: &[NewBundle]) -> bool {
        let fat = &self.sections[self.fat];
        let next = |i: usize| bundles.get(i + 1).map_or(fat.sh_offset + fat.sh_size, |next| next.start);
        bundles.iter().enumerate().all(|(i, bundle)| bundle.start + bundle.bytes.len() as u64 <= next(i))
    }

    /// Puts the bundles where the old ones are, and zeros where there is nothing now.
    fn fill(&mut self, bundles: &[NewBundle]) {
        self.clear();
        for bundle in bundles {
            let start = bundle.start as usize;
            self.bytes[start..start + bundle.bytes.len()].copy_from_slice(&bundle.bytes);
        }
    }

    fn clear(&mut self) {
        let fat = &self.sections[self.fat];
        self.bytes[fat.sh_offset as usize..(fat.sh_offset + fat.sh_size) as usize].fill(0);
    }

    fn move_bundles(&mut self, bundles: &[NewBundle]) -> Result<(), LoadError> {
        let fat = self.sections[self.fat];
        let mut phdrs = self.program_headers()?;
        let loads = || phdrs.iter().filter(|p| p.p_type == PT_LOAD);
        let first = loads().next().ok_or_else(|| bad("it has no loaded segment"))?;
        let delta = first.p_vaddr.wrapping_sub(first.p_offset);
        let page = loads().map(|p| p.p_align).max().unwrap_or(1).max(ALIGN);
        if !page.is_power_of_two() || page > MAX_HOLE {
            return Err(bad(format!("its segments are aligned to {page:#x}")));
        }
        let end = loads().map(|p| p.p_vaddr.saturating_add(p.p_memsz)).max().unwrap_or(0);
        let file_end = (self.bytes.len() as u64).wrapping_add(delta);
        let vaddr = end
            .max(file_end)
            .checked_next_multiple_of(page)
            .filter(|vaddr| vaddr.wrapping_sub(delta) <= self.bytes.len() as u64 + MAX_HOLE)
            .ok_or_else(|| {
                bad("its segments leave no room behind them, or take up far more memory than the file has")
            })?;
        let offset = vaddr.wrapping_sub(delta);

        // The table, then the bundles.
        let table = (phdrs.len() as u64 + 1) * PHDR_SIZE;
        let section_start = table.next_multiple_of(ALIGN);
        self.clear();
        self.bytes.resize((offset + section_start) as usize, 0);
        let mut moves = Vec::with_capacity(bundles.len());
        for bundle in bundles {
            let at = (self.bytes.len() as u64).next_multiple_of(ALIGN);
            self.bytes.resize(at as usize, 0);
            self.bytes.extend_from_slice(&bundle.bytes);
            let from = fat.sh_addr.wrapping_add(bundle.start - fat.sh_offset);
            moves.push(Move { from, to: at.wrapping_add(delta), used: false });
        }
        let size = self.bytes.len() as u64 - offset;
        let last = phdrs.iter().rposition(|p| p.p_type == PT_LOAD).unwrap_or(0);
        phdrs.insert(
            last + 1,
            ProgramHeader {
                p_type: PT_LOAD,
                p_flags: PF_R,
                p_offset: offset,
                p_vaddr: vaddr,
                p_paddr: vaddr,
                p_filesz: size,
                p_memsz: size,
                p_align: page,
            },
        );
        for p in phdrs.iter_mut().filter(|p| p.p_type == PT_PHDR) {
            (p.p_offset, p.p_vaddr, p.p_paddr) = (offset, vaddr, vaddr);
            (p.p_filesz, p.p_memsz) = (table, table);
        }
        for (i, phdr) in (0..).zip(&phdrs) {
            put(&mut self.bytes, offset + i * PHDR_SIZE, *phdr)?;
        }
        let count = u16::try_from(phdrs.len()).ok().filter(|count| *count < u16::MAX);
        put(&mut self.bytes, PHNUM, count.ok_or_else(|| bad("it has too many segments"))?)?;
        put(&mut self.bytes, PHOFF, offset)?;

        let section = &mut self.sections[self.fat];
        (section.sh_addr, section.sh_offset) = (vaddr + section_start, offset + section_start);
        section.sh_size = size - section_start;
        let section = *section;
        let header = get::<u64>(&self.bytes, SHOFF)? + self.fat as u64 * SHDR_SIZE;
        put(&mut self.bytes, header, section)?;
        self.redirect(&fat, &mut moves)?;
        match moves.iter().position(|m| !m.used) {
            Some(i) => {
                let start = bundles[i].start;
                Err(bad(format!("nothing that could be changed points at the offload bundle at offset {start:#x}")))
            }
            None => Ok(()),
        }
    }

    fn program_headers(&self) -> Result<Vec<ProgramHeader>, LoadError> {
        let (table, count): (u64, u16) = (get(&self.bytes, PHOFF)?, get(&self.bytes, PHNUM)?);
        if count == u16::MAX || u64::from(get::<u16>(&self.bytes, PHENTSIZE)?) != PHDR_SIZE {
            return Err(bad("its program headers are of a kind that is not known here"));
        }
        (0..count.into()).map(|i: u64| get(&self.bytes, table.saturating_add(i * PHDR_SIZE))).collect()
    }

    /// Has everything that points at the old bundles point at the new ones.
    fn redirect(&mut self, fat: &SectionHeader, moves: &mut [Move]) -> Result<(), LoadError> {
        let inside = |vaddr: u64| vaddr.checked_sub(fat.sh_addr).is_some_and(|offset| offset < fat.sh_size);
        let mut moved = |vaddr: u64, what: &str| match moves.iter_mut().find(|m| m.from == vaddr) {
            Some(found) => {
                found.used = true;
                Ok(found.to)
            }
            None => Err(bad(format!("{what} points into the middle of an offload bundle, at {vaddr:#x}"))),
        };
        let relative = match get::<u16>(&self.bytes, MACHINE)? {
            EM_X86_64 => 8,
            EM_AARCH64 => 1027,
            EM_PPC64 => 22,
            EM_RISCV => 3,
            other => return Err(bad(format!("relocations of ELF machine {other} are not known here"))),
        };
        for section in self.sections.clone() {
            let count = |size: u64| section.sh_size / size;
            match section.sh_type {
                SHT_RELA if section.sh_flags & u64::from(SHF_ALLOC) != 0 => {
                    for i in 0..count(24) {
                        let at = section.sh_offset.saturating_add(i * 24);
                        let mut rela: Rela = get(&self.bytes, at)?;
                        if rela.r_info == relative && inside(rela.r_addend as u64) {
                            rela.r_addend = moved(rela.r_addend as u64, "a relocation")? as i64;
                            put(&mut self.bytes, at, rela)?;
                        }
                    }
                }
                SHT_SYMTAB | SHT_DYNSYM => {
                    for i in 0..count(24) {
                        let at = section.sh_offset.saturating_add(i * 24);
                        let mut symbol: Sym = get(&self.bytes, at)?;
                        if usize::from(symbol.st_shndx) != self.fat {
                            continue;
                        }
                        symbol.st_value = match symbol.st_info & 15 {
                            STT_SECTION => self.sections[self.fat].sh_addr,
                            _ => moved(symbol.st_value, "a symbol")?,
                        };
                        put(&mut self.bytes, at, symbol)?;
                    }
                }
                _ => {}
            }
        }
        let Some(wrappers) = self.wrappers.map(|i| self.sections[i]) else { return Ok(()) };
        for i in 0..wrappers.sh_size / WRAPPER_SIZE {
            let at = wrappers.sh_offset.saturating_add(i * WRAPPER_SIZE);
            let pointer: u64 = get(&self.bytes, at.saturating_add(8))?;
            if get::<u32>(&self.bytes, at)? == WRAPPER_MAGIC && inside(pointer) {
                put(&mut self.bytes, at + 8, moved(pointer, "a wrapper")?)?;
            }
        }
        Ok(())
    }
}

fn get<T>(bytes: &[u8], at: u64) -> Result<T, LoadError>
where
    T: for<'a> TryFromCtx<'a, Endian, Error = scroll::Error> + SizeWith<Endian>,
{
    let (size, file_size) = (T::size_with(&LE) as u64, bytes.len() as u64);
    let outside = || LoadError::Truncated { what: "ELF structure", offset: at, size, file_size };
    bytes.pread_with(usize::try_from(at).map_err(|_| outside())?, LE).map_err(|_| outside())
}

fn put<T>(bytes: &mut [u8], at: u64, value: T) -> Result<(), LoadError>
where
    T: TryIntoCtx<Endian, Error = scroll::Error> + SizeWith<Endian>,
{
    let (size, file_size) = (T::size_with(&LE) as u64, bytes.len() as u64);
    let outside = || LoadError::Truncated { what: "ELF structure", offset: at, size, file_size };
    bytes.pwrite_with(value, usize::try_from(at).map_err(|_| outside())?, LE).map(drop).map_err(|_| outside())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library with two bundles.
    fn library() -> Vec<u8> {
        std::fs::read(luthier_needs::corpus!().join("bitsandbytes/libbitsandbytes_rocm64.so")).unwrap()
    }

    const STARTS: [u64; 2] = [0x31000, 0xd4000];

    fn larger() -> [NewBundle<'static>; 2] {
        STARTS.map(|start| NewBundle { start, bytes: vec![start as u8 + 1; 1 << 20].into() })
    }

    #[luthier_needs::needs(corpus)]
    #[test]
    fn both_pointers_follow_their_bundles_and_other_bytes_stay() {
        let old = library();
        let new = with_bundles(&old, &larger()).unwrap();
        let relocated = |bytes: &[u8], place: u64| -> Vec<u64> {
            let records = (0..0x2298 / 24).map(|i| get::<Rela>(bytes, 0xf2e8 + i * 24).unwrap());
            records.filter(|r| r.r_offset == place).map(|r| r.r_addend as u64).collect()
        };
        for (wrapper, start) in [0x103b58, 0x103b70].into_iter().zip(STARTS) {
            assert_eq!(relocated(&old, wrapper), [start]);
            let [to] = relocated(&new, wrapper)[..] else { panic!("one relocation") };
            assert_eq!(new[to as usize..to as usize + (1 << 20)], vec![start as u8 + 1; 1 << 20]);
        }
        let changed: Vec<usize> = (0..old.len()).filter(|i| old[*i] != new[*i]).collect();
        let allowed = |i: &usize| {
            (32..40).contains(i) || (56..58).contains(i)           // program headers
                || (0x31000..0xf9526).contains(i)                 // the old bundles
                || (0xf2e8..0x11580).contains(i)                  // relocations
                || (0x102b50..0x102b80).contains(i) // wrappers: GNU ld writes pointers there, too
                || (0x110d10 + 15 * 64..0x110d10 + 16 * 64).contains(i) // the section's header
        };
        assert!(changed.iter().all(allowed), "{:x?}", changed.iter().find(|i| !allowed(i)));
        assert!(new[0x31000..0xf9526].iter().all(|byte| *byte == 0));
    }

    #[luthier_needs::needs(corpus)]
    #[test]
    fn what_fits_stays_where_it_was() {
        let old = library();
        let bundles = STARTS.map(|start| NewBundle { start, bytes: vec![1; 100].into() });
        let new = with_bundles(&old, &bundles).unwrap();
        assert!(new.len() == old.len() && new[..0x31000] == old[..0x31000] && new[0xf9526..] == old[0xf9526..]);
        assert!(new[0xd4000..0xd4064].iter().all(|byte| *byte == 1) && new[0xd4064] == 0);
    }

    #[luthier_needs::needs(corpus)]
    #[test]
    fn a_bundle_that_nothing_points_at_is_not_moved() {
        let old = library();
        let [first, second] = larger();
        // As if the second one began elsewhere: what points at it points into the first one's middle.
        let refused = with_bundles(&old, &[first, NewBundle { start: STARTS[1] + 4096, ..second }]).unwrap_err();
        assert!(matches!(&refused, LoadError::HostBinary { reason } if reason.contains("middle")), "{refused}");
    }

    #[luthier_needs::needs(corpus)]
    #[test]
    fn a_damaged_host_binary_is_an_error_and_never_a_panic() {
        let bytes = library();
        let places = (0..64).chain((64..64 + 9 * 56).step_by(3)).chain((0x110d10..bytes.len()).step_by(13));
        let refused = places.filter(|place| {
            let mut damaged = bytes.clone();
            damaged[*place] ^= 0xff;
            with_bundles(&damaged, &larger()).is_err()
        });
        assert!(refused.count() > 20);
    }
}
