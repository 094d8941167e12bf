//! From words to an opcode: which format, which index slot, how many bytes.

use crate::tables::Index;
use crate::{DecodeError, Flags, Format, Inst, OpcodeInfo, Target};

const LITERAL: u32 = 255;

/// Field `low..low + width` of a word.
const fn bits(word: u32, low: u32, width: u32) -> usize {
    (word >> low & ((1 << width) - 1)) as usize
}

/// The id of the opcode that the first two words encode.
fn opcode_id(index: &Index, w0: u32, w1: u32) -> Option<u16> {
    let id = if w0 >> 31 == 0 {
        vop(index, w0)
    } else if w0 >> 30 == 0b10 {
        match w0 >> 23 {
            0x17d => index.sop1[bits(w0, 8, 8)],
            0x17e => index.sopc[bits(w0, 16, 7)],
            0x17f => index.sopp[bits(w0, 16, 7)],
            n if n >> 5 == 0b1011 => index.sopk[bits(w0, 23, 5)],
            _ => index.sop2[bits(w0, 23, 7)],
        }
    } else {
        match w0 >> 26 {
            0x30 => index.smem[bits(w0, 18, 8) << 3 | bits(w0, 17, 1) | bits(w0, 14, 1) << 1 | bits(w0, 16, 1) << 2],
            0x31 => index.exp[0],
            0x34 => index.vop3[bits(w0, 16, 10) << 1 | bits(w0, 15, 1)],
            0x35 => index.vintrp[bits(w0, 16, 2)],
            0x36 => index.ds[bits(w0, 17, 8) << 2 | bits(w0, 25, 1) | bits(w0, 16, 1) << 1],
            0x37 => {
                let no_saddr = bits(w1, 16, 7) == 0x7f;
                let key = bits(w0, 14, 2)
                    | usize::from(!no_saddr) << 2
                    | bits(w0, 16, 1) << 3
                    | bits(w1, 23, 1) << 4
                    | bits(w0, 13, 1) << 5;
                index.flat[bits(w0, 18, 7) << 6 | key]
            }
            0x38 => {
                let key = bits(w0, 12, 2) | bits(w0, 14, 1) << 2 | bits(w1, 23, 1) << 3 | bits(w0, 16, 1) << 4;
                index.mubuf[bits(w0, 18, 7) << 5 | key]
            }
            0x3a => index.mtbuf[bits(w0, 15, 4) << 3 | bits(w0, 12, 2) | bits(w1, 23, 1) << 2],
            0x3c => index.mimg[(bits(w0, 18, 7) | bits(w0, 0, 1) << 7) << 5 | bits(w1, 31, 1) << 4 | bits(w0, 8, 4)],
            _ => u16::MAX,
        }
    };
    (id != u16::MAX).then_some(id)
}

/// VOP1, VOP2, VOPC, and their SDWA and DPP forms.
fn vop(index: &Index, w0: u32) -> u16 {
    const SDWA: usize = 249;
    const DPP: usize = 250;
    let source = bits(w0, 0, 9);
    let (vop1, vopc, vop2) = (bits(w0, 9, 8), bits(w0, 17, 8), bits(w0, 25, 6));
    match (vop2, source) {
        (0x3f, SDWA) => index.sdwa1[vop1],
        (0x3f, DPP) => index.dpp1[vop1],
        (0x3f, _) => index.vop1[vop1],
        (0x3e, SDWA) => index.sdwac[vopc],
        (0x3e, DPP) => u16::MAX,
        (0x3e, _) => index.vopc[vopc],
        (op, SDWA) => index.sdwa2[op],
        (op, DPP) => index.dpp2[op],
        (op, _) => index.vop2[op],
    }
}

/// A 32-bit literal follows the encoding.
pub fn has_literal(info: &OpcodeInfo, w0: u32) -> bool {
    let source = |&(low, mask): &(u8, u16)| w0 >> low & u32::from(mask) == LITERAL;
    info.legality.literals.iter().any(source) || info.flags.contains(Flags::FIXED_LITERAL)
}

/// Is this encoding of the opcode one that means something? `pair` is its first two words.
pub fn is_legal(target: Target, info: &OpcodeInfo, pair: u64) -> bool {
    let legality = &info.legality;
    if pair & legality.fixed != legality.value {
        return false;
    }
    let classes = target.classes();
    let member = |class: u8, code: usize| classes[usize::from(class)][code / 64] >> (code % 64) & 1 != 0;
    // A comparison's scalar destination counts only if its SD bit says that there is one.
    const SD: u64 = 1 << 47;
    if info.format == Format::SdwaC && pair & SD == 0 {
        return sdwa_sources(info, pair);
    }
    legality.checks.iter().all(|c| member(c.class, (pair >> c.low & ((1 << c.width) - 1)) as usize))
        && (!info.flags.contains(Flags::SDWA) || sdwa_sources(info, pair))
}

/// SDWA sources are vector registers, any, or scalar ones and constants, if their S bits say so.
fn sdwa_sources(info: &OpcodeInfo, pair: u64) -> bool {
    let scalar = |code: u64| matches!(code, 0..=124 | 126..=208 | 235..=248 | 251..=253);
    let second = info.format != Format::Sdwa1;
    // Reserved: a selector of 7, a rule for the unused bits of 3. A comparison has a register in the latter's place.
    let select = |low: u32| pair >> low & 7 != 7;
    let destination = info.format == Format::SdwaC || select(40) && pair >> 43 & 3 != 3;
    destination
        && select(48)
        && (!second || select(56))
        && (pair >> 55 & 1 == 0 || scalar(pair >> 32 & 0xff))
        && (!second || pair >> 63 & 1 == 0 || scalar(pair >> 9 & 0xff))
}

pub fn decode(target: Target, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let truncated = |needed: usize| DecodeError::Truncated { needed, available: bytes.len() };
    let w0 = word(0).ok_or(truncated(4))?;
    let w1 = word(4).unwrap_or(0);
    let unknown = DecodeError::Unknown { target, word: w0 };
    let Some(id) = opcode_id(target.index(), w0, w1) else { return Err(unknown) };
    let info = &target.opcodes()[usize::from(id)];
    let base = usize::from(info.size);
    let literal = has_literal(info, w0);
    let size = base + if literal { 4 } else { 0 };
    if size > bytes.len() {
        return Err(truncated(size));
    }
    let second = if base > 4 { w1 } else { 0 };
    if !is_legal(target, info, u64::from(w0) | u64::from(second) << 32) {
        return Err(unknown);
    }
    // The literal lies behind the encoding: no opcode of eight bytes has one yet, but none is ruled out.
    let mut words = [w0, second, 0, 0, 0];
    if literal {
        words[base / 4] = word(base).unwrap_or(0);
    }
    Ok(Inst::from_words(info, words, size as u8))
}
