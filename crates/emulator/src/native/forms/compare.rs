//! Comparisons into lane masks.

use luthier_isa::op::Op as IsaOp;

use super::super::nodes::{Binary, Node, Value};
use super::{Foreign, Form};
use crate::valu::compare::{Compared, Comparison, Condition, comparison};

/// Predicates of `vcmpps`.
pub(super) const GREATER_OR_EQUAL: u8 = 0x0d;
pub(super) const GREATER: u8 = 0x0e;
pub(super) const ORDERED: u8 = 0x07;

impl Form<'_> {
    /// `v_cmp_lt_f32` and the like.
    pub(super) fn comparison(&mut self, operation: IsaOp) -> Result<(), Foreign> {
        let Comparison { condition, compared, to_exec } = comparison(operation).ok_or(Foreign)?;
        let [a, b] = self.two();
        let value = match compared {
            Compared::F32 => {
                self.graph.needs_mode32 = true;
                let (a, b) = (self.flushed(a), self.flushed(b));
                self.graph.node(Node::CompareF(predicate(condition), a, b))
            }
            Compared::F64 => {
                self.graph.needs_host64 = true;
                let (a, b) = (self.doubles(0), self.doubles(1));
                let compare = |half: usize| Node::CompareD(predicate(condition), a[half], b[half]);
                let [first, second] = [0, 1].map(|half| self.graph.node(compare(half)));
                self.graph.node(Node::Split { high: false, first, second })
            }
            Compared::I32 | Compared::U32 => self.integers(condition, compared == Compared::I32, a, b)?,
            Compared::I64 | Compared::U64 => self.wide_integers(condition, compared == Compared::I64)?,
            Compared::I16 | Compared::U16 => {
                let signed = compared == Compared::I16;
                let [a, b] = [a, b].map(|value| self.half_integer(value, signed));
                self.integers(condition, signed, a, b)?
            }
            Compared::F16 => {
                let [a, b] = [a, b].map(|value| self.single(value));
                self.graph.node(Node::CompareF(predicate(condition), a, b))
            }
        };
        if to_exec { self.exec_result(value) } else { self.mask_result(value) }
    }

    pub(super) fn less(&mut self, signed: bool, a: Value, b: Value) -> Value {
        if signed { self.graph.binary(Binary::GreaterS, b, a) } else { self.below(a, b) }
    }

    pub(super) fn integers(
        &mut self,
        condition: Condition,
        signed: bool,
        a: Value,
        b: Value,
    ) -> Result<Value, Foreign> {
        let value = match condition {
            Condition::Less | Condition::GreaterEqual => self.less(signed, a, b),
            Condition::Greater | Condition::LessEqual => self.less(signed, b, a),
            Condition::Equal | Condition::NotEqual => self.graph.binary(Binary::Equal, a, b),
            _ => return Err(Foreign),
        };
        Ok(self.negated_where(condition, value))
    }

    pub(super) fn negated_where(&mut self, condition: Condition, value: Value) -> Value {
        use Condition::{GreaterEqual, LessEqual, NotEqual};
        if matches!(condition, GreaterEqual | LessEqual | NotEqual) { self.not(value) } else { value }
    }

    /// By the upper words, and where they are the same by the lower ones.
    pub(super) fn wide_integers(&mut self, condition: Condition, signed: bool) -> Result<Value, Foreign> {
        let (one, other) = (self.pair(0), self.pair(1));
        let same = self.graph.binary(Binary::Equal, one[1], other[1]);
        let value = match condition {
            Condition::Equal | Condition::NotEqual => {
                let low = self.graph.binary(Binary::Equal, one[0], other[0]);
                self.graph.binary(Binary::And, low, same)
            }
            Condition::Less | Condition::GreaterEqual | Condition::Greater | Condition::LessEqual => {
                let is_less = matches!(condition, Condition::Less | Condition::GreaterEqual);
                let ([a, top], [b, other]) = if is_less { (one, other) } else { (other, one) };
                let high = self.less(signed, top, other);
                let low = self.below(a, b);
                let low = self.graph.binary(Binary::And, low, same);
                self.graph.binary(Binary::Or, high, low)
            }
            _ => return Err(Foreign),
        };
        Ok(self.negated_where(condition, value))
    }
}

/// The predicate of `vcmpps` that a condition is.
fn predicate(condition: Condition) -> u8 {
    match condition {
        Condition::Equal => 0x00,
        Condition::Less => 0x01,
        Condition::LessEqual => 0x02,
        Condition::Unordered => 0x03,
        Condition::NotEqual => 0x04,
        Condition::NotLess => 0x05,
        Condition::NotLessEqual => 0x06,
        Condition::Ordered => ORDERED,
        Condition::NotLessOrGreater => 0x08,
        Condition::NotGreaterEqual => 0x09,
        Condition::NotGreater => 0x0a,
        Condition::Never => 0x0b,
        Condition::LessOrGreater => 0x0c,
        Condition::GreaterEqual => GREATER_OR_EQUAL,
        Condition::Greater => GREATER,
        Condition::Always => 0x0f,
    }
}
