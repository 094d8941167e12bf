//! A program as JSON and its graphs as DOT.

use std::fmt::Write as _;

use serde::Serialize;

use crate::{
    BlockId, ExecStates, FuncId, FunctionKind, Gap, Issue, Liveness, Loop, LoopForest, LoopId, Origin, Place, Program,
    RegisterCounts, Resolution, Terminator,
};

/// What `luthier lift --emit json` prints. Addresses are vaddrs, ids are dense numbers by address.
#[derive(Serialize)]
pub struct Document<'a> {
    pub target: &'static str,
    /// Lanes of a wave.
    pub wave: u32,
    pub instructions: usize,
    /// Of an instrumented object: how many of them are tools'.
    pub inserted: Option<usize>,
    pub functions: Vec<FunctionRecord<'a>>,
    pub pc_values: Vec<PcRecord<'a>>,
    pub gaps: &'a [Gap],
    pub issues: &'a [Issue],
}

#[derive(Serialize)]
pub struct FunctionRecord<'a> {
    pub id: FuncId,
    pub name: &'a str,
    pub vaddr: u64,
    pub size: u64,
    pub kind: FunctionKind,
    /// Has a symbol.
    pub named: bool,
    /// Why it must not be touched.
    pub refusal: Option<&'a str>,
    /// Of an instrumented copy: where the application had it.
    pub copied_from: Option<u64>,
    pub address_taken: bool,
    pub callees: &'a [FuncId],
    pub unresolved_calls: bool,
    /// Register use of all functions that may share a wave with it.
    pub registers: RegisterCounts,
    /// Outer loops before inner ones: a loop's number is its place here.
    pub loops: Vec<Loop>,
    /// Edges that go round without a loop's head.
    pub irreducible: Vec<(BlockId, BlockId)>,
    pub blocks: Vec<BlockRecord>,
    pub calls: Vec<CallRecord>,
}

#[derive(Serialize)]
pub struct BlockRecord {
    pub id: BlockId,
    pub label: String,
    pub vaddr: u64,
    pub end: u64,
    pub instructions: usize,
    /// How many of them are tools'.
    pub inserted: usize,
    pub terminator: Terminator,
    pub succs: Vec<BlockId>,
    pub preds: Vec<BlockId>,
    /// Addresses outside of the function that control may go to without a call.
    pub exits: Vec<u64>,
    /// The innermost loop around the block.
    #[serde(rename = "loop")]
    pub around: Option<LoopId>,
    pub depth: u32,
    /// What is known of EXEC at the start of the block.
    pub exec: &'static str,
    pub live_in: Vec<String>,
    pub live_out: Vec<String>,
}

#[derive(Serialize)]
pub struct CallRecord {
    pub vaddr: u64,
    pub block: BlockId,
    pub resolution: Resolution,
    pub target: Option<u64>,
    pub callee: Option<FuncId>,
}

#[derive(Serialize)]
pub struct PcRecord<'a> {
    pub vaddr: u64,
    pub source: u64,
    pub registers: String,
    pub value: Option<u64>,
    pub place: Option<&'a Place>,
}

/// The document for some functions, or for all of them.
pub fn document<'a>(program: &'a Program, only: Option<&[FuncId]>) -> Document<'a> {
    let wanted = |f: FuncId| only.is_none_or(|list| list.contains(&f));
    let functions = program.function_ids().filter(|f| wanted(*f)).map(|f| function(program, f)).collect();
    let values = program.pc_values().iter().filter(|v| wanted(program.func_of(v.at)));
    let pc_values = values
        .map(|v| PcRecord {
            vaddr: program.vaddr(v.at),
            source: program.vaddr(v.source),
            registers: v.pair.to_string(),
            value: v.vaddr,
            place: v.place.as_ref(),
        })
        .collect();
    Document {
        target: program.target().name(),
        wave: program.mode().wave().lanes(),
        instructions: program.instrs().len(),
        inserted: program.is_instrumented().then(|| program.function_ids().map(|id| program.inserted_in(id)).sum()),
        functions,
        pc_values,
        gaps: program.gaps(),
        issues: program.issues(),
    }
}

fn function(program: &Program, id: FuncId) -> FunctionRecord<'_> {
    let f = program.function(id);
    let live = Liveness::of(program, id);
    let (loops, exec) = (LoopForest::of(program, id), ExecStates::of(program, id));
    let names = |set: luthier_isa::RegSet| set.iter().map(|r| r.to_string()).collect();
    let blocks = f.blocks.iter().map(|b| {
        let block = program.block(b);
        let end = block.instrs.last().map_or(0, |i| program.vaddr(i) + program.inst(i).size() as u64);
        BlockRecord {
            id: b,
            label: program.label(b).to_string(),
            vaddr: program.block_vaddr(b),
            end,
            instructions: block.instrs.len(),
            inserted: block.instrs.iter().filter(|i| program.origin(*i) == Origin::Inserted).count(),
            terminator: block.terminator,
            succs: program.succs(b).to_vec(),
            preds: program.preds(b).to_vec(),
            exits: program.exits_of(b).iter().map(|e| e.target).collect(),
            around: loops.of_block(b),
            depth: loops.depth(b),
            exec: exec.points(b).first().map_or("unknown", |state| state.name()),
            live_in: names(live.live_in(b)),
            live_out: names(live.live_out(b)),
        }
    });
    let calls = program.calls_of(id).iter().map(|c| CallRecord {
        vaddr: program.vaddr(c.instr),
        block: c.block,
        resolution: c.resolution,
        target: c.target,
        callee: c.callee,
    });
    FunctionRecord {
        id,
        name: &f.name,
        vaddr: f.vaddr,
        size: f.size,
        kind: f.kind,
        named: f.named,
        refusal: f.refusal.as_deref(),
        copied_from: program.copied_from(id),
        address_taken: program.is_address_taken(id),
        callees: program.callees(id),
        unresolved_calls: program.has_unresolved(id),
        registers: RegisterCounts::of(&program.used_registers(id)),
        blocks: blocks.collect(),
        loops: loops.loops().to_vec(),
        irreducible: loops.irreducible().to_vec(),
        calls: calls.collect(),
    }
}

/// The control flow graph of a function in graphviz's language, with the text of its instructions.
pub fn dot(program: &Program, id: FuncId) -> String {
    let f = program.function(id);
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = writeln!(out, "digraph \"{}\" {{", escape(&f.name));
    let _ = writeln!(out, "  node [shape=box, fontname=monospace];");
    for b in f.blocks.iter() {
        let mut text = format!("{}:\\l", escape(&program.label(b).to_string()));
        for i in program.block(b).instrs.iter() {
            let mark = if program.origin(i) == Origin::Inserted { "+ " } else { "" };
            let _ = write!(text, "{mark}{:x}  {}\\l", program.vaddr(i), escape(&program.inst(i).to_string()));
        }
        let _ = writeln!(out, "  b{b} [label=\"{text}\"];");
        let conditional = program.block(b).terminator == Terminator::CondBranch;
        for (n, s) in program.succs(b).iter().enumerate() {
            let style = match (conditional, n) {
                (true, 0) => " [label=\"taken\"]",
                _ => "",
            };
            let _ = writeln!(out, "  b{b} -> b{s}{style};");
        }
        for e in program.exits_of(b) {
            let name = e.callee.map_or_else(|| format!("{:#x}", e.target), |f| program.function(f).name.clone());
            let _ = writeln!(out, "  b{b} -> \"{}\" [style=dashed];", escape(&name));
        }
        if let Some(call) = program.call(b) {
            let name = call.callee.map_or("unknown function", |f| &program.function(f).name);
            let _ = writeln!(out, "  b{b} -> \"{}\" [style=dotted, label=\"call\"];", escape(name));
        }
    }
    out.push_str("}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
