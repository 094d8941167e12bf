//! Copying a function with its hooks in place.
//!
//! Each instruction of the original becomes a label, the hooks before it, its copy, and the hooks after it. Copies are
//! bit for bit the original, except where the program counter is involved: branches are aimed at copies, and
//! `s_getpc_b64` is made to give what it gave (`pcrel`).

use std::ops::Range;

use luthier_isa::{EncodeError, Flags, Inst, Operand, Reg, RegSet};
use luthier_lifter::{BlockId, FuncId, InFlight, InstrId, Live, Liveness, PendingLoads, Terminator};

use super::chunk::{Chunk, ChunkId, Fixup, Place};
use super::env::Env;
use super::hazard;
use super::indexing::Indexing;
use super::pcrel::{Pc, PcPlans};
use super::point::{self, Highest, Point, Splice};
use super::preamble;
use crate::check::{self, Violation};
use crate::plan::{Rejected, When};

/// One insertion of the plan, with its instruction found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spot {
    pub instr: InstrId,
    pub when: When,
    pub order: i32,
    /// Index into the plan's insertions.
    pub insertion: u32,
}

/// Why a function cannot be copied.
#[derive(Debug)]
pub enum Refusal {
    Reason(String),
    Encode(EncodeError),
}

impl From<EncodeError> for Refusal {
    fn from(e: EncodeError) -> Refusal {
        Refusal::Encode(e)
    }
}

/// A function's copy and what was done in it.
#[derive(Debug, Default)]
pub struct Copied {
    pub chunk: Chunk,
    pub points: usize,
    pub inserted: usize,
    pub copied: usize,
    pub rejected: Vec<Rejected>,
    pub violations: Vec<Violation>,
    pub highest: Highest,
}

/// Which functions are copied, and where to.
#[derive(Debug)]
pub struct ChunkMap {
    pub of_function: Vec<Option<ChunkId>>,
}

impl ChunkMap {
    /// The copy of the instruction at an original address.
    pub fn label(&self, env: &Env, vaddr: u64) -> Option<Place> {
        let instr = env.program.instr_at(vaddr)?;
        let func = env.program.func_of(instr);
        let chunk = self.of_function[func.index()]?;
        let first = env.program.function_instrs(func).first;
        Some(Place::Label { chunk, label: instr.0 - first.0 })
    }
}

/// How control gets into a kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelEntry {
    pub vaddr: u64,
    pub preloads: bool,
}

struct Copier<'a> {
    env: &'a Env<'a>,
    map: &'a ChunkMap,
    chunk: ChunkId,
    spots: &'a [Spot],
    check: bool,
    liveness: Liveness<'a>,
    plans: PcPlans,
    indexing: Indexing,
    loads: PendingLoads<'a>,
    /// Operands of all matrix instructions of the function.
    matrix: RegSet,
    out: Copied,
    splice: Splice,
    edges: Vec<Edge>,
}

/// The taken edge of a branch with hooks after it.
struct Edge {
    address: u64,
    insertions: Vec<u32>,
    /// The same hooks are on the other edge, and were counted there.
    counted: bool,
    live: Live,
    loads: InFlight,
    busy: RegSet,
    indexed: bool,
    to: Place,
}

/// Copies `func`. `spots` are those of this function, sorted.
pub fn copy(
    env: &Env,
    map: &ChunkMap,
    func: FuncId,
    chunk: ChunkId,
    spots: &[Spot],
    entry: Option<KernelEntry>,
    check: bool,
) -> Result<Copied, Refusal> {
    let program = env.program;
    let function = program.function(func);
    if let Some(reason) = &function.refusal {
        return Err(Refusal::Reason(reason.clone()));
    }
    let plans = PcPlans::of(env, map, func, spots).map_err(Refusal::Reason)?;
    let instrs = program.function_instrs(func);
    let mut matrix = RegSet::EMPTY;
    for i in instrs.iter().map(|i| program.inst(i)).filter(|i| i.info().flags.contains(Flags::MFMA)) {
        hazard::busy(std::slice::from_ref(i), &mut matrix);
    }
    let mut copier = Copier {
        env,
        map,
        chunk,
        spots,
        check,
        liveness: Liveness::of(program, func),
        plans,
        indexing: Indexing::of(program, func),
        loads: PendingLoads::of(program, func),
        matrix,
        out: Copied::default(),
        splice: Splice::default(),
        edges: Vec::new(),
    };
    copier.out.chunk.name = format!("{}.instrumented", function.name);
    copier.out.chunk.align = if entry.is_some() { 256 } else { 64 };
    copier.out.chunk.words.reserve(function.size as usize / 2);
    if let Some(entry) = entry {
        let label = |vaddr| program.instr_at(vaddr).filter(|i| instrs.contains(*i)).map(|i| i.0 - instrs.first.0);
        let no_code =
            |vaddr: u64| Refusal::Reason(format!("the kernel is entered at {vaddr:#x}, where it has no instruction"));
        let first = label(entry.vaddr).ok_or_else(|| no_code(entry.vaddr))?;
        let second = entry.preloads.then_some(entry.vaddr + preamble::PRELOAD_ENTRY);
        let second = second.map(|v| label(v).ok_or_else(|| no_code(v))).transpose()?;
        preamble::entries(env, &mut copier.out.chunk, chunk, first, second)?;
    }
    for block in function.blocks.iter() {
        copier.block(block)?;
    }
    copier.trampolines()?;
    copier.out.copied = instrs.len();
    Ok(copier.out)
}

impl Copier<'_> {
    fn block(&mut self, block: BlockId) -> Result<(), Refusal> {
        let program = self.env.program;
        let b = *program.block(block);
        let insts: Vec<Inst> = b.instrs.iter().map(|i| *program.inst(i)).collect();
        let from = self.spots.partition_point(|s| s.instr < b.instrs.first);
        let some_hooks = self.spots.get(from).is_some_and(|s| b.instrs.contains(s.instr));
        let ends = b.terminator == Terminator::End;
        // Liveness is only worked out where it is asked for.
        let wanted = some_hooks || self.plans.wants_liveness(b.instrs);
        let points = if wanted { self.liveness.points(block) } else { Vec::new() };
        let mut loads = if wanted || ends { self.loads.points(block) } else { Vec::new() };
        if !loads.is_empty() {
            loads.push(self.loads.at_end(block));
        }
        let (nothing, nothing_loaded) = (Live::NONE, InFlight::default());
        let mut indexed = self.indexing.at_start();
        for (k, i) in b.instrs.iter().enumerate() {
            let (inst, vaddr) = (insts[k], program.vaddr(i));
            let falls_in = k > 0 || self.falls_into(block);
            preamble::label(&mut self.out.chunk, falls_in);
            let (before, after) = points.get(k).map_or((&nothing, &nothing), |p| (&p.before, &p.after));
            let around = |k: usize| loads.get(k).unwrap_or(&nothing_loaded);
            let spots = self.spots_at(i, When::Before);
            if !spots.is_empty() {
                let busy = self.busy(&insts[..k]);
                let (previous, next) = (&insts[..k], Some(&insts[k]));
                let point = Point { live: before, loads: around(k), previous, next, busy: &busy, indexed };
                self.hooks(vaddr, spots, &point)?;
            }
            if ends && k + 1 == insts.len() {
                if indexed {
                    return Err(Refusal::Reason(format!("VGPR indexing may be on at {vaddr:#x}, where the wave ends")));
                }
                let busy = self.busy(&insts[..k]);
                preamble::flush(self.env, &mut self.out.chunk, around(k), &busy)?;
            }
            self.instruction(i, &inst, vaddr, after, around(k + 1))?;
            Indexing::step(&inst, &mut indexed);
            let spots = self.spots_at(i, When::After);
            if spots.is_empty() {
                continue;
            }
            let busy = self.busy(&insts[..=k]);
            let last = k + 1 == insts.len();
            let (previous, next) = (&insts[..=k], insts.get(k + 1));
            let point = Point { live: after, loads: around(k + 1), previous, next, busy: &busy, indexed };
            match b.terminator {
                _ if !last => self.hooks(vaddr, spots, &point)?,
                Terminator::Fallthrough | Terminator::Trap => self.hooks(vaddr, spots, &point)?,
                Terminator::Call => self.hooks(vaddr, spots, &Point { previous: &[], indexed: false, ..point })?,
                Terminator::CondBranch | Terminator::Branch => self.after_branch(block, &inst, vaddr, spots, &point)?,
                _ => {
                    let reason = format!("nothing comes after {inst}: control does not go on to the next instruction");
                    for _ in spots {
                        self.out.rejected.push(Rejected { address: vaddr, reason: reason.clone() });
                    }
                }
            }
        }
        self.leave(block, b.terminator)
    }

    /// Control may come into the block from the word before it.
    fn falls_into(&self, block: BlockId) -> bool {
        let program = self.env.program;
        let blocks = program.function(program.block(block).func).blocks;
        if block == blocks.first {
            return true;
        }
        let before = program.block(BlockId(block.0 - 1));
        goes_on(before.terminator)
    }

    /// Where the block may go on, but the next one does not stand behind it in the original, a branch leads there.
    fn leave(&mut self, block: BlockId, terminator: Terminator) -> Result<(), Refusal> {
        let program = self.env.program;
        let b = program.block(block);
        if !goes_on(terminator) {
            return Ok(());
        }
        let Some(last) = b.instrs.last() else { return Ok(()) };
        let next = program.vaddr(last) + program.inst(last).size() as u64;
        let following = BlockId(block.0 + 1);
        if program.function(b.func).blocks.contains(following) && program.block_vaddr(following) == next {
            return Ok(());
        }
        let Some(to) = self.map.label(self.env, next) else {
            return Err(Refusal::Reason(format!("control runs off the function's end, to {next:#x}")));
        };
        let at = self.out.chunk.here();
        self.out.chunk.push(&Inst::build(self.env.ops.s_branch, &[Operand::Imm(0)])?);
        self.out.chunk.fixups.push(Fixup::Branch { at, to });
        Ok(())
    }

    fn busy(&self, previous: &[Inst]) -> RegSet {
        let mut busy = RegSet::EMPTY;
        if !self.matrix.is_empty() && previous.len() < hazard::MATRIX as usize {
            busy = self.matrix;
        }
        hazard::busy(previous, &mut busy);
        busy
    }

    fn spots_at(&self, instr: InstrId, when: When) -> Range<usize> {
        let from = self.spots.partition_point(|s| (s.instr, s.when) < (instr, when));
        let count = self.spots[from..].iter().take_while(|s| (s.instr, s.when) == (instr, when)).count();
        from..from + count
    }

    fn hooks(&mut self, address: u64, spots: Range<usize>, point: &Point) -> Result<(), Refusal> {
        let list: Vec<u32> = self.spots[spots].iter().map(|s| s.insertion).collect();
        self.place(address, &list, point)
    }

    fn place(&mut self, address: u64, list: &[u32], point: &Point) -> Result<(), Refusal> {
        let previous = &point.previous[point.previous.len().saturating_sub(hazard::WINDOW)..];
        let point = Point { previous, ..*point };
        point::place(self.env, &point, address, list, &mut self.splice, &mut self.out.rejected)?;
        let splice = &self.splice;
        if self.check || cfg!(debug_assertions) {
            let templates: Vec<check::Placed> = splice
                .spans
                .iter()
                .map(|s| check::Placed { start: s.start, end: s.end, insertion: s.insertion })
                .collect();
            let env = self.env;
            self.out.violations.extend(check::splice(&check::Question {
                plan: env.plan,
                counters: &env.counters,
                counter_lanes: &env.counter_lanes,
                unused: &env.never_used,
                address,
                live: point.live,
                loads: point.loads,
                insts: &splice.insts,
                templates: &templates,
            }));
        }
        self.out.points += splice.spans.len();
        self.out.inserted += splice.insts.len();
        self.out.highest.merge(&splice.highest);
        let mut literals = splice.literals.iter().peekable();
        for (n, inst) in splice.insts.iter().enumerate() {
            self.out.chunk.push(inst);
            while let Some(literal) = literals.next_if(|l| l.inst == n) {
                let at = self.out.chunk.here() - 1;
                let (to, addend, high) = (literal.place, literal.addend, literal.high);
                self.out.chunk.fixups.push(Fixup::Relative { at, to, addend, high });
            }
        }
        Ok(())
    }

    /// Hooks after a branch are on its edges: both of a conditional one.
    fn after_branch(
        &mut self,
        block: BlockId,
        inst: &Inst,
        vaddr: u64,
        spots: Range<usize>,
        point: &Point,
    ) -> Result<(), Refusal> {
        let program = self.env.program;
        let func = program.block(block).func;
        let start =
            |v: u64| program.instr_at(v).map(|i| program.block_of(i)).filter(|b| program.block(*b).func == func);
        let target = inst.branch_target(vaddr).and_then(|t| Some((self.map.label(self.env, t)?, start(t)?)));
        let conditional = program.block(block).terminator == Terminator::CondBranch;
        let fallen = start(vaddr + inst.size() as u64);
        let (Some((to, taken)), true) = (target, !conditional || fallen.is_some()) else {
            let reason = format!("one way of {inst} leaves the function");
            for _ in spots {
                self.out.rejected.push(Rejected { address: vaddr, reason: reason.clone() });
            }
            return Ok(());
        };
        let mut insertions: Vec<u32> = self.spots[spots.clone()].iter().map(|s| s.insertion).collect();
        let branch = self.out.chunk.fixups.len() - 1;
        if let Some(fallen) = fallen.filter(|_| conditional) {
            let live = self.liveness.at_start(fallen);
            self.hooks(vaddr, spots, &Point { live: &live, previous: &[], ..*point })?;
            // What did not fit here is not to be on the other edge either.
            insertions = self.splice.spans.iter().map(|s| s.insertion as u32).collect();
        }
        if insertions.is_empty() {
            return Ok(());
        }
        // The branch was aimed at its target's copy: aim it at the edge's own code instead.
        let label = program.function_instrs(func).len() as u32 + self.edges.len() as u32;
        let place = Place::Label { chunk: self.chunk, label };
        if let Some(Fixup::Branch { to, .. }) = self.out.chunk.fixups.get_mut(branch) {
            *to = place;
        }
        self.edges.push(Edge {
            address: vaddr,
            insertions,
            counted: conditional,
            live: self.liveness.at_start(taken),
            loads: point.loads.clone(),
            busy: *point.busy,
            indexed: point.indexed,
            to,
        });
        Ok(())
    }

    /// The code of taken edges, behind the function.
    fn trampolines(&mut self) -> Result<(), Refusal> {
        for edge in std::mem::take(&mut self.edges) {
            preamble::label(&mut self.out.chunk, false);
            let (points, rejected) = (self.out.points, self.out.rejected.len());
            let (live, loads, busy) = (&edge.live, &edge.loads, &edge.busy);
            let point = Point { live, loads, previous: &[], next: None, busy, indexed: edge.indexed };
            self.place(edge.address, &edge.insertions, &point)?;
            if edge.counted {
                self.out.points = points;
                if self.out.rejected.len() > rejected {
                    return Err(Refusal::Reason(format!(
                        "a hook fits on one way of the branch at {:#x} only: {}",
                        edge.address, self.out.rejected[rejected].reason
                    )));
                }
            }
            let at = self.out.chunk.here();
            self.out.chunk.push(&Inst::build(self.env.ops.s_branch, &[Operand::Imm(0)])?);
            self.out.chunk.fixups.push(Fixup::Branch { at, to: edge.to });
        }
        Ok(())
    }

    /// The copy of one instruction.
    fn instruction(
        &mut self,
        i: InstrId,
        inst: &Inst,
        vaddr: u64,
        after: &Live,
        loads: &InFlight,
    ) -> Result<(), Refusal> {
        let chunk = &mut self.out.chunk;
        let at = chunk.here();
        chunk.origins.push((at, vaddr));
        let flags = inst.info().flags;
        match self.plans.at(i) {
            Some(Pc::Kept { to }) => {
                let to = *to;
                chunk.push(inst);
                return self.keep_pc(at, inst, to, after, loads);
            }
            Some(Pc::Folded { getpc_at, to }) => {
                // `i` is the `s_add_u32`, and the `s_addc_u32` follows: both in their form with a literal.
                let (getpc_at, to) = (*getpc_at, *to);
                return self.fold(inst, getpc_at, to);
            }
            Some(Pc::FoldedHigh) => {
                return self.fold_high(inst);
            }
            None => {}
        }
        chunk.push(inst);
        let direct =
            flags.intersects(Flags::BRANCH | Flags::COND_BRANCH | Flags::CALL) && !flags.contains(Flags::INDIRECT);
        if let (true, Some(target)) = (direct, inst.branch_target(vaddr)) {
            let Some(to) = self.map.label(self.env, target) else {
                return Err(Refusal::Reason(format!("{inst} at {vaddr:#x} leads to {target:#x}, which is not copied")));
            };
            self.out.chunk.fixups.push(Fixup::Branch { at, to });
        }
        Ok(())
    }

    /// After an `s_getpc_b64`: adds what takes the copy's address to the original's, SCC kept.
    fn keep_pc(&mut self, getpc: u32, inst: &Inst, to: Place, after: &Live, loads: &InFlight) -> Result<(), Refusal> {
        let Some(Operand::Reg(range)) = inst.operands().next().map(|(_, v)| v) else {
            return Err(Refusal::Reason(format!("{inst} has no destination")));
        };
        let ops = &self.env.ops;
        let mut keep = None;
        if after.active.contains(Reg::SCC) {
            let mut pool = point::free_registers(self.env, after, loads, &[range]);
            let reg = pool.take(super::pool::File::Sgpr, 1, 1, 0, false);
            let Some(reg) = reg else {
                return Err(Refusal::Reason(format!(
                    "no SGPR is free to keep SCC while {inst} is made to give the original address"
                )));
            };
            self.out.highest.note(reg);
            keep = Some(reg.first);
        }
        let chunk = &mut self.out.chunk;
        if let Some(reg) = keep {
            chunk.push(&ops.save_scc(reg)?);
        }
        let (low, high) = (range.first, range.first.offset(1));
        use super::ops::{LITERAL, one};
        chunk.push(&Inst::build(ops.s_add_u32, &[one(low), one(low), LITERAL])?);
        let low_at = chunk.here() - 1;
        chunk.push(&Inst::build(ops.s_addc_u32, &[one(high), one(high), LITERAL])?);
        let high_at = chunk.here() - 1;
        chunk.fixups.push(Fixup::PcPair { getpc, low: low_at, high: high_at, to });
        if let Some(reg) = keep {
            chunk.push(&ops.restore_scc(reg)?);
        }
        Ok(())
    }

    /// The `s_add_u32` of a folded sum, with room for any literal.
    fn fold(&mut self, inst: &Inst, getpc: InstrId, to: Place) -> Result<(), Refusal> {
        let chunk = &mut self.out.chunk;
        // The getpc's copy stands behind the hooks at its label.
        let vaddr = self.env.program.vaddr(getpc);
        let getpc_at = chunk.origins.iter().rev().find(|o| o.1 == vaddr).map(|o| o.0);
        let Some(getpc_at) = getpc_at else {
            return Err(Refusal::Reason(format!("the s_getpc_b64 at {vaddr:#x} is not copied before its sum")));
        };
        let mut wide = *inst;
        wide.set_operand(2, super::ops::LITERAL)?;
        chunk.push(&wide);
        let low = chunk.here() - 1;
        chunk.fixups.push(Fixup::PcPair { getpc: getpc_at, low, high: u32::MAX, to });
        Ok(())
    }

    fn fold_high(&mut self, inst: &Inst) -> Result<(), Refusal> {
        let mut wide = *inst;
        wide.set_operand(2, super::ops::LITERAL)?;
        let chunk = &mut self.out.chunk;
        chunk.push(&wide);
        let here = chunk.here() - 1;
        let open = chunk.fixups.iter_mut().rev().find(|f| matches!(f, Fixup::PcPair { high: u32::MAX, .. }));
        match open {
            Some(Fixup::PcPair { high, .. }) => {
                *high = here;
                Ok(())
            }
            _ => Err(Refusal::Reason(format!("{inst} completes no sum"))),
        }
    }
}

/// Control may go on to the instruction behind the block.
fn goes_on(terminator: Terminator) -> bool {
    use Terminator::*;
    matches!(terminator, Fallthrough | CondBranch | Call | Trap | OffEnd)
}
