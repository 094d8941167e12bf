//! The assembly text of an instruction, as llvm-objdump prints it.
use crate::Inst;
use std::fmt;
pub fn print(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(inst.info().mnemonic)
}
