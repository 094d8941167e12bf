//! How undefinedness goes through each operation.

use luthier_isa::{Field, Flags, Format, Inst, Operand};

use super::elements::Elements;
use super::parts::{pairs, words};
use super::placed::Placed;
use super::terms::{Logic, Place, Rule, Source};
use crate::crossing::Within;

/// The bits of a register that a load brings, where the hardware leaves the others alone.
pub(super) fn filled(inst: &Inst, by_half: bool) -> u32 {
    match memory_rule(inst) {
        Rule::Memory { keeps_half: Some(kept), .. } if by_half => !kept,
        _ => !0,
    }
}

pub(super) fn memory_rule(inst: &Inst) -> Rule {
    let info = inst.info();
    let base = info.base;
    if base.starts_with("ds_") && (base.contains("permute") || base.contains("swizzle")) {
        return Rule::Any;
    }
    let keeps_half = match () {
        () if info.mode.clears_halves() => None,
        () if base.contains("_d16_hi") && !base.contains("store") => Some(0xffff),
        () if base.contains("_d16") && !base.contains("store") => Some(0xffff_0000),
        () => None,
    };
    // What a store writes may be undefined as long as it stays in LDS or scratch, which `memory` sees.
    let atomic = if base.starts_with("ds_") { is_ds_atomic(base) } else { info.flags.contains(Flags::ATOMIC) };
    Rule::Memory { data_matters: atomic, keeps_half }
}

/// By name: the tables do not say of all of them (ds_wrxchg2, ds_storexchg_2addr) that they are.
fn is_ds_atomic(base: &str) -> bool {
    !["ds_read", "ds_write_", "ds_write2", "ds_load", "ds_store_", "ds_append", "ds_consume", "ds_nop"]
        .iter()
        .any(|other| base.starts_with(other))
}

/// The operation, and whether its second source and its result are inverted.
fn logic_of(name: &str) -> Option<(Logic, bool, bool)> {
    Some(match name {
        "and" => (Logic::And, false, false),
        "nand" => (Logic::And, false, true),
        "or" => (Logic::Or, false, false),
        "nor" => (Logic::Or, false, true),
        "xor" => (Logic::Xor, false, false),
        "xnor" => (Logic::Xor, false, true),
        "andn2" | "and_not1" => (Logic::And, true, false),
        "orn2" | "or_not1" => (Logic::Or, true, false),
        _ => return None,
    })
}

/// Rules of what moves bits to places that the instruction says, or that its constants do.
fn fixed(base: &str, constant: &dyn Fn(usize) -> Option<u32>) -> Option<Rule> {
    if let Some(placed) = Placed::of(base) {
        let all = placed.places().iter().all(|&n| constant(n).is_some());
        return Some(if all { placed.rule(|n| constant(n).unwrap_or(0)) } else { Rule::Placed(placed) });
    }
    match base {
        "s_sext_i32_i8" => Some(Rule::Field { from: 0, width: 8, signed: true, bits: 32 }),
        "s_sext_i32_i16" => Some(Rule::Field { from: 0, width: 16, signed: true, bits: 32 }),
        "s_pack_ll_b32_b16" => Some(Rule::Bytes(0x0100_0504)),
        "s_pack_lh_b32_b16" => Some(Rule::Bytes(0x0302_0504)),
        "s_pack_hh_b32_b16" => Some(Rule::Bytes(0x0302_0706)),
        "s_pack_hl_b32_b16" => Some(Rule::Bytes(0x0100_0706)),
        "s_lshl1_add_u32" => Some(Rule::Sum { by: 1, other: 1 }),
        "s_lshl2_add_u32" => Some(Rule::Sum { by: 2, other: 1 }),
        "s_lshl3_add_u32" => Some(Rule::Sum { by: 3, other: 1 }),
        "s_lshl4_add_u32" => Some(Rule::Sum { by: 4, other: 1 }),
        "v_cvt_pk_u8_f32" => Some(Rule::Byte(constant(1)? & 3)),
        _ => None,
    }
}

/// Truth tables that give back a source.
const FIRST: u8 = 0xf0;
const SECOND: u8 = 0xcc;
const THIRD: u8 = 0xaa;

/// How undefinedness goes through an operation that does not access memory by lanes.
pub(super) fn rule(inst: &Inst, base: &str, sources: &[Source], results: &[Place], mask: Option<u8>) -> Rule {
    let info = inst.info();
    let field = |f| inst.field(f).unwrap_or(0);
    // SDWA's selections are no matter of rules as long as they bring zeros; saturation depends on all bits.
    let signs = field(Field::Src0Sext) | field(Field::Src1Sext) != 0 || field(Field::DstUnused) == 1;
    let plain = !(info.flags.contains(Flags::SDWA) && signs);
    let constant = |n: usize| match sources.get(n)?.place {
        Place::Constant(c) => Some(c),
        _ => None,
    };
    // What a floating-point constant is in 16 or 64 bits is not known here.
    let wide_or_narrow = base.ends_with("16") || base.ends_with("64");
    let floats = wide_or_narrow && inst.operands().any(|(_, value)| matches!(value, Operand::Inline(240..)));
    if let Some(rule) = fixed(base, &constant).filter(|_| plain && !floats) {
        return rule;
    }
    if info.flags.intersects(Flags::MFMA | Flags::WMMA) {
        return Rule::Decides("a matrix operation");
    }
    if info.flags.contains(Flags::SMEM) {
        return Rule::Decides("a scalar memory access");
    }
    if info.format == Format::Tensor {
        return Rule::Decides("what the tensor data mover moves");
    }
    if info.flags.contains(Flags::VALU) {
        if base.starts_with("v_cmpx") && results.is_empty() {
            return Rule::Decides("which lanes are active");
        }
        if base.starts_with("v_cmp") {
            return Rule::Compare;
        }
        if base.starts_with("v_cndmask") {
            return Rule::VectorSelect(mask.unwrap_or(crate::registers::scalar::VCC));
        }
        if let Some(elements) = Elements::of(inst, base).filter(|_| plain) {
            return Rule::Elements(elements);
        }
        if let Some(pairs) = pairs(inst, base, sources) {
            return Rule::Pairs(pairs);
        }
        if let Some(from) = words(inst, base, sources) {
            return Rule::Words { moves: base == "v_pk_mov_b32", from };
        }
        if let Some(within) = Within::of(inst.info().op()) {
            return Rule::Within(within);
        }
        return match base {
            "v_permlane16_b32" | "v_permlanex16_b32" => {
                let select = inst.field(Field::OpSel).unwrap_or(0);
                Rule::Permlane {
                    crosses: base == "v_permlanex16_b32",
                    fetches: select & 1 != 0,
                    bound_zero: select & 2 != 0,
                }
            }
            "v_permlane64_b32" => Rule::Permlane64,
            // Which registers they reach, M0 says.
            "v_movrels_b32" | "v_movreld_b32" | "v_movrelsd_b32" | "v_movrelsd_2_b32" => Rule::Defines,
            "v_readlane_b32" => Rule::ReadLane,
            "v_readfirstlane_b32" => Rule::ReadFirstLane,
            "v_writelane_b32" => Rule::WriteLane,
            "v_mov_b32"
            | "v_mov_b64"
            | "v_mov_b16"
            | "v_not_b16"
            | "v_not_b32"
            | "v_accvgpr_read_b32"
            | "v_accvgpr_write_b32"
            | "v_accvgpr_mov_b32"
                if plain && sources.len() == 1 =>
            {
                Rule::Move
            }
            "v_bfrev_b32" if plain => Rule::Reverse,
            "v_and_b32" | "v_and_b16" if plain && !floats => {
                Rule::Logic { op: Logic::And, invert: false, negate: false }
            }
            "v_or_b32" | "v_or_b16" if plain && !floats => Rule::Logic { op: Logic::Or, invert: false, negate: false },
            "v_xor_b32" | "v_xnor_b32" | "v_xor_b16" if plain && !floats => {
                Rule::Logic { op: Logic::Xor, invert: false, negate: base == "v_xnor_b32" }
            }
            "v_bfi_b32" => Rule::Table(FIRST & SECOND | !FIRST & THIRD),
            "v_and_or_b32" => Rule::Table(FIRST & SECOND | THIRD),
            "v_or3_b32" => Rule::Table(FIRST | SECOND | THIRD),
            "v_xor3_b32" => Rule::Table(FIRST ^ SECOND ^ THIRD),
            "v_bitop3_b32" | "v_bitop3_b16" => inst.truth_table().map_or(Rule::Any, |table| Rule::Table(table as u8)),
            // Its third source is zero.
            "v_bitop2_b32" => {
                let even = field(Field::Vsrc2Y) as u8 & !THIRD;
                Rule::Table(even | even << 1)
            }
            "v_swap_b32" if results.len() == 2 => Rule::Swap,
            "v_permlane16_swap_b32" | "v_permlane32_swap_b32" if results.len() == 2 => {
                let select = field(Field::OpSel);
                Rule::SwapGroups {
                    by: if base == "v_permlane16_swap_b32" { 16 } else { 32 },
                    fetches: select & 1 != 0,
                    bound_zero: select & 2 != 0,
                }
            }
            "v_swap_b16" => Rule::AnyOfAll,
            "v_swaprel_b32" => Rule::Defines,
            _ if base.starts_with("v_div_fmas") || base.starts_with("v_div_scale") => Rule::Carry(mask),
            _ if base.contains("_co_") && !plain => Rule::Carry(mask),
            _ if !plain || field(Field::Clamp) != 0 => Rule::Any,
            _ if base.contains("_co_") => Rule::Up(mask),
            "v_mad_u64_u32" | "v_mad_i64_i32" | "v_add_u32" | "v_sub_u32" | "v_subrev_u32" | "v_add3_u32"
            | "v_mul_lo_u32" | "v_mul_u32_u24" | "v_mad_u32_u24" | "v_mul_i32_i24" | "v_mad_i32_i24" | "v_add_i32"
            | "v_sub_i32" | "v_xad_u32" | "v_add_u16" | "v_sub_u16" | "v_subrev_u16" | "v_add_i16" | "v_sub_i16"
            | "v_mul_lo_u16" | "v_mad_u16" | "v_mad_i16" | "v_mad_u32_u16" => Rule::Up(None),
            _ => Rule::Any,
        };
    }
    let stem = base.strip_prefix("s_").unwrap_or(base);
    let width = stem.strip_suffix("_b64").or_else(|| stem.strip_suffix("_b32"));
    if let Some(name) = width.and_then(|stem| stem.strip_suffix("_saveexec").or_else(|| stem.strip_suffix("_wrexec"))) {
        let (op, invert_source, invert_exec) = match name {
            "andn1" | "and_not0" => (Logic::And, true, false),
            "orn1" | "or_not0" => (Logic::Or, true, false),
            name => match logic_of(name) {
                Some((op, invert, _)) => (op, false, invert),
                None => return Rule::Any,
            },
        };
        return Rule::SaveExec { op, invert_source, invert_exec };
    }
    if let Some((op, invert, negate)) = width.and_then(logic_of).filter(|_| !floats) {
        return Rule::Logic { op, invert, negate };
    }
    match base {
        "s_mov_b32" | "s_mov_b64" | "s_not_b32" | "s_not_b64" => Rule::Move,
        "s_cselect_b32" | "s_cselect_b64" => Rule::ScalarSelect,
        "s_cmov_b32" | "s_cmov_b64" | "s_cmovk_i32" => Rule::ScalarKeep,
        "s_setpc_b64" | "s_swappc_b64" => Rule::Decides("a jump"),
        "s_setreg_b32" => Rule::Decides("a hardware register"),
        "s_cmp_eq_u32" | "s_cmp_eq_i32" | "s_cmp_lg_u32" | "s_cmp_lg_i32" | "s_cmp_eq_u64" | "s_cmp_lg_u64" => {
            Rule::Equal
        }
        "s_cbranch_vccz" | "s_cbranch_vccnz" | "s_cbranch_scc0" | "s_cbranch_scc1" => Rule::Decides("a branch"),
        "s_add_u32" | "s_add_i32" | "s_addc_u32" | "s_sub_u32" | "s_sub_i32" | "s_subb_u32" | "s_mul_i32" => {
            Rule::Up(None)
        }
        _ if info.operands.is_empty() => Rule::Defines,
        _ => Rule::Any,
    }
}
