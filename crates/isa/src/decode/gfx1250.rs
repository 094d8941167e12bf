//! gfx1250: which format a word is, and which bits choose the variant of an operation. Its slots are those of RDNA4, with
//! more of packed and matrix operations, and no images.

use super::gfx11::{self, NONE, NULL, VOPD};
use super::gfx12::{self, Gfx12};
use super::{Family, bits};
use crate::generation::Generation;
use crate::{Format, OperandInfo};

pub struct Gfx1250;

// In the place of RDNA4's images. VOP3P has an opcode bit more.
const VOP3P: usize = gfx12::MIMG;
const VOP3P_FORM: usize = 1 << 8;
/// The matrix operation whose operands' formats are fields.
const WMMA_FORMATS: usize = VOP3P + 3 * VOP3P_FORM;
const WMMA_SCALED: usize = WMMA_FORMATS + (1 << 6);
const WMMA_SCALED_FORMATS: usize = WMMA_SCALED + (1 << 9);
const TENSOR: usize = WMMA_SCALED_FORMATS + (1 << 7);
const VOPD3: usize = TENSOR + (1 << 9);
const END: usize = VOPD3 + (1 << 12);

/// Opcodes of VOP3P: the matrix operation with formats, the other one that takes scales, and what loads these.
const F8F6F4: usize = 0x33;
const F4: usize = 0x88;
const LOAD_SCALE: usize = 0x35;
const LOAD_SCALE16: usize = 0x3a;

/// The third source of what loads the scales, which has two: compilers name v0 there, older ones the constant 0.
pub const UNREAD_SOURCE: u128 = 0x1ff << 50;
const V0: u128 = 0x100 << 50;

impl Family for Gfx1250 {
    const SLOTS: usize = END;
    const WIDE_LITERALS: bool = true;

    #[inline(always)]
    fn slot(word: impl Fn(usize) -> u32) -> usize {
        let w0 = word(0);
        match w0 >> 24 {
            0xc8..=0xcb => VOPD + bits(w0, 17, 9),
            0xcc => packed(w0, word),
            0xcf => VOPD3 + bits(w0, 12, 12),
            0xd0..=0xd3 => TENSOR + (bits(w0, 14, 8) << 1 | usize::from(bits(word(2), 16, 16) != NULL << 8 | NULL)),
            // images with a sampler
            0xe4..=0xe7 => NONE,
            _ => Gfx12::slot(word),
        }
    }

    fn template(generation: Generation, format: Format, opcode: u16, key: u16) -> u128 {
        // OP_SEL and OP_SEL_HI hold the formats of A and B.
        let formats = |key: u128| (key & 7) << 11 | (key >> 3 & 3) << 59 | (key >> 5 & 1) << 14;
        let (op, key_bits) = (u128::from(opcode), u128::from(key));
        match format {
            Format::Vop3p => 0xcc << 24 | op << 16 | formats(key_bits),
            Format::Vop3pDpp => 0xcc << 24 | op << 16 | 250 << 32,
            Format::Vop3pDpp8 => 0xcc << 24 | op << 16 | 233 << 32,
            Format::WmmaScaled => {
                let load = if key & 1 == 0 { LOAD_SCALE } else { LOAD_SCALE16 };
                let operation = 0xcc << 24 | op << 16 | formats(key_bits >> 1);
                0xcc << 24 | (load as u128) << 16 | V0 | operation << 64
            }
            Format::Vopd3 => 0xcf << 24 | op << 12,
            Format::Tensor if key == 0 => 0xd0 << 24 | op << 14 | ((NULL << 8 | NULL) as u128) << 80,
            Format::Tensor => 0xd0 << 24 | op << 14,
            _ => Gfx12::template(generation, format, opcode, key),
        }
    }

    fn literal_places(format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)] {
        Gfx12::literal_places(format, operands)
    }
}

/// VOP3P, and matrix operations behind the instruction that loads their scales.
#[inline(always)]
fn packed(w0: u32, word: impl Fn(usize) -> u32) -> usize {
    let w1 = word(1);
    let formats = |w0: u32, w1: u32| bits(w0, 11, 3) | bits(w1, 27, 2) << 3 | bits(w0, 14, 1) << 5;
    match bits(w0, 16, 8) {
        F8F6F4 => WMMA_FORMATS + formats(w0, w1),
        load @ (LOAD_SCALE | LOAD_SCALE16) if is_scaled(word(2)) => {
            let wide = usize::from(load == LOAD_SCALE16);
            match bits(word(2), 16, 8) {
                F8F6F4 => WMMA_SCALED_FORMATS + (formats(word(2), word(3)) << 1 | wide),
                op => WMMA_SCALED + (op << 1 | wide),
            }
        }
        op => VOP3P + gfx11::form(bits(w1, 0, 9)) * VOP3P_FORM + op,
    }
}

/// Does the word begin a matrix operation that takes scales?
fn is_scaled(word: u32) -> bool {
    word >> 24 == 0xcc && matches!(bits(word, 16, 8), F8F6F4 | F4)
}
