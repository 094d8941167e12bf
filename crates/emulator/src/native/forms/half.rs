//! Halves of registers: where they come from and go, and 16-bit integers.

use luthier_isa::op::Op as IsaOp;

use super::super::addresses::{Address, Place, Size};
use super::super::nodes::{Binary, Node, Value};
use super::{Foreign, Form};

/// How far to look into what a value is made of.
const DEPTH: u32 = 3;

impl Form<'_> {
    /// Whether the operation is one of these; then it is done.
    pub(super) fn half(&mut self, operation: IsaOp) -> Result<bool, Foreign> {
        use Binary::*;
        let value = match operation {
            IsaOp::VMovB16 | IsaOp::VCvtU32U16 => {
                let value = self.source(0);
                self.lower(value)
            }
            IsaOp::VCvtI32I16 => {
                let value = self.source(0);
                self.half_integer(value, true)
            }
            IsaOp::VNotB16 => {
                let value = self.source(0);
                let value = self.not(value);
                self.lower(value)
            }
            IsaOp::VCndmaskB16 => {
                let ([no, yes], mask) = (self.two(), self.mask()?);
                self.graph.node(Node::Select { mask, yes, no })
            }
            IsaOp::VAndB16 => self.of_words(And),
            IsaOp::VOrB16 => self.of_words(Or),
            IsaOp::VXorB16 => self.of_words(Xor),
            IsaOp::VAddU16 | IsaOp::VAddI16 => self.of_words(Add),
            IsaOp::VSubU16 | IsaOp::VSubI16 => self.of_words(Sub),
            IsaOp::VMulLoU16 => self.of_words(Mul),
            IsaOp::VSubrevU16 => {
                let [a, b] = self.two();
                let value = self.graph.binary(Sub, b, a);
                self.lower(value)
            }
            IsaOp::VLshlrevB16 | IsaOp::VLshrrevB16 | IsaOp::VAshrrevI16 => {
                let [by, value] = self.two();
                let value = self.shifted_half(operation, by, value);
                self.lower(value)
            }
            IsaOp::VMinU16 => self.of_halves(MinU, false),
            IsaOp::VMaxU16 => self.of_halves(MaxU, false),
            IsaOp::VMinI16 => self.of_halves(MinS, true),
            IsaOp::VMaxI16 => self.of_halves(MaxS, true),
            IsaOp::VMin3U16 => self.of_three(MinU, false),
            IsaOp::VMax3U16 => self.of_three(MaxU, false),
            IsaOp::VMin3I16 => self.of_three(MinS, true),
            IsaOp::VMax3I16 => self.of_three(MaxS, true),
            IsaOp::VMadU16 | IsaOp::VMadI16 | IsaOp::VMadLegacyU16 | IsaOp::VMadLegacyI16 => {
                let value = self.product_and_sum(None);
                self.lower(value)
            }
            IsaOp::VMadU32U16 => self.product_and_sum(Some(false)),
            IsaOp::VMadI32I16 => self.product_and_sum(Some(true)),
            IsaOp::VCvtPkU16U32 => self.packed_within([None, Some(0xffff)], |form, k| form.source(k)),
            IsaOp::VCvtPkI16I32 => self.packed_within([Some(-32768), Some(32767)], |form, k| form.source(k)),
            IsaOp::VCvtPkU16F32 => self.packed_within([None, Some(0xffff)], |form, k| {
                let x = form.source(k);
                form.integer_of_float(false, x)
            }),
            IsaOp::VCvtPkI16F32 => self.packed_within([Some(-32768), Some(32767)], |form, k| {
                let x = form.source(k);
                form.integer_of_float(true, x)
            }),
            IsaOp::VCvtF32Bf16 => {
                let value = self.source(0);
                self.shifted(Shl, value, 16)
            }
            IsaOp::VPkAddU16 | IsaOp::VPkAddI16 => self.of_pairs(|form, a, b, _| form.graph.binary(Add, a, b)),
            IsaOp::VPkSubU16 | IsaOp::VPkSubI16 => self.of_pairs(|form, a, b, _| form.graph.binary(Sub, a, b)),
            IsaOp::VPkMulLoU16 => self.of_pairs(|form, a, b, _| form.graph.binary(Mul, a, b)),
            IsaOp::VPkMadU16 | IsaOp::VPkMadI16 => self.of_pairs(|form, a, b, c| {
                let c = form.taken(2, c);
                let product = form.graph.binary(Mul, a, b);
                form.graph.binary(Add, product, c)
            }),
            IsaOp::VPkMinU16 => self.of_number_pairs(MinU, false),
            IsaOp::VPkMaxU16 => self.of_number_pairs(MaxU, false),
            IsaOp::VPkMinI16 => self.of_number_pairs(MinS, true),
            IsaOp::VPkMaxI16 => self.of_number_pairs(MaxS, true),
            IsaOp::VPkLshlrevB16 => self.of_pairs(|form, a, b, _| form.shifted_half(IsaOp::VLshlrevB16, a, b)),
            IsaOp::VPkLshrrevB16 => self.of_pairs(|form, a, b, _| form.shifted_half(IsaOp::VLshrrevB16, a, b)),
            IsaOp::VPkAshrrevI16 => self.of_pairs(|form, a, b, _| form.shifted_half(IsaOp::VAshrrevI16, a, b)),
            _ => return Ok(false),
        };
        self.result(value)?;
        Ok(true)
    }

    /// A result takes its place in a register, whose other bits stay, or become zeros or its sign.
    pub(super) fn placed(&mut self) -> Result<(), Foreign> {
        let (shift, mask, how) = (self.op.imm as u32 & 31, self.op.imm2 as u32, self.op.imm2 >> 32);
        let value = self.source(0);
        let value = self.shifted(Binary::Shl, value, shift);
        let value = match (how, mask) {
            (0, 0xffff) | (0, 0xffff_0000) => {
                let old = self.row(self.op.dst);
                let (low, high) = if shift == 0 { (value, old) } else { (old, value) };
                let (low, high) = (self.lower(low), self.in_upper(high));
                self.graph.binary(Binary::Or, low, high)
            }
            (0, _) => {
                let (old, value) = (self.row(self.op.dst), self.with_constant(Binary::And, value, mask, !0));
                let kept = self.with_constant(Binary::And, old, !mask, !0);
                self.graph.binary(Binary::Or, value, kept)
            }
            (1, _) => {
                let (above, value) = (mask.leading_zeros(), self.with_constant(Binary::And, value, mask, !0));
                let high = self.shifted(Binary::Shl, value, above);
                self.shifted(Binary::Sar, high, above)
            }
            _ => self.with_constant(Binary::And, value, mask, !0),
        };
        self.result(value)
    }

    /// Halves of a source for each half, and signs that change.
    pub(super) fn picked_halves(&mut self) -> Result<(), Foreign> {
        let value = self.source(0);
        let low = if self.op.imm & 1 != 0 { self.upper(value) } else { self.lower(value) };
        let high = if self.op.imm & 2 != 0 { self.in_upper(value) } else { self.shifted(Binary::Shl, value, 16) };
        let value = self.graph.binary(Binary::Or, low, high);
        let value = self.with_constant(Binary::Xor, value, self.op.imm2 as u32, 0);
        self.temporary(value)
    }

    /// The lower half, zeros above.
    pub(super) fn lower(&mut self, value: Value) -> Value {
        match self.graph.of(value) {
            _ if self.is_lower(value, DEPTH) => value,
            Node::Binary(Binary::Or, low, high) if self.is_lower(low, DEPTH) && self.is_upper(high) => low,
            _ => self.with_constant(Binary::And, value, 0xffff, !0),
        }
    }

    /// The upper half where it is, zeros below.
    pub(super) fn in_upper(&mut self, value: Value) -> Value {
        match self.graph.of(value) {
            _ if self.is_upper(value) => value,
            _ if self.is_lower(value, DEPTH) => self.graph.constant(0),
            Node::Binary(Binary::Or, low, high) if self.is_lower(low, DEPTH) && self.is_upper(high) => high,
            _ => self.with_constant(Binary::And, value, 0xffff_0000, !0),
        }
    }

    /// The upper half as a lower one.
    pub(super) fn upper(&mut self, value: Value) -> Value {
        let high = match self.graph.of(value) {
            Node::Binary(Binary::Or, low, high) if self.is_lower(low, DEPTH) && self.is_upper(high) => high,
            _ => value,
        };
        match self.graph.of(high) {
            Node::Shift(Binary::Shl, from, 16) if self.is_lower(from, DEPTH) => from,
            Node::Binary(Binary::And, from, mask) if self.graph.of(mask) == Node::Constant(0xffff_0000) => {
                self.shifted(Binary::Shr, from, 16)
            }
            _ => self.shifted(Binary::Shr, high, 16),
        }
    }

    /// Whether nothing is above the lower half.
    fn is_lower(&self, value: Value, depth: u32) -> bool {
        use Binary::{And, MaxU, MinU, Or, Shr, Xor};
        match self.graph.of(value) {
            Node::Constant(word) => word <= 0xffff,
            Node::HalfOfSingle(..) => true,
            Node::Lds { address: Address { size, .. }, .. } | Node::Global { place: Place { size, .. }, .. } => {
                matches!(size, Size::Byte | Size::Half)
            }
            Node::Shift(Shr, _, by) => by >= 16,
            Node::Binary(And | MinU, a, b) if depth > 0 => self.is_lower(a, depth - 1) || self.is_lower(b, depth - 1),
            Node::Binary(Or | Xor | MaxU, a, b) if depth > 0 => {
                self.is_lower(a, depth - 1) && self.is_lower(b, depth - 1)
            }
            _ => false,
        }
    }

    /// Whether the lower half is zero.
    fn is_upper(&self, value: Value) -> bool {
        match self.graph.of(value) {
            Node::Constant(word) => word & 0xffff == 0,
            Node::Shift(Binary::Shl, _, by) => by >= 16,
            Node::Binary(Binary::And, a, b) => self.is_upper(a) || self.is_upper(b),
            _ => false,
        }
    }

    /// The lower half as a number.
    pub(super) fn half_integer(&mut self, value: Value, signed: bool) -> Value {
        if !signed {
            return self.lower(value);
        }
        let high = self.shifted(Binary::Shl, value, 16);
        self.shifted(Binary::Sar, high, 16)
    }

    /// Two halves as a word.
    pub(super) fn paired(&mut self, low: Value, high: Value) -> Value {
        let (low, high) = (self.lower(low), self.shifted(Binary::Shl, high, 16));
        self.graph.binary(Binary::Or, low, high)
    }

    /// The lower half of the result does not depend on the upper ones of the sources.
    fn of_words(&mut self, op: Binary) -> Value {
        let [a, b] = self.two();
        let value = self.graph.binary(op, a, b);
        self.lower(value)
    }

    fn of_halves(&mut self, op: Binary, signed: bool) -> Value {
        let [a, b] = self.two().map(|value| self.half_integer(value, signed));
        let value = self.graph.binary(op, a, b);
        self.lower(value)
    }

    fn of_three(&mut self, op: Binary, signed: bool) -> Value {
        let [a, b, c] = self.three().map(|value| self.half_integer(value, signed));
        let value = self.graph.binary(op, a, b);
        let value = self.graph.binary(op, value, c);
        self.lower(value)
    }

    /// Factors of 16 bits, whose upper halves matter where the result has 32 bits.
    fn product_and_sum(&mut self, signed: Option<bool>) -> Value {
        let [a, b, c] = self.three();
        let [a, b] = match signed {
            Some(signed) => [a, b].map(|value| self.half_integer(value, signed)),
            None => [a, b],
        };
        let product = self.graph.binary(Binary::Mul, a, b);
        self.graph.binary(Binary::Add, product, c)
    }

    /// `value` shifted by the lowest four bits; what is above the lower half has no meaning.
    fn shifted_half(&mut self, operation: IsaOp, by: Value, value: Value) -> Value {
        let by = self.with_constant(Binary::And, by, 15, !0);
        let (op, value) = match operation {
            IsaOp::VLshlrevB16 => (Binary::Shl, value),
            IsaOp::VLshrrevB16 => (Binary::Shr, self.lower(value)),
            _ => (Binary::Sar, self.half_integer(value, true)),
        };
        self.graph.binary(op, value, by)
    }

    /// A function of the halves of all sources; what it leaves above the lower half has no meaning. A third source is asked for
    /// by [`Form::taken`], as those of two have none.
    pub(super) fn of_pairs(&mut self, mut f: impl FnMut(&mut Self, Value, Value, bool) -> Value) -> Value {
        let [a, b] = self.two();
        let low = f(self, a, b, false);
        let [a, b] = [a, b].map(|value| self.upper(value));
        let high = f(self, a, b, true);
        self.paired(low, high)
    }

    /// A half of source `k` in the lower half.
    pub(super) fn taken(&mut self, k: usize, high: bool) -> Value {
        let value = self.source(k);
        if high { self.upper(value) } else { value }
    }

    fn of_number_pairs(&mut self, op: Binary, signed: bool) -> Value {
        self.of_pairs(|form, a, b, _| {
            let [a, b] = [a, b].map(|value| form.half_integer(value, signed));
            form.graph.binary(op, a, b)
        })
    }

    /// Two numbers within bounds, as halves: without a lower bound they are unsigned.
    fn packed_within(&mut self, [least, most]: [Option<i32>; 2], number: impl Fn(&mut Self, usize) -> Value) -> Value {
        let [low, high] = [0, 1].map(|k| {
            let mut value = number(self, k);
            let is_signed = least.is_some();
            let ops = if is_signed { [Binary::MaxS, Binary::MinS] } else { [Binary::MaxU, Binary::MinU] };
            for (op, bound) in ops.into_iter().zip([least, most]) {
                if let Some(bound) = bound {
                    let bound = self.graph.constant(bound as u32);
                    value = self.graph.binary(op, value, bound);
                }
            }
            value
        });
        self.paired(low, high)
    }
}
