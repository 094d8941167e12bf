//! Signs of zeros that LLVM's code generator would lose.
//!
//! - Of a comparison and a choice between what is compared it makes a minimum or a maximum where one side is no NaN. Python's
//!   `max(-0.0, 0.0)` is the first of two equals; the instruction's is 0.0. So floats are chosen by their bits here.
//! - Of a product that is rounded to f16 it makes a mixed multiplication that adds 0.0, which -0.0 does not survive. To add
//!   -0.0 changes nothing, so that is what is added here.

use inkwell::{
    builder::{Builder, BuilderError},
    context::Context,
    intrinsics::Intrinsic,
    module::Module,
    types::{FloatType, IntType},
    values::{AsValueRef, BasicValueEnum, FloatValue, InstructionOpcode, InstructionValue},
};
use llvm_sys::core::LLVMReplaceAllUsesWith;

/// Rewrites every such choice and every such product.
pub fn keep<'c>(cx: &'c Context, module: &Module<'c>) -> Result<(), BuilderError> {
    let builder = cx.create_builder();
    for function in module.get_functions() {
        for block in function.get_basic_block_iter() {
            let mut next = block.get_first_instruction();
            while let Some(old) = next {
                next = old.get_next_instruction();
                builder.position_before(&old);
                let new = match old.get_opcode() {
                    InstructionOpcode::Select => choice(cx, &builder, old)?,
                    InstructionOpcode::FPTrunc => product(cx, module, &builder, old)?,
                    _ => None,
                };
                if let Some(new) = new {
                    // SAFETY: both are values of one module and of one type; nothing uses the old one afterwards.
                    unsafe { LLVMReplaceAllUsesWith(old.as_value_ref(), new.as_value_ref()) };
                    old.erase_from_basic_block();
                }
            }
        }
    }
    Ok(())
}

fn operand(of: InstructionValue<'_>, index: u32) -> Option<BasicValueEnum<'_>> {
    of.get_operand(index)?.value()
}

fn float(of: InstructionValue<'_>, index: u32) -> Option<FloatValue<'_>> {
    match operand(of, index) {
        Some(BasicValueEnum::FloatValue(value)) => Some(value),
        _ => None,
    }
}

/// The integers with as many bits.
fn bits<'c>(cx: &'c Context, of: FloatType<'c>) -> Option<IntType<'c>> {
    let types = [(cx.f16_type(), cx.i16_type()), (cx.f32_type(), cx.i32_type()), (cx.f64_type(), cx.i64_type())];
    types.into_iter().find(|(float, _)| *float == of).map(|(_, int)| int)
}

fn choice<'c>(
    cx: &'c Context,
    builder: &Builder<'c>,
    old: InstructionValue<'c>,
) -> Result<Option<FloatValue<'c>>, BuilderError> {
    let (Some(BasicValueEnum::IntValue(condition)), Some(yes), Some(no)) =
        (operand(old, 0), float(old, 1), float(old, 2))
    else {
        return Ok(None);
    };
    let compares = condition.as_instruction().is_some_and(|from| from.get_opcode() == InstructionOpcode::FCmp);
    let Some(int) = bits(cx, yes.get_type()).filter(|_| compares) else { return Ok(None) };
    let (yes_bits, no_bits) = (builder.build_bit_cast(yes, int, "bits")?, builder.build_bit_cast(no, int, "bits")?);
    let chosen = builder.build_select(condition, yes_bits, no_bits, "chosen")?;
    match builder.build_bit_cast(chosen, yes.get_type(), "chosen")? {
        BasicValueEnum::FloatValue(chosen) => Ok(Some(chosen)),
        _ => Ok(None),
    }
}

fn product<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    builder: &Builder<'c>,
    old: InstructionValue<'c>,
) -> Result<Option<FloatValue<'c>>, BuilderError> {
    let single = cx.f32_type();
    let Some(product) = float(old, 0).filter(|value| value.get_type() == single) else { return Ok(None) };
    let Some(from) = product.as_instruction().filter(|from| from.get_opcode() == InstructionOpcode::FMul) else {
        return Ok(None);
    };
    let (Some(a), Some(b)) = (float(from, 0), float(from, 1)) else { return Ok(None) };
    let Some(fma) = Intrinsic::find("llvm.fma").and_then(|i| i.get_declaration(module, &[single.into()])) else {
        return Ok(None);
    };
    let nothing = single.const_float(-0.0);
    let call = builder.build_call(fma, &[a.into(), b.into(), nothing.into()], "product")?;
    match call.try_as_basic_value().basic() {
        Some(BasicValueEnum::FloatValue(sum)) => Ok(Some(builder.build_float_trunc(sum, cx.f16_type(), "half")?)),
        _ => Ok(None),
    }
}
