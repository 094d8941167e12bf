//! Loads of scalars: words of one allocation, which the wave remembers or comes to remember here.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::frame::Frame;
use super::outside::call;
use super::scalar::held;
use super::span::Span;
use super::{Assembler, TooLarge};
use crate::mem::smem::WordLoad;
use crate::wave::Wave;

pub(super) fn emit(
    asm: &mut Assembler,
    load: &WordLoad,
    span: Option<Span>,
    frame: Frame,
    exit: usize,
    finder: usize,
) -> Result<(), TooLarge> {
    let mut all_found = None;
    // From where R11 leads to.
    let mut at = 0;
    if let Some(span) = span {
        if span.leads {
            base(asm, load)?;
            span.find(asm, frame, finder)?;
        } else {
            asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, span.host(frame)))?;
        }
        asm.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
        all_found = Some(asm.jump(Code::Jne_rel32_64)?);
        at = i32::try_from(load.imm).map_err(|_| TooLarge)? - span.first;
    }
    address(asm, load)?;
    asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EBP, 4 * i32::from(load.words)))?;
    asm.put(Instruction::with_branch(Code::Call_rel32_64, finder as u64))?;
    asm.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
    let known = asm.jump(Code::Jne_rel32_64)?;
    look_up(asm, frame, exit)?;
    asm.land(known);
    asm.put(Instruction::with2(Code::Test_rm32_imm32, Register::R11D, 3))?;
    asm.put(Instruction::with_branch(Code::Jne_rel32_64, exit as u64))?;
    if let Some(all_found) = all_found {
        asm.put(Instruction::with2(Code::Sub_rm64_imm32, Register::R11, at))?;
        asm.land(all_found);
    }
    words(asm, load, at)
}

const WHOLE: i32 = !3;

/// RAX = the base, without its two lowest bits.
fn base(asm: &mut Assembler, load: &WordLoad) -> Result<(), TooLarge> {
    asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RAX, held(load.base)))?;
    asm.put(Instruction::with2(Code::And_rm64_imm8, Register::RAX, WHOLE))
}

/// RAX = where the words are.
fn address(asm: &mut Assembler, load: &WordLoad) -> Result<(), TooLarge> {
    base(asm, load)?;
    if let Some(offset) = load.offset {
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::R11D, held(offset)))?;
        if load.scale != 1 {
            let scale = i32::from(load.scale);
            asm.put(Instruction::with3(Code::Imul_r64_rm64_imm32, Register::R11, Register::R11, scale))?;
        }
        asm.put(Instruction::with2(Code::And_rm64_imm8, Register::R11, WHOLE))?;
        asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RAX, Register::R11))?;
    }
    match i32::try_from(load.imm).map_err(|_| TooLarge)? {
        0 => Ok(()),
        imm => asm.put(Instruction::with2(Code::Add_rm64_imm32, Register::RAX, imm)),
    }
}

/// Where the wave does not remember the allocation, it does from now on, as where the interpreter loads; R11 leads to the words
/// then. Leaves if there is none.
fn look_up(asm: &mut Assembler, frame: Frame, exit: usize) -> Result<(), TooLarge> {
    let function: unsafe extern "sysv64" fn(*mut Wave, u64, u64) -> *const u8 = found;
    call(asm, frame, function as usize as u64, |asm| {
        asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::RSI, Register::RAX))?;
        asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EDX, Register::EBP))
    })?;
    asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R11, Register::RAX))?;
    asm.put(Instruction::with2(Code::Test_rm64_r64, Register::R11, Register::R11))?;
    asm.put(Instruction::with_branch(Code::Je_rel32_64, exit as u64))
}

/// Where the host has these bytes, or null.
///
/// # Safety
/// It is a wave that nothing else uses the memory and the remembered allocations of meanwhile.
unsafe extern "sysv64" fn found(w: *mut Wave, address: u64, bytes: u64) -> *const u8 {
    // SAFETY: the caller says so.
    let (memory, recent) = unsafe { (&(*w).memory, &mut (*w).recent) };
    memory.readable(recent, address, bytes).unwrap_or(std::ptr::null())
}

/// Loads the words that begin `at` bytes behind where R11 leads to. The code takes four, two or one at a time, as the interpreter
/// does.
fn words(asm: &mut Assembler, load: &WordLoad, at: i32) -> Result<(), TooLarge> {
    let mut done = 0;
    while done < load.words {
        let from = MemoryOperand::with_base_displ(Register::R11, i64::from(at) + i64::from(done) * 4);
        let to = held(load.dst + done);
        let (count, value, get, put) = match load.words - done {
            4.. => (4, Register::XMM0, Code::VEX_Vmovups_xmm_xmmm128, Code::VEX_Vmovups_xmmm128_xmm),
            2.. => (2, Register::RAX, Code::Mov_r64_rm64, Code::Mov_rm64_r64),
            _ => (1, Register::EAX, Code::Mov_r32_rm32, Code::Mov_rm32_r32),
        };
        asm.put(Instruction::with2(get, value, from))?;
        asm.put(Instruction::with2(put, to, value))?;
        done += count;
    }
    Ok(())
}
