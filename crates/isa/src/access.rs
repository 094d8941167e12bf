//! Which register units an instruction touches, and how surely.

use crate::{Field, Flags, Format, Inst, Operand, Reg};

/// How one unit is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Access {
    Read,
    /// Read only if a condition holds (an indexed or masked access).
    CondRead,
    /// All 32 bits, and for a vector register all lanes, get a new value.
    Write,
    /// Some bits or lanes may keep the old value: a vector write under EXEC, a scalar write under SCC.
    /// It kills the old value only where EXEC is known to be full (vector) or never (scalar).
    CondWrite,
    ReadWrite,
    /// Read always, written as by [`Access::CondWrite`]: a 16-bit half written, the rest kept.
    ReadCondWrite,
}

impl Access {
    pub const fn reads(self) -> bool {
        !matches!(self, Access::Write | Access::CondWrite)
    }
    pub const fn writes(self) -> bool {
        !matches!(self, Access::Read | Access::CondRead)
    }
}

/// One unit and how it is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegAccess {
    pub reg: Reg,
    pub access: Access,
    /// The unit is not named in the assembly operands (SCC, VCC, EXEC, M0, MODE, FLAT_SCRATCH ...).
    pub implicit: bool,
}

/// Calls `f` for every unit that `inst` touches.
pub fn for_each(inst: &Inst, mut f: impl FnMut(RegAccess)) {
    let info = inst.info();
    for (operand, value) in inst.operands() {
        match value {
            Operand::Reg(range) => {
                let access =
                    if operand.access.writes() { written(inst, operand.access, range.first) } else { Access::Read };
                range.units().for_each(|reg| f(RegAccess { reg, access, implicit: false }));
            }
            Operand::Special(code) => special_units(code).iter().for_each(|&reg| {
                f(RegAccess { reg, access: Access::Read, implicit: false });
            }),
            _ => {}
        }
    }
    let mut implicit = |reg, access| f(RegAccess { reg, access, implicit: true });
    for &reg in info.implicit_reads {
        if reg != Reg::M0 || reads_m0(inst) {
            implicit(reg, Access::Read);
        }
    }
    let hardware_register = hwreg(inst);
    for &reg in info.implicit_writes {
        match (reg, hardware_register) {
            // s_setreg changes a bit field of one hardware register; which one is in the immediate.
            (Reg::MODE, Some(target)) => implicit(target, Access::ReadCondWrite),
            _ => implicit(reg, Access::Write),
        }
    }
    if info.implicit_writes.is_empty()
        && let Some(source) = hardware_register
    {
        implicit(source, Access::Read);
    }
    match info.base {
        // M0 chooses among the SGPRs from the operand on.
        "s_movrels_b32" | "s_movrels_b64" => every_sgpr(|reg| implicit(reg, Access::CondRead)),
        "s_movreld_b32" | "s_movreld_b64" => every_sgpr(|reg| implicit(reg, Access::CondWrite)),
        "s_set_gpr_idx_on" | "s_set_gpr_idx_off" | "s_set_gpr_idx_mode" | "s_set_gpr_idx_idx" => {
            implicit(Reg::GPR_IDX, Access::Write);
        }
        _ => {}
    }
}

/// How surely a destination gets a new value.
fn written(inst: &Inst, access: Access, first: Reg) -> Access {
    let info = inst.info();
    let reads = access.reads() && !writes_every_lane(inst);
    if !first.is_vgpr() && !first.is_agpr() {
        let conditional = info.base.starts_with("s_cmov");
        return match (reads, conditional) {
            (false, false) => Access::Write,
            (false, true) => Access::CondWrite,
            (true, false) => Access::ReadWrite,
            (true, true) => Access::ReadCondWrite,
        };
    }
    const PRESERVE: u32 = 2;
    const DESTINATION_HIGH: u32 = 8;
    let one_lane = info.base == "v_writelane_b32";
    let keeps_bits = inst.field(Field::DstUnused) == Some(PRESERVE)
        || info.format == Format::Vop3a && inst.field(Field::OpSel).unwrap_or(0) & DESTINATION_HIGH != 0;
    match (reads || one_lane || keeps_bits, info.flags.contains(Flags::IGNORES_EXEC) && !one_lane) {
        (false, true) => Access::Write,
        (false, false) => Access::CondWrite,
        (true, true) => Access::ReadWrite,
        (true, false) => Access::ReadCondWrite,
    }
}

/// A DPP instruction keeps the old value of lanes that its masks leave out or whose source lane is not there. With full
/// masks and zeros for missing sources there are none, and the destination is read by accumulating opcodes only.
fn writes_every_lane(inst: &Inst) -> bool {
    let info = inst.info();
    info.flags.contains(Flags::DPP)
        && inst.field(Field::RowMask) == Some(0xf)
        && inst.field(Field::BankMask) == Some(0xf)
        && inst.field(Field::BoundCtrl) == Some(1)
        && !["mac_", "dot"].iter().any(|part| info.base.contains(part))
}

/// What a special source code depends on.
fn special_units(code: u16) -> &'static [Reg] {
    match code {
        251 => &[Reg::VCC_LO, Reg::VCC_HI],
        252 => &[Reg::EXEC_LO, Reg::EXEC_HI],
        253 => &[Reg::SCC],
        254 => &[Reg::M0],
        _ => &[],
    }
}

/// LLVM says that every DS opcode reads M0, which it did before gfx9: since then only those that address by it do.
fn reads_m0(inst: &Inst) -> bool {
    let info = inst.info();
    !info.flags.contains(Flags::DS)
        || ["gws", "addtid", "append", "consume", "ordered"].iter().any(|part| info.base.contains(part))
}

/// The hardware register of s_getreg and s_setreg, as far as it is a unit of ours.
fn hwreg(inst: &Inst) -> Option<Reg> {
    if !matches!(inst.info().base, "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32") {
        return None;
    }
    Some(match inst.field(Field::Simm16)? & 0x3f {
        1 => Reg::MODE,
        3 => Reg::TRAPSTS,
        _ => Reg::STATUS,
    })
}

fn every_sgpr(f: impl FnMut(Reg)) {
    (0..102).map(Reg::sgpr).for_each(f);
}
