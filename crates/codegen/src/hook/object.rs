//! The object file that LLVM emits for a part: its instructions and its relocations.

use goblin::elf::Elf;
use luthier_isa::{Flags, Inst, Target};

use super::lower::entry::ENTRY;
use crate::{RelocKind, TemplateReloc};

/// A part's code, before its registers are looked at.
pub struct Code {
    pub insts: Vec<Inst>,
    /// The byte offset of each instruction.
    pub offsets: Vec<u32>,
    pub relocs: Vec<TemplateReloc>,
    pub scratch_bytes: u32,
}

/// Takes the part out of the object. `symbol` gives the symbol and the offset that an IR name stands for. An error is a
/// sentence about the hook.
pub fn read(bytes: &[u8], target: Target, symbol: impl Fn(&str) -> (String, i64)) -> Result<Code, String> {
    let elf = Elf::parse(bytes).map_err(|e| format!("LLVM's object cannot be read: {e}"))?;
    let entry = elf.syms.iter().find(|s| elf.strtab.get_at(s.st_name) == Some(ENTRY));
    let entry = entry.ok_or("LLVM's object has no code")?;
    let section = elf.section_headers.get(entry.st_shndx).ok_or("LLVM's object has no code section")?;
    let start = section.sh_offset.checked_add(entry.st_value).ok_or("LLVM's object is malformed")? as usize;
    let text = start.checked_add(entry.st_size as usize).and_then(|end| bytes.get(start..end));
    let text = text.ok_or("LLVM's object is cut off")?;
    let (insts, offsets) = decode(text, target)?;

    let mut relocs = Vec::new();
    for (_, list) in elf.shdr_relocs.iter().filter(|(i, _)| applies_to(&elf, *i, entry.st_shndx)) {
        for reloc in list.iter() {
            let Some(at) = reloc.r_offset.checked_sub(entry.st_value).filter(|at| *at < entry.st_size) else {
                continue;
            };
            let target = elf.syms.get(reloc.r_sym).ok_or("a relocation names no symbol")?;
            let name = elf.strtab.get_at(target.st_name).unwrap_or_default();
            if target.st_shndx != 0 {
                return Err("the hook needs a table of constants in memory, which a template does not carry".to_owned());
            }
            let kind = match reloc.r_type {
                1 | 6 => RelocKind::Abs32Lo,
                2 => RelocKind::Abs32Hi,
                4 | 10 => RelocKind::Rel32Lo,
                11 => RelocKind::Rel32Hi,
                other => return Err(format!("relocation type {other} against {name} has no place in a template")),
            };
            let at = at as usize;
            let inst = offsets.partition_point(|o| *o as usize <= at) - 1;
            if offsets[inst] as usize + insts[inst].size() != at + 4 {
                return Err(format!("the relocation against {name} is not in an instruction's literal"));
            }
            let stored = text.get(at..at + 4).map(|w| i32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            let addend = reloc.r_addend.or(stored.map(i64::from)).unwrap_or(0);
            let (symbol, offset) = symbol(name);
            relocs.push(TemplateReloc { inst, symbol, kind, addend: addend + offset });
        }
    }
    relocs.sort_by_key(|r| r.inst);
    Ok(Code { insts, offsets, relocs, scratch_bytes: scratch_bytes(&elf, bytes) })
}

fn applies_to(elf: &Elf<'_>, relocs: usize, section: usize) -> bool {
    elf.section_headers.get(relocs).is_some_and(|h| h.sh_info as usize == section)
}

fn decode(text: &[u8], target: Target) -> Result<(Vec<Inst>, Vec<u32>), String> {
    let (mut insts, mut offsets, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let inst = Inst::decode(target, &text[at..]).map_err(|e| format!("LLVM's code cannot be decoded: {e}"))?;
        let flags = inst.info().flags;
        if flags.contains(Flags::CALL) || flags.contains(Flags::INDIRECT) {
            return Err("the hook calls a function that is not part of it".to_owned());
        }
        if flags.contains(Flags::END) {
            return Err("the hook never comes to its end".to_owned());
        }
        if let Some(to) = inst.branch_target(at as u64)
            && to > text.len() as u64
        {
            return Err("the hook branches out of itself".to_owned());
        }
        offsets.push(at as u32);
        at += inst.size();
        insts.push(inst);
    }
    Ok((insts, offsets))
}

/// Scratch bytes per lane, from the register settings that LLVM leaves in `.AMDGPU.config`.
fn scratch_bytes(elf: &Elf<'_>, bytes: &[u8]) -> u32 {
    const COMPUTE_TMPRING_SIZE: u32 = 0xB860;
    let config = elf.section_headers.iter().find(|h| elf.shdr_strtab.get_at(h.sh_name) == Some(".AMDGPU.config"));
    let range = config.and_then(|h| h.file_range());
    let words: Vec<u32> = range
        .and_then(|r| bytes.get(r))
        .map(|b| b.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
        .unwrap_or_default();
    let setting = words.chunks_exact(2).find(|pair| pair[0] == COMPUTE_TMPRING_SIZE).map_or(0, |pair| pair[1]);
    // WAVESIZE counts 256 dwords of a wave of 64 lanes.
    (setting >> 12 & 0x1fff) * 256 * 4 / 64
}
