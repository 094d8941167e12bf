//! What LLVM puts in front of a shader that uses scratch, where the hardware does not know the wave's: it makes FLAT_SCRATCH
//! of registers that a wave starts with. A part is no shader: the kernel has set FLAT_SCRATCH, and these registers are not
//! there.

use luthier_isa::{Field, Inst, Operand, Reg, RegRange, op::Op};

use super::{code::Code, guard, processor};
use crate::machine::operations::HwReg;

/// Puts `s_nop` in the place of LLVM's instructions, which stand in front of the first branch. An error is a sentence about
/// the hook.
pub fn leave_as_it_is(code: &mut Code) -> Result<(), String> {
    let Some(first) = code.insts.first() else { return Ok(()) };
    let mode = first.info().mode;
    let nop = guard::build(mode, Op::SNop, &[Operand::Imm(0)])?;
    // By its halves (RDNA1 and 2), out of a pair that is a sum.
    let halves: Vec<(usize, Reg)> =
        code.insts.iter().enumerate().filter_map(|(at, inst)| Some((at, half_from(inst)?))).collect();
    for (end, from) in halves {
        for inst in &mut code.insts[..end] {
            if is_sum(inst) && destination(inst).is_some_and(|to| to == RegRange::new(from, 1)) {
                *inst = nop;
            }
        }
        code.insts[end] = nop;
    }
    for inst in &mut code.insts {
        // By its names (GCN5, CDNA).
        let is_base = |to: RegRange| {
            processor::names_scratch_base(mode)
                && to.units().all(|unit| matches!(unit, Reg::FLAT_SCRATCH_LO | Reg::FLAT_SCRATCH_HI))
        };
        if is_sum(inst) && destination(inst).is_some_and(is_base) {
            *inst = nop;
        }
    }
    while code.insts.first() == Some(&nop) && code.insts.len() > 1 {
        code.drop_first();
    }
    Ok(())
}

fn is_sum(inst: &Inst) -> bool {
    matches!(inst.info().op(), Op::SAddU32 | Op::SAddcU32) && inst.size() == 4
}

fn destination(inst: &Inst) -> Option<RegRange> {
    inst.operands().next().and_then(|(_, value)| value.reg())
}

/// The register that half of FLAT_SCRATCH is set from.
fn half_from(inst: &Inst) -> Option<Reg> {
    let field = inst.field(Field::Simm16).map(|field| i64::from(field as u16 as i16));
    let is_half =
        inst.info().op() == Op::SSetregB32 && HwReg::SCRATCH_BASE.iter().any(|half| field == Some(half.bits()));
    inst.operands().find_map(|(_, value)| value.reg()).filter(|_| is_half).map(|range| range.first)
}
