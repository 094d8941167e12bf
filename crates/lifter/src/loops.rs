//! The loops of a function: which blocks go round, and how deep they lie in each other.
//!
//! A natural loop has a header that every way in passes: it is an edge back to a block that dominates the edge's start,
//! and all that reaches this start without passing the header. Two such loops lie apart or one in the other, so they
//! form a forest. Code may also go round in ways that have no such header (two ways into one cycle); those edges are
//! in [`LoopForest::irreducible`], and belong to no loop.

use crate::dominators::{Dominators, NONE};
use crate::{BlockId, FuncId, Program};

/// A loop of a function, by its place in [`LoopForest::loops`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct LoopId(pub u32);

impl LoopId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Loop {
    /// The block that every round passes.
    pub header: BlockId,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// 1 for a loop that lies in no other.
    pub depth: u32,
    /// Blocks that jump back to the header, by address.
    pub latches: Vec<BlockId>,
    /// First and one past the last of its blocks in [`LoopForest::members`].
    #[serde(skip)]
    range: (u32, u32),
}

/// The loops of one function. A loop comes before the loops inside of it; loops side by side are ordered by header.
#[derive(Clone, Debug, Default)]
pub struct LoopForest {
    first: u32,
    loops: Vec<Loop>,
    /// By block of the function.
    innermost: Vec<Option<LoopId>>,
    /// Blocks in the order of the forest, so that those of a loop, inner loops included, are consecutive.
    members: Vec<BlockId>,
    irreducible: Vec<(BlockId, BlockId)>,
}

impl LoopForest {
    /// Memory grows linearly with the function, time at most by its logarithm more.
    pub fn of(program: &Program, func: FuncId) -> LoopForest {
        let function = program.function(func);
        let blocks = function.blocks;
        if blocks.is_empty() {
            return LoopForest::default();
        }
        let first = blocks.first.0;
        let local = |b: BlockId| b.0 - first;
        let mut roots = vec![local(function.entry)];
        for &vaddr in function.second_entry.iter().chain(&function.entered_inside) {
            roots.extend(program.instr_at(vaddr).map(|i| local(program.block_of(i))));
        }
        if program.has_wild_jumps() {
            roots.extend(blocks.iter().filter(|&b| program.preds(b).is_empty()).map(local));
        }
        let succs = |b: u32| program.succs(BlockId(first + b)).iter().map(move |s| s.0 - first);
        forest(first, &Dominators::of(blocks.len(), &roots, succs))
    }
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.index()]
    }
    /// The innermost loop around a block of the function.
    pub fn of_block(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[(block.0 - self.first) as usize]
    }
    /// In how many loops a block lies.
    pub fn depth(&self, block: BlockId) -> u32 {
        self.of_block(block).map_or(0, |l| self.get(l).depth)
    }
    /// Edges (from, to) that go back, to a block that does not dominate their start: cycles with more ways in than one.
    pub fn irreducible(&self) -> &[(BlockId, BlockId)] {
        &self.irreducible
    }
    /// The blocks of a loop, those of inner loops included: the header first, otherwise in no particular order.
    pub fn members(&self, id: LoopId) -> &[BlockId] {
        let (from, to) = self.get(id).range;
        &self.members[from as usize..to as usize]
    }
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        let mut at = self.of_block(block);
        while let Some(l) = at {
            if l <= id {
                return l == id;
            }
            at = self.get(l).parent;
        }
        false
    }
}

/// The forest of a graph whose block numbers start at `first`.
fn forest(first: u32, graph: &Dominators) -> LoopForest {
    let n = graph.len();
    let block = |node: u32| BlockId(first + graph.block(node));
    let mut latches: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut irreducible = Vec::new();
    for &(from, to) in graph.back_edges() {
        match graph.dominates(to, from) {
            true => latches[to as usize].push(from),
            false => irreducible.push((block(from), block(to))),
        }
    }
    irreducible.sort_unstable();
    let header = headers(graph, &latches);
    // A header's number is smaller than those of what is in its loop, so one pass knows the parents' ids.
    let mut id: Vec<Option<LoopId>> = vec![None; n];
    let mut loops: Vec<Loop> = Vec::new();
    for w in (0..n).filter(|&w| !latches[w].is_empty()) {
        let parent = id.get(header[w] as usize).copied().flatten();
        let mut latches: Vec<BlockId> = latches[w].iter().map(|&v| block(v)).collect();
        latches.sort_unstable();
        id[w] = Some(LoopId(loops.len() as u32));
        let depth = parent.map_or(1, |p: LoopId| loops[p.index()].depth + 1);
        loops.push(Loop { header: block(w as u32), parent, depth, latches, range: (0, 0) });
    }
    let innermost = |w: usize| id[w].or_else(|| id.get(header[w] as usize).copied().flatten());
    let mut size: Vec<u32> = vec![0; loops.len()];
    (1..n).filter_map(innermost).for_each(|l| size[l.index()] += 1);
    let mut in_loops = 0;
    for l in (0..loops.len()).rev() {
        match loops[l].parent {
            Some(p) => size[p.index()] += size[l],
            None => in_loops += size[l] as usize,
        }
    }
    // Each loop takes its places out of those of the loop around it.
    let mut members = vec![BlockId(first); in_loops];
    let mut next: Vec<u32> = vec![0; loops.len()];
    let mut top = 0;
    for (w, own) in id.iter().enumerate().skip(1) {
        if let Some(l) = *own {
            let start = loops[l.index()].parent.map_or(&mut top, |p| &mut next[p.index()]);
            let range = (*start, *start + size[l.index()]);
            *start = range.1;
            loops[l.index()].range = range;
            next[l.index()] = range.0;
        }
        if let Some(l) = innermost(w) {
            members[next[l.index()] as usize] = block(w as u32);
            next[l.index()] += 1;
        }
    }
    let of_block = |b| graph.node(b).and_then(|w| innermost(w as usize));
    LoopForest { first, innermost: (0..graph.blocks() as u32).map(of_block).collect(), loops, members, irreducible }
}

/// By node: the header of the innermost loop around it, its own not counted; or [`NONE`]. Inner loops first, each of
/// which then counts as its header alone.
fn headers(graph: &Dominators, latches: &[Vec<u32>]) -> Vec<u32> {
    let n = graph.len();
    let mut header = vec![NONE; n];
    let mut set: Vec<u32> = (0..n as u32).collect();
    let mut body: Vec<u32> = Vec::new();
    let mut gathered_by = vec![NONE; n];
    for w in (0..n as u32).rev() {
        let mut gather = |v: u32, body: &mut Vec<u32>| {
            if v != w && std::mem::replace(&mut gathered_by[v as usize], w) != w {
                body.push(v);
            }
        };
        body.clear();
        latches[w as usize].iter().for_each(|&v| gather(find(&mut set, v), &mut body));
        let mut at = 0;
        while at < body.len() {
            graph.preds(body[at]).iter().for_each(|&y| gather(find(&mut set, y), &mut body));
            at += 1;
        }
        for &x in &body {
            header[x as usize] = w;
            set[x as usize] = w;
        }
    }
    header
}

/// The representative of a set, with the way to it shortened.
fn find(set: &mut [u32], mut x: u32) -> u32 {
    while set[x as usize] != x {
        set[x as usize] = set[set[x as usize] as usize];
        x = set[x as usize];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % n as u64) as usize
        }
    }

    /// What can be reached from `from` without entering `without`.
    fn reach(succs: &[Vec<u32>], from: &[u32], without: Option<u32>) -> Vec<bool> {
        let mut seen = vec![false; succs.len()];
        let mut work: Vec<u32> = from.iter().copied().filter(|b| Some(*b) != without).collect();
        while let Some(b) = work.pop() {
            if !std::mem::replace(&mut seen[b as usize], true) {
                work.extend(succs[b as usize].iter().filter(|s| Some(**s) != without));
            }
        }
        seen
    }

    /// Every natural loop by the book: an edge to a block that dominates its start, and what reaches that start
    /// without passing the header.
    fn natural(succs: &[Vec<u32>], roots: &[u32]) -> std::collections::BTreeMap<u32, Vec<u32>> {
        let reached = reach(succs, roots, None);
        let mut preds = vec![Vec::new(); succs.len()];
        for (b, list) in (0..).zip(succs).filter(|(b, _)| reached[*b as usize]) {
            list.iter().for_each(|s| preds[*s as usize].push(b));
        }
        let mut loops = std::collections::BTreeMap::new();
        for h in (0..succs.len() as u32).filter(|h| reached[*h as usize]) {
            let around = reach(succs, roots, Some(h));
            let latches: Vec<u32> = preds[h as usize].iter().copied().filter(|p| !around[*p as usize]).collect();
            if !latches.is_empty() {
                let mut body = reach(&preds, &latches, Some(h));
                body[h as usize] = true;
                loops.insert(h, (0..succs.len() as u32).filter(|b| body[*b as usize]).collect());
            }
        }
        loops
    }

    #[test]
    fn natural_loops_are_those_of_the_book() {
        let mut random = Random(0x1005);
        let mut seen = [0; 2];
        for round in 0..4000 {
            let n = 1 + random.below(14);
            let succs: Vec<Vec<u32>> = (0..n)
                .map(|_| {
                    let mut list: Vec<u32> = (0..random.below(3)).map(|_| random.below(n) as u32).collect();
                    list.dedup();
                    list
                })
                .collect();
            let roots: Vec<u32> = (0..1 + round % 2).map(|_| random.below(n) as u32).collect();
            let forest = forest(0, &Dominators::of(n, &roots, |b| succs[b as usize].iter().copied()));
            let expected = natural(&succs, &roots);
            let mut found = std::collections::BTreeMap::new();
            for (id, l) in (0..).map(LoopId).zip(forest.loops()) {
                let mut members: Vec<u32> = forest.members(id).iter().map(|b| b.0).collect();
                assert_eq!(forest.members(id)[0], l.header);
                members.sort_unstable();
                (0..n as u32).for_each(|b| assert_eq!(forest.contains(id, BlockId(b)), members.contains(&b)));
                if let Some(p) = l.parent {
                    assert!(p < id && forest.contains(p, l.header) && forest.get(p).depth + 1 == l.depth);
                }
                found.insert(l.header.0, members);
            }
            seen[0] += forest.loops().len();
            seen[1] += forest.irreducible().len();
            assert_eq!(found, expected, "{succs:?} from {roots:?}");
        }
        assert!(seen.iter().all(|n| *n > 200), "{seen:?}");
    }

    #[test]
    fn a_cascade_of_ways_into_deep_loops_is_cheap() {
        // Loops around loops, each jumped into from in front of all of them.
        const N: u32 = 40_000;
        let succs = |b: u32| -> std::vec::IntoIter<u32> {
            let list = match b {
                b if b < N => vec![b + 1, 3 * N - 1 - b],
                b if b < 2 * N - 1 => vec![b + 1],
                b if b + 1 < 3 * N => vec![b + 1, 3 * N - 1 - b],
                _ => vec![],
            };
            list.into_iter()
        };
        let forest = forest(0, &Dominators::of(3 * N as usize, &[0], succs));
        assert!(!forest.loops().is_empty());
    }
}
