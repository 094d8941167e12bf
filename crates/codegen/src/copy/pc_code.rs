//! The code that has an `s_getpc_b64` of a copy come to the original's program counter, as [`super::pcrel`] has decided.

use luthier_isa::{Inst, Operand, Reg, RegSet};
use luthier_lifter::{InFlight, InstrId, Live};

use super::Refusal;
use super::copier::Copier;
use crate::layout::chunk::{Fixup, Place};
use crate::machine::operations::{LITERAL, one};
use crate::register_file::File;
use crate::splice::Site;
use crate::splice::demand::Olds;
use crate::splice::pool::Want;

impl Copier<'_, '_> {
    /// After an `s_getpc_b64`: adds what takes the copy's address to the original's, SCC kept.
    pub(super) fn keep_pc(
        &mut self,
        getpc: u32,
        inst: &Inst,
        to: Place,
        after: &Live,
        loads: &InFlight,
        olds: &Olds,
    ) -> Result<(), Refusal> {
        let Some(Operand::Reg(range)) = inst.operands().next().map(|(_, v)| v) else {
            return Err(Refusal::Reason(format!("{inst} has no destination")));
        };
        let ops = &self.task.env.machine.ops;
        if let Some(address) = self.task.env.plan.elsewhere(to) {
            let mut insts = Vec::new();
            self.put.seam.follow(inst);
            for (reg, half) in [(range.first, address), (range.first.offset(1), address >> 32)] {
                self.put.seam.issue(ops, ops.mov32(reg, Operand::Literal(half as u32))?, &mut insts)?;
            }
            self.put.seam.lead_out(ops, &[], || after.any(), &mut insts)?;
            insts.iter().for_each(|inst| self.put.out.chunk.push(inst));
            return Ok(());
        }
        let mut keep = None;
        if after.active.contains(Reg::SCC) || self.task.env.carried.watched_state.contains(Reg::SCC) {
            let nothing = Default::default();
            let mut kept = RegSet::EMPTY;
            olds.iter().for_each(|(_, range)| kept.insert_range(*range));
            let site = Site {
                address: 0,
                live: after,
                loads,
                busy: &nothing,
                kept: &kept,
                indexed: false,
                msb: Default::default(),
                last: false,
            };
            let mut pool = site.pool(self.task.env, &range.units().collect(), false);
            let Some(reg) = pool.take(Want::of(File::Sgpr, 1)) else {
                return Err(Refusal::Reason(format!(
                    "no SGPR is free to keep SCC while {inst} is made to give the original address"
                )));
            };
            self.put.out.highest.note(reg);
            keep = Some(reg.first);
        }
        let (low, high) = (range.first, range.first.offset(1));
        let mut insts = Vec::new();
        self.put.seam.follow(inst);
        if let Some(reg) = keep {
            self.put.seam.issue(ops, ops.save_scc(reg)?, &mut insts)?;
        }
        self.put.seam.issue(ops, Inst::build(ops.s_add_u32, &[one(low), one(low), LITERAL])?, &mut insts)?;
        self.put.seam.issue(ops, Inst::build(ops.s_addc_u32, &[one(high), one(high), LITERAL])?, &mut insts)?;
        if let Some(reg) = keep {
            self.put.seam.issue(ops, ops.restore_scc(reg)?, &mut insts)?;
        }
        self.put.seam.lead_out(ops, &[], || after.any(), &mut insts)?;
        let chunk = &mut self.put.out.chunk;
        let mut literals = Vec::new();
        for inst in &insts {
            chunk.push(inst);
            if inst.operands().any(|(_, value)| value == LITERAL) {
                literals.push(chunk.here() - 1);
            }
        }
        if let [low, high] = literals[..] {
            chunk.fixups.push(Fixup::PcPair { getpc, low, high, to });
        }
        Ok(())
    }

    /// The `s_add_u32` of a folded sum, with room for any literal.
    pub(super) fn fold(&mut self, inst: &Inst, getpc: InstrId, to: Place) -> Result<Inst, Refusal> {
        if let Some(address) = self.task.env.plan.elsewhere(to) {
            return self.constant(inst, address as u32);
        }
        let chunk = &mut self.put.out.chunk;
        // The getpc's copy stands behind what is inserted at its label.
        let vaddr = self.task.env.program.vaddr(getpc);
        let getpc_at = chunk.origins.iter().rev().find(|o| o.1 == vaddr).map(|o| o.0);
        let Some(getpc_at) = getpc_at else {
            return Err(Refusal::Reason(format!("the s_getpc_b64 at {vaddr:#x} is not copied before its sum")));
        };
        let mut wide = *inst;
        wide.set_operand(2, LITERAL)?;
        chunk.push(&wide);
        let low = chunk.here() - 1;
        chunk.fixups.push(Fixup::PcPair { getpc: getpc_at, low, high: u32::MAX, to });
        Ok(wide)
    }

    pub(super) fn fold_high(&mut self, inst: &Inst, to: Place) -> Result<Inst, Refusal> {
        if let Some(address) = self.task.env.plan.elsewhere(to) {
            return self.constant(inst, (address >> 32) as u32);
        }
        let mut wide = *inst;
        wide.set_operand(2, LITERAL)?;
        let chunk = &mut self.put.out.chunk;
        chunk.push(&wide);
        let here = chunk.here() - 1;
        let open = chunk.fixups.iter_mut().rev().find(|f| matches!(f, Fixup::PcPair { high: u32::MAX, .. }));
        match open {
            Some(Fixup::PcPair { high, .. }) => {
                *high = here;
                Ok(wide)
            }
            _ => Err(Refusal::Reason(format!("{inst} completes no sum"))),
        }
    }

    /// A number in the destination of an instruction, in its place.
    fn constant(&mut self, inst: &Inst, number: u32) -> Result<Inst, Refusal> {
        let Some(Operand::Reg(to)) = inst.operands().next().map(|(_, v)| v) else {
            return Err(Refusal::Reason(format!("{inst} has no destination")));
        };
        let constant = self.task.env.machine.ops.mov32(to.first, Operand::Literal(number))?;
        self.put.out.chunk.push(&constant);
        Ok(constant)
    }
}
