//! The text of modifiers and of the immediates that have a notation of their own.

use std::fmt::{self, Write};

use crate::{Field, Flags, Format, Inst};

/// `s_waitcnt`: every counter that is waited for; all three when none is.
pub fn waitcnt(raw: u32) -> String {
    let vm = raw & 0xf | raw >> 10 & 0x30;
    let (exp, lgkm) = (raw >> 4 & 7, raw >> 8 & 0xf);
    let all = vm == 63 && exp == 7 && lgkm == 15;
    let counters = [("vmcnt", vm, 63), ("expcnt", exp, 7), ("lgkmcnt", lgkm, 15)];
    let shown = counters.iter().filter(|(_, value, max)| all || value != max);
    shown.map(|(name, value, _)| format!("{name}({value})")).collect::<Vec<_>>().join(" ")
}

/// `s_getreg`, `s_setreg`: register, and the bit range unless it is the whole.
pub fn hwreg(raw: u32) -> String {
    let (id, offset, width) = (raw & 0x3f, raw >> 6 & 0x1f, (raw >> 11 & 0x1f) + 1);
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
        _ => "",
    };
    let name = if name.is_empty() { id.to_string() } else { name.to_string() };
    if offset == 0 && width == 32 { format!("hwreg({name})") } else { format!("hwreg({name}, {offset}, {width})") }
}

/// `s_sendmsg`: message, operation and stream where the message has them.
pub fn sendmsg(raw: u32) -> String {
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

pub fn dpp_control(inst: &Inst, control: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let n = control & 0xf;
    let double = inst.info().operands.iter().any(|o| o.units == 2 && o.fixed.is_none());
    match control {
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
        Format::Mai => numbers(inst, f, &[(Field::Cbsz, "cbsz"), (Field::Abid, "abid"), (Field::Blgp, "blgp")]),
        Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC => sdwa(inst, f),
        Format::Dpp1 | Format::Dpp2 => {
            let value = |field| inst.field(field).unwrap_or(0);
            write!(f, " row_mask:0x{:x} bank_mask:0x{:x}", value(Field::RowMask), value(Field::BankMask))?;
            if value(Field::BoundCtrl) != 0 { f.write_str(" bound_ctrl:1") } else { Ok(()) }
        }
        Format::Ds => ds(inst, f),
        Format::Flat => flat(inst, f),
        Format::Mubuf | Format::Mtbuf => buffer(inst, f),
        Format::Mimg => mimg(inst, f),
        _ => Ok(()),
    }
}

fn on(inst: &Inst, field: Field) -> bool {
    inst.field(field).unwrap_or(0) != 0
}

/// ` name` for each field that is not zero.
fn flags(inst: &Inst, f: &mut fmt::Formatter<'_>, names: &[(Field, &str)]) -> fmt::Result {
    names.iter().filter(|(field, _)| on(inst, *field)).try_for_each(|(_, name)| write!(f, " {name}"))
}

/// ` name:value` for each field that is not zero.
fn numbers(inst: &Inst, f: &mut fmt::Formatter<'_>, names: &[(Field, &str)]) -> fmt::Result {
    names
        .iter()
        .filter(|(field, _)| on(inst, *field))
        .try_for_each(|(field, name)| write!(f, " {name}:{}", inst.field(*field).unwrap_or(0)))
}

const CACHE: [(Field, &str); 3] = [(Field::Glc, "glc"), (Field::Slc, "slc"), (Field::Scc, "scc")];

fn smem(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let operand = |field: Field| inst.info().operands.iter().any(|o| o.field == field);
    if operand(Field::Soffset) && operand(Field::Offset) {
        let (raw, width) = inst.raw_field(Field::Offset).unwrap_or((0, 21));
        let offset = (raw << (32 - width)) as i32 >> (32 - width);
        if offset < 0 { write!(f, " offset:-0x{:x}", -offset)? } else { write!(f, " offset:0x{offset:x}")? }
    }
    flags(inst, f, &CACHE)
}

fn sources(inst: &Inst) -> u32 {
    let is_source = |field| matches!(field, Field::Src0 | Field::Src1 | Field::Src2);
    inst.info().operands.iter().filter(|o| is_source(o.field)).count() as u32
}

/// `[1,0,1]`, one bit each.
fn bit_list(raw: u32, count: u32) -> String {
    let mut text = String::from("[");
    for i in 0..count {
        let _ = write!(text, "{}{}", if i == 0 { "" } else { "," }, raw >> i & 1);
    }
    text + "]"
}

fn clamp_and_omod(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    flags(inst, f, &[(Field::Clamp, "clamp")])?;
    match inst.field(Field::Omod) {
        Some(1) => f.write_str(" mul:2"),
        Some(2) => f.write_str(" mul:4"),
        Some(3) => f.write_str(" div:2"),
        _ => Ok(()),
    }
}

fn vop3(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let selected = inst.field(Field::OpSel).unwrap_or(0);
    if selected != 0 && inst.info().flags.contains(Flags::OP_SEL) {
        let count = sources(inst);
        let mut bits = bit_list(selected, count);
        bits.truncate(bits.len() - 1);
        write!(f, " op_sel:{bits},{}]", selected >> 3 & 1)?;
    }
    clamp_and_omod(inst, f)
}

fn vop3p(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let count = sources(inst);
    let mask = (1 << count) - 1;
    let value = |field| inst.field(field).unwrap_or(0) & mask;
    let default_high = if inst.info().flags.contains(Flags::PACKED) { mask } else { 0 };
    let mix = inst.info().base.contains("_mix");
    let list = [
        ("op_sel", value(Field::OpSel), 0),
        ("op_sel_hi", value(Field::OpSelHi), default_high),
        ("neg_lo", if mix { 0 } else { value(Field::Neg) }, 0),
        ("neg_hi", if mix { 0 } else { value(Field::NegHi) }, 0),
    ];
    for (name, bits, _) in list.iter().filter(|(_, bits, default)| bits != default) {
        write!(f, " {name}:{}", bit_list(*bits, count))?;
    }
    flags(inst, f, &[(Field::Clamp, "clamp")])
}

fn sdwa(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SELECTIONS: [&str; 8] = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "DWORD"];
    const UNUSED: [&str; 4] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD"];
    let select = |field| SELECTIONS[inst.field(field).unwrap_or(6) as usize];
    clamp_and_omod(inst, f)?;
    let has = |field: Field| inst.info().operands.iter().any(|o| o.field == field);
    if has(Field::Vdst) {
        let unused = UNUSED[inst.field(Field::DstUnused).unwrap_or(0) as usize];
        write!(f, " dst_sel:{} dst_unused:{unused}", select(Field::DstSel))?;
    }
    if has(Field::Src0) {
        write!(f, " src0_sel:{}", select(Field::Src0Sel))?;
    }
    if has(Field::Vsrc1) {
        write!(f, " src1_sel:{}", select(Field::Src1Sel))?;
    }
    Ok(())
}

fn ds(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let base = inst.info().base;
    let (low, high) = (inst.field(Field::Offset0).unwrap_or(0), inst.field(Field::Offset1).unwrap_or(0));
    let pair = ["ds_read2", "ds_write2", "ds_wrxchg2"].iter().any(|p| base.starts_with(p));
    let offset = low | high << 8;
    if pair {
        numbers(inst, f, &[(Field::Offset0, "offset0"), (Field::Offset1, "offset1")])?;
    } else if base == "ds_swizzle_b32" {
        swizzle(offset, f)?;
    } else if offset != 0 {
        write!(f, " offset:{offset}")?;
    }
    flags(inst, f, &[(Field::Gds, "gds")])
}

/// ds_swizzle's pattern: four lanes permuted, or lane numbers masked, or-ed and xor-ed within 32 lanes.
fn swizzle(pattern: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if pattern == 0 {
        return Ok(());
    }
    f.write_str(" offset:")?;
    if pattern & 0xff00 == 0x8000 {
        let lane = |i: u32| pattern >> (2 * i) & 3;
        return write!(f, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    if pattern & 0x8000 != 0 {
        return write!(f, "{pattern}");
    }
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    let group = 32 - and;
    if and == 31 && or == 0 && xor.count_ones() == 1 {
        write!(f, "swizzle(SWAP,{xor})")
    } else if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        write!(f, "swizzle(REVERSE,{})", xor + 1)
    } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        write!(f, "swizzle(BROADCAST,{group},{or})")
    } else {
        let (zeros, ones) = (or ^ xor, (and | or) ^ xor);
        f.write_str("swizzle(BITMASK_PERM,\"")?;
        for bit in (0..5).rev() {
            f.write_char(match (zeros >> bit & 1, ones >> bit & 1) {
                (0, 0) => '0',
                (1, 1) => '1',
                (0, _) => 'p',
                _ => 'i',
            })?;
        }
        f.write_str("\")")
    }
}

fn flat(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let raw = inst.field(Field::Offset).unwrap_or(0);
    let signed = inst.info().flags.intersects(Flags::GLOBAL | Flags::SCRATCH);
    let offset = if signed { (raw << 19) as i32 >> 19 } else { raw as i32 };
    if offset != 0 {
        write!(f, " offset:{offset}")?;
    }
    flags(inst, f, &CACHE)?;
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
    flags(inst, f, &CACHE)?;
    flags(inst, f, if lds_first { &[] } else { lds })
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
    flags(inst, f, &CACHE)?;
    flags(inst, f, &[(Field::A16, "a16"), (Field::Lwe, "lwe"), (Field::Da, "da"), (Field::D16, "d16")])
}
