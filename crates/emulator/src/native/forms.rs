//! What each operation computes, as nodes of a [`Graph`]: those that have a native form.

use luthier_isa::op::Op as IsaOp;

use super::graph::{Binary, Graph, Node, Value};
use crate::mem::flat::Encoded;
use crate::op::{Kind, Op, OpFlags, RawMods};
use crate::wave::{inline_constant_f16, inline_constant32, rows, scalar};

/// Bytes behind an address of LDS that an instruction can name.
const MOST_OFFSET: u32 = 1 << 17;

/// That a micro-op has no native form here: the run ends before its instruction.
#[derive(Debug)]
pub struct Foreign;

/// Adds what a micro-op does to a run's graph.
pub fn add(graph: &mut Graph, op: &Op, wave64: bool) -> Result<(), Foreign> {
    let mut form = Form { graph, op, wave64 };
    match op.kind {
        Kind::SPLAT => {
            let code = (op.src[0] & 255) as u8;
            let value = form.scalar(code)?;
            form.temporary(value)
        }
        Kind::SPLAT_CONSTANT => {
            let value = form.graph.constant(op.imm as u32);
            form.temporary(value)
        }
        Kind::COPY => {
            let value = form.source(0);
            form.result(value)
        }
        Kind::AND_XOR => {
            let value = form.source(0);
            let value = form.with_constant(Binary::And, value, op.imm as u32, !0);
            let value = form.with_constant(Binary::Xor, value, op.imm2 as u32, 0);
            form.temporary(value)
        }
        Kind::EXTRACT => {
            let (shift, up) = (op.imm as u32 & 31, 32 - (op.imm2 as u32 & 31));
            let value = form.source(0);
            let value = form.shifted(Binary::Shr, value, shift);
            let value = form.shifted(Binary::Shl, value, up);
            let back = if op.imm2 >> 32 != 0 { Binary::Sar } else { Binary::Shr };
            let value = form.shifted(back, value, up);
            form.temporary(value)
        }
        Kind::DS_WORDS => form.lds_words(1),
        Kind::DS_WORDS_TWICE => form.lds_words(2),
        kind => match kind.operation() {
            Some(operation) if !op.flags.contains(OpFlags::CLAMP) => form.operation(operation),
            _ => Err(Foreign),
        },
    }
}

struct Form<'a> {
    graph: &'a mut Graph,
    op: &'a Op,
    wave64: bool,
}

impl Form<'_> {
    /// What source `k` holds.
    fn source(&mut self, k: usize) -> Value {
        self.row(self.op.src[k])
    }

    fn row(&mut self, row: u16) -> Value {
        if let Some(&value) = self.graph.rows.get(&row) {
            return value;
        }
        let constant = match row {
            rows::CONST..rows::CONST_F16 => inline_constant32((row - rows::CONST) as u8 + scalar::FIRST_CONST),
            rows::CONST_F16.. => inline_constant_f16((row - rows::CONST_F16) as u8 + 240),
            _ => None,
        };
        match constant {
            Some(constant) => self.graph.constant(constant),
            None => self.graph.node(Node::Row(row)),
        }
    }

    /// Whether the run has written a mask that this scalar register is of.
    fn is_written(&self, code: u8) -> bool {
        let before = code.checked_sub(1).filter(|_| self.wave64);
        self.graph.masks.contains_key(&code) || before.is_some_and(|before| self.graph.masks.contains_key(&before))
    }

    /// EXEC is narrower than it says where a run is finished by the interpreter, and masks are not whole within one.
    fn scalar(&mut self, code: u8) -> Result<Value, Foreign> {
        if matches!(code, 126 | 127 | scalar::EXECZ | scalar::VCCZ) || self.is_written(code) {
            return Err(Foreign);
        }
        if let Some(constant) = inline_constant32(code).filter(|_| (128..=248).contains(&code)) {
            return Ok(self.graph.constant(constant));
        }
        Ok(self.graph.node(Node::Scalar(code)))
    }

    /// The lanes of the mask that the micro-op reads.
    fn mask(&mut self) -> Result<Value, Foreign> {
        let code = self.op.ssrc;
        if let Some(&value) = self.graph.masks.get(&code) {
            return Ok(value);
        }
        if matches!(code, 126 | 127) || self.is_written(code) || self.wave64 && self.is_written(code.wrapping_add(1)) {
            return Err(Foreign);
        }
        Ok(self.graph.node(Node::Mask(code)))
    }

    fn result(&mut self, value: Value) -> Result<(), Foreign> {
        self.graph.rows.insert(self.op.dst, value);
        Ok(())
    }

    /// All lanes are written, whether they are on or not: nothing but a temporary row.
    fn temporary(&mut self, value: Value) -> Result<(), Foreign> {
        if !is_temporary(self.op.dst) {
            return Err(Foreign);
        }
        self.result(value)
    }

    fn mask_result(&mut self, value: Value) -> Result<(), Foreign> {
        let code = self.op.sdst;
        let overlaps = |other: &u8| *other != code && self.wave64 && other.abs_diff(code) == 1;
        // A scalar that the run has read before is read again in each piece of it.
        let is_read = |node: &Node| match *node {
            Node::Scalar(read) => read == code || self.wave64 && read == code.wrapping_add(1),
            Node::Mask(read) => read == code || self.wave64 && read.abs_diff(code) == 1,
            _ => false,
        };
        let same = |node: &Node| matches!(*node, Node::Mask(read) if read == code);
        let clashes = self.graph.nodes.iter().any(|node| is_read(node) && !same(node));
        if matches!(code, 125..=127) || clashes || self.graph.masks.keys().any(overlaps) {
            return Err(Foreign);
        }
        self.graph.masks.insert(code, value);
        Ok(())
    }

    fn with_constant(&mut self, op: Binary, value: Value, constant: u32, neutral: u32) -> Value {
        if constant == neutral {
            return value;
        }
        let constant = self.graph.constant(constant);
        self.graph.binary(op, value, constant)
    }

    fn shifted(&mut self, op: Binary, value: Value, by: u32) -> Value {
        let by = self.graph.constant(by & 31);
        self.graph.binary(op, value, by)
    }

    /// A shift by the lowest five bits.
    fn shift(&mut self, op: Binary, value: Value, by: Value) -> Value {
        let by = match self.graph.of(by) {
            Node::Constant(by) => self.graph.constant(by & 31),
            _ => self.with_constant(Binary::And, by, 31, !0),
        };
        self.graph.binary(op, value, by)
    }

    fn not(&mut self, value: Value) -> Value {
        self.with_constant(Binary::Xor, value, !0, 0)
    }

    /// `a < b`, unsigned.
    fn below(&mut self, a: Value, b: Value) -> Value {
        let most = self.graph.binary(Binary::MaxU, a, b);
        let not_below = self.graph.binary(Binary::Equal, most, a);
        self.not(not_below)
    }

    /// A field of 24 bits.
    fn low24(&mut self, value: Value, signed: bool) -> Value {
        if !signed {
            return self.with_constant(Binary::And, value, 0xff_ffff, !0);
        }
        let up = self.shifted(Binary::Shl, value, 8);
        self.shifted(Binary::Sar, up, 8)
    }

    /// An f32 result that the host computes as the device does, unless it is a NaN.
    fn float(&mut self, value: Value) -> Result<(), Foreign> {
        self.graph.never_nan(value);
        self.result(value)
    }

    /// The smaller or larger one, where -0 is less than +0 and neither is a NaN.
    fn extreme(&mut self, op: Binary, a: Value, b: Value) -> Value {
        self.graph.never_nan(a);
        self.graph.never_nan(b);
        let (one, other) = (self.graph.binary(op, a, b), self.graph.binary(op, b, a));
        self.graph.binary(if op == Binary::MinF { Binary::Or } else { Binary::And }, one, other)
    }

    fn operation(&mut self, operation: IsaOp) -> Result<(), Foreign> {
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
                let Node::Constant(width) = self.graph.of(c) else { return Err(Foreign) };
                let (field, up) = (self.shift(Sar, a, b), 32 - (width & 31));
                let value = match width & 31 {
                    0 => self.graph.constant(0),
                    _ => {
                        let high = self.shifted(Shl, field, up);
                        self.shifted(Sar, high, up)
                    }
                };
                self.result(value)
            }
            IsaOp::VAlignbitB32 => {
                let [a, b, c] = self.three();
                let Node::Constant(by) = self.graph.of(c) else { return Err(Foreign) };
                let [value, _] = self.shifted64(Shr, [b, a], by & 31);
                self.result(value)
            }
            IsaOp::VMovB64 => {
                let pair = self.pair(0);
                self.pair_result(pair)
            }
            IsaOp::VLshlrevB64 | IsaOp::VLshrrevB64 | IsaOp::VAshrrevI64 => {
                let (by, pair) = (self.source(0), self.pair(1));
                let Node::Constant(by) = self.graph.of(by) else { return Err(Foreign) };
                let op = match operation {
                    IsaOp::VLshlrevB64 => Shl,
                    IsaOp::VLshrrevB64 => Shr,
                    _ => Sar,
                };
                let pair = self.shifted64(op, pair, by & 63);
                self.pair_result(pair)
            }
            IsaOp::VLshlAddU64 => {
                let (pair, by, [low, high]) = (self.pair(0), self.source(1), self.pair(2));
                let Node::Constant(by) = self.graph.of(by) else { return Err(Foreign) };
                let [a, b] = self.shifted64(Shl, pair, by & 7);
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
            IsaOp::VAddF32 => self.float_of(AddF, false),
            IsaOp::VSubF32 => self.float_of(SubF, false),
            IsaOp::VSubrevF32 => self.float_of(SubF, true),
            IsaOp::VMulF32 => self.float_of(MulF, false),
            IsaOp::VFmaF32 | IsaOp::VFmacF32 | IsaOp::VFmamkF32 | IsaOp::VFmaakF32 => {
                let [a, b, c] = self.three();
                let value = self.graph.node(Node::Fma(a, b, c));
                self.float(value)
            }
            IsaOp::VMinF32 | IsaOp::VMaxF32 => {
                let [a, b] = self.two();
                let value = self.extreme(if operation == IsaOp::VMinF32 { MinF } else { MaxF }, a, b);
                self.result(value)
            }
            IsaOp::VMin3F32 | IsaOp::VMax3F32 => {
                let [a, b, c] = self.three();
                let op = if operation == IsaOp::VMin3F32 { MinF } else { MaxF };
                let value = self.extreme(op, a, b);
                let value = self.extreme(op, value, c);
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
                self.graph.needs_host32 = true;
                self.result(value)
            }
            _ => self.comparison(operation.name()),
        }
    }

    /// Loads of whole words from LDS, which change nothing but registers. (Stores end a run.)
    fn lds_words(&mut self, accesses: u16) -> Result<(), Foreign> {
        let encoded = Encoded(self.op.imm2);
        let words = u16::from(encoded.words());
        if !encoded.is_load() {
            return Err(Foreign);
        }
        let address = self.source(0);
        for access in 0..accesses {
            let first = (self.op.imm >> (32 * access)) as u32;
            if !first.is_multiple_of(4) || first > MOST_OFFSET {
                return Err(Foreign);
            }
            for word in 0..words {
                let offset = first + 4 * u32::from(word);
                let value = self.graph.node(Node::Lds { address, offset });
                self.graph.rows.insert(self.op.dst + access * words + word, value);
            }
        }
        Ok(())
    }

    fn two(&mut self) -> [Value; 2] {
        [self.source(0), self.source(1)]
    }

    fn three(&mut self) -> [Value; 3] {
        [self.source(0), self.source(1), self.source(2)]
    }

    /// A source of 64 bits, low word first.
    fn pair(&mut self, k: usize) -> [Value; 2] {
        [self.row(self.op.src[k]), self.row(self.op.src[k] + 1)]
    }

    fn pair_result(&mut self, [low, high]: [Value; 2]) -> Result<(), Foreign> {
        self.graph.rows.insert(self.op.dst, low);
        self.graph.rows.insert(self.op.dst + 1, high);
        Ok(())
    }

    /// 64 bits shifted by less than 64.
    fn shifted64(&mut self, op: Binary, [low, high]: [Value; 2], by: u32) -> [Value; 2] {
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

    fn median(&mut self, least: Binary, most: Binary) -> Result<(), Foreign> {
        let [a, b, c] = self.three();
        let (low, high) = (self.graph.binary(least, a, b), self.graph.binary(most, a, b));
        let high = self.graph.binary(least, high, c);
        let value = self.graph.binary(most, low, high);
        self.result(value)
    }

    /// Pairs of f32, of which the modifiers choose and negate the words.
    fn packed_float(&mut self, operation: IsaOp) -> Result<(), Foreign> {
        let mods = RawMods(self.op.imm);
        if mods.clamp() {
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
        pair.iter().for_each(|&value| self.graph.never_nan(value));
        self.pair_result(pair)
    }

    fn plain(&mut self, op: Binary) -> Result<(), Foreign> {
        let [a, b] = self.two();
        let value = self.graph.binary(op, a, b);
        self.result(value)
    }

    fn reverse_shift(&mut self, op: Binary) -> Result<(), Foreign> {
        let [by, value] = self.two();
        let value = self.shift(op, value, by);
        self.result(value)
    }

    fn product24(&mut self, signed: bool) -> Value {
        let [a, b] = self.two();
        let (a, b) = (self.low24(a, signed), self.low24(b, signed));
        self.graph.binary(Binary::Mul, a, b)
    }

    fn float_of(&mut self, op: Binary, reverse: bool) -> Result<(), Foreign> {
        let [a, b] = self.two();
        let value = if reverse { self.graph.binary(op, b, a) } else { self.graph.binary(op, a, b) };
        self.float(value)
    }

    fn carry(&mut self, with_carry: bool) -> Result<(), Foreign> {
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

    fn borrow(&mut self, with_borrow: bool, reverse: bool) -> Result<(), Foreign> {
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

    /// `v_cmp_lt_f32` and the like.
    fn comparison(&mut self, name: &str) -> Result<(), Foreign> {
        let (condition, ty) = name.strip_prefix("v_cmp_").and_then(|rest| rest.rsplit_once('_')).ok_or(Foreign)?;
        let [a, b] = self.two();
        if ty == "f32" {
            let predicate = float_predicate(condition).ok_or(Foreign)?;
            self.graph.needs_host32 = true;
            let value = self.graph.node(Node::CompareF(predicate, a, b));
            return self.mask_result(value);
        }
        let signed = match ty {
            "i32" => true,
            "u32" => false,
            _ => return Err(Foreign),
        };
        let mut less = |a, b| if signed { self.graph.binary(Binary::GreaterS, b, a) } else { self.below(a, b) };
        let value = match condition {
            "lt" => less(a, b),
            "gt" => less(b, a),
            "le" => {
                let greater = less(b, a);
                self.not(greater)
            }
            "ge" => {
                let less = less(a, b);
                self.not(less)
            }
            "eq" => self.graph.binary(Binary::Equal, a, b),
            "ne" => {
                let equal = self.graph.binary(Binary::Equal, a, b);
                self.not(equal)
            }
            _ => return Err(Foreign),
        };
        self.mask_result(value)
    }
}

/// The predicate of `vcmpps` that is a condition of `v_cmp`.
fn float_predicate(condition: &str) -> Option<u8> {
    Some(match condition {
        "eq" => 0x00,
        "lt" => 0x01,
        "le" => 0x02,
        "u" => 0x03,
        "neq" => 0x04,
        "nlt" => 0x05,
        "nle" => 0x06,
        "o" => 0x07,
        "nlg" => 0x08,
        "nge" => 0x09,
        "ngt" => 0x0a,
        "f" => 0x0b,
        "lg" => 0x0c,
        "ge" => 0x0d,
        "gt" => 0x0e,
        "tru" => 0x0f,
        _ => return None,
    })
}

/// A row of the lowering, which no instruction reads that did not write it.
pub fn is_temporary(row: u16) -> bool {
    (rows::TEMP..rows::TEMP + rows::TEMPS).contains(&row)
}

/// Whether a micro-op with a native form writes a mask to `sdst`.
pub fn writes_mask(op: &Op) -> bool {
    op.kind.operation().is_some_and(|operation| {
        let name = operation.name();
        name.starts_with("v_cmp_") || name.contains("_co_")
    })
}
