//! The copy of one function: each instruction of the original becomes a label, what is inserted before it, its copy, and
//! what is inserted after it.

use std::collections::HashMap;
use std::rc::Rc;

use luthier_isa::msb::{self, MsbChange};
use luthier_isa::op::Op;
use luthier_isa::{Flags, Inst, Operand};
use luthier_lifter::ways::{Way, ways as ways_to};
use luthier_lifter::{BlockId, InFlight, InstrId, InstrIds, Live, Liveness, PendingLoads, Points, Program, Terminator};
use smallvec::SmallVec;

use super::bodies::{Inserter, Spotted};
use super::copier::{Copier, Known};
use super::indexing::Indexing;
use super::pcrel::{Pc, PcPlans};
use super::{Copied, Refusal, Spot, Task, hints};
use crate::check;
use crate::layout::chunk::Fixup;
use crate::plan::{Rejected, Rejection, Where};
use crate::splice::demand::Olds;
use crate::template::renamed::Renamed;

/// Copies `func`. `spots` are those of this function, sorted.
///
/// What is to take an instruction's place does so whole or not at all. Whether it fits is known only when the copy is made,
/// and much depends on whether the instruction runs: then the copy is made again, with the instruction where it was.
/// Templates that are `renamed` for it are so for the next function, too.
pub fn copy<'a>(task: &Task<'a>, spots: &[Spot], renamed: &mut Renamed<'a>) -> Result<Copied, Refusal> {
    let program = task.env.program;
    let mut spots = std::borrow::Cow::Borrowed(spots);
    let mut rejected = Vec::new();
    loop {
        let mut copied = attempt(task, &spots, renamed)?;
        if copied.stays.is_empty() {
            copied.rejected.extend(rejected);
            return Ok(copied);
        }
        copied.stays.sort_unstable();
        let stays = |spot: &Spot| spot.at == Where::Instead && copied.stays.binary_search(&spot.instr).is_ok();
        let mut reasons: HashMap<u32, Rejected> = copied.rejected.drain(..).map(|r| (r.insertion, r)).collect();
        for spot in spots.iter().filter(|spot| stays(spot)) {
            let (inst, address) = program.instr(spot.instr);
            let insertion = spot.insertion;
            rejected.push(reasons.remove(&insertion).unwrap_or_else(|| {
                let reason = Rejection::Stays { inst: inst.to_string() };
                Rejected { insertion, address, reason }
            }));
        }
        spots.to_mut().retain(|spot| !stays(spot));
    }
}

fn attempt<'a>(task: &Task<'a>, spots: &[Spot], renamed: &mut Renamed<'a>) -> Result<Copied, Refusal> {
    let Task { env, map, func, chunk, kernel, .. } = *task;
    let program = env.program;
    let function = program.function(func);
    if let Some(reason) = &function.refusal {
        return Err(Refusal::Reason(reason.clone()));
    }
    let plans = PcPlans::of(env, map, func, spots).map_err(Refusal::Reason)?;
    let instrs = program.function_instrs(func);
    let mut out = Copied::default();
    let mut absent: Vec<InstrId> = Vec::new();
    for spot in spots.iter().filter(|spot| spot.at == Where::Instead) {
        let (inst, address) = program.instr(spot.instr);
        match irreplaceable(program, &plans, spot.instr, inst) {
            Some(reason) => {
                out.rejected.push(Rejected { insertion: spot.insertion, address, reason });
                out.stays.push(spot.instr);
            }
            None => absent.push(spot.instr),
        }
    }
    if !out.stays.is_empty() {
        return Ok(out);
    }
    absent.dedup();
    let absent: Rc<[InstrId]> = absent.into();
    let known = Known {
        spots,
        liveness: Liveness::of(program, func),
        points: Points::NONE,
        plans,
        indexing: Indexing::of(program, func),
        loads: PendingLoads::without(program, func, absent.clone()),
        absent,
    };
    let mut copier = Copier { task: *task, known, put: Inserter::new(task, out), edges: Vec::new() };
    copier.put.renamed = std::mem::take(renamed);
    copier.put.out.chunk.name = format!("{}.instrumented", function.name);
    copier.put.out.chunk.align = if kernel.is_some() { 256 } else { 64 };
    // Most hooks are a few words long.
    let words = (function.size as usize / 2).max(function.size as usize / 4 + 3 * spots.len());
    copier.put.out.chunk.words.reserve(words);
    copier.put.out.chunk.hooks.reserve(spots.len());
    copier.put.out.made.reserve(spots.len());
    copier.put.out.chunk.labels.reserve(instrs.len() + spots.len() + 1);
    copier.put.out.chunk.origins.reserve(instrs.len());
    let mut entry = None;
    match kernel {
        // Kernels begin at multiples of their alignment.
        Some(_) => copier.put.out.chunk.fixed = 1,
        None => entry = copier.entry()?,
    }
    for block in function.blocks.iter() {
        copier.block(block)?;
    }
    // The label that calls aim at: what runs once at the entry, else the first instruction.
    let first = program.block(function.entry).instrs.first.0 - instrs.first.0;
    let word = entry.unwrap_or_else(|| copier.put.out.chunk.labels[first as usize].word);
    copier.put.out.entry = copier.put.out.chunk.label_at(word, false);
    copier.trampolines()?;
    match kernel {
        Some(kernel) => copier.put.out.starts = copier.starts(kernel)?,
        None => {
            copier.put.append_bodies(chunk, function.vaddr)?;
            copier.put.check_with(function.vaddr, |put| check::seams(env, chunk, &put.out.chunk));
        }
    }
    copier.put.out.copied = instrs.len();
    *renamed = std::mem::take(&mut copier.put.renamed);
    Ok(copier.put.out)
}

/// What is to be known of a block for what is inserted there: each walk over it takes time.
struct Wanted {
    /// Liveness in front of its first instruction.
    first: bool,
    /// Liveness around the instructions from this one on.
    live_from: Option<usize>,
    /// What is under way before these instructions; ascending, the block's end counts as one.
    loads: SmallVec<[usize; 8]>,
    /// Something is added to the block.
    adds: bool,
}

impl Wanted {
    /// `everywhere`: all of it. `at_end`: something is put before the block's last instruction in any case.
    fn of(spots: &[Spot], instrs: InstrIds, everywhere: bool, at_end: bool) -> Wanted {
        let adds = everywhere || at_end || !spots.is_empty();
        let mut wanted = Wanted { first: false, live_from: None, loads: SmallVec::new(), adds };
        if everywhere {
            wanted.live_from = Some(0);
            wanted.loads.extend(0..=instrs.len());
            return wanted;
        }
        for spot in spots {
            let n = (spot.instr.0 - instrs.first.0) as usize;
            let before = matches!(spot.at, Where::Entry | Where::Before);
            match (n, before) {
                (0, true) => wanted.first = true,
                _ => wanted.live_from = Some(wanted.live_from.map_or(n, |from| from.min(n))),
            }
            wanted.loads.push(n);
            if spot.at.is_behind() {
                wanted.loads.push(n + 1);
            }
        }
        if at_end {
            wanted.loads.push(instrs.len() - 1);
        }
        wanted.loads.sort_unstable();
        wanted.loads.dedup();
        wanted
    }
}

/// Why an instruction cannot be taken out.
fn irreplaceable(program: &Program, plans: &PcPlans, i: InstrId, inst: &Inst) -> Option<Rejection> {
    let block = program.block(program.block_of(i));
    let goes_on = matches!(block.terminator, Terminator::Fallthrough | Terminator::CondBranch | Terminator::Trap);
    let flow = block.instrs.last() == Some(i) && !goes_on;
    if flow || plans.at(i).is_some() || inst.info().flags.contains(Flags::GETPC) {
        return Some(Rejection::ControlFlow { inst: inst.to_string() });
    }
    let mut indexed = false;
    Indexing::step(inst, &mut indexed);
    let ends_indexing = inst.info().op() == Op::SSetGprIdxOff;
    let names = indexed || ends_indexing || msb::change(inst) != MsbChange::Keeps;
    names.then(|| Rejection::NamesRegisters { inst: inst.to_string() })
}

impl Copier<'_, '_> {
    fn block(&mut self, block: BlockId) -> Result<(), Refusal> {
        let program = self.task.env.program;
        let b = *program.block(block);
        let insts = program.insts(b.instrs);
        let from = self.known.spots.partition_point(|s| s.instr < b.instrs.first);
        let to = from + self.known.spots[from..].iter().take_while(|s| b.instrs.contains(s.instr)).count();
        let spots: &[Spot] = &self.known.spots[from..to];
        let spots = &spots[spots.iter().take_while(|s| s.at == Where::Entry).count()..];
        let ends = b.terminator == Terminator::End;
        let flushes = ends && !self.task.env.carried.slots.endings.is_empty();
        let wants_liveness = self.known.plans.wants_liveness(b.instrs);
        let wanted = Wanted::of(spots, b.instrs, wants_liveness, flushes);
        let mut points = std::mem::replace(&mut self.known.points, Points::NONE);
        if let Some(from) = wanted.live_from {
            self.known.liveness.points_from(block, from, &mut points);
        }
        let first = if wanted.first { self.known.liveness.before_first(block) } else { Live::NONE };
        let loads = self.known.loads.points_at(block, &wanted.loads);
        let adds = wanted.adds;
        let broken = if !adds {
            Vec::new()
        } else {
            let absent = self.known.absent.clone();
            self.put.seam.begin(Some(Rc::new(move |length| ways(program, block, &absent, length))));
            hints::broken(insts, b.instrs.first.0, spots, flushes)
        };
        let (nothing, nothing_loaded) = (Live::NONE, InFlight::default());
        let mut indexed = self.known.indexing.at_start();
        let mut rest = spots;
        for (k, i) in b.instrs.iter().enumerate() {
            let (inst, vaddr) = (insts[k], program.vaddr(i));
            let falls_in = k > 0 || self.falls_into(block);
            self.put.out.chunk.label(falls_in);
            let point = points.get(k).filter(|_| wanted.live_from.is_some());
            let (before, after) = match point {
                Some(point) => (point.before, point.after),
                None if k == 0 && wanted.first => (&first, &nothing),
                None => (&nothing, &nothing),
            };
            // Where something is inserted everywhere, all points are there.
            let around = |k: usize| match loads.get(k).filter(|point| point.0 == k) {
                Some((_, point)) => &**point,
                None => match loads.binary_search_by_key(&k, |point| point.0) {
                    Ok(found) => &*loads[found].1,
                    Err(_) => &nothing_loaded,
                },
            };
            let (mine, behind) = rest.split_at(rest.iter().take_while(|s| s.instr == i).count());
            rest = behind;
            let at = |w: Where| {
                let mut insertions: SmallVec<[u32; 4]> = SmallVec::new();
                mine.iter().filter(|s| s.at == w).for_each(|s| insertions.push(s.insertion));
                insertions
            };
            let here = Spotted {
                address: vaddr,
                inst: &insts[k],
                live: before,
                loads: around(k),
                previous: k.checked_sub(1).map(|p| &insts[p]),
                next: &insts[k..],
                indexed,
                msb: inst.msb().unwrap_or_default(),
                olds: &[],
            };
            if !mine.is_empty() {
                self.put.bodies(&at(Where::Before), &here)?;
            }
            if flushes && k + 1 == insts.len() {
                self.put.ending(&here)?;
            }
            let mut olds = Vec::new();
            if mine.iter().any(|s| matches!(s.at, Where::After | Where::Edge { .. })) {
                olds = self.put.olds(mine, &here, after)?;
            }
            let instead = if mine.is_empty() { SmallVec::new() } else { at(Where::Instead) };
            if instead.is_empty() {
                let copied = if broken.contains(&k) { self.task.env.machine.ops.nop(1)? } else { inst };
                let at = self.put.out.chunk.here();
                let made = self.instruction(i, &copied, vaddr, after, around(k + 1), &olds)?;
                self.put.out.chunk.origins.push((at, vaddr));
                if made.info().op() != inst.info().op() {
                    self.put.out.chunk.others.push((at, inst));
                }
                // What gives the program counter is followed where the sum behind it is made.
                if adds && !matches!(self.known.plans.at(i), Some(Pc::Kept { .. })) {
                    self.put.seam.follow(&copied);
                }
                Indexing::step(&inst, &mut indexed);
            } else {
                let mut live = *before;
                live.active.union_with(&after.active);
                live.inactive.union_with(&after.inactive);
                let place = Spotted { live: &live, next: &insts[k + 1..], olds: &olds, ..here };
                if self.put.bodies(&instead, &place)?.len() < instead.len() {
                    self.put.out.stays.push(i);
                }
            }
            let last = k + 1 == insts.len();
            if mine.is_empty() && !last {
                continue;
            }
            let msb = insts.get(k + 1).or(Some(&inst)).and_then(Inst::msb).unwrap_or_default();
            let behind = Spotted {
                live: after,
                loads: around(k + 1),
                previous: Some(&insts[k]),
                next: &insts[k + 1..],
                indexed,
                msb,
                olds: &olds,
                ..here
            };
            if last {
                let replaced = !instead.is_empty();
                self.behind_block(block, b.terminator, replaced, mine, &behind)?;
            } else {
                self.put.bodies(&at(Where::After), &behind)?;
                for spot in mine.iter().filter(|s| matches!(s.at, Where::Edge { .. })) {
                    let Where::Edge { to } = spot.at else { continue };
                    self.put.reject(spot.insertion, vaddr, Rejection::NoEdge { from: vaddr, to });
                }
            }
        }
        self.known.points = points;
        self.leave(block, b.terminator)
    }

    /// Control may come into the block from the word before it.
    fn falls_into(&self, block: BlockId) -> bool {
        let program = self.task.env.program;
        let blocks = program.function(program.block(block).func).blocks;
        block == blocks.first || falls_through(program.block(BlockId(block.0 - 1)).terminator)
    }

    /// Where the block falls through, but the next one does not stand behind it in the original, a branch leads there.
    fn leave(&mut self, block: BlockId, terminator: Terminator) -> Result<(), Refusal> {
        let program = self.task.env.program;
        let b = program.block(block);
        if !falls_through(terminator) {
            return Ok(());
        }
        let Some(last) = b.instrs.last() else { return Ok(()) };
        let next = program.vaddr(last) + program.inst(last).size() as u64;
        let following = BlockId(block.0 + 1);
        if program.function(b.func).blocks.contains(following) && program.block_vaddr(following) == next {
            return Ok(());
        }
        if !program.succs(block).iter().any(|to| program.block_vaddr(*to) == next)
            && !program.exits_of(block).iter().any(|exit| exit.target == next)
        {
            // Control never gets here. Were it to, the wave stops, and the host hears of it.
            let guard = self.task.env.machine.ops.stop()?;
            guard.iter().for_each(|inst| self.put.out.chunk.push(inst));
            return Ok(());
        }
        let Some(to) = self.task.map.target(self.task.env.program, self.task.func, next, false) else {
            return Err(Refusal::Reason(format!("control runs off the function's end, to {next:#x}")));
        };
        self.put.branch(to)?;
        Ok(())
    }

    /// The copy of one instruction. Gives what stands for it.
    fn instruction(
        &mut self,
        i: InstrId,
        inst: &Inst,
        vaddr: u64,
        after: &Live,
        loads: &InFlight,
        olds: &Olds,
    ) -> Result<Inst, Refusal> {
        let at = self.put.out.chunk.here();
        match self.known.plans.at(i).copied() {
            Some(Pc::Kept { to }) => {
                self.put.out.chunk.push(inst);
                self.keep_pc(at, inst, to, after, loads, olds)?;
                return Ok(*inst);
            }
            Some(Pc::Folded { getpc_at, to }) => return self.fold(inst, getpc_at, to),
            Some(Pc::FoldedHigh { to }) => return self.fold_high(inst, to),
            Some(Pc::Aimed { to }) => return self.put.branch(to),
            None => {}
        }
        let flags = inst.info().flags;
        if flags.contains(Flags::CALL | Flags::INDIRECT)
            && let Some(call) = self.call_copy(i, inst, vaddr)?
        {
            return Ok(call);
        }
        let Some(target) = inst.branch_target(vaddr) else {
            self.put.out.chunk.push(inst);
            return Ok(*inst);
        };
        let Some(to) = self.task.map.target(self.task.env.program, self.task.func, target, flags.contains(Flags::CALL))
        else {
            return Err(Refusal::Reason(format!("{inst} at {vaddr:#x} leads to {target:#x}, which is not copied")));
        };
        // One that goes as far as it likes (gfx1250) needs no such thing here, where islands are put in.
        if flags.contains(Flags::INDIRECT) {
            return self.put.branch(to);
        }
        self.put.out.chunk.push(inst);
        self.put.out.chunk.fixups.push(Fixup::Branch { at, to });
        Ok(*inst)
    }
}

impl Copier<'_, '_> {
    /// A call through a register pair, which holds the original's address: it goes to the copy, unless the original leads
    /// there, or the call's target is not known. `None` if it is left as it is. Beside the
    /// original, where all that is called so would be missed, it is refused.
    fn call_copy(&mut self, i: InstrId, inst: &Inst, vaddr: u64) -> Result<Option<Inst>, Refusal> {
        let program = self.task.env.program;
        let call = program.call(program.block_of(i)).filter(|call| call.instr == i);
        let beside = self.task.env.plan.beside.is_some();
        let Some((call, target)) = call.and_then(|call| Some((call, call.target?))) else {
            if !beside {
                return Ok(None);
            }
            let what = "calls through a pointer, which leads to the original and not to its instrumented copy";
            return Err(Refusal::Reason(format!("{inst} at {vaddr:#x} {what}")));
        };
        let leads = call.callee.map_or(!beside, |f| !self.task.env.selection.is_apart(f));
        if leads {
            return Ok(None);
        }
        let Some(to) = self.task.map.target(self.task.env.program, self.task.func, target, true) else {
            return Err(Refusal::Reason(format!("{inst} at {vaddr:#x} calls {target:#x}, which is not copied")));
        };
        let info = self.task.env.machine.ops.s_call_b64;
        let at = self.put.out.chunk.here();
        let inst = Inst::build(info, &[Operand::Reg(call.link), Operand::Imm(0)])?;
        self.put.out.chunk.push(&inst);
        self.put.out.chunk.fixups.push(Fixup::Branch { at, to });
        Ok(Some(inst))
    }
}

/// Control may continue at the instruction behind the block.
pub fn falls_through(terminator: Terminator) -> bool {
    use Terminator::*;
    matches!(terminator, Fallthrough | CondBranch | Call | Trap | OffEnd)
}

/// The last `length` instructions on each way that leads to a block, without those that are `absent`: what hazards there
/// may come from. `None` where it is not known what runs before, or where there are too many ways.
fn ways(program: &Program, block: BlockId, absent: &[InstrId], length: usize) -> Option<Vec<Vec<Inst>>> {
    const MOST: usize = 128;
    let found = ways_to(program, block, length, MOST, |i| absent.binary_search(&i).is_ok())?;
    let known = |way: Way| (!way.is_open).then(|| way.instrs.iter().map(|i| *program.inst(*i)).collect());
    found.into_iter().map(known).collect()
}
