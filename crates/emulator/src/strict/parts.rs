//! Which bits of its registers an instruction takes, and which it writes.

use luthier_isa::{DataType, Field, Flags, Format, Generation, Inst, Operand, Part};

use super::elements;
use super::placed::Placed;
use super::terms::{Place, Source};
use crate::lower::{places_half, target_is_half};

const LOW: u32 = 0xffff;
const HIGH: u32 = 0xffff_0000;

/// The bits of a register that a selection of SDWA means: bytes 0 to 3, words 4 and 5, 6 everything.
fn selected(select: u32) -> u32 {
    match select {
        0..=3 => 0xff << (8 * select),
        4 => LOW,
        5 => HIGH,
        _ => !0,
    }
}

/// A source, the `position`-th of its instruction.
pub(super) fn source(inst: &Inst, base: &str, place: Place, value: Operand, ty: DataType, position: usize) -> Source {
    let (used, shift) = match value {
        Operand::Reg(range) if range.part == Part::Low => (LOW, 0),
        Operand::Reg(range) if range.part == Part::High => (HIGH, 16),
        _ => used_bits(inst, ty, position),
    };
    let mut taken = taken(base, position);
    if matches!(base, "v_cvt_f32_fp8" | "v_cvt_f32_bf8" | "v_cvt_f16_fp8" | "v_cvt_f16_bf8") {
        // The second bit of OP_SEL says which byte of the half.
        taken = if inst.field(Field::OpSel).unwrap_or(0) & 2 != 0 { 0xff00 } else { 0xff };
    }
    Source { place, used: used & taken << shift, shift }
}

/// The bits of an operand that an operation of this type uses, and the place of the lowest.
fn used_bits(inst: &Inst, ty: DataType, position: usize) -> (u32, u8) {
    let info = inst.info();
    if info.flags.contains(Flags::SDWA) {
        let select = [Field::Src0Sel, Field::Src1Sel].get(position).and_then(|&f| inst.field(f)).unwrap_or(6);
        return match selected(select) {
            u32::MAX => (half_bits(info.base, ty, position), 0),
            used => (used, used.trailing_zeros() as u8),
        };
    }
    if info.format.plain() == Format::Vop3a
        && !info.base.starts_with("v_permlane")
        && inst.field(Field::OpSel).unwrap_or(0) >> position & 1 != 0
    {
        return (HIGH, 16);
    }
    if info.format.plain() == Format::Vop3p {
        let bit = |f| inst.field(f).unwrap_or(0) >> position & 1;
        let used = match (ty, bit(Field::OpSel), bit(Field::OpSelHi)) {
            (DataType::V2F16 | DataType::V2I16 | DataType::V2Bf16, 0, 0) => LOW,
            (DataType::V2F16 | DataType::V2I16 | DataType::V2Bf16, 1, 1) => HIGH,
            (DataType::F16, 0, 1) => LOW, // v_fma_mix
            (DataType::F16, 1, 1) => HIGH,
            _ => !0,
        };
        return (used, 0);
    }
    (half_bits(info.base, ty, position), 0)
}

/// Of a pair of registers, the one that a packed operation of f32 selects for both of its results.
pub(super) fn only_word(inst: &Inst, base: &str, place: Place, position: usize) -> Option<u8> {
    let bit = |f| inst.field(f).map(|bits| (bits >> position & 1) as u8);
    let (low, high) = (bit(Field::OpSel)?, bit(Field::OpSelHi)?);
    match base {
        _ if place.words() != 2 => None,
        // One source for each result.
        "v_pk_mov_b32" => Some(low),
        "v_pk_fma_f32" | "v_pk_mul_f32" | "v_pk_add_f32" if low == high => Some(low),
        _ => None,
    }
}

/// The bits of what it is given that a store stores.
pub(super) fn stored(base: &str) -> u32 {
    let stores = base.contains("_store_") || base.starts_with("ds_write");
    let small = ["_b8", "_b16", "_byte", "_short"].iter().any(|end| base.ends_with(end));
    match () {
        () if stores && base.contains("_d16_hi") => HIGH,
        () if stores && small => LOW,
        () => !0,
    }
}

fn half_bits(base: &str, ty: DataType, position: usize) -> u32 {
    if base == "s_cvt_hi_f32_f16" {
        return HIGH;
    }
    // What these add to a product of halves is whole.
    if position == 2 && matches!(base, "v_mad_u32_u16" | "v_mad_i32_i16")
        || base == "v_sad_u16"
        || base.starts_with("s_pack_")
    {
        return !0;
    }
    let by_name = base.ends_with("_f16") || base.ends_with("_u16") || base.ends_with("_i16") || base.ends_with("_b16");
    let packed = base.starts_with("v_pk_") || base.starts_with("v_dot") || base.contains("_mix");
    if matches!(ty, DataType::F16 | DataType::I16 | DataType::B16 | DataType::Bf16) || (by_name && !packed) {
        LOW
    } else {
        !0
    }
}

/// Whether one operand says how far the other is shifted.
fn shifts(base: &str) -> bool {
    matches!(Placed::of(base), Some(Placed::Shift { .. }))
}

/// The bits of a source, its lowest at 0, that an operation takes for what it does.
fn taken(base: &str, position: usize) -> u32 {
    let amount = match () {
        () if base.ends_with("64") => 63,
        () if base.ends_with("16") => 15,
        () => 31,
    };
    match (base, position) {
        ("v_cvt_f32_ubyte0", 0) => 0xff,
        ("v_cvt_f32_ubyte1", 0) => 0xff00,
        ("v_cvt_f32_ubyte2", 0) => 0xff_0000,
        ("v_cvt_f32_ubyte3", 0) => 0xff00_0000,
        ("v_cvt_off_f32_i4", 0) => 0xf,
        ("s_bfe_u32" | "s_bfe_i32", 1) => 0x7f_001f,
        ("s_bfe_u64" | "s_bfe_i64", 1) => 0x7f_003f,
        ("v_bfe_u32" | "v_bfe_i32", 1 | 2) | ("v_alignbit_b32" | "v_add_lshl_u32", 2) => 31,
        ("v_lshl_or_b32" | "v_lshl_add_u32", 1) | ("v_bfm_b32" | "s_bfm_b32", _) => 31,
        ("v_alignbyte_b32", 2) => 3,
        _ if (base.ends_with("_u24") || base.ends_with("_i24")) && position < 2 => 0xff_ffff,
        _ if base.starts_with("v_") && base.contains("rev_") && shifts(base) && position == 0 => amount,
        _ if base.starts_with("s_") && shifts(base) && position == 1 => amount,
        _ => !0,
    }
}

/// The bits of a vector result that get something, and those that keep what they have. The others become zero.
pub(super) fn written(inst: &Inst, base: &str, part: Part) -> (u32, u32) {
    let info = inst.info();
    match part {
        Part::Low => return (LOW, HIGH),
        Part::High => return (HIGH, LOW),
        Part::Whole => {}
    }
    let whole = (!0, 0);
    // Floating point on scalars leaves the upper half alone; loads of 16 bits extend them.
    if info.flags.contains(Flags::SMEM) {
        return whole;
    }
    if (base.starts_with("s_") && target_is_half(base) || base.starts_with("v_s_")) && !base.starts_with("s_cmp") {
        return if target_is_half(base) { (LOW, HIGH) } else { whole };
    }
    if !info.flags.contains(Flags::VALU) || base.starts_with("v_cmp") || base.contains("lane") {
        return whole;
    }
    if info.flags.contains(Flags::SDWA) {
        let bits = selected(inst.field(Field::DstSel).unwrap_or(6));
        return match inst.field(Field::DstUnused) {
            _ if bits == !0 => whole,
            Some(0) => (bits, 0),
            // The sign goes all the way up.
            Some(1) => (bits | !(!0 >> bits.leading_zeros()), 0),
            _ => (bits, !bits),
        };
    }
    if let Some(bits) = elements::written(inst, base) {
        return (bits, !bits);
    }
    match base {
        "v_mad_mixlo_f16" | "v_fma_mixlo_f16" | "v_fma_mixlo_bf16" => return (LOW, HIGH),
        "v_mad_mixhi_f16" | "v_fma_mixhi_f16" | "v_fma_mixhi_bf16" => return (HIGH, LOW),
        _ => {}
    }
    let keeps_high = crate::valu::lookup(inst.info().op()).is_some_and(|valu| valu.keep_high);
    if !target_is_half(base) && !keeps_high {
        return whole;
    }
    let high = places_half(info) && inst.field(Field::OpSel).is_some_and(|sel| sel & 8 != 0);
    match info.mode.target().generation() {
        _ if high => (HIGH, LOW),
        // From RDNA1 on the other half is left alone.
        Generation::Gfx10 => (LOW, HIGH),
        _ if keeps_high => (LOW, HIGH),
        _ => whole,
    }
}

/// Whether a result is a source as well, and not only kept in part.
pub(super) fn accumulates(base: &str) -> bool {
    base.contains("mac") || base.contains("dot")
}

/// The bits of each source that the lower and the upper half of a result depend on.
pub(super) fn pairs(inst: &Inst, base: &str, sources: &[Source]) -> Option<[[u32; 3]; 2]> {
    let single = sources.len() <= 3 && sources.iter().all(|s| s.place.words() <= 1);
    if !single || inst.info().flags.contains(Flags::SDWA) {
        return None;
    }
    let of = |one: &dyn Fn(usize) -> u32| std::array::from_fn(|n| if n < sources.len() { one(n) } else { 0 });
    let ends = ["_f16", "_bf16", "_u16", "_i16", "_b16"];
    if inst.info().format.plain() != Format::Vop3p
        || !base.starts_with("v_pk_")
        || !ends.iter().any(|e| base.ends_with(e))
    {
        return None;
    }
    let (low, high) = (inst.field(Field::OpSel).unwrap_or(0), inst.field(Field::OpSelHi).unwrap_or(0));
    let half = |bits: u32, n: usize| if bits >> n & 1 != 0 { HIGH } else { LOW };
    Some([of(&|n| half(low, n)), of(&|n| half(high, n))])
}

/// Of a packed operation of f32 or a move of two words: the word of each source that the lower and the upper word of the
/// result are made of; 2 for none.
pub(super) fn words(inst: &Inst, base: &str, sources: &[Source]) -> Option<[[u8; 3]; 2]> {
    let moves = base == "v_pk_mov_b32";
    if !moves && !matches!(base, "v_pk_fma_f32" | "v_pk_mul_f32" | "v_pk_add_f32") {
        return None;
    }
    let (low, high) = (inst.field(Field::OpSel)?, inst.field(Field::OpSelHi)?);
    let from = |result: usize, selects: u32| {
        std::array::from_fn(|n| match sources.get(n) {
            Some(_) if moves && n != result => 2,
            // The word that is read is the only one that is named.
            Some(source) if source.place.words() < 2 => 0,
            Some(_) => (selects >> n & 1) as u8,
            None => 2,
        })
    };
    Some([from(0, low), from(1, if moves { low } else { high })])
}
