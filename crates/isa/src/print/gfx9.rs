//! GCN5 and CDNA: the text of modifiers, and of the immediates that have a notation of their own.

use std::fmt;

use super::shared::{self, bit_list, flags, flat_offset, numbers, sdwa, smem_offset, vop3, vop3p};
use crate::{Field, Format, Generation, Inst, Target};

/// The immediates that are not printed as numbers.
pub fn notation(inst: &Inst, raw: u32) -> Option<String> {
    Some(match inst.info().base {
        "s_waitcnt" => waitcnt(raw),
        "s_sendmsg" | "s_sendmsghalt" => sendmsg(raw),
        "s_set_gpr_idx_mode" | "s_set_gpr_idx_on" => index_mode(raw),
        "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32" => hwreg(inst.info().mode.target(), raw),
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

/// A vertex parameter of `v_interp_mov_f32`.
fn parameter(code: u32) -> String {
    match code {
        0 => "p10".to_string(),
        1 => "p20".to_string(),
        2 => "p0".to_string(),
        n => format!("invalid_param_{n}"),
    }
}

fn attribute(number: u32, channel: u32) -> String {
    format!("attr{number}.{}", ["x", "y", "z", "w"][channel as usize & 3])
}

/// In VOP3's form of an interpolation: what stands before its second source, in the place of the first.
pub fn interpolated(inst: &Inst) -> Option<(String, bool)> {
    let is_one = inst.info().format == Format::Vop3a && inst.info().base.starts_with("v_interp");
    let raw = inst.field(Field::Src0).filter(|_| is_one)?;
    let attribute = attribute(raw & 0x3f, raw >> 6 & 3);
    if inst.info().base == "v_interp_mov_f32" {
        let code = inst.field(Field::Src1).unwrap_or(0);
        return Some((format!("{}, {attribute}", parameter(code)), false));
    }
    Some((attribute, raw >> 8 != 0))
}

/// An export's target and its sources, those that are switched off named so.
pub fn export(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let field = |field| inst.field(field).unwrap_or(0);
    match field(Field::Tgt) {
        n @ 0..=7 => write!(f, " mrt{n}")?,
        8 => f.write_str(" mrtz")?,
        9 => f.write_str(" null")?,
        n @ 12..=15 => write!(f, " pos{}", n - 12)?,
        n @ 32..=63 => write!(f, " param{}", n - 32)?,
        n => write!(f, " invalid_target_{n}")?,
    }
    // Compressed, each register has two of the components.
    let compressed = field(Field::Compr) != 0;
    let sources = [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3];
    for component in 0..4 {
        let source = sources[if compressed { component / 2 } else { component }];
        let separator = if component == 0 { " " } else { ", " };
        if field(Field::En) >> component & 1 != 0 {
            write!(f, "{separator}v{}", field(source))?;
        } else {
            write!(f, "{separator}off")?;
        }
    }
    Ok(())
}

/// `s_waitcnt`: every counter that is waited for; all three when none is.
fn waitcnt(raw: u32) -> String {
    let vm = raw & 0xf | raw >> 10 & 0x30;
    let (exp, lgkm) = (raw >> 4 & 7, raw >> 8 & 0xf);
    let all = vm == 63 && exp == 7 && lgkm == 15;
    let counters = [("vmcnt", vm, 63), ("expcnt", exp, 7), ("lgkmcnt", lgkm, 15)];
    let shown = counters.iter().filter(|(_, value, max)| all || value != max);
    shown.map(|(name, value, _)| format!("{name}({value})")).collect::<Vec<_>>().join(" ")
}

/// `s_getreg`, `s_setreg`: register, and the bit range unless it is the whole.
fn hwreg(target: Target, raw: u32) -> String {
    let (id, offset, width) = (raw & 0x3f, raw >> 6 & 0x1f, (raw >> 11 & 0x1f) + 1);
    let cdna3 = target.generation() == Generation::Gfx940;
    let name = match id {
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
    };
    let name = if name.is_empty() { id.to_string() } else { name.to_string() };
    if offset == 0 && width == 32 { format!("hwreg({name})") } else { format!("hwreg({name}, {offset}, {width})") }
}

/// `s_sendmsg`: message, operation and stream where the message has them.
fn sendmsg(raw: u32) -> String {
    let (id, operation, stream) = (raw & 0xf, raw >> 4 & 7, raw >> 8 & 3);
    let name = match id {
        1 => "MSG_INTERRUPT",
        2 => "MSG_GS",
        3 => "MSG_GS_DONE",
        4 => "MSG_SAVEWAVE",
        5 => "MSG_STALL_WAVE_GEN",
        6 => "MSG_HALT_WAVES",
        7 => "MSG_ORDERED_PS_DONE",
        8 => "MSG_EARLY_PRIM_DEALLOC",
        9 => "MSG_GS_ALLOC_REQ",
        10 => "MSG_GET_DOORBELL",
        15 => "MSG_SYSMSG",
        _ => "",
    };
    let geometry = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
    let system = ["SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK", "SYSMSG_OP_TTRACE_PC"];
    // Bits outside the three fields are not looked at.
    let (has_operation, valid) = match id {
        2 => (true, (1..4).contains(&operation)),
        3 => (true, operation < 4 && (operation > 0 || stream == 0)),
        15 => (true, matches!(operation, 1 | 2 | 4) && stream == 0),
        1 | 4..=10 => (false, operation == 0 && stream == 0),
        _ => (false, false),
    };
    match id {
        _ if !valid && raw & !0x37f == 0 => format!("sendmsg({id}, {operation}, {stream})"),
        _ if !valid => raw.to_string(),
        _ if !has_operation => format!("sendmsg({name})"),
        15 => format!("sendmsg({name}, {})", system[operation as usize - 1]),
        _ if operation == 0 => format!("sendmsg({name}, {})", geometry[0]),
        _ => format!("sendmsg({name}, {}, {stream})", geometry[operation as usize]),
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
        Format::Vintrp => {
            let field = |field| inst.field(field).unwrap_or(0);
            if inst.info().base == "v_interp_mov_f32" {
                write!(f, ", {}", parameter(field(Field::Vsrc0)))?;
            }
            write!(f, ", {}", attribute(field(Field::Attr), field(Field::AttrChan)))
        }
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

fn ds(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let base = inst.info().base;
    shared::ds(inst, f, ["ds_read2", "ds_write2", "ds_wrxchg2"].iter().any(|p| base.starts_with(p)))
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
