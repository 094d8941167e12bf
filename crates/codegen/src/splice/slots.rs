//! Where what a wave carries is, from its start to its end.

use std::sync::Arc;

use luthier_isa::{Reg, RegRange, RegSet};
use smallvec::SmallVec;

use crate::machine::registers::Counts;
use crate::plan::{Arg, Rejection};
use crate::template::prepared::Prepared;

/// What holds 32 bits of each lane: a register, or four bytes of our own scratch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Cell {
    /// A VGPR or an AGPR.
    Register(Reg),
    /// Byte offset in our own scratch of each lane.
    Scratch(u32),
}

impl Cell {
    /// Lanes of a VGPR can be read and written where they are; of anything else they have to be fetched first.
    pub fn vgpr(self) -> Option<Reg> {
        match self {
            Cell::Register(reg) if reg.is_vgpr() => Some(reg),
            _ => None,
        }
    }
}

/// Where a slot is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotHome {
    /// The wave's: SGPRs in a row. Each lane's: VGPRs or AGPRs in a row.
    Registers(RegRange),
    /// The wave's, in lanes of a cell, from this one on.
    Lanes { cell: Cell, lane: u8, count: u8 },
    /// Each lane's, in scratch, from this offset on.
    Scratch { offset: u32, count: u8 },
}

impl SlotHome {
    /// The registers that are kept for it.
    pub fn registers(self) -> Option<RegRange> {
        match self {
            SlotHome::Registers(range) => Some(range),
            SlotHome::Lanes { cell: Cell::Register(reg), .. } => Some(RegRange::new(reg, 1)),
            SlotHome::Lanes { cell: Cell::Scratch(_), .. } | SlotHome::Scratch { .. } => None,
        }
    }

    /// The cells of each lane's values, unit by unit; none of the wave's.
    pub fn cells(self) -> SmallVec<[Cell; 4]> {
        match self {
            SlotHome::Registers(range) if !range.first.is_sgpr() => range.units().map(Cell::Register).collect(),
            SlotHome::Scratch { offset, count } => {
                (0..u32::from(count)).map(|n| Cell::Scratch(offset + 4 * n)).collect()
            }
            _ => SmallVec::new(),
        }
    }
}

/// What ends some slots of a wave: a hook of our own in front of the wave's last instruction.
#[derive(Debug)]
pub struct Ending {
    pub prepared: Arc<Prepared>,
    pub args: Vec<Arg>,
}

/// What the waves of a component carry.
#[derive(Debug, Default)]
pub struct Slots {
    /// By index into the plan's; `None` for those that the component does not use.
    pub homes: Vec<Option<SlotHome>>,
    /// All registers that they take, and the SGPRs of them.
    pub registers: RegSet,
    pub scalars: RegSet,
    pub highest: Counts,
    /// Bytes of our own scratch of each lane, the first ones.
    pub scratch: u32,
    /// Why those without a home have none.
    pub refused: Option<Rejection>,
    pub endings: Vec<Ending>,
}

impl Slots {
    pub fn home(&self, index: usize) -> Option<SlotHome> {
        self.homes.get(index).copied().flatten()
    }

    /// Those that have a home, with their indices.
    pub fn used(&self) -> impl Iterator<Item = (usize, SlotHome)> + '_ {
        self.homes.iter().enumerate().filter_map(|(index, home)| Some((index, (*home)?)))
    }

    /// Sets registers apart that hold something else as long as the wave lives.
    pub fn keep(&mut self, range: RegRange) {
        self.registers.insert_range(range);
        self.highest.note(range);
    }

    pub fn is_empty(&self) -> bool {
        self.used().next().is_none()
    }
}
