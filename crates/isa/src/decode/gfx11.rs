//! RDNA3: which format a word is, and which bits choose the variant of an operation.

use super::{Family, alu, bits};
use crate::generation::Generation;
use crate::{Format, OperandInfo};

pub struct Gfx11;

// The decode slots of each format follow each other: two to the number of opcode bits and variant key bits.
pub(super) const SMEM: usize = alu::SCALAR_END;
const VOP1: usize = SMEM + (1 << 10);
const VOP2: usize = VOP1 + (1 << 8);
const VOPC: usize = VOP2 + (1 << 6);
/// The plain forms, then the same with DPP16, then with DPP8.
const VOP_FORMS: usize = VOPC + (1 << 8);
const VOP_FORM: usize = VOP_FORMS - VOP1;
pub(super) const VOP3: usize = VOP1 + 3 * VOP_FORM;
pub(super) const VOP3_FORM: usize = 1 << 10;
pub(super) const VOP3P: usize = VOP3 + 3 * VOP3_FORM;
pub(super) const VOP3P_FORM: usize = 1 << 7;
pub(super) const VINTERP: usize = VOP3P + 3 * VOP3P_FORM;
pub(super) const LDSDIR: usize = VINTERP + (1 << 7);
pub(super) const VOPD: usize = LDSDIR + (1 << 2);
pub(super) const DS: usize = VOPD + (1 << 9);
const FLAT: usize = DS + (1 << 9);
const MUBUF: usize = FLAT + (1 << 12);
const MTBUF: usize = MUBUF + (1 << 12);
const EXP: usize = MTBUF + (1 << 7);
/// Behind all others, because it is the largest and the least used.
const MIMG: usize = EXP + (1 << 2);
const MIMG_NSA: usize = MIMG + (1 << 16);
const END: usize = MIMG_NSA + (1 << 16);
pub(super) const NONE: usize = usize::MAX;

/// The code of `null` among the scalar registers: no scalar address, no scalar offset.
pub(super) const NULL: usize = 124;
/// The place of a key bit that is none of the encoding's own.
pub(super) const OUTSIDE: u32 = 128;

impl Family for Gfx11 {
    const SLOTS: usize = END;

    #[inline(always)]
    fn slot(word: impl Fn(usize) -> u32) -> usize {
        let w0 = word(0);
        if w0 >> 31 == 0 {
            return vop(w0);
        }
        if w0 >> 30 == 0b10 {
            return alu::scalar(w0);
        }
        let w1 = word(1);
        match w0 >> 26 {
            0x32 => VOPD + bits(w0, 17, 9),
            0x33 => match bits(w0, 24, 2) {
                0 if bits(w0, 23, 1) == 0 => VOP3P + form(bits(w1, 0, 9)) * VOP3P_FORM + bits(w0, 16, 7),
                1 => VINTERP + bits(w0, 16, 7),
                2 if bits(w0, 22, 2) == 0 => LDSDIR + bits(w0, 20, 2),
                _ => NONE,
            },
            0x35 => VOP3 + form(bits(w1, 0, 9)) * VOP3_FORM + bits(w0, 16, 10),
            0x36 => DS + (bits(w0, 18, 8) << 1 | bits(w0, 17, 1)),
            0x37 => {
                let has_saddr = usize::from(bits(w1, 16, 7) != NULL);
                let key = bits(w0, 16, 2) | has_saddr << 2 | bits(w1, 23, 1) << 3 | bits(w0, 14, 1) << 4;
                FLAT + (bits(w0, 18, 7) << 5 | key)
            }
            0x38 => MUBUF + (bits(w0, 18, 8) << 4 | bits(w1, 22, 2) | bits(w0, 14, 1) << 2 | bits(w1, 21, 1) << 3),
            0x3a => MTBUF + (bits(w0, 15, 4) << 3 | bits(w1, 22, 2) | bits(w1, 21, 1) << 2),
            0x3c => {
                let components = bits(w0, 8, 4).count_ones().max(1) as usize;
                let key = (components - 1) | bits(w1, 21, 1) << 2 | bits(w0, 17, 1) << 3 | bits(w0, 16, 1) << 4;
                let nsa = bits(w0, 0, 1) << 16;
                MIMG + (nsa | bits(w0, 18, 8) << 8 | bits(w0, 2, 3) << 5 | key)
            }
            0x3d => {
                let key = usize::from(bits(w1, 25, 7) != NULL) | usize::from(bits(w1, 0, 21) != 0) << 1;
                SMEM + (bits(w0, 18, 8) << 2 | key)
            }
            0x3e => EXP + (bits(w0, 11, 1) | bits(w0, 13, 1) << 1),
            _ => NONE,
        }
    }

    fn template(_: Generation, format: Format, opcode: u16, key: u16) -> u128 {
        let (mark, low, key_bits) = shape(format);
        let key = u128::from(key);
        let inside = key_bits.iter().enumerate().filter(|(_, bit)| **bit != OUTSIDE);
        let spread = inside.fold(0, |all, (i, bit)| all | (key >> i & 1) << bit);
        let special = match format {
            Format::Flat if key & 4 == 0 => (NULL as u128) << 48,
            Format::Smem => (if key & 1 == 0 { NULL as u128 } else { 0 }) << 57 | (key >> 1 & 1) << 32,
            Format::Mimg | Format::MimgNsa => ((2 << (key & 3)) - 1) << 8,
            _ => 0,
        };
        mark | u128::from(opcode) << low | spread | special
    }

    fn literal_places(format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)] {
        match format {
            Format::Vopd => &[(0, 0x1ff), (32, 0x1ff)],
            _ => alu::literal_places(format, operands, true),
        }
    }
}

/// Which of a VOP format's forms: plain, with DPP16, with DPP8.
#[inline(always)]
pub(super) fn form(first_source: usize) -> usize {
    match first_source {
        alu::DPP16 => 1,
        alu::DPP8 | alu::DPP8_FI => 2,
        _ => 0,
    }
}

/// VOP1, VOP2, VOPC, and their DPP forms.
#[inline(always)]
pub(super) fn vop(w0: u32) -> usize {
    let form = form(bits(w0, 0, 9)) * VOP_FORM;
    match bits(w0, 25, 6) {
        0x3f => VOP1 + form + bits(w0, 9, 8),
        0x3e => VOPC + form + bits(w0, 17, 8),
        op => VOP2 + form + op,
    }
}

/// A format's marking bits, where its opcode lies, and which bits make up the variant key, the lowest first;
/// [`OUTSIDE`] stands for those that `template` puts in.
pub(super) fn shape(format: Format) -> (u128, u32, &'static [u32]) {
    const DPP16_VOP3: u128 = (alu::DPP16 as u128) << 32;
    const DPP8_VOP3: u128 = (alu::DPP8 as u128) << 32;
    if let Some((mark, low)) = alu::mark(format) {
        return (mark, low, &[]);
    }
    match format {
        Format::Smem => (0x3d << 26, 18, &[]),
        Format::Vop3a | Format::Vop3b => (0x35 << 26, 16, &[]),
        Format::Vop3aDpp | Format::Vop3bDpp => (0x35 << 26 | DPP16_VOP3, 16, &[]),
        Format::Vop3aDpp8 | Format::Vop3bDpp8 => (0x35 << 26 | DPP8_VOP3, 16, &[]),
        Format::Vop3p => (0xcc << 24, 16, &[]),
        Format::Vop3pDpp => (0xcc << 24 | DPP16_VOP3, 16, &[]),
        Format::Vop3pDpp8 => (0xcc << 24 | DPP8_VOP3, 16, &[]),
        Format::Vinterp => (0xcd << 24, 16, &[]),
        Format::Ldsdir => (0xce << 24, 20, &[]),
        Format::Vopd => (0x32 << 26, 17, &[]),
        Format::Ds => (0x36 << 26, 18, &[17]),
        // the third bit says that there is a scalar address: see above
        Format::Flat => (0x37 << 26, 18, &[16, 17, OUTSIDE, 55, 14]),
        Format::Mubuf => (0x38 << 26, 18, &[54, 55, 14, 53]),
        Format::Mtbuf => (0x3a << 26, 15, &[54, 55, 53]),
        // the first two count the components of DMASK
        Format::Mimg => (0x3c << 26, 18, &[OUTSIDE, OUTSIDE, 53, 17, 16, 2, 3, 4]),
        Format::MimgNsa => (0x3c << 26 | 1, 18, &[OUTSIDE, OUTSIDE, 53, 17, 16, 2, 3, 4]),
        Format::Exp => (0x3e << 26, 0, &[11, 13]),
        // The formats of other generations have no rows here.
        _ => (0, 0, &[]),
    }
}
