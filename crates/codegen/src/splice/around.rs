//! What stands around the hooks of a place: in front of them waits for what they look at, and what is put away; behind
//! them all of it comes back.

use luthier_isa::{EncodeError, Operand, Reg, RegSet, VgprMsb};

use super::allocation::{Assigned, Loan};
use super::emit::Emitter;
use super::slots::Cell;
use crate::machine::operations::{HwReg, number, one, pair};
use crate::machine::special::Special;

impl Emitter<'_, '_, '_> {
    pub(super) fn begin(&mut self) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        if !self.site.loads.is_empty() {
            self.wait_for_loads()?;
        }
        self.set_msb(self.site.msb, VgprMsb::ZERO)?;
        let settled = self.env.scratch.filter(|own| own.floating.is_none());
        if let (Some(address), Some(own)) = (self.allocation.address, settled) {
            self.push(machine.ops.mov32(address, number(own.start))?)?;
        }
        if self.env.replays && self.allocation.vgprs.iter().any(is_in_scratch) {
            // The application's last access may still be replayed, and needs its addresses then.
            self.seam.separate_memory(&machine.ops, &mut self.out.insts)?;
        }
        for whole in [true, false] {
            self.under(whole, |emitter, loan| emitter.store(loan.home, loan.reg))?;
        }
        for (reg, vgpr, lane) in self.allocation.sgprs_in_lanes(machine.lanes()) {
            self.push(machine.ops.write_lane(vgpr, lane, one(reg))?)?;
        }
        for &(special, home) in &self.allocation.specials {
            let copy = machine.save(special, home)?;
            // The upper bits of VGPR numbers, which are others here, matter in a copy that a hook looks at only.
            let looks = |d: &Assigned| self.demands[d.demand].specials().any(|(s, _)| s == special);
            match self.allocation.hooks.iter().any(looks) {
                true => self.read(special, copy)?,
                false => self.all(copy)?,
            }
        }
        if self.allocation.default_modes {
            self.all(machine.default_fp_mode()?)?;
        }
        Ok(())
    }

    /// Waits for what the hooks look at, change or put away.
    fn wait_for_loads(&mut self) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        let mut sources = RegSet::EMPTY;
        for assigned in &self.allocation.hooks {
            let demand = &self.demands[assigned.demand];
            demand.registers().for_each(|range| sources.insert_range(range));
            // Whatever is about to be loaded there would land in what the hook computes with.
            let changed = demand.prepared.changes.iter().copied();
            let states = changed.chain(demand.specials().map(|(special, _)| special));
            states.for_each(|special| sources.insert_range(special.range(machine)));
        }
        self.allocation.specials.iter().for_each(|(special, _)| sources.insert_range(special.range(machine)));
        if self.allocation.settles {
            sources.union_with(&self.site.loads.registers());
        }
        let mut wait = self.site.loads.wait_for(&sources);
        if self.allocation.settles {
            // As a called function does: for all, and not for the oldest only.
            wait.bounds().for_each(|(counter, _)| *wait.of(counter) = Some(0));
        }
        if wait.is_none() { Ok(()) } else { self.all(machine.wait(wait)?) }
    }

    pub(super) fn end(&mut self) -> Result<(), EncodeError> {
        let machine = self.env.machine;
        for &(special, home) in self.allocation.specials.iter().rev().filter(|(s, _)| *s != Special::Exec) {
            let changed = |d: &Assigned| {
                let demand = &self.demands[d.demand];
                demand.prepared.changes.contains(&special) || demand.specials().any(|(s, back)| s == special && back)
            };
            if special == Special::Mode && !self.allocation.hooks.iter().any(changed) {
                self.push(machine.ops.set_hwreg(HwReg::MODE_FP, home)?)?;
            } else {
                self.all(machine.restore(special, home)?)?;
            }
            self.out.restored.push(special);
            if special == Special::Mode {
                self.after_mode()?;
            }
        }
        for (reg, vgpr, lane) in self.allocation.sgprs_in_lanes(machine.lanes()) {
            self.push(machine.ops.read_lane(reg, vgpr, lane)?)?;
        }
        if self.env.replays && self.allocation.vgprs.iter().any(is_in_scratch) {
            // What is loaded may be an address of an access that is still to be replayed.
            self.seam.separate_memory(&machine.ops, &mut self.out.insts)?;
        }
        for whole in [false, true] {
            self.under(whole, |emitter, loan| emitter.load(loan.reg, loan.home))?;
        }
        if self.allocation.vgprs.iter().any(is_in_scratch) {
            self.all(machine.scratch_loaded()?)?;
        }
        if let Some(home) = self.allocation.home(Special::Exec) {
            self.all(machine.restore(Special::Exec, home)?)?;
        }
        self.set_msb(VgprMsb::ZERO, self.site.msb)
    }

    /// Does something for the loans of all lanes, under a full EXEC, or for the others.
    fn under(
        &mut self,
        whole: bool,
        mut each: impl FnMut(&mut Self, Loan) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let loans: Vec<Loan> = self.allocation.vgprs.iter().copied().filter(|l| l.whole == whole).collect();
        if loans.is_empty() {
            return Ok(());
        }
        let exec = self.allocation.exec.filter(|_| whole);
        self.in_all_lanes(exec, |emitter| loans.iter().try_for_each(|loan| each(emitter, *loan)))
    }

    /// Does something in all lanes, if there is a register that can keep EXEC meanwhile.
    pub(super) fn in_all_lanes(
        &mut self,
        exec: Option<Reg>,
        what: impl FnOnce(&mut Self) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let Some(kept) = exec else { return what(self) };
        self.push(ops.mov_mask(kept, pair(Reg::EXEC_LO))?)?;
        self.push(ops.mov_mask(Reg::EXEC_LO, Operand::Inline(193))?)?;
        what(self)?;
        self.push(ops.mov_mask(Reg::EXEC_LO, pair(kept))?)
    }

    /// MODE has been written from a register. (From a number, the upper bits of VGPR numbers become that number's: none.)
    fn after_mode(&mut self) -> Result<(), EncodeError> {
        match self.env.machine.ops.set_vgpr_msb(0) {
            Some(inst) if self.env.machine.mode_holds_vgpr_msb() => self.push(inst?),
            _ => Ok(()),
        }
    }
}

fn is_in_scratch(loan: &Loan) -> bool {
    matches!(loan.home, Cell::Scratch(_))
}
