//! Where to count so that a total over the blocks of a function is exact and few increments run. `luthier.counting` says how
//! that is, and sums up on the tree what is no number.

use std::collections::HashSet;

use luthier_isa::op::Op;
use luthier_lifter::{BlockId, FuncId, LoopForest, Program, Terminator};
use pyo3::prelude::*;

use super::{PyBlock, PyFunction};
use crate::error::guard;

/// How often a loop is taken to go round.
const ROUNDS: f64 = 8.0;
/// Cost of counting on an edge in instructions: beside the two of the addition, code for a way of its own needs a branch.
const IN_LINE: f64 = 2.0;
const OUT_OF_LINE: f64 = 3.0;
/// Code for waves without an active lane hardly ever runs.
const NO_LANE: f64 = 0.1;

/// Addresses of those functions from which a wave may end, they themselves or what they call.
#[pyfunction]
pub fn may_not_return(functions: Vec<PyRef<'_, PyFunction>>) -> HashSet<u64> {
    ending(functions.iter().map(|function| (&function.program.program, function.id)))
}

pub(super) fn ending<'p>(functions: impl Iterator<Item = (&'p Program, FuncId)>) -> HashSet<u64> {
    let mut ends = HashSet::new();
    let mut open: Vec<(u64, Vec<u64>)> = Vec::new();
    for (program, id) in functions {
        let ending = |b| matches!(program.block(b).terminator, Terminator::End | Terminator::Trap);
        let vaddr = |f: FuncId| program.function(f).vaddr;
        if program.has_unresolved(id) || program.function(id).blocks.iter().any(ending) {
            ends.insert(vaddr(id));
        } else {
            open.push((vaddr(id), program.callees(id).iter().map(|&f| vaddr(f)).collect()));
        }
    }
    loop {
        let before = ends.len();
        open.retain(|(address, callees)| {
            let may_end = callees.iter().any(|callee| ends.contains(callee));
            if may_end {
                ends.insert(*address);
            }
            !may_end
        });
        if ends.len() == before {
            return ends;
        }
    }
}

/// What to add, and where: the block (none: where the function is entered), and the successor of an edge.
type Increment = (i64, Option<PyBlock>, Option<PyBlock>);

/// The fewest increments that sum up the lengths of all blocks that run.
#[pyfunction]
pub fn length_increments(
    py: Python<'_>,
    function: PyRef<'_, PyFunction>,
    ending: HashSet<u64>,
) -> PyResult<Vec<Increment>> {
    let (shared, id) = (function.program.clone(), function.id);
    let first = shared.program.function(id).blocks.first.0;
    let found = guard(py, || Ok(of_lengths(&shared.program, id, &ending)))?;
    let block = |n: Option<u32>| n.map(|n| PyBlock { program: shared.clone(), id: BlockId(first + n) });
    Ok(found.into_iter().map(|(sum, (at, to))| (sum, block(at), block(to))).collect())
}

/// The number of a block within its function, and that of its successor.
type Numbers = (Option<u32>, Option<u32>);

/// What to add up to the lengths of all blocks of a function that run, and where.
pub(super) fn of_lengths(program: &Program, id: FuncId, ending: &HashSet<u64>) -> Vec<(i64, Numbers)> {
    let first = program.function(id).blocks.first.0;
    let (graph, chords) = Graph::of(program, id, ending);
    let length = |block: u32| program.block(BlockId(first + block)).instrs.len() as i64;
    let of = |amount: Amount| amount.map_or(0, |(block, sign)| sign * length(block));
    let mut behind = vec![0; graph.tree.len()];
    for (node, parent, amount) in graph.walk() {
        behind[node as usize] = behind[parent as usize] + of(amount);
    }
    let sum = |e: &Edge| behind[e.from as usize] + of(e.amount) - behind[e.to as usize];
    chords.iter().map(|edge| (sum(edge), edge.place)).filter(|(sum, _)| *sum != 0).collect()
}

/// A node, the one before it on the way from the root, and the amount on the step from there.
type Step = (u32, u32, Amount);
/// An edge to count on: its ends, its amount, its block and successor by their numbers.
type Chord = (u32, u32, Amount, (Option<u32>, Option<u32>));

/// The spanning tree, from its roots on, and the edges outside of it.
#[pyfunction]
pub fn counting_tree(
    py: Python<'_>,
    function: PyRef<'_, PyFunction>,
    ending: HashSet<u64>,
) -> PyResult<(Vec<Step>, Vec<Chord>)> {
    let (shared, id) = (function.program.clone(), function.id);
    guard(py, || {
        let (graph, chords) = Graph::of(&shared.program, id, &ending);
        let chords = chords.into_iter().map(|e| (e.from, e.to, e.amount, e.place));
        Ok((graph.walk(), chords.collect()))
    })
}

/// The amount of a block, by its number within the function, added or taken away.
type Amount = Option<(u32, i64)>;

struct Edge {
    cost: f64,
    from: u32,
    to: u32,
    amount: Amount,
    /// Numbers of a block and of its successor, as an increment has them.
    place: (Option<u32>, Option<u32>),
}

/// Edges of a spanning tree are to have no increments. Block i is the edge from 2i to 2i + 1; the last node stands for all that
/// is outside of the function.
struct Graph {
    /// Of the tree's parts.
    leader: Vec<u32>,
    /// Neighbours, and the amount on the way there.
    tree: Vec<Vec<(u32, Amount)>>,
}

impl Graph {
    /// The tree, and the edges outside of it, the dearest first.
    fn of(program: &Program, id: FuncId, ending: &HashSet<u64>) -> (Graph, Vec<Edge>) {
        let function = program.function(id);
        let shape = Shape::of(program, id);
        let count = shape.successors.len() as u32;
        let (root, entry) = (2 * count, shape.entry);
        let mut graph = Graph { leader: (0..=root).collect(), tree: vec![Vec::new(); root as usize + 1] };
        let mut edges = Vec::with_capacity(3 * count as usize);
        let callees = program.callees(id).iter();
        let calls_may_end =
            program.has_unresolved(id) || callees.into_iter().any(|&f| ending.contains(&program.function(f).vaddr));
        let ways = shape.frequencies(program, id);
        for (block, successors) in (0..count).zip(&shape.successors) {
            let i = block as usize;
            let taken = shape.taken[i];
            let leaving = successors.is_empty() // behind a call that never comes back, or where nothing is behind
                || match program.block(shape.id(block)).terminator {
                    Terminator::Call => calls_may_end,
                    Terminator::CondBranch => taken.is_none(),
                    Terminator::Fallthrough | Terminator::Branch | Terminator::Jump => false,
                    Terminator::Return { .. }
                    | Terminator::UnknownJump
                    | Terminator::End
                    | Terminator::Trap
                    | Terminator::Unsupported
                    | Terminator::OffEnd => true,
                };
            if leaving {
                graph.force(2 * block + 1, root);
            }
            let amount = Some((block, 1));
            let place = (Some(block), None);
            edges.push(Edge { cost: IN_LINE * ways.blocks[i], from: 2 * block, to: 2 * block + 1, amount, place });
            for (&to, frequency) in successors.iter().zip(&ways.edges[i]) {
                if program.block(shape.id(block)).terminator == Terminator::Jump {
                    graph.force(2 * block + 1, 2 * to);
                    continue;
                }
                let cost = frequency * if Some(to) == taken { OUT_OF_LINE } else { IN_LINE };
                let place = (Some(block), Some(to));
                edges.push(Edge { cost, from: 2 * block + 1, to: 2 * to, amount: None, place });
            }
        }
        let inside: Vec<u64> = function.entered_inside.iter().chain(&function.second_entry).copied().collect();
        if inside.is_empty() {
            edges.push(Edge { cost: IN_LINE, from: root, to: 2 * entry, amount: None, place: (None, None) });
        } else {
            graph.force(root, 2 * entry);
            inside.iter().filter_map(|&vaddr| shape.starting_at(program, vaddr)).for_each(|n| graph.force(root, 2 * n));
        }
        // Of edges that cost the same, the tree takes the first.
        edges.sort_by(|a, b| b.cost.total_cmp(&a.cost));
        edges.retain(|edge| !graph.join(edge.from, edge.to, edge.amount));
        (graph, edges)
    }

    /// An edge that nothing can be inserted on, and that stands for no amount: a cycle of such edges is no matter.
    fn force(&mut self, from: u32, to: u32) {
        self.join(from, to, None);
    }

    /// Takes an edge into the tree, unless its ends are joined already.
    fn join(&mut self, from: u32, to: u32, amount: Amount) -> bool {
        let (first, second) = (self.leading(from), self.leading(to));
        if first == second {
            return false;
        }
        self.leader[first as usize] = second;
        self.tree[from as usize].push((to, amount));
        self.tree[to as usize].push((from, amount.map(|(block, sign)| (block, -sign))));
        true
    }

    fn leading(&mut self, mut node: u32) -> u32 {
        while self.leader[node as usize] != node {
            let next = self.leader[self.leader[node as usize] as usize];
            self.leader[node as usize] = next;
            node = next;
        }
        node
    }

    /// Every node but the roots behind its parent. The outside is a root.
    fn walk(&self) -> Vec<Step> {
        let mut seen = vec![false; self.tree.len()];
        let mut steps = Vec::with_capacity(self.tree.len());
        for start in (0..self.tree.len() as u32).rev() {
            if std::mem::replace(&mut seen[start as usize], true) {
                continue;
            }
            let mut todo = vec![start];
            while let Some(node) = todo.pop() {
                for &(to, amount) in &self.tree[node as usize] {
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        steps.push((to, node, amount));
                        todo.push(to);
                    }
                }
            }
        }
        steps
    }
}

/// How often blocks, and the ways to the successors of each, run for each time that the function is entered, as far as
/// their shape tells.
struct Frequencies {
    blocks: Vec<f64>,
    edges: Vec<Vec<f64>>,
}

/// The control flow of a function, whose blocks have numbers from 0.
struct Shape {
    first: u32,
    entry: u32,
    /// Each once.
    successors: Vec<Vec<u32>>,
    /// The block that the branch at a block's end leads to, if it is one of the function.
    taken: Vec<Option<u32>>,
}

impl Shape {
    fn of(program: &Program, id: FuncId) -> Shape {
        let function = program.function(id);
        let first = function.blocks.first.0;
        let mut shape = Shape { first, entry: function.entry.0 - first, successors: Vec::new(), taken: Vec::new() };
        for block in function.blocks.iter() {
            let mut successors: Vec<u32> = Vec::new();
            for to in program.succs(block).iter().map(|b| b.0 - first) {
                if !successors.contains(&to) {
                    successors.push(to);
                }
            }
            shape.successors.push(successors);
        }
        shape.taken = function.blocks.iter().map(|block| shape.taken(program, block)).collect();
        shape
    }

    fn id(&self, block: u32) -> BlockId {
        BlockId(self.first + block)
    }

    fn taken(&self, program: &Program, block: BlockId) -> Option<u32> {
        let block = program.block(block);
        if !matches!(block.terminator, Terminator::Branch | Terminator::CondBranch) {
            return None;
        }
        let (last, vaddr) = program.instr(block.instrs.last()?);
        self.starting_at(program, last.branch_target(vaddr)?)
    }

    /// The function's block that starts at an address.
    fn starting_at(&self, program: &Program, vaddr: u64) -> Option<u32> {
        let instr = program.instr_at(vaddr)?;
        let block = program.block_of(instr);
        let number = block.0.checked_sub(self.first)?;
        (program.block(block).instrs.first == instr && (number as usize) < self.successors.len()).then_some(number)
    }

    fn frequencies(&self, program: &Program, id: FuncId) -> Frequencies {
        let count = self.successors.len();
        let order = self.reverse_postorder();
        let mut place = vec![None; count];
        order.iter().enumerate().for_each(|(i, &block)| place[block as usize] = Some(i));
        let forest = LoopForest::of(program, id);
        let headers: HashSet<BlockId> = forest.loops().iter().map(|l| l.header).collect();
        let depth = |block: u32| forest.depth(self.id(block));
        let mut known = vec![0.0; count];
        known[self.entry as usize] = 1.0;
        let mut edges: Vec<Vec<f64>> = self.successors.iter().map(|to| vec![0.0; to.len()]).collect();
        for (n, &block) in order.iter().enumerate() {
            let i = block as usize;
            if headers.contains(&self.id(block)) {
                known[i] *= ROUNDS;
            }
            let successors = &self.successors[i];
            if successors.is_empty() {
                continue;
            }
            let here = depth(block);
            let last = program.block(self.id(block)).instrs.last();
            let skips = successors.len() > 1 && last.is_some_and(|i| program.inst(i).info().op() == Op::SCbranchExecz);
            let share = |&to: &u32| {
                let share = if depth(to) >= here { 1.0 } else { 1.0 / ROUNDS };
                if skips && Some(to) == self.taken[i] { share * NO_LANE } else { share }
            };
            let shares: Vec<f64> = successors.iter().map(share).collect();
            let total: f64 = shares.iter().sum();
            edges[i] = shares.iter().map(|share| known[i] * share / total).collect();
            for (&to, frequency) in successors.iter().zip(&edges[i]) {
                if place[to as usize] > Some(n) {
                    known[to as usize] += frequency;
                }
            }
        }
        Frequencies { blocks: known, edges }
    }

    fn reverse_postorder(&self) -> Vec<u32> {
        let mut seen = vec![false; self.successors.len()];
        seen[self.entry as usize] = true;
        let (mut done, mut todo) = (Vec::new(), vec![(self.entry, 0)]);
        while let Some((node, next)) = todo.last_mut() {
            match self.successors[*node as usize].get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        todo.push((to, 0));
                    }
                }
                None => {
                    done.push(*node);
                    todo.pop();
                }
            }
        }
        done.reverse();
        done
    }
}
