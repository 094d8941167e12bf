//! 2^x of f32 as instructions of the host, where [`exp2_of_singles`](crate::fp::transcendental::exp2_of_singles) is what the
//! interpreter has.

use super::super::nodes::{Binary, Narrowing, Node, Value};
use super::compare::{GREATER, GREATER_OR_EQUAL, ORDERED};
use super::{Foreign, Form};
use crate::fp::transcendental::{EXP2_TERMS, SINGLE_ONES};

impl Form<'_> {
    pub(super) fn power(&mut self) -> Result<(), Foreign> {
        let x = self.source(0);
        let single = |form: &mut Self, value: f32| form.graph.constant(value.to_bits());
        let (most, least, ones) = (single(self, 128.0), single(self, -127.0), single(self, SINGLE_ONES));
        // A NaN stays one.
        let inside = self.graph.binary(Binary::MinF, most, x);
        let inside = self.graph.binary(Binary::MaxF, least, inside);
        let sum = self.graph.binary(Binary::AddF, inside, ones);
        let whole = self.graph.binary(Binary::SubF, sum, ones);
        let fraction = self.graph.binary(Binary::SubF, inside, whole);
        let [first, second] = [false, true].map(|second| {
            let half = self.graph.node(Node::Widened { second, a: fraction });
            self.exp2_near_zero(half)
        });
        let power = self.graph.node(Node::Narrowed { how: Narrowing::Single, first, second });
        let exponent = self.shifted(Binary::Shl, sum, 23);
        let found = self.graph.binary(Binary::Add, power, exponent);
        let (zero, infinity, end) = (self.graph.constant(0), single(self, f32::INFINITY), single(self, -126.0));
        let is_small = self.graph.node(Node::CompareF(GREATER, end, x));
        let found = self.graph.node(Node::Select { mask: is_small, yes: zero, no: found });
        let is_large = self.graph.node(Node::CompareF(GREATER_OR_EQUAL, x, most));
        let found = self.graph.node(Node::Select { mask: is_large, yes: infinity, no: found });
        let is_number = self.graph.node(Node::CompareF(ORDERED, x, x));
        let quiet = self.with_constant(Binary::Or, x, 1 << 22, 0);
        let value = self.graph.node(Node::Select { mask: is_number, yes: found, no: quiet });
        self.result(value)
    }

    /// The series, in the order that the interpreter adds its terms in.
    fn exp2_near_zero(&mut self, x: Value) -> Value {
        let terms = EXP2_TERMS.map(|term| self.double(term));
        let square = self.graph.binary(Binary::MulD, x, x);
        let fourth = self.graph.binary(Binary::MulD, square, square);
        let mut add = |a: Value, b: Value, c: Value| self.graph.node(Node::FmaD(a, b, c));
        let mut two = |at: usize| add(terms[at + 1], x, terms[at]);
        let [from_two, from_four, from_six, from_eight, from_ten] = [2, 4, 6, 8, 10].map(&mut two);
        let from_six = add(from_eight, square, from_six);
        let from_ten = add(terms[12], square, from_ten);
        let above = add(from_ten, fourth, from_six);
        let from_two = add(from_four, square, from_two);
        let above = add(above, fourth, from_two);
        let above = add(above, x, terms[1]);
        add(above, x, terms[0])
    }
}
