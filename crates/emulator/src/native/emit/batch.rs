//! Waves of a workgroup one after the other: how each begins in the registers of the one before it ([`crate::batch`]).

use std::mem::offset_of;

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::machine::Machine;
use super::frame::Frame;
use super::scalar::held;
use super::{Assembler, TooLarge, has_stored};
use crate::batch::Batch;
use crate::registers::scalar;
use crate::wave::Wave;

/// What is to be there when a wave begins.
#[derive(Clone, Copy)]
pub struct Beginning<'a> {
    /// Rows that hold zeros, if they do not hold ids.
    pub zeros: &'a [u16],
    /// Scalar registers, and which other ones have what they are to hold.
    pub restored: &'a [(u8, u8)],
    /// Whether waves access hardware registers, MODE among them.
    pub has_hardware: bool,
    /// Whether they may take a branch onwards.
    pub has_skip: bool,
}

/// Bytes of a row.
const ROW: i64 = 256;

fn behind_recent(at: i64) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RBX, at)
}

fn told(offset: usize) -> MemoryOperand {
    behind_recent(Wave::BATCH_BEHIND_RECENT + offset as i64)
}

/// The next wave begins; RDI leads to the rows.
pub(super) fn begin(
    asm: &mut Assembler,
    it: Beginning,
    machine: Machine,
    wave64: bool,
    frame: Frame,
) -> Result<(), TooLarge> {
    frame.begin(asm)?;
    let pieces = || (0..ROW).step_by(machine.bytes() as usize);
    if !it.zeros.is_empty() {
        let zero = Register::XMM0;
        asm.put(Instruction::with3(Code::VEX_Vpxor_xmm_xmm_xmmm128, zero, zero, zero))?;
    }
    for &row in it.zeros {
        asm.put(Instruction::with2(Code::Cmp_rm32_imm32, told(offset_of!(Batch, id_rows)), u32::from(row)))?;
        let has_ids = asm.jump(Code::Ja_rel32_64)?;
        for at in pieces() {
            let to = MemoryOperand::with_base_displ(Register::RDI, i64::from(row) * ROW + at);
            asm.put(Instruction::with2(machine.store(), to, machine.vector(0)))?;
        }
        asm.land(has_ids);
    }
    ids(asm, machine, pieces)?;
    asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, told(offset_of!(Batch, exec))))?;
    asm.put(Instruction::with2(Code::Cmp_rm32_imm32, told(offset_of!(Batch, left)), 1))?;
    asm.put(Instruction::with2(Code::Cmove_r64_rm64, Register::RAX, told(offset_of!(Batch, last_exec))))?;
    // As wide as what reads it.
    asm.put(match wave64 {
        true => Instruction::with2(Code::Mov_rm64_r64, held(scalar::EXEC), Register::RAX),
        false => Instruction::with2(Code::Mov_rm32_r32, held(scalar::EXEC), Register::EAX),
    })?;
    asm.put(Instruction::with2(Code::Mov_rm32_imm32, held(scalar::SCC), 0))?;
    asm.put(Instruction::with2(Code::Mov_rm8_imm8, has_stored(), 0))?;
    for &(code, home) in it.restored {
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, held(home)))?;
        asm.put(Instruction::with2(Code::Mov_rm32_r32, held(code), Register::EAX))?;
    }
    if it.has_hardware {
        let mode = behind_recent(Wave::MODE_BEHIND_RECENT);
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, told(offset_of!(Batch, mode))))?;
        asm.put(Instruction::with2(Code::Mov_rm32_r32, mode, Register::EAX))?;
    }
    Ok(())
}

/// Copies the wave's work-item ids to the first rows.
fn ids<P: Iterator<Item = i64>>(asm: &mut Assembler, machine: Machine, pieces: impl Fn() -> P) -> Result<(), TooLarge> {
    let (from, to) = (Register::R11, Register::RDI);
    asm.put(Instruction::with2(Code::Mov_r64_rm64, from, told(offset_of!(Batch, ids))))?;
    asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, told(offset_of!(Batch, id_rows))))?;
    asm.put(Instruction::with2(Code::Test_rm32_r32, Register::EAX, Register::EAX))?;
    let none = asm.jump(Code::Je_rel32_64)?;
    let top = asm.at;
    for at in pieces() {
        let at = |register| MemoryOperand::with_base_displ(register, at);
        asm.put(Instruction::with2(machine.load(), machine.vector(0), at(from)))?;
        asm.put(Instruction::with2(machine.store(), at(to), machine.vector(0)))?;
    }
    for register in [from, to] {
        asm.put(Instruction::with2(Code::Add_rm64_imm32, register, ROW as i32))?;
    }
    asm.put(Instruction::with1(Code::Dec_rm32, Register::EAX))?;
    asm.put(Instruction::with_branch(Code::Jne_rel32_64, top as u64))?;
    asm.put(Instruction::with2(Code::Mov_rm64_r64, told(offset_of!(Batch, ids)), from))?;
    asm.land(none);
    Ok(())
}

/// A wave has ended; if there is another one, that begins at `top`.
pub(super) fn next(asm: &mut Assembler, it: Beginning, top: usize) -> Result<(), TooLarge> {
    if it.has_skip {
        let skipped = || behind_recent(Wave::SKIPPED_BEHIND_RECENT);
        asm.put(Instruction::with2(Code::Movzx_r32_rm8, Register::EAX, skipped()))?;
        asm.put(Instruction::with2(Code::Add_rm32_r32, told(offset_of!(Batch, skips)), Register::EAX))?;
        asm.put(Instruction::with2(Code::Mov_rm8_imm8, skipped(), 0))?;
    }
    if it.has_hardware {
        asm.put(Instruction::with1(Code::Inc_rm32, behind_recent(Wave::NUMBER_BEHIND_RECENT)))?;
    }
    asm.put(Instruction::with1(Code::Dec_rm32, told(offset_of!(Batch, left))))?;
    asm.put(Instruction::with_branch(Code::Jne_rel32_64, top as u64))
}
