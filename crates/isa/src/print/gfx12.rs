//! RDNA4: the text of modifiers, and of the immediates that have a notation of their own.

use std::fmt;

use super::gfx11::{self, interpolation};
use super::notation::hwreg;
use super::rdna::{buffer_format, delay_alu, depctr, dimension, dpp8, dpp16};
use super::shared::{clamp_and_omod, ds, flags, numbers, on, smem_offset, vop3, vop3p};
use crate::{Field, Flags, Format, Inst};

/// The immediates that are not printed as numbers.
pub fn notation(inst: &Inst, raw: u32) -> Option<String> {
    Some(match inst.info().base {
        "s_wait_alu" => depctr(raw, true),
        "s_delay_alu" => delay_alu(raw),
        "s_sendmsg" | "s_sendmsghalt" | "s_sendmsg_rtn_b32" | "s_sendmsg_rtn_b64" => sendmsg(raw),
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => hwreg(raw, hardware_register),
        base if base.starts_with("s_wait_") => format!("0x{raw:x}"),
        _ => return gfx11::notation(inst, raw),
    })
}

/// The hardware registers of `s_getreg` and `s_setreg`.
pub(super) fn hardware_register(id: u32) -> &'static str {
    match id {
        1 => "HW_REG_WAVE_MODE",
        2 => "HW_REG_WAVE_STATUS",
        4 => "HW_REG_WAVE_STATE_PRIV",
        5 => "HW_REG_WAVE_GPR_ALLOC",
        6 => "HW_REG_WAVE_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        10 => "HW_REG_PERF_SNAPSHOT_DATA",
        11 => "HW_REG_PERF_SNAPSHOT_PC_LO",
        12 => "HW_REG_PERF_SNAPSHOT_PC_HI",
        15 => "HW_REG_PERF_SNAPSHOT_DATA1",
        16 => "HW_REG_PERF_SNAPSHOT_DATA2",
        17 => "HW_REG_WAVE_EXCP_FLAG_PRIV",
        18 => "HW_REG_WAVE_EXCP_FLAG_USER",
        19 => "HW_REG_WAVE_TRAP_CTRL",
        20 => "HW_REG_WAVE_SCRATCH_BASE_LO",
        21 => "HW_REG_WAVE_SCRATCH_BASE_HI",
        23 => "HW_REG_WAVE_HW_ID1",
        24 => "HW_REG_WAVE_HW_ID2",
        26 => "HW_REG_WAVE_SCHED_MODE",
        29 => "HW_REG_SHADER_CYCLES_LO",
        30 => "HW_REG_SHADER_CYCLES_HI",
        31 => "HW_REG_WAVE_DVGPR_ALLOC_LO",
        32 => "HW_REG_WAVE_DVGPR_ALLOC_HI",
        _ => "",
    }
}

/// `s_sendmsg`: the message.
fn sendmsg(raw: u32) -> String {
    match raw & 0xff {
        0x87 => "sendmsg(MSG_RTN_GET_SE_AID_ID)".to_string(),
        // no longer messages
        id @ 5..=6 if raw == id => format!("sendmsg({id}, 0, 0)"),
        5..=6 => raw.to_string(),
        _ => gfx11::sendmsg(raw),
    }
}

pub fn modifiers(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let format = inst.info().format;
    match format.plain() {
        Format::Smem => {
            smem_offset(inst, f)?;
            cache(inst, f)
        }
        Format::Vop3a if has_byte(inst.info().base) => {
            let selected = inst.field(Field::OpSel).unwrap_or(0);
            let source = selected << 1 & 2 | selected >> 1 & 1;
            let byte = if inst.info().base.starts_with("v_cvt_sr_") { selected >> 2 } else { source };
            self::byte(byte, f)?;
            clamp_and_omod(inst, f)
        }
        Format::Vop3a | Format::Vop3b => vop3(inst, f),
        Format::Vop3p if inst.info().base.starts_with("v_swmmac_") => {
            // OP_SEL says which part of its register the index is.
            numbers(inst, f, &[(Field::OpSel, "index_key")])?;
            vop3p(inst, f)
        }
        Format::Vop3p => vop3p(inst, f),
        Format::Vinterp => interpolation(inst, f),
        Format::Ldsdir => {
            let field = |field| inst.field(field).unwrap_or(0);
            if inst.info().base == "ds_param_load" {
                let channel = ["x", "y", "z", "w"][field(Field::AttrChan) as usize & 3];
                write!(f, ", attr{}.{channel}", field(Field::Attr))?;
            }
            write!(f, " wait_va_vdst:{} wait_vm_vsrc:{}", field(Field::WaitVdst), field(Field::WaitVmVsrc))
        }
        Format::Ds => ds(inst, f),
        Format::Flat => {
            offset(inst, f)?;
            cache(inst, f)
        }
        Format::Mubuf | Format::Mtbuf => buffer(inst, f),
        Format::Mimg | Format::Vsample => image(inst, f),
        Format::Exp => flags(inst, f, &[(Field::Done, "done"), (Field::RowEn, "row_en")]),
        _ => Ok(()),
    }?;
    dpp(inst, f)
}

/// The word behind, where there is one.
pub(super) fn dpp(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let format = inst.info().format;
    if format.is_dpp16() {
        dpp16(inst, f)
    } else if format.is_dpp8() {
        dpp8(inst, f)
    } else {
        Ok(())
    }
}

/// The byte of a register, unless it is the lowest.
pub(super) fn byte(number: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if number == 0 { Ok(()) } else { write!(f, " byte_sel:{number}") }
}

/// Conversions that read one byte of a register, or write one.
fn has_byte(base: &str) -> bool {
    matches!(base, "v_cvt_f32_fp8" | "v_cvt_f32_bf8" | "v_cvt_sr_fp8_f32" | "v_cvt_sr_bf8_f32")
}

/// The signed offset of vector memory instructions.
fn offset(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (raw, width) = inst.raw_field(Field::Offset).unwrap_or((0, 24));
    let offset = (raw << (32 - width)) as i32 >> (32 - width);
    if offset != 0 { write!(f, " offset:{offset}") } else { Ok(()) }
}

/// How soon the data are needed again, and who has to see them.
pub(super) fn cache(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const NEAR: [&str; 8] = ["", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", ""];
    const SYSTEM: u32 = 3;
    flags(inst, f, &[(Field::ScaleOffset, "scale_offset")])?;
    let hint = inst.field(Field::TemporalHint).unwrap_or(0);
    let scope = inst.field(Field::Scope).unwrap_or(0);
    let has = inst.info().flags;
    // What is loaded into LDS is stored there.
    let store =
        has.contains(Flags::STORE) && !["_load_", "_prefetch_"].iter().any(|load| inst.info().base.contains(load));
    match hint {
        0 => {}
        _ if has.intersects(Flags::ATOMIC) => write!(f, " th:{}", atomic_hint(hint, scope))?,
        3 if scope == SYSTEM => write!(f, " th:TH_{}_BYPASS", if store { "STORE" } else { "LOAD" })?,
        3 if store => f.write_str(" th:TH_STORE_WB")?,
        3 => f.write_str(" th:TH_LOAD_LU")?,
        7 if store => f.write_str(" th:TH_STORE_NT_WB")?,
        7 => f.write_str(" th:0x7")?,
        near => write!(f, " th:TH_{}_{}", if store { "STORE" } else { "LOAD" }, NEAR[near as usize & 7])?,
    }
    f.write_str(["", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"][scope as usize & 3])?;
    flags(inst, f, &[(Field::Nv, "nv")])
}

/// Of an atomic's hint the bits are: the old value is wanted, not needed soon, to be combined later.
fn atomic_hint(hint: u32, scope: u32) -> String {
    const DEVICE: u32 = 2;
    match hint {
        1 => "TH_ATOMIC_RETURN".to_string(),
        2 => "TH_ATOMIC_NT".to_string(),
        3 => "TH_ATOMIC_NT_RETURN".to_string(),
        _ if scope < DEVICE => format!("TH_ATOMIC_0x{hint:x}"),
        4 | 5 => "TH_ATOMIC_CASCADE_RT".to_string(),
        _ => "TH_ATOMIC_CASCADE_NT".to_string(),
    }
}

fn buffer(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DEFAULT: u32 = 1;
    let typed = inst.info().format == Format::Mtbuf;
    if let Some(code) = inst.field(Field::BufFormat).filter(|code| typed && *code != DEFAULT) {
        write!(f, " format:{}", buffer_format(code, &gfx11::FORMATS))?;
    }
    flags(inst, f, &[(Field::Idxen, "idxen"), (Field::Offen, "offen")])?;
    offset(inst, f)?;
    cache(inst, f)?;
    flags(inst, f, &[(Field::Tfe, "tfe")])
}

fn image(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !inst.info().base.contains("_bvh") {
        if let Some(mask) = inst.field(Field::Dmask).filter(|m| *m != 0) {
            write!(f, " dmask:0x{mask:x}")?;
        }
        write!(f, " dim:SQ_RSRC_IMG_{}", dimension(inst.field(Field::Dim).unwrap_or(0)))?;
        flags(inst, f, &[(Field::Unorm, "unorm")])?;
    }
    cache(inst, f)?;
    if !inst.info().base.contains("_bvh") {
        flags(inst, f, &[(Field::R128, "r128")])?;
    }
    flags(inst, f, &[(Field::A16, "a16"), (Field::Tfe, "tfe"), (Field::Lwe, "lwe")])?;
    f.write_str(if on(inst, Field::D16) { " d16" } else { "" })
}
