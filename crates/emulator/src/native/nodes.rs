//! The operations that a run's graph is made of, on 32-bit words of one lane.

use super::addresses::{Address, Buffer, Place, Rest};
use super::functions::{Function, SOURCES};

/// A node of a [graph](super::graph::Graph).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub u32);

/// An operation on two words; one machine instruction, or as good as one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    And,
    /// `!a & b`
    AndNot,
    Or,
    Xor,
    MinU,
    MaxU,
    MinS,
    MaxS,
    /// By 32 or more nothing is left, or the sign.
    Shl,
    Shr,
    Sar,
    Equal,
    GreaterS,
    /// Unsigned.
    Below,
    /// Bytes of the first operand, by the numbers in the second one, within each 16 bytes of a vector.
    Shuffle,
    AddF,
    SubF,
    MulF,
    /// The second operand if they are equal or one is a NaN.
    MinF,
    MaxF,
    /// The first operand times two to the power of the second one, an integral f32; of wide vectors.
    ScaleF,
    /// Of f64, half the lanes of a vector each ([`Node::Join`]).
    AddD,
    MulD,
    DivD,
    MinD,
    MaxD,
}

impl Binary {
    /// Whether the operands may change places, if not both can be NaNs.
    pub fn commutes(self) -> bool {
        use Binary::*;
        matches!(self, Add | Mul | And | Or | Xor | MinU | MaxU | MinS | MaxS | Equal) || self.chooses_nan()
    }

    /// What it makes of two constants, of those operations that lowered code has with constants.
    pub fn of_constants(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Binary::Add => a.wrapping_add(b),
            Binary::Sub => a.wrapping_sub(b),
            Binary::And => a & b,
            Binary::AndNot => !a & b,
            Binary::Or => a | b,
            Binary::Xor => a ^ b,
            Binary::Shl => a.checked_shl(b).unwrap_or(0),
            Binary::Shr => a.checked_shr(b).unwrap_or(0),
            Binary::Equal => u32::from(a == b).wrapping_neg(),
            _ => return None,
        })
    }

    /// Whether the first operand comes out if both are NaNs.
    pub fn chooses_nan(self) -> bool {
        matches!(self, Binary::AddF | Binary::MulF | Binary::AddD | Binary::MulD)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    /// What a row held before the run.
    Row(u16),
    /// What a scalar register held, in all lanes.
    Scalar(u8),
    Constant(u32),
    /// Bits of an f64, in all lanes.
    ConstantD(u64),
    /// Lanes of a mask in scalar registers.
    Mask(u8),
    Binary(Binary, Value, Value),
    /// By a constant.
    Shift(Binary, Value, u8),
    /// With a predicate of x86's `vcmpps`.
    CompareF(u8, Value, Value),
    /// `a * b + c`, rounded once.
    Fma(Value, Value, Value),
    /// `mask ? yes : no`
    Select {
        mask: Value,
        yes: Value,
        no: Value,
    },
    /// A signed integer, rounded to nearest.
    FloatOfSigned(Value),
    /// A signed integer, towards zero; -2^31 where there is none.
    SignedOfFloat(Value),
    /// An integral f32, rounded as x86's `roundps` has it.
    Integral(Value, u8),
    /// The same of f64.
    IntegralD(Value, u8),
    /// The upper half of a product of 64 bits.
    MulHigh {
        signed: bool,
        a: Value,
        b: Value,
    },
    /// Low and high words as numbers of 64 bits: half the lanes, the other half if `second`.
    Join {
        second: bool,
        low: Value,
        high: Value,
    },
    /// The low or high words of all lanes, given both halves.
    Split {
        high: bool,
        first: Value,
        second: Value,
    },
    /// f64 of f32: half the lanes, the other half if `second`.
    Widened {
        second: bool,
        a: Value,
    },
    /// All lanes' words of f64, given both halves.
    Narrowed {
        how: Narrowing,
        first: Value,
        second: Value,
    },
    /// Of the lower 16 bits; with zeros above.
    SingleOfHalf(Value),
    HalfOfSingle(Value, Nearest),
    /// As [`Node::CompareF`] and [`Node::Fma`], of f64; a comparison gives all ones or zeros in both words.
    CompareD(u8, Value, Value),
    FmaD(Value, Value, Value),
    /// What of LDS lies `offset` bytes behind an address; of less than a word, with zeros above.
    Lds {
        address: Address,
        offset: u32,
    },
    /// What a load into one half of a register keeps of it ([`crate::wave::Wave::kept`]), in all lanes.
    Kept,
    /// What other lanes of the vector have, and zero where there is none to be read.
    Crossed {
        source: Value,
        how: Crossing,
    },
    /// Lanes that have such a one.
    Readable(Crossing),
    /// Some lanes of each vector.
    Lanes(u16),
    /// Which lane of the wave each is.
    LaneNumbers,
    /// A number for each lane of the wave.
    Table([u8; 64]),
    /// What a row held before the phase in other lanes of the wave, whose numbers these are: zero where such a lane is off,
    /// unless lanes that are off are read, too.
    Elsewhere {
        row: u16,
        lanes: Value,
        fetches: bool,
    },
    /// Whether these lanes are on.
    Reached(Value),
    /// What a function gives.
    Called {
        function: Function,
        sources: [Option<Value>; SOURCES],
    },
    /// Another result of a call: its second one, or its third.
    More(Value, u8),
    /// What of device memory lies so far from an address; of less than a word, with zeros above, of several, this one.
    Global {
        place: Place,
        offset: i32,
        word: u8,
    },
    /// The same, where it has been found for all lanes: the number is that of a stream's words.
    Streamed(u8),
    /// What each lane loads from a buffer; of less than a word, with zeros above, of several, this one.
    Buffer {
        at: Buffer,
        /// Lanes' offsets.
        offsets: Value,
        word: u8,
    },
}

/// What becomes of an f64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Narrowing {
    /// An f32, rounded to nearest.
    Single,
    /// As [`Node::SignedOfFloat`].
    Signed,
}

/// Whether an f16 is the nearest one, or the next one towards zero.
pub type Nearest = bool;

/// How the lanes of a vector read each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Crossing {
    /// Which lane of the vector each reads.
    pub from: [u8; 16],
    /// Lanes that read one.
    pub valid: u16,
    /// Lanes that are off are read, too.
    pub fetches: bool,
}

impl Node {
    pub fn sources(self) -> impl Iterator<Item = Value> {
        fn some<const N: usize>(all: [Value; N]) -> [Option<Value>; SOURCES] {
            std::array::from_fn(|k| all.get(k).copied())
        }
        let all = match self {
            Node::Row(_)
            | Node::Scalar(_)
            | Node::Constant(_)
            | Node::ConstantD(_)
            | Node::Mask(_)
            | Node::Readable(_)
            | Node::Lanes(_)
            | Node::Kept
            | Node::LaneNumbers
            | Node::Table(_)
            | Node::Streamed(_) => [None; SOURCES],
            Node::Called { sources, .. } => sources,
            Node::Shift(_, a, _)
            | Node::FloatOfSigned(a)
            | Node::SignedOfFloat(a)
            | Node::Integral(a, _)
            | Node::IntegralD(a, _)
            | Node::Widened { a, .. }
            | Node::SingleOfHalf(a)
            | Node::HalfOfSingle(a, _)
            | Node::More(a, _)
            | Node::Crossed { source: a, .. }
            | Node::Elsewhere { lanes: a, .. }
            | Node::Reached(a)
            | Node::Buffer { offsets: a, .. }
            | Node::Lds { address: Address { of: a, .. }, .. } => some([a]),
            Node::Binary(_, a, b)
            | Node::CompareF(_, a, b)
            | Node::CompareD(_, a, b)
            | Node::MulHigh { a, b, .. }
            | Node::Join { low: a, high: b, .. }
            | Node::Narrowed { first: a, second: b, .. }
            | Node::Split { first: a, second: b, .. } => some([a, b]),
            Node::Fma(a, b, c) | Node::FmaD(a, b, c) => some([a, b, c]),
            Node::Global { place: Place { low, rest, .. }, .. } => match rest {
                Rest::High(high) => some([low, high]),
                Rest::Base(_) => some([low]),
            },
            Node::Select { mask, yes, no } => some([mask, yes, no]),
        };
        all.into_iter().flatten()
    }

    /// Whether it can be had again at any time before the results are stored.
    pub fn is_source(self) -> bool {
        matches!(
            self,
            Node::Row(_) | Node::Scalar(_) | Node::Constant(_) | Node::ConstantD(_) | Node::Mask(_) | Node::Kept
        )
    }

    /// Whether it reads memory.
    pub fn accesses(self) -> bool {
        matches!(self, Node::Lds { .. } | Node::Global { .. } | Node::Buffer { .. })
    }

    /// Whether it is numbers of 64 bits.
    pub fn is_double(self) -> bool {
        use Binary::{AddD, DivD, MaxD, MinD, MulD};
        matches!(
            self,
            Node::Binary(AddD | MulD | DivD | MinD | MaxD, ..)
                | Node::FmaD(..)
                | Node::IntegralD(..)
                | Node::Widened { .. }
                | Node::Join { .. }
                | Node::ConstantD(_)
        )
    }
}
