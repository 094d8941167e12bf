//! Branches of a run: at its end, to its beginning as long as the wave may, else out of it; or within it, onwards.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::forms::Branch;
use super::assembler::Jump;
use super::scalar::held;
use super::{Assembler, OUT, TooLarge};
use crate::wave::Wave;

pub(super) fn emit(asm: &mut Assembler, branch: Branch, top: usize, leave: usize) -> Result<(), TooLarge> {
    let [may, turned] = Wave::TURNS_BEHIND_RECENT.map(|at| MemoryOperand::with_base_displ(Register::RBX, at));
    let falls = falls(asm, branch)?;
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

/// The jump that is left is taken if the branch is, which the wave notes.
pub(super) fn skip(asm: &mut Assembler, branch: Branch) -> Result<Jump, TooLarge> {
    let falls = falls(asm, branch)?;
    let skipped = MemoryOperand::with_base_displ(Register::RBX, Wave::SKIPPED_BEHIND_RECENT);
    asm.put(Instruction::with2(Code::Mov_rm8_imm8, skipped, 1))?;
    let taken = asm.jump(Code::Jmp_rel32_64)?;
    if let Some(falls) = falls {
        asm.land(falls);
    }
    Ok(taken)
}

/// A jump where the branch is not taken, if that can be.
fn falls(asm: &mut Assembler, branch: Branch) -> Result<Option<Jump>, TooLarge> {
    let Branch::If { code, wide, zero } = branch else { return Ok(None) };
    let compare = if wide { Code::Cmp_rm64_imm32 } else { Code::Cmp_rm32_imm32 };
    asm.put(Instruction::with2(compare, held(code), 0))?;
    asm.jump(if zero { Code::Jne_rel32_64 } else { Code::Je_rel32_64 }).map(Some)
}

fn ends(asm: &mut Assembler, taken: bool, leave: usize) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, OUT | u32::from(taken) << 24))?;
    asm.put(Instruction::with_branch(Code::Jmp_rel32_64, leave as u64))
}
