//! What lanes access: where in LDS, in device memory and in buffers, and how much of it.

use super::nodes::Value;
use crate::registers::scalar;

/// Bytes that a lane accesses: a word, or less, or several in a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Size {
    Byte = 1,
    Half = 2,
    Word = 4,
    Pair = 8,
    Quad = 16,
}

impl Size {
    pub fn bytes(self) -> i32 {
        self as i32
    }

    /// Rows of it.
    pub fn words(self) -> u8 {
        (self as u8).div_ceil(4)
    }

    /// Bits of an address that have to be zeros. Several words begin with any word.
    pub fn lowest(self) -> i32 {
        self.bytes().min(4) - 1
    }
}

/// Lanes' addresses in LDS.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    pub of: Value,
    pub size: Size,
}

/// Lanes' addresses in device memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    pub low: Value,
    pub rest: Rest,
    pub size: Size,
}

/// What makes an address of its lower half.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rest {
    /// The upper half.
    High(Value),
    /// What a pair of scalar registers holds is added.
    Base(Base),
}

/// A pair of scalar registers to which lanes' offsets are added.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Base {
    pub code: u8,
    pub offsets: Offsets,
}

/// What a lane's 32 bits say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Offsets {
    Unsigned,
    Signed,
    /// With a sign, in units of what is accessed.
    Units,
}

/// What a lane accesses of a buffer that scalar registers describe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Buffer {
    /// The first of four registers.
    pub resource: u8,
    /// A register, or a constant by its code.
    pub soffset: u8,
    pub offset: u32,
    pub size: Size,
}

impl Buffer {
    /// Whether the scalar offset is in a register.
    pub fn has_register(self) -> bool {
        self.soffset < scalar::FIRST_CONST
    }

    /// Whether it reads a scalar register.
    pub fn reads(self, code: u8) -> bool {
        (self.resource..self.resource.saturating_add(4)).contains(&code) || self.has_register() && self.soffset == code
    }
}
