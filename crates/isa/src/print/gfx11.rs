//! RDNA3: the text of modifiers, and of the immediates that have a notation of their own.

use std::fmt;

use super::notation::{hwreg, version, waitcnt};
use super::rdna::{ALL, INTEGERS, WIDE, buffer_format, cache, delay_alu, depctr, dpp8, dpp16, image};
use super::shared::{bit_list, ds, flags, flat_offset, numbers, smem_offset, vop3, vop3p};
use crate::{Field, Flags, Format, Inst};

/// The immediates that are not printed as numbers.
pub fn notation(inst: &Inst, raw: u32) -> Option<String> {
    Some(match inst.info().base {
        "s_waitcnt" => waitcnt(counters(raw)),
        "s_waitcnt_depctr" => depctr(raw, true),
        "s_delay_alu" => delay_alu(raw),
        "s_sendmsg" | "s_sendmsghalt" | "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64" => sendmsg(raw),
        "s_version" => version(raw),
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => hwreg(raw, hardware_register),
        "s_clause" | "s_set_inst_prefetch_distance" | "s_wait_event" | "s_round_mode" | "s_ttracedata_imm" => {
            format!("0x{raw:x}")
        }
        _ => return None,
    })
}

/// The counters of `s_waitcnt`, with the largest value of each.
fn counters(raw: u32) -> [(&'static str, u32, u32); 3] {
    [("vmcnt", raw >> 10 & 63, 63), ("expcnt", raw & 7, 7), ("lgkmcnt", raw >> 4 & 63, 63)]
}

/// The hardware registers of `s_getreg` and `s_setreg`.
fn hardware_register(id: u32) -> &'static str {
    match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 => "HW_REG_SH_MEM_BASES",
        18 => "HW_REG_PERF_SNAPSHOT_PC_LO",
        19 => "HW_REG_PERF_SNAPSHOT_PC_HI",
        20 => "HW_REG_FLAT_SCR_LO",
        21 => "HW_REG_FLAT_SCR_HI",
        23 => "HW_REG_HW_ID1",
        24 => "HW_REG_HW_ID2",
        27 => "HW_REG_PERF_SNAPSHOT_DATA",
        29 => "HW_REG_SHADER_CYCLES",
        _ => "",
    }
}

/// `s_sendmsg`: the message. None has operations or streams any more; bits past the number are not looked at.
pub(super) fn sendmsg(raw: u32) -> String {
    let name = match raw & 0xff {
        1 => "MSG_INTERRUPT",
        2 => "MSG_HS_TESSFACTOR",
        3 => "MSG_DEALLOC_VGPRS",
        5 => "MSG_STALL_WAVE_GEN",
        6 => "MSG_HALT_WAVES",
        9 => "MSG_GS_ALLOC_REQ",
        0x80 => "MSG_RTN_GET_DOORBELL",
        0x81 => "MSG_RTN_GET_DDID",
        0x82 => "MSG_RTN_GET_TMA",
        0x83 => "MSG_RTN_GET_REALTIME",
        0x84 => "MSG_RTN_SAVE_WAVE",
        0x85 => "MSG_RTN_GET_TBA",
        0x86 => "MSG_RTN_GET_TBA_TO_PC",
        id if raw == id => return format!("sendmsg({id}, 0, 0)"),
        _ => return raw.to_string(),
    };
    format!("sendmsg({name})")
}

/// An export's target and its sources, those that are switched off named so.
pub fn export(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let field = |field| inst.field(field).unwrap_or(0);
    match field(Field::Tgt) {
        n @ 0..=7 => write!(f, " mrt{n}")?,
        8 => f.write_str(" mrtz")?,
        n @ 12..=16 => write!(f, " pos{}", n - 12)?,
        20 => f.write_str(" prim")?,
        n @ 21..=22 => write!(f, " dual_src_blend{}", n - 21)?,
        n => write!(f, " invalid_target_{n}")?,
    }
    for (component, source) in [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3].into_iter().enumerate() {
        let separator = if component == 0 { " " } else { ", " };
        if field(Field::En) >> component & 1 != 0 {
            write!(f, "{separator}v{}", field(source))?;
        } else {
            write!(f, "{separator}off")?;
        }
    }
    Ok(())
}

pub fn modifiers(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let format = inst.info().format;
    match format.plain() {
        Format::Smem => {
            smem_offset(inst, f)?;
            cache(inst, f)
        }
        Format::Vop3a | Format::Vop3b => vop3(inst, f),
        Format::Vop3p => vop3p(inst, f),
        Format::Vinterp => interpolation(inst, f),
        Format::Ldsdir => {
            let field = |field| inst.field(field).unwrap_or(0);
            if inst.info().base == "lds_param_load" {
                let channel = ["x", "y", "z", "w"][field(Field::AttrChan) as usize & 3];
                write!(f, ", attr{}.{channel}", field(Field::Attr))?;
            }
            write!(f, " wait_vdst:{}", field(Field::WaitVdst))
        }
        Format::Ds => ds(inst, f),
        Format::Flat => flat(inst, f),
        Format::Mubuf | Format::Mtbuf => buffer(inst, f),
        Format::Mimg => image(inst, f),
        Format::Exp => flags(inst, f, &[(Field::Done, "done"), (Field::RowEn, "row_en")]),
        _ => Ok(()),
    }?;
    if format.is_dpp16() {
        dpp16(inst, f)
    } else if format.is_dpp8() {
        dpp8(inst, f)
    } else {
        Ok(())
    }
}

pub(super) fn interpolation(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    flags(inst, f, &[(Field::Clamp, "clamp")])?;
    let selected = inst.field(Field::OpSel).unwrap_or(0);
    if selected != 0 && inst.info().flags.contains(Flags::OP_SEL) {
        write!(f, " op_sel:{}", bit_list(selected, 4))?;
    }
    write!(f, " wait_exp:{}", inst.field(Field::WaitExp).unwrap_or(0))
}

fn flat(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    flat_offset(inst, f)?;
    cache(inst, f)
}

pub(super) const FORMATS: [(&str, &[&str]); 14] = [
    ("8", INTEGERS),
    ("16", ALL),
    ("8_8", INTEGERS),
    ("32", WIDE),
    ("16_16", ALL),
    ("10_11_11", &["FLOAT"]),
    ("11_11_10", &["FLOAT"]),
    ("10_10_10_2", &["UNORM", "SNORM", "UINT", "SINT"]),
    ("2_10_10_10", INTEGERS),
    ("8_8_8_8", INTEGERS),
    ("32_32", WIDE),
    ("16_16_16_16", ALL),
    ("32_32_32", WIDE),
    ("32_32_32_32", WIDE),
];

fn buffer(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DEFAULT: u32 = 1;
    if let Some(code) = inst.field(Field::BufFormat).filter(|code| *code != DEFAULT) {
        write!(f, " format:{}", buffer_format(code, &FORMATS))?;
    }
    if !inst.info().operands.is_empty() {
        flags(inst, f, &[(Field::Idxen, "idxen"), (Field::Offen, "offen")])?;
        numbers(inst, f, &[(Field::Offset, "offset")])?;
    }
    cache(inst, f)?;
    flags(inst, f, &[(Field::Tfe, "tfe")])
}
