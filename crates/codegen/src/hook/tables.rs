//! Local arrays that are indexed by what is not known in advance.
//!
//! LLVM keeps small arrays in registers and reaches an element by register indexing, which changes MODE or M0, goes round
//! once for every different index, and names no register that a renaming could change. Here every access compares the index
//! with all positions instead; one out of range reads the first element and writes none.

use inkwell::{
    IntPredicate,
    builder::{Builder, BuilderError},
    context::Context,
    module::Module,
    values::{AsValueRef, BasicValueEnum, InstructionOpcode, InstructionValue, IntValue, VectorValue},
};
use llvm_sys::core::LLVMReplaceAllUsesWith;

/// Replaces every access to an element whose number is not a constant.
pub fn expand(cx: &Context, module: &Module<'_>) -> Result<(), BuilderError> {
    let builder = cx.create_builder();
    let at = Access { cx, builder: &builder };
    for function in module.get_functions() {
        for block in function.get_basic_block_iter() {
            let mut next = block.get_first_instruction();
            while let Some(old) = next {
                next = old.get_next_instruction();
                builder.position_before(&old);
                let new = match old.get_opcode() {
                    InstructionOpcode::ExtractElement => at.extract(old)?,
                    InstructionOpcode::InsertElement => at.insert(old)?,
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

/// The index, if it is not a constant.
fn variable(value: Option<BasicValueEnum<'_>>) -> Option<IntValue<'_>> {
    match value {
        Some(BasicValueEnum::IntValue(index)) if !index.is_const() => Some(index),
        _ => None,
    }
}

fn vector(value: Option<BasicValueEnum<'_>>) -> Option<(VectorValue<'_>, u32)> {
    match value {
        Some(BasicValueEnum::VectorValue(vector)) => Some((vector, vector.get_type().get_size())),
        _ => None,
    }
}

/// Writes what stands for one access.
struct Access<'a, 'c> {
    cx: &'c Context,
    builder: &'a Builder<'c>,
}

impl<'c> Access<'_, 'c> {
    fn number(&self, n: u32) -> IntValue<'c> {
        self.cx.i32_type().const_int(n.into(), false)
    }

    /// `yes` if the index is `n`, else `no`.
    fn chosen(
        &self,
        index: IntValue<'c>,
        n: u32,
        yes: BasicValueEnum<'c>,
        no: BasicValueEnum<'c>,
    ) -> Result<BasicValueEnum<'c>, BuilderError> {
        let n = index.get_type().const_int(n.into(), false);
        let here = self.builder.build_int_compare(IntPredicate::EQ, index, n, "here")?;
        self.builder.build_select(here, yes, no, "chosen")
    }

    fn extract(&self, old: InstructionValue<'c>) -> Result<Option<BasicValueEnum<'c>>, BuilderError> {
        let (Some((from, len)), Some(index)) = (vector(operand(old, 0)), variable(operand(old, 1))) else {
            return Ok(None);
        };
        let mut value = self.builder.build_extract_element(from, self.number(0), "first")?;
        for n in 1..len {
            let element = self.builder.build_extract_element(from, self.number(n), "element")?;
            value = self.chosen(index, n, element, value)?;
        }
        Ok(Some(value))
    }

    fn insert(&self, old: InstructionValue<'c>) -> Result<Option<BasicValueEnum<'c>>, BuilderError> {
        let (Some((from, len)), Some(new), Some(index)) =
            (vector(operand(old, 0)), operand(old, 1), variable(operand(old, 2)))
        else {
            return Ok(None);
        };
        let mut changed = from;
        for n in 0..len {
            let element = self.builder.build_extract_element(from, self.number(n), "element")?;
            let element = self.chosen(index, n, new, element)?;
            changed = self.builder.build_insert_element(changed, element, self.number(n), "changed")?;
        }
        Ok(Some(changed.into()))
    }
}
