//! gfx1250: what the text has beyond that of RDNA4.

use std::fmt;

use super::gfx12::{self, cache};
use super::notation::hwreg;
use super::plain;
use super::shared::{bit_list, clamp_and_omod, flags, numbers, sources};
use crate::{DataType, Field, Format, Inst, Operand, OperandInfo};

/// The immediates that are not printed as numbers.
pub fn notation(inst: &Inst, raw: u32) -> Option<String> {
    Some(match inst.info().base {
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => hwreg(raw, hardware_register),
        "s_sendmsg" | "s_sendmsghalt" | "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64" => match raw & 0xff {
            10 => "sendmsg(MSG_SAVEWAVE_HAS_TDM)".to_string(),
            0x88 => "sendmsg(MSG_RTN_GET_CLUSTER_BARRIER_STATE)".to_string(),
            _ => return gfx12::notation(inst, raw),
        },
        _ => return gfx12::notation(inst, raw),
    })
}

fn hardware_register(id: u32) -> &'static str {
    match id {
        28 => "HW_REG_IB_STS2",
        33 => "HW_REG_XNACK_STATE_PRIV",
        34 => "HW_REG_XNACK_MASK",
        _ => gfx12::hardware_register(id),
    }
}

/// A literal of 64 bits. One that 32 bits could have expressed is marked, so that assembling the text gives the same bytes;
/// any other is what the operation makes of it.
pub fn literal(inst: &Inst, value: u64, operand: &OperandInfo) -> String {
    if value <= u32::MAX.into() {
        return format!("lit64(0x{value:x})");
    }
    let small = matches!(operand.ty, DataType::I16 | DataType::B16);
    let ty = match operand.ty {
        DataType::None if operand.units == 2 => DataType::B64,
        DataType::None => DataType::B32,
        // Of 16-bit integers, too, the whole word is compared.
        _ if small => DataType::B32,
        ty => ty,
    };
    let bits = Operand::Literal64(value).bits(ty);
    let same = |code: &u16| Operand::Inline(*code).bits(ty) == bits;
    let bits = bits.unwrap_or(value);
    match (128..=208).chain(240..=248).find(same) {
        Some(code) => plain(inst, operand, Operand::Inline(code)),
        None if small => format!("0x{:x}", bits & 0xffff),
        None if ty == DataType::F64 && bits as u32 == 0 => format!("0x{:x}", bits >> 32),
        None if ty == DataType::Bf16 => format!("0x{:x}", value as u32),
        None => format!("0x{bits:x}"),
    }
}

pub fn modifiers(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let base = inst.info().base;
    match inst.info().format {
        Format::Vop3p if base.starts_with("v_wmma_ld_scale") => {
            let field = |field, shift: u32, mask: u32| inst.field(field).unwrap_or(0) >> shift & mask;
            let (low, high) = (Field::OpSel, Field::OpSelHi);
            let formats = [field(Field::Neg, 0, 3), field(Field::NegHi, 0, 3)];
            scales(f, [field(low, 0, 1), field(high, 0, 1)], formats, [field(low, 2, 1), field(high, 2, 1)])
        }
        Format::Vop3p if inst.info().base.starts_with("v_wmma") || inst.info().base.starts_with("v_swmmac") => {
            matrix(inst, f)
        }
        Format::WmmaScaled => scaled(inst, f),
        Format::Tensor => cache(inst, f),
        Format::Vopd3 if inst.info().mnemonic.ends_with("v_dual_bitop2_b32") => {
            match inst.field(Field::Vsrc2Y).unwrap_or(0) {
                0 => Ok(()),
                table @ 1..=10 => write!(f, " bitop3:{table}"),
                table => write!(f, " bitop3:0x{table:x}"),
            }
        }
        _ if inst.info().format.plain() == Format::Vop3a => vop3(inst, f),
        _ => gfx12::modifiers(inst, f),
    }
}

/// VOP3, where OP_SEL may say which byte of a register is converted, or written, or which part of a register the scales are.
fn vop3(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let selected = inst.field(Field::OpSel).unwrap_or(0);
    let base = inst.info().base;
    match base {
        "v_cvt_sr_fp8_f16" | "v_cvt_sr_bf8_f16" => {
            if selected & 3 != 0 {
                write!(f, " op_sel:[{},{},0]", selected & 1, selected >> 1 & 1)?;
            }
            gfx12::byte(selected >> 2, f)?;
        }
        "v_cvt_f16_fp8" | "v_cvt_f16_bf8" => {
            f.write_str(if selected & 8 != 0 { " op_sel:[0,1]" } else { "" })?;
            gfx12::byte(selected << 1 & 2 | selected >> 1 & 1, f)?;
        }
        _ if base.starts_with("v_cvt_scale_pk") => numbers(inst, f, &[(Field::OpSel, "scale_sel")])?,
        _ => return gfx12::modifiers(inst, f),
    }
    clamp_and_omod(inst, f)?;
    gfx12::dpp(inst, f)
}

/// Formats of matrices A and B, where they are fields.
fn formats(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const NAMES: [&str; 5] = ["FP8", "BF8", "FP6", "BF6", "FP4"];
    for (matrix, field) in [("a", Field::OpSel), ("b", Field::OpSelHi)] {
        match inst.field(field).unwrap_or(0) {
            0 => {}
            code => match NAMES.get(code as usize) {
                Some(name) => write!(f, " matrix_{matrix}_fmt:MATRIX_FMT_{name}")?,
                None => write!(f, " matrix_{matrix}_fmt:{code}")?,
            },
        }
    }
    Ok(())
}

fn has_formats(inst: &Inst) -> bool {
    inst.info().base.ends_with("_f8f6f4")
}

fn negations(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let count = sources(inst);
    for (name, field) in [("neg_lo", Field::Neg), ("neg_hi", Field::NegHi)] {
        let bits = inst.field(field).unwrap_or(0);
        if bits != 0 {
            write!(f, " {name}:{}", bit_list(bits, count))?;
        }
    }
    Ok(())
}

fn matrix(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if has_formats(inst) {
        formats(inst, f)?;
        return negations(inst, f);
    }
    let selected = inst.field(Field::OpSel).unwrap_or(0);
    // The part of its register that an index is, and the matrices that are used again.
    if selected & 3 != 0 {
        write!(f, " index_key:{}", selected & 3)?;
    }
    f.write_str(if selected & 4 != 0 { " matrix_a_reuse" } else { "" })?;
    // RDNA4's matrix operations have this bit set.
    const REUSE_B: u128 = 1 << 14;
    let reuse = inst.info().legality.fixed & REUSE_B == 0 && inst.field(Field::OpSelHi).unwrap_or(0) & 4 != 0;
    f.write_str(if reuse { " matrix_b_reuse" } else { "" })?;
    negations(inst, f)?;
    flags(inst, f, &[(Field::Clamp, "clamp")])
}

fn scaled(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if has_formats(inst) {
        formats(inst, f)?;
    }
    let field = |field| inst.field(field).unwrap_or(0);
    let formats = [field(Field::ScaleFormatA), field(Field::ScaleFormatB)];
    scales(f, [field(Field::ScaleA), field(Field::ScaleB)], formats, [field(Field::ReuseA), field(Field::ReuseB)])?;
    negations(inst, f)
}

/// Of A and B: which part of the registers the scales are, their formats, and whether the matrices are used again.
fn scales(f: &mut fmt::Formatter<'_>, parts: [u32; 2], formats: [u32; 2], reuse: [u32; 2]) -> fmt::Result {
    let both = || ["a", "b"].into_iter();
    for (matrix, _) in both().zip(parts).filter(|(_, part)| *part != 0) {
        write!(f, " matrix_{matrix}_scale:MATRIX_SCALE_ROW1")?;
    }
    for (matrix, format) in both().zip(formats) {
        match format {
            0 => {}
            1 => write!(f, " matrix_{matrix}_scale_fmt:MATRIX_SCALE_FMT_E5M3")?,
            2 => write!(f, " matrix_{matrix}_scale_fmt:MATRIX_SCALE_FMT_E4M3")?,
            code => write!(f, " matrix_{matrix}_scale_fmt:{code}")?,
        }
    }
    for (matrix, _) in both().zip(reuse).filter(|(_, reuse)| *reuse != 0) {
        write!(f, " matrix_{matrix}_reuse")?;
    }
    Ok(())
}
