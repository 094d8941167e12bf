//! Who calls whom, and which functions share a wave.

use luthier_isa::{Reg, RegSet};
use rayon::prelude::*;

use crate::class::Kind;
use crate::pending::InFlight;
use crate::{FuncId, Program};

/// Call edges (calls and jumps to other functions) and the connected components of the graph.
#[derive(Default)]
pub(crate) struct CallGraph {
    callees: Vec<Vec<FuncId>>,
    callers: Vec<Vec<FuncId>>,
    /// Calls or jumps to somewhere unknown.
    open: Vec<bool>,
    /// Smallest function of the component.
    root: Vec<FuncId>,
    members: std::collections::HashMap<FuncId, Component>,
}

#[derive(Default)]
struct Component {
    functions: Vec<FuncId>,
    /// Computed when first asked for.
    in_flight: std::sync::OnceLock<InFlight>,
    touched: std::sync::OnceLock<Touched>,
}

/// Register units that instructions touch, and those of them that are written.
struct Touched {
    used: RegSet,
    written: RegSet,
}

impl CallGraph {
    pub fn of(program: &Program) -> CallGraph {
        let n = program.functions.len();
        let mut graph = CallGraph {
            callees: vec![Vec::new(); n],
            callers: vec![Vec::new(); n],
            open: vec![false; n],
            root: (0..n as u32).map(FuncId).collect(),
            members: Default::default(),
        };
        let calls = program.calls.iter().map(|c| (program.block(c.block).func, c.callee));
        let exits = program.exits.iter().map(|e| (program.block(e.block).func, e.callee));
        let jumps =
            program.blocks.iter().filter(|b| b.terminator == crate::Terminator::UnknownJump).map(|b| (b.func, None));
        for (from, to) in calls.chain(exits).chain(jumps) {
            match to {
                Some(to) => {
                    graph.callees[from.index()].push(to);
                    graph.callers[to.index()].push(from);
                }
                None => graph.open[from.index()] = true,
            }
        }
        for list in graph.callees.iter_mut().chain(&mut graph.callers) {
            list.sort_unstable();
            list.dedup();
        }
        // A call to an unknown target may reach every function whose address is taken.
        let strangers: Vec<FuncId> = program.function_ids().filter(|f| program.is_address_taken(*f)).collect();
        let mut open = None;
        for f in program.function_ids() {
            for to in graph.callees[f.index()].clone() {
                graph.join(f, to);
            }
            if graph.open[f.index()]
                && let Some(other) = open.replace(f).filter(|_| !strangers.is_empty())
            {
                graph.join(f, other);
            }
        }
        if let Some(f) = open {
            strangers.iter().for_each(|&s| graph.join(f, s));
        }
        for f in program.function_ids() {
            let root = graph.find(f);
            graph.root[f.index()] = root;
            graph.members.entry(root).or_default().functions.push(f);
        }
        graph
    }
    fn find(&mut self, mut f: FuncId) -> FuncId {
        while self.root[f.index()] != f {
            let up = self.root[self.root[f.index()].index()];
            self.root[f.index()] = up;
            f = up;
        }
        f
    }
    fn join(&mut self, a: FuncId, b: FuncId) {
        let (a, b) = (self.find(a), self.find(b));
        let (low, high) = (a.min(b), a.max(b));
        self.root[high.index()] = low;
    }
}

impl Program {
    /// The functions that `func` calls or jumps to, as far as known.
    pub fn callees(&self, func: FuncId) -> &[FuncId] {
        &self.graph.callees[func.index()]
    }
    /// The functions known to call or jump to `func`.
    pub fn callers(&self, func: FuncId) -> &[FuncId] {
        &self.graph.callers[func.index()]
    }
    /// The function itself has a call or jump to somewhere unknown.
    pub fn has_unresolved(&self, func: FuncId) -> bool {
        self.graph.open[func.index()]
    }
    /// Every function that may run in one wave with `func`, callers and callees of any distance, itself included. An
    /// unresolved call may reach every function whose address is taken.
    pub fn component(&self, func: FuncId) -> &[FuncId] {
        &self.graph.members[&self.graph.root[func.index()]].functions
    }
    /// Where [`crate::pending`] keeps what a component may leave under way.
    pub(crate) fn component_cache(&self, func: FuncId) -> &std::sync::OnceLock<InFlight> {
        &self.graph.members[&self.graph.root[func.index()]].in_flight
    }
    /// `func` and what it may call, at any distance.
    pub fn reachable(&self, func: FuncId) -> Vec<FuncId> {
        let mut seen = std::collections::BTreeSet::from([func]);
        let mut work = vec![func];
        while let Some(f) = work.pop() {
            let strangers = self.has_unresolved(f).then(|| self.function_ids().filter(|g| self.is_address_taken(*g)));
            for g in self.callees(f).iter().copied().chain(strangers.into_iter().flatten()) {
                if seen.insert(g) {
                    work.push(g);
                }
            }
        }
        seen.into_iter().collect()
    }
    /// Every register unit that an instruction of the function's component touches, register indexing included.
    pub fn used_registers(&self, func: FuncId) -> RegSet {
        self.touched(func).used
    }
    /// The same of those that are written. Registers that indexing may reach are left out.
    pub fn written_registers(&self, func: FuncId) -> RegSet {
        self.touched(func).written
    }
    /// Works out on all cores what [`Program::used_registers`] and [`Program::written_registers`] tell of every function.
    pub fn look_at_registers(&self) {
        let components: Vec<&Component> = self.graph.members.values().collect();
        components.into_par_iter().for_each(|members| {
            members.touched.get_or_init(|| self.touched_by(&members.functions));
        });
    }
    fn touched(&self, func: FuncId) -> &Touched {
        let members = &self.graph.members[&self.graph.root[func.index()]];
        members.touched.get_or_init(|| self.touched_by(&members.functions))
    }
    fn touched_by(&self, functions: &[FuncId]) -> Touched {
        let (mut used, mut written) = (RegSet::EMPTY, RegSet::EMPTY);
        for &f in functions {
            for i in self.function_instrs(f).iter() {
                self.for_each_access(i, |a| {
                    used.insert(a.reg);
                    if a.access.writes() {
                        written.insert(a.reg);
                    }
                });
                match self.kind(i) {
                    Kind::GprIdxOn | Kind::GprIdxMode | Kind::VectorRelative => {
                        (0..self.allocated_vgprs).for_each(|n| used.insert(Reg::vgpr(n)))
                    }
                    Kind::ScalarRelative => (0..102).for_each(|n| used.insert(Reg::sgpr(n))),
                    _ => {}
                }
            }
        }
        Touched { used, written }
    }
}

/// How far each register file is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct RegisterCounts {
    /// One more than the highest number used.
    pub sgprs: u16,
    pub vgprs: u16,
    pub agprs: u16,
}

impl RegisterCounts {
    pub fn of(used: &RegSet) -> RegisterCounts {
        let mut counts = RegisterCounts::default();
        for reg in used.iter() {
            let file = match reg {
                r if r.is_sgpr() => &mut counts.sgprs,
                r if r.is_vgpr() => &mut counts.vgprs,
                r if r.is_agpr() => &mut counts.agprs,
                _ => continue,
            };
            *file = (*file).max(reg.number() + 1);
        }
        counts
    }
}
