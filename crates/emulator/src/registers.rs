//! What registers are: rows of vector registers, codes of scalar ones, and the constants that stand among them.

use zerocopy::{Immutable, IntoBytes};

/// One vector register: 64 lanes of 32 bits. Aligned so that whole-row loops use full vector loads.
#[derive(Clone, Copy, IntoBytes, Immutable)]
#[repr(C, align(64))]
pub struct Row(pub [u32; 64]);

impl Row {
    pub const ZERO: Row = Row([0; 64]);
}

/// Halves of a row: a wave of 32 lanes has one.
pub type Halves = usize;

/// Index of a row in a wave's vector file. The file holds more than the architectural registers, so that handlers
/// find every vector source in a row, whatever the operand was.
pub mod rows {
    /// v0; v`n` is `VGPR + n`, up to v1023 of gfx1250, which has no AGPRs.
    pub const VGPR: u16 = 0;
    /// a0 where AGPRs are a file of their own (CDNA1), and the most that it can be elsewhere ([`crate::wave::Wave::first_agpr`]).
    pub const AGPR: u16 = 256;
    /// Scratch rows of the lowering: broadcast scalars, DPP and SDWA selections, results before clamp and omod.
    pub const TEMP: u16 = 1024;
    pub const TEMPS: u16 = 48;
    /// The 32-bit inline constants, one row each, in the order of their operand codes (128 to 248).
    pub const CONST: u16 = TEMP + TEMPS;
    pub const CONSTS: u16 = 121;
    /// The 16-bit float inline constants (codes 240 to 248), zero-extended.
    pub const CONST_F16: u16 = CONST + CONSTS;
    /// Room behind the last row, so that the widest tuple that starts in any row stays inside.
    pub const SLACK: u16 = 32;
    pub const COUNT: usize = (CONST_F16 + 9 + SLACK) as usize;
}

/// Scalar state by operand code. The numbers are gfx9's; where a generation moves a register, isa has found it again.
pub mod scalar {
    pub const FLAT_SCRATCH: u8 = 102;
    /// Where RDNA keeps the base of scratch memory: no SGPRs, but a source of their own.
    pub const FLAT_SCRATCH_BASE: u8 = 230;
    pub const XNACK_MASK: u8 = 104;
    pub const VCC: u8 = 106;
    pub const TTMP: u8 = 108;
    pub const M0: u8 = 124;
    pub const EXEC: u8 = 126;
    pub const FIRST_CONST: u8 = 128;
    pub const LAST_CONST: u8 = 248;
    /// Pairs whose codes no scalar operand has: flags as 64-bit operands, of a first source and of a second one.
    pub const WIDE_FLAGS: [u8; 2] = [236, 238];
    pub const VCCZ: u8 = 251;
    pub const EXECZ: u8 = 252;
    /// 0 or 1.
    pub const SCC: u8 = 253;
    /// What is written to `null` goes here, and to the code behind it. (It is read as the constant zero.)
    pub const NULL_SINK: u8 = 254;
}

/// Some of the rows that are registers, one bit each.
pub type Registers = [u64; rows::TEMP as usize / 64];

/// A vector file without a wave: its constants are in place, and so is what the last wave left.
pub struct VectorFile {
    pub(crate) rows: Box<[Row; rows::COUNT]>,
    /// Those that may hold something else than zeros.
    pub(crate) written: Registers,
}

impl VectorFile {
    /// Nothing but zeros and constants.
    pub fn new() -> VectorFile {
        let mut file = zeroed_rows();
        for code in scalar::FIRST_CONST..=scalar::LAST_CONST {
            let value = inline_constant32(code).unwrap_or(0);
            file[usize::from(rows::CONST + u16::from(code - scalar::FIRST_CONST))] = Row([value; 64]);
            if let Some(value) = inline_constant_f16(code) {
                file[usize::from(rows::CONST_F16 + u16::from(code - 240))] = Row([value; 64]);
            }
        }
        VectorFile { rows: file, written: Registers::default() }
    }
}

impl Default for VectorFile {
    fn default() -> VectorFile {
        VectorFile::new()
    }
}

fn zeroed_rows() -> Box<[Row; rows::COUNT]> {
    // SAFETY: all zeros is a valid Row.
    unsafe { Box::new_zeroed().assume_init() }
}

/// What the inline constant `code` is to a 32-bit operation.
pub const fn inline_constant32(code: u8) -> Option<u32> {
    Some(match code {
        128..=192 => code as u32 - 128,
        193..=208 => (192 - code as i32) as u32,
        240 => 0x3f00_0000,
        241 => 0xbf00_0000,
        242 => 0x3f80_0000,
        243 => 0xbf80_0000,
        244 => 0x4000_0000,
        245 => 0xc000_0000,
        246 => 0x4080_0000,
        247 => 0xc080_0000,
        248 => 0x3e22_f983,
        _ => return None,
    })
}

/// What the floating-point inline constant `code` is to a 16-bit operation.
pub const fn inline_constant_f16(code: u8) -> Option<u32> {
    Some(match code {
        240 => 0x3800,
        241 => 0xb800,
        242 => 0x3c00,
        243 => 0xbc00,
        244 => 0x4000,
        245 => 0xc000,
        246 => 0x4400,
        247 => 0xc400,
        248 => 0x3118,
        _ => return None,
    })
}
