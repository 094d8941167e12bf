//! Programs as LLVM MIR: pseudo opcodes, physical registers, control flow, live-ins.
//!
//! The blocks and instructions are ours, one for one: MIR's `%bb.3` is the function's block number 3, and the n-th machine
//! instruction of it is the block's n-th instruction. Assembling the text with LLVM from behind its last pass that changes
//! code (`llc -start-after=branch-relaxation`) gives the original bytes, but for [`Mir::normalized`].

mod function;
mod instruction;
mod registers;
mod symbols;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use luthier_isa::Generation;

use crate::{FuncId, FunctionKind, InstrId, Program};

/// Where an instruction is in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    instr: InstrId,
    start: u32,
    end: u32,
}

/// Some functions of a program as MIR, and the way back.
#[derive(Clone, Debug)]
pub struct Mir {
    /// What llc reads.
    pub text: String,
    /// The functions in it, by address.
    pub functions: Vec<FuncId>,
    /// Those that MIR cannot say, and why.
    pub left_out: Vec<(FuncId, String)>,
    /// Instructions that assembling gives back with other values in bits that have no effect and that no assembly shows;
    /// the text has the original words behind them. Compilers disagree on what to put into the field of a source that an
    /// operation does not have.
    pub normalized: Vec<InstrId>,
    /// By instruction.
    spans: Vec<Span>,
}

/// The place of an instruction in MIR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MirPlace {
    pub func: FuncId,
    /// The number of the machine basic block.
    pub block: u32,
    /// The instruction's number in it, from 0.
    pub index: u32,
}

impl Mir {
    /// The MIR of some functions.
    pub fn of(program: &Program, functions: &[FuncId]) -> Mir {
        let mut funcs = functions.to_vec();
        funcs.sort_unstable();
        funcs.dedup();
        let mut mir = Mir {
            text: String::new(),
            functions: Vec::new(),
            left_out: Vec::new(),
            normalized: Vec::new(),
            spans: Vec::new(),
        };
        let mut bodies = Vec::new();
        let mut globals = BTreeSet::new();
        let mut names = BTreeSet::new();
        for func in funcs {
            let name = &program.function(func).name;
            if !names.insert(name) {
                mir.left_out.push((func, "there is another function of that name".to_owned()));
                continue;
            }
            match function::body(program, func) {
                Ok(body) => {
                    globals.extend(body.globals.iter().cloned());
                    mir.normalized.extend(&body.normalized);
                    mir.functions.push(func);
                    bodies.push(body);
                }
                Err(why) => mir.left_out.push((func, why)),
            }
        }
        mir.text = module(program, &mir, &globals);
        for (&func, body) in mir.functions.iter().zip(&bodies) {
            mir.text += &function::heading(program, func);
            let start = mir.text.len() as u32;
            mir.text += &body.text;
            mir.text += "...\n";
            mir.spans.extend(body.spans.iter().map(|s| Span { start: s.start + start, end: s.end + start, ..*s }));
        }
        mir
    }

    /// The text of an instruction; `None` if its function is not in here.
    pub fn line(&self, instr: InstrId) -> Option<&str> {
        let at = self.spans.binary_search_by_key(&instr, |s| s.instr).ok()?;
        let span = self.spans[at];
        self.text.get(span.start as usize..span.end as usize)
    }

    /// Where an instruction is; `None` if its function is not in here.
    pub fn place(&self, program: &Program, instr: InstrId) -> Option<MirPlace> {
        let block = program.block_of(instr);
        let func = program.block(block).func;
        self.functions.binary_search(&func).ok()?;
        let index = instr.0 - program.block(block).instrs.first.0;
        Some(MirPlace { func, block: program.block_number(block), index })
    }

    /// The instruction at a place; `None` if there is none, or not in here.
    pub fn instruction(&self, program: &Program, place: MirPlace) -> Option<InstrId> {
        self.functions.binary_search(&place.func).ok()?;
        let block = program.function(place.func).blocks.iter().nth(place.block as usize)?;
        program.block(block).instrs.iter().nth(place.index as usize)
    }
}

/// The IR module that MIR's functions refer to.
fn module(program: &Program, mir: &Mir, globals: &BTreeSet<String>) -> String {
    let mut out = String::from("--- |\n  target triple = \"amdgcn-amd-amdhsa\"\n");
    let mut declared: BTreeSet<&str> = globals.iter().map(String::as_str).collect();
    for (func, why) in &mir.left_out {
        let _ = writeln!(out, "  ; left out: {}: {}", program.function(*func).name.escape_debug(), why.escape_debug());
    }
    let mut functions = mir.functions.iter().peekable();
    for func in program.function_ids() {
        let function = program.function(func);
        let name = symbols::global(&function.name);
        let called = declared.remove(name.as_str());
        if functions.next_if_eq(&&func).is_some() {
            let kernel = if function.kind == FunctionKind::Kernel { "amdgpu_kernel " } else { "" };
            let _ = writeln!(out, "  define {kernel}void @{name}() #0 {{ unreachable }}");
        } else if called {
            let _ = writeln!(out, "  declare void @{name}() #0");
        }
    }
    for name in declared {
        let _ = writeln!(out, "  @{name} = external addrspace(1) global [0 x i8]");
    }
    let (cpu, features) = (program.target().name(), features(program));
    let _ = writeln!(out, "  attributes #0 = {{ \"target-cpu\"=\"{cpu}\"{features} }}\n...");
    out
}

/// What LLVM is to be told beside the processor's name.
fn features(program: &Program) -> String {
    let mode = program.mode();
    let mut list = Vec::new();
    if mode.wave() != mode.target().default_wave() {
        list.push("+wavefrontsize64");
    }
    // Otherwise LLVM has no halves of vector registers as operands.
    if matches!(mode.target().generation(), Generation::Gfx11 | Generation::Gfx12 | Generation::Gfx1250) {
        list.push("+real-true16");
    }
    if list.is_empty() { String::new() } else { format!(" \"target-features\"=\"{}\"", list.join(",")) }
}
