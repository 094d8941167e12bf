//! A function's instructions, and what its calls call.

use inkwell::values::{AsValueRef, FunctionValue, InstructionValue};
use llvm_sys::core::{
    LLVMGetCalledValue, LLVMGetInlineAsmAsmString, LLVMGetInlineAsmConstraintString, LLVMGetValueName2,
    LLVMIsAFunction, LLVMIsAInlineAsm,
};

pub fn instructions(function: FunctionValue<'_>) -> impl Iterator<Item = InstructionValue<'_>> {
    let blocks = function.get_basic_block_iter();
    blocks.flat_map(|block| std::iter::successors(block.get_first_instruction(), |i| i.get_next_instruction()))
}

/// What a call calls.
pub enum Callee {
    Function(String),
    Assembly { text: String, constraints: String },
    Pointer,
}

pub fn callee(call: InstructionValue<'_>) -> Callee {
    // SAFETY: the value is a call of a live module; the strings belong to it and are copied at once.
    unsafe {
        let callee = LLVMGetCalledValue(call.as_value_ref());
        let mut len = 0;
        let copied = |from: *const std::ffi::c_char, len: usize| {
            String::from_utf8_lossy(std::slice::from_raw_parts(from.cast(), len)).into_owned()
        };
        if !LLVMIsAInlineAsm(callee).is_null() {
            let text = LLVMGetInlineAsmAsmString(callee, &raw mut len);
            let text = copied(text, len);
            let constraints = LLVMGetInlineAsmConstraintString(callee, &raw mut len);
            Callee::Assembly { text, constraints: copied(constraints, len) }
        } else if !LLVMIsAFunction(callee).is_null() {
            let name = LLVMGetValueName2(callee, &raw mut len);
            Callee::Function(copied(name, len))
        } else {
            Callee::Pointer
        }
    }
}
