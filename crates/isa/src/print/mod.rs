//! The assembly text of an instruction, as llvm-objdump prints it.

use std::fmt::{self, Write};

use crate::{DataType, Field, File, Flags, Format, Generation, Inst, Modifiers, Operand, OperandInfo, RegRange, codes};

mod gfx10;
mod gfx11;
mod gfx12;
mod gfx1250;
mod gfx9;
mod notation;
mod rdna;
mod shared;
mod vertex;

fn generation(inst: &Inst) -> Generation {
    inst.info().mode.target().generation()
}

/// What follows the operands.
fn modifiers(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match generation(inst) {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => gfx9::modifiers(inst, f),
        Generation::Gfx11 => gfx11::modifiers(inst, f),
        Generation::Gfx10 => gfx10::modifiers(inst, f),
        Generation::Gfx12 => gfx12::modifiers(inst, f),
        Generation::Gfx1250 => gfx1250::modifiers(inst, f),
    }
}

/// An immediate that the generation has a notation for, given its operation; `None` prints it as a number.
fn notation(inst: &Inst, raw: u32) -> Option<String> {
    match generation(inst) {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => gfx9::notation(inst, raw),
        Generation::Gfx11 => gfx11::notation(inst, raw),
        Generation::Gfx10 => gfx10::notation(inst, raw),
        Generation::Gfx12 => gfx12::notation(inst, raw),
        Generation::Gfx1250 => gfx1250::notation(inst, raw),
    }
}

/// A register tuple as the generation's assembler names it.
fn register(generation: Generation, range: RegRange) -> String {
    // Where gfx9 keeps FLAT_SCRATCH and XNACK_MASK, later ones have four more SGPRs.
    let first = range.first.index();
    match range.count {
        _ if generation.is_gfx9_family() || !(102..106).contains(&first) => range.to_string(),
        1 => format!("s{first}"),
        count => format!("s[{first}:{}]", first + usize::from(count) - 1),
    }
}

/// An export's target and sources.
fn export(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match generation(inst) {
        Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 | Generation::Gfx10 => vertex::export(inst, f),
        Generation::Gfx11 | Generation::Gfx12 => gfx11::export(inst, f),
        Generation::Gfx1250 => Ok(()),
    }
}

pub fn print(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (inst, info) = (&inst.effective(), inst.info());
    if info.flags.contains(Flags::DUAL) {
        return dual(inst, f);
    }
    f.write_str(info.mnemonic)?;
    if info.format == Format::Exp {
        export(inst, f)?;
        return modifiers(inst, f);
    }
    let mut separator = " ";
    let mut put = |f: &mut fmt::Formatter<'_>, text: &dyn fmt::Display| -> fmt::Result {
        f.write_str(separator)?;
        separator = ", ";
        write!(f, "{text}")
    };
    let interpolated = vertex::interpolated(inst);
    for operand in info.operands {
        if let Some((text, _)) = interpolated.as_ref().filter(|_| operand.field == Field::Src2) {
            put(f, text)?;
        }
        if operand.field == Field::Offset && shared::has_offset_modifier(inst) {
            continue; // SMEM with both offsets: the immediate one is a modifier
        }
        if absent_address_before(inst, operand.field) {
            put(f, &"off")?;
        }
        if operand.field == Field::Simm16 && info.format == Format::Sopp {
            if let Some(text) = sopp_immediate(inst) {
                put(f, &text)?;
            }
            continue;
        }
        if is_address(operand.field) && names_addresses(inst) {
            if operand.field == Field::Vaddr {
                put(f, &addresses(inst))?;
            }
            continue;
        }
        put(f, &Shown { inst, operand })?;
    }
    // RDNA4's cache operations are global memory instructions without any address.
    let accesses = info.flags.intersects(Flags::LOAD | Flags::STORE) && !info.base.starts_with("tensor_");
    let flat = info.format == Format::Flat && accesses;
    if flat && info.flags.intersects(Flags::GLOBAL | Flags::SCRATCH) && !has(inst, Field::Saddr) {
        // Scratch at a constant offset has neither address; that of the lane's own number never has a vector one.
        if !is_by_lane(inst) && !has(inst, Field::Addr) && !has(inst, Field::Vdata) {
            put(f, &"off")?;
        }
        put(f, &"off")?;
    }
    if let Some((text, high)) = interpolated {
        if !has(inst, Field::Src2) {
            put(f, &text)?;
        }
        if high {
            f.write_str(" high")?;
        }
    }
    modifiers(inst, f)
}

/// Two operations at once, each with its own operands.
fn dual(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut names = inst.info().mnemonic.split(" :: ");
    let mut separator = "";
    for operand in inst.info().operands {
        if matches!(operand.field, Field::VdstX | Field::VdstY) {
            f.write_str(if separator.is_empty() { "" } else { " :: " })?;
            f.write_str(names.next().unwrap_or_default())?;
            separator = " ";
        }
        write!(f, "{separator}{}", Shown { inst, operand })?;
        separator = ", ";
    }
    modifiers(inst, f)
}

/// An image instruction whose address registers need not follow each other.
fn names_addresses(inst: &Inst) -> bool {
    match inst.info().format {
        Format::MimgNsa | Format::MimgNsa2 | Format::MimgNsa3 => true,
        Format::Mimg | Format::Vsample => has(inst, Field::Vaddr1),
        _ => false,
    }
}

fn is_address(field: Field) -> bool {
    field == Field::Vaddr || (Field::Vaddr1..=Field::Vaddr12).contains(&field)
}

/// `[v1, v[4:5], v3]`: address registers that need not follow each other.
fn addresses(inst: &Inst) -> String {
    let operands = inst.info().operands.iter().filter(|o| is_address(o.field));
    let names: Vec<String> = operands.map(|operand| Shown { inst, operand }.to_string()).collect();
    format!("[{}]", names.join(", "))
}

fn has(inst: &Inst, field: Field) -> bool {
    inst.info().operands.iter().any(|o| o.field == field)
}

/// Addressed by the number of the lane.
fn is_by_lane(inst: &Inst) -> bool {
    inst.info().base.contains("_addtid")
}

/// `off` stands where a vector address would.
fn absent_address_before(inst: &Inst, field: Field) -> bool {
    let info = inst.info();
    match info.format {
        Format::Mubuf | Format::Mtbuf => {
            field == Field::Srsrc && !has(inst, Field::Vaddr) && info.base != "buffer_store_lds_dword"
        }
        // scratch_load v0, off, s0 and scratch_store off, v0, s0
        Format::Flat => {
            let first = if has(inst, Field::Vdata) { Field::Vdata } else { Field::Saddr };
            field == first && !has(inst, Field::Addr) && !is_by_lane(inst) && !info.base.starts_with("tensor_")
        }
        _ => false,
    }
}

fn sopp_immediate(inst: &Inst) -> Option<String> {
    let raw = inst.field(Field::Simm16)?;
    if let Some(text) = notation(inst, raw) {
        return Some(text);
    }
    Some(match inst.info().base {
        "s_endpgm" | "s_endpgm_saved" if raw == 0 => return None,
        "s_endpgm" => raw.to_string(),
        base if base.starts_with("s_cbranch") || base == "s_branch" => raw.to_string(),
        // as inline constants are, and are not
        _ if raw <= 64 => raw.to_string(),
        _ => format!("0x{raw:x}"),
    })
}

struct Shown<'a> {
    inst: &'a Inst,
    operand: &'static OperandInfo,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inst, operand) = (self.inst, self.operand);
        let value = inst.named(operand);
        let (negative, absolute, extended) = source_modifiers(inst, operand);
        if extended {
            return write!(f, "sext({})", plain(inst, operand, value));
        }
        let constant = !matches!(value, Operand::Reg(_) | Operand::Special(_));
        let mut text = plain(inst, operand, value);
        if let Operand::Reg(meant) = inst.operand(operand)
            && value != Operand::Reg(meant)
        {
            let _ = write!(text, " /*{meant}*/");
        }
        match (negative, absolute) {
            (false, false) => f.write_str(&text),
            (true, false) if constant && !text.starts_with("lit") => write!(f, "neg({text})"),
            (true, false) => write!(f, "-{text}"),
            (false, true) => write!(f, "|{text}|"),
            (true, true) => write!(f, "-|{text}|"),
        }
    }
}

/// Negation, absolute value, sign extension of a source.
fn source_modifiers(inst: &Inst, operand: &OperandInfo) -> (bool, bool, bool) {
    let info = inst.info();
    let bit = |field: Field, at: u32| inst.field(field).unwrap_or(0) >> at & 1 != 0;
    if info.format == Format::Vopd3 && operand.modifiers == Modifiers::Float {
        let negated = match operand.field {
            Field::Src0X => bit(Field::NegX, 0),
            Field::Vsrc1X => bit(Field::NegX, 1),
            Field::Vsrc2X => bit(Field::NegX, 2),
            Field::Src0Y => bit(Field::NegY, 0),
            Field::Vsrc1Y => bit(Field::NegY, 1),
            _ => bit(Field::NegY, 2),
        };
        return (negated, false, false);
    }
    let index = match operand.field {
        Field::Src0 => 0,
        Field::Src1 | Field::Vsrc1 => 1,
        Field::Src2 => 2,
        _ => return (false, false, false),
    };
    match (operand.modifiers, info.format.plain()) {
        (Modifiers::Float, Format::Vop3a | Format::Vop3b | Format::Vinterp) => {
            (bit(Field::Neg, index), bit(Field::Abs, index), false)
        }
        (Modifiers::Float, Format::Vop3p) if info.base.contains("_mix") => {
            (bit(Field::Neg, index), bit(Field::NegHi, index), false)
        }
        (Modifiers::Float, Format::Vop1 | Format::Vop2 | Format::Vopc) => {
            let (neg, abs) =
                if index == 0 { (Field::Src0Neg, Field::Src0Abs) } else { (Field::Src1Neg, Field::Src1Abs) };
            (bit(neg, 0), bit(abs, 0), false)
        }
        (Modifiers::Sext, _) => (false, false, bit(if index == 0 { Field::Src0Sext } else { Field::Src1Sext }, 0)),
        _ => (false, false, false),
    }
}

fn plain(inst: &Inst, operand: &OperandInfo, value: Operand) -> String {
    match value {
        Operand::Reg(range) => register(generation(inst), range),
        Operand::Inline(code @ 128..=192) => (code - 128).to_string(),
        Operand::Inline(code @ 193..=208) => (192 - i32::from(code)).to_string(),
        Operand::Inline(code) => float_constant(code, operand.ty),
        Operand::Literal(word) => literal(inst, word, operand),
        Operand::Literal64(value) => gfx1250::literal(inst, value, operand),
        Operand::Special(code) => codes::special_name(code).to_string(),
        Operand::Imm(value) => immediate(inst, operand, value),
    }
}

fn float_constant(code: u16, ty: DataType) -> String {
    // To an operation on 16-bit integers they are just bits.
    if matches!(ty, DataType::I16 | DataType::B16) {
        return format!("{:#x}", Operand::Inline(code).bits(ty).unwrap_or(0));
    }
    const NAMES: [&str; 8] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"];
    match NAMES.get(usize::from(code - 240)) {
        Some(name) => name.to_string(),
        None if matches!(ty, DataType::F64 | DataType::I64 | DataType::B64) => "0.15915494309189532".to_string(),
        None => "0.15915494".to_string(),
    }
}

/// A literal that an inline constant could have expressed is marked, so that assembling the text gives the same bytes.
fn literal(inst: &Inst, word: u32, operand: &OperandInfo) -> String {
    let half = operand.field != Field::Literal;
    let small = matches!(operand.ty, DataType::I16 | DataType::B16);
    // LLVM asks of 16-bit integers, too, whether the whole word is an inline constant.
    let ty = if operand.ty == DataType::None || small { DataType::B32 } else { operand.ty };
    // From RDNA3 on, constants of v_pk_fmac_f16 go to both halves.
    let splat = inst.info().base == "v_pk_fmac_f16" && generation(inst) >= Generation::Gfx11;
    let same = |code: &u16| match Operand::Inline(*code).bits(if splat { DataType::F16 } else { ty }) {
        Some(half) if splat => {
            let half = half as u32 & 0xffff;
            word == half | half << 16 || (*code <= 192 && word == half)
        }
        bits => bits == Operand::Literal(word).bits(ty),
    };
    let inline = (128..=208).chain(240..=248).find(same);
    match operand.ty {
        // The immediate of s_setreg_imm32 is printed like any constant.
        _ if inst.info().base == "s_setreg_imm32_b32" => match inline {
            Some(code) => plain(inst, operand, Operand::Inline(code)),
            None => format!("0x{word:x}"),
        },
        DataType::F64 if word == 0 => "0".into(),
        DataType::F64 => format!("0x{word:x}"),
        _ if inline.is_some() && operand.file != File::Immediate => format!("lit(0x{word:x})"),
        DataType::Bf16 if generation(inst) == Generation::Gfx1250 => format!("0x{word:x}"),
        DataType::I16 | DataType::B16 | DataType::F16 | DataType::Bf16 if half => format!("0x{:x}", word & 0xffff),
        _ => format!("0x{word:x}"),
    }
}

fn immediate(inst: &Inst, operand: &OperandInfo, value: i64) -> String {
    match (inst.info().format, operand.field) {
        (Format::Sopk, Field::Simm16) => match inst.info().base {
            "s_call_b64" | "s_call_i64" | "s_cbranch_i_fork" | "s_subvector_loop_begin" | "s_subvector_loop_end" => {
                (value as u16).to_string()
            }
            _ => notation(inst, value as u32 & 0xffff).unwrap_or_else(|| format!("0x{:x}", value as u16)),
        },
        (Format::Sop1, Field::Ssrc0) => notation(inst, value as u32).unwrap_or_default(),
        (Format::Sopc, Field::Ssrc1) => notation(inst, value as u32 & 0xff).unwrap_or_default(),
        (Format::Smem, Field::Sdata) if value <= 64 => value.to_string(),
        (Format::Smem, _) if value < 0 => format!("-0x{:x}", -value),
        (Format::Smem, _) => format!("0x{value:x}"),
        _ => {
            let mut text = String::new();
            let _ = write!(text, "{value}");
            text
        }
    }
}
