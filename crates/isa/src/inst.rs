//! A decoded instruction: its encoding and what the tables say of it.

use std::fmt;

use crate::{DataType, Field, OpcodeInfo, OperandInfo, RegAccess, RegRange, Target};

/// The value of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Operand {
    Reg(RegRange),
    /// An inline constant, by its source-operand code (128 to 248). [`Operand::bits`] expands it.
    Inline(u16),
    /// The 32-bit literal that follows the instruction.
    Literal(u32),
    /// A read-only special source, by code: shared_base (235) to pops_exiting_wave_id (239), vccz (251), execz (252), scc (253), lds_direct (254).
    Special(u16),
    /// An immediate field, sign-extended where the encoding says so.
    Imm(i64),
}

impl Operand {
    /// What a constant operand supplies to an operation of this type, as raw bits; `None` for registers and specials.
    pub fn bits(self, _ty: DataType) -> Option<u64> {
        todo!()
    }
}

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
    #[error("{mnemonic}: {value} does not fit {field:?}")]
    OutOfRange { mnemonic: &'static str, field: Field, value: String },
}

impl Inst {
    /// Decodes the instruction at the start of `bytes`.
    pub fn decode(_target: Target, _bytes: &[u8]) -> Result<Inst, DecodeError> {
        todo!()
    }
    /// A fresh instruction with all fields zero; set them with [`Inst::set_operand`] and [`Inst::set_field`].
    pub fn new(_info: &'static OpcodeInfo) -> Inst {
        todo!()
    }
    /// An instruction from its operands in assembly order, modifiers zero.
    pub fn build(_info: &'static OpcodeInfo, _operands: &[Operand]) -> Result<Inst, EncodeError> {
        todo!()
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
    /// Raw bits of a field; `None` if the format has no such field.
    pub fn field(&self, _field: Field) -> Option<u32> {
        todo!()
    }
    pub fn set_field(&mut self, _field: Field, _raw: u32) -> Result<(), EncodeError> {
        todo!()
    }
    /// The operands in assembly order, with their values.
    pub fn operands(&self) -> impl Iterator<Item = (&'static OperandInfo, Operand)> + '_ {
        self.info.operands.iter().map(|info| (info, self.operand(info)))
    }
    pub fn operand(&self, _info: &'static OperandInfo) -> Operand {
        todo!()
    }
    /// The operand in `field`, if the opcode has one there.
    pub fn operand_in(&self, field: Field) -> Option<Operand> {
        self.info.operands.iter().find(|o| o.field == field).map(|o| self.operand(o))
    }
    /// Changes the `index`th operand (assembly order): another register of the same file and width, or a constant.
    pub fn set_operand(&mut self, _index: usize, _value: Operand) -> Result<(), EncodeError> {
        todo!()
    }
    /// The trailing literal.
    pub fn literal(&self) -> Option<u32> {
        todo!()
    }
    /// Where a direct branch or call goes, given its own address.
    pub fn branch_target(&self, _pc: u64) -> Option<u64> {
        todo!()
    }
    /// Every register unit touched, explicit and implicit, conditional kinds resolved. A unit may occur more than once
    /// (once read, once written).
    pub fn for_each_access(&self, _f: impl FnMut(RegAccess)) {
        todo!()
    }
}

impl fmt::Display for Inst {
    /// As llvm-objdump prints it (branch targets as the raw 16-bit immediate).
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

impl fmt::Debug for Inst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
