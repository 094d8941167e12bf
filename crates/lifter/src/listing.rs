//! Assembly text with what lifting knows: labels, branch targets, callees, PC-relative values.

use std::fmt;

use luthier_isa::Operand;

use crate::class::Kind;
use crate::{BlockId, FuncId, FunctionKind, InstrId, Origin, Program, Resolution, Terminator};

/// The label of a block: the function's name for its first block, `.LBB` and a number for the others.
#[derive(Clone, Copy)]
pub struct Label<'a> {
    program: &'a Program,
    block: BlockId,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = self.program.function(self.program.block(self.block).func);
        match function.entry == self.block {
            true => f.write_str(&function.name),
            false => write!(f, ".LBB{}", self.program.block_number(self.block)),
        }
    }
}

/// One line of a listing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// In front of a function.
    Function {
        name: String,
        vaddr: u64,
        kind: FunctionKind,
        refusal: Option<String>,
        /// Of an instrumented copy: where the application had it.
        copied_from: Option<u64>,
    },
    /// In front of a block.
    Label { block: BlockId, vaddr: u64, label: String },
    Instruction {
        instr: InstrId,
        vaddr: u64,
        /// Branch targets as labels.
        text: String,
        /// The encoding.
        words: Vec<u32>,
        /// Where a branch, jump or call goes, when known.
        target: Option<u64>,
        notes: Vec<String>,
        origin: Origin,
    },
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Function { name, vaddr, kind, refusal, copied_from } => {
                let kind = if *kind == FunctionKind::Kernel { "kernel" } else { "function" };
                write!(f, "{vaddr:016x} <{name}>: ; {kind}")?;
                copied_from.map_or(Ok(()), |from| write!(f, "; instrumented, original at {from:#x}"))?;
                refusal.as_ref().map_or(Ok(()), |why| write!(f, "; not instrumentable: {why}"))
            }
            Line::Label { label, .. } => write!(f, "{label}:"),
            Line::Instruction { vaddr, text, words, notes, origin, .. } => {
                f.write_str(if *origin == Origin::Inserted { "+" } else { "" })?;
                write!(f, "\t{text:<58} // {vaddr:012X}:")?;
                words.iter().try_for_each(|w| write!(f, " {w:08X}"))?;
                if let Origin::Copy(original) = origin {
                    write!(f, " ; from {original:#x}")?;
                }
                notes.iter().try_for_each(|n| write!(f, " ; {n}"))
            }
        }
    }
}

impl Program {
    pub fn label(&self, block: BlockId) -> Label<'_> {
        Label { program: self, block }
    }

    /// The annotated lines of a function.
    pub fn listing(&self, func: FuncId) -> impl Iterator<Item = Line> + '_ {
        let function = self.function(func);
        let head = Line::Function {
            name: function.name.clone(),
            vaddr: function.vaddr,
            kind: function.kind,
            refusal: function.refusal.clone(),
            copied_from: self.copied_from(func),
        };
        let body = function.blocks.iter().flat_map(move |block| {
            let label = Line::Label { block, vaddr: self.block_vaddr(block), label: self.label(block).to_string() };
            // The function's line is the label of its first block.
            let label = (block != function.entry).then_some(label);
            label.into_iter().chain(self.block(block).instrs.iter().map(move |i| self.line(block, i)))
        });
        std::iter::once(head).chain(body)
    }

    fn line(&self, block: BlockId, instr: InstrId) -> Line {
        let (inst, vaddr) = self.instr(instr);
        let last = self.block(block).instrs.last() == Some(instr);
        let target = if last { self.target_of(block, instr) } else { None };
        let mut notes = Vec::new();
        if last {
            self.note_end(block, target, &mut notes);
        }
        for value in self.pc_values_at(instr) {
            notes.push(match (value.vaddr, &value.place) {
                (Some(vaddr), Some(place)) => format!("{} = {vaddr:#x} {place}", value.pair),
                _ => format!("{} = pc, used in a way that is not followed", value.pair),
            });
        }
        if crate::upper::is_open(inst) {
            notes.push("which VGPRs are meant is not known".to_owned());
        }
        let text = match (self.kind(instr), target) {
            (Kind::Branch | Kind::CondBranch | Kind::CallDirect, Some(target)) => {
                let mnemonic = inst.info().mnemonic;
                let registers = inst.operands().filter_map(|(_, o)| match o {
                    Operand::Reg(range) => Some(format!("{range}, ")),
                    _ => None,
                });
                format!("{mnemonic} {}{}", registers.collect::<String>(), self.name_target(block, target))
            }
            _ => inst.to_string(),
        };
        Line::Instruction {
            instr,
            vaddr,
            text,
            words: inst.words().to_vec(),
            target,
            notes,
            origin: self.origin(instr),
        }
    }

    /// Where the control instruction at the end of a block goes.
    fn target_of(&self, block: BlockId, instr: InstrId) -> Option<u64> {
        match self.kind(instr) {
            Kind::Branch | Kind::CondBranch => self.inst(instr).branch_target(self.vaddr(instr)),
            Kind::CallDirect | Kind::Swappc => self.call(block)?.target,
            Kind::Setpc if self.block(block).terminator == Terminator::Jump => {
                let inside = self.succs(block).first().map(|b| self.block_vaddr(*b));
                inside.or_else(|| self.exits_of(block).first().map(|e| e.target))
            }
            _ => None,
        }
    }

    /// A label of the same function, the name of another, or an address.
    fn name_target(&self, block: BlockId, target: u64) -> String {
        let func = self.block(block).func;
        match self.instr_at(target).map(|i| (i, self.block_of(i))) {
            Some((i, b)) if self.block(b).func == func && self.block(b).instrs.first == i => self.label(b).to_string(),
            Some((_, b)) => {
                let function = self.function(self.block(b).func);
                match target.wrapping_sub(function.vaddr) {
                    0 => function.name.clone(),
                    offset => format!("{}+{offset:#x}", function.name),
                }
            }
            None => format!("{target:#x}"),
        }
    }

    fn note_end(&self, block: BlockId, target: Option<u64>, notes: &mut Vec<String>) {
        match self.block(block).terminator {
            Terminator::Call => match self.call(block).map(|c| (c.resolution, target)) {
                Some((Resolution::Unresolved, _)) | None => notes.push("call of an unknown function".to_owned()),
                Some((_, Some(target))) => notes.push(format!("call of {}", self.name_target(block, target))),
                _ => {}
            },
            Terminator::Return { proven: true } => notes.push("return".to_owned()),
            Terminator::Return { proven: false } => notes.push("return, not proven".to_owned()),
            Terminator::Jump => {
                notes.extend(target.map(|t| format!("jump to {}", self.name_target(block, t))));
            }
            Terminator::UnknownJump => notes.push("jump to an unknown address".to_owned()),
            Terminator::OffEnd => notes.push("the function does not end here".to_owned()),
            Terminator::Unsupported => notes.push("control flow that is not followed".to_owned()),
            _ => {}
        }
    }
}
