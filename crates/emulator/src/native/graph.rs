//! What a run of micro-ops computes in one lane, as a graph of operations on 32-bit words.
//!
//! Equal nodes are one; what a row holds is known by its node, so that moves, constants, modifiers and temporary rows cost
//! nothing. Lane masks are words of all ones or all zeros.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::functions::{Function, SOURCES};
use crate::wave::scalar;

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
    /// Unsigned.
    Below,
    AddF,
    SubF,
    MulF,
    /// The second operand if they are equal or one is a NaN.
    MinF,
    MaxF,
    /// Of f64, half the lanes of a vector each ([`Node::Join`]).
    AddD,
    MulD,
    DivD,
    MinD,
    MaxD,
}

impl Binary {
    /// Whether the operands may change places, if not both can be NaNs.
    fn commutes(self) -> bool {
        use Binary::*;
        matches!(self, Add | Mul | And | Or | Xor | MinU | MaxU | MinS | MaxS | Equal) || self.chooses_nan()
    }

    /// Whether the first operand comes out if both are NaNs.
    fn chooses_nan(self) -> bool {
        matches!(self, Binary::AddF | Binary::MulF | Binary::AddD | Binary::MulD)
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
    /// A signed integer, towards zero; -2^31 where there is none.
    SignedOfFloat(Value),
    /// An integral f32, rounded as x86's `roundps` has it.
    Integral(Value, u8),
    /// The same of f64.
    IntegralD(Value, u8),
    /// The upper half of a product of 64 bits.
    MulHigh {
        signed: bool,
        a: Value,
        b: Value,
    },
    /// Low and high words as numbers of 64 bits: half the lanes, the other half if `second`.
    Join {
        second: bool,
        low: Value,
        high: Value,
    },
    /// The low or high words of all lanes, given both halves.
    Split {
        high: bool,
        first: Value,
        second: Value,
    },
    /// f64 of f32: half the lanes, the other half if `second`.
    Widened {
        second: bool,
        a: Value,
    },
    /// All lanes' words of f64, given both halves.
    Narrowed {
        how: Narrowing,
        first: Value,
        second: Value,
    },
    /// Of the lower 16 bits; with zeros above.
    SingleOfHalf(Value),
    HalfOfSingle(Value),
    /// As [`Node::CompareF`] and [`Node::Fma`], of f64; a comparison gives all ones or zeros in both words.
    CompareD(u8, Value, Value),
    FmaD(Value, Value, Value),
    /// The word of LDS that lies `offset` bytes behind an address.
    Lds {
        address: Value,
        offset: u32,
    },
    /// What other lanes of the vector have, and zero where there is none to be read.
    Crossed {
        source: Value,
        how: Crossing,
    },
    /// Lanes that have such a one.
    Readable(Crossing),
    /// Some lanes of each vector.
    Lanes(u16),
    /// What a function gives.
    Called {
        function: Function,
        sources: [Option<Value>; SOURCES],
    },
    /// Another result of a call: its second one, or its third.
    More(Value, u8),
    /// The word of device memory that lies so far from an address.
    Global {
        place: Place,
        offset: i32,
    },
}

/// What becomes of an f64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Narrowing {
    /// An f32, rounded to nearest.
    Single,
    /// As [`Node::SignedOfFloat`].
    Signed,
}

/// How the lanes of a vector read each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Crossing {
    /// Which lane of the vector each reads.
    pub from: [u8; 16],
    /// Lanes that read one.
    pub valid: u16,
    /// Lanes that are off are read, too.
    pub fetches: bool,
}

/// Lanes' addresses in device memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub low: Value,
    pub rest: Rest,
}

/// What makes an address of its lower half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rest {
    /// The upper half.
    High(Value),
    /// What a pair of scalar registers holds is added.
    Base(u8),
}

impl Node {
    pub fn sources(self) -> impl Iterator<Item = Value> {
        fn some<const N: usize>(all: [Value; N]) -> [Option<Value>; SOURCES] {
            std::array::from_fn(|k| all.get(k).copied())
        }
        let all = match self {
            Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::Mask(_) | Node::Readable(_) | Node::Lanes(_) => {
                [None; SOURCES]
            }
            Node::Called { sources, .. } => sources,
            Node::Shift(_, a, _)
            | Node::FloatOfSigned(a)
            | Node::SignedOfFloat(a)
            | Node::Integral(a, _)
            | Node::IntegralD(a, _)
            | Node::Widened { a, .. }
            | Node::SingleOfHalf(a)
            | Node::HalfOfSingle(a)
            | Node::More(a, _)
            | Node::Crossed { source: a, .. }
            | Node::Lds { address: a, .. } => some([a]),
            Node::Binary(_, a, b)
            | Node::CompareF(_, a, b)
            | Node::CompareD(_, a, b)
            | Node::MulHigh { a, b, .. }
            | Node::Join { low: a, high: b, .. }
            | Node::Narrowed { first: a, second: b, .. }
            | Node::Split { first: a, second: b, .. } => some([a, b]),
            Node::Fma(a, b, c) | Node::FmaD(a, b, c) => some([a, b, c]),
            Node::Global { place: Place { low, rest }, .. } => match rest {
                Rest::High(high) => some([low, high]),
                Rest::Base(_) => some([low]),
            },
            Node::Select { mask, yes, no } => some([mask, yes, no]),
        };
        all.into_iter().flatten()
    }

    /// Whether it can be had again at any time before the results are stored.
    pub fn is_source(self) -> bool {
        matches!(self, Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::Mask(_))
    }

    /// Whether it is numbers of 64 bits.
    pub fn is_double(self) -> bool {
        use Binary::{AddD, DivD, MaxD, MinD, MulD};
        matches!(
            self,
            Node::Binary(AddD | MulD | DivD | MinD | MaxD, ..)
                | Node::FmaD(..)
                | Node::IntegralD(..)
                | Node::Widened { .. }
                | Node::Join { .. }
        )
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
    /// Values that are no denormals.
    flushed: HashSet<Value>,
    /// Denormal f32 are zeros ([`crate::mode::Mode::flushes32`]); else they are kept ([`crate::mode::Mode::host32`]).
    pub flushes: bool,
    /// It is right only where MODE says that of f32 arithmetic.
    pub needs_mode32: bool,
    /// It is right only where f64 arithmetic is the host's.
    pub needs_host64: bool,
    /// It is right only where f16 results are rounded to nearest and become infinite.
    pub needs_plain16: bool,
    /// Lanes of a vector.
    pub lanes: usize,
    /// The lanes that results go to, where DPP leaves some out.
    pub narrowed: Option<Value>,
}

impl Graph {
    pub fn new(flushes: bool, lanes: usize) -> Graph {
        Graph { flushes, lanes, ..Graph::default() }
    }

    /// Whether EXEC becomes a comparison's result: what comes next is for other lanes.
    pub fn writes_exec(&self) -> bool {
        self.masks.contains_key(&scalar::EXEC)
    }

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

    /// The host has computed this, as MODE says that the device does.
    pub fn is_computed(&mut self, value: Value) {
        if self.of(value).is_double() {
            self.needs_host64 = true;
        } else {
            self.needs_mode32 = true;
        }
    }

    /// If this is a NaN, the run is to be done otherwise: what comes of it is not what the host makes of it.
    pub fn never_nan(&mut self, value: Value) {
        self.is_computed(value);
        self.never_nan.push(value);
    }

    /// Whether two operands may change places. Of two NaNs the host's instructions give the first one, as the device does.
    pub fn may_swap(&self, op: Binary, a: Value, b: Value) -> bool {
        op.commutes() && (!op.chooses_nan() || self.is_number(a) || self.is_number(b))
    }

    /// Whether a value is known not to be a NaN.
    pub fn is_number(&self, value: Value) -> bool {
        matches!(self.of(value), Node::Constant(word) if word << 1 <= 0xff00_0000)
    }

    /// Whether a value is known to be no denormal.
    pub fn is_flushed(&self, value: Value) -> bool {
        match self.of(value) {
            Node::Constant(word) => word & 0x7f80_0000 != 0 || word << 1 == 0,
            _ => self.flushed.contains(&value),
        }
    }

    pub fn set_flushed(&mut self, value: Value) {
        self.flushed.insert(value);
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

    /// The addresses in device memory.
    pub fn places(&self) -> Vec<Place> {
        let place = |node: &Node| if let Node::Global { place, .. } = *node { Some(place) } else { None };
        let mut all: Vec<Place> = self.nodes.iter().filter_map(place).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether it reads memory.
    pub fn accesses(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Lds { .. } | Node::Global { .. }))
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

    /// What has to be looked at for NaNs.
    pub fn checks(&self, live: &[bool]) -> Vec<Value> {
        let is_wanted = |v: &Value| live[v.0 as usize] && !self.is_number(*v);
        let mut wanted: Vec<Value> = self.never_nan.iter().copied().filter(is_wanted).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }
}
