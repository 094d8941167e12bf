//! Scalar instructions on fields and single bits, and on halves of words and of products.

use iced_x86::{Code, Instruction, Register};

use super::super::forms::{Scalar, ScalarForm};
use super::scalar::{NARROW, Width, load};
use super::{Assembler, TooLarge};

/// To work with; it is changed.
const MORE: Register = Register::RBP;
const MORE32: Register = Register::EBP;

/// What SCC is set by, if it is, and whether A is the result; A holds the first source.
pub(super) fn emit(asm: &mut Assembler, it: &Scalar, width: &Width) -> Result<(Option<Code>, bool), TooLarge> {
    let &Width { a, b, test, .. } = width;
    let is_set = Some(Code::Setne_rm8);
    let either = |narrow, wide| if it.wide { wide } else { narrow };
    match it.form {
        ScalarForm::MultiplyHigh { signed } => {
            load(asm, width, b, it.b)?;
            if signed {
                asm.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, Register::EAX))?;
                asm.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::R9, Register::R9D))?;
            }
            // Both words are in registers of 64 bits, with zeros above or their sign.
            asm.put(Instruction::with2(Code::Imul_r64_rm64, Register::RAX, Register::R9))?;
            asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::RAX, 32))?;
            Ok((None, true))
        }
        ScalarForm::ShiftAdd(by) => {
            load(asm, width, b, it.b)?;
            asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RAX, u32::from(by)))?;
            asm.put(Instruction::with2(Code::Add_r64_rm64, Register::RAX, Register::R9))?;
            asm.put(Instruction::with2(Code::Mov_r64_rm64, Register::R9, Register::RAX))?;
            asm.put(Instruction::with2(Code::Shr_rm64_imm8, Register::R9, 32))?;
            Ok((is_set, true))
        }
        ScalarForm::Field => {
            load(asm, &NARROW, NARROW.b, it.b)?;
            asm.put(Instruction::with3(either(Code::VEX_Shrx_r32_rm32_r32, Code::VEX_Shrx_r64_rm64_r64), a, a, b))?;
            asm.put(Instruction::with2(Code::Shr_rm32_imm8, NARROW.b, 16))?;
            // What is as long as the register, or longer, stays as it is.
            asm.put(Instruction::with2(Code::And_rm32_imm32, NARROW.b, 127))?;
            asm.put(Instruction::with3(either(Code::VEX_Bzhi_r32_rm32_r32, Code::VEX_Bzhi_r64_rm64_r64), a, a, b))?;
            asm.put(Instruction::with2(test, a, a))?;
            Ok((is_set, true))
        }
        ScalarForm::SignedField { at, width } => {
            if !it.wide {
                asm.put(Instruction::with2(Code::Movsxd_r64_rm32, Register::RAX, Register::EAX))?;
            }
            asm.put(Instruction::with2(Code::Sar_rm64_imm8, Register::RAX, u32::from(at)))?;
            match 64u32.saturating_sub(width.into()) {
                64 => asm.put(Instruction::with2(Code::Xor_r32_rm32, Register::EAX, Register::EAX))?,
                above => {
                    asm.put(Instruction::with2(Code::Shl_rm64_imm8, Register::RAX, above))?;
                    asm.put(Instruction::with2(Code::Sar_rm64_imm8, Register::RAX, above))?;
                }
            }
            asm.put(Instruction::with2(test, a, a))?;
            Ok((is_set, true))
        }
        ScalarForm::Ones => {
            load(asm, &NARROW, NARROW.b, it.b)?;
            let (more, shift) =
                if it.wide { (MORE, Code::VEX_Shlx_r64_rm64_r64) } else { (MORE32, Code::VEX_Shlx_r32_rm32_r32) };
            asm.put(Instruction::with2(Code::Mov_r32_imm32, MORE32, 1))?;
            asm.put(Instruction::with3(shift, more, more, a))?;
            asm.put(Instruction::with1(either(Code::Dec_rm32, Code::Dec_rm64), more))?;
            asm.put(Instruction::with3(shift, a, more, b))?;
            Ok((None, true))
        }
        ScalarForm::TestBit(one) => {
            load(asm, &NARROW, NARROW.b, it.b)?;
            asm.put(Instruction::with2(either(Code::Bt_rm32_r32, Code::Bt_rm64_r64), a, b))?;
            Ok((Some(if one { Code::Setb_rm8 } else { Code::Setae_rm8 }), false))
        }
        ScalarForm::SetBit(one) => {
            load(asm, &NARROW, NARROW.b, it.b)?;
            let code = match one {
                false => either(Code::Btr_rm32_r32, Code::Btr_rm64_r64),
                true => either(Code::Bts_rm32_r32, Code::Bts_rm64_r64),
            };
            asm.put(Instruction::with2(code, a, b))?;
            Ok((None, true))
        }
        ScalarForm::Pack { upper_a, upper_b } => {
            load(asm, width, b, it.b)?;
            asm.put(match upper_a {
                true => Instruction::with2(Code::Shr_rm32_imm8, a, 16),
                false => Instruction::with2(Code::And_rm32_imm32, a, 0xffff),
            })?;
            asm.put(match upper_b {
                true => Instruction::with2(Code::And_rm32_imm32, b, 0xffff_0000u32),
                false => Instruction::with2(Code::Shl_rm32_imm8, b, 16),
            })?;
            asm.put(Instruction::with2(Code::Or_r32_rm32, a, b))?;
            Ok((None, true))
        }
        ScalarForm::Extend { byte } => {
            asm.put(match byte {
                true => Instruction::with2(Code::Movsx_r32_rm8, a, Register::AL),
                false => Instruction::with2(Code::Movsx_r32_rm16, a, Register::AX),
            })?;
            Ok((None, true))
        }
        ScalarForm::FirstBit { highest } => {
            let code = match highest {
                false => either(Code::Tzcnt_r32_rm32, Code::Tzcnt_r64_rm64),
                true => either(Code::Lzcnt_r32_rm32, Code::Lzcnt_r64_rm64),
            };
            asm.put(Instruction::with2(Code::Mov_r32_imm32, NARROW.b, -1))?;
            // The carry flag says that there is none.
            asm.put(Instruction::with2(code, a, a))?;
            asm.put(Instruction::with2(Code::Cmovb_r32_rm32, NARROW.a, NARROW.b))?;
            Ok((None, true))
        }
        ScalarForm::CountOnes => {
            asm.put(Instruction::with2(either(Code::Popcnt_r32_rm32, Code::Popcnt_r64_rm64), a, a))?;
            asm.put(Instruction::with2(NARROW.test, NARROW.a, NARROW.a))?;
            Ok((is_set, true))
        }
        ScalarForm::Absolute { difference } => {
            if difference {
                load(asm, width, b, it.b)?;
                asm.put(Instruction::with2(Code::Sub_r32_rm32, a, b))?;
            }
            asm.put(Instruction::with2(Code::Mov_r32_rm32, b, a))?;
            // -2^31 stays what it is.
            asm.put(Instruction::with1(Code::Neg_rm32, a))?;
            asm.put(Instruction::with2(Code::Cmovs_r32_rm32, a, b))?;
            asm.put(Instruction::with2(test, a, a))?;
            Ok((is_set, true))
        }
        _ => Err(TooLarge),
    }
}
