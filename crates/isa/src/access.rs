//! Which register units an instruction touches, and how surely.

use crate::{Field, File, Flags, Format, Inst, OpcodeInfo, Operand, OperandInfo, Reg, RegRange, msb};

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
///
/// What no instruction tells: between `s_set_gpr_idx_on` and `_off`, vector operands are indexed by M0, and may be any
/// VGPR. Code that follows accesses must treat such a region on its own; [`Reg::GPR_IDX`] shows where one begins.
pub fn for_each(inst: &Inst, mut f: impl FnMut(RegAccess)) {
    let info = inst.info();
    let indexed = Indexed::of(info.base);
    for (operand, value) in inst.operands() {
        match value {
            Operand::Reg(range) => {
                let access = match indexed {
                    // What the swap of indexed registers exchanges may be these two or any others.
                    Some(_) if indexed_swap(info.base) => Access::ReadCondWrite,
                    Some(by) if by.source && operand.field != by.destination_field() => Access::CondRead,
                    Some(by) if by.destination && operand.field == by.destination_field() => Access::CondWrite,
                    // A scalar register keeps the half of EXEC whose turn it is not.
                    _ if swaps_exec(info.base) => Access::ReadCondWrite,
                    _ if operand.field == Field::Vdata && inst.discards_result() => Access::Read,
                    _ if operand.access.writes() => written(inst, operand.access, operand.field, range),
                    _ => Access::Read,
                };
                let certain = inst.is_plain()
                    || !range.first.is_vgpr()
                    || inst.msb().is_some_and(|msb| msb.operand(inst, operand).is_some())
                    || msb::slot(info, operand.field).is_none();
                match certain {
                    true => range.units().for_each(|reg| f(RegAccess { reg, access, implicit: false })),
                    false => any_of_four(range, access, &mut f),
                }
            }
            Operand::Special(code) => special_units(code).iter().for_each(|&reg| {
                f(RegAccess { reg, access: Access::Read, implicit: false });
            }),
            _ => {}
        }
    }
    further_addresses(inst, &mut f);
    if reaches_hardware_registers(info.base) {
        // LLVM knows MODE only; which register it is, is in the immediate.
        hardware_register(inst, |reg, access| f(RegAccess { reg, access, implicit: true }));
        return;
    }
    implicit(info, f);
}

/// The most registers that an image instruction's address has on gfx9, with a sampler and without.
const IMAGE_ADDRESSES: [u16; 2] = [12, 4];

/// How many dimensions an image has, and with it how many registers its address, only the resource says on gfx9. LLVM's
/// disassembler names the first register alone.
fn further_addresses(inst: &Inst, f: &mut impl FnMut(RegAccess)) {
    let info = inst.info();
    if !info.flags.contains(Flags::MIMG) || !info.mode.target().generation().is_gfx9_family() {
        return;
    }
    let Some(Operand::Reg(range)) = inst.operand_in(Field::Vaddr) else { return };
    let sampled = info.operands.iter().any(|o| o.field == Field::Ssamp);
    let most = match info.base {
        "image_get_resinfo" => 1,
        _ => IMAGE_ADDRESSES[usize::from(!sampled)],
    };
    let (first, named) = (range.first.number(), u16::from(range.count));
    for number in (first + named..first + most).filter(|n| *n < 256) {
        f(RegAccess { reg: Reg::vgpr(number), access: Access::CondRead, implicit: true });
    }
}

/// The units of a vector operand whose upper bits are not known: any of four registers, and none of them surely.
#[cold]
fn any_of_four(named: RegRange, access: Access, f: &mut impl FnMut(RegAccess)) {
    let access = if access.writes() { Access::ReadCondWrite } else { Access::CondRead };
    let first = named.first.number();
    for quarter in 0..4 {
        let numbers = (first..first + u16::from(named.count)).map(|n| n + 256 * quarter);
        let units = numbers.filter(|n| *n < 1024).map(Reg::vgpr);
        units.for_each(|reg| f(RegAccess { reg, access, implicit: false }));
    }
}

/// The units that an opcode touches without naming them, apart from the hardware registers of s_getreg and s_setreg.
pub(crate) fn implicit(info: &OpcodeInfo, mut f: impl FnMut(RegAccess)) {
    let mut implicit = |reg, access| f(RegAccess { reg, access, implicit: true });
    // Matrix operations take every lane, whatever EXEC says.
    let is_matrix = info.flags.contains(Flags::MFMA);
    let reads = info.implicit_reads.iter().filter(|r| !(is_matrix && [Reg::EXEC_LO, Reg::EXEC_HI].contains(r)));
    reads.for_each(|&reg| implicit(reg, Access::Read));
    for &reg in info.implicit_writes {
        // The index and mode fields of M0 and MODE change, the rest stays; a half of EXEC changes, or none.
        let partly = info.base.starts_with("s_set_gpr_idx") || info.base == "s_set_vgpr_msb" || swaps_exec(info.base);
        implicit(reg, if partly { Access::ReadCondWrite } else { Access::Write });
    }
    // The upper bits of the VGPRs' numbers are there.
    let is_vector = |o: &OperandInfo| matches!(o.file, File::Vgpr | File::Vector | File::Source);
    let has_slot = |o: &OperandInfo| is_vector(o) && msb::slot(info, o.field).is_some();
    if info.mode.target().vgprs() > 256
        && info.operands.iter().any(has_slot)
        && !info.implicit_reads.contains(&Reg::MODE)
    {
        implicit(Reg::MODE, Access::Read);
    }
    if let Some(by) = Indexed::of(info.base) {
        // Where gfx9 keeps FLAT_SCRATCH and XNACK_MASK, later ones have four more SGPRs.
        let scalars = if info.mode.target().generation().is_gfx9_family() { 102 } else { 106 };
        let vectors = info.mode.target().vgprs();
        let registers = || {
            (0..if by.vector { vectors } else { scalars }).map(|n| if by.vector { Reg::vgpr(n) } else { Reg::sgpr(n) })
        };
        if by.source {
            registers().for_each(|reg| implicit(reg, Access::CondRead));
        }
        if by.destination {
            registers().for_each(|reg| implicit(reg, Access::CondWrite));
        }
    } else if info.base.starts_with("s_set_gpr_idx") {
        implicit(Reg::GPR_IDX, Access::Write);
    }
}

fn reaches_hardware_registers(base: &str) -> bool {
    matches!(base, "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32")
}

/// Both halves of a wave of 64 lanes in turn (RDNA).
fn swaps_exec(base: &str) -> bool {
    base.starts_with("s_subvector_loop")
}

/// No immediate and no index register decides what such an operation touches.
pub(crate) fn depends_on_operands_only(base: &str) -> bool {
    Indexed::of(base).is_none() && !reaches_hardware_registers(base) && !swaps_exec(base)
}

/// The moves whose source or destination M0 chooses among the registers from the operand on.
#[derive(Clone, Copy)]
struct Indexed {
    source: bool,
    destination: bool,
    /// VGPRs; otherwise SGPRs.
    vector: bool,
}

impl Indexed {
    fn of(base: &str) -> Option<Indexed> {
        let (source, destination) = match base {
            "s_movrels_b32" | "s_movrels_b64" | "v_movrels_b32" => (true, false),
            "s_movreld_b32" | "s_movreld_b64" | "v_movreld_b32" => (false, true),
            "s_movrelsd_2_b32" | "v_movrelsd_b32" | "v_movrelsd_2_b32" | "v_swaprel_b32" => (true, true),
            _ => return None,
        };
        Some(Indexed { source, destination, vector: base.starts_with("v_") })
    }

    fn destination_field(self) -> Field {
        if self.vector { Field::Vdst } else { Field::Sdst }
    }
}

fn indexed_swap(base: &str) -> bool {
    base == "v_swaprel_b32"
}

/// How surely a destination gets a new value.
fn written(inst: &Inst, access: Access, field: Field, range: RegRange) -> Access {
    let keeps = || {
        range.is_half()
            || field == Field::Vdst && keeps_bits(inst)
            || field == Field::Vdata && keeps_fault(inst)
            || keeps_lanes(inst)
    };
    written_by(inst.info(), access, range.first, keeps)
}

/// The same where nothing but the opcode tells.
pub(crate) fn written_by_opcode(info: &OpcodeInfo, access: Access, first: Reg) -> Access {
    written_by(info, access, first, || false)
}

fn written_by(info: &OpcodeInfo, access: Access, first: Reg, keeps: impl Fn() -> bool) -> Access {
    let reads = access.reads();
    if !first.is_vgpr() && !first.is_agpr() {
        let conditional = info.base.starts_with("s_cmov");
        return match (reads, conditional) {
            (false, false) => Access::Write,
            (false, true) => Access::CondWrite,
            (true, false) => Access::ReadWrite,
            (true, true) => Access::ReadCondWrite,
        };
    }
    let one_lane = info.base == "v_writelane_b32";
    match (reads || one_lane || keeps(), info.flags.contains(Flags::IGNORES_EXEC) && !one_lane) {
        (false, true) => Access::Write,
        (false, false) => Access::CondWrite,
        (true, true) => Access::ReadWrite,
        (true, false) => Access::ReadCondWrite,
    }
}

/// The last register of an image instruction with TFE is written where memory fails, and stays elsewhere.
fn keeps_fault(inst: &Inst) -> bool {
    inst.info().flags.contains(Flags::MIMG) && inst.field(Field::Tfe) == Some(1)
}

/// Does a vector destination keep some of its bits?
fn keeps_bits(inst: &Inst) -> bool {
    const PRESERVE: u32 = 2;
    const DESTINATION_HIGH: u32 = 8;
    let info = inst.info();
    match info.format {
        Format::Sdwa1 | Format::Sdwa2 => inst.field(Field::DstUnused) == Some(PRESERVE),
        // OP_SEL chooses the half that a 16-bit result goes to; the other half stays. Where operands name halves, they
        // tell.
        Format::Vop3a if info.operands.iter().all(|o| !o.half) && info.flags.contains(Flags::OP_SEL) => {
            let narrow = ["_f16", "_i16", "_u16"].iter().any(|end| info.base.ends_with(end));
            let wide = info.base.contains("32") || info.base.contains("_pk");
            narrow && !wide || inst.field(Field::OpSel).unwrap_or(0) & DESTINATION_HIGH != 0
        }
        _ => false,
    }
}

/// Does DPP leave lanes alone that EXEC would have let through? Those outside the row and bank masks, and those that
/// have no source lane, unless BOUND_CTRL gives them a zero instead.
fn keeps_lanes(inst: &Inst) -> bool {
    if !inst.info().format.is_dpp16() {
        return false;
    }
    let field = |f| inst.field(f).unwrap_or(0);
    // shifts within a row, shifts across the wave, broadcasts of lane 15 and 31
    let runs_out = matches!(field(Field::DppCtrl), 0x101..=0x10f | 0x111..=0x11f | 0x130 | 0x138 | 0x142 | 0x143);
    field(Field::RowMask) != 0xf || field(Field::BankMask) != 0xf || runs_out && field(Field::BoundCtrl) == 0
}

/// What a special source code depends on.
pub(crate) fn special_units(code: u16) -> &'static [Reg] {
    match code {
        251 => &[Reg::VCC_LO, Reg::VCC_HI],
        252 => &[Reg::EXEC_LO, Reg::EXEC_HI],
        253 => &[Reg::SCC],
        254 => &[Reg::M0],
        _ => &[],
    }
}

/// The hardware register of s_getreg and s_setreg, as far as it is a unit of ours. Setting changes a bit field of it.
fn hardware_register(inst: &Inst, mut f: impl FnMut(Reg, Access)) {
    let access = if inst.info().base == "s_getreg_b32" { Access::Read } else { Access::ReadCondWrite };
    let gfx9 = inst.info().mode.target().generation().is_gfx9_family();
    match inst.field(Field::Simm16).unwrap_or(0) & 0x3f {
        1 => f(Reg::MODE, access),
        3 => f(Reg::TRAPSTS, access),
        20 if !gfx9 => f(Reg::FLAT_SCRATCH_BASE_LO, access),
        21 if !gfx9 => f(Reg::FLAT_SCRATCH_BASE_HI, access),
        2 => {
            f(Reg::STATUS, access);
            // SCC, EXECZ and VCCZ are bits of STATUS.
            for reg in [Reg::SCC, Reg::EXEC_LO, Reg::EXEC_HI, Reg::VCC_LO, Reg::VCC_HI] {
                f(reg, Access::Read);
            }
        }
        _ => f(Reg::STATUS, access),
    }
}
