//! What no segment loads: copied, but for the symbol table, which is rebuilt; and the maps of origins and of
//! hooks.

use object::elf::{SHF_COMPRESSED, SHT_PROGBITS, SHT_STRTAB, SHT_SYMTAB, STB_LOCAL, STT_FUNC, SectionFlags};

use super::file::{File, Section, encoder};
use super::segments::NewSections;
use super::symbols::{self, Symbol};
use super::{Additions, HOOKS_SECTION, ORIGIN_SECTION, WriteError};

pub fn sections(file: &mut File, original: &[u8], new: &Additions, sections: &NewSections) -> Result<(), WriteError> {
    let table = file.find(SHT_SYMTAB).unwrap_or_else(|| add_symbol_table(file));
    let strings = file.sections[table].header.sh_link as usize;
    for debug in &new.debug {
        let known = file.sections.iter().position(|s| s.name == debug.name.as_bytes());
        let at = known.unwrap_or_else(|| file.add_section(Section::new(debug.name, SHT_PROGBITS, 1)));
        let flags = file.sections[at].header.sh_flags;
        file.sections[at].header.sh_flags = SectionFlags(flags.0 & !SHF_COMPRESSED.0);
        file.append_unloaded(at, &debug.bytes);
    }
    for i in 0..file.sections.len() {
        let section = &file.sections[i];
        if !section.placed && i != table && i != strings && section.name != b".shstrtab" {
            file.append_unloaded(i, section.contents(original));
        }
    }
    maps(file, new);
    let old_strings = file.sections.get(strings).map_or(&[][..], |s| s.contents(original));
    let mut all = symbols::read(file.sections[table].contents(original), old_strings);
    let globals = all.iter().position(|s| !s.is_local()).unwrap_or(all.len());
    all.splice(globals..globals, of_code(new, sections));
    all.extend(symbols::of_variables(new, sections));
    let encoded = symbols::encode(&all, old_strings)?;
    file.sections[table].header.sh_info = encoded.locals;
    file.append_unloaded(table, &encoded.table);
    if strings < file.sections.len() {
        file.append_unloaded(strings, &encoded.strings);
    }
    Ok(())
}

/// Where the new code came from, and which of it is hooks.
pub fn maps(file: &mut File, new: &Additions) {
    let origin = file.add_section(Section::new(ORIGIN_SECTION, SHT_PROGBITS, 8));
    file.append_unloaded(origin, &new.origin);
    let hooks = file.add_section(Section::new(HOOKS_SECTION, SHT_PROGBITS, 8));
    file.append_unloaded(hooks, &new.hooks);
}

/// The new functions, as the symbol table has them.
pub fn of_code<'a>(new: &'a Additions, sections: &NewSections) -> impl Iterator<Item = Symbol<'a>> {
    let text = sections.text;
    new.code_symbols.iter().map(move |s| Symbol::new(&s.name, STB_LOCAL, STT_FUNC, text, s.vaddr, s.size))
}

/// `.symtab` and `.strtab` for an object that was stripped of them. Returns the former's number.
pub fn add_symbol_table(file: &mut File) -> usize {
    let strings = file.add_section(Section::new(".strtab", SHT_STRTAB, 1));
    let mut table = Section::new(".symtab", SHT_SYMTAB, 8);
    table.header.sh_entsize = encoder().sym_size();
    table.header.sh_link = strings as u32;
    file.add_section(table)
}
