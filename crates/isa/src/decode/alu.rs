//! The scalar formats and the vector ALU's, whose marks and opcode fields are the same from GCN5 to RDNA3.

use super::bits;
use crate::{Field, File, Format, OperandInfo};

// The decode slots of the scalar formats come first, each format's behind the other's.
const SOP1: usize = 0;
const SOP2: usize = SOP1 + (1 << 8);
const SOPK: usize = SOP2 + (1 << 7);
const SOPC: usize = SOPK + (1 << 5);
const SOPP: usize = SOPC + (1 << 7);
/// One past the largest slot of a scalar format.
pub const SCALAR_END: usize = SOPP + (1 << 7);

/// First sources that say that a second word follows.
pub const DPP8: usize = 233;
pub const DPP8_FI: usize = 234;
pub const SDWA: usize = 249;
pub const DPP16: usize = 250;

/// The slot of a word of one of the scalar formats but SMEM: those that start with `10`.
#[inline(always)]
pub fn scalar(w0: u32) -> usize {
    match w0 >> 23 {
        0x17d => SOP1 + bits(w0, 8, 8),
        0x17e => SOPC + bits(w0, 16, 7),
        0x17f => SOPP + bits(w0, 16, 7),
        n if n >> 5 == 0b1011 => SOPK + bits(w0, 23, 5),
        _ => SOP2 + bits(w0, 23, 7),
    }
}

/// A format's marking bits, and where its opcode lies; `None` for other formats than these.
pub const fn mark(format: Format) -> Option<(u128, u32)> {
    const VOP1: u128 = 0x3f << 25;
    const VOPC: u128 = 0x3e << 25;
    Some(match format {
        Format::Sop2 => (0b10 << 30, 23),
        Format::Sopk => (0b1011 << 28, 23),
        Format::Sop1 => (0x17d << 23, 8),
        Format::Sopc => (0x17e << 23, 16),
        Format::Sopp => (0x17f << 23, 16),
        Format::Vop1 => (VOP1, 9),
        Format::Vop2 => (0, 25),
        Format::Vopc => (VOPC, 17),
        Format::Sdwa1 => (VOP1 | SDWA as u128, 9),
        Format::Sdwa2 => (SDWA as u128, 25),
        Format::SdwaC => (VOPC | SDWA as u128, 17),
        Format::Dpp1 => (VOP1 | DPP16 as u128, 9),
        Format::Dpp2 => (DPP16 as u128, 25),
        Format::DppC => (VOPC | DPP16 as u128, 17),
        Format::Dpp8_1 => (VOP1 | DPP8 as u128, 9),
        Format::Dpp8_2 => (DPP8 as u128, 25),
        Format::Dpp8C => (VOPC | DPP8 as u128, 17),
        _ => return None,
    })
}

/// Places (low bit, mask) where a code of 255 says that a literal follows. VOP3 has them from RDNA1 on.
pub fn literal_places(format: Format, operands: &[OperandInfo], vop3: bool) -> &'static [(u8, u16)] {
    // Only fields that the opcode has an operand in; `v_readfirstlane` and its like take no literal, by their legal
    // codes.
    let is = |field: Field| operands.iter().any(|o| o.field == field && o.file != File::Immediate);
    match format {
        Format::Sop1 if is(Field::Ssrc0) => &[(0, 0xff)],
        Format::Sop2 | Format::Sopc => match (is(Field::Ssrc0), is(Field::Ssrc1)) {
            (true, true) => &[(0, 0xff), (8, 0xff)],
            (true, false) => &[(0, 0xff)],
            (false, true) => &[(8, 0xff)],
            (false, false) => &[],
        },
        Format::Vop1 | Format::Vop2 | Format::Vopc if is(Field::Src0) => &[(0, 0x1ff)],
        Format::Vop3a | Format::Vop3b | Format::Vop3p if vop3 => {
            match (is(Field::Src0), is(Field::Src1), is(Field::Src2)) {
                (true, true, true) => &[(32, 0x1ff), (41, 0x1ff), (50, 0x1ff)],
                (true, true, false) => &[(32, 0x1ff), (41, 0x1ff)],
                (true, false, _) => &[(32, 0x1ff)],
                _ => &[],
            }
        }
        _ => &[],
    }
}
