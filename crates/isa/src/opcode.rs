//! What the generated tables say of an opcode.

pub use crate::format::Format;
use crate::layout::{Piece, layout};
use crate::op::Op;
use crate::places::Places;
use crate::{Access, Field, Mode, Reg};

/// Dense number of an opcode within its target's table; stable only for one table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OpcodeId(pub u16);

/// How an operand's bits are to be read: decides what an inline constant expands to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum DataType {
    /// No inline constants: a plain register or immediate field.
    None,
    B16,
    B32,
    B64,
    I16,
    I32,
    I64,
    F16,
    Bf16,
    F32,
    F64,
    V2I16,
    V2F16,
    V2Bf16,
    V2I32,
    V2F32,
}

/// Which registers an operand can name, and how its field encodes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum File {
    /// Not a register.
    Immediate,
    /// SGPRs and the special scalar registers; in an 8-bit or wider field inline constants and the literal too.
    Scalar,
    Vgpr,
    Agpr,
    /// VGPRs, or AGPRs where the encoding's acc bit says so.
    Vector,
    /// A 9-bit source: scalar, constant or VGPR.
    Source,
}

/// What an encoding's modifier bits do to a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Modifiers {
    /// Nothing, or op_sel alone.
    Plain,
    /// Negation and absolute value.
    Float,
    /// Sign extension of the selected part (SDWA).
    Sext,
}

/// One assembly operand of an opcode.
#[derive(Debug)]
pub struct OperandInfo {
    /// Where it is encoded, which is also its name.
    pub field: Field,
    /// Registers it spans, in 32-bit units; 0 for an immediate.
    pub units: u8,
    pub ty: DataType,
    pub file: File,
    pub modifiers: Modifiers,
    /// `Read`, `Write` or `ReadWrite`; the conditional kinds are derived in [`crate::access`].
    pub access: Access,
    /// Names 16 bits: where it is a VGPR, one half of it (`v3.h`), by bit 7 of its field, or in VOP3 by OP_SEL.
    pub half: bool,
    /// Implied by the opcode rather than encoded (VCC of `v_add_co_u32_e32`), but printed.
    pub fixed: Option<Reg>,
}

bitflags::bitflags! {
    /// What an instruction does, as far as analyses need to know.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
    pub struct Flags: u64 {
        const LOAD = 1 << 0;
        const STORE = 1 << 1;
        const ATOMIC = 1 << 2;
        /// An atomic that returns the old value (glc).
        const ATOMIC_RETURN = 1 << 3;
        const BRANCH = 1 << 4;
        const COND_BRANCH = 1 << 5;
        /// `s_setpc_b64`, `s_swappc_b64`: the target is in a register.
        const INDIRECT = 1 << 6;
        const CALL = 1 << 7;
        /// `s_endpgm` and its kin.
        const END = 1 << 8;
        const BARRIER = 1 << 9;
        const WAIT = 1 << 10;
        const VALU = 1 << 11;
        const SALU = 1 << 12;
        const SMEM = 1 << 13;
        const VMEM = 1 << 14;
        const FLAT = 1 << 15;
        const GLOBAL = 1 << 16;
        const SCRATCH = 1 << 17;
        const DS = 1 << 18;
        /// A matrix operation, sparse ones (`v_smfmac_*`) included.
        const MFMA = 1 << 19;
        const VINTERP = 1 << 20;
        const EXPORT = 1 << 21;
        const TRAP = 1 << 22;
        /// Runs whatever EXEC says (v_readlane, v_writelane, s_*).
        const IGNORES_EXEC = 1 << 23;
        /// Counted by vmcnt, lgkmcnt, expcnt.
        const VM_CNT = 1 << 24;
        const LGKM_CNT = 1 << 25;
        const EXP_CNT = 1 << 26;
        /// Writes 16 bits and keeps the other half.
        const D16_PRESERVE = 1 << 27;
        /// The encoding is followed by a mandatory 32-bit literal (`v_madmk_f32`, `s_setreg_imm32_b32`).
        const FIXED_LITERAL = 1 << 28;
        const SDWA = 1 << 29;
        const DPP = 1 << 30;
        /// `s_getpc_b64`.
        const GETPC = 1 << 31;
        /// Result depends on MODE's rounding or denormal bits.
        const FP_MODE = 1 << 32;
        const MUBUF = 1 << 33;
        const MTBUF = 1 << 34;
        const MIMG = 1 << 35;
        /// VOP3P whose op_sel_hi is all ones unless said otherwise.
        const PACKED = 1 << 36;
        /// Has op_sel.
        const OP_SEL = 1 << 37;
        /// A matrix operation of RDNA (`v_wmma_*`, `v_swmmac_*`).
        const WMMA = 1 << 38;
        /// Two operations at once (VOPD); the mnemonic has both: `v_dual_mul_f32 :: v_dual_add_f32`.
        const DUAL = 1 << 39;
        /// The mandatory literal has 64 bits (`v_fmaak_f64`).
        const LITERAL_64 = 1 << 40;
    }
}

/// Everything that the tables say of an opcode.
#[derive(Debug)]
pub struct OpcodeInfo {
    pub id: OpcodeId,
    /// The processor and wave size whose table this is a row of.
    pub mode: Mode,
    /// As LLVM prints it: `v_add_f32_e32`, `s_mov_b32`, `v_mov_b32_dpp`.
    pub mnemonic: &'static str,
    /// The operation, without encoding suffix (`_e32`, `_e64`, `_dpp`, `_sdwa`): `v_add_f32`. [`OpcodeInfo::op`] is what to compare.
    pub base: &'static str,
    /// LLVM's name of the encoded opcode: `V_ADD_F32_e32_vi`.
    pub llvm: &'static str,
    /// LLVM's pseudo opcode, as MIR names it: `V_ADD_F32_e32`.
    pub pseudo: &'static str,
    pub format: Format,
    /// The value of the format's opcode field.
    pub opcode: u16,
    /// Bytes, a trailing literal not counted.
    pub size: u8,
    /// In assembly order, destinations first.
    pub operands: &'static [OperandInfo],
    pub implicit_reads: &'static [Reg],
    pub implicit_writes: &'static [Reg],
    pub flags: Flags,
    pub(crate) op: Op,
    pub(crate) places: &'static Places,
    pub(crate) legality: Legality,
}

impl OpcodeInfo {
    /// Where the fields of the opcode's encoding lie.
    pub fn layout(&self) -> &'static [Piece] {
        layout(self.mode.target().generation(), self.format)
    }
}

/// Which encodings with this opcode and variant are legal: what LLVM's disassembler takes. Of encodings longer than four
/// words, the fifth is only register numbers.
#[derive(Debug)]
pub(crate) struct Legality {
    /// The bits that make an encoding this opcode, all others zero.
    pub template: u128,
    /// Bits that must have the value they have in `value`.
    pub fixed: u128,
    pub value: u128,
    /// Bits that the assembly text does not show: without effect, as far as LLVM knows.
    pub ignored: u128,
    pub checks: &'static [Check],
    /// Places (low bit, mask) where a code of 255 says that a literal follows.
    pub literals: &'static [(u8, u16)],
}

/// A field with illegal codes.
#[derive(Debug)]
pub(crate) struct Check {
    pub low: u8,
    pub width: u8,
    /// Number of the set of legal codes.
    pub class: u16,
}

impl PartialEq for OpcodeInfo {
    /// The tables are static: the same row is the same opcode.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for OpcodeInfo {}
