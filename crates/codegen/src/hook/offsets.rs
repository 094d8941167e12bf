//! Constant offsets from device variables, folded into relocations.
//!
//! LLVM computes `counts + 56` as the address of `counts` and then an addition of two instructions. Renaming the variable
//! `counts` to a variable that lies 56 bytes on makes the offset part of the relocation's addend, for nothing. That pays
//! where a variable is used with one offset only; where it is used with several, they had better share the address.

use inkwell::{
    module::Module,
    values::{AsValueRef, BasicValueEnum, GlobalValue},
};
use llvm_sys::{
    LLVMOpcode, LLVMValueKind,
    core::{
        LLVMConstIntGetSExtValue, LLVMGetConstOpcode, LLVMGetFirstUse, LLVMGetGEPSourceElementType,
        LLVMGetIntTypeWidth, LLVMGetNextUse, LLVMGetNumOperands, LLVMGetOperand, LLVMGetTypeKind, LLVMGetUser,
        LLVMGetValueKind, LLVMReplaceAllUsesWith,
    },
    prelude::LLVMValueRef,
};

use super::globals::address_space;

const MARK: &str = "+";

/// Renames every variable that is used at one constant offset only.
pub fn fold(module: &Module<'_>) {
    for global in module.get_globals().filter(|g| g.is_declaration()).collect::<Vec<_>>() {
        let BasicValueEnum::PointerValue(pointer) = global.as_pointer_value().into() else { continue };
        if let Some((expr, offset)) = only_use(pointer.as_value_ref()) {
            let name = format!("{}{MARK}{offset}", global.get_name().to_string_lossy());
            let moved = declare_like(module, global, &name);
            // SAFETY: both are pointers into the same address space, in the same module.
            unsafe { LLVMReplaceAllUsesWith(expr, moved.as_pointer_value().as_value_ref()) };
        }
    }
}

/// The variable and the offset in a name that [`fold`] may have made.
pub fn split(name: &str) -> (&str, i64) {
    match name.rsplit_once(MARK).map(|(base, offset)| (base, offset.parse())) {
        Some((base, Ok(offset))) => (base, offset),
        _ => (name, 0),
    }
}

fn declare_like<'c>(module: &Module<'c>, global: GlobalValue<'c>, name: &str) -> GlobalValue<'c> {
    let space = inkwell::AddressSpace::from(address_space(global) as u16);
    let moved = module.add_global(module.get_context().i8_type().array_type(0), Some(space), name);
    moved.set_linkage(global.get_linkage());
    moved.set_visibility(global.get_visibility());
    moved
}

/// The constant `variable + offset`, if all uses of the variable are in that one.
fn only_use(variable: LLVMValueRef) -> Option<(LLVMValueRef, i64)> {
    // SAFETY: the values belong to a live module, and each function is called on a value of the kind it is for.
    unsafe {
        let first = LLVMGetFirstUse(variable);
        if first.is_null() || !LLVMGetNextUse(first).is_null() {
            return None;
        }
        let user = LLVMGetUser(first);
        if LLVMGetValueKind(user) != LLVMValueKind::LLVMConstantExprValueKind
            || LLVMGetConstOpcode(user) != LLVMOpcode::LLVMGetElementPtr
            || LLVMGetNumOperands(user) != 2
        {
            return None;
        }
        let element = LLVMGetGEPSourceElementType(user);
        let index = LLVMGetOperand(user, 1);
        let bytes = match LLVMGetTypeKind(element) {
            llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind => i64::from(LLVMGetIntTypeWidth(element)) / 8,
            _ => return None,
        };
        if LLVMGetValueKind(index) != LLVMValueKind::LLVMConstantIntValueKind {
            return None;
        }
        let offset = LLVMConstIntGetSExtValue(index).checked_mul(bytes)?;
        i32::try_from(offset).ok().filter(|o| *o >= 0)?;
        Some((user, offset))
    }
}
