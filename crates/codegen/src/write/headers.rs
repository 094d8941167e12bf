//! The last loaded segment.

use object::elf::{PT_NOTE, PT_NULL, SHT_DYNSYM, SHT_NOTE};

use super::file::File;
use super::segments::{HeadersSegment, NewSections};
use super::{Additions, WriteError, dynamic};

/// Program headers and the tables that have grown.
pub fn add(
    file: &mut File,
    original: &[u8],
    new: &Additions,
    sections: &NewSections,
    note: Option<&[u8]>,
) -> Result<(), WriteError> {
    let count = file.phdrs.len() + 1; // this segment's own entry included
    let segment = HeadersSegment::begin(file, count);
    let loaded_note = file.sections.iter().position(|s| s.header.sh_type == SHT_NOTE && s.is_alloc());
    if let (Some(note), Some(i)) = (note, loaded_note) {
        let old = file.sections[i].header.sh_addr;
        segment.take(file, i, note);
        let header = file.sections[i].header.clone();
        for p in file.phdrs.iter_mut().filter(|p| p.p_type == PT_NOTE) {
            if p.p_vaddr == old {
                (p.p_offset, p.p_vaddr, p.p_paddr) = (header.sh_offset, header.sh_addr, header.sh_addr);
                (p.p_filesz, p.p_memsz) = (header.sh_size, header.sh_size);
            } else {
                // Its notes are in the new section, too; readers shall not find the old ones.
                p.p_type = PT_NULL;
            }
        }
    }
    if let (Some(table), false) = (file.find(SHT_DYNSYM), new.variables.is_empty()) {
        dynamic::grow(file, original, new, sections, table, &segment)?;
    }

    segment.close(file, count)
}
