//! The accesses of an opcode, worked out once for all its instructions.
//!
//! What [`Inst::for_each_access`] says of an instruction depends on its operands' registers, but hardly on anything else
//! in its encoding. Whoever asks about every instruction of a library keeps a plan for each opcode, and is told the same
//! several times as fast. Opcodes whose accesses do depend on more (SDWA, DPP, register indexing) have no plan of their
//! own, and are asked one by one.

use crate::{
    Access, Field, File, Flags, Format, Inst, OpcodeInfo, Operand, OperandInfo, Reg, RegAccess, VgprMsb, access,
};

/// What [`Inst::for_each_access`] does for the instructions of one opcode.
pub struct AccessPlan {
    /// `None`: ask the instruction.
    known: Option<Known>,
}

struct Known {
    slots: Box<[Slot]>,
    implicit: Box<[RegAccess]>,
}

/// An operand that may be a register.
struct Slot {
    info: &'static OperandInfo,
    /// The field's bits in the first two words.
    low: u8,
    mask: u16,
    /// From the field's value to a source code: times this, plus `first`. Zero where only [`Inst::operand`] can tell.
    scale: u16,
    /// 256 for a field that knows nothing but VGPRs.
    first: u16,
    units: u16,
    /// A tuple of scalar registers starts at a multiple of this.
    align: u16,
    /// Access, as long as the register is a scalar or a vector one.
    scalar: Access,
    vector: Access,
    /// The bit that makes a vector register an accumulation register; 0 where there is none.
    accumulator: u64,
}

/// The source code of v0.
const VGPR: u16 = 256;
/// Means nothing on any processor.
const NO_CODE: u16 = 255;

impl AccessPlan {
    pub fn of(info: &'static OpcodeInfo) -> AccessPlan {
        AccessPlan { known: known(info) }
    }

    /// The same as `inst.for_each_access(f)`, in the same order. `inst` must be of the plan's opcode.
    pub fn for_each(&self, inst: &Inst, mut f: impl FnMut(RegAccess)) {
        let known = self.known.as_ref().filter(|_| inst.msb() == Some(VgprMsb::ZERO));
        let Some(known) = known else { return inst.for_each_access(f) };
        let words = inst.words();
        let pair = u64::from(words[0]) | u64::from(words.get(1).copied().unwrap_or(0)) << 32;
        for slot in &known.slots {
            let code = slot.code(pair);
            let (first, access) = match code {
                VGPR.. if code + slot.units <= 2 * VGPR => (code, slot.vector),
                // What means the same on every processor: s0 to s101, vcc, exec, the inline constants.
                0..VGPR if code + slot.units <= 102 => (code & !(slot.align - 1), slot.scalar),
                128..=208 | 240..=247 => continue,
                106 | 126 if slot.units <= 2 => (code, slot.scalar),
                _ => {
                    slot.read(inst, &mut f);
                    continue;
                }
            };
            for unit in first..first + slot.units {
                let Some(reg) = Reg::from_index(unit.into()) else { break };
                f(RegAccess { reg, access, implicit: false });
            }
        }
        known.implicit.iter().for_each(|a| f(*a));
    }
}

fn known(info: &'static OpcodeInfo) -> Option<Known> {
    let plain = match info.format {
        Format::Sop1 | Format::Sop2 | Format::Sopk | Format::Sopc | Format::Sopp | Format::Smem => true,
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3b | Format::Vop3p => true,
        // The half of the destination that is written is in OP_SEL.
        Format::Vop3a => !info.flags.contains(Flags::OP_SEL),
        Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf => true,
        _ => false,
    };
    // Which half of a register is named, and with it what is kept, takes more than the field.
    let halves = info.operands.iter().any(|o| o.half);
    if !plain || halves || !access::depends_on_operands_only(info.base) {
        return None;
    }
    let registers = info.operands.iter().filter(|o| o.file != File::Immediate && o.field != Field::Literal);
    let slots = registers.map(|operand| Slot::of(info, operand)).collect();
    let mut implicit = Vec::new();
    access::implicit(info, |access| implicit.push(access));
    Some(Known { slots, implicit: implicit.into() })
}

/// Where an opcode has a field: its low bit and width, if it is in one piece within the first two words.
fn piece(info: &'static OpcodeInfo, field: Field) -> Option<(u8, u32)> {
    let with = |bit: u32| {
        let pair = 1u64 << bit;
        Inst::from_words(info, [pair as u32, (pair >> 32) as u32, 0, 0, 0], info.size).raw_field(field)
    };
    let (_, width) = with(0)?;
    let low = (0..64).find(|&bit| with(bit).is_some_and(|(raw, _)| raw == 1))?;
    let in_a_row = low + width <= 64 && (0..width).all(|n| with(low + n).is_some_and(|(raw, _)| raw == 1 << n));
    in_a_row.then_some((low as u8, width))
}

impl Slot {
    fn of(info: &'static OpcodeInfo, operand: &'static OperandInfo) -> Slot {
        let access = |first: Reg| match operand.access.writes() {
            true => access::written_by_opcode(info, operand.access, first),
            false => Access::Read,
        };
        let place = piece(info, operand.field).filter(|_| operand.fixed.is_none() && operand.field != Field::Offset);
        let (scale, first) = match (operand.file, place.map(|p| p.1), operand.field) {
            (File::Scalar | File::Source, Some(9), _) => (1, 0),
            (File::Scalar, Some(..=8), Field::Sbase) => (2, 0),
            (File::Scalar, Some(..=8), Field::Srsrc | Field::Ssamp) => (4, 0),
            (File::Scalar, Some(..=8), _) => (1, 0),
            (File::Vgpr | File::Vector, Some(8), _) => (1, VGPR),
            _ => (0, 0),
        };
        let (low, width) = place.unwrap_or_default();
        let accumulator = match operand.file {
            File::Vector => piece(info, Field::Acc).map_or(0, |(low, _)| 1 << low),
            _ => 0,
        };
        Slot {
            info: operand,
            low,
            mask: ((1u32 << width) - 1) as u16,
            scale,
            first,
            units: operand.units.into(),
            align: match operand.units {
                0 | 1 => 1,
                2 => 2,
                _ => 4,
            },
            scalar: access(Reg::sgpr(0)),
            vector: access(Reg::vgpr(0)),
            accumulator,
        }
    }

    /// The source code of what the field names, or one that names nothing.
    fn code(&self, pair: u64) -> u16 {
        if self.scale == 0 || pair & self.accumulator != 0 {
            return NO_CODE;
        }
        ((pair >> self.low) as u16 & self.mask) * self.scale + self.first
    }

    /// By the operand's value.
    #[cold]
    fn read(&self, inst: &Inst, f: &mut impl FnMut(RegAccess)) {
        match inst.operand(self.info) {
            Operand::Reg(range) => {
                let vector = range.first.is_vgpr() || range.first.is_agpr();
                let access = if vector { self.vector } else { self.scalar };
                range.units().for_each(|reg| f(RegAccess { reg, access, implicit: false }));
            }
            Operand::Special(code) => access::special_units(code)
                .iter()
                .for_each(|&reg| f(RegAccess { reg, access: Access::Read, implicit: false })),
            _ => {}
        }
    }
}
