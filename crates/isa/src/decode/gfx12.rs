//! RDNA4: which format a word is, and which bits choose the variant of an operation. What works on registers only has the
//! slots of RDNA3; memory instructions have their own.

use super::gfx11::{self, Gfx11, LDSDIR, NONE, NULL, OUTSIDE, SMEM, VINTERP, VOP3, VOP3_FORM, VOP3P, VOP3P_FORM, VOPD};
use super::{Family, alu, bits};
use crate::generation::Generation;
use crate::{Format, OperandInfo};

pub struct Gfx12;

const DS: usize = gfx11::DS;
const FLAT: usize = DS + (1 << 8);
const MUBUF: usize = FLAT + (1 << 13);
const MTBUF: usize = MUBUF + (1 << 12);
const EXP: usize = MTBUF + (1 << 7);
/// SOP1 with M0 for its source: the barriers' opcodes depend on it.
const SOP1_M0: usize = EXP + (1 << 2);
/// Behind all others, because they are the largest and the least used.
pub(super) const MIMG: usize = SOP1_M0 + (1 << 8);
const VSAMPLE: usize = MIMG + (1 << 16);
const END: usize = VSAMPLE + (1 << 16);

/// The code of M0.
const M0: usize = 125;
/// Where the opcodes of typed buffer accesses begin among those of all buffer accesses.
const TYPED: usize = 8;

impl Family for Gfx12 {
    const SLOTS: usize = END;

    #[inline(always)]
    fn slot(word: impl Fn(usize) -> u32) -> usize {
        let w0 = word(0);
        if w0 >> 31 == 0 {
            return gfx11::vop(w0);
        }
        if w0 >> 30 == 0b10 {
            let is_sop1_of_m0 = w0 >> 23 == 0x17d && bits(w0, 0, 8) == M0;
            return if is_sop1_of_m0 { SOP1_M0 + bits(w0, 8, 8) } else { alu::scalar(w0) };
        }
        let w1 = word(1);
        match w0 >> 26 {
            0x31 => {
                let key = bits(w1, 30, 2) | bits(w0, 22, 1) << 2;
                match bits(w0, 18, 4) {
                    TYPED => MTBUF + (bits(w0, 14, 4) << 3 | key),
                    _ => MUBUF + (bits(w0, 14, 8) << 4 | key | bits(w1, 20, 1) << 3),
                }
            }
            0x32 => VOPD + bits(w0, 17, 9),
            0x33 => match bits(w0, 24, 2) {
                0 if bits(w0, 23, 1) == 0 => VOP3P + gfx11::form(bits(w1, 0, 9)) * VOP3P_FORM + bits(w0, 16, 7),
                1 => VINTERP + bits(w0, 16, 5),
                2 => LDSDIR + bits(w0, 20, 2),
                _ => NONE,
            },
            0x34 => MIMG + image(w0, bits(w1, 23, 1)),
            0x35 => VOP3 + gfx11::form(bits(w1, 0, 9)) * VOP3_FORM + bits(w0, 16, 10),
            0x36 => DS + bits(w0, 18, 8),
            0x39 => VSAMPLE + image(w0, bits(w0, 3, 1)),
            0x3b => {
                let has_saddr = usize::from(bits(w0, 0, 7) != NULL);
                let key = bits(w0, 24, 2) | has_saddr << 2 | bits(w1, 17, 1) << 3 | bits(w1, 20, 1) << 4;
                FLAT + (bits(w0, 14, 8) << 5 | key)
            }
            0x3d => SMEM + (bits(w0, 13, 6) << 2 | usize::from(bits(w1, 25, 7) != NULL)),
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
            Format::Sop1 if key == 1 => M0 as u128,
            Format::Flat if key & 4 == 0 => NULL as u128,
            Format::Smem if key & 1 == 0 => (NULL as u128) << 57,
            Format::Mimg | Format::Vsample => ((2 << (key & 3)) - 1) << 22,
            _ => 0,
        };
        mark | u128::from(opcode) << low | spread | special
    }

    fn literal_places(format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)] {
        Gfx11::literal_places(format, operands)
    }
}

/// Opcode, dimension, data halves, fault register and number of components of an image instruction.
#[inline(always)]
fn image(w0: u32, tfe: usize) -> usize {
    let components = bits(w0, 22, 4).count_ones().max(1) as usize;
    let key = (components - 1) | tfe << 2 | bits(w0, 5, 1) << 3 | bits(w0, 6, 1) << 4;
    bits(w0, 14, 8) << 8 | bits(w0, 0, 3) << 5 | key
}

/// As [`gfx11::shape`].
fn shape(format: Format) -> (u128, u32, &'static [u32]) {
    match format {
        Format::Sop1 => (0x17d << 23, 8, &[OUTSIDE]),
        // its one key bit says that there is a scalar offset
        Format::Smem => (0x3d << 26, 13, &[OUTSIDE]),
        Format::Ds => (0x36 << 26, 18, &[]),
        // the third bit says that there is a scalar address
        Format::Flat => (0x3b << 26, 14, &[24, 25, OUTSIDE, 49, 52]),
        Format::Mubuf => (0x31 << 26, 14, &[62, 63, 22, 52]),
        Format::Mtbuf => (0x31 << 26 | (TYPED as u128) << 18, 14, &[62, 63, 22]),
        // the first two count the components of DMASK
        Format::Mimg => (0x34 << 26, 14, &[OUTSIDE, OUTSIDE, 55, 5, 6, 0, 1, 2]),
        Format::Vsample => (0x39 << 26, 14, &[OUTSIDE, OUTSIDE, 3, 5, 6, 0, 1, 2]),
        other => gfx11::shape(other),
    }
}
