//! The functions' own tables to the program's.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use luthier_isa::{Field, Operand, Reg, RegRange};
use rayon::prelude::*;

use crate::class::Kind;
use crate::decode::Pool;
use crate::flow::Draft;
use crate::lift::{Code, call_target, starts_with_padding};
use crate::live::{Models, NARROW, Summaries, WIDE, is_narrow};
use crate::pcrel::{PcValue, pair};
use crate::place::{Place, Places};
use crate::why::unresolved;
use crate::{
    Block, BlockId, BlockIds, Call, Exit, FuncId, Function, FunctionKind, Gap, InstrId, InstrIds, Issue, IssueKind,
    Program, Resolution, Terminator,
};

/// `drafts` by entry address.
pub(crate) fn assemble(
    drafts: Vec<Draft>,
    code: &Code<'_>,
    places: &Places<'_>,
    gaps: Vec<Gap>,
    issues: Vec<Issue>,
) -> Program {
    let blocks = drafts.iter().map(|d| d.flow.blocks()).sum::<usize>();
    let edges = drafts.iter().map(|d| d.flow.succs.len()).sum();
    let entries: Vec<(u64, u64)> = drafts.iter().map(|d| (d.entry, d.entry + d.size)).collect();
    let names: Vec<String> = drafts.iter().map(|d| d.name.clone()).collect();
    let function_at = |vaddr: u64| entries.binary_search_by_key(&vaddr, |e| e.0).ok().map(|i| FuncId(i as u32));
    let place_of = |vaddr: u64| -> Place {
        let i = entries.partition_point(|e| e.0 <= vaddr);
        match i.checked_sub(1).map(|i| (entries[i], &names[i])) {
            Some(((entry, _), name)) if entry == vaddr => Place::Function { name: name.clone() },
            Some(((entry, end), name)) if vaddr < end => Place::Code { function: name.clone(), offset: vaddr - entry },
            _ => match places.pointer_at(vaddr) {
                Some(target) => Place::Slot {
                    section: places.section(vaddr).map_or(String::new(), |s| s.name.clone()),
                    target,
                    names: match function_at(target) {
                        Some(f) => names[f.index()].clone(),
                        None => places.name_data(target).to_string(),
                    },
                },
                None => places.name_data(vaddr),
            },
        }
    };
    let mut p = Program {
        mode: code.mode,
        classes: code.classes,
        base: code.base(),
        allocated_vgprs: code.allocated_vgprs,
        functions: Vec::with_capacity(drafts.len()),
        blocks: Vec::with_capacity(blocks),
        succ_start: Vec::with_capacity(blocks + 1),
        succs: Vec::with_capacity(edges),
        pred_start: Vec::new(),
        preds: Vec::new(),
        insts: Vec::new(),
        offsets: Vec::new(),
        roles: Vec::new(),
        calls: Vec::new(),
        exits: Vec::new(),
        pc_values: Vec::new(),
        address_taken: Vec::new(),
        wild_jumps: false,
        gaps,
        issues,
        graph: Default::default(),
        summaries: Summaries::none(code.mode.target()),
        origins: None,
    };
    p.succ_start.push(0);
    let mut parts = Parts::default();
    let falls: Vec<bool> = drafts.iter().flat_map(|d| &d.flow.exits).map(|exit| exit.falls).collect();
    for (index, draft) in drafts.into_iter().enumerate() {
        add(&mut p, &mut parts, FuncId(index as u32), draft, &function_at, &place_of);
    }
    Pool { insts: p.insts, offsets: p.offsets, roles: p.roles } = parts.join();
    connect_back(&mut p);
    crate::ends::prune(&mut p, &falls, |vaddr| !starts_with_padding(code, vaddr));
    p.wild_jumps = has_wild_jumps(&p);
    match is_narrow(code.mode.target()) {
        true => settle_calls::<NARROW>(&mut p, places),
        false => settle_calls::<WIDE>(&mut p, places),
    }
    p.graph = crate::graph::CallGraph::of(&p);
    report(&mut p, code);
    p.issues.sort_by_key(|i| i.vaddr);
    p
}

fn add(
    p: &mut Program,
    parts: &mut Parts,
    func: FuncId,
    draft: Draft,
    function_at: &impl Fn(u64) -> Option<FuncId>,
    place_of: &impl Fn(u64) -> Place,
) {
    let (first_block, first_instr) = (p.blocks.len() as u32, parts.len as u32);
    let flow = &draft.flow;
    for block in 0..flow.blocks() {
        let instrs = InstrIds::new(first_instr + flow.starts[block], first_instr + flow.starts[block + 1]);
        p.blocks.push(Block { func, instrs, terminator: flow.terminators[block] });
        p.succs.extend(flow.succs(block).iter().map(|s| BlockId(first_block + s)));
        p.succ_start.push(p.succs.len() as u32);
        if flow.terminators[block] == Terminator::Call {
            let last = flow.starts[block + 1] as usize - 1;
            let inst = &draft.insts()[last];
            let target = call_target(&draft, last);
            let link = match inst.operand_in(Field::Sdst) {
                Some(Operand::Reg(range)) => range,
                _ => RegRange::new(Reg::sgpr(30), 2),
            };
            p.calls.push(Call {
                block: BlockId(first_block + block as u32),
                instr: InstrId(first_instr + last as u32),
                resolution: match (draft.roles()[last].kind, target) {
                    (Kind::CallDirect, Some(_)) => Resolution::Direct,
                    (_, Some(_)) => Resolution::Tracked,
                    (_, None) => Resolution::Unresolved,
                },
                target,
                callee: target.and_then(function_at),
                link,
            });
        }
    }
    p.exits.extend(flow.exits.iter().map(|e| Exit {
        block: BlockId(first_block + e.block),
        target: e.target,
        callee: function_at(e.target),
    }));
    p.pc_values.extend(draft.pc_values.iter().map(|f| PcValue {
        at: InstrId(first_instr + f.at),
        source: InstrId(first_instr + f.source),
        pair: pair(f.low),
        vaddr: f.vaddr,
        place: f.vaddr.map(place_of),
    }));
    let entry = draft.instr_at(draft.entry).and_then(|i| flow.block_starting_at(i)).unwrap_or(0);
    let second_entry = draft.second_entry.filter(|v| draft.instr_at(*v).is_some());
    p.issues.extend(draft.issues);
    let flow_issues = draft.flow.issues.into_iter();
    p.issues.extend(flow_issues.map(|(vaddr, kind)| Issue { vaddr, function: draft.name.clone(), kind }));
    p.functions.push(Function {
        name: draft.name,
        vaddr: draft.entry,
        size: draft.size,
        kind: if draft.is_kernel { FunctionKind::Kernel } else { FunctionKind::Device },
        named: draft.named,
        blocks: BlockIds::new(first_block, p.blocks.len() as u32),
        entry: BlockId(first_block + entry),
        second_entry,
        refusal: draft.refusal.or(draft.flow.refusal),
        entered_inside: draft.entered.into_iter().collect(),
    });
    parts.add(draft.pool, draft.instrs);
}

/// Where the program's instructions are, in order, until they are put together.
#[derive(Default)]
struct Parts {
    pieces: Vec<(Arc<Pool>, Range<usize>)>,
    /// Instructions so far.
    len: usize,
}

impl Parts {
    fn add(&mut self, pool: Arc<Pool>, range: Range<usize>) {
        self.len += range.len();
        match self.pieces.last_mut() {
            Some((last, before)) if Arc::ptr_eq(last, &pool) && before.end == range.start => before.end = range.end,
            _ => self.pieces.push((pool, range)),
        }
    }
    /// One table. Where there is only one piece, it is taken as it is: copying it would take as long as decoding it.
    fn join(mut self) -> Pool {
        if let [(pool, range)] = self.pieces.as_mut_slice()
            && *range == (0..pool.len())
            && let Some(pool) = Arc::get_mut(pool)
        {
            return std::mem::take(pool);
        }
        // A few large pieces are copied on all cores, many small ones in a row.
        if self.len < 1 << 14 || self.pieces.len() > 64 {
            let mut all = Pool::default();
            all.reserve(self.len);
            self.pieces.into_iter().for_each(|(pool, range)| all.extend(&pool, range));
            return all;
        }
        let mut ends = Vec::with_capacity(self.pieces.len());
        self.pieces.iter().for_each(|(_, r)| ends.push(ends.last().unwrap_or(&0) + r.len()));
        let place = |i: usize| {
            let piece = ends.partition_point(|end| *end <= i);
            let (pool, range) = &self.pieces[piece];
            (pool, range.end - (ends[piece] - i))
        };
        let all = (0..self.len).into_par_iter();
        Pool {
            insts: all.clone().map(&place).map(|(pool, at)| pool.insts[at]).collect(),
            offsets: all.clone().map(&place).map(|(pool, at)| pool.offsets[at]).collect(),
            roles: all.map(&place).map(|(pool, at)| pool.roles[at]).collect(),
        }
    }
}

fn has_wild_jumps(p: &Program) -> bool {
    let jumps: BTreeSet<u64> = p
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, b)| b.terminator == Terminator::Jump)
        .flat_map(|(b, _)| p.succs(BlockId(b as u32)).iter().map(|s| p.block_vaddr(*s)))
        .collect();
    let inside = |v: &PcValue| matches!(v.place, Some(Place::Code { .. }));
    p.blocks.iter().any(|b| matches!(b.terminator, Terminator::UnknownJump | Terminator::Unsupported))
        || p.pc_values.iter().any(|v| v.vaddr.is_none() || inside(v) && !v.vaddr.is_some_and(|t| jumps.contains(&t)))
}

/// Address-taken functions and summaries depend on each other: the more is live behind calls, the more addresses may
/// have a reader there; the more addresses are taken, the more is live behind calls.
fn settle_calls<const WORDS: usize>(p: &mut Program, places: &Places<'_>) {
    let mut models = Models::<WORDS>::new();
    let mut summaries = Summaries::of_callees(p, &mut models);
    let (mut taken, uses) = crate::taken::uses(p, places, &summaries);
    loop {
        summaries.look_behind_calls(p, &taken, &mut models);
        let before = taken.clone();
        for u in uses.iter().filter(|u| u.at_return.intersects(&summaries.at_return(u.func))) {
            u.names.iter().for_each(|f| taken[f.index()] = true);
        }
        if taken == before {
            break;
        }
    }
    p.summaries = summaries;
    p.address_taken = taken;
}

/// Predecessors from successors.
fn connect_back(p: &mut Program) {
    let mut start = vec![0u32; p.blocks.len() + 1];
    p.succs.iter().for_each(|s| start[s.index() + 1] += 1);
    for b in 0..p.blocks.len() {
        start[b + 1] += start[b];
    }
    let mut next = start.clone();
    let mut preds = vec![BlockId(0); p.succs.len()];
    for b in 0..p.blocks.len() {
        for s in p.succ_start[b]..p.succ_start[b + 1] {
            let to = p.succs[s as usize].index();
            preds[next[to] as usize] = BlockId(b as u32);
            next[to] += 1;
        }
    }
    (p.pred_start, p.preds) = (start, preds);
}

/// Issues of the program as a whole: everything unresolved, once, with its place.
fn report(p: &mut Program, code: &Code<'_>) {
    let mut found: Vec<(u64, FuncId, IssueKind)> = Vec::new();
    for call in &p.calls {
        let at = (p.vaddr(call.instr), p.block(call.block).func);
        match (call.target, call.callee) {
            (None, _) => {
                let why = unresolved(p, call.block);
                found.push((at.0, at.1, IssueKind::UnresolvedCall { why }));
            }
            (Some(target), None) => found.push((at.0, at.1, outside(code, target))),
            _ => {}
        }
    }
    for exit in &p.exits {
        let block = p.block(exit.block);
        // A function that runs off its end is reported as such.
        let falls = matches!(block.terminator, Terminator::OffEnd | Terminator::Call | Terminator::Trap);
        if exit.callee.is_none() && !falls {
            let at = block.instrs.last().map_or(0, |i| p.vaddr(i));
            found.push((at, block.func, outside(code, exit.target)));
        }
    }
    for (id, block) in (0..).map(BlockId).zip(&p.blocks) {
        let at = block.instrs.last().map_or(0, |i| p.vaddr(i));
        match block.terminator {
            Terminator::UnknownJump => {
                found.push((at, block.func, IssueKind::UnresolvedJump { why: unresolved(p, id) }));
            }
            Terminator::Return { proven: false } => found.push((at, block.func, IssueKind::UnprovenReturn)),
            _ => {}
        }
    }
    for (vaddr, func, kind) in found {
        let function = p.function(func).name.clone();
        p.issues.push(Issue { vaddr, function, kind });
    }
}

fn outside(code: &Code<'_>, target: u64) -> IssueKind {
    match code.ranges.iter().any(|r| r.0.contains(&target)) {
        true => IssueKind::TargetOutside { target },
        false => IssueKind::TargetNowhere { target },
    }
}
