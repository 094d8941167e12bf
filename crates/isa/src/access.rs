//! Which register units an instruction touches, and how surely.

use crate::{
    Field, File, Flags, Format, Generation, Inst, Op, OpcodeInfo, Operand, OperandInfo, Reg, RegRange, Wave, msb,
};

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
                    Some(by) if by.destination && operand.field == by.destination_field() => {
                        if by.vector {
                            Access::ReadCondWrite
                        } else {
                            Access::CondWrite
                        }
                    }
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
    let reads_upper_bits = info.mode.target().vgprs() > 256 && info.operands.iter().any(has_slot);
    if (reads_upper_bits || depends_on_mode(info)) && !info.implicit_reads.contains(&Reg::MODE) {
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
        // A vector register would count as written in all lanes that are on.
        let written = if by.vector { Access::ReadCondWrite } else { Access::CondWrite };
        if by.destination {
            registers().for_each(|reg| implicit(reg, written));
        }
    } else if info.base.starts_with("s_set_gpr_idx") {
        implicit(Reg::GPR_IDX, Access::Write);
    }
}

/// Rounding and denormals matter, and LLVM does not say so: of scalar floats, of sums in LDS, of maxima that hand on NaNs,
/// and of conversions that round down.
fn depends_on_mode(info: &OpcodeInfo) -> bool {
    let name = info.op().name();
    let is_float = || ["_f16", "_f32", "_f64", "_bf16"].iter().any(|end| name.ends_with(end));
    match name.split_once('_') {
        Some(("s", rest)) => is_float() || rest.starts_with("cvt_"),
        Some(("ds", rest)) => is_float() && (rest.starts_with("add_") || rest.starts_with("pk_add_")),
        Some(("v", rest)) => {
            is_float() && (rest.starts_with("minimum") || rest.starts_with("maximum") || rest.starts_with("pk_minimum"))
                || is_float() && rest.starts_with("pk_maximum")
                || matches!(info.op(), Op::VCvtFlrI32F32 | Op::VCvtRpiI32F32)
        }
        _ => false,
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
            || matches!(field, Field::Vdst | Field::Vdata) && keeps_bits(inst)
            || field == Field::Vdata && keeps_fault(inst)
            || keeps_lanes(inst)
    };
    written_by(inst.info(), access, range.first, keeps)
}

/// The same where nothing but the opcode tells.
pub(crate) fn written_by_opcode(info: &'static OpcodeInfo, operand: &OperandInfo, first: Reg) -> Access {
    let keeps = || {
        matches!(operand.field, Field::Vdst | Field::Vdata) && keeps_bits_by_opcode(info)
            || operand.field == Field::Vdata && keeps_fault(&Inst::new(info))
    };
    written_by(info, operand.access, first, keeps)
}

fn written_by(info: &OpcodeInfo, access: Access, first: Reg, keeps: impl Fn() -> bool) -> Access {
    let reads = access.reads();
    if !first.is_vgpr() && !first.is_agpr() {
        let conditional = info.base.starts_with("s_cmov");
        let reads = reads || keeps_scalar_half(info.op());
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

/// The last register of a load with TFE is written where memory fails, and stays elsewhere.
fn keeps_fault(inst: &Inst) -> bool {
    inst.field(Field::Tfe) == Some(1)
}

/// Does a vector destination keep some of its bits, whichever lanes are on?
fn keeps_bits(inst: &Inst) -> bool {
    const PRESERVE: u32 = 2;
    const DESTINATION_HIGH: u32 = 8;
    let info = inst.info();
    if keeps_bits_by_opcode(info) {
        return true;
    }
    match info.format {
        Format::Sdwa1 | Format::Sdwa2 => inst.field(Field::DstUnused) == Some(PRESERVE),
        // OP_SEL chooses the half that a 16-bit result goes to; the other half stays. Where the operand names halves, it
        // tells.
        Format::Vop3a | Format::Vop3aDpp | Format::Vop3aDpp8 if info.flags.contains(Flags::OP_SEL) => {
            let is_half = info.operands.first().is_some_and(|o| o.half);
            !is_half && inst.field(Field::OpSel).unwrap_or(0) & DESTINATION_HIGH != 0
        }
        _ => false,
    }
}

/// The same where the opcode alone says so.
fn keeps_bits_by_opcode(info: &OpcodeInfo) -> bool {
    let op = info.op();
    let narrow = || ["_f16", "_i16", "_u16", "_b16"].iter().any(|end| info.base.ends_with(end));
    let wide = || info.base.contains("32") || info.base.contains("_pk");
    match op {
        // One byte of four.
        Op::VCvtPkaccumU8F32 => true,
        // Two bytes.
        Op::VAshrPkI8I32 | Op::VAshrPkU8I32 => true,
        // The other half, where it stays.
        Op::BufferLoadFormatD16HiX => !info.mode.clears_halves(),
        // Only the registers that M0 says.
        Op::GlobalLoadBlock | Op::ScratchLoadBlock => true,
        // Nothing, in a wave that has no other half.
        Op::VPermlane64B32 => info.mode.wave() == Wave::W32,
        // One half of each register (RDNA3).
        Op::VWmmaF16_16x16x16F16 | Op::VWmmaBf16_16x16x16Bf16 => info.mode.target().generation() == Generation::Gfx11,
        _ => {
            let selects = info.format.plain() == Format::Vop3a && info.flags.contains(Flags::OP_SEL);
            selects && info.operands.iter().all(|o| !o.half) && narrow() && !wide()
        }
    }
}

/// Does DPP leave lanes alone that EXEC would have let through? Those outside the row and bank masks, and those that
/// have no source lane, or one that is off and not fetched from all the same, unless BOUND_CTRL gives them a zero instead.
fn keeps_lanes(inst: &Inst) -> bool {
    if !inst.info().format.is_dpp16() {
        return false;
    }
    let field = |f| inst.field(f).unwrap_or(0);
    // shifts within a row, shifts across the wave, broadcasts of lane 15 and 31
    let runs_out = matches!(field(Field::DppCtrl), 0x101..=0x10f | 0x111..=0x11f | 0x130 | 0x138 | 0x142 | 0x143);
    let lacks_source = runs_out || field(Field::Fi) == 0;
    field(Field::RowMask) != 0xf || field(Field::BankMask) != 0xf || lacks_source && field(Field::BoundCtrl) == 0
}

/// Does the instruction look at lanes of its vector registers which EXEC turns off?
///
/// DPP, `ds_permute_b32`, `ds_bpermute_b32` and `ds_swizzle_b32` move values between lanes too, but read those that are on
/// only, unless they are told to fetch from inactive lanes.
pub(crate) fn reads_lanes_that_are_off(inst: &Inst) -> bool {
    let info = inst.info();
    if by_opcode_reads_lanes_that_are_off(info) {
        return true;
    }
    match info.format {
        format if format.is_dpp16() => inst.field(Field::Fi) == Some(1),
        format if format.is_dpp8() => inst.field(Field::Dpp8Mark) == Some(DPP8_FETCH),
        _ => permutes(info.op()) && inst.field(Field::OpSel).unwrap_or(0) & PERMLANE_FETCH != 0,
    }
}

/// Of `v_permlane16_b32` and its like: a bit of OP_SEL has them fetch from lanes that are off.
const PERMLANE_FETCH: u32 = 1;
/// The source code that stands for DPP8 which fetches from lanes that are off.
const DPP8_FETCH: u32 = 2;

fn permutes(op: Op) -> bool {
    matches!(op, Op::VPermlane16B32 | Op::VPermlanex16B32 | Op::VPermlane16VarB32 | Op::VPermlanex16VarB32)
}

/// A scalar operation with a result of 16 bits.
fn keeps_scalar_half(op: Op) -> bool {
    let name = op.name();
    let narrow = name.ends_with("_f16") && !name.contains("_cvt_") || op == Op::SCvtF16F32;
    narrow && (name.starts_with("s_") || name.starts_with("v_s_"))
}

/// Loads of matrices, which all lanes take part in.
fn transposes(op: Op) -> bool {
    let name = op.name();
    name.contains("_load_tr") || name.starts_with("ds_read_") && name.contains("_tr_")
}

/// The same where the opcode alone says so.
fn by_opcode_reads_lanes_that_are_off(info: &OpcodeInfo) -> bool {
    // Of all lanes whether on or off, or of lane 0 where none is on.
    info.flags.intersects(Flags::MFMA | Flags::WMMA | Flags::IGNORES_EXEC) && !info.flags.contains(Flags::SALU)
        || info.op().is_gws()
        || transposes(info.op())
        || match info.op() {
            Op::DsOrderedCount | Op::VReadfirstlaneB32 | Op::DsBpermuteFiB32 | Op::VPermlane64B32 => true,
            Op::VPermlaneBcastB32 | Op::VPermlaneUpB32 | Op::VPermlaneDownB32 | Op::VPermlaneXorB32 => true,
            // Their scales are in lanes that OP_SEL says.
            op => op.name().starts_with("v_cvt_scale_pk"),
        }
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
