//! Spills: loads and stores of whole VGPRs at places of scratch memory that are known apart from where the stack is.
//!
//! Scratch belongs to one lane each, and nothing but scratch and FLAT instructions reaches it; LDS and global memory are
//! elsewhere. Buffer instructions reach it through the descriptor that a kernel may be given in s\[0:3\].

use luthier_isa::{Field, Flags, Generation, Inst, Operand, Reg, RegRange};

use crate::values::Value;

/// What the addresses of one stack frame have in common: the descriptor's first register or none, what the base
/// register held at the entry or nothing, and how far the base is from there where this cannot be added up.
pub(crate) type Frame = (Option<u16>, Option<u16>, u32);

/// Dwords of scratch and the VGPRs that they go to or come from.
pub(crate) struct Place {
    pub frame: Frame,
    offset: u32,
    data: RegRange,
}

impl Place {
    /// VGPR and address of each dword.
    pub fn dwords(&self) -> impl Iterator<Item = (usize, u32)> {
        let offset = self.offset;
        let dword = move |(n, reg): (u32, Reg)| (reg.index(), offset.wrapping_add(4 * n));
        (0..).zip(self.data.units()).map(dword)
    }
}

/// Where a load or store of whole dwords goes. `value` says what a scalar operand holds.
pub(crate) fn place(inst: &Inst, generation: Generation, value: impl Fn(Operand) -> Option<Value>) -> Option<Place> {
    let flags = inst.info().flags;
    let offset = offset(inst, generation)?;
    let (mut data, mut base, mut descriptor) = (None, None, None);
    for (info, operand) in inst.operands() {
        match (info.field, operand) {
            (Field::Srsrc, Operand::Reg(range)) => descriptor = Some(range.first.index()),
            (Field::Soffset | Field::Saddr, operand) => base = Some(operand),
            // One vector operand is the data; with an address beside it, who knows where it goes.
            (_, Operand::Reg(range)) if range.first.is_vgpr() || range.first.is_agpr() => {
                if data.is_some() {
                    return None;
                }
                data = Some(range);
            }
            _ => {}
        }
    }
    // What changes the number of registers, or their place.
    if [Field::Lds, Field::Tfe].iter().any(|f| inst.field(*f).unwrap_or(0) != 0) {
        return None;
    }
    let (unit, plus) = match base.map(&value) {
        None => (None, 0),
        Some(Some(Value::Const(n))) => (None, n),
        Some(Some(Value::Entry { unit, plus })) => (Some(unit), plus),
        Some(_) => return None,
    };
    let (frame, offset) = if flags.contains(Flags::SCRATCH) {
        ((None, unit, 0), plus.wrapping_add(offset as u32))
    } else {
        // The last word of the descriptor says that this is scratch, one lane beside the other: the base counts bytes of
        // all lanes, the offset bytes of one.
        let descriptor = descriptor?;
        let word = value(Operand::Reg(RegRange::new(Reg::from_index(descriptor + 3)?, 1)));
        if word != Some(PRIVATE) {
            return None;
        }
        ((Some(descriptor as u16), unit, plus), u32::try_from(offset).ok()?)
    };
    let data = data.filter(|_| offset % 4 == 0)?;
    Some(Place { frame, offset, data })
}

/// The immediate offset, in bytes.
fn offset(inst: &Inst, generation: Generation) -> Option<i32> {
    let raw = inst.field(Field::Offset)?;
    let width = match (generation, inst.info().flags.contains(Flags::SCRATCH)) {
        (Generation::Gfx12 | Generation::Gfx1250, _) => 24,
        // Buffers have twelve bits without a sign.
        (_, false) => 32,
        (Generation::Gfx10, true) => 12,
        (_, true) => 13,
    };
    Some((raw << (32 - width)) as i32 >> (32 - width))
}

/// The last word of the descriptor that a kernel is given in s\[0:3\], if it asks for it.
pub(crate) const PRIVATE: Value = Value::Entry { unit: 3, plus: 0 };

/// The instruction may write scratch memory.
pub(crate) fn may_write(inst: &Inst) -> bool {
    let flags = inst.info().flags;
    flags.intersects(Flags::STORE | Flags::ATOMIC)
        && flags.intersects(Flags::FLAT | Flags::SCRATCH | Flags::MUBUF | Flags::MTBUF)
        && !flags.contains(Flags::GLOBAL)
}
