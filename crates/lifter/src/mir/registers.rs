//! LLVM's names of registers in MIR.

use std::fmt::Write as _;

use luthier_isa::{Part, Reg, RegRange, RegSet};

/// `$sgpr4_sgpr5`, `$vcc`, `$vgpr0`, `$vgpr0_lo16`.
pub(super) fn tuple(range: RegRange) -> String {
    let (first, count) = (range.first, u16::from(range.count));
    let named = match (first, count) {
        (Reg::VCC_LO, 1) => "vcc_lo",
        (Reg::VCC_HI, 1) => "vcc_hi",
        (Reg::VCC_LO, 2) => "vcc",
        (Reg::EXEC_LO, 1) => "exec_lo",
        (Reg::EXEC_HI, 1) => "exec_hi",
        (Reg::EXEC_LO, 2) => "exec",
        (Reg::FLAT_SCRATCH_LO, 1) => "flat_scr_lo",
        (Reg::FLAT_SCRATCH_HI, 1) => "flat_scr_hi",
        (Reg::FLAT_SCRATCH_LO, 2) => "flat_scr",
        (Reg::XNACK_MASK_LO, 1) => "xnack_mask_lo",
        (Reg::XNACK_MASK_HI, 1) => "xnack_mask_hi",
        (Reg::XNACK_MASK_LO, 2) => "xnack_mask",
        (Reg::M0, 1) => "m0",
        (Reg::SCC, 1) => "scc",
        _ => "",
    };
    if !named.is_empty() {
        return format!("${named}");
    }
    let file = match first {
        r if r.is_vgpr() => "vgpr",
        r if r.is_agpr() => "agpr",
        r if r.is_ttmp() => "ttmp",
        _ => "sgpr",
    };
    let mut out = String::new();
    for n in 0..count {
        // Writing to a String does not fail.
        let _ = write!(out, "{}{file}{}", if n == 0 { '$' } else { '_' }, first.number() + n);
    }
    out + match range.part {
        Part::Whole => "",
        Part::Low => "_lo16",
        Part::High => "_hi16",
    }
}

/// A read-only special source, by its code and the number of units that the operand spans.
pub(super) fn special(code: u16, units: u8) -> Option<&'static str> {
    Some(match (code, units) {
        (125, 1) => "$sgpr_null",
        (125, 2) => "$sgpr_null64",
        (230, 1) => "$src_flat_scratch_base_lo",
        (230, 2) => "$src_flat_scratch_base",
        (231, 1) => "$src_flat_scratch_base_hi",
        (235, 1) => "$src_shared_base_lo",
        (235, 2) => "$src_shared_base",
        (236, 1) => "$src_shared_limit_lo",
        (236, 2) => "$src_shared_limit",
        (237, 1) => "$src_private_base_lo",
        (237, 2) => "$src_private_base",
        (238, 1) => "$src_private_limit_lo",
        (238, 2) => "$src_private_limit",
        (239, _) => "$src_pops_exiting_wave_id",
        (251, _) => "$src_vccz",
        (252, _) => "$src_execz",
        (253, _) => "$src_scc",
        (254, _) => "$lds_direct",
        _ => return None,
    })
}

/// Registers whose contents LLVM follows. The others are reserved: defined everywhere, as far as it is concerned.
pub(super) fn is_followed(reg: Reg) -> bool {
    reg.is_sgpr() || reg.is_vgpr() || reg.is_agpr() || [Reg::VCC_LO, Reg::VCC_HI, Reg::SCC].contains(&reg)
}

/// The followed units of an implicit operand; none of a reserved one.
pub(super) fn implicit_units(name: &str) -> &'static [Reg] {
    match name {
        "SCC" => &[Reg::SCC],
        "VCC" => &[Reg::VCC_LO, Reg::VCC_HI],
        "VCC_LO" => &[Reg::VCC_LO],
        "VCC_HI" => &[Reg::VCC_HI],
        _ => &[],
    }
}

/// A set as a list of registers, each behind `prefix`.
pub(super) fn list(set: &RegSet, prefix: &str) -> String {
    let mut out = String::new();
    for reg in set.iter() {
        let _ = write!(out, "{}{prefix}{}", if out.is_empty() { "" } else { ", " }, tuple(RegRange::new(reg, 1)));
    }
    out
}
