//! What the first active lane has of a value that is the same in all lanes.
//!
//! What is the same in all lanes LLVM may still compute with vector instructions. It hands that to inline assembly as it is,
//! in a VGPR, though a scalar register is asked for. Where that has happened, all is compiled again with these.

use inkwell::{
    builder::{Builder, BuilderError},
    context::Context,
    intrinsics::Intrinsic,
    module::Module,
    values::{BasicValueEnum, IntValue, PointerValue},
};

/// Where the operands of assembly come from that acts for the wave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// From scalar registers, as far as LLVM keeps what all lanes share there.
    Scalars,
    /// From the first active lane.
    FirstLane,
}

/// Of 32 bits. Assembly without instructions hides from LLVM that all lanes have it.
pub fn of_word<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    builder: &Builder<'c>,
    value: IntValue<'c>,
) -> Result<IntValue<'c>, BuilderError> {
    let ty = cx.i32_type();
    let hide = ty.fn_type(&[ty.into()], false);
    let assembly = cx.create_inline_asm(hide, String::new(), "=v,0".to_owned(), false, false, None, false);
    let hidden = builder.build_indirect_call(hide, assembly, &[value.into()], "lanes")?.try_as_basic_value();
    let read = Intrinsic::find("llvm.amdgcn.readfirstlane").and_then(|i| i.get_declaration(module, &[ty.into()]));
    let (Some(hidden), Some(read)) = (hidden.basic(), read) else { return Err(BuilderError::UnsetPosition) };
    match builder.build_call(read, &[hidden.into()], "first")?.try_as_basic_value().basic() {
        Some(BasicValueEnum::IntValue(first)) => Ok(first),
        _ => Err(BuilderError::UnsetPosition),
    }
}

/// Of 64 bits.
pub fn of_pair<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    builder: &Builder<'c>,
    value: IntValue<'c>,
) -> Result<IntValue<'c>, BuilderError> {
    let width = cx.i64_type().const_int(32, false);
    let high = builder.build_right_shift(value, width, false, "above")?;
    let halves = [value, high].map(|half| {
        let half = builder.build_int_truncate(half, cx.i32_type(), "half")?;
        builder.build_int_z_extend(of_word(cx, module, builder, half)?, cx.i64_type(), "half")
    });
    let [low, high] = halves;
    builder.build_or(low?, builder.build_left_shift(high?, width, "above")?, "pair")
}

/// Of an address.
pub fn of_address<'c>(
    cx: &'c Context,
    module: &Module<'c>,
    builder: &Builder<'c>,
    value: PointerValue<'c>,
) -> Result<PointerValue<'c>, BuilderError> {
    let whole = builder.build_ptr_to_int(value, cx.i64_type(), "address")?;
    builder.build_int_to_ptr(of_pair(cx, module, builder, whole)?, value.get_type(), "address")
}
