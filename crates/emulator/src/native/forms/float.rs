//! Floating point: the host computes it as the device does. Of several NaN operands both give the first one, quieted; where no
//! operand is a NaN, both give the same one. Minima and maxima have their own rules for NaNs.

use luthier_isa::op::Op as IsaOp;

use super::super::nodes::{Binary, Node, Value};
use super::compare::{GREATER, GREATER_OR_EQUAL, ORDERED};
use super::{Foreign, Form};
use crate::op::RawMods;

impl Form<'_> {
    /// An f32 result that the host computes as the device does.
    pub(super) fn float(&mut self, value: Value) -> Result<(), Foreign> {
        self.graph.is_computed(value);
        let value = self.flushed(value);
        self.result(value)
    }

    /// Zero of its sign in the place of a denormal, where MODE asks for that.
    pub(super) fn flushed(&mut self, value: Value) -> Value {
        if !self.graph.flushes || self.graph.is_flushed(value) {
            return value;
        }
        let exponent = self.with_constant(Binary::And, value, 0x7f80_0000, !0);
        let zero = self.graph.constant(0);
        let mask = self.graph.binary(Binary::Equal, exponent, zero);
        let sign = self.with_constant(Binary::And, value, 1 << 31, !0);
        let flushed = self.graph.node(Node::Select { mask, yes: sign, no: value });
        self.graph.set_flushed(flushed);
        flushed
    }

    pub(super) fn float_of(&mut self, op: Binary) -> Result<(), Foreign> {
        let [a, b] = self.two().map(|value| self.flushed(value));
        let value = self.graph.binary(op, a, b);
        self.float(value)
    }

    /// `b - a`, where `a` comes out of two NaNs, with its sign.
    pub(super) fn reverse_difference(&mut self) -> Result<(), Foreign> {
        let [a, b] = self.two().map(|value| self.flushed(value));
        let minus_one = self.graph.constant(0xbf80_0000);
        let value = self.graph.node(Node::Fma(a, minus_one, b));
        self.float(value)
    }

    /// The smaller or larger one, where -0 is less than +0 and neither is a NaN.
    pub(super) fn extreme(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.graph.never_nan(a);
        self.graph.never_nan(b);
        let (one, other) = (self.graph.binary(op, a, b), self.graph.binary(op, b, a));
        let is_least = matches!(op, Binary::MinF | Binary::MinD);
        self.graph.binary(if is_least { Binary::Or } else { Binary::And }, one, other)
    }

    /// The middle one of three. Where the largest one is a zero, not all processors tell zeros of both signs apart: it is left then.
    pub(super) fn middle(&mut self, [a, b, c]: [Value; 3]) -> Value {
        use Binary::{Equal, MaxF, MinF, Shl};
        let (low, high) = (self.extreme(MinF, a, b), self.extreme(MaxF, a, b));
        let top = self.extreme(MaxF, high, c);
        let (zero, nan) = (self.graph.constant(0), self.graph.constant(0x7fc0_0000));
        let magnitude = self.shifted(Shl, top, 1);
        let mask = self.graph.binary(Equal, magnitude, zero);
        let known = self.graph.node(Node::Select { mask, yes: nan, no: top });
        self.graph.never_nan(known);
        let high = self.extreme(MinF, high, c);
        let value = self.extreme(MaxF, low, high);
        // It is no more than the largest one, which has to be looked at.
        self.graph.binary(MinF, value, known)
    }

    /// An f32 times a power of two whose exponent is an integer, rounded once. What is too large for an f32 to have all of its bits
    /// gives zero or infinity, either way.
    pub(super) fn times_power(&mut self) -> Result<(), Foreign> {
        let [value, exponent] = self.two();
        let value = self.flushed(value);
        let exponent = self.graph.node(Node::FloatOfSigned(exponent));
        let value = self.graph.binary(Binary::ScaleF, value, exponent);
        self.float(value)
    }

    pub(super) fn integral(&mut self, how: u8) -> Result<(), Foreign> {
        let value = self.source(0);
        let value = self.flushed(value);
        let value = self.graph.node(Node::Integral(value, how));
        self.float(value)
    }

    /// A result between 0 and 1, without a factor.
    pub(super) fn clamped(&mut self) -> Result<(), Foreign> {
        if self.op.imm & 7 != 4 {
            return Err(Foreign);
        }
        let value = self.source(0);
        let value = self.within_one(value);
        self.result(value)
    }

    /// Between 0 and 1.
    pub(super) fn within_one(&mut self, value: Value) -> Value {
        self.graph.never_nan(value);
        let (zero, one) = (self.graph.constant(0), self.graph.constant(0x3f80_0000));
        // Of zeros of both signs it is the second one.
        let value = self.graph.binary(Binary::MaxF, value, zero);
        self.graph.binary(Binary::MinF, value, one)
    }

    /// Pairs of f32. The modifiers choose and negate their words.
    pub(super) fn packed_float(&mut self, operation: IsaOp) -> Result<(), Foreign> {
        let mods = RawMods(self.op.imm);
        if mods.clamp() || self.graph.flushes {
            return Err(Foreign);
        }
        let mut word = |k: u32, high: bool| {
            let selects = if high { mods.op_sel_hi(k) } else { mods.op_sel(k) };
            let value = self.row(self.op.src[k as usize] + u16::from(selects));
            // NEG_HI is where VOP3 has ABS.
            let negative = if high { mods.abs(k) } else { mods.neg(k) };
            if negative { self.with_constant(Binary::Xor, value, 1 << 31, 0) } else { value }
        };
        let sources = [false, true].map(|high| [word(0, high), word(1, high), word(2, high)]);
        let pair = sources.map(|[a, b, c]| match operation {
            IsaOp::VPkFmaF32 => self.graph.node(Node::Fma(a, b, c)),
            IsaOp::VPkMulF32 => self.graph.binary(Binary::MulF, a, b),
            _ => self.graph.binary(Binary::AddF, a, b),
        });
        pair.iter().for_each(|&value| self.graph.is_computed(value));
        self.pair_result(pair)
    }

    /// An integer of an f32, which is the nearest one where there is none, and 0 of a NaN.
    pub(super) fn integer_of_float(&mut self, signed: bool, x: Value) -> Value {
        let (limit, most, least) = if signed { (0x4f00_0000, 0x7fff_ffff, None) } else { (0x4f80_0000, !0, Some(0)) };
        let mut value = self.graph.node(Node::SignedOfFloat(x));
        if !signed {
            let half = self.graph.constant(0x4f00_0000);
            let rest = self.graph.binary(Binary::SubF, x, half);
            let rest = self.graph.node(Node::SignedOfFloat(rest));
            let rest = self.with_constant(Binary::Xor, rest, 1 << 31, 0);
            let mask = self.graph.node(Node::CompareF(GREATER_OR_EQUAL, x, half));
            value = self.graph.node(Node::Select { mask, yes: rest, no: value });
        }
        let (limit, most) = (self.graph.constant(limit), self.graph.constant(most));
        let mask = self.graph.node(Node::CompareF(GREATER_OR_EQUAL, x, limit));
        value = self.graph.node(Node::Select { mask, yes: most, no: value });
        let kept = match least {
            Some(least) => {
                let least = self.graph.constant(least);
                self.graph.node(Node::CompareF(GREATER, x, least))
            }
            None => self.graph.node(Node::CompareF(ORDERED, x, x)),
        };
        self.graph.binary(Binary::And, value, kept)
    }

    /// What a pair of rows holds as numbers of 64 bits, half the lanes each.
    pub(super) fn doubles(&mut self, k: usize) -> [Value; 2] {
        let [low, high] = self.pair(k);
        if let (
            Node::Split { high: false, first, second },
            Node::Split { high: true, first: same, second: same_second },
        ) = (self.graph.of(low), self.graph.of(high))
            && (first, second) == (same, same_second)
        {
            return [first, second];
        }
        [false, true].map(|second| self.graph.node(Node::Join { second, low, high }))
    }

    /// An f64 in all lanes.
    pub(super) fn double(&mut self, value: f64) -> Value {
        self.graph.node(Node::ConstantD(value.to_bits()))
    }

    /// A quotient rounded once, which is what the interpreter has.
    pub(super) fn reciprocal64(&mut self) -> Result<(), Foreign> {
        let (one, x) = (self.double(1.0), self.doubles(0));
        let halves = x.map(|half| self.graph.binary(Binary::DivD, one, half));
        halves.iter().for_each(|&half| self.graph.is_computed(half));
        self.double_result(halves)
    }

    pub(super) fn integral64(&mut self, how: u8) -> Result<(), Foreign> {
        let halves = self.doubles(0).map(|half| self.graph.node(Node::IntegralD(half, how)));
        halves.iter().for_each(|&half| self.graph.is_computed(half));
        self.double_result(halves)
    }

    /// An f64 result, given half the lanes each.
    pub(super) fn double_result(&mut self, [first, second]: [Value; 2]) -> Result<(), Foreign> {
        let words = [false, true].map(|high| self.graph.node(Node::Split { high, first, second }));
        self.pair_result(words)
    }

    pub(super) fn double_of(&mut self, op: Binary) -> Result<(), Foreign> {
        let (a, b) = (self.doubles(0), self.doubles(1));
        let halves = [0, 1].map(|half| match op {
            Binary::MinD | Binary::MaxD => self.extreme(op, a[half], b[half]),
            _ => {
                let value = self.graph.binary(op, a[half], b[half]);
                self.graph.is_computed(value);
                value
            }
        });
        self.double_result(halves)
    }
}
