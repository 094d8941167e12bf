//! What each relocation type computes, and into which bits it goes.
//!
//! Source: LLVM "User Guide for AMDGPU Backend", Relocation Records, and what lld 22 writes. S is the symbol's address,
//! A the addend, P the address of the place, G the address of the symbol's GOT slot, B the object's base.

use crate::types::RelocKind;

/// What the sum begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Start {
    /// S
    Symbol,
    /// G
    Got,
    /// B
    Base,
}

/// Which part of the sum the place takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// All 64 bits.
    Whole,
    /// Bits 31 to 0; what is above them is another record's.
    Low,
    /// Bits 63 to 32.
    High,
    /// All of it, which has to fit 32 bits as a signed number, or as an unsigned one where it is an address.
    Fits32,
    /// The distance from the next instruction in words, which has to fit 16 bits.
    Branch,
}

/// A relocation type's formula and field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub start: Start,
    /// P is taken off.
    pub relative: bool,
    part: Part,
    /// In bytes.
    pub width: u64,
}

/// Why a value cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Misfit {
    Overflow { value: i64, bits: u32 },
    Misaligned { value: i64 },
}

impl Field {
    /// `None` for R_AMDGPU_NONE and for unknown types.
    pub fn of(kind: RelocKind) -> Option<Field> {
        use Part::*;
        let (start, relative, part) = match kind {
            RelocKind::None | RelocKind::Unknown(_) => return None,
            RelocKind::Abs32Lo => (Start::Symbol, false, Low),
            RelocKind::Abs32Hi => (Start::Symbol, false, High),
            RelocKind::Abs64 => (Start::Symbol, false, Whole),
            RelocKind::Rel32 => (Start::Symbol, true, Fits32),
            RelocKind::Rel64 => (Start::Symbol, true, Whole),
            RelocKind::Abs32 => (Start::Symbol, false, Fits32),
            RelocKind::GotPcRel => (Start::Got, true, Fits32),
            RelocKind::GotPcRel32Lo => (Start::Got, true, Low),
            RelocKind::GotPcRel32Hi => (Start::Got, true, High),
            RelocKind::Rel32Lo => (Start::Symbol, true, Low),
            RelocKind::Rel32Hi => (Start::Symbol, true, High),
            RelocKind::Relative64 => (Start::Base, false, Whole),
            RelocKind::Rel16 => (Start::Symbol, true, Branch),
        };
        let width = match part {
            Whole => 8,
            Low | High | Fits32 => 4,
            Branch => 2,
        };
        Some(Field { start, relative, part, width })
    }

    /// The bits of a sum that the place takes, whether they hold all of it or not.
    pub fn part(self, value: u64) -> u64 {
        match self.part {
            Part::Whole => value,
            Part::Low | Part::Fits32 => value & 0xffff_ffff,
            Part::High => value >> 32,
            Part::Branch => ((value as i64).wrapping_sub(4) >> 2) as u64 & 0xffff,
        }
    }

    /// The bits that the place gets, if they say the whole sum.
    pub fn encode(self, value: u64) -> Result<u64, Misfit> {
        let signed = value as i64;
        match self.part {
            Part::Fits32 => {
                let fits = i32::try_from(signed).is_ok() || !self.relative && u32::try_from(value).is_ok();
                if !fits {
                    return Err(Misfit::Overflow { value: signed, bits: 32 });
                }
            }
            Part::Branch => {
                let distance = signed.wrapping_sub(4);
                if distance & 3 != 0 {
                    return Err(Misfit::Misaligned { value: distance });
                }
                if i16::try_from(distance >> 2).is_err() {
                    return Err(Misfit::Overflow { value: distance >> 2, bits: 16 });
                }
            }
            Part::Whole | Part::Low | Part::High => {}
        }
        Ok(self.part(value))
    }

    /// The number in the place's bytes.
    pub fn read(self, place: &[u8]) -> u64 {
        place.iter().take(self.width as usize).rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    /// The addend of a REL record: the number that the place holds, in bytes, with its sign.
    pub fn implicit_addend(self, place: &[u8]) -> i64 {
        let unused = 64 - 8 * self.width as u32;
        (self.read(place) << unused) as i64 >> unused
    }
}
