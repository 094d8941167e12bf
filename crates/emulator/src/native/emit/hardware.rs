//! `s_getreg` and `s_setreg`: calls of what the interpreter has for them.

use iced_x86::{Code, Instruction, Register};

use super::super::forms::{Hardware, HardwareAccess, Source};
use super::frame::Frame;
use super::outside::call;
use super::scalar::held;
use super::{Assembler, TooLarge};
use crate::lower::put_msb;
use crate::scalar::{getreg, setreg};
use crate::wave::Wave;

/// Above what a register holds: there is none.
const ABSENT: u64 = 1 << 32;

pub(super) fn emit(asm: &mut Assembler, it: &Hardware, frame: Frame, exit: usize) -> Result<(), TooLarge> {
    let (field, function): (u16, Function) = match it.access {
        Some(HardwareAccess::Get { field, .. }) => (field, get),
        Some(HardwareAccess::Set { field, .. }) => (field, set),
        None => (0, msb),
    };
    let msb = it.msb.map_or(0, |bits| HAS_MSB | i32::from(bits) << MSB_AT);
    call(asm, frame, function as usize as u64, |asm| {
        match it.access {
            Some(HardwareAccess::Set { value: Source::Register(code), .. }) => {
                asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EDX, held(code)))?;
            }
            Some(HardwareAccess::Set { value: Source::Constant(value), .. }) => {
                asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EDX, value as u32))?;
            }
            Some(HardwareAccess::Get { .. }) | None => {}
        }
        asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::ESI, i32::from(field) | msb))
    })?;
    if it.access.is_none() {
        return Ok(());
    }
    asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, Register::RAX))?;
    asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::R11, ABSENT.trailing_zeros() as i32))?;
    // The interpreter says which one is not there.
    asm.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))?;
    match it.access {
        Some(HardwareAccess::Get { to, .. }) => {
            asm.put(Instruction::with2(Code::Mov_rm32_r32, held(to), Register::EAX))
        }
        _ => Ok(()),
    }
}

/// Above a field: the upper bits of VGPR numbers that MODE is to have, if it is to have some.
const MSB_AT: u32 = 16;
const HAS_MSB: i32 = 1 << 24;

/// Takes the wave, a field and upper bits, and a value; gives what the register holds.
type Function = unsafe extern "sysv64" fn(*mut Wave, u64, u32) -> u64;

/// # Safety
/// It is a wave that nothing else uses meanwhile.
unsafe extern "sysv64" fn get(w: *mut Wave, field: u64, _value: u32) -> u64 {
    // SAFETY: the caller says so.
    getreg(unsafe { &*w }, field & 0xffff).map_or(ABSENT, u64::from)
}

/// # Safety
/// As [`get`].
unsafe extern "sysv64" fn set(w: *mut Wave, field: u64, value: u32) -> u64 {
    // SAFETY: the caller says so.
    if setreg(unsafe { &mut *w }, field & 0xffff, value).is_err() {
        return ABSENT;
    }
    // SAFETY: likewise.
    unsafe { msb(w, field, value) }
}

/// # Safety
/// As [`get`].
unsafe extern "sysv64" fn msb(w: *mut Wave, bits: u64, _value: u32) -> u64 {
    if bits & HAS_MSB as u64 != 0 {
        // SAFETY: the caller says so.
        put_msb(unsafe { &mut *w }, (bits >> MSB_AT) as u8);
    }
    0
}
