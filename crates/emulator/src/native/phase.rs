//! A run's phases: what comes next begins when all lanes have done what comes before.

use std::ops::Range;

use super::LONGEST;
use super::forms::{self, Branch, Hardware, Scalar, Store};
use super::graph::Graph;
use super::machine::Machine;
use crate::mem::smem::WordLoad;
use crate::mode::Mode;
use crate::op::{Kind, Op};

/// Some whole instructions of a run.
pub struct Phase {
    /// Their micro-ops, of the run's.
    pub ops: Range<usize>,
    pub what: What,
}

#[derive(Clone)]
pub enum What {
    /// What each lane computes, without regard to the others.
    Lanes(Graph),
    Store(Store),
    Scalar(Scalar),
    /// Words from device memory to scalar registers.
    ScalarLoad(WordLoad),
    Hardware(Hardware),
    /// Back to the run's beginning, or out of it.
    Branch(Branch),
    /// Onwards to the phase that begins at a micro-op of the run, or behind all, past those in between.
    Skip(Branch, usize),
    /// What the wave has stored is seen by all before what comes next ([`crate::scalar::wait`]).
    Fence,
}

impl What {
    /// What an instruction's micro-ops are.
    fn of(ops: &[Op]) -> Option<What> {
        let [op] = ops else { return forms::hardware(ops).map(What::Hardware) };
        if op.kind == Kind::FENCE {
            return Some(What::Fence);
        }
        let store = || forms::store(op).map(What::Store);
        let load = || forms::scalar_load(op).map(What::ScalarLoad);
        let hardware = || forms::hardware(ops).map(What::Hardware);
        forms::scalar_form(op).map(What::Scalar).or_else(load).or_else(store).or_else(hardware)
    }
}

impl What {
    /// Whether lanes load or store.
    pub fn moves_lanes(&self) -> bool {
        match self {
            What::Lanes(graph) => graph.accesses(),
            What::Store(_) => true,
            _ => false,
        }
    }
}

/// Where the next instruction's micro-ops begin.
pub fn after_instruction(ops: &[Op], at: usize) -> usize {
    let inst = ops[at].inst;
    ops[at..].iter().position(|op| op.inst != inst).map_or(ops.len(), |more| at + more)
}

/// A branch onwards among micro-ops: which one it is, and which one comes next if it is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Skip {
    pub at: usize,
    pub to: usize,
}

impl Skip {
    /// The same among those of a run, if the run has all of it.
    pub fn within(self, run: &Range<usize>) -> Option<Skip> {
        let is_inside = run.start <= self.at && self.to <= run.end;
        is_inside.then(|| Skip { at: self.at - run.start, to: self.to - run.start })
    }
}

/// What native code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    pub wave64: bool,
    /// f32 arithmetic has zeros for denormals ([`crate::mode::Mode::flushes32`]).
    pub flushes: bool,
    /// Accesses to device memory are native.
    pub global: bool,
    /// The last micro-op is a branch to the first one.
    pub loops: bool,
    /// A branch forward inside the micro-ops: a run holds the branch and its target, or neither.
    pub skip: Option<Skip>,
    /// Behind them the wave ends.
    pub ends: bool,
    /// Lanes of a vector.
    pub lanes: usize,
    /// Micro-ops of a phase of lanes at most, if that is more than an instruction's.
    pub longest: usize,
}

impl Terms {
    /// Of waves whose MODE is this one.
    pub fn new(machine: Machine, wave64: bool, mode: Mode, loops: bool) -> Terms {
        let (flushes, lanes) = (mode.flushes32(), machine.lanes() as usize);
        Terms { wave64, flushes, global: true, loops, skip: None, ends: false, lanes, longest: LONGEST }
    }

    fn excludes(self, op: &Op) -> bool {
        op.kind.is_of_memory() && !self.global
    }
}

/// The run of whole instructions that begins at a micro-op, and its phases.
pub fn next_run(ops: &[Op], start: usize, terms: Terms) -> (usize, Vec<Phase>) {
    let (mut phases, mut at) = (Vec::new(), start);
    while at < ops.len() && at - start < LONGEST {
        // Where a branch leads to, a phase begins.
        let border = terms.skip.map(|skip| skip.to).filter(|&to| at < to);
        let longest = border.unwrap_or(usize::MAX).min(start + LONGEST).min(at + terms.longest);
        let (end, graph) = lanes(ops, at, longest, terms);
        let has_lanes = end > at;
        if has_lanes {
            phases.push(Phase { ops: at - start..end - start, what: What::Lanes(graph) });
            at = end;
        }
        if border == Some(at) {
            continue;
        }
        let Some(op) = ops.get(at) else { break };
        let end = after_instruction(ops, at);
        if let Some(skip) = terms.skip.filter(|skip| skip.at == at)
            && end == at + 1
            && let Some(branch) = forms::branch(op, terms.wave64)
        {
            phases.push(Phase { ops: at - start..end - start, what: What::Skip(branch, skip.to - start) });
            at = end;
            continue;
        }
        if terms.loops
            && start == 0
            && end == ops.len()
            && end == at + 1
            && let Some(branch) = forms::branch(op, terms.wave64)
        {
            phases.push(Phase { ops: at..end, what: What::Branch(branch) });
            at = end;
            break;
        }
        match What::of(&ops[at..end]).filter(|_| !terms.excludes(op)) {
            Some(what) => phases.push(Phase { ops: at - start..end - start, what }),
            // What reads a mask as a whole, or overwrites what the lanes read, may begin another phase of lanes.
            None if has_lanes => continue,
            None => break,
        }
        at = end;
    }
    if let Some(skip) = terms.skip.filter(|skip| at < skip.to)
        && let Some(number) = phases.iter().position(|phase| matches!(phase.what, What::Skip(..)))
    {
        phases.truncate(number);
        at = skip.at;
    }
    (at, phases)
}

/// Adds what a micro-op does to the graph of a phase without stores.
fn add(graph: &mut Graph, op: &Op, wave64: bool) -> Result<(), forms::Foreign> {
    if op.kind == Kind::FENCE {
        graph.fences = true;
        return Ok(());
    }
    forms::add(graph, op, wave64)
}

/// The instructions without stores that begin at a micro-op.
fn lanes(ops: &[Op], start: usize, longest: usize, terms: Terms) -> (usize, Graph) {
    let empty = || Graph::new(terms.flushes, terms.lanes);
    let wave64 = terms.wave64;
    let graph_of = |range: Range<usize>| {
        let mut graph = empty();
        ops[range].iter().try_for_each(|op| add(&mut graph, op, wave64)).map(|()| graph)
    };
    let mut graph = empty();
    let mut end = start;
    while end < ops.len() && end < longest {
        let next = after_instruction(ops, end);
        // What the wave has stored before may as well be seen by all before this phase: nothing in it stores.
        let is_foreign =
            |op| terms.excludes(op) || end == start && op.kind == Kind::FENCE || add(&mut graph, op, wave64).is_err();
        if ops[end..next].iter().any(is_foreign) {
            // Without what the foreign instruction has left in the graph.
            graph = graph_of(start..end).unwrap_or_default();
            break;
        }
        end = next;
        if graph.writes_exec() {
            break;
        }
    }
    graph.rows.retain(|&row, _| !forms::is_temporary(row));
    (end, graph)
}
