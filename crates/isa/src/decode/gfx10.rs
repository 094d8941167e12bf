//! RDNA1 and RDNA2: which format a word is, and which bits choose the variant of an operation.

use super::{Family, alu, bits};
use crate::generation::Generation;
use crate::{Format, OperandInfo};

pub struct Gfx10;

// The decode slots of each format follow each other: two to the number of opcode bits and variant key bits.
const SMEM: usize = alu::SCALAR_END;
const VOP1: usize = SMEM + (1 << 11);
const VOP2: usize = VOP1 + (1 << 8);
const VOPC: usize = VOP2 + (1 << 6);
/// The plain forms, then the same with SDWA, with DPP16, and with DPP8.
const VOP_FORM: usize = VOPC + (1 << 8) - VOP1;
const VOP3: usize = VOP1 + 4 * VOP_FORM;
const VOP3P: usize = VOP3 + (1 << 10);
const VINTRP: usize = VOP3P + (1 << 7);
const DS: usize = VINTRP + (1 << 2);
const FLAT: usize = DS + (1 << 9);
const MUBUF: usize = FLAT + (1 << 13);
const MTBUF: usize = MUBUF + (1 << 13);
const EXP: usize = MTBUF + (1 << 7);
/// Behind all others, because it is the largest and the least used: four times, with none to three words of addresses.
const MIMG: usize = EXP + (1 << 1);
const MIMG_FORM: usize = 1 << 16;
const END: usize = MIMG + 4 * MIMG_FORM;
const NONE: usize = usize::MAX;

/// The code of `null` among the scalar registers: no scalar address, no scalar offset.
const NULL: usize = 125;
/// The code in the place of the scalar address that says that scratch memory has no vector address either.
const NO_ADDRESS: usize = 127;
/// The place of a key bit that is none of the encoding's own.
const OUTSIDE: u32 = 128;

impl Family for Gfx10 {
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
            0x32 => VINTRP + bits(w0, 16, 2),
            0x33 if bits(w0, 23, 3) == 0 => VOP3P + bits(w0, 16, 7),
            0x35 => VOP3 + bits(w0, 16, 10),
            0x36 => DS + (bits(w0, 18, 8) << 1 | bits(w0, 17, 1)),
            0x37 => {
                let address = match bits(w1, 16, 7) {
                    NULL => 0,
                    NO_ADDRESS => 2,
                    _ => 1,
                };
                let key = bits(w0, 14, 2) | address << 2 | bits(w0, 16, 1) << 4 | bits(w0, 13, 1) << 5;
                FLAT + (bits(w0, 18, 7) << 6 | key)
            }
            0x38 => {
                let key = bits(w0, 12, 2) | bits(w0, 14, 1) << 2 | bits(w1, 23, 1) << 3 | bits(w0, 16, 1) << 4;
                MUBUF + (bits(w0, 18, 8) << 5 | key)
            }
            0x3a => {
                let opcode = bits(w0, 16, 3) | bits(w1, 21, 1) << 3;
                MTBUF + (opcode << 3 | bits(w0, 12, 2) | bits(w1, 23, 1) << 2)
            }
            0x3c => {
                let opcode = bits(w0, 18, 7) | bits(w0, 0, 1) << 7;
                let components = bits(w0, 8, 4).count_ones().max(1) as usize;
                let key = (components - 1) | bits(w0, 16, 1) << 2 | bits(w1, 30, 2) << 3;
                MIMG + bits(w0, 1, 2) * MIMG_FORM + (opcode << 8 | bits(w0, 3, 3) << 5 | key)
            }
            0x3d => {
                let has_register = usize::from(bits(w1, 25, 7) != NULL);
                let key = has_register | usize::from(bits(w1, 0, 21) != 0) << 1 | bits(w0, 16, 1) << 2;
                SMEM + (bits(w0, 18, 8) << 3 | key)
            }
            0x3e => EXP + bits(w0, 11, 1),
            _ => NONE,
        }
    }

    fn template(_: Generation, format: Format, opcode: u16, key: u16) -> u128 {
        let (mark, low, key_bits) = shape(format);
        let (opcode, key) = (u128::from(opcode), u128::from(key));
        let opcode = match format {
            Format::Mtbuf => (opcode & 7) << low | opcode >> 3 << 53,
            _ if format.plain() == Format::Mimg => (opcode & 0x7f) << low | opcode >> 7,
            _ => opcode << low,
        };
        let inside = key_bits.iter().enumerate().filter(|(_, bit)| **bit != OUTSIDE);
        let spread = inside.fold(0, |all, (i, bit)| all | (key >> i & 1) << bit);
        let special = match format {
            Format::Flat => ([NULL, 0, NO_ADDRESS, 0][key as usize >> 2 & 3] as u128) << 48,
            Format::Smem => (if key & 1 == 0 { NULL as u128 } else { 0 }) << 57 | (key >> 1 & 1) << 32,
            _ if format.plain() == Format::Mimg => ((2 << (key & 3)) - 1) << 8,
            _ => 0,
        };
        mark | opcode | spread | special
    }

    fn literal_places(format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)] {
        alu::literal_places(format, operands, true)
    }
}

/// VOP1, VOP2, VOPC, and their SDWA and DPP forms.
#[inline(always)]
fn vop(w0: u32) -> usize {
    let form = match bits(w0, 0, 9) {
        alu::SDWA => VOP_FORM,
        alu::DPP16 => 2 * VOP_FORM,
        alu::DPP8 | alu::DPP8_FI => 3 * VOP_FORM,
        _ => 0,
    };
    match bits(w0, 25, 6) {
        0x3f => VOP1 + form + bits(w0, 9, 8),
        0x3e => VOPC + form + bits(w0, 17, 8),
        op => VOP2 + form + op,
    }
}

/// A format's marking bits, where its opcode lies, and which bits make up the variant key, the lowest first;
/// [`OUTSIDE`] stands for those that `template` puts in.
fn shape(format: Format) -> (u128, u32, &'static [u32]) {
    // the first two count the components of DMASK
    const IMAGE: &[u32] = &[OUTSIDE, OUTSIDE, 16, 62, 63, 3, 4, 5];
    if let Some((mark, low)) = alu::mark(format) {
        return (mark, low, &[]);
    }
    match format {
        Format::Smem => (0x3d << 26, 18, &[OUTSIDE, OUTSIDE, 16]),
        Format::Vop3a | Format::Vop3b => (0x35 << 26, 16, &[]),
        Format::Vop3p => (0xcc << 24, 16, &[]),
        Format::Vintrp => (0x32 << 26, 16, &[]),
        Format::Ds => (0x36 << 26, 18, &[17]),
        // two bits say which addresses there are: see above
        Format::Flat => (0x37 << 26, 18, &[14, 15, OUTSIDE, OUTSIDE, 16, 13]),
        Format::Mubuf => (0x38 << 26, 18, &[12, 13, 14, 55, 16]),
        Format::Mtbuf => (0x3a << 26, 16, &[12, 13, 55]),
        Format::Mimg => (0x3c << 26, 18, IMAGE),
        Format::MimgNsa => (0x3c << 26 | 1 << 1, 18, IMAGE),
        Format::MimgNsa2 => (0x3c << 26 | 2 << 1, 18, IMAGE),
        Format::MimgNsa3 => (0x3c << 26 | 3 << 1, 18, IMAGE),
        Format::Exp => (0x3e << 26, 0, &[11]),
        // The formats of other generations have no rows here.
        _ => (0, 0, &[]),
    }
}
