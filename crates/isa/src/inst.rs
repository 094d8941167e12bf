//! A decoded instruction: its encoding and what the tables say of it.

use std::fmt;

use crate::layout::layout;
use crate::operand::{self, Operand};
use crate::{DataType, Field, Flags, Format, OpcodeInfo, OperandInfo, RegAccess, Target, access, decode, print};

/// One decoded instruction. 32 bytes.
#[derive(Clone, Copy)]
pub struct Inst {
    info: &'static OpcodeInfo,
    words: [u32; 5],
    size: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("no {target} instruction has the encoding {word:#010x}", target = target.name())]
    Unknown { target: Target, word: u32 },
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
}

/// The bits of an encoding that tell its format from others.
const fn fixed_bits(format: Format) -> u64 {
    match format {
        Format::Sop2 => 0b10 << 30,
        Format::Sopk => 0b1011 << 28,
        Format::Sop1 => 0x17d << 23,
        Format::Sopc => 0x17e << 23,
        Format::Sopp => 0x17f << 23,
        Format::Smem => 0x30 << 26,
        Format::Vop1 => 0x3f << 25,
        Format::Vop2 => 0,
        Format::Vopc => 0x3e << 25,
        Format::Sdwa1 => 0x3f << 25 | 249,
        Format::Sdwa2 => 249,
        Format::SdwaC => 0x3e << 25 | 249,
        Format::Dpp1 => 0x3f << 25 | 250,
        Format::Dpp2 => 250,
        Format::Vop3a | Format::Vop3b => 0x34 << 26,
        Format::Vop3p | Format::Mai => 0x1a7 << 23,
        Format::Vintrp => 0x35 << 26,
        Format::Ds => 0x36 << 26,
        Format::Flat => 0x37 << 26,
        Format::Mubuf => 0x38 << 26,
        Format::Mtbuf => 0x3a << 26,
        Format::Mimg => 0x3c << 26,
        Format::Exp => 0x31 << 26,
    }
}

impl Inst {
    /// Decodes the instruction at the start of `bytes`.
    ///
    /// # Errors
    /// The bytes are no instruction of the target, or end too early.
    pub fn decode(target: Target, bytes: &[u8]) -> Result<Inst, DecodeError> {
        decode::decode(target, bytes)
    }

    pub(crate) fn from_words(info: &'static OpcodeInfo, words: [u32; 5], size: u8) -> Inst {
        Inst { info, words, size }
    }

    /// A fresh instruction: format, opcode and variant set, every other bit zero, except that SDWA selects whole
    /// registers, DPP masks enable all lanes, and an absent scalar address says so.
    pub fn new(info: &'static OpcodeInfo) -> Inst {
        let fixed = fixed_bits(info.format);
        let literal = info.flags.contains(Flags::FIXED_LITERAL);
        let mut inst = Inst {
            info,
            words: [fixed as u32, (fixed >> 32) as u32, 0, 0, 0],
            size: info.size + if literal { 4 } else { 0 },
        };
        inst.set_default(Field::Op, u32::from(info.opcode));
        inst.set_variant();
        for field in [Field::DstSel, Field::Src0Sel, Field::Src1Sel] {
            inst.set_default(field, 6);
        }
        for field in [Field::RowMask, Field::BankMask] {
            inst.set_default(field, 0xf);
        }
        inst
    }

    /// Sets the bits that tell apart the variants which share an opcode number.
    fn set_variant(&mut self) {
        let has = |field: Field| self.info.operands.iter().find(|o| o.field == field);
        let flags = self.info.flags;
        let is_accumulator = self.info.operands.iter().any(|o| o.file == crate::File::Agpr);
        match self.info.format {
            Format::Smem => {
                let offset = has(Field::Offset).is_some_and(|o| o.units == 0);
                let register = has(Field::Soffset).is_some();
                self.set_default(Field::Imm, u32::from(offset));
                self.set_default(Field::SoffsetEn, u32::from(register));
            }
            Format::Flat => {
                let segment = if flags.contains(Flags::GLOBAL) { 2 } else { u32::from(flags.contains(Flags::SCRATCH)) };
                let (no_address, lds) = (has(Field::Saddr).is_none(), self.info.llvm.contains("_LDS_"));
                self.set_default(Field::Seg, segment);
                self.set_default(Field::Lds, u32::from(lds));
                if no_address {
                    self.set_default(Field::Saddr, 0x7f);
                }
            }
            Format::Mubuf | Format::Mtbuf => {
                let name = self.info.llvm;
                let both = name.contains("_BOTHEN");
                self.set_default(Field::Offen, u32::from(both || name.contains("_OFFEN")));
                self.set_default(Field::Idxen, u32::from(both || name.contains("_IDXEN")));
                self.set_default(Field::Lds, u32::from(name.contains("_LDS_")));
            }
            Format::Mai => {
                let accumulator = has(Field::Src2).is_some_and(|o| o.file == crate::File::Agpr);
                self.set_default(Field::AccCd, u32::from(accumulator));
                if has(Field::Src0).is_some_and(|o| o.file == crate::File::Agpr) {
                    self.set_default(Field::Acc, 1);
                }
            }
            _ => {}
        }
        if flags.contains(Flags::ATOMIC_RETURN) {
            self.set_default(Field::Glc, 1);
        }
        if is_accumulator && matches!(self.info.format, Format::Ds | Format::Flat | Format::Mubuf | Format::Mimg) {
            self.set_default(Field::Acc, 1);
        }
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
        for (index, value) in operands.iter().enumerate() {
            inst.set_operand(index, *value)?;
        }
        Ok(inst)
    }

    pub fn info(&self) -> &'static OpcodeInfo {
        self.info
    }

    /// Bytes, literal included.
    pub fn size(&self) -> usize {
        usize::from(self.size)
    }

    pub fn words(&self) -> &[u32] {
        &self.words[..self.size() / 4]
    }

    /// The encoding, appended to `out`.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        self.words().iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
    }

    fn pair(&self) -> u64 {
        u64::from(self.words[0]) | u64::from(self.words[1]) << 32
    }

    /// A field's bits and its width.
    pub(crate) fn raw_field(&self, field: Field) -> Option<(u32, u32)> {
        let (mut value, mut width) = (0, 0);
        for (_, low, bits) in layout(self.info.format).iter().filter(|piece| piece.0 == field) {
            value |= ((self.pair() >> low) as u32 & ((1u64 << bits) - 1) as u32) << width;
            width += u32::from(*bits);
        }
        (width > 0).then_some((value, width))
    }

    pub(crate) fn put_field(&mut self, field: Field, raw: u32) -> Option<()> {
        let (mut pair, mut rest, mut found) = (self.pair(), u64::from(raw), false);
        for (_, low, bits) in layout(self.info.format).iter().filter(|piece| piece.0 == field) {
            let mask = (1u64 << bits) - 1;
            pair = pair & !(mask << low) | (rest & mask) << low;
            rest >>= bits;
            found = true;
        }
        if !found || rest != 0 {
            return None;
        }
        self.words[0] = pair as u32;
        if self.info.size > 4 {
            self.words[1] = (pair >> 32) as u32;
        }
        Some(())
    }

    /// Raw bits of a field; `None` if the format has no such field.
    pub fn field(&self, field: Field) -> Option<u32> {
        self.raw_field(field).map(|(raw, _)| raw)
    }

    /// Sets a field's raw bits.
    ///
    /// # Errors
    /// The format has no such field, or the value is too wide for it.
    pub fn set_field(&mut self, field: Field, raw: u32) -> Result<(), EncodeError> {
        let mnemonic = self.info.mnemonic;
        self.field(field).ok_or(EncodeError::NoField { mnemonic, field })?;
        self.put_field(field, raw).ok_or_else(|| EncodeError::OutOfRange { mnemonic, field, value: raw.to_string() })
    }

    /// The operands in assembly order, with their values.
    pub fn operands(&self) -> impl Iterator<Item = (&'static OperandInfo, Operand)> + '_ {
        self.info.operands.iter().map(|info| (info, self.operand(info)))
    }

    /// The value of one of this instruction's operands.
    pub fn operand(&self, info: &'static OperandInfo) -> Operand {
        // Decoding and encoding have made sure that every operand names something.
        operand::read(self, info).unwrap_or(Operand::Imm(0))
    }

    /// The operand in `field`, if the opcode has one there.
    pub fn operand_in(&self, field: Field) -> Option<Operand> {
        self.info.operands.iter().find(|o| o.field == field).map(|o| self.operand(o))
    }

    /// Every operand names a register, a constant or an immediate.
    pub(crate) fn is_well_formed(&self) -> bool {
        self.info.operands.iter().all(|o| operand::read(self, o).is_some())
    }

    /// Changes the `index`th operand (assembly order): a register of the same width, or a constant.
    ///
    /// # Errors
    /// There is no such operand, or its field cannot express the value.
    pub fn set_operand(&mut self, index: usize, value: Operand) -> Result<(), EncodeError> {
        let mnemonic = self.info.mnemonic;
        let has = self.info.operands.len();
        let info = self.info.operands.get(index).ok_or(EncodeError::NoOperand { mnemonic, has, index })?;
        let had_literal = self.literal().is_some();
        let was_literal = matches!(operand::read(self, info), Some(Operand::Literal(_)));
        let mut changed = *self;
        operand::write(&mut changed, info, value).ok_or_else(|| EncodeError::OutOfRange {
            mnemonic,
            field: info.field,
            value: format!("{value:?}"),
        })?;
        if had_literal && was_literal && !matches!(value, Operand::Literal(_)) && !changed.uses_literal() {
            changed.set_literal(None);
        }
        *self = changed;
        Ok(())
    }

    /// Some source field says that a literal follows.
    fn uses_literal(&self) -> bool {
        self.info.flags.contains(Flags::FIXED_LITERAL)
            || [Field::Ssrc0, Field::Ssrc1, Field::Src0].iter().any(|f| self.field(*f) == Some(255))
    }

    /// The trailing literal.
    pub fn literal(&self) -> Option<u32> {
        (self.size > self.info.size).then(|| self.words[usize::from(self.info.size) / 4])
    }

    /// Replaces the trailing literal, or adds or drops it.
    pub(crate) fn set_literal(&mut self, literal: Option<u32>) {
        self.words[usize::from(self.info.size) / 4] = literal.unwrap_or(0);
        self.size = self.info.size + if literal.is_some() { 4 } else { 0 };
    }

    /// Where a direct branch or call goes, given its own address.
    pub fn branch_target(&self, pc: u64) -> Option<u64> {
        let direct =
            self.info.flags.intersects(Flags::BRANCH | Flags::CALL) && !self.info.flags.contains(Flags::INDIRECT);
        let Operand::Imm(words) = self.operand_in(Field::Simm16).filter(|_| direct)? else { return None };
        Some(pc.wrapping_add(4).wrapping_add_signed(words * 4))
    }

    /// Every register unit touched, explicit and implicit, conditional kinds resolved. A unit may occur more than once
    /// (once read, once written).
    pub fn for_each_access(&self, f: impl FnMut(RegAccess)) {
        access::for_each(self, f);
    }

    /// The bits that a constant operand supplies, by its own type; `None` for registers.
    pub fn constant(&self, info: &'static OperandInfo) -> Option<u64> {
        self.operand(info).bits(if info.ty == DataType::None { DataType::B32 } else { info.ty })
    }
}

impl PartialEq for Inst {
    fn eq(&self, other: &Inst) -> bool {
        self.info.id == other.info.id && self.words() == other.words()
    }
}
impl Eq for Inst {}

impl fmt::Display for Inst {
    /// As llvm-objdump prints it (branch targets as the raw 16-bit immediate).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::print(self, f)
    }
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
