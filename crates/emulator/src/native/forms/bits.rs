//! Operations on bits: fields, shifts by what lanes hold, permuted bytes, counts.

use luthier_isa::op::Op as IsaOp;

use super::super::functions::Function;
use super::super::nodes::{Binary, Node, Value};
use super::{Foreign, Form};

impl Form<'_> {
    /// Whether the operation is one of these; then it is done.
    pub(super) fn bits(&mut self, operation: IsaOp) -> Result<bool, Foreign> {
        use Binary::*;
        let value = match operation {
            IsaOp::VPermB32 => self.permuted_bytes(),
            IsaOp::VAlignbitB32 | IsaOp::VAlignbyteB32 => {
                let [a, b, c] = self.three();
                let by = match operation {
                    IsaOp::VAlignbitB32 => self.with_constant(And, c, 31, !0),
                    _ => {
                        let bytes = self.with_constant(And, c, 3, !0);
                        self.shifted(Shl, bytes, 3)
                    }
                };
                // By one and by what is left of 31, as by nothing no bit comes down.
                let (last, up) = (self.graph.constant(31), self.shifted(Shl, a, 1));
                let (left, kept) = (self.graph.binary(Sub, last, by), self.graph.binary(Shr, b, by));
                let moved = self.graph.binary(Shl, up, left);
                self.graph.binary(Or, kept, moved)
            }
            IsaOp::VBfrevB32 => {
                let mut value = self.source(0);
                for (by, mask) in [(1, 0x5555_5555), (2, 0x3333_3333), (4, 0x0f0f_0f0f), (8, 0x00ff_00ff)] {
                    let (high, low) = (self.shifted(Shr, value, by), self.with_constant(And, value, mask, !0));
                    let (high, low) = (self.with_constant(And, high, mask, !0), self.shifted(Shl, low, by));
                    value = self.graph.binary(Or, high, low);
                }
                let (high, low) = (self.shifted(Shr, value, 16), self.shifted(Shl, value, 16));
                self.graph.binary(Or, high, low)
            }
            IsaOp::VFfbhU32 => {
                let x = self.source(0);
                self.highest(x)
            }
            IsaOp::VFfbhI32 => {
                let x = self.source(0);
                let sign = self.shifted(Sar, x, 31);
                let differs = self.graph.binary(Xor, x, sign);
                self.highest(differs)
            }
            IsaOp::VFfblB32 => {
                let (x, zero) = (self.source(0), self.graph.constant(0));
                let negative = self.graph.binary(Sub, zero, x);
                let lowest = self.graph.binary(And, x, negative);
                let exponent = self.exponent_of(lowest);
                let (one, none) = (self.graph.constant(127), self.graph.binary(Equal, x, zero));
                let number = self.graph.binary(Sub, exponent, one);
                self.graph.binary(Or, number, none)
            }
            IsaOp::VBcntU32B32 => {
                let [a, b] = self.two();
                let count = self.ones(a);
                self.graph.binary(Add, count, b)
            }
            IsaOp::VMbcntLoU32B32 | IsaOp::VMbcntHiU32B32 => {
                let ([a, b], lane) = (self.two(), self.graph.node(Node::LaneNumbers));
                let (all, zero) = (self.graph.constant(!0), self.graph.constant(0));
                let from = match operation {
                    IsaOp::VMbcntLoU32B32 => lane,
                    _ => {
                        let half = self.graph.constant(32);
                        let above = self.graph.binary(Sub, lane, half);
                        self.graph.binary(MaxS, above, zero)
                    }
                };
                let others = self.graph.binary(Shl, all, from);
                let before = self.graph.binary(AndNot, others, a);
                let count = self.ones(before);
                self.graph.binary(Add, count, b)
            }
            IsaOp::VSadU32 => {
                let [a, b, c] = self.three();
                let (most, least) = (self.graph.binary(MaxU, a, b), self.graph.binary(MinU, a, b));
                let difference = self.graph.binary(Sub, most, least);
                self.graph.binary(Add, difference, c)
            }
            IsaOp::VMinmaxI32 => self.bounded(MinS, MaxS),
            IsaOp::VMaxminI32 => self.bounded(MaxS, MinS),
            IsaOp::VMinmaxU32 => self.bounded(MinU, MaxU),
            IsaOp::VMaxminU32 => self.bounded(MaxU, MinU),
            IsaOp::VCmpClassF32 => {
                let value = self.class()?;
                self.mask_result(value)?;
                return Ok(true);
            }
            IsaOp::VSwapB32 => {
                let (dst, other) = (self.op.dst, self.op.src[2]);
                let (a, b) = (self.row(dst), self.row(other));
                self.write(dst, b);
                self.write(other, a);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.result(value)?;
        Ok(true)
    }

    /// Sums and differences that stay in their range.
    pub(super) fn saturated(&mut self, operation: IsaOp) -> Result<(), Foreign> {
        let [a, b] = self.two();
        let (a, b) = if operation == IsaOp::VSubrevU32 { (b, a) } else { (a, b) };
        let value = match operation {
            IsaOp::VAddU32 => {
                let sum = self.graph.binary(Binary::Add, a, b);
                let over = self.below(sum, a);
                self.graph.binary(Binary::Or, sum, over)
            }
            IsaOp::VSubU32 | IsaOp::VSubrevU32 => {
                let most = self.graph.binary(Binary::MaxU, a, b);
                self.graph.binary(Binary::Sub, most, b)
            }
            _ => return Err(Foreign),
        };
        self.result(value)
    }

    /// Some bits, with a sign or zeros above; all from the first one on if `width` is zero.
    pub(super) fn field(&mut self, value: Value, at: u32, width: u32, signed: bool) -> Value {
        let width = if width == 0 { 32 } else { width };
        let above = 32 - (at + width).min(32);
        if signed {
            // What lies above the register is zero.
            let sign = if at + width > 32 { Binary::Shr } else { Binary::Sar };
            let high = self.shifted(Binary::Shl, value, above);
            return self.shifted(sign, high, above + at);
        }
        let low = if at == 16 { self.upper(value) } else { self.shifted(Binary::Shr, value, at) };
        match (above, width) {
            (0, _) => low,
            (_, 16) => self.lower(low),
            _ => self.with_constant(Binary::And, low, (1 << width) - 1, !0),
        }
    }

    fn bounded(&mut self, first: Binary, second: Binary) -> Value {
        let [a, b, c] = self.three();
        let value = self.graph.binary(first, a, b);
        self.graph.binary(second, value, c)
    }

    /// 64 bits shifted by the lowest six bits: by 32 or more nothing is left of a word, and what is less than zero counts as
    /// more.
    pub(super) fn shifted64_by(&mut self, op: Binary, [low, high]: [Value; 2], by: Value) -> [Value; 2] {
        let by = self.with_constant(Binary::And, by, 63, !0);
        let (from, to) = if op == Binary::Shl { (low, high) } else { (high, low) };
        let (other, plain) = if op == Binary::Shl { (Binary::Shr, Binary::Shl) } else { (Binary::Shl, Binary::Shr) };
        let whole = self.graph.constant(32);
        let (rest, more) = (self.graph.binary(Binary::Sub, whole, by), self.graph.binary(Binary::Sub, by, whole));
        let (kept, moved) = (self.graph.binary(plain, to, by), self.graph.binary(other, from, rest));
        let near = self.graph.binary(Binary::Or, kept, moved);
        let far = self.graph.binary(op, from, more);
        let to = if op == Binary::Sar {
            let last = self.graph.constant(31);
            let mask = self.graph.binary(Binary::GreaterS, by, last);
            self.graph.node(Node::Select { mask, yes: far, no: near })
        } else {
            self.graph.binary(Binary::Or, near, far)
        };
        let from = self.graph.binary(op, from, by);
        if op == Binary::Shl { [from, to] } else { [to, from] }
    }

    /// The exponent, as f32 has it, of a power of two, zero or a number whose second bit is zero.
    fn exponent_of(&mut self, value: Value) -> Value {
        let float = self.graph.node(Node::FloatOfSigned(value));
        let exponent = self.shifted(Binary::Shr, float, 23);
        self.with_constant(Binary::And, exponent, 255, !0)
    }

    /// How many zeros are above the highest bit that is set; -1 if none is.
    fn highest(&mut self, x: Value) -> Value {
        use Binary::{AndNot, Equal, Or, Sar, Shr, Sub};
        // Without the bit below the highest one, it is not rounded up.
        let half = self.shifted(Shr, x, 1);
        let apart = self.graph.binary(AndNot, half, x);
        let exponent = self.exponent_of(apart);
        let (zero, most) = (self.graph.constant(0), self.graph.constant(158));
        let zeros = self.graph.binary(Sub, most, exponent);
        let (negative, none) = (self.shifted(Sar, x, 31), self.graph.binary(Equal, x, zero));
        let zeros = self.graph.binary(AndNot, negative, zeros);
        self.graph.binary(Or, zeros, none)
    }

    /// How many bits are set.
    fn ones(&mut self, x: Value) -> Value {
        use Binary::{Add, And, Shr, Sub};
        let half = self.shifted(Shr, x, 1);
        let half = self.with_constant(And, half, 0x5555_5555, !0);
        let pairs = self.graph.binary(Sub, x, half);
        let (low, high) = (self.with_constant(And, pairs, 0x3333_3333, !0), self.shifted(Shr, pairs, 2));
        let high = self.with_constant(And, high, 0x3333_3333, !0);
        let fours = self.graph.binary(Add, low, high);
        let high = self.shifted(Shr, fours, 4);
        let sum = self.graph.binary(Add, fours, high);
        let mut sum = self.with_constant(And, sum, 0x0f0f_0f0f, !0);
        for by in [8, 16] {
            let high = self.shifted(Shr, sum, by);
            sum = self.graph.binary(Add, sum, high);
        }
        self.with_constant(And, sum, 63, !0)
    }

    /// Bytes of two words by numbers below eight; others, which stand for signs and constants, take a call.
    fn permuted_bytes(&mut self) -> Value {
        let [a, b, numbers] = self.three();
        // Of sixteen bytes the second 64 bits count from 8 on; their upper word is not used.
        let base = [0, 0x0808_0808].map(|word| self.graph.constant(word));
        let base = self.graph.node(Node::Join { second: false, low: base[0], high: base[1] });
        let base = self.graph.node(Node::Join { second: false, low: base, high: base });
        let halves = [false, true].map(|second| {
            let words = self.graph.node(Node::Join { second, low: b, high: a });
            let numbers = self.graph.node(Node::Join { second, low: numbers, high: numbers });
            let numbers = self.graph.binary(Binary::Or, numbers, base);
            self.graph.binary(Binary::Shuffle, words, numbers)
        });
        let no = self.graph.node(Node::Split { high: false, first: halves[0], second: halves[1] });
        let (zero, other) = (self.graph.constant(0), self.with_constant(Binary::And, numbers, 0xf8f8_f8f8, !0));
        let plain = self.graph.binary(Binary::Equal, other, zero);
        if self.graph.of(plain) == Node::Constant(!0) {
            return no;
        }
        let mask = self.not(plain);
        let yes = self.called(Function::Bytes, &[a, b, numbers], Some(mask));
        self.graph.node(Node::Select { mask, yes, no })
    }

    /// The same where it is no constant: a bit's number is made of the signs and of how many bounds the magnitude has passed.
    fn class_of_lanes(&mut self, x: Value, kinds: Value) -> Value {
        use Binary::{Add, And, GreaterS, Sar, Shl, Shr, Sub, Xor};
        let magnitude = self.with_constant(And, x, !(1 << 31), !0);
        let mut passed = self.graph.constant(0);
        for bound in [0, 0x7f_ffff, 0x7f7f_ffff] {
            let bound = self.graph.constant(bound);
            let above = self.graph.binary(GreaterS, magnitude, bound);
            passed = self.graph.binary(Sub, passed, above);
        }
        let sign = self.shifted(Sar, x, 31);
        let number = self.graph.binary(Xor, passed, sign);
        let no = self.with_constant(Add, number, 6, 0);
        let [nan, quiet] = [0x7f80_0000, 0x7fbf_ffff].map(|bound| {
            let bound = self.graph.constant(bound);
            self.graph.binary(GreaterS, magnitude, bound)
        });
        // Of NaNs those that are not quiet come first.
        let yes = self.with_constant(And, quiet, 1, !0);
        let number = self.graph.node(Node::Select { mask: nan, yes, no });
        let bit = self.graph.binary(Shr, kinds, number);
        let top = self.shifted(Shl, bit, 31);
        self.shifted(Sar, top, 31)
    }

    /// Which lanes' f32 is of a kind that is asked for.
    fn class(&mut self) -> Result<Value, Foreign> {
        let [x, kinds] = self.two();
        let Node::Constant(kinds) = self.graph.of(kinds) else { return Ok(self.class_of_lanes(x, kinds)) };
        // Kinds by magnitude: zero, denormal, normal, infinite, signalling NaN, quiet NaN.
        const FIRST: [u32; 7] = [0, 1, 0x80_0000, 0x7f80_0000, 0x7f80_0001, 0x7fc0_0000, 1 << 31];
        let [positive, negative] =
            [[6, 7, 8, 9, 0, 1], [5, 4, 3, 2, 0, 1]].map(|bits| bits.map(|bit| kinds >> bit & 1 != 0));
        let signs = if positive == negative {
            let magnitude = self.with_constant(Binary::And, x, !(1 << 31), !0);
            vec![(magnitude, positive)]
        } else {
            vec![(x, positive), (self.with_constant(Binary::Xor, x, 1 << 31, 0), negative)]
        };
        let mut all = self.graph.constant(0);
        for (x, wanted) in signs {
            let mut at = 0;
            while let Some(first) = (at..6).find(|&kind| wanted[kind]) {
                at = (first..6).find(|&kind| !wanted[kind]).unwrap_or(6);
                let (from, count) = (FIRST[first], self.graph.constant(FIRST[at] - FIRST[first]));
                let from = self.with_constant(Binary::Add, x, from.wrapping_neg(), 0);
                let inside = self.below(from, count);
                all = self.graph.binary(Binary::Or, all, inside);
            }
        }
        Ok(all)
    }
}
