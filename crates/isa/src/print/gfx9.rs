//! GCN5 and CDNA: the text of modifiers, and of the immediates that have a notation of their own.

use std::fmt;

use super::notation::{hwreg, sendmsg, waitcnt};
use super::shared::{bit_list, ds, flags, flat_offset, numbers, sdwa, smem_offset, vop3, vop3p};
use super::vertex;
use crate::{Field, Format, Generation, Inst, Target};

/// The immediates that are not printed as numbers.
pub fn notation(inst: &Inst, raw: u32) -> Option<String> {
    Some(match inst.info().base {
        "s_waitcnt" => waitcnt(counters(raw)),
        "s_sendmsg" | "s_sendmsghalt" => sendmsg(raw, false),
        "s_set_gpr_idx_mode" | "s_set_gpr_idx_on" => index_mode(raw),
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => {
            hwreg(raw, |id| hardware_register(inst.info().mode.target(), id))
        }
        _ => return None,
    })
}

fn index_mode(raw: u32) -> String {
    if raw & !0xf != 0 {
        return format!("0x{raw:x}");
    }
    let names = ["SRC0", "SRC1", "SRC2", "DST"];
    let on: Vec<&str> = names.into_iter().enumerate().filter(|(i, _)| raw >> i & 1 != 0).map(|(_, n)| n).collect();
    format!("gpr_idx({})", on.join(","))
}

/// The counters of `s_waitcnt`, with the largest value of each.
fn counters(raw: u32) -> [(&'static str, u32, u32); 3] {
    [("vmcnt", raw & 0xf | raw >> 10 & 0x30, 63), ("expcnt", raw >> 4 & 7, 7), ("lgkmcnt", raw >> 8 & 0xf, 15)]
}

/// The hardware registers of `s_getreg` and `s_setreg`.
fn hardware_register(target: Target, id: u32) -> &'static str {
    let cdna3 = target.generation() == Generation::Gfx940;
    match id {
        1 => "HW_REG_MODE",
        2 => "HW_REG_STATUS",
        3 => "HW_REG_TRAPSTS",
        4 => "HW_REG_HW_ID",
        5 => "HW_REG_GPR_ALLOC",
        6 => "HW_REG_LDS_ALLOC",
        7 => "HW_REG_IB_STS",
        15 => "HW_REG_SH_MEM_BASES",
        16 => "HW_REG_TBA_LO",
        17 => "HW_REG_TBA_HI",
        18 => "HW_REG_TMA_LO",
        19 => "HW_REG_TMA_HI",
        20 if cdna3 => "HW_REG_XCC_ID",
        21 if cdna3 => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
        22 if cdna3 => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
        23 if cdna3 => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
        24 if cdna3 => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
        _ => "",
    }
}

fn dpp_control(inst: &Inst, control: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let n = control & 0xf;
    let newer = inst.info().mode.target().generation() != Generation::Gfx9;
    let double = newer && inst.info().operands.iter().any(|o| o.units == 2 && o.fixed.is_none());
    match control {
        0x150..=0x15f if !newer => {
            f.write_str(" /* row_newbcast/row_share is not supported on ASICs earlier than GFX90A/GFX10 */")
        }
        0x150..=0x15f => write!(f, " row_newbcast:{n}"),
        _ if double => f.write_str(" /* DP ALU dpp only supports row_newbcast */"),
        0..=0xff => {
            let lane = |i: u32| control >> (2 * i) & 3;
            write!(f, " quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))
        }
        0x160..=0x16f => f.write_str(" /* row_xmask is not supported on ASICs earlier than GFX10 */"),
        0x101..=0x10f => write!(f, " row_shl:{n}"),
        0x111..=0x11f => write!(f, " row_shr:{n}"),
        0x121..=0x12f => write!(f, " row_ror:{n}"),
        0x130 => f.write_str(" wave_shl:1"),
        0x134 => f.write_str(" wave_rol:1"),
        0x138 => f.write_str(" wave_shr:1"),
        0x13c => f.write_str(" wave_ror:1"),
        0x140 => f.write_str(" row_mirror"),
        0x141 => f.write_str(" row_half_mirror"),
        0x142 => f.write_str(" row_bcast:15"),
        0x143 => f.write_str(" row_bcast:31"),
        _ => f.write_str(" /* Invalid dpp_ctrl value */"),
    }
}

pub fn modifiers(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match inst.info().format {
        Format::Smem => smem(inst, f),
        Format::Vop3a | Format::Vop3b => vop3(inst, f),
        Format::Vop3p => vop3p(inst, f),
        Format::MaiScaled => {
            let (low, high) =
                (inst.field(Field::ScaleOpSel).unwrap_or(0), inst.field(Field::ScaleOpSelHi).unwrap_or(0));
            if low != 0 {
                write!(f, " op_sel:{}", bit_list(low, 3))?;
            }
            write!(f, " op_sel_hi:{}", bit_list(high, 3))?;
            matrix(inst, f)
        }
        Format::Mai => matrix(inst, f),
        Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC => sdwa(inst, f),
        Format::Dpp1 | Format::Dpp2 => {
            dpp_control(inst, inst.field(Field::DppCtrl).unwrap_or(0), f)?;
            let value = |field| inst.field(field).unwrap_or(0);
            write!(f, " row_mask:0x{:x} bank_mask:0x{:x}", value(Field::RowMask), value(Field::BankMask))?;
            if value(Field::BoundCtrl) != 0 { f.write_str(" bound_ctrl:1") } else { Ok(()) }
        }
        Format::Ds => ds(inst, f),
        Format::Flat => flat(inst, f),
        Format::Mubuf | Format::Mtbuf => buffer(inst, f),
        Format::Mimg => mimg(inst, f),
        Format::Exp => flags(inst, f, &[(Field::Done, "done"), (Field::Compr, "compr"), (Field::Vm, "vm")]),
        Format::Vintrp => vertex::interpolation(inst, f),
        _ => Ok(()),
    }
}

/// The cache bits. They keep their places when gfx942 gives them other names.
fn cache(inst: &Inst) -> &'static [(Field, &'static str)] {
    match inst.info().mode.target().generation() {
        Generation::Gfx940 if inst.info().format != Format::Smem => {
            &[(Field::Glc, "sc0"), (Field::Slc, "nt"), (Field::Scc, "sc1")]
        }
        _ => &[(Field::Glc, "glc"), (Field::Slc, "slc"), (Field::Scc, "scc")],
    }
}

fn smem(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    smem_offset(inst, f)?;
    flags(inst, f, cache(inst))
}

fn flat(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    flat_offset(inst, f)?;
    flags(inst, f, cache(inst))?;
    flags(inst, f, &[(Field::Lds, "lds")])
}

fn buffer(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if inst.info().format == Format::Mtbuf {
        typed_format(inst, f)?;
    }
    if !inst.info().operands.is_empty() {
        flags(inst, f, &[(Field::Idxen, "idxen"), (Field::Offen, "offen")])?;
        numbers(inst, f, &[(Field::Offset, "offset")])?;
    }
    let lds: &[_] = &[(Field::Lds, "lds")];
    let lds_first = inst.info().base == "buffer_store_lds_dword";
    flags(inst, f, if lds_first { lds } else { &[] })?;
    flags(inst, f, cache(inst))?;
    flags(inst, f, if lds_first { &[] } else { lds })?;
    flags(inst, f, &[(Field::Tfe, "tfe")])
}

fn matrix(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    numbers(inst, f, &[(Field::Cbsz, "cbsz"), (Field::Abid, "abid")])?;
    let info = inst.info();
    // gfx942 negates the sources of double precision where others broadcast.
    let negates = info.mode.target().generation() == Generation::Gfx940 && info.base.ends_with("_f64");
    match inst.field(Field::Blgp) {
        Some(bits) if negates && bits != 0 => write!(f, " neg:{}", bit_list(bits, 3)),
        _ => numbers(inst, f, &[(Field::Blgp, "blgp")]),
    }
}

fn typed_format(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DATA: [&str; 16] = [
        "INVALID",
        "8",
        "16",
        "8_8",
        "32",
        "16_16",
        "10_11_11",
        "11_11_10",
        "10_10_10_2",
        "2_10_10_10",
        "8_8_8_8",
        "32_32",
        "16_16_16_16",
        "32_32_32",
        "32_32_32_32",
        "RESERVED_15",
    ];
    const NUMBER: [&str; 8] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];
    let (data, number) = (inst.field(Field::Dfmt).unwrap_or(1), inst.field(Field::Nfmt).unwrap_or(0));
    let data_name = format!("BUF_DATA_FORMAT_{}", DATA[data as usize]);
    let number_name = format!("BUF_NUM_FORMAT_{}", NUMBER[number as usize]);
    match (data, number) {
        (1, 0) => Ok(()),
        (1, _) => write!(f, " format:[{number_name}]"),
        (_, 0) => write!(f, " format:[{data_name}]"),
        _ => write!(f, " format:[{data_name},{number_name}]"),
    }
}

fn mimg(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(mask) = inst.field(Field::Dmask).filter(|m| *m != 0) {
        write!(f, " dmask:0x{mask:x}")?;
    }
    flags(inst, f, &[(Field::Unorm, "unorm")])?;
    flags(inst, f, cache(inst))?;
    flags(
        inst,
        f,
        &[(Field::A16, "a16"), (Field::Tfe, "tfe"), (Field::Lwe, "lwe"), (Field::Da, "da"), (Field::D16, "d16")],
    )
}
