//! The accesses of an opcode, worked out once for all its instructions.
//!
//! What [`Inst::for_each_access`] says of an instruction depends on its operands' registers, but hardly on anything else
//! in its encoding. Code that asks about every instruction of a library keeps a plan for each opcode, and gets the same answers
//! several times as fast. Opcodes whose accesses do depend on more (SDWA, DPP, register indexing) have no plan of their
//! own, and are asked one by one.

use crate::{
    Access, Field, File, Flags, Format, Inst, OpcodeInfo, Operand, OperandInfo, Reg, RegAccess, RegRange, access,
};

/// What [`Inst::for_each_access`] does for the instructions of one opcode.
pub struct AccessPlan {
    /// `None`: ask the instruction.
    known: Option<Known>,
}

struct Known {
    slots: Box<[Slot]>,
    implicit: Box<[RegAccess]>,
    /// How many slots there are up to the last one that may write, and up to the first one that may read.
    written: usize,
    unread: usize,
    implicit_writes: Box<[(RegRange, Access)]>,
    implicit_reads: Box<[RegRange]>,
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
        let known = self.known.as_ref().filter(|_| inst.is_plain());
        let Some(known) = known else { return inst.for_each_access(f) };
        let pair = inst.pair();
        for slot in &known.slots {
            if let Some((range, access)) = slot.touched(inst, pair) {
                range.units().for_each(|reg| f(RegAccess { reg, access, implicit: false }));
            }
        }
        known.implicit.iter().for_each(|a| f(*a));
    }

    /// What `inst.for_each_access(f)` says of written units, as ranges of units that are numbered in a row, 64 at
    /// most: cheaper where these stay whole.
    #[inline(always)]
    pub fn for_each_write(&self, inst: &Inst, mut f: impl FnMut(RegRange, Access)) {
        let Some(known) = self.known.as_ref().filter(|_| inst.is_plain()) else {
            return one_by_one(inst, &mut |unit, access| {
                if access.writes() {
                    f(unit, access)
                }
            });
        };
        let pair = inst.pair();
        for slot in &known.slots[..known.written] {
            if let Some((range, access)) = slot.touched(inst, pair)
                && access.writes()
            {
                in_a_row(range, |range| f(range, access));
            }
        }
        known.implicit_writes.iter().for_each(|(range, access)| f(*range, *access));
    }

    /// The same of units that are read.
    #[inline(always)]
    pub fn for_each_read(&self, inst: &Inst, mut f: impl FnMut(RegRange)) {
        let Some(known) = self.known.as_ref().filter(|_| inst.is_plain()) else {
            return one_by_one(inst, &mut |unit, access| {
                if access.reads() {
                    f(unit)
                }
            });
        };
        let pair = inst.pair();
        for slot in &known.slots[known.unread..] {
            if let Some((range, access)) = slot.touched(inst, pair)
                && access.reads()
            {
                in_a_row(range, &mut f);
            }
        }
        known.implicit_reads.iter().for_each(|range| f(*range));
    }
}

/// v256 is not numbered behind v255: a tuple that holds both is two ranges.
#[inline(always)]
fn in_a_row(range: RegRange, mut f: impl FnMut(RegRange)) {
    let below = 2 * usize::from(VGPR) - range.first.index().min(2 * usize::from(VGPR));
    match u8::try_from(below) {
        Ok(below @ 1..) if range.first.is_vgpr() && below < range.count => {
            f(RegRange::new(range.first, below));
            f(RegRange::new(Reg::vgpr(256), range.count - below));
        }
        _ => f(range),
    }
}

#[cold]
fn one_by_one(inst: &Inst, f: &mut dyn FnMut(RegRange, Access)) {
    inst.for_each_access(|a| f(RegRange::new(a.reg, 1), a.access));
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
    let slots: Box<[Slot]> = registers.map(|operand| Slot::of(info, operand)).collect();
    let mut implicit = Vec::new();
    access::implicit(info, |access| implicit.push(access));
    let written = slots.iter().rposition(|s| s.scalar.writes() || s.vector.writes()).map_or(0, |last| last + 1);
    let unread = slots.iter().position(Slot::may_read).unwrap_or(slots.len());
    let implicit_writes = ranges(implicit.iter().filter(|a| a.access.writes())).collect();
    let implicit_reads = ranges(implicit.iter().filter(|a| a.access.reads())).map(|(range, _)| range).collect();
    Some(Known { slots, implicit: implicit.into(), written, unread, implicit_writes, implicit_reads })
}

/// The accesses with neighbours that are touched alike taken together.
fn ranges<'a>(accesses: impl Iterator<Item = &'a RegAccess>) -> impl Iterator<Item = (RegRange, Access)> {
    let mut ranges: Vec<(RegRange, Access)> = Vec::new();
    for a in accesses {
        match ranges.last_mut() {
            Some((range, access)) if *access == a.access && range.first.offset(range.count.into()) == a.reg => {
                range.count += 1;
            }
            _ => ranges.push((RegRange::new(a.reg, 1), a.access)),
        }
    }
    ranges.into_iter()
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
            true => access::written_by_opcode(info, operand, first),
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

    /// A destination wide enough for source codes may name what can only be read.
    fn may_read(&self) -> bool {
        let is_wide = self.scale == 0 || self.mask >= 0xff;
        let special = self.info.file == File::Scalar && self.info.fixed.is_none() && is_wide;
        self.scalar.reads() || self.vector.reads() || special
    }

    /// The source code of what the field names, or one that names nothing.
    fn code(&self, pair: u64) -> u16 {
        if self.scale == 0 || pair & self.accumulator != 0 {
            return NO_CODE;
        }
        ((pair >> self.low) as u16 & self.mask) * self.scale + self.first
    }

    /// The registers that the operand is, if it is some, and how they are touched.
    #[inline(always)]
    fn touched(&self, inst: &Inst, pair: u64) -> Option<(RegRange, Access)> {
        let code = self.code(pair);
        let (first, access) = match code {
            VGPR.. if code + self.units <= 2 * VGPR => (code, self.vector),
            // What means the same on every processor: s0 to s101, vcc, exec, the inline constants.
            0..VGPR if code + self.units <= 102 => (code & !(self.align - 1), self.scalar),
            128..=208 | 240..=247 => return None,
            106 | 126 if self.units <= 2 => (code, self.scalar),
            _ => return self.read(inst),
        };
        Some((RegRange::new(Reg::from_index(first.into())?, self.units as u8), access))
    }

    /// By the operand's value.
    #[cold]
    fn read(&self, inst: &Inst) -> Option<(RegRange, Access)> {
        match inst.operand(self.info) {
            Operand::Reg(range) => {
                let vector = range.first.is_vgpr() || range.first.is_agpr();
                Some((range, if vector { self.vector } else { self.scalar }))
            }
            // What it depends on is one unit, or two beside each other.
            Operand::Special(code) => {
                let units = access::special_units(code);
                Some((RegRange::new(*units.first()?, units.len() as u8), Access::Read))
            }
            _ => None,
        }
    }
}
