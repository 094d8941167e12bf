//! A hook's stack: memory of each lane, above the application's, for what LLVM cannot keep in registers.
//!
//! All functions are inlined, so that it is known how large the stack is and where everything lies in it. What LLVM would
//! put on a stack of its own becomes an offset from one uniform argument instead, where the stack begins in the lane's
//! scratch: LLVM sees no frame, needs no registers for one, and placement gives that argument a number.

use inkwell::{
    builder::{Builder, BuilderError},
    context::Context,
    module::{Linkage, Module},
    targets::TargetData,
    types::BasicTypeEnum,
    values::{
        AsValueRef, BasicValueEnum, CallSiteValue, FunctionValue, InstructionOpcode, InstructionValue, PointerValue,
    },
};
use llvm_sys::core::{LLVMGetAlignment, LLVMReplaceAllUsesWith};

use super::{
    lower::entry::{ENTRY, STACK},
    place,
    refusal::Refusal,
};
use crate::template::Place;

/// The section of the object that says how many bytes the stack has.
pub const SECTION: &str = ".luthier.stack";
/// Where a stack begins is a multiple of this, and so is its size.
pub const ALIGN: u64 = 16;
/// As much as a lane can ever have.
const MOST: u64 = 1 << 17;

/// Makes the part's allocations offsets from its argument for them.
pub fn lower<'c>(cx: &'c Context, module: &Module<'c>, data: &TargetData) -> Result<(), Refusal> {
    let Some(part) = module.get_function(ENTRY) else { return Ok(()) };
    let allocations: Vec<InstructionValue<'c>> = instructions(part, InstructionOpcode::Alloca).collect();
    if allocations.is_empty() {
        return Ok(());
    }
    let stack = part.get_param_iter().find(|p| name(*p) == STACK).ok_or("the part has no argument for a stack")?;
    let builder = cx.create_builder();
    let start = start(cx, &builder, part, stack).map_err(|e| e.to_string())?;
    let places: Vec<Option<Place>> = allocations.iter().map(|allocation| place::of_variable(*allocation)).collect();
    forget_lifetimes(part);
    let mut size = 0u64;
    for (allocation, place) in allocations.into_iter().zip(places) {
        let ty = allocation.get_allocated_type().map_err(|e| e.to_string())?;
        let count = match allocation.get_operand(0).and_then(|o| o.value()) {
            Some(BasicValueEnum::IntValue(count)) => count.get_zero_extended_constant(),
            _ => Some(1),
        };
        let bytes = count.and_then(|count| count.checked_mul(size_of(data, ty)));
        let Some(bytes) = bytes else {
            return Err(Refusal::at(place, "the hook has an array whose size is known only as it runs"));
        };
        // SAFETY: an allocation of a live module.
        let align = u64::from(unsafe { LLVMGetAlignment(allocation.as_value_ref()) });
        if align > ALIGN {
            let what = format!("the hook has a variable aligned to {align} bytes: its stack is aligned to {ALIGN}");
            return Err(Refusal::at(place, what));
        }
        let at = size.next_multiple_of(align.max(1));
        size = at.checked_add(bytes).filter(|size| *size <= MOST).ok_or_else(|| {
            let what =
                format!("the hook needs a stack of more than {MOST} bytes for each lane, which no processor has");
            Refusal::at(place, what)
        })?;
        builder.position_before(&allocation);
        let offset = cx.i32_type().const_int(at, false);
        // SAFETY: the type of a byte fits any offset.
        let local = unsafe { builder.build_in_bounds_gep(cx.i8_type(), start, &[offset], "local") };
        let local = local.map_err(|e| e.to_string())?;
        // SAFETY: both are pointers to scratch in one module.
        unsafe { LLVMReplaceAllUsesWith(allocation.as_value_ref(), local.as_value_ref()) };
        allocation.erase_from_basic_block();
    }
    let size = size.next_multiple_of(ALIGN);
    let noted = module.add_global(cx.i32_type(), None, "luthier.stack");
    noted.set_initializer(&cx.i32_type().const_int(size, false));
    noted.set_constant(true);
    noted.set_linkage(Linkage::External);
    noted.set_section(Some(SECTION));
    Ok(())
}

/// The pointer to where the stack begins, made first of all.
fn start<'c>(
    cx: &'c Context,
    builder: &Builder<'c>,
    part: FunctionValue<'c>,
    stack: BasicValueEnum<'c>,
) -> Result<PointerValue<'c>, BuilderError> {
    if let Some(first) = part.get_first_basic_block().and_then(|block| block.get_first_instruction()) {
        builder.position_before(&first);
    }
    let scratch = cx.ptr_type(inkwell::AddressSpace::from(5));
    builder.build_int_to_ptr(stack.into_int_value(), scratch, "stack")
}

/// Where a variable's life begins and ends can be said of allocations only.
fn forget_lifetimes(part: FunctionValue<'_>) {
    let calls: Vec<InstructionValue<'_>> = instructions(part, InstructionOpcode::Call).collect();
    for call in calls {
        let callee = CallSiteValue::try_from(call).ok().and_then(CallSiteValue::get_called_fn_value);
        if callee.is_some_and(|f| f.get_name().to_bytes().starts_with(b"llvm.lifetime.")) {
            call.erase_from_basic_block();
        }
    }
}

fn instructions(part: FunctionValue<'_>, which: InstructionOpcode) -> impl Iterator<Item = InstructionValue<'_>> {
    let all = part.get_basic_block_iter().flat_map(|block| block.get_instructions());
    all.filter(move |inst| inst.get_opcode() == which)
}

fn size_of(data: &TargetData, ty: BasicTypeEnum<'_>) -> u64 {
    data.get_abi_size(&ty)
}

fn name(value: BasicValueEnum<'_>) -> String {
    match value {
        BasicValueEnum::IntValue(value) => value.get_name().to_string_lossy().into_owned(),
        _ => String::new(),
    }
}
