//! One instruction as MIR.

use luthier_isa::{
    DataType, Field, File, Flags, Format, Generation, Inst, OpcodeInfo, Operand, OperandInfo, Reg, RegRange, RegSet,
};

use super::registers;
use super::table::{Shape, Slot, Table};

/// A machine instruction in the making.
pub(super) struct Machine {
    pub opcode: &'static str,
    pub is_terminator: bool,
    pub defs: Vec<String>,
    pub operands: Vec<String>,
    /// Written and read beside the operands, with their flags.
    pub implicit: Vec<String>,
    /// A global that stands for a literal.
    pub global: Option<String>,
    /// Assembling it does not give all bits of the encoding: those without effect are LLVM's.
    pub is_normalized: bool,
    /// What memory is accessed, where MIR insists on being told.
    memory: &'static str,
}

impl Machine {
    pub fn text(&self) -> String {
        let mut out = self.defs.join(", ");
        if !out.is_empty() {
            out += " = ";
        }
        out += self.opcode;
        let mut comma = " ";
        for operand in self.operands.iter().chain(&self.implicit) {
            out += comma;
            out += operand;
            comma = ", ";
        }
        out + self.memory
    }
}

/// What stands for a literal: part of the distance from here to a global, or of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbolic {
    /// As in `target-flags(amdgpu-rel32-lo)`.
    pub flag: &'static str,
    /// The global's name in LLVM's text, without the `@`.
    pub global: String,
    pub addend: i64,
}

impl Symbolic {
    /// A number that LLVM would encode as an inline constant: the address of a global, which is to be defined so.
    fn number(literal: u32) -> Symbolic {
        Symbolic { flag: "amdgpu-abs32-lo", global: format!("literal_{literal:#010x}"), addend: 0 }
    }
    fn text(&self) -> String {
        let (sign, size) = (if self.addend < 0 { '-' } else { '+' }, self.addend.unsigned_abs());
        let addend = if size == 0 { String::new() } else { format!(" {sign} {size}") };
        format!("target-flags({}) @{}{addend}", self.flag, self.global)
    }
}

/// `target` is what a branch names, `symbol` what stands for the literal. `defined` holds the registers with a value in
/// front of the instruction, and behind it afterwards.
///
/// # Errors
/// Why MIR cannot say it.
pub(super) fn machine(
    inst: &Inst,
    target: Option<String>,
    symbol: Option<&Symbolic>,
    defined: &mut RegSet,
) -> Result<Machine, String> {
    let info = inst.info();
    if has_spare_words(inst) {
        return Err("more words for addresses than there are addresses".to_owned());
    }
    let (opcode, shape) = Table::get().find(inst).ok_or_else(|| format!("{} has no name in MIR", info.mnemonic))?;
    let mut machine = Machine {
        opcode,
        is_terminator: shape.is_terminator,
        defs: Vec::new(),
        operands: Vec::new(),
        implicit: Vec::new(),
        global: None,
        is_normalized: shape.hides(inst) || hides_destination(inst) || inst.has_invisible_bits(),
        memory: memory(info),
    };
    let mut written = Vec::new();
    let mut values = Vec::with_capacity(shape.operands.len());
    for slot in &shape.operands {
        let (def, value) = match slot {
            Slot::Source { def, mask } => (*def, widened(inst, Value::of(inst, *mask)?)),
            Slot::Tied(to) => (false, *values.get(*to).ok_or("an operand tied to a later one")?),
            Slot::Fixed(name) => (false, Value::Fixed(name)),
            Slot::Immediate(immediate) => (false, Value::Number(immediate.value(inst))),
            Slot::Target => (false, Value::Target),
        };
        values.push(value);
        let text = match value {
            Value::Register(range) if def => {
                written.extend(range.units());
                registers::tuple(range)
            }
            Value::Register(range) => undef(range.units(), defined) + &registers::tuple(range),
            Value::Fixed("none") => "$noreg".to_owned(),
            Value::Fixed(name) => format!("${}", name.to_lowercase()),
            Value::Special(name) => name.to_owned(),
            Value::Number(number) => number.to_string(),
            Value::Literal { word, needless, number } => {
                let named = symbol.cloned().or_else(|| needless.then(|| Symbolic::number(word)));
                machine.global = named.as_ref().map(|s| s.global.clone());
                named.map_or_else(|| number.to_string(), |s| s.text())
            }
            Value::Target => match &target {
                Some(target) => target.clone(),
                None => branch_words(inst)?,
            },
        };
        if def { machine.defs.push(text) } else { machine.operands.push(text) }
    }
    implicit(shape, defined, &mut machine);
    moved_register(&mut machine, shape, &values, defined);
    if let (Some(PRESERVE), [destination, ..]) = (inst.field(Field::DstUnused), &machine.defs[..])
        && !shape.operands.iter().any(|slot| matches!(slot, Slot::Tied(0)))
    {
        let undef = undef(written.iter().copied(), defined);
        machine.implicit.push(format!("implicit {undef}{destination}(tied-def 0)"));
    }
    written.into_iter().for_each(|reg| defined.insert(reg));
    Ok(machine)
}

/// The moves that M0 indexes read or keep any register from the one on that they name. LLVM wants a tuple with it; which ones
/// M0 may reach, it does not know.
fn moved_register(machine: &mut Machine, shape: &Shape, values: &[Value], defined: &RegSet) {
    let from = |value: Option<&Value>| match value {
        Some(Value::Register(range)) => {
            let last = range.first.number() == 255;
            let first = if last { Reg::vgpr(254) } else { range.first };
            Some(RegRange::new(first, 2))
        }
        _ => None,
    };
    let number = shape.operands.len() + machine.implicit.len();
    match (machine.opcode, from(values.first()), from(values.get(1))) {
        ("V_MOVRELS_B32_e32" | "V_MOVRELS_B32_e64", _, Some(source)) => {
            machine.implicit.push(format!("implicit {}{}", undef(source.units(), defined), registers::tuple(source)));
        }
        ("V_MOVRELD_B32_e32" | "V_MOVRELD_B32_e64", Some(kept), _) => {
            let (undef, kept) = (undef(kept.units(), defined), registers::tuple(kept));
            machine.implicit.push(format!("implicit-def {kept}"));
            machine.implicit.push(format!("implicit {undef}{kept}(tied-def {number})"));
        }
        _ => {}
    }
}

/// An image instruction that names its addresses one by one, with a word that names none: LLVM leaves that out.
fn has_spare_words(inst: &Inst) -> bool {
    let words = match inst.info().format {
        Format::MimgNsa => 1,
        Format::MimgNsa2 => 2,
        Format::MimgNsa3 => 3,
        _ => return false,
    };
    let further = |o: &&OperandInfo| (Field::Vaddr1..=Field::Vaddr12).contains(&o.field);
    inst.info().operands.iter().filter(further).count().div_ceil(4) < words
}

/// To have it at an even number, LLVM takes the one register of these for a pair.
fn widened(inst: &Inst, value: Value) -> Value {
    let even = matches!(inst.info().mode.target().generation(), Generation::Gfx90a | Generation::Gfx940);
    match value {
        Value::Register(range) if even && inst.info().op().is_gws() && range.count == 1 => {
            Value::Register(RegRange::new(range.first, 2))
        }
        _ => value,
    }
}

/// The destination of an SDWA comparison is VCC where a bit says so, whatever lies in its field, or where it is named.
fn hides_destination(inst: &Inst) -> bool {
    const VCC: u32 = 106;
    match (inst.info().format, inst.field(Field::Sd), inst.field(Field::Sdst)) {
        (Format::SdwaC, Some(0), code) => code != Some(0),
        (Format::SdwaC, Some(_), code) => code == Some(VCC),
        _ => false,
    }
}

/// SDWA's code for a destination that keeps the bits beside the selected part.
const PRESERVE: u32 = 2;

/// LLVM takes an instruction that does not say for one that may access anything, but image instructions have to say.
fn memory(info: &OpcodeInfo) -> &'static str {
    let (flags, format) = (info.flags, info.format.plain());
    match (matches!(format, Format::Mimg | Format::Vsample), flags.contains(Flags::LOAD), flags.contains(Flags::STORE))
    {
        (true, true, true) => " :: (load store unknown-size)",
        (true, true, false) => " :: (load unknown-size)",
        (true, false, true) => " :: (store unknown-size)",
        _ => "",
    }
}

/// The distance itself, where it is no block of the function.
fn branch_words(inst: &Inst) -> Result<String, String> {
    match inst.operand_in(Field::Simm16) {
        Some(Operand::Imm(words)) => Ok(words.to_string()),
        _ => Err("a branch with no target".to_owned()),
    }
}

fn undef(mut units: impl Iterator<Item = luthier_isa::Reg>, defined: &RegSet) -> String {
    let known = units.any(|reg| !registers::is_followed(reg) || defined.contains(reg));
    if known { String::new() } else { "undef ".to_owned() }
}

fn implicit(shape: &Shape, defined: &mut RegSet, machine: &mut Machine) {
    for name in &shape.implicit_uses {
        let units = registers::implicit_units(name);
        let undef = if units.is_empty() { String::new() } else { undef(units.iter().copied(), defined) };
        machine.implicit.push(format!("implicit {undef}${}", name.to_lowercase()));
    }
    for name in &shape.implicit_defs {
        machine.implicit.push(format!("implicit-def ${}", name.to_lowercase()));
        registers::implicit_units(name).iter().for_each(|&reg| defined.insert(reg));
    }
}

#[derive(Clone, Copy)]
enum Value {
    Register(RegRange),
    Special(&'static str),
    Fixed(&'static str),
    Number(i64),
    Literal { word: u32, needless: bool, number: i64 },
    Target,
}

impl Value {
    /// The operand that lies in some of these bits.
    fn of(inst: &Inst, mask: u128) -> Result<Value, String> {
        let info = inst.info();
        let common = |operand: &&OperandInfo| -> u32 {
            let pieces = info.layout().iter().filter(|(field, ..)| *field == operand.field);
            pieces.map(|(_, low, width)| (mask >> (*low % 128) & ((1 << width) - 1)).count_ones()).sum()
        };
        // A bit may bear on two operands: the destinations of a dual operation lie in different halves of the register file,
        // and only the first one's number is whole.
        let encoded = info.operands.iter().filter(|operand| operand.fixed.is_none()).rev();
        let operand = encoded
            .max_by_key(common)
            .filter(|operand| common(operand) > 0)
            .ok_or_else(|| format!("{}: no operand lies in the bits {mask:#x}", info.mnemonic))?;
        let ty = if operand.ty == DataType::None { DataType::B32 } else { operand.ty };
        Ok(match inst.operand(operand) {
            Operand::Reg(range) => Value::Register(range),
            Operand::Special(code) => {
                Value::Special(registers::special(code, operand.units).ok_or("a source that MIR has no name for")?)
            }
            Operand::Imm(number) => Value::Number(number),
            value @ Operand::Inline(_) => Value::Number(constant(value, ty)?),
            Operand::Literal64(_) if is_vop3(info) => {
                return Err("a literal of 64 bits where LLVM encodes one of 32".to_owned());
            }
            Operand::Literal64(value) => wide(value, operand)?,
            Operand::Literal(word) if becomes_longer(info, word, operand, ty) => {
                return Err("a literal of 32 bits that LLVM would make longer".to_owned());
            }
            Operand::Literal(word) => {
                let number = if ty == DataType::F64 { i64::from(word) << 32 } else { i64::from(word) };
                Value::Literal { word, needless: is_needless(word, operand, ty), number }
            }
        })
    }
}

fn is_vop3(info: &OpcodeInfo) -> bool {
    matches!(info.format.plain(), Format::Vop3a | Format::Vop3b | Format::Vop3p)
}

/// Where literals of 64 bits exist, LLVM takes one for each number that the sign would change, and for each address.
fn becomes_longer(info: &OpcodeInfo, word: u32, operand: &OperandInfo, ty: DataType) -> bool {
    info.mode.target().generation() == Generation::Gfx1250
        && operand.units == 2
        && (is_needless(word, operand, ty) || ty != DataType::F64 && !is_vop3(info) && i32::try_from(word).is_err())
}

/// A literal of 64 bits. LLVM makes it shorter where it can.
fn wide(value: u64, operand: &OperandInfo) -> Result<Value, String> {
    let ty = match operand.ty {
        DataType::None if operand.units == 2 => DataType::B64,
        ty => ty,
    };
    let inline = |code| Operand::Inline(code).bits(ty) == Some(value);
    let shorter = (128..=208).chain(240..=248).any(inline)
        || match ty {
            DataType::F64 => value as u32 == 0,
            // What is the same with or without a sign.
            DataType::B64 | DataType::I64 => value <= i32::MAX as u64,
            _ => return Err("a literal of 64 bits where the operation has fewer".to_owned()),
        };
    match shorter {
        true => Err("a literal of 64 bits that LLVM would make shorter".to_owned()),
        false => Ok(Value::Number(value as i64)),
    }
}

/// The number whose encoding is this inline constant: integers with their sign.
fn constant(value: Operand, ty: DataType) -> Result<i64, String> {
    match value {
        Operand::Inline(code @ 128..=192) => Ok(i64::from(code) - 128),
        Operand::Inline(code @ 193..=208) => Ok(192 - i64::from(code)),
        _ => value.bits(ty).map(|bits| bits as i64).ok_or_else(|| "a constant with no value".to_owned()),
    }
}

/// LLVM encodes a number as an inline constant where it can.
fn is_needless(word: u32, operand: &OperandInfo, ty: DataType) -> bool {
    operand.file != File::Immediate
        && [(128..=208), (240..=248)]
            .into_iter()
            .flatten()
            .any(|code| Operand::Inline(code).bits(ty) == Operand::Literal(word).bits(ty))
}
