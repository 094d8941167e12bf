//! Calls of functions between phases, when vector registers hold nothing.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::frame::Frame;
use super::{Assembler, TooLarge};
use crate::wave::Wave;

/// Calls a function that takes the wave, and what `give` puts into ESI and EDX; its answer is in RAX.
pub(super) fn call(
    asm: &mut Assembler,
    frame: Frame,
    function: u64,
    give: impl FnOnce(&mut Assembler) -> Result<(), TooLarge>,
) -> Result<(), TooLarge> {
    // The next phase has all else anew.
    let kept = [Register::RSI, Register::RCX].into_iter().zip([frame.kept, frame.kept + 8]);
    let kept = kept.map(|(register, at)| (register, MemoryOperand::with_base_displ(Register::RSP, at)));
    for (register, place) in kept.clone() {
        asm.put(Instruction::with2(Code::Mov_rm64_r64, place, register))?;
    }
    give(asm)?;
    let wave = MemoryOperand::with_base_displ(Register::RBX, -Wave::RECENT_AT);
    asm.put(Instruction::with2(Code::Lea_r64_m, Register::RDI, wave))?;
    asm.put(Ok(Instruction::with(Code::VEX_Vzeroupper)))?;
    asm.put(Instruction::with2(Code::Mov_r64_imm64, Register::RAX, function))?;
    asm.put(Instruction::with1(Code::Call_rm64, Register::RAX))?;
    for (register, place) in kept {
        asm.put(Instruction::with2(Code::Mov_r64_rm64, register, place))?;
    }
    Ok(())
}
