//! `s_getreg` and `s_setreg`: calls of what the interpreter has for them.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::forms::{Hardware, HardwareAccess, Source};
use super::frame::Frame;
use super::outside::call;
use super::{Assembler, TooLarge};
use crate::lower::put_msb;
use crate::scalar::{getreg, setreg};
use crate::wave::Wave;

/// Above what a register holds: there is none.
const ABSENT: u64 = 1 << 32;

pub(super) fn emit(asm: &mut Assembler, it: &Hardware, frame: Frame, exit: usize) -> Result<(), TooLarge> {
    let held = |code: u8| MemoryOperand::with_base_displ(Register::RSI, i64::from(code) * 4);
    if let Some(access) = it.access {
        let (field, function): (u16, Function) = match access {
            HardwareAccess::Get { field, .. } => (field, get),
            HardwareAccess::Set { field, .. } => (field, set),
        };
        call(asm, frame, function as usize as u64, |asm| {
            match access {
                HardwareAccess::Set { value: Source::Register(code), .. } => {
                    asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EDX, held(code)))?;
                }
                HardwareAccess::Set { value: Source::Constant(value), .. } => {
                    asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EDX, value as u32))?;
                }
                HardwareAccess::Get { .. } => {}
            }
            asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::ESI, i32::from(field)))
        })?;
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, Register::RAX))?;
        asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::R11, ABSENT.trailing_zeros() as i32))?;
        // The interpreter says which one is not there.
        asm.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))?;
        if let HardwareAccess::Get { to, .. } = access {
            asm.put(Instruction::with2(Code::Mov_rm32_r32, held(to), Register::EAX))?;
        }
    }
    let Some(bits) = it.msb else { return Ok(()) };
    let function: Function = msb;
    call(asm, frame, function as usize as u64, |asm| {
        asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::ESI, i32::from(bits)))
    })
}

/// Takes the wave, a field or what is to be put there, and a value; gives what a register holds.
type Function = unsafe extern "sysv64" fn(*mut Wave, u64, u32) -> u64;

/// # Safety
/// It is a wave that nothing else uses meanwhile.
unsafe extern "sysv64" fn get(w: *mut Wave, field: u64, _value: u32) -> u64 {
    // SAFETY: the caller says so.
    getreg(unsafe { &*w }, field).map_or(ABSENT, u64::from)
}

/// # Safety
/// As [`get`].
unsafe extern "sysv64" fn set(w: *mut Wave, field: u64, value: u32) -> u64 {
    // SAFETY: the caller says so.
    setreg(unsafe { &mut *w }, field, value).map_or(ABSENT, |()| 0)
}

/// # Safety
/// As [`get`].
unsafe extern "sysv64" fn msb(w: *mut Wave, bits: u64, _value: u32) -> u64 {
    // SAFETY: the caller says so.
    put_msb(unsafe { &mut *w }, bits as u8);
    0
}
