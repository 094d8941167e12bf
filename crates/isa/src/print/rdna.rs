//! Texts that the RDNA generations share.

use std::fmt;

use super::shared::{flags, on};
use crate::{Field, File, Inst};

/// DPP16: where each lane reads, which rows and banks are written.
pub fn dpp16(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let value = |field| inst.field(field).unwrap_or(0);
    let control = value(Field::DppCtrl);
    let n = control & 0xf;
    // On 64 bits, and for multiplications, which gfx1251 has.
    let info = inst.info();
    let multiplies = matches!(info.base, "v_mad_u32" | "v_mul_lo_u32" | "v_mul_hi_u32" | "v_mul_hi_i32");
    let double = multiplies || info.operands.iter().any(|o| o.units == 2 && o.file == File::Vgpr);
    match control {
        0x150..=0x15f => write!(f, " row_share:{n}")?,
        _ if double => f.write_str(" /* DP ALU dpp only supports row_share */")?,
        0..=0xff => {
            let lane = |i: u32| control >> (2 * i) & 3;
            write!(f, " quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))?;
        }
        0x101..=0x10f => write!(f, " row_shl:{n}")?,
        0x111..=0x11f => write!(f, " row_shr:{n}")?,
        0x121..=0x12f => write!(f, " row_ror:{n}")?,
        0x130 => f.write_str(" /* wave_shl is not supported starting from GFX10 */")?,
        0x134 => f.write_str(" /* wave_rol is not supported starting from GFX10 */")?,
        0x138 => f.write_str(" /* wave_shr is not supported starting from GFX10 */")?,
        0x13c => f.write_str(" /* wave_ror is not supported starting from GFX10 */")?,
        0x140 => f.write_str(" row_mirror")?,
        0x141 => f.write_str(" row_half_mirror")?,
        0x142 | 0x143 => f.write_str(" /* row_bcast is not supported starting from GFX10 */")?,
        0x160..=0x16f => write!(f, " row_xmask:{n}")?,
        _ => f.write_str(" /* Invalid dpp_ctrl value */")?,
    }
    write!(f, " row_mask:0x{:x} bank_mask:0x{:x}", value(Field::RowMask), value(Field::BankMask))?;
    f.write_str(if on(inst, Field::BoundCtrl) { " bound_ctrl:1" } else { "" })?;
    f.write_str(if on(inst, Field::Fi) { " fi:1" } else { "" })
}

/// DPP8: a lane for each of eight.
pub fn dpp8(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const FETCH_INACTIVE: u32 = 2;
    let lanes = inst.field(Field::Lanes).unwrap_or(0);
    let names: Vec<String> = (0..8).map(|i| (lanes >> (3 * i) & 7).to_string()).collect();
    write!(f, " dpp8:[{}]", names.join(","))?;
    f.write_str(if inst.field(Field::Dpp8Mark) == Some(FETCH_INACTIVE) { " fi:1" } else { "" })
}

/// `s_delay_alu`: which earlier instructions the next ones wait for.
pub fn delay_alu(raw: u32) -> String {
    const ON: [&str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIP: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let parts = [
        ("instid0", raw & 0xf, &ON[..], "/* invalid instid value */"),
        ("instskip", raw >> 4 & 7, &SKIP[..], "/* invalid instskip value */"),
        ("instid1", raw >> 7 & 0xf, &ON[..], "/* invalid instid value */"),
    ];
    let shown = parts.iter().filter(|(_, value, ..)| *value != 0);
    let shown: Vec<String> = shown
        .map(|(name, value, names, invalid)| format!("{name}({})", names.get(*value as usize).unwrap_or(invalid)))
        .collect();
    if shown.is_empty() { "0".to_string() } else { shown.join(" | ") }
}

/// `s_waitcnt_depctr`: every counter that is waited for, or all if none is; a number if bits are set that are no counter's.
pub fn depctr(raw: u32, can_hold: bool) -> String {
    const COUNTERS: [(&str, u32, u32); 7] = [
        ("hold_cnt", 7, 1),
        ("sa_sdst", 0, 1),
        ("va_vdst", 12, 4),
        ("va_sdst", 9, 3),
        ("va_ssrc", 8, 1),
        ("va_vcc", 1, 1),
        ("vm_vsrc", 2, 3),
    ];
    let field = |width: u32| (1 << width) - 1;
    // RDNA1 has not the first.
    let counters = if can_hold { &COUNTERS[..] } else { &COUNTERS[1..] };
    let all: u32 = counters.iter().map(|(_, low, width)| field(*width) << low).sum();
    if raw & !all != 0 {
        return format!("0x{raw:x}");
    }
    let shown = counters.iter().filter(|(_, low, width)| raw == all || raw >> low & field(*width) != field(*width));
    let shown = shown.map(|(name, low, width)| format!("depctr_{name}({})", raw >> low & field(*width)));
    shown.collect::<Vec<_>>().join(" ")
}

/// The dimensions of an image.
pub fn dimension(code: u32) -> &'static str {
    ["1D", "2D", "3D", "CUBE", "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"][code as usize & 7]
}

/// Data formats, each with its number formats in order.
pub type BufferFormats = [(&'static str, &'static [&'static str])];

pub const INTEGERS: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"];
pub const ALL: &[&str] = &["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"];
pub const WIDE: &[&str] = &["UINT", "SINT", "FLOAT"];

/// The format of a typed buffer access, where one number stands for data and number format.
pub fn buffer_format(code: u32, formats: &BufferFormats) -> String {
    let Some(mut at) = (code as usize).checked_sub(1) else { return "[BUF_FMT_INVALID]".to_string() };
    for (data, numbers) in formats {
        if let Some(number) = numbers.get(at) {
            return format!("[BUF_FMT_{data}_{number}]");
        }
        at -= numbers.len();
    }
    code.to_string()
}

/// The cache bits of a memory access.
pub fn cache(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    flags(inst, f, &[(Field::Glc, "glc"), (Field::Slc, "slc"), (Field::Dlc, "dlc")])
}

/// MIMG's fields.
pub fn image(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !inst.info().base.contains("_bvh") {
        if let Some(mask) = inst.field(Field::Dmask).filter(|m| *m != 0) {
            write!(f, " dmask:0x{mask:x}")?;
        }
        write!(f, " dim:SQ_RSRC_IMG_{}", dimension(inst.field(Field::Dim).unwrap_or(0)))?;
        flags(inst, f, &[(Field::Unorm, "unorm")])?;
        cache(inst, f)?;
        flags(inst, f, &[(Field::R128, "r128")])?;
    }
    flags(inst, f, &[(Field::A16, "a16"), (Field::Tfe, "tfe"), (Field::Lwe, "lwe"), (Field::D16, "d16")])
}
