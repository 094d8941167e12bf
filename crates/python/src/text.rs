//! Annotated assembly text.

use std::fmt::Write;

use luthier_lifter::{BlockId, ExecStates, FuncId, Line, Liveness, LoopForest, Program};
use luthier_loader::SourceMap;

use crate::program::{PyRegister, on_one_line};

/// One function: the lifter's listing, with the predecessors, loops, state of EXEC and live registers of each block, and the
/// source line in front of the instructions that it stands for.
pub fn function(program: &Program, id: FuncId, lines: Option<&SourceMap>) -> String {
    let liveness = Liveness::of(program, id);
    let (loops, exec) = (LoopForest::of(program, id), ExecStates::of(program, id));
    let note_state = |block: BlockId, out: &mut String| {
        if let Some(number) = loops.of_block(block) {
            let head = if loops.get(number).header == block { "head of " } else { "" };
            let _ = write!(out, " ; {head}loop {} depth {}", number.0, loops.depth(block));
        }
        if let Some(state) = exec.points(block).first() {
            let _ = write!(out, " ; exec {}", state.name());
        }
    };
    let mut out = String::new();
    let mut source = Vec::new();
    for line in program.listing(id) {
        if let (Line::Instruction { vaddr, .. }, Some(lines)) = (&line, lines) {
            let frames = lines.frames(*vaddr);
            if frames != source {
                source = frames;
                let text = if source.is_empty() { "no source line".to_owned() } else { on_one_line(&source) };
                let _ = writeln!(out, "; {text}");
            }
        }
        let _ = write!(out, "{line}");
        // A function none of whose code can be decoded has no first block.
        if let Line::Function { .. } = line
            && !program.function(id).blocks.is_empty()
        {
            note_state(program.function(id).entry, &mut out);
        }
        if let Line::Label { block, .. } = line {
            let from: Vec<String> = program.preds(block).iter().map(|&p| program.label(p).to_string()).collect();
            if !from.is_empty() {
                let _ = write!(out, " ; from {}", from.join(" "));
            }
            note_state(block, &mut out);
            let live = PyRegister::all_of(&liveness.live_in(block));
            let _ = write!(out, " ; live {}", live.iter().map(PyRegister::name).collect::<Vec<_>>().join(" "));
        }
        out.push('\n');
    }
    out
}
