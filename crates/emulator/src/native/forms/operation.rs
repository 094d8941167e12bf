//! Which form each operation has.

use luthier_isa::op::Op as IsaOp;

use super::super::functions::Function;
use super::super::nodes::{Binary, Node};
use super::{Foreign, Form};
use crate::op::{OpFlags, RawMods};

impl Form<'_> {
    pub(super) fn operation(&mut self, operation: IsaOp) -> Result<(), Foreign> {
        use Binary::*;
        macro_rules! chain {
            ($first:ident, $second:ident) => {{
                let [a, b, c] = self.three();
                let ab = self.graph.binary($first, a, b);
                let value = self.graph.binary($second, ab, c);
                self.result(value)
            }};
        }
        match operation {
            IsaOp::VMovB32 | IsaOp::VAccvgprReadB32 | IsaOp::VAccvgprWriteB32 | IsaOp::VAccvgprMovB32 => {
                let value = self.source(0);
                self.result(value)
            }
            IsaOp::VNop => Ok(()),
            IsaOp::VAndB32 => self.plain(And),
            IsaOp::VOrB32 => self.plain(Or),
            IsaOp::VXorB32 => self.plain(Xor),
            IsaOp::VXnorB32 => {
                let [a, b] = self.two();
                let value = self.graph.binary(Xor, a, b);
                let value = self.not(value);
                self.result(value)
            }
            IsaOp::VNotB32 => {
                let value = self.source(0);
                let value = self.not(value);
                self.result(value)
            }
            IsaOp::VLshlrevB32 => self.reverse_shift(Shl),
            IsaOp::VLshrrevB32 => self.reverse_shift(Shr),
            IsaOp::VAshrrevI32 => self.reverse_shift(Sar),
            IsaOp::VAddU32 | IsaOp::VAddI32 => self.plain(Add),
            IsaOp::VSubU32 | IsaOp::VSubI32 => self.plain(Sub),
            IsaOp::VSubrevU32 => {
                let [a, b] = self.two();
                let value = self.graph.binary(Sub, b, a);
                self.result(value)
            }
            IsaOp::VAddCoU32 => self.carry(false),
            IsaOp::VAddcCoU32 => self.carry(true),
            IsaOp::VSubCoU32 => self.borrow(false, false),
            IsaOp::VSubrevCoU32 => self.borrow(false, true),
            IsaOp::VSubbCoU32 => self.borrow(true, false),
            IsaOp::VSubbrevCoU32 => self.borrow(true, true),
            IsaOp::VAdd3U32 => chain!(Add, Add),
            IsaOp::VOr3B32 => chain!(Or, Or),
            IsaOp::VXor3B32 => chain!(Xor, Xor),
            IsaOp::VAndOrB32 => chain!(And, Or),
            IsaOp::VXadU32 => chain!(Xor, Add),
            IsaOp::VLshlAddU32 | IsaOp::VLshlOrB32 => {
                let [a, b, c] = self.three();
                let shifted = self.shift(Shl, a, b);
                let last = if operation == IsaOp::VLshlAddU32 { Add } else { Or };
                let value = self.graph.binary(last, shifted, c);
                self.result(value)
            }
            IsaOp::VAddLshlU32 => {
                let [a, b, c] = self.three();
                let sum = self.graph.binary(Add, a, b);
                let value = self.shift(Shl, sum, c);
                self.result(value)
            }
            IsaOp::VMulLoU32 => self.plain(Mul),
            IsaOp::VMadU32 => chain!(Mul, Add),
            IsaOp::VBitop3B32 => {
                let sources = self.three();
                let value = self.truth_table(self.op.imm as u8, &sources);
                self.result(value)
            }
            IsaOp::VAddMaxI32 => chain!(Add, MaxS),
            IsaOp::VAddMinI32 => chain!(Add, MinS),
            IsaOp::VAddMaxU32 => chain!(Add, MaxU),
            IsaOp::VAddMinU32 => chain!(Add, MinU),
            IsaOp::VAddNcU64 | IsaOp::VSubNcU64 => {
                let ([a, a_high], [b, b_high]) = (self.pair(0), self.pair(1));
                let pair = if operation == IsaOp::VAddNcU64 {
                    let (low, high) = (self.graph.binary(Add, a, b), self.graph.binary(Add, a_high, b_high));
                    let carry = self.below(low, a);
                    [low, self.graph.binary(Sub, high, carry)]
                } else {
                    let (low, high) = (self.graph.binary(Sub, a, b), self.graph.binary(Sub, a_high, b_high));
                    let borrow = self.below(a, b);
                    [low, self.graph.binary(Add, high, borrow)]
                };
                self.pair_result(pair)
            }
            IsaOp::VMulU64 => {
                let ([a, a_high], [b, b_high]) = (self.pair(0), self.pair(1));
                let (low, high) = (self.graph.binary(Mul, a, b), self.mul_high(false, a, b));
                let (one, other) = (self.graph.binary(Mul, a, b_high), self.graph.binary(Mul, a_high, b));
                let sum = self.graph.binary(Add, one, other);
                let high = self.graph.binary(Add, high, sum);
                self.pair_result([low, high])
            }
            IsaOp::VMadNcU64U32 | IsaOp::VMadNcI64I32 => {
                let ([a, b], [low, high]) = (self.two(), self.pair(2));
                let product = self.graph.binary(Mul, a, b);
                let top = self.mul_high(operation == IsaOp::VMadNcI64I32, a, b);
                let sum = self.graph.binary(Add, product, low);
                let (carry, high) = (self.below(sum, product), self.graph.binary(Add, top, high));
                let high = self.graph.binary(Sub, high, carry);
                self.pair_result([sum, high])
            }
            IsaOp::VMulU32U24 | IsaOp::VMulI32I24 => {
                let value = self.product24(operation == IsaOp::VMulI32I24);
                self.result(value)
            }
            IsaOp::VMadU32U24 | IsaOp::VMadI32I24 => {
                let product = self.product24(operation == IsaOp::VMadI32I24);
                let c = self.source(2);
                let value = self.graph.binary(Add, product, c);
                self.result(value)
            }
            IsaOp::VBfeU32 => {
                let [a, b, c] = self.three();
                let field = self.shift(Shr, a, b);
                let one = self.graph.constant(1);
                let end = self.shift(Shl, one, c);
                let minus_one = self.graph.constant(!0);
                let mask = self.graph.binary(Add, end, minus_one);
                let value = self.graph.binary(And, field, mask);
                self.result(value)
            }
            IsaOp::VBfiB32 => {
                let [a, b, c] = self.three();
                let (inside, outside) = (self.graph.binary(And, a, b), self.graph.binary(AndNot, a, c));
                let value = self.graph.binary(Or, inside, outside);
                self.result(value)
            }
            IsaOp::VBfeI32 => {
                let [a, b, c] = self.three();
                let (field, whole) = (self.shift(Sar, a, b), self.graph.constant(32));
                // By 32 where it has no bits: then nothing is left.
                let width = self.with_constant(And, c, 31, !0);
                let up = self.graph.binary(Sub, whole, width);
                let high = self.graph.binary(Shl, field, up);
                let value = self.graph.binary(Sar, high, up);
                self.result(value)
            }
            IsaOp::VMovB64 => {
                let pair = self.pair(0);
                self.pair_result(pair)
            }
            IsaOp::VLshlrevB64 | IsaOp::VLshrrevB64 | IsaOp::VAshrrevI64 => {
                let (by, pair) = (self.source(0), self.pair(1));
                let op = match operation {
                    IsaOp::VLshlrevB64 => Shl,
                    IsaOp::VLshrrevB64 => Shr,
                    _ => Sar,
                };
                let pair = match self.graph.of(by) {
                    Node::Constant(by) => self.shifted64(op, pair, by & 63),
                    _ => self.shifted64_by(op, pair, by),
                };
                self.pair_result(pair)
            }
            IsaOp::VLshlAddU64 => {
                let (pair, by, [low, high]) = (self.pair(0), self.source(1), self.pair(2));
                let by = self.with_constant(And, by, 7, !0);
                let [a, b] = match self.graph.of(by) {
                    Node::Constant(by) => self.shifted64(Shl, pair, by),
                    _ => self.shifted64_by(Shl, pair, by),
                };
                let low = self.graph.binary(Add, a, low);
                let carry = self.below(low, a);
                let high = self.graph.binary(Add, b, high);
                let high = self.graph.binary(Sub, high, carry);
                self.pair_result([low, high])
            }
            IsaOp::VPkFmaF32 | IsaOp::VPkMulF32 | IsaOp::VPkAddF32 => self.packed_float(operation),
            IsaOp::VPkMovB32 => {
                let mods = RawMods(self.op.imm);
                let [low, high] = [0, 1].map(|k| self.op.src[k] + u16::from(mods.op_sel(k as u32)));
                let pair = [self.row(low), self.row(high)];
                self.pair_result(pair)
            }
            IsaOp::VMinU32 => self.plain(MinU),
            IsaOp::VMaxU32 => self.plain(MaxU),
            IsaOp::VMinI32 => self.plain(MinS),
            IsaOp::VMaxI32 => self.plain(MaxS),
            IsaOp::VMed3U32 => self.median(MinU, MaxU),
            IsaOp::VMed3I32 => self.median(MinS, MaxS),
            IsaOp::VMin3U32 => chain!(MinU, MinU),
            IsaOp::VMax3U32 => chain!(MaxU, MaxU),
            IsaOp::VMin3I32 => chain!(MinS, MinS),
            IsaOp::VMax3I32 => chain!(MaxS, MaxS),
            IsaOp::VCndmaskB32 => {
                let [no, yes] = self.two();
                let mask = self.mask()?;
                let value = self.graph.node(Node::Select { mask, yes, no });
                self.result(value)
            }
            IsaOp::VMulHiU32 | IsaOp::VMulHiI32 => {
                let [a, b] = self.two();
                let value = self.mul_high(operation == IsaOp::VMulHiI32, a, b);
                self.result(value)
            }
            IsaOp::VMulHiU32U24 | IsaOp::VMulHiI32I24 => {
                let signed = operation == IsaOp::VMulHiI32I24;
                let [a, b] = self.two();
                let (a, b) = (self.low24(a, signed), self.low24(b, signed));
                let value = self.mul_high(signed, a, b);
                self.result(value)
            }
            IsaOp::VMadU64U32 => self.mad64(false),
            IsaOp::VMadI64I32 => self.mad64(true),
            IsaOp::VBfmB32 => {
                let [width, at] = self.two();
                let (one, minus_one) = (self.graph.constant(1), self.graph.constant(!0));
                let end = self.shift(Shl, one, width);
                let mask = self.graph.binary(Add, end, minus_one);
                let value = self.shift(Shl, mask, at);
                self.result(value)
            }
            IsaOp::VAddF64 => self.double_of(AddD),
            IsaOp::VMulF64 => self.double_of(MulD),
            IsaOp::VMinF64 => self.double_of(MinD),
            IsaOp::VMaxF64 => self.double_of(MaxD),
            IsaOp::VFmaF64 | IsaOp::VFmacF64 => {
                let (a, b, c) = (self.doubles(0), self.doubles(1), self.doubles(2));
                let halves = [0, 1].map(|half| {
                    let value = self.graph.node(Node::FmaD(a[half], b[half], c[half]));
                    self.graph.is_computed(value);
                    value
                });
                self.double_result(halves)
            }
            IsaOp::VRndneF32 => self.integral(8),
            IsaOp::VFloorF32 => self.integral(9),
            IsaOp::VCeilF32 => self.integral(10),
            IsaOp::VTruncF32 => self.integral(11),
            IsaOp::VCvtI32F32 | IsaOp::VCvtU32F32 => {
                let x = self.source(0);
                let value = self.integer_of_float(operation == IsaOp::VCvtI32F32, x);
                self.result(value)
            }
            IsaOp::VCvtF32U32 => {
                // The upper and the lower half are exact, and their sum is rounded once.
                let value = self.source(0);
                let (high, low) = (self.shifted(Shr, value, 16), self.with_constant(And, value, 0xffff, !0));
                let [high, low] = [high, low].map(|half| self.graph.node(Node::FloatOfSigned(half)));
                let scale = self.graph.constant(0x4780_0000);
                let value = self.graph.node(Node::Fma(high, scale, low));
                self.graph.needs_mode32 = true;
                self.result(value)
            }
            IsaOp::VAddF32 => self.float_of(AddF),
            IsaOp::VSubF32 => self.float_of(SubF),
            IsaOp::VSubrevF32 => self.reverse_difference(),
            IsaOp::VMulF32 => self.float_of(MulF),
            IsaOp::VFmaF32 | IsaOp::VFmacF32 | IsaOp::VFmamkF32 | IsaOp::VFmaakF32 => {
                let [a, b, c] = self.three().map(|value| self.flushed(value));
                let value = self.graph.node(Node::Fma(a, b, c));
                self.float(value)
            }
            IsaOp::VMinF32 | IsaOp::VMaxF32 => {
                let [a, b] = self.two().map(|value| self.flushed(value));
                let value = self.extreme(if operation == IsaOp::VMinF32 { MinF } else { MaxF }, a, b);
                self.result(value)
            }
            IsaOp::VMin3F32 | IsaOp::VMax3F32 => {
                let [a, b, c] = self.three().map(|value| self.flushed(value));
                let op = if operation == IsaOp::VMin3F32 { MinF } else { MaxF };
                let value = self.extreme(op, a, b);
                let value = self.extreme(op, value, c);
                self.result(value)
            }
            IsaOp::VMinmaxF32 | IsaOp::VMaxminF32 => {
                let [a, b, c] = self.three().map(|value| self.flushed(value));
                let (first, second) = if operation == IsaOp::VMinmaxF32 { (MinF, MaxF) } else { (MaxF, MinF) };
                let value = self.extreme(first, a, b);
                let value = self.extreme(second, value, c);
                self.result(value)
            }
            IsaOp::VMed3F32 => {
                let sources = self.three().map(|value| self.flushed(value));
                let value = self.middle(sources);
                self.result(value)
            }
            IsaOp::VCvtF32Ubyte0 | IsaOp::VCvtF32Ubyte1 | IsaOp::VCvtF32Ubyte2 | IsaOp::VCvtF32Ubyte3 => {
                let byte = match operation {
                    IsaOp::VCvtF32Ubyte0 => 0,
                    IsaOp::VCvtF32Ubyte1 => 1,
                    IsaOp::VCvtF32Ubyte2 => 2,
                    _ => 3,
                };
                let value = self.source(0);
                let value = self.shifted(Shr, value, 8 * byte);
                let value = self.with_constant(And, value, 255, !0);
                let value = self.graph.node(Node::FloatOfSigned(value));
                self.result(value)
            }
            IsaOp::VCvtF32I32 => {
                let value = self.source(0);
                let value = self.graph.node(Node::FloatOfSigned(value));
                self.graph.needs_mode32 = true;
                self.result(value)
            }
            IsaOp::VDivScaleF32 => self.division_scale(),
            IsaOp::VDivFmasF32 => self.division_fma(),
            IsaOp::VDivScaleF64 => self.division_scale64(),
            IsaOp::VDivFmasF64 => self.division_fma64(),
            IsaOp::VDivFixupF64 => self.division_fixup64(),
            IsaOp::VLdexpF64 => self.times_power64(),
            IsaOp::VRcpF64 => self.reciprocal64(),
            IsaOp::VRndneF64 => self.integral64(8),
            IsaOp::VFloorF64 => self.integral64(9),
            IsaOp::VCeilF64 => self.integral64(10),
            IsaOp::VTruncF64 => self.integral64(11),
            IsaOp::VCvtF64I32 => self.double_of_integer(true),
            IsaOp::VCvtF64U32 => self.double_of_integer(false),
            IsaOp::VCvtF64F32 => self.double_of_single(),
            IsaOp::VCvtF32F64 => self.single_of_double(),
            IsaOp::VCvtI32F64 => self.signed_of_double(),
            IsaOp::VCvtF32F16 => self.single_of_half(),
            IsaOp::VCvtF16F32 => self.half_of_single(),
            IsaOp::VExpF32 | IsaOp::VExpLegacyF32 if self.op.flags.contains(OpFlags::NEAREST) => self.power(),
            IsaOp::VLdexpF32 if self.graph.lanes == 16 => self.times_power(),
            _ => match Function::of(operation) {
                Some((function, sources)) => self.function(function, sources),
                None if self.bits(operation)? || self.half(operation)? || self.half_float(operation)? => Ok(()),
                None if self.lanes_apart(operation)? => Ok(()),
                None => self.comparison(operation),
            },
        }
    }
}
