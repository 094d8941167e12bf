//! What a run of micro-ops computes in one lane, as a graph of operations on 32-bit words.
//!
//! Equal nodes are one; what a row holds is known by its node, so that moves, constants, modifiers and temporary rows cost
//! nothing. Lane masks are words of all ones or all zeros.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::addresses::{Address, Buffer, Place};
use super::nodes::{Binary, Node, Value};
use crate::registers::scalar;

/// What a run computes, and where its results go.
#[derive(Clone, Default)]
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
    /// What the wave has stored before is seen by all before it reads.
    pub fences: bool,
    /// Lanes of a vector.
    pub lanes: usize,
    /// What lanes read at its beginning is not there in its middle (a scalar register that a mask goes to, lanes that have been
    /// done, EXEC): none may be left to the interpreter.
    pub is_whole: bool,
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

    /// What a row holds.
    pub fn row(&mut self, row: u16) -> Value {
        match self.rows.get(&row) {
            Some(&value) => value,
            None => self.node(Node::Row(row)),
        }
    }

    pub fn of(&self, value: Value) -> Node {
        self.nodes[value.0 as usize]
    }

    pub fn constant(&mut self, value: u32) -> Value {
        self.node(Node::Constant(value))
    }

    pub fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        if let (Node::Constant(x), Node::Constant(y)) = (self.of(a), self.of(b))
            && let Some(known) = op.of_constants(x, y)
        {
            return self.constant(known);
        }
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
    pub fn reaches(&self) -> BTreeMap<Address, u32> {
        let mut all = BTreeMap::new();
        for node in &self.nodes {
            if let Node::Lds { address, offset } = *node {
                let reach: &mut u32 = all.entry(address).or_default();
                *reach = (*reach).max(offset + address.size as u32);
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

    /// The buffers.
    pub fn buffers(&self) -> Vec<Buffer> {
        let buffer = |node: &Node| if let Node::Buffer { at, .. } = *node { Some(at) } else { None };
        let mut all: Vec<Buffer> = self.nodes.iter().filter_map(buffer).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether lanes may be left to the interpreter.
    pub fn may_be_left(&self) -> bool {
        !self.never_nan.is_empty() || self.accesses()
    }

    /// Scalar registers that lanes read, and that a mask is written to.
    pub fn overwritten(&self, wave64: bool) -> Vec<u8> {
        let is_mask = |code: u8| self.masks.contains_key(&code);
        let is_written = |code: u8| is_mask(code) || wave64 && code.checked_sub(1).is_some_and(is_mask);
        let read = self.nodes.iter().filter_map(|node| if let Node::Scalar(code) = *node { Some(code) } else { None });
        read.filter(|&code| is_written(code)).collect()
    }

    /// Whether it reads memory.
    pub fn accesses(&self) -> bool {
        self.nodes.iter().any(|node| node.accesses())
    }

    /// Which nodes some result needs, or are accesses to memory: these may be refused.
    pub fn live(&self) -> Vec<bool> {
        let mut live: Vec<bool> = self.nodes.iter().map(|node| node.accesses()).collect();
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
