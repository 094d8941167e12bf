//! From words to an opcode: which format, which slot of the tables, how many bytes.
//!
//! Which format a word is, and which of its bits choose among an operation's opcodes, is a [`Family`]'s; all else is shared.

use crate::generation::Generation;
use crate::opcode::Check;
use crate::places::window;
use crate::tables::{Tables, in_class};
use crate::target::Mode;
use crate::{DecodeError, Flags, Format, Inst, OpcodeInfo, OperandInfo};

mod alu;
mod gfx10;
mod gfx11;
mod gfx12;
mod gfx1250;
mod gfx9;
mod sdwa;

const LITERAL: u64 = 255;
const LITERAL_64: u64 = 254;

/// What decoding needs to know of generations that share their formats' marks and opcode fields.
pub(crate) trait Family {
    /// One past the largest slot.
    const SLOTS: usize;
    /// A source code of 254 says that a literal of 64 bits follows.
    const WIDE_LITERALS: bool = false;

    /// The slot of the opcode that the words encode; any number from [`Family::SLOTS`] on if they are of no format.
    /// `word(0)` is the first word; words that are missing read as zero.
    fn slot(word: impl Fn(usize) -> u32) -> usize;

    /// An encoding with nothing set but what makes it this format, opcode and variant, so that `slot` finds it. The variant
    /// key is the one that the table generator's prober counts.
    fn template(generation: Generation, format: Format, opcode: u16, key: u16) -> u128;

    /// Places (low bit, mask) in the first two words where a code of 255 says that a literal follows.
    fn literal_places(format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)];
}

/// Field `low..low + width` of a word.
const fn bits(word: u32, low: u32, width: u32) -> usize {
    (word >> low & ((1 << width) - 1)) as usize
}

/// Calls a method of the generation's family.
macro_rules! family {
    ($generation:expr, $method:ident($($argument:expr),*)) => {
        match $generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => <gfx9::Gfx9 as Family>::$method($($argument),*),
            Generation::Gfx11 => <gfx11::Gfx11 as Family>::$method($($argument),*),
            Generation::Gfx10 => <gfx10::Gfx10 as Family>::$method($($argument),*),
            Generation::Gfx12 => <gfx12::Gfx12 as Family>::$method($($argument),*),
            Generation::Gfx1250 => <gfx1250::Gfx1250 as Family>::$method($($argument),*),
        }
    };
}

pub fn slots(generation: Generation) -> usize {
    match generation {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => gfx9::Gfx9::SLOTS,
        Generation::Gfx11 => gfx11::Gfx11::SLOTS,
        Generation::Gfx10 => gfx10::Gfx10::SLOTS,
        Generation::Gfx12 => gfx12::Gfx12::SLOTS,
        Generation::Gfx1250 => gfx1250::Gfx1250::SLOTS,
    }
}

pub fn slot(generation: Generation, word: impl Fn(usize) -> u32) -> usize {
    family!(generation, slot(word))
}

pub fn template(generation: Generation, format: Format, opcode: u16, key: u16) -> u128 {
    family!(generation, template(generation, format, opcode, key))
}

pub fn literal_places(generation: Generation, format: Format, operands: &[OperandInfo]) -> &'static [(u8, u16)] {
    family!(generation, literal_places(format, operands))
}

/// A source of the encoding, of which `pair` is the first two words, has the code of a literal; or the opcode has one.
fn has_literal(info: &OpcodeInfo, pair: u64, code: u64) -> bool {
    let source = |&(low, mask): &(u8, u16)| pair >> low & u64::from(mask) == code;
    info.legality.literals.iter().any(source) || info.flags.contains(Flags::FIXED_LITERAL)
}

/// As [`literal_bytes`] on processors that know literals of 64 bits.
fn wide_literal_bytes(info: &OpcodeInfo, pair: u64) -> u8 {
    if info.flags.contains(Flags::FIXED_LITERAL) {
        return if info.flags.contains(Flags::LITERAL_64) { 8 } else { 4 };
    }
    match (has_literal(info, pair, LITERAL), has_literal(info, pair, LITERAL_64)) {
        (true, _) => 4,
        (false, true) => 8,
        (false, false) => 0,
    }
}

/// Do the encoding's sources name a literal of another size than the one that it has?
fn has_two_literals(info: &OpcodeInfo, pair: u64) -> bool {
    let source = |code: u64| info.legality.literals.iter().any(|(low, mask)| pair >> low & u64::from(*mask) == code);
    match wide_literal_bytes(info, pair) {
        4 => source(LITERAL_64),
        8 => source(LITERAL),
        _ => false,
    }
}

/// The size of the literal behind the encoding, of which `pair` is the first two words; 0 if there is none.
pub fn literal_bytes(info: &OpcodeInfo, pair: u64) -> u8 {
    match info.mode.target().generation() {
        Generation::Gfx1250 => wide_literal_bytes(info, pair),
        _ if has_literal(info, pair, LITERAL) => 4,
        _ => 0,
    }
}

/// Is this encoding of the opcode one that means something? `words` has zeros past the opcode's size.
fn is_legal(info: &OpcodeInfo, words: &[u32; 5]) -> bool {
    let legality = &info.legality;
    let half = |at: usize| u64::from(words[at]) | u64::from(words[at + 1]) << 32;
    let pair = half(0);
    if pair & legality.fixed as u64 != legality.value as u64
        || info.size > 8 && half(2) & (legality.fixed >> 64) as u64 != (legality.value >> 64) as u64
    {
        return false;
    }
    if info.flags.contains(Flags::SDWA) {
        if !sdwa::is_legal(info, pair) {
            return false;
        }
        if sdwa::has_no_destination(info, pair) {
            return true;
        }
    }
    let ok = |c: &Check, window: u64| in_class(c.class, (window & ((1 << c.width) - 1)) as usize);
    if info.size <= 8 {
        legality.checks.iter().all(|c| ok(c, pair >> c.low))
    } else {
        legality.checks.iter().all(|c| ok(c, window(words, c.low) >> (c.low % 32)))
    }
}

/// Decodes instruction after instruction for one mode: [`Inst::decode`] without looking the mode's tables up each time.
#[derive(Clone, Copy)]
pub struct Decoder {
    mode: Mode,
    generation: Generation,
    tables: &'static Tables,
}

impl Decoder {
    pub fn new(mode: impl Into<Mode>) -> Decoder {
        let mode = mode.into();
        Decoder { mode, generation: mode.target().generation(), tables: mode.tables() }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Decodes the instruction at the start of `bytes`.
    ///
    /// # Errors
    /// The bytes are no instruction of the target, or end too early; or the target's instructions are not known.
    pub fn decode(&self, bytes: &[u8]) -> Result<Inst, DecodeError> {
        match self.generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => {
                decode_as::<gfx9::Gfx9>(self.mode, self.tables, bytes)
            }
            Generation::Gfx11 => decode_as::<gfx11::Gfx11>(self.mode, self.tables, bytes),
            Generation::Gfx10 => decode_as::<gfx10::Gfx10>(self.mode, self.tables, bytes),
            Generation::Gfx12 => decode_as::<gfx12::Gfx12>(self.mode, self.tables, bytes),
            Generation::Gfx1250 => decode_as::<gfx1250::Gfx1250>(self.mode, self.tables, bytes),
        }
    }
}

#[inline(always)]
fn decode_as<F: Family>(mode: Mode, tables: &'static Tables, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let word = |at: usize| bytes.get(4 * at..4 * at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let truncated = |needed: usize| DecodeError::Truncated { needed, available: bytes.len() };
    let w0 = word(0).ok_or(truncated(4))?;
    let w1 = word(1).unwrap_or(0);
    let slot = F::slot(|i| match i {
        0 => w0,
        1 => w1,
        i => word(i).unwrap_or(0),
    });
    let Some(info) = tables.ids.get(slot).and_then(|&id| tables.opcodes.get(usize::from(id))) else {
        return Err(unknown(mode, w0));
    };
    let base = usize::from(info.size);
    let second = if base > 4 { w1 } else { 0 };
    let pair = u64::from(w0) | u64::from(second) << 32;
    let literal = match F::WIDE_LITERALS {
        true => wide_literal_bytes(info, pair),
        false if has_literal(info, pair, LITERAL) => 4,
        false => 0,
    };
    let size = base + usize::from(literal);
    if size > bytes.len() {
        return Err(truncated(size));
    }
    let mut words = [w0, second, 0, 0, 0];
    if base > 8 {
        (2..base / 4).for_each(|i| words[i] = word(i).unwrap_or(0));
    }
    if !is_legal(info, &words) || F::WIDE_LITERALS && has_two_literals(info, pair) {
        return Err(unknown(mode, w0));
    }
    // The literal lies behind the encoding.
    if literal != 0 {
        words[base / 4] = word(base / 4).unwrap_or(0);
    }
    if F::WIDE_LITERALS && literal == 8 {
        words[base / 4 + 1] = word(base / 4 + 1).unwrap_or(0);
    }
    Ok(Inst::from_words(info, words, size as u8))
}

#[cold]
fn unknown(mode: Mode, word: u32) -> DecodeError {
    let target = mode.target();
    if mode.opcodes().is_empty() { DecodeError::NoTables { target } } else { DecodeError::Unknown { target, word } }
}
