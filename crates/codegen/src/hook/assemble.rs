//! Instructions that are given as assembly text: LLVM's assembler reads them, in this process.

use goblin::elf::Elf;
use inkwell::{
    OptimizationLevel,
    context::Context,
    targets::{CodeModel, FileType, RelocMode, Target as LlvmTarget, TargetTriple},
};
use luthier_isa::{Generation, Inst, Mode};

use super::{
    llvm::{self, TRIPLE},
    processor,
};

/// The instructions of a text in LLVM's syntax, one a line; `;` begins a comment.
///
/// # Errors
/// A sentence about the text: LLVM cannot read it, it refers to symbols, or there is something other than instructions
/// in it.
pub fn assemble(mode: Mode, text: &str) -> Result<Vec<Inst>, String> {
    if let Some(odd) = text.chars().find(|c| c.is_control() && !c.is_whitespace()) {
        return Err(format!("the text has the character {:#x} in it", u32::from(odd)));
    }
    let source = text.to_owned();
    let object = llvm::run(move || object(mode, &source)).map_err(|reason| tidy(&reason))?;
    let elf = Elf::parse(&object).map_err(|e| format!("LLVM's object cannot be read: {e}"))?;
    if elf.shdr_relocs.iter().any(|(_, list)| !list.is_empty()) {
        return Err("it refers to a symbol, whose address nothing fills in".to_owned());
    }
    let mut code: &[u8] = &[];
    for section in elf.section_headers.iter().filter(|s| s.is_alloc() && s.sh_size > 0) {
        if elf.shdr_strtab.get_at(section.sh_name) != Some(".text") {
            return Err("it has something in a section of its own: only instructions can be inserted".to_owned());
        }
        code = section.file_range().and_then(|range| object.get(range)).ok_or("LLVM's object is cut off")?;
    }
    let (mut insts, mut at) = (Vec::new(), 0);
    while at < code.len() {
        let inst = Inst::decode(mode, &code[at..]).map_err(|e| format!("byte {at} of it is no instruction: {e}"))?;
        at += inst.size();
        insts.push(inst);
    }
    if insts.is_empty() {
        return Err("there is no instruction in it".to_owned());
    }
    Ok(insts)
}

fn object(mode: Mode, text: &str) -> Result<Vec<u8>, String> {
    let triple = TargetTriple::create(TRIPLE);
    let target = LlvmTarget::from_triple(&triple).map_err(|e| e.to_string())?;
    let halves = match mode.target().generation() {
        Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250 => ",+real-true16",
        _ => "",
    };
    let (name, features) = (mode.target().name(), processor::features(mode) + halves);
    let machine = target
        .create_target_machine(&triple, name, &features, OptimizationLevel::None, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| format!("LLVM has no target machine for {name}"))?;
    let cx = Context::create();
    llvm::stop_at_errors(&cx);
    let module = cx.create_module("assembly");
    module.set_triple(&triple);
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module.set_inline_assembly(text);
    let object = machine.write_to_memory_buffer(&module, FileType::Object).map_err(|e| e.to_string())?;
    Ok(object.as_slice().to_vec())
}

/// LLVM's own words: without the name that it gives the text, and without the picture of the line.
fn tidy(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    let line = line.strip_prefix("LLVM cannot compile it: ").unwrap_or(line);
    let line = line.strip_prefix("<inline asm>:").map_or_else(|| line.to_owned(), |rest| format!("line {rest}"));
    line.replace(" error: ", " ")
}

#[cfg(test)]
mod tests {
    use luthier_isa::{Mode, Target, Wave};

    use super::assemble;

    fn text(target: Target, wave: Wave, source: &str) -> Result<Vec<String>, String> {
        Ok(assemble(Mode::new(target, wave).unwrap(), source)?.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lines_become_instructions_of_the_processor() {
        let gfx9 = text(Target::Gfx90a, Wave::W64, "s_nop 0\nv_add_u32 v1, v2, v3\ns_mov_b32 s4, 0x12345678");
        assert_eq!(gfx9.unwrap(), ["s_nop 0", "v_add_u32_e32 v1, v2, v3", "s_mov_b32 s4, 0x12345678"]);
        let halves = text(Target::Gfx1100, Wave::W32, "v_mov_b16 v1.h, v2.l");
        assert_eq!(halves.unwrap().len(), 1);
        assert!(text(Target::Gfx1100, Wave::W32, "v_cmp_eq_u32_e64 s5, v0, v1").is_ok());
        assert!(text(Target::Gfx1100, Wave::W64, "v_cmp_eq_u32_e64 s5, v0, v1").is_err());
    }

    #[test]
    fn what_is_no_instruction_is_refused_in_one_line() {
        let cases = [
            ("s_nop 0\nv_nonsense v1", "line 2:"),
            ("v_mov_b32 v1", "too few operands"),
            ("", "no instruction"),
            (".data\n.long 4", "section of its own"),
            ("s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, outside@rel32@lo+4", "refers to a symbol"),
            ("s_nop 0\u{7}", "character 0x7"),
        ];
        for (source, part) in cases {
            let reason = text(Target::Gfx90a, Wave::W64, source).unwrap_err();
            assert!(reason.contains(part) && !reason.contains('\n'), "{source:?}: {reason}");
        }
    }
}
