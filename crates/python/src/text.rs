//! Annotated assembly text.

use std::fmt::Write;

use luthier_isa::{Reg, RegRange, RegSet};
use luthier_lifter::{BlockId, FuncId, FunctionKind, Program, Terminator};

/// Registers by name, neighbours joined: `s[4:7]`, `v0`, `vcc_lo`.
pub fn registers(set: &RegSet) -> Vec<String> {
    let mut names = Vec::new();
    let mut run: Option<(Reg, u16)> = None;
    let same_file =
        |a: Reg, b: Reg| (a.is_sgpr() && b.is_sgpr()) || (a.is_vgpr() && b.is_vgpr()) || (a.is_agpr() && b.is_agpr());
    let mut close = |run: Option<(Reg, u16)>| {
        if let Some((first, count)) = run {
            names.push(match u8::try_from(count) {
                Ok(count) => RegRange::new(first, count).to_string(),
                Err(_) => format!("{first} and the {} after it", count - 1),
            });
        }
    };
    for reg in set.iter() {
        run = match run {
            Some((first, count)) if same_file(first, reg) && first.index() + usize::from(count) == reg.index() => {
                Some((first, count + 1))
            }
            other => {
                close(other);
                Some((reg, 1))
            }
        };
    }
    close(run);
    names
}

/// One function: a heading, and each block with where it comes from, its instructions, and where it goes.
pub fn function(program: &Program, id: FuncId) -> String {
    let function = program.function(id);
    let mut out = String::new();
    let kind = match function.kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Device => "function",
    };
    let _ = writeln!(out, "{kind} {} ({:#x}, {} bytes)", function.name, function.vaddr, function.size);
    if let Some(reason) = &function.refusal {
        let _ = writeln!(out, "; cannot be instrumented: {reason}");
    }
    for block in function.blocks.iter() {
        self::block(&mut out, program, id, block);
    }
    out
}

fn block(out: &mut String, program: &Program, func: FuncId, id: BlockId) {
    let label = |id: BlockId| {
        let owner = program.block(id).func;
        let number = program.block_number(id);
        if owner == func { format!(".{number}") } else { format!("{}.{number}", program.function(owner).name) }
    };
    let from: Vec<String> = program.preds(id).iter().map(|&p| label(p)).collect();
    let from = if from.is_empty() { String::new() } else { format!("  ; from {}", from.join(" ")) };
    let _ = writeln!(out, "{}:{from}", label(id));
    let block = program.block(id);
    for instr in block.instrs.iter() {
        let (inst, address) = program.instr(instr);
        let mut note = String::new();
        if let Some(target) = inst.branch_target(address) {
            let place = program.succs(id).iter().find(|&&s| program.block_vaddr(s) == target).map(|&s| label(s));
            let place = place.or_else(|| program.function_at(target).map(|f| program.function(f).name.clone()));
            note = format!("-> {}", place.unwrap_or_else(|| format!("{target:#x}")));
        } else if block.terminator == Terminator::Call && block.instrs.last() == Some(instr) {
            let callee = program.call(id).and_then(|c| c.callee).map(|f| program.function(f).name.as_str());
            note = format!("-> {}", callee.unwrap_or("not known"));
        }
        let text = inst.to_string();
        let words: String = inst.words().iter().map(|w| format!(" {w:08x}")).collect();
        let _ = writeln!(out, "  {address:#08x}  {text:<52} ;{words}{}{note}", if note.is_empty() { "" } else { "  " });
    }
}
