//! What is done lane by lane.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::addresses::Size;
use super::super::machine::Machine;
use super::{Assembler, EXEC, Jump, TooLarge};

/// For each lane of a mask in EAX, the lowest one first: R9 says which one it is.
pub(super) fn each(
    asm: &mut Assembler,
    lane: impl FnOnce(&mut Assembler) -> Result<(), TooLarge>,
) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))?;
    let none = asm.jump(Code::Je_rel32_64)?;
    let top = asm.at;
    asm.put(Instruction::with2(Code::Bsf_r32_rm32, Register::R9D, Register::EAX))?;
    lane(asm)?;
    let less = MemoryOperand::with_base_displ(Register::RAX, -1);
    asm.put(Instruction::with2(Code::Lea_r32_m, Register::R9D, less))?;
    asm.put(Instruction::with2(Code::And_r32_rm32, Register::EAX, Register::R9D))?;
    asm.put(Instruction::with_branch(Code::Jne_rel32_64, top as u64))?;
    asm.land(none);
    Ok(())
}

/// The jump that is taken if some lane is off. Narrow vectors have those that are on in `exec`, if they need not be all.
pub(super) fn some_off(
    asm: &mut Assembler,
    machine: Machine,
    exec: Option<Register>,
) -> Result<Option<Jump>, TooLarge> {
    Ok(Some(match exec {
        _ if machine.wide => {
            asm.put(Instruction::with2(Code::VEX_Kortestw_kr_kr, EXEC, EXEC))?;
            asm.jump(Code::Jae_rel32_64)?
        }
        Some(on) => {
            asm.put(Instruction::with2(Code::VEX_Vmovmskps_r32_ymm, Register::EAX, on))?;
            asm.put(Instruction::with2(Code::Cmp_rm32_imm32, Register::EAX, 0xff))?;
            asm.jump(Code::Jne_rel32_64)?
        }
        None => return Ok(None),
    }))
}

/// Copies what a lane has of several words: what one lane has goes together.
pub(super) fn copy(
    asm: &mut Assembler,
    machine: Machine,
    size: Size,
    (to, from): (MemoryOperand, MemoryOperand),
    one: Register,
) -> Result<(), TooLarge> {
    let (load, store, by) = match size {
        Size::Pair => (Code::Mov_r64_rm64, Code::Mov_rm64_r64, Register::R11),
        _ => (
            machine.either(Code::VEX_Vmovups_xmm_xmmm128, Code::EVEX_Vmovups_xmm_k1z_xmmm128),
            machine.either(Code::VEX_Vmovups_xmmm128_xmm, Code::EVEX_Vmovups_xmmm128_k1z_xmm),
            machine.low(one),
        ),
    };
    asm.put(Instruction::with2(load, by, from))?;
    asm.put(Instruction::with2(store, to, by))
}
