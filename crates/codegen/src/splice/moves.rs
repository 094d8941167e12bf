//! Values on their way between registers of all files, special state and numbers.

use luthier_isa::{EncodeError, Inst, Operand, Reg, RegRange, VgprMsb};

use super::emit::Emitter;
use crate::machine::operations::{number, one, pair, small};
use crate::machine::special::{Moves, Special};

impl Emitter<'_, '_, '_> {
    /// Reads special state by these instructions, as the application would.
    pub(super) fn read(&mut self, special: Special, insts: Moves) -> Result<(), EncodeError> {
        let msb = self.site.msb;
        let held = special == Special::Mode && self.env.machine.mode_holds_vgpr_msb();
        if held {
            self.set_msb(VgprMsb::ZERO, msb)?;
        }
        self.all(insts)?;
        if held { self.set_msb(msb, VgprMsb::ZERO) } else { Ok(()) }
    }

    pub(super) fn set_msb(&mut self, from: VgprMsb, to: VgprMsb) -> Result<(), EncodeError> {
        match self.env.machine.ops.set_vgpr_msb(to.bits()) {
            Some(inst) if from != to => self.push(inst?),
            _ => Ok(()),
        }
    }

    pub(super) fn set_number(&mut self, to: RegRange, value: u64) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let inline = |n: u64| matches!(number(n as u32), Operand::Inline(_)) && n as i64 == i64::from(n as u32 as i32);
        if to.first.is_sgpr() && to.count == 2 && to.first.number().is_multiple_of(2) && inline(value) {
            return self.push(ops.mov64(to.first, number(value as u32))?);
        }
        for (n, unit) in to.units().enumerate() {
            let part = number((value >> (32 * n)) as u32);
            self.push(if unit.is_sgpr() { ops.mov32(unit, part)? } else { ops.vector_mov(unit, part)? })?;
        }
        Ok(())
    }

    /// Copies registers of whatever files, unit by unit (SGPR pairs at once where they are aligned).
    pub(super) fn copy(&mut self, to: RegRange, from: RegRange) -> Result<(), EncodeError> {
        let count = u16::from(to.count.min(from.count));
        let mut n = 0;
        while n < count {
            let (t, f) = (to.first.offset(n), from.first.offset(n));
            let scalar = |r: Reg| !r.is_vgpr() && !r.is_agpr();
            if scalar(t) && scalar(f) && n + 1 < count && t.index() % 2 == 0 && f.index() % 2 == 0 {
                self.push(self.env.machine.ops.mov64(t, pair(f))?)?;
                n += 1;
            } else {
                self.move_one(t, f)?;
            }
            n += 1;
        }
        Ok(())
    }

    pub(super) fn move_one(&mut self, to: Reg, from: Reg) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        let build = |info: Option<&'static luthier_isa::OpcodeInfo>, otherwise| {
            Inst::build(info.unwrap_or(otherwise), &[one(to), one(from)])
        };
        if to.is_agpr() && from.is_agpr() {
            return self.push(build(ops.v_accvgpr_mov_b32, ops.v_mov_b32)?);
        }
        if to.is_agpr() {
            return self.push(build(ops.v_accvgpr_write_b32, ops.v_mov_b32)?);
        }
        if from.is_agpr() {
            return self.push(build(ops.v_accvgpr_read_b32, ops.v_mov_b32)?);
        }
        if !to.is_vgpr() {
            return self.push(ops.mov32(to, one(from))?);
        }
        // Operands name the low 256 VGPRs; which 256 those are has to be said.
        let high = |r: Reg| if r.is_vgpr() { (r.number() / 256) as u8 } else { 0 };
        let low = |r: Reg| if r.is_vgpr() { Reg::vgpr(r.number() % 256) } else { r };
        self.vector_mov(low(to), one(low(from)), VgprMsb::from_bits(high(from) | high(to) << 6))
    }

    /// A VGPR or an AGPR = 0.
    pub(super) fn vector_zero(&mut self, to: Reg) -> Result<(), EncodeError> {
        let ops = self.env.machine.ops;
        if to.is_agpr() {
            let info = ops.v_accvgpr_write_b32.unwrap_or(ops.v_mov_b32);
            return self.push(Inst::build(info, &[one(to), small(0)])?);
        }
        let msb = VgprMsb::from_bits(((to.number() / 256) as u8) << 6);
        self.vector_mov(Reg::vgpr(to.number() % 256), small(0), msb)
    }

    /// A move under these upper bits of VGPR numbers.
    fn vector_mov(&mut self, to: Reg, from: Operand, msb: VgprMsb) -> Result<(), EncodeError> {
        self.set_msb(VgprMsb::ZERO, msb)?;
        self.push(self.env.machine.ops.vector_mov(to, from)?.at(Some(msb)))?;
        self.set_msb(msb, VgprMsb::ZERO)
    }
}
