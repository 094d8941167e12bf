//! Names for what a literal is part of: the distance to a function, a variable, a slot of the global offset table.

use std::collections::HashMap;
use std::fmt::Write as _;

use luthier_isa::{Field, Operand, Reg, RegRange};

use super::instruction::Symbolic;
use crate::class::Kind;
use crate::{FuncId, InstrId, PcValue, Place, Program};

/// The literals of a function that stand for a name, by instruction: those of `s_add_u32` and `s_addc_u32` that make an
/// address out of a program counter.
pub(super) fn of(program: &Program, func: FuncId) -> HashMap<InstrId, Symbolic> {
    let instrs = program.function_instrs(func);
    let values = program.pc_values();
    let from = values.partition_point(|v| v.at < instrs.first);
    let to = values.partition_point(|v| v.at < instrs.end);
    values[from..to].iter().filter_map(|value| literals(program, value)).flatten().collect()
}

/// The two literals of the usual sequence; `None` for any other way of making an address, whose numbers stay numbers.
fn literals(program: &Program, value: &PcValue) -> Option<[(InstrId, Symbolic); 2]> {
    let (vaddr, place) = (value.vaddr?, value.place.as_ref()?);
    if program.kind(value.source) != Kind::Getpc || program.block_of(value.source) != program.block_of(value.at) {
        return None;
    }
    let high = value.at;
    let low = (value.source.0..high.0).rev().map(InstrId).find(|i| program.kind(*i) == Kind::AddU32)?;
    let own = |instr: InstrId, kind: Kind, reg: Reg| -> Option<u32> {
        let inst = program.inst(instr);
        let (range, literal) = (Operand::Reg(RegRange::new(reg, 1)), inst.literal()?);
        let fits = program.kind(instr) == kind
            && inst.operand_in(Field::Sdst) == Some(range)
            && inst.operand_in(Field::Ssrc0) == Some(range)
            && inst.operand_in(Field::Ssrc1) == Some(Operand::Literal(literal));
        fits.then_some(literal)
    };
    let (low_word, high_word) =
        (own(low, Kind::AddU32, value.pair.first)?, own(high, Kind::AddcU32, value.pair.first.offset(1))?);
    let pc = program.vaddr(value.source) + program.inst(value.source).size() as u64;
    if vaddr.wrapping_sub(pc) != u64::from(low_word) | u64::from(high_word) << 32 {
        return None;
    }
    let (got, global, offset) = name(program, vaddr, place);
    let symbolic = |instr: InstrId, flags: [&'static str; 2]| {
        // A relocation counts from the literal itself.
        let literal = program.vaddr(instr) + 4;
        let addend = offset + (literal - pc) as i64;
        (instr, Symbolic { flag: flags[usize::from(got)], global: global.clone(), addend })
    };
    Some([
        symbolic(low, ["amdgpu-rel32-lo", "amdgpu-gotprel32-lo"]),
        symbolic(high, ["amdgpu-rel32-hi", "amdgpu-gotprel32-hi"]),
    ])
}

/// Whether an address is that of a slot for a global, rather than of the global; the global, and the distance from it.
fn name(program: &Program, vaddr: u64, place: &Place) -> (bool, String, i64) {
    match place {
        Place::Function { name } => (false, global(name), 0),
        Place::Data { symbol, offset, .. } => (false, global(symbol), *offset as i64),
        Place::Code { function, offset } if program.find_function(function).is_some() => {
            (false, global(function), *offset as i64)
        }
        Place::Slot { section, names, .. } if section.starts_with(".got") && is_symbol(names) => {
            (true, global(names), 0)
        }
        _ => (false, format!("address_{vaddr:#x}"), 0),
    }
}

fn is_symbol(text: &str) -> bool {
    !text.is_empty() && !text.contains(['+', ' '])
}

/// A name as LLVM's text has it, without the `@`.
pub(super) fn global(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-$._".contains(c);
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' | 0..0x20 | 0x7f.. => {
                // Writing to a String does not fail.
                let _ = write!(out, "\\{byte:02X}");
            }
            _ => out.push(byte.into()),
        }
    }
    out.push('"');
    out
}
