//! Dominators of a graph: which nodes every way from the roots to a node passes.
//!
//! Lengauer and Tarjan's algorithm ("A fast algorithm for finding dominators in a flowgraph", 1979), the simple version
//! with path compression, without recursion: hostile code nests deeper than a stack.

pub(crate) const NONE: u32 = u32::MAX;

/// A graph's depth-first search and dominator tree. Nodes are numbered in preorder; node 0 stands in front of all roots,
/// so that more than one of them is nothing special. What no root reaches has no node.
pub(crate) struct Dominators {
    /// The block of each node; of node 0, none.
    order: Vec<u32>,
    /// By block: its node, or [`NONE`].
    number: Vec<u32>,
    /// `preds[pred_start[n]..pred_start[n + 1]]`
    pred_start: Vec<u32>,
    preds: Vec<u32>,
    /// Edges to a node from one below it in the search.
    back: Vec<(u32, u32)>,
    idom: Vec<u32>,
    /// By node: its place in a preorder of the dominator tree, and one past the last below it.
    span: Vec<(u32, u32)>,
}

impl Dominators {
    pub fn of<I: Iterator<Item = u32>>(blocks: usize, roots: &[u32], succs: impl Fn(u32) -> I) -> Dominators {
        let mut number = vec![NONE; blocks];
        let mut order = vec![NONE];
        let (mut parent, mut finished) = (vec![0], vec![false]);
        let (mut edges, mut back) = (Vec::new(), Vec::new());
        let mut stack: Vec<(u32, I)> = Vec::new();
        let mut roots = roots.iter().copied();
        loop {
            let next = match stack.last_mut() {
                Some((at, rest)) => rest.next().map(|to| (*at, to)),
                None => match roots.next() {
                    Some(root) => Some((0, root)),
                    None => break,
                },
            };
            let Some((at, to)) = next else {
                if let Some((done, _)) = stack.pop() {
                    finished[done as usize] = true;
                }
                continue;
            };
            let seen = number[to as usize];
            if seen == NONE {
                let node = order.len() as u32;
                number[to as usize] = node;
                order.push(to);
                parent.push(at);
                finished.push(false);
                edges.push((at, node));
                stack.push((node, succs(to)));
            } else {
                edges.push((at, seen));
                if !finished[seen as usize] {
                    back.push((at, seen));
                }
            }
        }
        let (pred_start, preds) = by_end(order.len(), &edges);
        let mut graph = Dominators { order, number, pred_start, preds, back, idom: Vec::new(), span: Vec::new() };
        graph.idom = graph.immediate(&parent);
        graph.span = spans(&graph.idom);
        graph
    }

    fn immediate(&self, parent: &[u32]) -> Vec<u32> {
        let n = self.len();
        let mut semi: Vec<u32> = (0..n as u32).collect();
        let mut label = semi.clone();
        let mut ancestor = vec![NONE; n];
        let mut idom = vec![0; n];
        let mut bucket: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut path = Vec::new();
        for w in (1..n as u32).rev() {
            for &v in self.preds(w) {
                let u = lowest(v, &mut ancestor, &mut label, &semi, &mut path);
                semi[w as usize] = semi[w as usize].min(semi[u as usize]);
            }
            bucket[semi[w as usize] as usize].push(w);
            let p = parent[w as usize];
            ancestor[w as usize] = p;
            for v in std::mem::take(&mut bucket[p as usize]) {
                let u = lowest(v, &mut ancestor, &mut label, &semi, &mut path);
                idom[v as usize] = if semi[u as usize] < semi[v as usize] { u } else { p };
            }
        }
        for w in 1..n {
            if idom[w] != semi[w] {
                idom[w] = idom[idom[w] as usize];
            }
        }
        idom
    }

    /// Nodes, node 0 included.
    pub fn len(&self) -> usize {
        self.order.len()
    }
    /// Blocks of the graph, whether reached or not.
    pub fn blocks(&self) -> usize {
        self.number.len()
    }
    /// The block of a node other than 0.
    pub fn block(&self, node: u32) -> u32 {
        self.order[node as usize]
    }
    pub fn node(&self, block: u32) -> Option<u32> {
        Some(self.number[block as usize]).filter(|n| *n != NONE)
    }
    pub fn preds(&self, node: u32) -> &[u32] {
        &self.preds[self.pred_start[node as usize] as usize..self.pred_start[node as usize + 1] as usize]
    }
    /// Edges (from, to) that go back to a node on the way to their start.
    pub fn back_edges(&self) -> &[(u32, u32)] {
        &self.back
    }
    /// Every way to `b` passes `a`.
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let (first, end) = self.span[a as usize];
        (first..end).contains(&self.span[b as usize].0)
    }
}

/// The node with the smallest semidominator on the way up the forest built so far.
fn lowest(v: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32], path: &mut Vec<u32>) -> u32 {
    path.clear();
    let mut at = v;
    while ancestor[at as usize] != NONE && ancestor[ancestor[at as usize] as usize] != NONE {
        path.push(at);
        at = ancestor[at as usize];
    }
    while let Some(x) = path.pop() {
        let up = ancestor[x as usize];
        if semi[label[up as usize] as usize] < semi[label[x as usize] as usize] {
            label[x as usize] = label[up as usize];
        }
        ancestor[x as usize] = ancestor[up as usize];
    }
    label[v as usize]
}

/// Edges' starts by their end.
fn by_end(nodes: usize, edges: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; nodes + 1];
    edges.iter().for_each(|e| start[e.1 as usize + 1] += 1);
    (0..nodes).for_each(|n| start[n + 1] += start[n]);
    let mut next = start.clone();
    let mut out = vec![0; edges.len()];
    for &(from, to) in edges {
        out[next[to as usize] as usize] = from;
        next[to as usize] += 1;
    }
    (start, out)
}

/// Places in a preorder of the tree. Parents have smaller numbers than their children.
fn spans(parent: &[u32]) -> Vec<(u32, u32)> {
    let n = parent.len();
    let mut size = vec![1u32; n];
    (1..n).rev().for_each(|v| size[parent[v] as usize] += size[v]);
    let mut span = vec![(0, n as u32); n];
    let mut next = vec![1u32; n];
    for v in 1..n {
        let p = parent[v] as usize;
        span[v] = (next[p], next[p] + size[v]);
        next[p] = span[v].1;
        next[v] = span[v].0 + 1;
    }
    span
}
