//! One function's instructions to blocks and edges.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use luthier_isa::Inst;

use crate::class::{Kind, Role};
use crate::decode::{Pool, View};
use crate::{Issue, IssueKind, Terminator};

/// A function while it is being lifted: numbers are its own, from 0.
#[derive(Default)]
pub(crate) struct Draft {
    pub name: String,
    pub is_kernel: bool,
    pub named: bool,
    /// A kernel that is given the descriptor of its scratch memory, in s\[0:3\].
    pub private_buffer: bool,
    /// A kernel that other code calls or jumps to as well: nothing is known of how it starts.
    pub also_called: bool,
    pub entry: u64,
    pub size: u64,
    /// Its instructions are `pool[instrs]`.
    pub pool: Arc<Pool>,
    pub instrs: Range<usize>,
    pub base: u64,
    /// All its bytes were decoded in a row, into a pool that many functions share.
    pub swept: bool,
    /// The blocks have yet to take account of what was found since.
    pub flow_is_old: bool,
    pub issues: Vec<Issue>,
    pub refusal: Option<String>,
    /// Where a dispatch may start as well.
    pub second_entry: Option<u64>,
    /// Addresses of own instructions, other than the entry, where others come in.
    pub entered: BTreeSet<u64>,
    /// Has an instruction that needs value tracking.
    pub needs_tracking: bool,
    /// What value tracking found, by instruction number: targets of `s_setpc_b64` and `s_swappc_b64`.
    pub targets: BTreeMap<u32, u64>,
    /// `s_setpc_b64` that return, and whether that is proven.
    pub returns: BTreeMap<u32, bool>,
    pub pc_values: Vec<crate::track::Formed>,
    pub flow: Flow,
}

/// Control that leaves a function without a call.
#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    pub block: u32,
    pub target: u64,
    /// By running on into what follows, not by a branch.
    pub falls: bool,
}

/// Blocks and edges of one function.
#[derive(Default)]
pub(crate) struct Flow {
    /// First instruction of each block, and the number of instructions at the end.
    pub starts: Vec<u32>,
    pub terminators: Vec<Terminator>,
    /// `succs[succ_start[b]..succ_start[b + 1]]`
    pub succ_start: Vec<u32>,
    pub succs: Vec<u32>,
    /// Control that leaves.
    pub exits: Vec<Leaving>,
    /// Flow problems found on the way, with the address they are at.
    pub issues: Vec<(u64, IssueKind)>,
    /// The function must be left alone because of one of them.
    pub refusal: Option<String>,
}

impl Flow {
    pub fn blocks(&self) -> usize {
        self.terminators.len()
    }
    pub fn instrs(&self, block: usize) -> Range<usize> {
        self.starts[block] as usize..self.starts[block + 1] as usize
    }
    pub fn succs(&self, block: usize) -> &[u32] {
        &self.succs[self.succ_start[block] as usize..self.succ_start[block + 1] as usize]
    }
    pub fn block_starting_at(&self, instr: u32) -> Option<u32> {
        self.starts[..self.starts.len() - 1].binary_search(&instr).ok().map(|b| b as u32)
    }
    fn block_at(&self, view: View<'_>, vaddr: u64) -> Option<u32> {
        let starts = &self.starts[..self.starts.len() - 1];
        starts.binary_search_by_key(&vaddr, |&i| view.vaddr(i as usize)).ok().map(|b| b as u32)
    }
}

impl Draft {
    pub fn view(&self) -> View<'_> {
        self.pool.view(self.base, self.instrs.clone())
    }
    pub fn insts(&self) -> &[Inst] {
        &self.pool.insts[self.instrs.clone()]
    }
    pub fn roles(&self) -> &[Role] {
        &self.pool.roles[self.instrs.clone()]
    }
    pub fn vaddr(&self, instr: usize) -> u64 {
        self.base + u64::from(self.pool.offsets[self.instrs.start + instr])
    }
    pub fn instr_at(&self, vaddr: u64) -> Option<u32> {
        self.view().instr_at(vaddr)
    }
    /// From the first instruction to the end of the last one.
    pub fn extent(&self) -> Range<u64> {
        self.view().extent().unwrap_or(self.entry..self.entry)
    }
    pub fn contains(&self, vaddr: u64) -> bool {
        self.extent().contains(&vaddr) || (self.entry..self.entry.saturating_add(self.size)).contains(&vaddr)
    }

    /// Splits the instructions into blocks and connects them.
    pub fn build_flow(&mut self) {
        let pool = self.pool.clone();
        self.build_flow_of(pool.view(self.base, self.instrs.clone()));
    }

    /// The same for instructions whose pool is still being filled.
    pub fn build_flow_of(&mut self, view: View<'_>) {
        let n = view.insts.len();
        let mut leader = vec![false; n];
        let mut tracking = false;
        let mut mark = |at: Option<u32>| {
            if let Some(i) = at {
                leader[i as usize] = true;
            }
        };
        mark((n > 0).then_some(0));
        mark(view.instr_at(self.entry));
        mark(self.second_entry.and_then(|vaddr| view.instr_at(vaddr)));
        self.entered.iter().for_each(|&vaddr| mark(view.instr_at(vaddr)));
        self.targets.values().for_each(|&vaddr| mark(view.instr_at(vaddr)));
        for (i, role) in view.roles.iter().enumerate() {
            tracking |= matches!(role.kind, Kind::Getpc | Kind::Setpc | Kind::Swappc);
            if !role.kind.ends_block() {
                continue;
            }
            mark((i + 1 < n).then_some(i as u32 + 1));
            if matches!(role.kind, Kind::Branch | Kind::CondBranch) {
                mark(view.insts[i].branch_target(view.vaddr(i)).and_then(|t| view.instr_at(t)));
            }
        }
        // Around gaps and overlaps.
        for i in (0..n).filter(|_| !self.swept) {
            if i + 1 == n || view.vaddr(i + 1) != view.end_of(i) {
                mark((i + 1 < n).then_some(i as u32 + 1));
                mark(view.instr_at(view.end_of(i)));
            }
        }
        let mut flow = Flow { starts: Vec::new(), succ_start: vec![0], ..Flow::default() };
        flow.starts.extend((0..n as u32).filter(|&i| leader[i as usize]));
        let blocks = flow.starts.len();
        flow.starts.push(n as u32);
        flow.terminators.reserve(blocks);
        for block in 0..blocks {
            let terminator = self.connect(view, &mut flow, block);
            flow.terminators.push(terminator);
            flow.succ_start.push(flow.succs.len() as u32);
        }
        self.flow = flow;
        self.needs_tracking = tracking;
        self.flow_is_old = false;
    }

    /// Adds the edges of one block.
    fn connect(&self, view: View<'_>, flow: &mut Flow, block: usize) -> Terminator {
        let last = flow.starts[block + 1] as usize - 1;
        let (inst, vaddr, next) = (&view.insts[last], view.vaddr(last), view.end_of(last));
        let edge = |flow: &mut Flow, target: u64| -> bool {
            // The next block, as a rule.
            let follows = target == next && last + 1 < view.insts.len() && view.vaddr(last + 1) == next;
            let to = if follows { Some(block as u32 + 1) } else { flow.block_at(view, target) };
            if let Some(to) = to {
                // Both ways of a conditional branch may lead to the next block.
                let own = flow.succ_start[block] as usize;
                if !flow.succs[own..].contains(&to) {
                    flow.succs.push(to);
                }
                return true;
            }
            let before = view.upto(target);
            if before > 0 && view.end_of(before - 1) > target {
                let with = view.vaddr(before - 1);
                flow.issues.push((vaddr, IssueKind::Overlap { with }));
                flow.refusal
                    .get_or_insert_with(|| format!("control at {vaddr:#x} leads into the instruction at {with:#x}"));
            }
            flow.exits.push(Leaving { block: block as u32, target, falls: target == next });
            false
        };
        let kind = view.roles[last].kind;
        match kind {
            Kind::Branch | Kind::CondBranch => {
                let conditional = kind == Kind::CondBranch;
                match inst.branch_target(vaddr) {
                    Some(target) => {
                        edge(flow, target);
                    }
                    None => {
                        flow.refusal.get_or_insert_with(|| format!("{inst} at {vaddr:#x} goes to an unknown place"));
                        flow.issues.push((vaddr, IssueKind::UnresolvedJump { why: crate::why::Unresolved::Lost }));
                    }
                }
                if !conditional {
                    return Terminator::Branch;
                }
                if !edge(flow, next) {
                    flow.issues.push((vaddr, IssueKind::FallsOffEnd { target: next }));
                }
                Terminator::CondBranch
            }
            Kind::CallDirect | Kind::Swappc => {
                edge(flow, next);
                Terminator::Call
            }
            Kind::Setpc => match (self.targets.get(&(last as u32)), self.returns.get(&(last as u32))) {
                (Some(&target), _) => {
                    edge(flow, target);
                    Terminator::Jump
                }
                (None, Some(&proven)) => Terminator::Return { proven },
                (None, None) => Terminator::UnknownJump,
            },
            Kind::End => Terminator::End,
            Kind::Trap => {
                edge(flow, next);
                Terminator::Trap
            }
            Kind::Unsupported => {
                let mnemonic = inst.info().mnemonic.to_owned();
                flow.refusal.get_or_insert_with(|| format!("{mnemonic} at {vaddr:#x} cannot be followed"));
                flow.issues.push((vaddr, IssueKind::Unsupported { mnemonic }));
                Terminator::Unsupported
            }
            _ => {
                if edge(flow, next) {
                    return Terminator::Fallthrough;
                }
                flow.issues.push((vaddr, IssueKind::FallsOffEnd { target: next }));
                Terminator::OffEnd
            }
        }
    }
}
