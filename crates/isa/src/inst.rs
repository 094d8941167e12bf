//! A decoded instruction: its encoding and what the tables say of it.

use std::fmt;

use crate::decode::Decoder;
use crate::op::Op;
use crate::opcode::Legality;
use crate::operand::{self, Operand};
use crate::tables::class;
use crate::{
    DataType, Field, Flags, Format, Generation, Mode, OpcodeInfo, OperandInfo, RegAccess, Target, VgprMsb, access,
    decode, print,
};

/// One decoded instruction. 32 bytes.
///
/// On gfx1250 which VGPRs it names depends on what ran before: see [`Inst::at`].
#[derive(Clone, Copy)]
pub struct Inst {
    info: &'static OpcodeInfo,
    words: [u32; 5],
    size: u8,
    /// The upper bits of VGPR numbers, or [`UNKNOWN`]. Zero for all but gfx1250.
    upper: u16,
}

const UNKNOWN: u16 = 0x100;

/// Where packed instructions have OP_SEL_HI, whose default is one.
const OP_SEL_HI: u128 = 3 << 59 | 1 << 14;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("no {target} instruction has the encoding {word:#010x}", target = target.name())]
    Unknown { target: Target, word: u32 },
    #[error("there are no instruction tables for {target} yet", target = target.name())]
    NoTables { target: Target },
    #[error("the instruction needs {needed} bytes, {available} are left")]
    Truncated { needed: usize, available: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("{mnemonic} has no field {field:?}")]
    NoField { mnemonic: &'static str, field: Field },
    #[error("{mnemonic} has {has} operands, not {index}")]
    NoOperand { mnemonic: &'static str, has: usize, index: usize },
    #[error("{mnemonic}: {value} does not fit {field:?}")]
    OutOfRange { mnemonic: &'static str, field: Field, value: String },
    #[error("{mnemonic} has no encoding {words:#x} for {operands}")]
    Illegal { mnemonic: &'static str, operands: String, words: u128 },
}

impl Inst {
    /// Decodes the instruction at the start of `bytes`, for a [`Mode`], or a [`Target`] in its default wave size.
    ///
    /// # Errors
    /// The bytes are no instruction of the target, or end too early; or the target's instructions are not known.
    #[inline]
    pub fn decode(mode: impl Into<Mode>, bytes: &[u8]) -> Result<Inst, DecodeError> {
        Decoder::new(mode).decode(bytes)
    }

    pub(crate) fn from_words(info: &'static OpcodeInfo, words: [u32; 5], size: u8) -> Inst {
        Inst { info, words, size, upper: 0 }
    }

    /// A fresh instruction: format, opcode and variant set, every other bit zero, except that SDWA selects whole
    /// registers, DPP masks enable all lanes, and an absent scalar address says so.
    pub fn new(info: &'static OpcodeInfo) -> Inst {
        let Legality { template, fixed, value, checks, .. } = info.legality;
        let literal = if info.flags.contains(Flags::LITERAL_64) { 8 } else { 4 };
        let size = info.size + if info.flags.contains(Flags::FIXED_LITERAL) { literal } else { 0 };
        let mut inst = Inst::from_words(info, [0; 5], size);
        inst.set_bits(template);
        for field in [Field::DstSel, Field::Src0Sel, Field::Src1Sel] {
            inst.set_default(field, 6);
        }
        for field in [Field::RowMask, Field::BankMask] {
            inst.set_default(field, 0xf);
        }
        if info.format.plain() == Format::Vop3a && info.base.starts_with("v_cmpx") {
            // A destination that is in no operand, but that the manuals ask for.
            const EXEC: u32 = 126;
            inst.set_default(Field::Vdst, EXEC);
        }
        if info.format.is_dpp8() {
            inst.set_default(Field::Dpp8Mark, 1);
        }
        if info.format == Format::Mubuf && info.mode.target().generation() >= Generation::Gfx12 {
            // Nothing reads the data format of an untyped access. LLVM's assembler sets this one.
            inst.set_default(Field::BufFormat, 1);
        }
        let mut bits = inst.bits() & !fixed | value;
        // Where no register has the number zero in that place, the first legal code.
        for check in checks {
            let codes = class(check.class);
            let first = codes.iter().zip(0..).find(|(bits, _)| **bits != 0);
            let mask = (1u128 << check.width) - 1;
            let now = (bits >> check.low & mask) as usize;
            if let Some((legal, word)) = first.filter(|_| codes[now / 64] >> (now % 64) & 1 == 0) {
                let code: u128 = word * 64 + u128::from(legal.trailing_zeros());
                bits = bits & !(mask << check.low) | code << check.low;
            }
        }
        inst.set_bits(bits);
        inst
    }

    fn set_default(&mut self, field: Field, raw: u32) {
        // A format without the field has nothing to set.
        let _ = self.put_field(field, raw);
    }

    /// An instruction from its operands in assembly order; other fields as [`Inst::new`] leaves them.
    ///
    /// # Errors
    /// Wrong number of operands, or a value that the operand's field cannot express.
    pub fn build(info: &'static OpcodeInfo, operands: &[Operand]) -> Result<Inst, EncodeError> {
        let mut inst = Inst::new(info);
        if operands.len() != info.operands.len() {
            let (mnemonic, has) = (info.mnemonic, info.operands.len());
            return Err(EncodeError::NoOperand { mnemonic, has, index: operands.len() });
        }
        for (operand, value) in info.operands.iter().zip(operands) {
            operand::write(&mut inst, operand, *value).ok_or_else(|| inst.misfit(operand, *value))?;
        }
        // Two operands may share bits: the literal, the bit that tells AGPRs from VGPRs.
        for (operand, value) in info.operands.iter().zip(operands) {
            if operand::read(&inst, operand) != Some(*value) {
                return Err(inst.misfit(operand, *value));
            }
        }
        if inst.is_itself() { Ok(inst) } else { Err(inst.not_itself(operands)) }
    }

    fn misfit(&self, operand: &OperandInfo, value: Operand) -> EncodeError {
        EncodeError::OutOfRange { mnemonic: self.info.mnemonic, field: operand.field, value: format!("{value:?}") }
    }

    fn not_itself(&self, operands: &[Operand]) -> EncodeError {
        EncodeError::Illegal { mnemonic: self.info.mnemonic, operands: format!("{operands:?}"), words: self.bits() }
    }

    /// The words decode to this very instruction.
    fn is_itself(&self) -> bool {
        let mut bytes = [0; 20];
        bytes.chunks_exact_mut(4).zip(self.words).for_each(|(b, w)| b.copy_from_slice(&w.to_le_bytes()));
        Decoder::new(self.info.mode).decode(&bytes).is_ok_and(|i| i.info == self.info && i.size == self.size)
    }

    #[inline]
    pub fn info(&self) -> &'static OpcodeInfo {
        self.info
    }

    /// The same instruction where the upper bits of VGPR numbers are these (gfx1250); `None` if they are not known. As
    /// decoded, an instruction takes them for zero.
    ///
    /// Operands, accesses and text are those of the registers that are meant. If the bits are not known, operands and text
    /// have them as encoded, but among the accesses are all that may be meant, none of them surely written.
    #[must_use]
    pub fn at(mut self, msb: Option<VgprMsb>) -> Inst {
        self.upper = msb.map_or(UNKNOWN, |msb| msb.bits().into());
        self
    }

    /// The upper bits of VGPR numbers that it has been put [`Inst::at`].
    #[inline]
    pub fn msb(&self) -> Option<VgprMsb> {
        (self.upper != UNKNOWN).then_some(VgprMsb::from_bits(self.upper as u8))
    }

    /// These bits are zero: fields name the registers that are meant.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.upper == 0
    }

    /// Bytes, literal included.
    #[inline]
    pub fn size(&self) -> usize {
        usize::from(self.size)
    }

    pub fn words(&self) -> &[u32] {
        &self.words[..self.size() / 4]
    }

    /// The first two words; the second is zero where the instruction has only one.
    #[inline]
    pub fn pair(&self) -> u64 {
        u64::from(self.words[0]) | u64::from(self.words[1]) << 32
    }

    /// The encoding, appended to `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        self.words().iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    }

    /// The first four words of the encoding, without its literal.
    fn bits(&self) -> u128 {
        let words = self.words.iter().take(usize::from(self.info.size / 4).min(4));
        words.zip([0, 32, 64, 96]).fold(0, |all, (word, at)| all | u128::from(*word) << at)
    }

    fn set_bits(&mut self, bits: u128) {
        let words = self.words.iter_mut().take(usize::from(self.info.size / 4).min(4));
        words.zip([0, 32, 64, 96]).for_each(|(word, at)| *word = (bits >> at) as u32);
    }

    /// A field's bits and its width.
    pub(crate) fn raw_field(&self, field: Field) -> Option<(u32, u32)> {
        let place = self.info.places[field as usize];
        (place.width() > 0).then(|| (place.get(&self.words), place.width()))
    }

    pub(crate) fn put_field(&mut self, field: Field, raw: u32) -> Option<()> {
        let place = self.info.places[field as usize];
        if place.width() == 0 || u64::from(raw) >> place.width() != 0 {
            return None;
        }
        place.set(&mut self.words, raw);
        Some(())
    }

    /// Raw bits of a field; `None` if the format has no such field.
    pub fn field(&self, field: Field) -> Option<u32> {
        self.raw_field(field).map(|(raw, _)| raw)
    }

    /// Sets a field's raw bits.
    ///
    /// # Errors
    /// The format has no such field, or the value is too wide for it or makes another opcode, or none, of it.
    pub fn set_field(&mut self, field: Field, raw: u32) -> Result<(), EncodeError> {
        self.set_fields(&[(field, raw)])
    }

    /// Sets several fields at once, which must be right only together: an image instruction's DMASK and D16 both bear on
    /// the number of its data registers, and with it on its opcode.
    ///
    /// # Errors
    /// As [`Inst::set_field`].
    pub fn set_fields(&mut self, fields: &[(Field, u32)]) -> Result<(), EncodeError> {
        let mnemonic = self.info.mnemonic;
        let mut changed = *self;
        for &(field, raw) in fields {
            self.field(field).ok_or(EncodeError::NoField { mnemonic, field })?;
            let out_of_range = || EncodeError::OutOfRange { mnemonic, field, value: raw.to_string() };
            changed.put_field(field, raw).ok_or_else(out_of_range)?;
        }
        if !changed.is_itself() {
            let (fields, words) = (format!("{fields:?}"), changed.bits());
            return Err(EncodeError::Illegal { mnemonic, operands: fields, words });
        }
        *self = changed;
        Ok(())
    }

    /// The operands in assembly order, with their values.
    pub fn operands(&self) -> impl Iterator<Item = (&'static OperandInfo, Operand)> + '_ {
        self.info.operands.iter().map(|info| (info, self.operand(info)))
    }

    /// The value of one of this instruction's operands.
    #[inline]
    pub fn operand(&self, info: &'static OperandInfo) -> Operand {
        let named = self.named(info);
        if self.is_plain() { named } else { operand::meant(self, info, named) }
    }

    /// The same with the register as it is encoded and written, whatever the upper bits of its number.
    pub fn named(&self, info: &OperandInfo) -> Operand {
        // Decoding and encoding have made sure that every operand names something.
        operand::named(self, info).unwrap_or(Operand::Imm(0))
    }

    /// The operand in `field`, if the opcode has one there.
    pub fn operand_in(&self, field: Field) -> Option<Operand> {
        self.info.operands.iter().find(|o| o.field == field).map(|o| self.operand(o))
    }

    /// Some bit that means nothing, and that no assembly shows, is not as LLVM's assembler has it.
    pub fn has_invisible_bits(&self) -> bool {
        // Moves from and to accumulators are encoded like packed instructions.
        let selections = if self.is_packed() || self.info.base.starts_with("v_accvgpr_") { OP_SEL_HI } else { 0 };
        (self.bits() ^ (Inst::new(self.info).bits() | selections)) & self.info.legality.ignored != 0
    }

    /// The same without the bits that the text does not show.
    pub(crate) fn effective(&self) -> Inst {
        let mut inst = *self;
        let ignored = self.info.legality.ignored;
        inst.set_bits(self.bits() & !ignored | if self.is_packed() { ignored & OP_SEL_HI } else { 0 });
        inst
    }

    fn is_packed(&self) -> bool {
        self.info.format == Format::Vop3p && self.info.flags.contains(Flags::PACKED)
    }

    /// Changes the `index`th operand (assembly order): a register of the same width, or a constant.
    ///
    /// # Errors
    /// There is no such operand, or its field cannot express the value.
    pub fn set_operand(&mut self, index: usize, value: Operand) -> Result<(), EncodeError> {
        let mnemonic = self.info.mnemonic;
        let has = self.info.operands.len();
        let info = self.info.operands.get(index).ok_or(EncodeError::NoOperand { mnemonic, has, index })?;
        let mut changed = *self;
        operand::write(&mut changed, info, value).ok_or_else(|| self.misfit(info, value))?;
        if changed.size > self.info.size && decode::literal_bytes(changed.info, changed.bits() as u64) == 0 {
            changed.set_literal(None);
        }
        // The change may not reach another operand through bits that they share.
        let others = || self.info.operands.iter().filter(|o| !std::ptr::eq(*o, info));
        if others().any(|o| operand::read(self, o) != operand::read(&changed, o)) || !changed.is_itself() {
            return Err(self.misfit(info, value));
        }
        *self = changed;
        Ok(())
    }

    /// The trailing literal, unless it is one of 64 bits.
    pub fn literal(&self) -> Option<u32> {
        (self.size == self.info.size + 4).then(|| self.words[usize::from(self.info.size) / 4])
    }

    /// The trailing literal of 64 bits (gfx1250).
    pub fn literal64(&self) -> Option<u64> {
        let at = usize::from(self.info.size) / 4;
        (self.size == self.info.size + 8).then(|| u64::from(self.words[at]) | u64::from(self.words[at + 1]) << 32)
    }

    /// Replaces the trailing literal, or adds or drops it.
    pub(crate) fn set_literal(&mut self, literal: Option<u32>) {
        let at = usize::from(self.info.size) / 4;
        self.words[at] = literal.unwrap_or(0);
        // where one of 64 bits has been
        self.words[at + 1..].fill(0);
        self.size = self.info.size + if literal.is_some() { 4 } else { 0 };
    }

    pub(crate) fn set_literal64(&mut self, literal: u64) {
        let at = usize::from(self.info.size) / 4;
        (self.words[at], self.words[at + 1]) = (literal as u32, (literal >> 32) as u32);
        self.size = self.info.size + 8;
    }

    /// Where a direct branch or call goes, given its own address. An `s_add_pc_i64` of a constant is one.
    pub fn branch_target(&self, pc: u64) -> Option<u64> {
        if self.info.op() == Op::SAddPcI64 {
            let (info, by) = self.operands().next().filter(|(_, by)| by.is_constant())?;
            return Some(pc.wrapping_add(self.size() as u64).wrapping_add(by.bits(info.ty)?));
        }
        let direct =
            self.info.flags.intersects(Flags::BRANCH | Flags::CALL) && !self.info.flags.contains(Flags::INDIRECT);
        if !direct {
            return None;
        }
        let Operand::Imm(words) = self.operand_in(Field::Simm16)? else { return None };
        Some(pc.wrapping_add(4).wrapping_add_signed(words * 4))
    }

    /// Of `v_bitop3_*`: the eight results, by the three sources' bits. It lies where others have modifiers.
    pub fn truth_table(&self) -> Option<u32> {
        let is_one = self.info.base.starts_with("v_bitop3");
        let [high, middle, low] = [Field::Omod, Field::Abs, Field::Neg].map(|f| self.field(f));
        Some(high? << 6 | middle? << 3 | low?).filter(|_| is_one)
    }

    /// Every register unit touched, explicit and implicit, conditional kinds resolved. A unit may occur more than once
    /// (once read, once written).
    pub fn for_each_access(&self, f: impl FnMut(RegAccess)) {
        access::for_each(self, f);
    }

    /// Whether it reads lanes of its vector registers that EXEC turns off: all of them (matrix operations), one
    /// (`v_readlane_b32`), or those that it is told to fetch from (DPP with FI).
    pub fn reads_lanes_that_are_off(&self) -> bool {
        access::reads_lanes_that_are_off(self)
    }

    /// The bits that a constant operand supplies, by its own type; `None` for registers.
    pub fn constant(&self, info: &'static OperandInfo) -> Option<u64> {
        self.operand(info).bits(if info.ty == DataType::None { DataType::B32 } else { info.ty })
    }
}

impl PartialEq for Inst {
    fn eq(&self, other: &Inst) -> bool {
        self.info == other.info && self.words() == other.words() && self.upper == other.upper
    }
}
impl Eq for Inst {}

impl fmt::Display for Inst {
    /// As llvm-objdump prints it (branch targets as the raw 16-bit immediate), with its remarks on registers that are
    /// other ones than they are written as (gfx1250): `v_mov_b32_e32 v1 /*v257*/, s0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::print(self, f)
    }
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
