//! Conversions between formats of different widths.

use super::super::nodes::{Binary, Narrowing, Node};
use super::compare::{GREATER_OR_EQUAL, ORDERED};
use super::{Foreign, Form};

impl Form<'_> {
    /// An integer below 2^32 is the last word of a number between 2^52 and 2^53.
    pub(super) fn double_of_integer(&mut self, signed: bool) -> Result<(), Foreign> {
        let (x, high) = (self.source(0), self.graph.constant(0x4330_0000));
        let low = if signed { self.with_constant(Binary::Xor, x, 1 << 31, 0) } else { x };
        let above = self.double(-(4_503_599_627_370_496.0 + if signed { 2_147_483_648.0 } else { 0.0 }));
        let halves = [false, true].map(|second| {
            let whole = self.graph.node(Node::Join { second, low, high });
            self.graph.binary(Binary::AddD, whole, above)
        });
        halves.iter().for_each(|&half| self.graph.is_computed(half));
        self.double_result(halves)
    }

    pub(super) fn double_of_single(&mut self) -> Result<(), Foreign> {
        let x = self.source(0);
        let a = self.flushed(x);
        self.graph.needs_mode32 = true;
        let halves = [false, true].map(|second| self.graph.node(Node::Widened { second, a }));
        self.double_result(halves)
    }

    pub(super) fn single_of_double(&mut self) -> Result<(), Foreign> {
        let [first, second] = self.doubles(0);
        self.graph.needs_host64 = true;
        let value = self.graph.node(Node::Narrowed { how: Narrowing::Single, first, second });
        self.float(value)
    }

    /// The nearest integer towards zero, or the one nearest to what is beyond all, and 0 of a NaN.
    pub(super) fn signed_of_double(&mut self) -> Result<(), Foreign> {
        let halves = self.doubles(0);
        let limit = self.double(2_147_483_648.0);
        let [first, second] = halves;
        let value = self.graph.node(Node::Narrowed { how: Narrowing::Signed, first, second });
        let [first, second] = halves.map(|half| self.graph.node(Node::CompareD(GREATER_OR_EQUAL, half, limit)));
        let mask = self.graph.node(Node::Split { high: false, first, second });
        let most = self.graph.constant(0x7fff_ffff);
        let value = self.graph.node(Node::Select { mask, yes: most, no: value });
        let [first, second] = halves.map(|half| self.graph.node(Node::CompareD(ORDERED, half, half)));
        let ordered = self.graph.node(Node::Split { high: false, first, second });
        let value = self.graph.binary(Binary::And, value, ordered);
        self.result(value)
    }

    pub(super) fn single_of_half(&mut self) -> Result<(), Foreign> {
        let half = self.source(0);
        self.graph.needs_host64 = true;
        let value = self.graph.node(Node::SingleOfHalf(half));
        self.result(value)
    }

    pub(super) fn half_of_single(&mut self) -> Result<(), Foreign> {
        let x = self.source(0);
        let x = self.flushed(x);
        (self.graph.needs_mode32, self.graph.needs_host64, self.graph.needs_plain16) = (true, true, true);
        let value = self.graph.node(Node::HalfOfSingle(x, true));
        self.result(value)
    }
}
