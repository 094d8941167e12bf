//! The object file that LLVM emits for a part: its instructions and its relocations.

use gimli::{AttributeValue, ColumnType, DebugLine, DebugLineOffset, EndianSlice, LittleEndian};
use goblin::elf::Elf;
use luthier_isa::{Flags, Inst, Mode};
use luthier_loader::HookLine;

use super::{
    code::{self, Code},
    constants::Constants,
    lower::entry::ENTRY,
    processor, scratch_base, stack,
};
use crate::template::{RelocTarget, TemplateReloc};

/// Why there is no part; a sentence about the hook.
pub enum Unreadable {
    /// It has an instruction that the processor has not.
    Instruction(String),
    Said(String),
}

impl From<String> for Unreadable {
    fn from(said: String) -> Unreadable {
        Unreadable::Said(said)
    }
}

impl From<&str> for Unreadable {
    fn from(said: &str) -> Unreadable {
        Unreadable::Said(said.to_owned())
    }
}

/// Takes the part out of the object. `lines` are those of its debug information, `refers` tells what a name in the IR
/// stands for, and the offset in it. An error is a sentence about the hook.
pub fn read(
    bytes: &[u8],
    mode: Mode,
    lines: Vec<HookLine>,
    refers: impl Fn(&str) -> (RelocTarget, i64),
) -> Result<Code, Unreadable> {
    let elf = Elf::parse(bytes).map_err(|e| format!("LLVM's object cannot be read: {e}"))?;
    let entry = elf.syms.iter().find(|s| elf.strtab.get_at(s.st_name) == Some(ENTRY));
    let entry = entry.ok_or("LLVM's object has no code")?;
    let section = elf.section_headers.get(entry.st_shndx).ok_or("LLVM's object has no code section")?;
    let start = section.sh_offset.checked_add(entry.st_value).ok_or("LLVM's object is malformed")? as usize;
    let text = start.checked_add(entry.st_size as usize).and_then(|end| bytes.get(start..end));
    let text = text.ok_or("LLVM's object is cut off")?;
    if needs_scratch(&elf, bytes) {
        return Err(Unreadable::Said(
            "the hook needs more registers than there are: LLVM would keep some of them in scratch, which a hook cannot"
                .to_owned(),
        ));
    }
    let (insts, offsets) = decode(text, mode)?;

    let mut relocs = Vec::new();
    let mut constants = Constants::new(&elf, bytes);
    for (_, list) in elf.shdr_relocs.iter().filter(|(i, _)| applies_to(&elf, *i, entry.st_shndx)) {
        for reloc in list.iter() {
            let Some(at) = reloc.r_offset.checked_sub(entry.st_value).filter(|at| *at < entry.st_size) else {
                continue;
            };
            let symbol = elf.syms.get(reloc.r_sym).ok_or("a relocation names no symbol")?;
            let name = elf.strtab.get_at(symbol.st_name).unwrap_or_default();
            let (kind, size) = code::kind(reloc.r_type)
                .ok_or_else(|| format!("relocation type {} against {name} has no place in a template", reloc.r_type))?;
            let at = at as usize;
            let inst = offsets.partition_point(|o| *o as usize <= at) - 1;
            if offsets[inst] as usize + insts[inst].size() != at + size {
                return Err(format!("the relocation against {name} is not in an instruction's literal").into());
            }
            let stored = text.get(at..at + 4).map(|w| i32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            let addend = reloc.r_addend.or(stored.map(i64::from)).unwrap_or(0);
            let (target, offset) = match symbol.st_shndx {
                0 => refers(name),
                section => (RelocTarget::Symbol(constants.take(section)?), symbol.st_value as i64),
            };
            relocs.push(TemplateReloc { inst, target, kind, addend: addend + offset });
        }
    }
    relocs.sort_by_key(|r| r.inst);
    let (rows, lines) = match lines.is_empty() {
        true => own_rows(&elf, bytes, entry.st_value, &offsets),
        false => (rows(&elf, bytes, entry.st_value, &offsets), lines),
    };
    let data = constants.finish()?;
    let mut code = Code { insts, offsets, relocs, data, stack: stack_size(&elf, bytes), rows, lines };
    if code.insts.first().is_some_and(processor::begins_wave) {
        code.drop_first();
    }
    if code.stack > 0 {
        scratch_base::leave_as_it_is(&mut code)?;
    }
    Ok(code)
}

/// What [`stack::lower`] has noted.
fn stack_size(elf: &Elf<'_>, bytes: &[u8]) -> u32 {
    let section = elf.section_headers.iter().find(|h| elf.shdr_strtab.get_at(h.sh_name) == Some(stack::SECTION));
    let noted = section.and_then(|h| bytes.get(h.file_range()?)?.first_chunk().copied());
    noted.map_or(0, u32::from_le_bytes)
}

fn applies_to(elf: &Elf<'_>, relocs: usize, section: usize) -> bool {
    elf.section_headers.get(relocs).is_some_and(|h| h.sh_info as usize == section)
}

fn decode(text: &[u8], mode: Mode) -> Result<(Vec<Inst>, Vec<u32>), Unreadable> {
    let (mut insts, mut offsets, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let inst = Inst::decode(mode, &text[at..])
            .map_err(|e| Unreadable::Instruction(format!("LLVM's code cannot be decoded: {e}")))?;
        let flags = inst.info().flags;
        if flags.contains(Flags::CALL) || flags.contains(Flags::INDIRECT) {
            return Err("the hook calls a function that is not part of it".into());
        }
        if flags.contains(Flags::END) {
            return Err("the hook never comes to its end".into());
        }
        if let Some(to) = inst.branch_target(at as u64)
            && to > text.len() as u64
        {
            return Err("the hook branches out of itself".into());
        }
        offsets.push(at as u32);
        at += inst.size();
        insts.push(inst);
    }
    Ok((insts, offsets))
}

/// The number of the line of the instruction at each offset behind `start`. The line table's only relocation is that of
/// its first address, which is the section's.
fn rows(elf: &Elf<'_>, bytes: &[u8], start: u64, offsets: &[u32]) -> Vec<u32> {
    let section = elf.section_headers.iter().find(|h| elf.shdr_strtab.get_at(h.sh_name) == Some(".debug_line"));
    let table = section.and_then(|h| h.file_range()).and_then(|range| bytes.get(range)).unwrap_or_default();
    let mut found: Vec<(u64, u32)> = Vec::new();
    if let Ok(program) = DebugLine::new(table, LittleEndian).program(DebugLineOffset(0), 8, None, None) {
        let mut rows = program.rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            let number = row.line().map_or(0, |line| line.get() as u32);
            found.push((row.address().wrapping_sub(start), if row.end_sequence() { 0 } else { number }));
        }
    }
    let number = |offset: &u32| {
        let after = found.partition_point(|row| row.0 <= u64::from(*offset));
        after.checked_sub(1).map_or(0, |at| found[at].1)
    };
    offsets.iter().map(number).collect()
}

/// The same of debug information that names places itself: they are numbered here.
fn own_rows(elf: &Elf<'_>, bytes: &[u8], start: u64, offsets: &[u32]) -> (Vec<u32>, Vec<HookLine>) {
    let section = elf.section_headers.iter().find(|h| elf.shdr_strtab.get_at(h.sh_name) == Some(".debug_line"));
    let table = section.and_then(|h| h.file_range()).and_then(|range| bytes.get(range)).unwrap_or_default();
    let (mut found, mut lines): (Vec<(u64, u32)>, Vec<HookLine>) = (Vec::new(), Vec::new());
    if let Ok(program) = DebugLine::new(table, LittleEndian).program(DebugLineOffset(0), 8, None, None) {
        let mut rows = program.rows();
        while let Ok(Some((header, row))) = rows.next_row() {
            let line = row.line().filter(|_| !row.end_sequence()).and_then(|line| {
                let entry = row.file(header)?;
                let text = |value: AttributeValue<EndianSlice<'_, LittleEndian>>| match value {
                    AttributeValue::String(text) => Some(String::from_utf8_lossy(text.slice()).into_owned()),
                    _ => None,
                };
                let name = text(entry.path_name())?;
                let column = match row.column() {
                    ColumnType::LeftEdge => 0,
                    ColumnType::Column(column) => column.get() as u32,
                };
                // What no folder is named of is as it was given to the compiler. A text is in no folder.
                let folder = entry.directory(header).filter(|_| entry.directory_index() != 0 && !name.starts_with('<'));
                let folder = folder.and_then(text);
                let file = folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"));
                Some(HookLine { function: String::new(), file, line: line.get() as u32, column })
            });
            let number = line.map_or(0, |line| {
                let known = lines.iter().position(|other| *other == line).unwrap_or_else(|| {
                    lines.push(line);
                    lines.len() - 1
                });
                known as u32 + 1
            });
            found.push((row.address().wrapping_sub(start), number));
        }
    }
    let number = |offset: &u32| {
        let after = found.partition_point(|row| row.0 <= u64::from(*offset));
        after.checked_sub(1).map_or(0, |at| found[at].1)
    };
    (offsets.iter().map(number).collect(), lines)
}

/// Whether lanes need scratch memory, by the register settings that LLVM leaves in `.AMDGPU.config`.
fn needs_scratch(elf: &Elf<'_>, bytes: &[u8]) -> bool {
    const COMPUTE_TMPRING_SIZE: u32 = 0xB860;
    let config = elf.section_headers.iter().find(|h| elf.shdr_strtab.get_at(h.sh_name) == Some(".AMDGPU.config"));
    let range = config.and_then(|h| h.file_range());
    let words: Vec<u32> = range
        .and_then(|r| bytes.get(r))
        .map(|b| b.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
        .unwrap_or_default();
    let setting = words.chunks_exact(2).find(|pair| pair[0] == COMPUTE_TMPRING_SIZE).map_or(0, |pair| pair[1]);
    // WAVESIZE is all above the number of waves.
    setting >> 12 != 0
}
