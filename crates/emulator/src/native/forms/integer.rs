//! Integers.

use super::super::nodes::{Binary, Node, Value};
use super::{Foreign, Form};

impl Form<'_> {
    /// A field of 24 bits.
    pub(super) fn low24(&mut self, value: Value, signed: bool) -> Value {
        if !signed {
            return self.with_constant(Binary::And, value, 0xff_ffff, !0);
        }
        let up = self.shifted(Binary::Shl, value, 8);
        self.shifted(Binary::Sar, up, 8)
    }

    pub(super) fn plain(&mut self, op: Binary) -> Result<(), Foreign> {
        let [a, b] = self.two();
        let value = self.graph.binary(op, a, b);
        self.result(value)
    }

    pub(super) fn reverse_shift(&mut self, op: Binary) -> Result<(), Foreign> {
        let [by, value] = self.two();
        let value = self.shift(op, value, by);
        self.result(value)
    }

    pub(super) fn product24(&mut self, signed: bool) -> Value {
        let [a, b] = self.two();
        let (a, b) = (self.low24(a, signed), self.low24(b, signed));
        self.graph.binary(Binary::Mul, a, b)
    }

    /// 64 bits shifted by less than 64.
    pub(super) fn shifted64(&mut self, op: Binary, [low, high]: [Value; 2], by: u32) -> [Value; 2] {
        let other = if op == Binary::Shl { Binary::Shr } else { Binary::Shl };
        let (from, to) = if op == Binary::Shl { (low, high) } else { (high, low) };
        // The word that bits come from, and the one that they go to.
        let (from, to) = match by {
            0 => (from, to),
            1..32 => {
                let kept = self.shifted(if op == Binary::Sar { Binary::Shr } else { op }, to, by);
                let moved = self.shifted(other, from, 32 - by);
                (self.shifted(op, from, by), self.graph.binary(Binary::Or, kept, moved))
            }
            _ => {
                let moved = self.shifted(op, from, by - 32);
                let left = if op == Binary::Sar { self.shifted(op, from, 31) } else { self.graph.constant(0) };
                (left, moved)
            }
        };
        if op == Binary::Shl { [from, to] } else { [to, from] }
    }

    pub(super) fn median(&mut self, least: Binary, most: Binary) -> Result<(), Foreign> {
        let [a, b, c] = self.three();
        let (low, high) = (self.graph.binary(least, a, b), self.graph.binary(most, a, b));
        let high = self.graph.binary(least, high, c);
        let value = self.graph.binary(most, low, high);
        self.result(value)
    }

    pub(super) fn carry(&mut self, with_carry: bool) -> Result<(), Foreign> {
        let [a, b] = self.two();
        let mut sum = self.graph.binary(Binary::Add, a, b);
        let mut out = self.below(sum, a);
        if with_carry {
            let (carry, zero) = (self.mask()?, self.graph.constant(0));
            sum = self.graph.binary(Binary::Sub, sum, carry);
            let wrapped = self.graph.binary(Binary::Equal, sum, zero);
            let wrapped = self.graph.binary(Binary::And, wrapped, carry);
            out = self.graph.binary(Binary::Or, out, wrapped);
        }
        self.mask_result(out)?;
        self.result(sum)
    }

    pub(super) fn borrow(&mut self, with_borrow: bool, reverse: bool) -> Result<(), Foreign> {
        let [a, b] = self.two();
        let (a, b) = if reverse { (b, a) } else { (a, b) };
        let mut difference = self.graph.binary(Binary::Sub, a, b);
        let mut out = self.below(a, b);
        if with_borrow {
            let (borrow, zero) = (self.mask()?, self.graph.constant(0));
            let wraps = self.graph.binary(Binary::Equal, difference, zero);
            let wraps = self.graph.binary(Binary::And, wraps, borrow);
            out = self.graph.binary(Binary::Or, out, wraps);
            difference = self.graph.binary(Binary::Add, difference, borrow);
        }
        self.mask_result(out)?;
        self.result(difference)
    }

    /// Bits by a table, whose index has that of the first source above that of the second and so on.
    pub(super) fn truth_table(&mut self, table: u8, sources: &[Value]) -> Value {
        let Some((&first, rest)) = sources.split_first() else {
            return self.graph.constant(if table & 1 != 0 { !0 } else { 0 });
        };
        let half = 1 << rest.len();
        let all = ((1u16 << half) - 1) as u8;
        let (with, without) = (table >> half & all, table & all);
        if with == without {
            return self.truth_table(with, rest);
        }
        let (yes, no) = (self.truth_table(with, rest), self.truth_table(without, rest));
        match (self.graph.of(yes), self.graph.of(no)) {
            (Node::Constant(u32::MAX), _) => self.graph.binary(Binary::Or, first, no),
            (Node::Constant(0), _) => self.graph.binary(Binary::AndNot, first, no),
            (_, Node::Constant(0)) => self.graph.binary(Binary::And, first, yes),
            // What the bit is not.
            (_, Node::Constant(u32::MAX)) => {
                let (not, kept) = (self.not(first), self.graph.binary(Binary::And, first, yes));
                self.graph.binary(Binary::Or, not, kept)
            }
            _ if with == without ^ all => self.graph.binary(Binary::Xor, first, no),
            _ => {
                let kept = self.graph.binary(Binary::And, first, yes);
                let other = self.graph.binary(Binary::AndNot, first, no);
                self.graph.binary(Binary::Or, kept, other)
            }
        }
    }

    pub(super) fn mul_high(&mut self, signed: bool, a: Value, b: Value) -> Value {
        self.graph.node(Node::MulHigh { signed, a, b })
    }

    /// `v_mad_u64_u32` and, signed, `v_mad_i64_i32`, whose carry is the 65th bit of the sum.
    pub(super) fn mad64(&mut self, signed: bool) -> Result<(), Foreign> {
        let ([a, b], [low, high]) = (self.two(), self.pair(2));
        let (product, top) = (self.graph.binary(Binary::Mul, a, b), self.mul_high(signed, a, b));
        let sum = self.graph.binary(Binary::Add, product, low);
        let carry = self.below(sum, product);
        let part = self.graph.binary(Binary::Add, top, high);
        let whole = self.graph.binary(Binary::Sub, part, carry);
        let out = if signed {
            // The sum's sign, unless it has overflowed: then the operands', which are the same.
            let (one, other) =
                (self.graph.binary(Binary::Xor, top, whole), self.graph.binary(Binary::Xor, high, whole));
            let over = self.graph.binary(Binary::And, one, other);
            let sign = self.graph.binary(Binary::Xor, whole, over);
            self.shifted(Binary::Sar, sign, 31)
        } else {
            let (zero, wraps) = (self.graph.constant(0), self.below(part, top));
            let again = self.graph.binary(Binary::Equal, whole, zero);
            let again = self.graph.binary(Binary::And, again, carry);
            self.graph.binary(Binary::Or, wraps, again)
        };
        self.mask_result(out)?;
        self.pair_result([sum, whole])
    }
}
