//! One function as MIR: its blocks, their successors and live-ins, their instructions.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use luthier_isa::{Reg, RegRange, RegSet};

use super::instruction::{Machine, Symbolic, machine};
use super::{Span, registers, symbols};
use crate::class::Kind;
use crate::{BlockId, FuncId, FunctionKind, InstrId, Liveness, Program, Terminator};

/// The text of a function's body and where its instructions are in it.
pub(super) struct Body {
    pub text: String,
    pub spans: Vec<Span>,
    /// Every global that it names, as in LLVM's text.
    pub globals: BTreeSet<String>,
    /// See [`super::Mir::normalized`].
    pub normalized: Vec<InstrId>,
}

/// # Errors
/// Why MIR cannot say the function.
pub(super) fn body(program: &Program, func: FuncId) -> Result<Body, String> {
    layout_is_plain(program, func)?;
    let mut body = Body { text: String::new(), spans: Vec::new(), globals: BTreeSet::new(), normalized: Vec::new() };
    let used: RegSet = program.used_registers(func).iter().filter(|reg| registers::is_followed(*reg)).collect();
    let emitter = Emitter { program, live: Liveness::of(program, func), used, symbols: symbols::of(program, func) };
    for block in program.function(func).blocks.iter() {
        emitter.block(block, &mut body)?;
    }
    Ok(body)
}

/// MIR has no bytes between blocks, and starts at the first one.
fn layout_is_plain(program: &Program, func: FuncId) -> Result<(), String> {
    let function = program.function(func);
    if let Some(why) = &function.refusal {
        return Err(why.clone());
    }
    if function.blocks.is_empty() || function.entry != function.blocks.first {
        return Err("its entry is not its first block".to_owned());
    }
    let mut end = None;
    for block in function.blocks.iter() {
        let at = program.block_vaddr(block);
        if let Some(end) = end.filter(|end| *end != at) {
            return Err(format!("bytes at {end:#x} are in no block"));
        }
        end = program.block(block).instrs.last().map(|i| program.vaddr(i) + program.inst(i).size() as u64);
    }
    Ok(())
}

struct Emitter<'a> {
    program: &'a Program,
    live: Liveness<'a>,
    /// What any function of the wave uses: where everything counts as live, the rest is left out.
    used: RegSet,
    /// What stands for literals.
    symbols: HashMap<InstrId, Symbolic>,
}

impl Emitter<'_> {
    fn block(&self, block: BlockId, body: &mut Body) -> Result<(), String> {
        let program = self.program;
        let number = program.block_number(block);
        let mut defined = self.listed(&self.live.at_start(block).any());
        if number > 0 {
            body.text.push('\n');
        }
        // Writing to a String does not fail.
        let _ = writeln!(body.text, "  bb.{number}: ; {:#x}", program.block_vaddr(block));
        let succs: BTreeSet<u32> = program.succs(block).iter().map(|s| program.block_number(*s)).collect();
        if !succs.is_empty() {
            let list: Vec<String> = succs.iter().map(|s| format!("%bb.{s}")).collect();
            let _ = writeln!(body.text, "    successors: {}", list.join(", "));
        }
        if !defined.is_empty() {
            let _ = writeln!(body.text, "    liveins: {}", registers::list(&defined, ""));
        }
        body.text.push('\n');
        for instr in program.block(block).instrs.iter() {
            let last = program.block(block).instrs.last() == Some(instr);
            let wrong = |why: String| format!("{:#x}: {why}", program.vaddr(instr));
            let made = self.instruction(block, instr, last, &mut defined, body).map_err(wrong)?;
            if made.is_terminator && !last {
                return Err(wrong(format!("{} ends a block in MIR", made.opcode)));
            }
            body.globals.extend(made.global.clone());
            body.text += "    ";
            let start = body.text.len();
            body.text += &made.text();
            body.spans.push(Span { instr, start: start as u32, end: body.text.len() as u32 });
            if made.is_normalized {
                let words: Vec<String> = program.inst(instr).words().iter().map(|w| format!("{w:#010x}")).collect();
                let _ = write!(body.text, " ; encoded as {}", words.join(" "));
                body.normalized.push(instr);
            }
            body.text.push('\n');
        }
        Ok(())
    }

    fn listed(&self, set: &RegSet) -> RegSet {
        set.iter().filter(|reg| self.used.contains(*reg)).collect()
    }

    fn instruction(
        &self,
        block: BlockId,
        instr: InstrId,
        last: bool,
        defined: &mut RegSet,
        body: &mut Body,
    ) -> Result<Machine, String> {
        let program = self.program;
        let inst = program.inst(instr);
        let target = match program.kind(instr) {
            Kind::Branch | Kind::CondBranch if last => {
                let to = inst.branch_target(program.vaddr(instr)).ok_or("a branch with no target")?;
                let to = program.succs(block).iter().find(|s| program.block_vaddr(**s) == to);
                let to = to.ok_or("a branch out of the function")?;
                Some(format!("%bb.{}", program.block_number(*to)))
            }
            _ => None,
        };
        let before = *defined;
        let mut made = machine(inst, target, self.symbols.get(&instr), defined)?;
        if !last {
            return Ok(made);
        }
        let after = self.listed(&self.live.at_end(block).any());
        match program.block(block).terminator {
            Terminator::Call => {
                if program.kind(instr) == Kind::Swappc {
                    self.call(block, &mut made, body);
                }
                let arguments = self.listed(&self.live.live_before(instr));
                made.implicit.extend(list(&arguments, &before, "implicit "));
                let mut results = after;
                made.defs.iter().for_each(|_| results = without_link(results, program.call(block).map(|c| c.link)));
                made.implicit.extend(
                    results.iter().map(|reg| format!("implicit-def {}", registers::tuple(RegRange::new(reg, 1)))),
                );
                *defined = after;
            }
            Terminator::Return { proven } => {
                if proven && made.opcode == "S_SETPC_B64" {
                    made.opcode = "S_SETPC_B64_return";
                }
                made.implicit.extend(list(&after, &before, "implicit "));
            }
            Terminator::Jump | Terminator::UnknownJump => made.implicit.extend(list(&after, &before, "implicit ")),
            _ => {}
        }
        Ok(made)
    }

    /// A call says whom it calls, and that nothing is sure to survive it but what it is said to define.
    fn call(&self, block: BlockId, made: &mut Machine, body: &mut Body) {
        let callee = self.program.call(block).and_then(|call| call.callee);
        made.opcode = "SI_CALL";
        made.operands.push(match callee {
            Some(callee) => {
                let name = symbols::global(&self.program.function(callee).name);
                body.globals.insert(name.clone());
                format!("@{name}")
            }
            None => "0".to_owned(),
        });
        made.operands.push("csr_amdgpu_noregs".to_owned());
    }
}

fn without_link(mut set: RegSet, link: Option<RegRange>) -> RegSet {
    link.into_iter().flat_map(|range| range.units().collect::<Vec<Reg>>()).for_each(|reg| set.remove(reg));
    set
}

/// The registers of a set that have a value.
fn list(set: &RegSet, defined: &RegSet, prefix: &str) -> Vec<String> {
    let known = set.iter().filter(|reg| defined.contains(*reg));
    known.map(|reg| format!("{prefix}{}", registers::tuple(RegRange::new(reg, 1)))).collect()
}

/// The heading of a function: what LLVM has to know of it before its body.
pub(super) fn heading(program: &Program, func: FuncId) -> String {
    let function = program.function(func);
    let entry = function.kind == FunctionKind::Kernel;
    let info = if entry { "machineFunctionInfo:\n  isEntryFunction: true\n" } else { "" };
    let name = function.name.replace('\'', "''");
    format!("---\nname: '{name}'\ntracksRegLiveness: true\nnoPhis: true\nisSSA: false\nnoVRegs: true\n{info}body: |\n")
}
