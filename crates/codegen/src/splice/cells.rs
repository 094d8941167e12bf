//! Values on their way to and from cells, and lanes of cells: what is lent, and what the wave carries.

use luthier_isa::{EncodeError, Operand, Reg};

use super::emit::Emitter;
use super::slots::Cell;
use crate::machine::operations::one;

impl Emitter<'_, '_, '_> {
    /// A cell = a VGPR, in the lanes that are on.
    pub(super) fn store(&mut self, cell: Cell, vgpr: Reg) -> Result<(), EncodeError> {
        match cell {
            Cell::Register(to) => self.move_one(to, vgpr),
            Cell::Scratch(offset) => {
                let offset = self.offset(offset);
                self.push(self.env.machine.store_scratch(vgpr, self.allocation.address, offset)?)
            }
        }
    }

    /// A VGPR = a cell, in the lanes that are on. What is loaded has to be waited for.
    pub(super) fn load(&mut self, vgpr: Reg, cell: Cell) -> Result<(), EncodeError> {
        match cell {
            Cell::Register(from) => self.move_one(vgpr, from),
            Cell::Scratch(offset) => {
                let offset = self.offset(offset);
                self.push(self.env.machine.load_scratch(vgpr, self.allocation.address, offset)?)
            }
        }
    }

    /// VGPRs from `vgpr` on = cells, in the lanes that are on.
    pub(super) fn load_all(&mut self, vgpr: Reg, cells: impl Iterator<Item = Cell>) -> Result<(), EncodeError> {
        let mut waits = false;
        for (n, cell) in cells.enumerate() {
            let loaded = matches!(cell, Cell::Scratch(_));
            if loaded && !waits && self.env.replays {
                // What is loaded may be an address of an access that is still to be replayed.
                self.seam.separate_memory(&self.env.machine.ops, &mut self.out.insts)?;
            }
            waits |= loaded;
            self.load(vgpr.offset(n as u16), cell)?;
        }
        if waits { self.all(self.env.machine.scratch_loaded()?) } else { Ok(()) }
    }

    /// SGPRs from `to` on = lanes of a cell.
    pub(super) fn read_lanes(&mut self, to: Reg, cell: Cell, lane: u8, count: u8) -> Result<(), EncodeError> {
        let vgpr = self.fetch(cell)?;
        self.all(self.env.machine.ops.read_lanes(to, vgpr, lane, count)?)
    }

    /// Lanes of a cell = these values.
    pub(super) fn write_lanes(&mut self, cell: Cell, lane: u8, values: &[Operand]) -> Result<(), EncodeError> {
        let vgpr = self.fetch(cell)?;
        self.all(self.env.machine.ops.write_lanes(vgpr, lane, values)?)?;
        if cell.vgpr().is_some() {
            return Ok(());
        }
        self.in_all_lanes(self.allocation.exec, |emitter| emitter.store(cell, vgpr))
    }

    /// The VGPR that a cell's lanes are in, which are fetched where it is none.
    fn fetch(&mut self, cell: Cell) -> Result<Reg, EncodeError> {
        if let Some(vgpr) = cell.vgpr() {
            return Ok(vgpr);
        }
        // The allocation has one where there are such cells.
        let vgpr = self.allocation.fetched.unwrap_or(Reg::vgpr(0));
        if self.holds != Some(cell) {
            self.in_all_lanes(self.allocation.exec, |emitter| emitter.load_all(vgpr, std::iter::once(cell)))?;
            self.holds = Some(cell);
        }
        Ok(vgpr)
    }

    /// The offset that an access to our scratch names.
    fn offset(&self, offset: u32) -> u32 {
        let start = self.env.scratch.map_or(0, |own| own.start);
        if self.allocation.address.is_some() { offset } else { start + offset }
    }

    /// SGPRs as operands.
    pub(super) fn operands(first: Reg, count: u8) -> Vec<Operand> {
        (0..u16::from(count)).map(|n| one(first.offset(n))).collect()
    }
}
