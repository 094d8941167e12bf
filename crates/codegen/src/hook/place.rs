//! Where in the source something in a module is, for what is said of it: its debug information tells.
//!
//! A place travels in front of a sentence, so that all that can fail needs no more than a sentence for its error.

use inkwell::values::{AsValueRef, FunctionValue, InstructionValue};
use llvm_sys::{
    core::{
        LLVMGetCalledValue, LLVMGetDebugLocColumn, LLVMGetDebugLocFilename, LLVMGetDebugLocLine, LLVMGetValueName2,
        LLVMIsACallInst, LLVMIsAInstruction,
    },
    debuginfo::{LLVMDIFileGetFilename, LLVMDIScopeGetFile, LLVMDISubprogramGetLine, LLVMGetSubprogram},
    prelude::LLVMValueRef,
};

use super::{ast::At, code::Code, globals::users};

/// What stands around a place in front of what is to be said of it: no text has it.
const MARK: char = '\u{1}';

/// Where an instruction is; nothing if that is not known, here as below.
pub fn of(inst: InstructionValue<'_>) -> String {
    of_instruction(inst.as_value_ref())
}

/// The same of a value that is known to be an instruction.
pub fn of_instruction(inst: LLVMValueRef) -> String {
    // SAFETY: the value is an instruction of a live module, whose file names live as long.
    unsafe {
        let line = LLVMGetDebugLocLine(inst);
        let mut len = 0;
        let name = LLVMGetDebugLocFilename(inst, &raw mut len);
        if name.is_null() {
            return String::new();
        }
        let name = std::slice::from_raw_parts(name.cast(), len as usize);
        marked(&String::from_utf8_lossy(name), line, LLVMGetDebugLocColumn(inst))
    }
}

/// Where a variable on the stack is declared: its allocation has no place of its own, but its life begins there.
pub fn of_variable(allocation: InstructionValue<'_>) -> String {
    let own = of(allocation);
    if !own.is_empty() {
        return own;
    }
    let mut users = users(allocation.as_value_ref());
    // SAFETY: users of a value of a live module.
    users.retain(|user| unsafe { !LLVMIsAInstruction(*user).is_null() });
    let life = users.iter().copied().find(|user| begins_life(*user));
    // The list has the last one first.
    let found = life.into_iter().chain(users.iter().rev().copied()).map(of_instruction);
    found.into_iter().find(|place| !place.is_empty()).unwrap_or_default()
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
pub fn of_function(function: FunctionValue<'_>) -> String {
    // SAFETY: a function of a live module; its file's name lives as long.
    unsafe {
        let known = LLVMGetSubprogram(function.as_value_ref());
        let file = if known.is_null() { known } else { LLVMDIScopeGetFile(known) };
        if file.is_null() {
            return String::new();
        }
        let mut len = 0;
        let name = LLVMDIFileGetFilename(file, &raw mut len);
        let name = std::slice::from_raw_parts(name.cast(), len as usize);
        marked(&String::from_utf8_lossy(name), LLVMDISubprogramGetLine(known), 0)
    }
}

/// Where an instruction of the code is.
pub fn of_code(code: &Code, inst: usize) -> String {
    let row = code.rows.get(inst).and_then(|row| code.lines.get((*row as usize).checked_sub(1)?));
    row.map(|row| marked(&row.file, row.line, row.column)).unwrap_or_default()
}

fn marked(file: &str, line: u32, column: u32) -> String {
    if line == 0 { String::new() } else { format!("{MARK}{file}{MARK}{line}{MARK}{column}{MARK}") }
}

/// What is said of a hook, and the file, line and column that it is about if they are known.
pub fn placed(said: &str) -> (Option<(&str, At)>, &str) {
    let mut parts = said.splitn(5, MARK);
    let whole = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
    let (Some(""), Some(file), Some(line), Some(column), Some(what)) = whole else { return (None, said) };
    match (line.parse(), column.parse()) {
        (Ok(line), Ok(column)) => (Some((file, (line, column))), what),
        _ => (None, said),
    }
}
