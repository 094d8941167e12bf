//! RDNA1 and RDNA2: the text of modifiers, and of the immediates that have a notation of their own.

use std::fmt;

use super::notation::{hwreg, sendmsg, version, waitcnt};
use super::rdna::{ALL, INTEGERS, WIDE, buffer_format, cache, depctr, dpp8, dpp16, image};
use super::shared::{ds, flags, flat_offset, numbers, sdwa, smem_offset, vop3, vop3p};
use super::vertex;
use crate::{Field, Format, Inst, Target};

/// RDNA2.
fn is_newer(target: Target) -> bool {
    !matches!(target, Target::Gfx1010 | Target::Gfx1011 | Target::Gfx1012 | Target::Gfx1013 | Target::Gfx10_1Generic)
}

/// The immediates that are not printed as numbers.
pub fn notation(inst: &Inst, raw: u32) -> Option<String> {
    let target = inst.info().mode.target();
    Some(match inst.info().base {
        "s_waitcnt" => waitcnt(counters(raw)),
        "s_waitcnt_depctr" => depctr(raw, is_newer(target)),
        "s_sendmsg" | "s_sendmsghalt" => sendmsg(raw, true),
        "s_version" => version(raw),
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => hwreg(raw, |id| hardware_register(target, id)),
        "s_clause" | "s_inst_prefetch" | "s_round_mode" | "s_ttracedata_imm" => format!("0x{raw:x}"),
        _ => return None,
    })
}

/// The counters of `s_waitcnt`, with the largest value of each.
fn counters(raw: u32) -> [(&'static str, u32, u32); 3] {
    [("vmcnt", raw & 0xf | raw >> 10 & 0x30, 63), ("expcnt", raw >> 4 & 7, 7), ("lgkmcnt", raw >> 8 & 63, 63)]
}

/// The hardware registers of `s_getreg` and `s_setreg`.
fn hardware_register(target: Target, id: u32) -> &'static str {
    match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 => "HW_REG_SH_MEM_BASES",
        16 => "HW_REG_TBA_LO",
        17 => "HW_REG_TBA_HI",
        18 => "HW_REG_TMA_LO",
        19 => "HW_REG_TMA_HI",
        20 => "HW_REG_FLAT_SCR_LO",
        21 => "HW_REG_FLAT_SCR_HI",
        22 if !is_newer(target) => "HW_REG_XNACK_MASK",
        23 => "HW_REG_HW_ID1",
        24 => "HW_REG_HW_ID2",
        25 => "HW_REG_POPS_PACKER",
        29 if is_newer(target) => "HW_REG_SHADER_CYCLES",
        _ => "",
    }
}

pub fn modifiers(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let format = inst.info().format;
    match format {
        Format::Smem => {
            smem_offset(inst, f)?;
            cache(inst, f)
        }
        Format::Vop3a | Format::Vop3b => vop3(inst, f),
        Format::Vop3p => vop3p(inst, f),
        Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC => sdwa(inst, f),
        Format::Dpp1 | Format::Dpp2 => dpp16(inst, f),
        Format::Dpp8_1 | Format::Dpp8_2 => dpp8(inst, f),
        Format::Ds => ds(inst, f),
        Format::Flat => {
            flat_offset(inst, f)?;
            cache(inst, f)?;
            flags(inst, f, &[(Field::Lds, "lds")])
        }
        Format::Mubuf | Format::Mtbuf => buffer(inst, f),
        Format::Exp => flags(inst, f, &[(Field::Done, "done"), (Field::Compr, "compr"), (Field::Vm, "vm")]),
        Format::Vintrp => vertex::interpolation(inst, f),
        _ if format.plain() == Format::Mimg => image(inst, f),
        _ => Ok(()),
    }
}

const FORMATS: [(&str, &[&str]); 14] = [
    ("8", INTEGERS),
    ("16", ALL),
    ("8_8", INTEGERS),
    ("32", WIDE),
    ("16_16", ALL),
    ("10_11_11", ALL),
    ("11_11_10", ALL),
    ("10_10_10_2", INTEGERS),
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
    flags(inst, f, &[(Field::Lds, "lds"), (Field::Tfe, "tfe")])
}
