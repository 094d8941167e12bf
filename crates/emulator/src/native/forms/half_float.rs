//! f16 and bf16. The host computes with f32: sums and products of f16 rounded to f32 and then to f16 are rounded as if once.

use luthier_isa::op::Op as IsaOp;

use super::super::nodes::{Binary, Node, Value};
use super::compare::ORDERED;
use super::{Foreign, Form};
use crate::op::RawMods;

/// The predicate of `vcmpps` that says whether two numbers are the same.
const SAME: u8 = 0;

impl Form<'_> {
    /// Whether the operation is one of these; then it is done.
    pub(super) fn half_float(&mut self, operation: IsaOp) -> Result<bool, Foreign> {
        use Binary::{AddF, MaxF, MinF, MulF, SubF};
        let value = match operation {
            IsaOp::VAddF16 => self.of_singles(|form, a, b| form.graph.binary(AddF, a, b)),
            IsaOp::VSubF16 => self.of_singles(|form, a, b| form.graph.binary(SubF, a, b)),
            IsaOp::VSubrevF16 => self.of_singles(|form, a, b| {
                // Of two NaNs the first one comes out.
                let minus_one = form.graph.constant(0xbf80_0000);
                form.graph.node(Node::Fma(a, minus_one, b))
            }),
            IsaOp::VMulF16 => self.of_singles(|form, a, b| form.graph.binary(MulF, a, b)),
            IsaOp::VMinF16 | IsaOp::VMaxF16 => {
                let op = if operation == IsaOp::VMinF16 { MinF } else { MaxF };
                self.of_singles(|form, a, b| form.extreme(op, a, b))
            }
            IsaOp::VPkAddF16 => self.of_single_pairs(|form, a, b| form.graph.binary(AddF, a, b)),
            IsaOp::VPkMulF16 => self.of_single_pairs(|form, a, b| form.graph.binary(MulF, a, b)),
            IsaOp::VPkMinF16 => self.of_single_pairs(|form, a, b| form.extreme(MinF, a, b)),
            IsaOp::VPkMaxF16 => self.of_single_pairs(|form, a, b| form.extreme(MaxF, a, b)),
            IsaOp::VFmaF16 | IsaOp::VFmaLegacyF16 | IsaOp::VFmacF16 | IsaOp::VFmaakF16 | IsaOp::VFmamkF16 => {
                let [a, b, c] = self.three();
                self.fused_half(a, b, c)
            }
            IsaOp::VPkFmaF16 | IsaOp::VPkFmacF16 => self.of_pairs(|form, a, b, high| {
                let c = form.taken(2, high);
                form.fused_half(a, b, c)
            }),
            IsaOp::VTruncF16 => self.integral_half(11),
            IsaOp::VCeilF16 => self.integral_half(10),
            IsaOp::VFloorF16 => self.integral_half(9),
            IsaOp::VRndneF16 => self.integral_half(8),
            IsaOp::VCvtF16U16 | IsaOp::VCvtF16I16 => {
                let value = self.source(0);
                let value = self.half_integer(value, operation == IsaOp::VCvtF16I16);
                let value = self.graph.node(Node::FloatOfSigned(value));
                self.nearest(value)
            }
            IsaOp::VCvtU16F16 | IsaOp::VCvtI16F16 => {
                let signed = operation == IsaOp::VCvtI16F16;
                let value = self.source(0);
                let value = self.graph.node(Node::SingleOfHalf(value));
                let value = self.integer_of_float(signed, value);
                let bounds = if signed { [-32768, 32767] } else { [0, 0xffff] };
                let [least, most] = bounds.map(|bound: i32| self.graph.constant(bound as u32));
                // Of unsigned ones those are large that seem to be less than zero.
                let (up, down) = if signed { (Binary::MaxS, Binary::MinS) } else { (Binary::MaxU, Binary::MinU) };
                let value = self.graph.binary(up, value, least);
                let value = self.graph.binary(down, value, most);
                self.lower(value)
            }
            IsaOp::VPackB32F16 => {
                self.graph.needs_host64 = true;
                let [low, high] = self.two();
                self.paired(low, high)
            }
            // What is too small for f16 becomes zero anyway.
            IsaOp::VCvtPkrtzF16F32 => {
                self.graph.needs_host64 = true;
                let [low, high] = self.two().map(|value| self.graph.node(Node::HalfOfSingle(value, false)));
                self.paired(low, high)
            }
            IsaOp::VCvtPkF16F32 => {
                let [low, high] = self.two().map(|value| self.nearest(value));
                self.paired(low, high)
            }
            IsaOp::VCvtPkBf16F32 => {
                let [low, high] = self.two().map(|value| self.nearest_brain(value));
                let high = self.shifted(Binary::Shl, high, 16);
                self.graph.binary(Binary::Or, low, high)
            }
            IsaOp::VFmaMixF32 => self.mixed(),
            IsaOp::VFmaMixloF16 | IsaOp::VFmaMixhiF16 => {
                let (value, old) = (self.mixed(), self.row(self.op.dst));
                let value = self.nearest(value);
                match operation {
                    IsaOp::VFmaMixloF16 => {
                        let high = self.in_upper(old);
                        self.graph.binary(Binary::Or, value, high)
                    }
                    _ => self.paired(old, value),
                }
            }
            _ => return Ok(false),
        };
        self.result(value)?;
        Ok(true)
    }

    /// The f32 that a lower half is, a denormal one as it is.
    pub(super) fn single(&mut self, half: Value) -> Value {
        self.graph.needs_host64 = true;
        self.graph.node(Node::SingleOfHalf(half))
    }

    /// The nearest f16, as MODE has it.
    fn nearest(&mut self, single: Value) -> Value {
        (self.graph.needs_host64, self.graph.needs_plain16) = (true, true);
        self.graph.node(Node::HalfOfSingle(single, true))
    }

    /// The nearest bf16; of a NaN the upper half, quieted.
    fn nearest_brain(&mut self, x: Value) -> Value {
        self.graph.needs_plain16 = true;
        let high = self.shifted(Binary::Shr, x, 16);
        let odd = self.with_constant(Binary::And, high, 1, !0);
        let rounded = self.with_constant(Binary::Add, x, 0x7fff, 0);
        let rounded = self.graph.binary(Binary::Add, rounded, odd);
        let yes = self.shifted(Binary::Shr, rounded, 16);
        let no = self.with_constant(Binary::Or, high, 0x40, 0);
        let mask = self.graph.node(Node::CompareF(ORDERED, x, x));
        self.graph.node(Node::Select { mask, yes, no })
    }

    fn of_singles(&mut self, f: impl Fn(&mut Self, Value, Value) -> Value) -> Value {
        let [a, b] = self.two().map(|half| self.single(half));
        let value = f(self, a, b);
        self.nearest(value)
    }

    fn of_single_pairs(&mut self, f: impl Fn(&mut Self, Value, Value) -> Value) -> Value {
        self.of_pairs(|form, a, b, _| {
            let [a, b] = [a, b].map(|half| form.single(half));
            let value = f(form, a, b);
            form.nearest(value)
        })
    }

    fn integral_half(&mut self, how: u8) -> Value {
        let value = self.source(0);
        let value = self.single(value);
        let value = self.graph.node(Node::Integral(value, how));
        self.nearest(value)
    }

    /// The product of two f16 is exact as f32. Its sum with a third one is rounded to an odd number, by what was cut off: then
    /// to round it to f16 is as if that had been the first time.
    fn fused_half(&mut self, a: Value, b: Value, c: Value) -> Value {
        use Binary::{Add, AddF, And, Equal, MulF, Or, Sar, SubF, Xor};
        let [a, b, c] = [a, b, c].map(|half| self.single(half));
        let product = self.graph.binary(MulF, a, b);
        let sum = self.graph.node(Node::Fma(a, b, c));
        let back = self.graph.binary(SubF, sum, product);
        let (other, rest) = (self.graph.binary(SubF, sum, back), self.graph.binary(SubF, c, back));
        let lost = self.graph.binary(SubF, product, other);
        let error = self.graph.binary(AddF, lost, rest);
        // To the neighbour that lies on the error's side.
        let differ = self.graph.binary(Xor, error, sum);
        let inward = self.shifted(Sar, differ, 31);
        let step = self.with_constant(Or, inward, 1, 0);
        let odd = self.graph.binary(Add, sum, step);
        let (zero, last) = (self.graph.constant(0), self.with_constant(And, sum, 1, !0));
        let even = self.graph.binary(Equal, last, zero);
        let exact = self.graph.node(Node::CompareF(SAME, error, zero));
        let moves = self.graph.binary(Binary::AndNot, exact, even);
        let exponent = self.with_constant(And, sum, 0x7f80_0000, !0);
        let all = self.graph.constant(0x7f80_0000);
        let special = self.graph.binary(Equal, exponent, all);
        let mask = self.graph.binary(Binary::AndNot, special, moves);
        let value = self.graph.node(Node::Select { mask, yes: odd, no: sum });
        self.nearest(value)
    }

    /// `a * b + c` as f32; OP_SEL_HI says which sources are halves, and OP_SEL which ones.
    fn mixed(&mut self) -> Value {
        let mods = RawMods(self.op.imm);
        let [a, b, c] = [0, 1, 2].map(|k| {
            let value = self.source(k as usize);
            let value = if mods.op_sel_hi(k) {
                let half = if mods.op_sel(k) { self.upper(value) } else { value };
                self.single(half)
            } else {
                value
            };
            let value = if mods.abs(k) { self.with_constant(Binary::And, value, !(1 << 31), !0) } else { value };
            let value = if mods.neg(k) { self.with_constant(Binary::Xor, value, 1 << 31, 0) } else { value };
            self.flushed(value)
        });
        let value = self.graph.node(Node::Fma(a, b, c));
        self.graph.is_computed(value);
        let value = self.flushed(value);
        if mods.clamp() { self.within_one(value) } else { value }
    }
}
