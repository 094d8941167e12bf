//! Where each field of each format lies. This part of an encoding is code; opcodes are data.
//!
//! Bit numbers count from the least significant bit of the first word; the second word starts at 32, the third at 64. A
//! field that is split has one entry for each piece, its least significant piece first; a piece spans two words at most.
//! The table generator includes these files.

use crate::field::Field;
use crate::format::Format;
use crate::generation::Generation;

mod alu;
mod dpp;
mod gfx10;
mod gfx11;
mod gfx12;
mod gfx1250;
mod gfx9;

/// A piece of a field: name, lowest bit, width.
pub type Piece = (Field, u8, u8);

/// The pieces of a format's fields; none where the generation has no such format.
pub const fn layout(generation: Generation, format: Format) -> &'static [Piece] {
    match generation {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => gfx9::layout(generation, format),
        Generation::Gfx11 => gfx11::layout(format),
        Generation::Gfx10 => gfx10::layout(format),
        Generation::Gfx12 => gfx12::layout(format),
        Generation::Gfx1250 => gfx1250::layout(format),
    }
}
