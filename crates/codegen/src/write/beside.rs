//! An object that is loaded beside the original: the copies, the descriptors that lead to them, and what is known of both.
//!
//! Whatever the copies need of the original, they have its address ([`Plan::beside`](crate::Plan::beside)); nothing in
//! them is a distance from where they are to where the original is. So nothing of the original is in the file, which is
//! as large as the kernels in it and not as the object that they come from.

use object::elf::{
    PF_R, PT_NOTE, SHF_ALLOC, SHT_DYNSYM, SHT_NOTE, SHT_PROGBITS, SHT_STRTAB, STB_GLOBAL, STT_OBJECT, STV_PROTECTED,
    SymbolOther,
};
use object::write::elf::ProgramHeader;

use luthier_loader::{CodeObject, Kernel, KernelDescriptor};

use super::file::{File, Section, encoder};
use super::segments::{self, HeadersSegment, NewSections};
use super::symbols::{self, Symbol};
use super::{Additions, WriteError, note, unloaded};

/// Bytes of a kernel descriptor.
const DESCRIPTOR: usize = 64;

pub fn write(object: &CodeObject, new: &Additions) -> Result<Vec<u8>, WriteError> {
    let mut file = File::bare(object.bytes())?;
    let size = file.bytes.len() as u64;
    file.add_load(PF_R, 0, 0, size, size);
    let sections = segments::code_and_data(&mut file, new);
    let kernels: Vec<(&Kernel, KernelDescriptor)> = object
        .kernels()
        .iter()
        .filter_map(|kernel| {
            let (_, bytes) = new.patches.iter().find(|(vaddr, _)| *vaddr == kernel.descriptor_vaddr)?;
            Some((kernel, KernelDescriptor::from_bytes(bytes.as_slice().try_into().ok()?)))
        })
        .collect();
    let names: Vec<String> = kernels.iter().map(|(kernel, _)| format!("{}.kd", kernel.name)).collect();

    // Its own program header, and that of the note.
    let count = file.phdrs.len() + 2;
    let segment = HeadersSegment::begin(&mut file, count);
    let rodata = place_descriptors(&mut file, &segment, &kernels);
    let descriptors: Vec<Symbol> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let at = file.sections[rodata].header.sh_addr + (n * DESCRIPTOR) as u64;
            let mut symbol = Symbol::new(name, STB_GLOBAL, STT_OBJECT, rodata, at, DESCRIPTOR as u64);
            symbol.entry.st_other = SymbolOther(STV_PROTECTED.0);
            symbol
        })
        .collect();
    dynamic_symbols(&mut file, &segment, &descriptors)?;
    place_notes(&mut file, &segment, object, new, &kernels);
    segment.close(&mut file, count)?;

    debug(&mut file, object, new)?;
    unloaded::maps(&mut file, new);
    all_symbols(&mut file, new, &sections, descriptors)?;
    file.finish()
}

fn loaded(file: &mut File, segment: &HeadersSegment, mut section: Section, bytes: &[u8]) -> usize {
    section.header.sh_flags = SHF_ALLOC;
    let at = file.add_section(section);
    segment.take(file, at, bytes);
    at
}

/// The kernels' descriptors, each with the distance from its new place to its code.
fn place_descriptors(file: &mut File, segment: &HeadersSegment, kernels: &[(&Kernel, KernelDescriptor)]) -> usize {
    let section = Section::new(".rodata", SHT_PROGBITS, DESCRIPTOR as u64);
    let rodata = loaded(file, segment, section, &vec![0; kernels.len() * DESCRIPTOR]);
    let (start, vaddr) = (file.sections[rodata].header.sh_offset as usize, file.sections[rodata].header.sh_addr);
    for (n, (kernel, descriptor)) in kernels.iter().enumerate() {
        let (mut descriptor, at) = (*descriptor, vaddr + (n * DESCRIPTOR) as u64);
        let entry = kernel.descriptor_vaddr.wrapping_add_signed(descriptor.kernel_code_entry_byte_offset());
        descriptor.set_kernel_code_entry_byte_offset(entry.wrapping_sub(at) as i64);
        file.bytes[start + n * DESCRIPTOR..][..DESCRIPTOR].copy_from_slice(descriptor.as_bytes());
    }
    rodata
}

fn dynamic_symbols(file: &mut File, segment: &HeadersSegment, descriptors: &[Symbol]) -> Result<(), WriteError> {
    let mut all = vec![Symbol::null()];
    all.extend_from_slice(descriptors);
    let encoded = symbols::encode(&all, &[])?;
    let strings = loaded(file, segment, Section::new(".dynstr", SHT_STRTAB, 1), &encoded.strings);
    let mut table = Section::new(".dynsym", SHT_DYNSYM, 8);
    table.header.sh_entsize = encoder().sym_size();
    (table.header.sh_link, table.header.sh_info) = (strings as u32, encoded.locals);
    loaded(file, segment, table, &encoded.table);
    Ok(())
}

/// The original's notes; their metadata tell only of these kernels.
fn place_notes(
    file: &mut File,
    segment: &HeadersSegment,
    object: &CodeObject,
    new: &Additions,
    kernels: &[(&Kernel, KernelDescriptor)],
) {
    let mut bytes = Vec::new();
    if let Some(mut metadata) = new.metadata.as_ref().or(object.metadata()).cloned() {
        metadata.kernels.retain(|noted| kernels.iter().any(|(kernel, _)| kernel.name == noted.name));
        bytes = note::section(object, &metadata);
    }
    let at = loaded(file, segment, Section::new(".note", SHT_NOTE, 4), &bytes);
    let header = &file.sections[at].header;
    let (offset, vaddr, size) = (header.sh_offset, header.sh_addr, header.sh_size);
    file.phdrs.push(ProgramHeader {
        p_type: PT_NOTE,
        p_flags: PF_R,
        p_offset: offset,
        p_vaddr: vaddr,
        p_paddr: vaddr,
        p_filesz: size,
        p_memsz: size,
        p_align: 4,
    });
}

/// Debug information, where there is any: the original's, with the copies' lines in it.
fn debug(file: &mut File, object: &CodeObject, new: &Additions) -> Result<(), WriteError> {
    if new.debug.is_empty() {
        return Ok(());
    }
    let original: &[u8] = object.bytes();
    for section in File::start(original, 0)?.sections {
        if section.name.starts_with(b".debug_") && new.debug.iter().all(|d| d.name.as_bytes() != section.name) {
            let at = file.add_section(section.clone());
            file.append_unloaded(at, section.contents(original));
        }
    }
    for changed in &new.debug {
        let at = file.add_section(Section::new(changed.name, SHT_PROGBITS, 1));
        file.append_unloaded(at, &changed.bytes);
    }
    Ok(())
}

fn all_symbols(
    file: &mut File,
    new: &Additions,
    sections: &NewSections,
    descriptors: Vec<Symbol>,
) -> Result<(), WriteError> {
    let table = unloaded::add_symbol_table(file);
    let strings = file.sections[table].header.sh_link as usize;
    let mut all = vec![Symbol::null()];
    all.extend(unloaded::of_code(new, sections));
    all.extend(descriptors);
    let encoded = symbols::encode(&all, &[])?;
    file.sections[table].header.sh_info = encoded.locals;
    file.append_unloaded(table, &encoded.table);
    file.append_unloaded(strings, &encoded.strings);
    Ok(())
}
