//! GCN5 and CDNA: which format a word is, and which bits choose the variant of an operation.

use super::{Family, alu, bits};
use crate::generation::Generation;
use crate::{Format, OperandInfo};

pub struct Gfx9;

// The decode slots of each format follow each other: two to the number of opcode bits and variant key bits.
const SMEM: usize = alu::SCALAR_END;
const VOP1: usize = SMEM + (1 << 11);
const VOP2: usize = VOP1 + (1 << 8);
const VOPC: usize = VOP2 + (1 << 6);
const SDWA1: usize = VOPC + (1 << 8);
const SDWA2: usize = SDWA1 + (1 << 8);
const SDWAC: usize = SDWA2 + (1 << 6);
const DPP1: usize = SDWAC + (1 << 8);
const DPP2: usize = DPP1 + (1 << 8);
/// VOP3's forms share a range; only matrix operations look at the key bit.
const VOP3: usize = DPP2 + (1 << 6);
/// Matrix operations whose sources' formats are fields: the formats are part of the key.
const MAI_FORMATS: usize = VOP3 + (1 << 11);
const MAI_SCALED: usize = MAI_FORMATS + (1 << 8);
const VINTRP: usize = MAI_SCALED + (1 << 8);
const DS: usize = VINTRP + (1 << 2);
const FLAT: usize = DS + (1 << 10);
const MUBUF: usize = FLAT + (1 << 13);
const MTBUF: usize = MUBUF + (1 << 12);
const MIMG: usize = MTBUF + (1 << 7);
const EXP: usize = MIMG + (1 << 14);
const NONE: usize = usize::MAX;

/// In VOP3's opcode field: the encoding that holds the scales of the matrix operation behind it, and the two operations
/// whose sources' formats are fields.
const SCALES: usize = 0x3ac;
const F8F6F4: [usize; 2] = [0x3ad, 0x3ae];

impl Family for Gfx9 {
    const SLOTS: usize = EXP + 1;

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
            0x30 => {
                let key = bits(w0, 17, 1) | bits(w0, 14, 1) << 1 | bits(w0, 16, 1) << 2;
                SMEM + (bits(w0, 18, 8) << 3 | key)
            }
            0x31 => EXP,
            0x34 => match bits(w0, 16, 10) {
                SCALES => {
                    let w2 = word(2);
                    let is_operation = w2 >> 26 == 0x34 && bits(w2, 11, 4) == 1 && F8F6F4.contains(&bits(w2, 16, 10));
                    // LLVM takes scales without an operation for an instruction of their own.
                    if is_operation {
                        MAI_SCALED + formats(w2, word(3))
                    } else {
                        VOP3 + (SCALES << 1 | bits(w0, 15, 1))
                    }
                }
                op if F8F6F4.contains(&op) => MAI_FORMATS + formats(w0, w1),
                op => VOP3 + (op << 1 | bits(w0, 15, 1)),
            },
            0x35 => VINTRP + bits(w0, 16, 2),
            0x36 => DS + (bits(w0, 17, 8) << 2 | bits(w0, 25, 1) | bits(w0, 16, 1) << 1),
            0x37 => {
                let no_saddr = bits(w1, 16, 7) == 0x7f;
                let key = bits(w0, 14, 2)
                    | usize::from(!no_saddr) << 2
                    | bits(w0, 16, 1) << 3
                    | bits(w1, 23, 1) << 4
                    | bits(w0, 13, 1) << 5;
                FLAT + (bits(w0, 18, 7) << 6 | key)
            }
            0x38 => {
                let key = bits(w0, 12, 2) | bits(w0, 14, 1) << 2 | bits(w1, 23, 1) << 3 | bits(w0, 16, 1) << 4;
                MUBUF + (bits(w0, 18, 7) << 5 | key)
            }
            0x3a => MTBUF + (bits(w0, 15, 4) << 3 | bits(w0, 12, 2) | bits(w1, 23, 1) << 2),
            0x3c => {
                let opcode = bits(w0, 18, 7) | bits(w0, 0, 1) << 7;
                MIMG + (opcode << 6 | bits(w0, 16, 1) << 5 | bits(w1, 31, 1) << 4 | bits(w0, 8, 4))
            }
            _ => NONE,
        }
    }

    fn template(_: Generation, format: Format, opcode: u16, key: u16) -> u128 {
        let (mark, low, key_bits) = shape(format, opcode);
        let (opcode, key) = (u128::from(opcode), u128::from(key));
        let opcode = if format == Format::Mimg { (opcode & 0x7f) << low | opcode >> 7 } else { opcode << low };
        let key = key_bits.iter().enumerate().fold(0, |all, (i, bit)| all | (key >> i & 1) << bit);
        const SADDR: u128 = 0x7f << 48;
        let key = match format {
            Format::Flat if key & SADDR == 0 => key | SADDR, // no scalar address
            Format::Flat => key & !SADDR,
            _ => key,
        };
        mark | opcode | key
    }

    fn literal_places(format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)] {
        alu::literal_places(format, operands, false)
    }
}

/// VOP1, VOP2, VOPC, and their SDWA and DPP forms.
#[inline(always)]
fn vop(w0: u32) -> usize {
    let source = bits(w0, 0, 9);
    let (vop1, vopc, vop2) = (bits(w0, 9, 8), bits(w0, 17, 8), bits(w0, 25, 6));
    match (vop2, source) {
        (0x3f, alu::SDWA) => SDWA1 + vop1,
        (0x3f, alu::DPP16) => DPP1 + vop1,
        (0x3f, _) => VOP1 + vop1,
        (0x3e, alu::SDWA) => SDWAC + vopc,
        (0x3e, alu::DPP16) => NONE,
        (0x3e, _) => VOPC + vopc,
        (op, alu::SDWA) => SDWA2 + op,
        (op, alu::DPP16) => DPP2 + op,
        (op, _) => VOP2 + op,
    }
}

/// Which of the two operations with formats, and the key.
fn formats(w0: u32, w1: u32) -> usize {
    let operation = bits(w0, 16, 1) ^ 1;
    operation << 7 | bits(w1, 29, 3) << 4 | bits(w0, 8, 3) << 1 | bits(w0, 15, 1)
}

/// A format's marking bits, where its opcode lies, and which bits make up the variant key, the lowest first.
fn shape(format: Format, opcode: u16) -> (u128, u32, &'static [u32]) {
    if let Some((mark, low)) = alu::mark(format) {
        return (mark, low, &[]);
    }
    match format {
        Format::Smem => (0x30 << 26, 18, &[17, 14, 16]),
        Format::Vop3a | Format::Vop3b => (0x34 << 26, 16, &[15]),
        Format::Mai if matches!(opcode, 0x2d | 0x2e) => (0x1a7 << 23, 16, &[15, 8, 9, 10, 61, 62, 63]),
        Format::Vop3p | Format::Mai => (0x1a7 << 23, 16, &[15]),
        Format::MaiScaled => (0x1a7 << 87 | 1 << 75 | 0xd3ac << 16, 80, &[79, 72, 73, 74, 125, 126, 127]),
        Format::Vintrp => (0x35 << 26, 16, &[]),
        Format::Ds => (0x36 << 26, 17, &[25, 16]),
        // bit 48 stands for a scalar address: see above
        Format::Flat => (0x37 << 26, 18, &[14, 15, 48, 16, 55, 13]),
        Format::Mubuf => (0x38 << 26, 18, &[12, 13, 14, 55, 16]),
        Format::Mtbuf => (0x3a << 26, 15, &[12, 13, 55]),
        Format::Mimg => (0x3c << 26, 18, &[8, 9, 10, 11, 63, 16]),
        Format::Exp => (0x31 << 26, 0, &[]),
        // The formats of other generations have no rows here.
        _ => (0, 0, &[]),
    }
}
