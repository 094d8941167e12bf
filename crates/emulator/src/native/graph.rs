//! What a run of micro-ops computes in one lane, as a graph of operations on 32-bit words.
//!
//! Equal nodes are one; what a row holds is known by its node, so that moves, constants, modifiers and temporary rows cost
//! nothing. Lane masks are words of all ones or all zeros.

use std::collections::{BTreeMap, HashMap};

/// A node of a [`Graph`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub u32);

/// An operation on two words; one machine instruction, or as good as one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    /// `!a & b`
    AndNot,
    Or,
    Xor,
    MinU,
    MaxU,
    MinS,
    MaxS,
    /// By less than 32.
    Shl,
    Shr,
    Sar,
    Equal,
    GreaterS,
    AddF,
    SubF,
    MulF,
    /// The second operand if they are equal or one is a NaN.
    MinF,
    MaxF,
}

impl Binary {
    /// Whether the operands may change places. (Which NaN comes out does not matter: see [`Graph::never_nan`].)
    pub fn commutes(self) -> bool {
        use Binary::*;
        matches!(self, Add | Mul | And | Or | Xor | MinU | MaxU | MinS | MaxS | Equal | AddF | MulF)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// What a row held before the run.
    Row(u16),
    /// What a scalar register held, in all lanes.
    Scalar(u8),
    Constant(u32),
    /// Lanes of a mask in scalar registers.
    Mask(u8),
    Binary(Binary, Value, Value),
    /// By a constant.
    Shift(Binary, Value, u8),
    /// With a predicate of x86's `vcmpps`.
    CompareF(u8, Value, Value),
    /// `a * b + c`, rounded once.
    Fma(Value, Value, Value),
    /// `mask ? yes : no`
    Select {
        mask: Value,
        yes: Value,
        no: Value,
    },
    /// A signed integer, rounded to nearest.
    FloatOfSigned(Value),
    /// The word of LDS that lies `offset` bytes behind an address.
    Lds {
        address: Value,
        offset: u32,
    },
}

impl Node {
    pub fn sources(self) -> impl Iterator<Item = Value> {
        let all = match self {
            Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::Mask(_) => [None; 3],
            Node::Shift(_, a, _) | Node::FloatOfSigned(a) | Node::Lds { address: a, .. } => [Some(a), None, None],
            Node::Binary(_, a, b) | Node::CompareF(_, a, b) => [Some(a), Some(b), None],
            Node::Fma(a, b, c) => [Some(a), Some(b), Some(c)],
            Node::Select { mask, yes, no } => [Some(mask), Some(yes), Some(no)],
        };
        all.into_iter().flatten()
    }

    /// Whether it can be had again at any time before the results are stored.
    pub fn is_source(self) -> bool {
        matches!(self, Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::Mask(_))
    }

    /// Whether the result is a NaN if an operand is.
    fn carries_nan(self) -> bool {
        matches!(self, Node::Binary(Binary::AddF | Binary::SubF | Binary::MulF, ..) | Node::Fma(..))
    }
}

/// What a run computes, and where its results go.
#[derive(Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    numbers: HashMap<Node, Value>,
    /// What rows hold, of those that were written.
    pub rows: BTreeMap<u16, Value>,
    /// What masks in scalar registers are.
    pub masks: BTreeMap<u8, Value>,
    never_nan: Vec<Value>,
    /// It is right only where f32 arithmetic is the host's ([`crate::mode::Mode::host32`]).
    pub needs_host32: bool,
}

impl Graph {
    pub fn node(&mut self, node: Node) -> Value {
        if let Some(&known) = self.numbers.get(&node) {
            return known;
        }
        let value = Value(self.nodes.len() as u32);
        self.nodes.push(node);
        self.numbers.insert(node, value);
        value
    }

    pub fn of(&self, value: Value) -> Node {
        self.nodes[value.0 as usize]
    }

    pub fn constant(&mut self, value: u32) -> Value {
        self.node(Node::Constant(value))
    }

    pub fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        if let (Binary::Shl | Binary::Shr | Binary::Sar, Node::Constant(by)) = (op, self.of(b)) {
            return if by == 0 { a } else { self.node(Node::Shift(op, a, by as u8)) };
        }
        self.node(Node::Binary(op, a, b))
    }

    /// If this is a NaN, the run is to be done otherwise: which NaN comes out is not the host's business.
    pub fn never_nan(&mut self, value: Value) {
        self.needs_host32 = true;
        self.never_nan.push(value);
    }

    /// How far each address of LDS reaches, in bytes behind it.
    pub fn reaches(&self) -> BTreeMap<Value, u32> {
        let mut all = BTreeMap::new();
        for node in &self.nodes {
            if let Node::Lds { address, offset } = *node {
                let reach: &mut u32 = all.entry(address).or_default();
                *reach = (*reach).max(offset + 4);
            }
        }
        all
    }

    /// Which nodes some result needs.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.nodes.len()];
        for &root in self.rows.values().chain(self.masks.values()) {
            live[root.0 as usize] = true;
        }
        for at in (0..self.nodes.len()).rev() {
            if live[at] {
                self.nodes[at].sources().for_each(|source| live[source.0 as usize] = true);
            }
        }
        live
    }

    /// What has to be looked at for NaNs: not what makes another one that is.
    pub fn checks(&self, live: &[bool]) -> Vec<Value> {
        let mut wanted: Vec<Value> = self.never_nan.iter().copied().filter(|v| live[v.0 as usize]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut covered = vec![false; self.nodes.len()];
        for &value in &wanted {
            let node = self.of(value);
            if node.carries_nan() {
                node.sources().for_each(|source| covered[source.0 as usize] = true);
            }
        }
        wanted.retain(|v| !covered[v.0 as usize]);
        wanted
    }
}
