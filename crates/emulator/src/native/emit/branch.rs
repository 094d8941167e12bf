//! The branch at the end of a run: to its beginning as long as the wave may, else out of it.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::forms::Branch;
use super::{Assembler, OUT, TooLarge};
use crate::wave::Wave;

pub(super) fn emit(asm: &mut Assembler, branch: Branch, top: usize, leave: usize) -> Result<(), TooLarge> {
    let [may, turned] = Wave::TURNS_BEHIND_RECENT.map(|at| MemoryOperand::with_base_displ(Register::RBX, at));
    let falls = match branch {
        Branch::Always => None,
        Branch::If { code, wide, zero } => {
            let held = MemoryOperand::with_base_displ(Register::RSI, i64::from(code) * 4);
            let compare = if wide { Code::Cmp_rm64_imm32 } else { Code::Cmp_rm32_imm32 };
            asm.put(Instruction::with2(compare, held, 0))?;
            Some(asm.jump(if zero { Code::Jne_rel32_64 } else { Code::Je_rel32_64 })?)
        }
    };
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, may, 0))?;
    let out = asm.jump(Code::Je_rel32_64)?;
    asm.put(Instruction::with1(Code::Dec_rm32, may))?;
    asm.put(Instruction::with1(Code::Inc_rm32, turned))?;
    asm.put(Instruction::with_branch(Code::Jmp_rel32_64, top as u64))?;
    asm.land(out);
    ends(asm, true, leave)?;
    if let Some(falls) = falls {
        asm.land(falls);
        ends(asm, false, leave)?;
    }
    Ok(())
}

fn ends(asm: &mut Assembler, taken: bool, leave: usize) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, OUT | u32::from(taken) << 24))?;
    asm.put(Instruction::with_branch(Code::Jmp_rel32_64, leave as u64))
}
