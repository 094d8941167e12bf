//! The globals of a module that a user brings: which of them are memory that lasts, and which travel with the code.
//!
//! A *variable* can change: each use of the library has one of it, whatever hooks are compiled from it, so that in a
//! hook's own module it is declared only. What cannot change is copied into the template.

use std::collections::HashSet;

use inkwell::{
    GlobalVisibility,
    module::{Linkage, Module},
    values::{AsValueRef, BasicValueEnum, GlobalValue},
};
use llvm_sys::core::{
    LLVMAddGlobalInAddressSpace, LLVMConstAddrSpaceCast, LLVMDeleteGlobal, LLVMGetBasicBlockParent, LLVMGetFirstUse,
    LLVMGetInstructionParent, LLVMGetNextUse, LLVMGetPointerAddressSpace, LLVMGetUser, LLVMGetValueName2,
    LLVMGlobalGetValueType, LLVMIsAConstant, LLVMIsAInstruction, LLVMReplaceAllUsesWith, LLVMSetInitializer,
    LLVMSetValueName2, LLVMTypeOf,
};
use llvm_sys::prelude::LLVMValueRef;

const GLOBAL: u32 = 1;
pub const LDS: u32 = 3;
const CONSTANT: u32 = 4;

/// HIP has two variables of each managed one: its memory, which is named so, and a pointer to that.
const MANAGED: &str = ".managed";

/// What the compiler marks a module with, so that its builds for several processors can be told to belong together.
pub const IDENTITY: &str = "__hip_cuid_";

pub fn name_of(global: GlobalValue<'_>) -> String {
    global.get_name().to_string_lossy().into_owned()
}

pub fn address_space(global: GlobalValue<'_>) -> u32 {
    // SAFETY: a global of a live module has a pointer type.
    unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(global.as_value_ref())) }
}

/// Memory of the device that lasts: what the host or a hook may change.
pub fn is_variable<'c>(module: &Module<'c>, global: GlobalValue<'c>) -> bool {
    let name = name_of(global);
    !global.is_declaration()
        && matches!(address_space(global), GLOBAL | CONSTANT)
        && !name.starts_with("llvm.")
        && !name.starts_with(IDENTITY)
        && managed(module, global).is_none()
        && (!global.is_constant() || global.is_externally_initialized())
}

/// The memory of a managed variable, if the global is the pointer to it.
fn managed<'c>(module: &Module<'c>, global: GlobalValue<'c>) -> Option<GlobalValue<'c>> {
    module.get_global(&format!("{}{MANAGED}", name_of(global)))
}

/// The name that a variable's user knows it by, and whether it is a managed one.
pub fn spoken(name: &str) -> (&str, bool) {
    name.strip_suffix(MANAGED).map_or((name, false), |name| (name, true))
}

/// Takes out what only keeps other things alive.
pub fn forget_uses(module: &Module<'_>) {
    for name in ["llvm.used", "llvm.compiler.used"] {
        if let Some(global) = module.get_global(name) {
            // SAFETY: nothing refers to these two.
            unsafe { LLVMDeleteGlobal(global.as_value_ref()) };
        }
    }
}

/// Makes pointers to managed variables constants, as the memory lies where the variable does.
pub fn settle_managed(module: &Module<'_>) {
    for global in module.get_globals().collect::<Vec<_>>() {
        let Some(memory) = managed(module, global) else { continue };
        let Some(BasicValueEnum::PointerValue(null)) = global.get_initializer() else { continue };
        // SAFETY: the cast is to the type that the initializer has.
        unsafe {
            let to = LLVMTypeOf(null.as_value_ref());
            let mut address = memory.as_pointer_value().as_value_ref();
            if LLVMTypeOf(address) != to {
                address = LLVMConstAddrSpaceCast(address, to);
            }
            LLVMSetInitializer(global.as_value_ref(), address);
        }
        global.set_constant(true);
        global.set_externally_initialized(false);
        global.set_linkage(Linkage::Internal);
    }
}

/// Leaves only declarations of the variables, which are somewhere else.
pub fn declare_variables(module: &Module<'_>) {
    for global in module.get_globals().filter(|g| is_variable(module, *g)).collect::<Vec<_>>() {
        let (name, space, alignment) = (name_of(global), address_space(global), global.get_alignment());
        // SAFETY: the new global has the old one's type and address space, and takes its name.
        let declared = unsafe {
            let old = global.as_value_ref();
            let ty = LLVMGlobalGetValueType(old);
            let new = LLVMAddGlobalInAddressSpace(module.as_mut_ptr(), ty, c"".as_ptr(), space);
            LLVMReplaceAllUsesWith(old, new);
            LLVMDeleteGlobal(old);
            LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
            GlobalValue::new(new)
        };
        declared.set_alignment(alignment.max(1));
    }
}

/// Resolved in the object that a hook is placed in, so that they are addressed relative to the PC.
pub fn hide_declarations(module: &Module<'_>) {
    for global in module.get_globals().filter(|g| g.is_declaration()) {
        global.set_linkage(Linkage::External);
        global.set_visibility(GlobalVisibility::Hidden);
    }
}

/// An instruction of one of these functions that uses the global.
pub fn use_in(global: GlobalValue<'_>, functions: &HashSet<String>) -> Option<LLVMValueRef> {
    let mut seen = HashSet::new();
    let mut work = vec![global.as_value_ref()];
    while let Some(value) = work.pop() {
        for user in users(value) {
            // SAFETY: users of a live module's values.
            unsafe {
                if !LLVMIsAInstruction(user).is_null() {
                    let function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
                    let mut len = 0;
                    let name = LLVMGetValueName2(function, &raw mut len);
                    let name = std::slice::from_raw_parts(name.cast::<u8>(), len);
                    if functions.contains(String::from_utf8_lossy(name).as_ref()) {
                        return Some(user);
                    }
                } else if !LLVMIsAConstant(user).is_null() && seen.insert(user) {
                    work.push(user);
                }
            }
        }
    }
    None
}

/// What uses a value.
pub fn users(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut found = Vec::new();
    // SAFETY: the value belongs to a live module; the list of its uses ends with null.
    unsafe {
        let mut at = LLVMGetFirstUse(value);
        while !at.is_null() {
            found.push(LLVMGetUser(at));
            at = LLVMGetNextUse(at);
        }
    }
    found
}
