//! Where VGPR indexing (`s_set_gpr_idx_on`) may be on, so that a VALU operand does not name the register it says.

use luthier_isa::op::Op;
use luthier_isa::{Field, Inst, Operand};
use luthier_lifter::{FuncId, Program};

/// Compilers turn indexing on and off within a block. Where a function does not, it counts as on at every block's start.
#[derive(Clone, Copy, Debug)]
pub struct Indexing {
    crosses_blocks: bool,
}

impl Indexing {
    pub fn of(program: &Program, func: FuncId) -> Indexing {
        let crosses_blocks = program.function(func).blocks.iter().any(|b| {
            let mut on = false;
            program.block(b).instrs.iter().for_each(|i| Indexing::step(program.inst(i), &mut on));
            on
        });
        Indexing { crosses_blocks }
    }
    pub fn at_start(self) -> bool {
        self.crosses_blocks
    }
    pub fn step(inst: &Inst, on: &mut bool) {
        match inst.info().op() {
            Op::SSetGprIdxOn | Op::SSetGprIdxMode => *on = true,
            Op::SSetGprIdxOff => *on = false,
            Op::SSetregB32 | Op::SSetregImm32B32 if has_gpr_idx(inst) && writes_enable(inst) => *on = true,
            _ => {}
        }
    }
}

/// Bit 27 of MODE.
fn writes_enable(inst: &Inst) -> bool {
    let Some(Operand::Imm(hwreg)) = inst.operand_in(Field::Simm16) else { return true };
    let (register, offset, width) = (hwreg & 0x3f, hwreg >> 6 & 0x1f, (hwreg >> 11 & 0x1f) + 1);
    register == 1 && (offset..offset + width).contains(&27)
}

/// GCN and CDNA: elsewhere bit 27 of MODE is something else.
fn has_gpr_idx(inst: &Inst) -> bool {
    inst.info().mode.target().generation().is_gfx9_family()
}
