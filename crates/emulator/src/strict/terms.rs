//! The terms in which an instruction is told to the checks: where its operands are, which bits of them it uses, and how
//! undefinedness goes through it.

use super::elements::Elements;
use super::placed::Placed;
use crate::crossing::Within;

/// Where a value comes from or goes to, in the terms of the shadow state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The first of some rows of [`crate::registers::rows`].
    Rows(u16, u8),
    /// The first of some scalar codes.
    Scalars(u8, u8),
    /// A constant; its low word.
    Constant(u32),
}

impl Place {
    pub const SCC: Place = Place::Scalars(crate::registers::scalar::SCC, 1);

    /// Registers that it spans.
    pub fn words(self) -> u8 {
        match self {
            Place::Rows(_, words) | Place::Scalars(_, words) => words,
            Place::Constant(_) => 0,
        }
    }

    /// One of its registers.
    pub fn word(self, k: u8) -> Place {
        match self {
            Place::Rows(row, _) => Place::Rows(row + u16::from(k), 1),
            Place::Scalars(code, _) => Place::Scalars(code.saturating_add(k), 1),
            constant => constant,
        }
    }

    /// Whether a VGPR is among its registers.
    pub fn has_vgpr(self, n: u16) -> bool {
        matches!(self, Place::Rows(row, words) if n.wrapping_sub(row) < words.into())
    }
}

/// A source and which of its bits (of each word) are used.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub place: Place,
    pub used: u32,
    /// Where the value begins: 16 for the upper half of a register.
    pub shift: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Left,
    Right,
    Signed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// How undefinedness goes through an instruction.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Results are defined.
    Defines,
    /// Any undefined bit that is used makes the whole result undefined.
    Any,
    /// Bit by bit, the second source inverted or not, and the result.
    Logic {
        op: Logic,
        invert: bool,
        negate: bool,
    },
    /// As [`Rule::Logic`] of a source (inverted or not) and EXEC; EXEC gets the result, the destination EXEC, the old one
    /// or the new one.
    SaveExec {
        op: Logic,
        invert_source: bool,
        invert_exec: bool,
    },
    /// Bit by bit from the only source.
    Move,
    /// The bits of the only source from the other end.
    Reverse,
    /// The value, which is the source with this number, shifted by a constant; its width counts for signs.
    Shift {
        way: Way,
        by: u32,
        width: u32,
        value: usize,
    },
    /// Bits of the first source, from a fixed place on; the number of the source's bits.
    Field {
        from: u32,
        width: u32,
        signed: bool,
        bits: u32,
    },
    /// The first source above the second, shifted right by the constant.
    Funnel(u32),
    /// Bytes of both sources: 0 to 3 of the second, 4 to 7 of the first, 8 to 11 their signs; the others are constant.
    Bytes(u32),
    /// Bit by bit, by a truth table of up to three sources: the first one's bit is the highest of its index.
    Table(u8),
    /// The first shifted left by the constant, and the third beside it.
    Beside(u32),
    /// The first shifted left by the constant, and another one added.
    Sum {
        by: u32,
        other: usize,
    },
    /// The sum of the first two shifted left by the constant.
    SumShifted(u32),
    /// One of the last seven, by what an operand says.
    Placed(Placed),
    /// Two words, each of one word of each source (2: of none), moved, or made of all their bits.
    Words {
        moves: bool,
        from: [[u8; 3]; 2],
    },
    /// The lower half of the result is of these bits of the sources, the upper half of those.
    Pairs([[u32; 3]; 2]),
    /// Sums and products: a bit depends on those at and below its place. With a carry out beside it, or
    /// not, and perhaps a carry in from a scalar code.
    Up(Option<u8>),
    /// Whether both sources are equal, which a defined bit that differs decides.
    Equal,
    /// The first or the second source, by SCC.
    ScalarSelect,
    /// The source, or what the destination has, by SCC.
    ScalarKeep,
    /// Both registers change places.
    Swap,
    /// Half of both registers' lanes do, between groups of this many.
    SwapGroups {
        by: u8,
        fetches: bool,
        bound_zero: bool,
    },
    /// The first or the second source, by a lane mask at a scalar code.
    VectorSelect(u8),
    /// One bit a lane.
    Compare,
    /// Carry out (and perhaps in, from a scalar code) beside the result.
    Carry(Option<u8>),
    /// Rows, or neighbouring rows, by lane numbers in the second and third source.
    Permlane {
        crosses: bool,
        fetches: bool,
        bound_zero: bool,
    },
    /// The halves of the wave.
    Permlane64,
    /// Lanes of a group, by the second and third source.
    Within(Within),
    /// Numbers that are converted, each for itself.
    Elements(Elements),
    /// The second source says which byte the first one becomes of the third: this one.
    Byte(u32),
    /// Any undefined bit of any source makes all results undefined.
    AnyOfAll,
    ReadLane,
    ReadFirstLane,
    WriteLane,
    /// The sources must be defined: they decide something.
    Decides(&'static str),
    /// A vector memory access: addresses must be defined, and data too if they leave the workgroup.
    Memory {
        data_matters: bool,
        keeps_half: Option<u32>,
    },
}
