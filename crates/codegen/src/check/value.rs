//! Symbolic values of register units.

use std::fmt;

use luthier_isa::Reg;

use super::mode::ModeBits;
use crate::layout::chunk::Place;

/// What a unit holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// What this unit held when the inserted code began; of SCC 0 or 1.
    Own(Reg),
    /// What this unit held before the instruction that the inserted code stands behind.
    Before(Reg),
    /// What a lane of a vector unit held when the inserted code began.
    Lane(Reg, u8),
    /// What four bytes of our own scratch held in each lane when the inserted code began, by their offset in the lane's
    /// scratch; of one lane.
    Stored(u32),
    StoredLane(u32, u8),
    Number(u32),
    /// Four bytes of memory, `offset` bytes behind the address that this SGPR and the next one held.
    Loaded {
        of: Reg,
        offset: u32,
    },
    /// What this unit held less a number, rounded down to a multiple of 16 or not yet.
    Less {
        of: Reg,
        by: u32,
        round: bool,
    },
    /// Some bits of what this unit held, the others zero.
    Bits {
        of: Reg,
        mask: u32,
    },
    /// v0, v1 and so on as they were, this many of them, ten bits each.
    Packed(u8),
    /// A unit of an argument, as a hook left it.
    Result {
        hook: u16,
        arg: u16,
        unit: u8,
    },
    /// Some bits of MODE at their places, all others zero.
    Mode(ModeBits),
    /// What `s_getpc_b64` at this position gives (which half), on the way to a place.
    Pc {
        at: u16,
        high: bool,
    },
    /// The low or the high half of the address of a place; the carry from one to the other.
    Address {
        of: Place,
        part: AddressPart,
    },
    /// Where a hook of the place, by number, returns to (which half).
    Return {
        hook: u16,
        high: bool,
    },
    /// Anything else; each time another thing.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressPart {
    Low,
    High,
    Carry,
}

impl Value {
    /// What one lane of a vector unit holds; all lanes hold this.
    pub fn in_lane(self, lane: u8) -> Value {
        match self {
            Value::Own(reg) if reg.is_vgpr() || reg.is_agpr() => Value::Lane(reg, lane),
            Value::Stored(offset) => Value::StoredLane(offset, lane),
            uniform => uniform,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bits { of, mask } => write!(f, "the bits {mask:#x} of {of}'s old value"),
            Value::Less { of, by, round } => {
                write!(f, "{of}'s old value less {by}{}", if *round { ", rounded down to 16" } else { "" })
            }
            Value::Packed(count) => write!(f, "the old values of the first {count} VGPRs, packed"),
            Value::Own(reg) => write!(f, "{reg}'s old value"),
            Value::Before(reg) => write!(f, "what {reg} held before the instruction"),
            Value::Lane(reg, lane) => write!(f, "lane {lane} of {reg}'s old value"),
            Value::Stored(offset) => write!(f, "what scratch held at {offset}"),
            Value::StoredLane(offset, lane) => write!(f, "what lane {lane} of scratch held at {offset}"),
            Value::Loaded { of, offset } => write!(f, "what lies {offset} bytes behind the address in {of}"),
            Value::Number(n) => write!(f, "{n:#x}"),
            Value::Result { hook, arg, unit } => write!(f, "unit {unit} of argument {arg} as hook {hook} left it"),
            Value::Mode(_) => f.write_str("bits of MODE"),
            Value::Pc { high, .. } => write!(f, "the {} half of the program counter", half(*high)),
            Value::Address { of, part } => write!(f, "{part:?} of the address of {of:?}"),
            Value::Return { hook, high } => write!(f, "the {} half of where hook {hook} returns to", half(*high)),
            Value::Unknown => f.write_str("something else"),
        }
    }
}

fn half(high: bool) -> &'static str {
    if high { "high" } else { "low" }
}
