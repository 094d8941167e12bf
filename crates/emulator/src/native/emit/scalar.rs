//! Scalar instructions: registers are in memory before and behind each.

use iced_x86::{Code, Instruction, MemoryOperand, Register};

use super::super::forms::{Logic, Scalar, ScalarForm, Source, When, Which};
use super::frame::Frame;
use super::{Assembler, TooLarge, bits};
use crate::registers::scalar;

/// SCC as it will be.
const SCC: Register = Register::R11D;

/// A scalar register, or the first one of several.
pub(super) fn held(code: u8) -> MemoryOperand {
    MemoryOperand::with_base_displ(Register::RSI, i64::from(code) * 4)
}

/// The instructions of 32 or 64 bits.
pub(super) struct Width {
    pub a: Register,
    pub b: Register,
    load: Code,
    store: Code,
    not: Code,
    pub test: Code,
    compare: Code,
}

pub(super) const NARROW: Width = Width {
    a: Register::EAX,
    b: Register::R9D,
    load: Code::Mov_r32_rm32,
    store: Code::Mov_rm32_r32,
    not: Code::Not_rm32,
    test: Code::Test_rm32_r32,
    compare: Code::Cmp_r32_rm32,
};
const WIDE: Width = Width {
    a: Register::RAX,
    b: Register::R9,
    load: Code::Mov_r64_rm64,
    store: Code::Mov_rm64_r64,
    not: Code::Not_rm64,
    test: Code::Test_rm64_r64,
    compare: Code::Cmp_r64_rm64,
};

pub(super) fn emit(asm: &mut Assembler, it: &Scalar, frame: Frame, wave64: bool) -> Result<(), TooLarge> {
    if let Some((row, which)) = it.lane() {
        load_lane(asm, (frame, wave64), row, which)?;
        return asm.put(Instruction::with2(NARROW.store, held(it.dst), NARROW.a));
    }
    let width = if it.wide { WIDE } else { NARROW };
    let Width { a, b, not, test, compare, .. } = width;
    let store = if it.form.is_narrowing() { NARROW.store } else { width.store };
    // It changes flags, and so comes before them.
    asm.put(Instruction::with2(Code::Xor_r32_rm32, SCC, SCC))?;
    let narrow_a = it.form == ScalarForm::Ones;
    load(asm, if narrow_a { &NARROW } else { &width }, if narrow_a { NARROW.a } else { a }, it.a)?;
    let mut scc = Some(Code::Setne_rm8);
    let mut writes = true;
    match it.form {
        ScalarForm::Move => scc = None,
        ScalarForm::Not => {
            asm.put(Instruction::with1(not, a))?;
            asm.put(Instruction::with2(test, a, a))?;
        }
        ScalarForm::Logic { logic, inverts_b, inverts } => {
            load(asm, &width, b, it.b)?;
            combine(asm, it.wide, logic, inverts_b, inverts)?;
        }
        ScalarForm::SaveExec { logic, inverts_source, inverts_exec, inverts } => {
            asm.put(Instruction::with2(width.load, b, held(scalar::EXEC)))?;
            asm.put(Instruction::with2(store, held(it.dst), b))?;
            if inverts_source {
                asm.put(Instruction::with1(not, a))?;
            }
            combine(asm, it.wide, logic, inverts_exec, inverts)?;
            asm.put(Instruction::with2(store, held(scalar::EXEC), a))?;
            writes = false;
        }
        ScalarForm::Add { carries: with } | ScalarForm::Subtract { borrows: with } => {
            load(asm, &width, b, it.b)?;
            if with {
                // The carry flag says whether it is not zero.
                asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EBP, held(scalar::SCC)))?;
                asm.put(Instruction::with1(Code::Neg_rm32, Register::EBP))?;
            }
            let code = match (it.form, with) {
                (ScalarForm::Add { .. }, false) => Code::Add_r32_rm32,
                (ScalarForm::Add { .. }, true) => Code::Adc_r32_rm32,
                (_, false) => Code::Sub_r32_rm32,
                (_, true) => Code::Sbb_r32_rm32,
            };
            asm.put(Instruction::with2(code, a, b))?;
            scc = Some(Code::Setb_rm8);
        }
        ScalarForm::AddSigned | ScalarForm::SubtractSigned => {
            load(asm, &width, b, it.b)?;
            let adds = it.form == ScalarForm::AddSigned;
            asm.put(Instruction::with2(if adds { Code::Add_r32_rm32 } else { Code::Sub_r32_rm32 }, a, b))?;
            scc = Some(Code::Seto_rm8);
        }
        ScalarForm::ShiftLeft | ScalarForm::ShiftRight | ScalarForm::ShiftSigned => {
            load(asm, &NARROW, Register::R9D, it.b)?;
            let code = match (it.form, it.wide) {
                (ScalarForm::ShiftLeft, false) => Code::VEX_Shlx_r32_rm32_r32,
                (ScalarForm::ShiftLeft, true) => Code::VEX_Shlx_r64_rm64_r64,
                (ScalarForm::ShiftRight, false) => Code::VEX_Shrx_r32_rm32_r32,
                (ScalarForm::ShiftRight, true) => Code::VEX_Shrx_r64_rm64_r64,
                (_, false) => Code::VEX_Sarx_r32_rm32_r32,
                (_, true) => Code::VEX_Sarx_r64_rm64_r64,
            };
            asm.put(Instruction::with3(code, a, a, b))?;
            asm.put(Instruction::with2(test, a, a))?;
        }
        ScalarForm::Multiply => {
            load(asm, &width, b, it.b)?;
            asm.put(Instruction::with2(if it.wide { Code::Imul_r64_rm64 } else { Code::Imul_r32_rm32 }, a, b))?;
            scc = None;
        }
        ScalarForm::AddQuietly | ScalarForm::SubtractQuietly => {
            load(asm, &width, b, it.b)?;
            let code = match (it.form == ScalarForm::AddQuietly, it.wide) {
                (true, false) => Code::Add_r32_rm32,
                (true, true) => Code::Add_r64_rm64,
                (false, false) => Code::Sub_r32_rm32,
                (false, true) => Code::Sub_r64_rm64,
            };
            asm.put(Instruction::with2(code, a, b))?;
            scc = None;
        }
        ScalarForm::Compare(when) => {
            load(asm, &width, b, it.b)?;
            asm.put(Instruction::with2(compare, a, b))?;
            (scc, writes) = (Some(set(when)), false);
        }
        ScalarForm::Select => {
            load(asm, &width, b, it.b)?;
            asm.put(Instruction::with2(Code::Cmp_rm32_imm32, held(scalar::SCC), 0))?;
            asm.put(Instruction::with2(if it.wide { Code::Cmove_r64_rm64 } else { Code::Cmove_r32_rm32 }, a, b))?;
            scc = None;
        }
        ScalarForm::Extreme(when) => {
            load(asm, &width, b, it.b)?;
            asm.put(Instruction::with2(compare, a, b))?;
            let other = match when {
                When::Less => Code::Cmovge_r32_rm32,
                When::Below => Code::Cmovae_r32_rm32,
                When::GreaterEqual => Code::Cmovl_r32_rm32,
                When::AboveEqual => Code::Cmovb_r32_rm32,
                _ => return Err(TooLarge),
            };
            asm.put(Instruction::with2(other, a, b))?;
            scc = Some(set(when));
        }
        _ => (scc, writes) = bits::emit(asm, it, &width)?,
    }
    debug_assert_eq!(scc.is_some(), it.form.writes_scc(), "{it:?}");
    // None of what follows changes flags.
    if let Some(scc) = scc {
        asm.put(Instruction::with1(scc, Register::R11L))?;
    }
    if writes {
        let result = if it.form.is_narrowing() { NARROW.a } else { a };
        asm.put(Instruction::with2(store, held(it.dst), result))?;
    }
    if scc.is_some() {
        asm.put(Instruction::with2(Code::Mov_rm32_r32, held(scalar::SCC), SCC))?;
    }
    Ok(())
}

/// A row's word in a lane.
fn load_lane(asm: &mut Assembler, (frame, wave64): (Frame, bool), row: u16, which: Which) -> Result<(), TooLarge> {
    let rows = MemoryOperand::with_base_displ(Register::RSP, frame.given);
    asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R9, rows))?;
    let last = if wave64 { 63 } else { 31 };
    match which {
        Which::Number(number) => asm.put(Instruction::with2(Code::Mov_r32_imm32, Register::EAX, number & last))?,
        Which::Register(code) => {
            asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, held(code)))?;
            asm.put(Instruction::with2(Code::And_rm32_imm32, Register::EAX, last))?;
        }
        Which::First => {
            let (load, to) =
                if wave64 { (Code::Mov_r64_rm64, Register::RAX) } else { (Code::Mov_r32_rm32, Register::EAX) };
            asm.put(Instruction::with2(load, to, held(scalar::EXEC)))?;
            // It is 64 if none is on.
            asm.put(Instruction::with2(Code::Tzcnt_r64_rm64, Register::RAX, Register::RAX))?;
            asm.put(Instruction::with2(Code::And_rm32_imm32, Register::EAX, 63))?;
        }
    }
    let word = MemoryOperand::with_base_index_scale_displ_size(Register::R9, Register::RAX, 4, 256 * i64::from(row), 1);
    asm.put(Instruction::with2(Code::Mov_r32_rm32, Register::EAX, word))
}

pub(super) fn load(asm: &mut Assembler, width: &Width, to: Register, from: Source) -> Result<(), TooLarge> {
    asm.put(match from {
        Source::Register(code) => Instruction::with2(width.load, to, held(code)),
        Source::Constant(value) if to == WIDE.a || to == WIDE.b => Instruction::with2(Code::Mov_r64_imm64, to, value),
        Source::Constant(value) => Instruction::with2(Code::Mov_r32_imm32, to, value as u32),
    })
}

/// A = A op B, or what is its opposite; the zero flag says whether it is zero.
fn combine(asm: &mut Assembler, wide: bool, logic: Logic, inverts_b: bool, inverts: bool) -> Result<(), TooLarge> {
    let Width { a, b, not, test, .. } = if wide { WIDE } else { NARROW };
    if inverts_b {
        asm.put(Instruction::with1(not, b))?;
    }
    let code = match (logic, wide) {
        (Logic::And, false) => Code::And_r32_rm32,
        (Logic::And, true) => Code::And_r64_rm64,
        (Logic::Or, false) => Code::Or_r32_rm32,
        (Logic::Or, true) => Code::Or_r64_rm64,
        (Logic::Xor, false) => Code::Xor_r32_rm32,
        (Logic::Xor, true) => Code::Xor_r64_rm64,
    };
    asm.put(Instruction::with2(code, a, b))?;
    if inverts {
        asm.put(Instruction::with1(not, a))?;
        asm.put(Instruction::with2(test, a, a))?;
    }
    Ok(())
}

fn set(when: When) -> Code {
    match when {
        When::Equal => Code::Sete_rm8,
        When::NotEqual => Code::Setne_rm8,
        When::Less => Code::Setl_rm8,
        When::LessEqual => Code::Setle_rm8,
        When::Greater => Code::Setg_rm8,
        When::GreaterEqual => Code::Setge_rm8,
        When::Below => Code::Setb_rm8,
        When::BelowEqual => Code::Setbe_rm8,
        When::Above => Code::Seta_rm8,
        When::AboveEqual => Code::Setae_rm8,
    }
}
