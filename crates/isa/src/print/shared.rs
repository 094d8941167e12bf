//! The text of modifiers that are the same in several generations.

use std::fmt::{self, Write};

use crate::{Field, Flags, Inst};

pub fn on(inst: &Inst, field: Field) -> bool {
    inst.field(field).unwrap_or(0) != 0
}

/// ` name` for each field that is not zero.
pub fn flags(inst: &Inst, f: &mut fmt::Formatter<'_>, names: &[(Field, &str)]) -> fmt::Result {
    names.iter().filter(|(field, _)| on(inst, *field)).try_for_each(|(_, name)| write!(f, " {name}"))
}

/// ` name:value` for each field that is not zero.
pub fn numbers(inst: &Inst, f: &mut fmt::Formatter<'_>, names: &[(Field, &str)]) -> fmt::Result {
    names
        .iter()
        .filter(|(field, _)| on(inst, *field))
        .try_for_each(|(field, name)| write!(f, " {name}:{}", inst.field(*field).unwrap_or(0)))
}

pub fn sources(inst: &Inst) -> u32 {
    let is_source = |field| matches!(field, Field::Src0 | Field::Src1 | Field::Src2);
    inst.info().operands.iter().filter(|o| is_source(o.field)).count() as u32
}

/// SMEM with both offsets; the immediate one is not among the operands.
pub fn has_offset_modifier(inst: &Inst) -> bool {
    let operand = |field: Field| inst.info().operands.iter().any(|o| o.field == field);
    let is_prefetch = || inst.info().base.contains("prefetch");
    operand(Field::Soffset) && operand(Field::Offset) && !is_prefetch()
}

/// SMEM with both offsets: the immediate one.
pub fn smem_offset(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if !has_offset_modifier(inst) {
        return Ok(());
    }
    let (raw, width) = inst.raw_field(Field::Offset).unwrap_or((0, 21));
    let offset = (raw << (32 - width)) as i32 >> (32 - width);
    if offset < 0 { write!(f, " offset:-0x{:x}", -offset) } else { write!(f, " offset:0x{offset:x}") }
}

/// `[1,0,1]`, one bit each.
pub fn bit_list(raw: u32, count: u32) -> String {
    let mut text = String::from("[");
    for i in 0..count {
        let _ = write!(text, "{}{}", if i == 0 { "" } else { "," }, raw >> i & 1);
    }
    text + "]"
}

pub fn clamp_and_omod(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    flags(inst, f, &[(Field::Clamp, "clamp")])?;
    match inst.field(Field::Omod) {
        Some(1) => f.write_str(" mul:2"),
        Some(2) => f.write_str(" mul:4"),
        Some(3) => f.write_str(" div:2"),
        _ => Ok(()),
    }
}

pub fn vop3(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(table) = inst.truth_table().filter(|t| *t != 0) {
        if table <= 10 { write!(f, " bitop3:{table}")? } else { write!(f, " bitop3:0x{table:x}")? }
    }
    // This one has its clamp before the selection.
    let clamp_first = inst.info().base == "v_interp_p2_f16";
    if clamp_first {
        clamp_and_omod(inst, f)?;
    }
    let selected = inst.field(Field::OpSel).unwrap_or(0);
    let base = inst.info().base;
    let format = inst.info().format;
    let halves = || inst.info().operands.iter().any(|o| o.half);
    let is_dpp_comparison = (format.is_dpp16() || format.is_dpp8()) && base.starts_with("v_cmp") && halves();
    if base.starts_with("v_permlane") && !base.ends_with("_swap_b32") {
        // The two bits are other modifiers here: fetch from inactive lanes, zero for those out of bounds.
        if selected != 0 {
            write!(f, " op_sel:{}", bit_list(selected, 2))?;
        }
    } else if selected != 0
        && base != "v_cndmask_b16"
        && (inst.info().flags.contains(Flags::OP_SEL) || is_dpp_comparison)
    {
        // Conversions may use the third bit without a third source; v_fmac has its destination for one.
        const THIRD: u128 = 1 << 13;
        let legality = &inst.info().legality;
        let count = if (legality.fixed | legality.ignored) & THIRD == 0 { 3 } else { sources(inst) };
        let count = if base == "v_fmac_f16" { 3 } else { count };
        let bits = bit_list(selected, count);
        // Comparisons that have no destination, or forget it with DPP.
        let no_destination = base.starts_with("v_cmpx") || is_dpp_comparison;
        let (bits, last) = if no_destination {
            (bits.as_str(), String::new())
        } else {
            (&bits[..bits.len() - 1], format!(",{}]", selected >> 3 & 1))
        };
        write!(f, " op_sel:{bits}{last}")?;
    }
    // OP_SEL's bits say something else here.
    if ["v_permlane16_swap_b32", "v_permlane32_swap_b32"].contains(&base) {
        if selected & 2 != 0 {
            f.write_str(" bound_ctrl:1")?;
        }
        if selected & 1 != 0 {
            f.write_str(" fi:1")?;
        }
    }
    if clamp_first || inst.truth_table().is_some() { Ok(()) } else { clamp_and_omod(inst, f) }
}

pub fn vop3p(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let count = sources(inst);
    let mask = (1 << count) - 1;
    let value = |field| inst.field(field).unwrap_or(0) & mask;
    let default_high = if inst.info().flags.contains(Flags::PACKED) { mask } else { 0 };
    let mix = inst.info().base.contains("_mix");
    let sparse = inst.info().base.starts_with("v_swmmac");
    let list = [
        ("op_sel", if sparse { 0 } else { value(Field::OpSel) }, 0),
        ("op_sel_hi", value(Field::OpSelHi), default_high),
        ("neg_lo", if mix { 0 } else { value(Field::Neg) }, 0),
        ("neg_hi", if mix { 0 } else { value(Field::NegHi) }, 0),
    ];
    for (name, bits, _) in list.iter().filter(|(_, bits, default)| bits != default) {
        write!(f, " {name}:{}", bit_list(*bits, count))?;
    }
    flags(inst, f, &[(Field::Clamp, "clamp")])
}

pub fn sdwa(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SELECTIONS: [&str; 8] = ["BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "DWORD"];
    const UNUSED: [&str; 4] = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "UNUSED_PAD"];
    let select = |field| SELECTIONS[inst.field(field).unwrap_or(6) as usize];
    clamp_and_omod(inst, f)?;
    let has = |field: Field| inst.info().operands.iter().any(|o| o.field == field);
    // Some conversions always write a whole register.
    const DESTINATION: u128 = 1 << 43;
    let legality = &inst.info().legality;
    if has(Field::Vdst) && (legality.fixed | legality.ignored) & DESTINATION == 0 {
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

/// ds_swizzle's pattern: four lanes permuted, 32 rotated or in the order of an FFT, or lane numbers masked, or-ed and
/// xor-ed within 32 lanes.
pub fn swizzle(pattern: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if pattern == 0 {
        return Ok(());
    }
    f.write_str(" offset:")?;
    if pattern & 0xff00 == 0x8000 {
        let lane = |i: u32| pattern >> (2 * i) & 3;
        return write!(f, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
    }
    match pattern {
        0xe000.. => return write!(f, "swizzle(FFT,{})", pattern & 31),
        0xc000.. => return write!(f, "swizzle(ROTATE,{},{})", pattern >> 10 & 1, pattern >> 5 & 31),
        0x8000.. => return write!(f, "{pattern}"),
        _ => {}
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

/// DS: one offset, or two for instructions with two addresses.
pub fn ds(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let base = inst.info().base;
    // Those of RDNA3 say so in their names.
    let older = ["ds_read2", "ds_write2", "ds_wrxchg2"];
    let has_two_addresses = base.contains("_2addr_") || older.iter().any(|start| base.starts_with(start));
    let (low, high) = (inst.field(Field::Offset0).unwrap_or(0), inst.field(Field::Offset1).unwrap_or(0));
    let offset = low | high << 8;
    if has_two_addresses {
        numbers(inst, f, &[(Field::Offset0, "offset0"), (Field::Offset1, "offset1")])?;
    } else if base == "ds_swizzle_b32" {
        swizzle(offset, f)?;
    } else if offset != 0 {
        write!(f, " offset:{offset}")?;
    }
    flags(inst, f, &[(Field::Gds, "gds")])
}

/// The offset of FLAT, GLOBAL and SCRATCH: signed but for FLAT.
pub fn flat_offset(inst: &Inst, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (raw, width) = inst.raw_field(Field::Offset).unwrap_or((0, 13));
    let signed = inst.info().flags.intersects(Flags::GLOBAL | Flags::SCRATCH);
    let offset = if signed { (raw << (32 - width)) as i32 >> (32 - width) } else { raw as i32 };
    if offset != 0 { write!(f, " offset:{offset}") } else { Ok(()) }
}
