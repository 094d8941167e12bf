//! The dynamic symbol table with the tools' variables in it, and everything that points at it or into it.

use object::LittleEndian;
use object::elf::{
    self, DT_GNU_HASH, DT_HASH, DT_STRSZ, DT_STRTAB, DT_SYMTAB, Dyn64, DynamicTag, Rel64, Rela64, SHT_DYNAMIC,
    SHT_GNU_HASH, SHT_HASH, SHT_REL, SHT_RELA,
};
use object::write::elf::Rel;

use super::file::{ENDIAN, File, encoder, records};
use super::segments::{HeadersSegment, NewSections};
use super::{Additions, WriteError, symbols};

/// Moves the dynamic symbol table, section number `table`, and what belongs to it into the last segment.
pub fn grow(
    file: &mut File,
    original: &[u8],
    new: &Additions,
    sections: &NewSections,
    table: usize,
    segment: &HeadersSegment,
) -> Result<(), WriteError> {
    let strings = file.sections[table].header.sh_link as usize;
    let old_strings = file.sections.get(strings).map_or(&[][..], |s| s.contents(original));
    let mut all = symbols::read(file.sections[table].contents(original), old_strings);
    all.extend(symbols::of_variables(new, sections));
    let (gnu, renumbered) = symbols::gnu_table(&mut all);
    let encoded = symbols::encode(&all, old_strings)?;
    file.sections[table].header.sh_info = encoded.locals;

    let mut tags: Vec<(DynamicTag, u64)> = Vec::new();
    segment.take(file, table, &encoded.table);
    tags.push((DT_SYMTAB, file.sections[table].header.sh_addr));
    if strings != 0 && strings < file.sections.len() {
        segment.take(file, strings, &encoded.strings);
        tags.push((DT_STRTAB, file.sections[strings].header.sh_addr));
        tags.push((DT_STRSZ, encoded.strings.len() as u64));
    }
    for (kind, tag, bytes) in [(SHT_GNU_HASH, DT_GNU_HASH, gnu), (SHT_HASH, DT_HASH, symbols::sysv_table(&all))] {
        if let Some(i) = file.find(kind) {
            segment.take(file, i, &bytes);
            tags.push((tag, file.sections[i].header.sh_addr));
        }
    }
    renumber_relocations(file, table, &renumbered);
    set_tags(file, &tags)
}

/// Dynamic relocations name symbols by index.
fn renumber_relocations(file: &mut File, table: usize, renumbered: &[u32]) {
    let new = |old: u32| renumbered.get(old as usize).copied().unwrap_or(old);
    for i in 0..file.sections.len() {
        let section = &file.sections[i];
        let header = &section.header;
        if !section.is_alloc() || header.sh_link as usize != table {
            continue;
        }
        let old = section.contents(&file.bytes);
        let mut bytes = Vec::with_capacity(old.len());
        let mut put = |rel: Rel, is_rela: bool| {
            encoder().relocation(&mut bytes, is_rela, &Rel { r_sym: new(rel.r_sym), ..rel });
        };
        if header.sh_type == SHT_RELA {
            let relas: &[Rela64<LittleEndian>] = records(old);
            relas.iter().for_each(|rela| put(Rel::from_rela(ENDIAN, rela, false), true));
        } else if header.sh_type == SHT_REL {
            let rels: &[Rel64<LittleEndian>] = records(old);
            rels.iter().for_each(|rel| put(Rel::from_rel(ENDIAN, rel), false));
        }
        let start = header.sh_offset as usize;
        if let Some(place) = file.bytes.get_mut(start..start + bytes.len()) {
            place.copy_from_slice(&bytes);
        }
    }
}

fn set_tags(file: &mut File, tags: &[(DynamicTag, u64)]) -> Result<(), WriteError> {
    let Some(i) = file.find(SHT_DYNAMIC) else { return Ok(()) };
    let section = &file.sections[i];
    let old: &[Dyn64<LittleEndian>] = records(section.contents(&file.bytes));
    let mut bytes = Vec::with_capacity(size_of_val(old));
    for entry in old {
        let tag = entry.d_tag.get(ENDIAN);
        let new = tags.iter().find(|(t, _)| *t == tag && tag != elf::DT_NULL);
        encoder().dynamic(&mut bytes, tag, new.map_or(entry.d_val.get(ENDIAN), |(_, value)| *value))?;
    }
    let start = section.header.sh_offset as usize;
    if let Some(place) = file.bytes.get_mut(start..start + bytes.len()) {
        place.copy_from_slice(&bytes);
    }
    Ok(())
}
