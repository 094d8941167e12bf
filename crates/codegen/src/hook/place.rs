//! Where in the source something in a module is, for what is said of it: its debug information tells.

use inkwell::values::{AsValueRef, FunctionValue, InstructionValue};
use llvm_sys::{
    core::{
        LLVMGetCalledValue, LLVMGetDebugLocColumn, LLVMGetDebugLocFilename, LLVMGetDebugLocLine, LLVMGetValueName2,
        LLVMIsACallInst, LLVMIsAInstruction,
    },
    debuginfo::{LLVMDIFileGetFilename, LLVMDIScopeGetFile, LLVMDISubprogramGetLine, LLVMGetSubprogram},
    prelude::LLVMValueRef,
};

use super::{code::Code, globals::users};
use crate::template::Place;

/// Where an instruction is; nothing if that is not known, here as below.
pub fn of(inst: InstructionValue<'_>) -> Option<Place> {
    of_instruction(inst.as_value_ref())
}

/// The same of a value that is known to be an instruction.
pub fn of_instruction(inst: LLVMValueRef) -> Option<Place> {
    // SAFETY: the value is an instruction of a live module, whose file names live as long.
    unsafe {
        let line = LLVMGetDebugLocLine(inst);
        let mut len = 0;
        let name = LLVMGetDebugLocFilename(inst, &raw mut len);
        if name.is_null() {
            return None;
        }
        let name = std::slice::from_raw_parts(name.cast(), len as usize);
        Place::new(&String::from_utf8_lossy(name), (line, LLVMGetDebugLocColumn(inst)))
    }
}

/// Where a variable on the stack is declared: its allocation has no place of its own, but its life begins there.
pub fn of_variable(allocation: InstructionValue<'_>) -> Option<Place> {
    let own = of(allocation);
    if own.is_some() {
        return own;
    }
    let mut users = users(allocation.as_value_ref());
    // SAFETY: users of a value of a live module.
    users.retain(|user| unsafe { !LLVMIsAInstruction(*user).is_null() });
    let life = users.iter().copied().find(|user| begins_life(*user));
    // The list has the last one first.
    life.into_iter().chain(users.iter().rev().copied()).find_map(of_instruction)
}

fn begins_life(user: LLVMValueRef) -> bool {
    // SAFETY: the value is an instruction of a live module; the name belongs to it.
    unsafe {
        if LLVMIsACallInst(user).is_null() {
            return false;
        }
        let mut len = 0;
        let name = LLVMGetValueName2(LLVMGetCalledValue(user), &raw mut len);
        std::slice::from_raw_parts(name.cast::<u8>(), len).starts_with(b"llvm.lifetime.start")
    }
}

/// The line at which a function begins.
pub fn of_function(function: FunctionValue<'_>) -> Option<Place> {
    // SAFETY: a function of a live module; its file's name lives as long.
    unsafe {
        let known = LLVMGetSubprogram(function.as_value_ref());
        let file = if known.is_null() { known } else { LLVMDIScopeGetFile(known) };
        if file.is_null() {
            return None;
        }
        let mut len = 0;
        let name = LLVMDIFileGetFilename(file, &raw mut len);
        let name = std::slice::from_raw_parts(name.cast(), len as usize);
        Place::new(&String::from_utf8_lossy(name), (LLVMDISubprogramGetLine(known), 0))
    }
}

/// Where an instruction of the code is.
pub fn of_code(code: &Code, inst: usize) -> Option<Place> {
    let row = code.lines.get((*code.rows.get(inst)? as usize).checked_sub(1)?)?;
    Place::new(&row.file, (row.line, row.column))
}
