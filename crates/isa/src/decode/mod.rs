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

/// Whether a source of the encoding (`pair` is its first two words) has the code of a literal, or the opcode has one.
#[inline]
fn has_literal(info: &OpcodeInfo, pair: u64, code: u64) -> bool {
    let source = |&(low, mask): &(u8, u16)| pair >> low & u64::from(mask) == code;
    info.legality.literals.iter().any(source) || info.flags.contains(Flags::FIXED_LITERAL)
}

/// Bits of a format that stand for nothing, whatever LLVM 22 has there.
pub const fn unread(format: Format) -> u128 {
    match format {
        Format::WmmaScaled => gfx1250::UNREAD_SOURCE,
        _ => 0,
    }
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

/// The size of the literal behind the encoding, whose first two words `pair` is; 0 if there is none.
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
    half(0) & legality.fixed as u64 == legality.value as u64
        && half(2) & (legality.fixed >> 64) as u64 == (legality.value >> 64) as u64
        && legality.checks.iter().all(|c| is_member(c, window(words, c.low) >> (c.low % 32)))
}

/// The same for encodings of no more than two words.
fn is_legal_pair(info: &OpcodeInfo, pair: u64) -> bool {
    let legality = &info.legality;
    if pair & legality.fixed as u64 != legality.value as u64 {
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
    legality.checks.iter().all(|c| is_member(c, pair >> c.low))
}

fn is_member(check: &Check, window: u64) -> bool {
    in_class(check.class, (window & ((1 << check.width) - 1)) as usize)
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
        let inst = match self.generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => decode_as::<gfx9::Gfx9>(self.tables, bytes),
            Generation::Gfx11 => decode_as::<gfx11::Gfx11>(self.tables, bytes),
            Generation::Gfx10 => decode_as::<gfx10::Gfx10>(self.tables, bytes),
            Generation::Gfx12 => decode_as::<gfx12::Gfx12>(self.tables, bytes),
            Generation::Gfx1250 => decode_as::<gfx1250::Gfx1250>(self.tables, bytes),
        };
        inst.ok_or_else(|| self.error(bytes))
    }

    /// Decodes one instruction after the other until the bytes are used up, and appends them to `insts`. Faster than
    /// [`Decoder::decode`] again and again.
    ///
    /// # Errors
    /// The place of the first bytes that are no instruction, and why; what is in front of them has been appended.
    pub fn decode_all(&self, bytes: &[u8], insts: &mut Vec<Inst>) -> Result<(), (usize, DecodeError)> {
        let decoded = match self.generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => {
                decode_all_as::<gfx9::Gfx9>(self.tables, bytes, insts)
            }
            Generation::Gfx11 => decode_all_as::<gfx11::Gfx11>(self.tables, bytes, insts),
            Generation::Gfx10 => decode_all_as::<gfx10::Gfx10>(self.tables, bytes, insts),
            Generation::Gfx12 => decode_all_as::<gfx12::Gfx12>(self.tables, bytes, insts),
            Generation::Gfx1250 => decode_all_as::<gfx1250::Gfx1250>(self.tables, bytes, insts),
        };
        decoded.map_err(|at| (at, self.error(&bytes[at..])))
    }

    /// Why the bytes are no instruction.
    #[cold]
    fn error(&self, bytes: &[u8]) -> DecodeError {
        let target = self.mode.target();
        let word = |at: usize| word(bytes, at).unwrap_or(0);
        let truncated = |needed: usize| DecodeError::Truncated { needed, available: bytes.len() };
        if self.tables.opcodes.is_empty() && bytes.len() >= 4 {
            return DecodeError::NoTables { target };
        }
        let needed = self.tables.ids.get(slot(self.generation, word)).map_or(4, |&id| {
            self.tables.opcodes.get(usize::from(id)).map_or(4, |info| {
                let second = if info.size > 4 { word(1) } else { 0 };
                usize::from(info.size + literal_bytes(info, u64::from(word(0)) | u64::from(second) << 32))
            })
        });
        if needed > bytes.len() { truncated(needed) } else { DecodeError::Unknown { target, word: word(0) } }
    }
}

/// The word with this number, if the bytes reach so far.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(4 * at..4 * at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn decode_all_as<F: Family>(tables: &'static Tables, bytes: &[u8], insts: &mut Vec<Inst>) -> Result<(), usize> {
    let mut at = 0;
    while at < bytes.len() {
        let inst = decode_as::<F>(tables, &bytes[at..]).ok_or(at)?;
        at += inst.size();
        insts.push(inst);
    }
    Ok(())
}

/// `None`: see [`Decoder::error`].
#[inline(always)]
fn decode_as<F: Family>(tables: &'static Tables, bytes: &[u8]) -> Option<Inst> {
    let word = |at: usize| word(bytes, at).unwrap_or(0);
    let (w0, w1) = (self::word(bytes, 0)?, word(1));
    let slot = F::slot(|i| match i {
        0 => w0,
        1 => w1,
        i => word(i),
    });
    let info = tables.ids.get(slot).and_then(|&id| tables.opcodes.get(usize::from(id)))?;
    let base = usize::from(info.size);
    let second = if base > 4 { w1 } else { 0 };
    let pair = u64::from(w0) | u64::from(second) << 32;
    let literal = match F::WIDE_LITERALS {
        true => wide_literal_bytes(info, pair),
        false if has_literal(info, pair, LITERAL) => 4,
        false => 0,
    };
    let size = base + usize::from(literal);
    if size > bytes.len() || F::WIDE_LITERALS && has_two_literals(info, pair) {
        return None;
    }
    // Words stay in registers as long as their places do not depend on the instruction: that makes the difference.
    let words = match (base, literal) {
        (9.., _) => long(info, bytes, literal)?,
        _ if !is_legal_pair(info, pair) => return None,
        (_, 0) => [w0, second, 0, 0, 0],
        (4, 4) => [w0, w1, 0, 0, 0],
        (4, _) => [w0, w1, word(2), 0, 0],
        (_, 4) => [w0, w1, word(2), 0, 0],
        _ => [w0, w1, word(2), word(3), 0],
    };
    Some(Inst::from_words(info, words, size as u8))
}

/// The words of an encoding of more than two, and of the literal behind it; `None` if they mean nothing.
fn long(info: &OpcodeInfo, bytes: &[u8], literal: u8) -> Option<[u32; 5]> {
    let base = usize::from(info.size / 4);
    let mut words = [0; 5];
    (0..base).for_each(|i| words[i] = word(bytes, i).unwrap_or(0));
    if !is_legal(info, &words) {
        return None;
    }
    // The literal lies behind the encoding.
    (base..base + usize::from(literal / 4)).for_each(|i| words[i] = word(bytes, i).unwrap_or(0));
    Some(words)
}
