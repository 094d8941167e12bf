//! Operands that name half a VGPR (true16, RDNA3 and later).
//!
//! In VOP1, VOP2 and VOPC the top bit of the register number chooses the half, so that only v0 to v127 have names there;
//! VOP3 has a bit of OP_SEL for each operand.

use crate::operand::Operand;
use crate::{Field, Format, Inst, OperandInfo, Part, Reg, RegRange};

const HIGH: u32 = 0x80;

/// The bit of OP_SEL that chooses the half of the operand in this field; `None` where the register number does.
pub fn op_sel_bit(format: Format, field: Field) -> Option<u32> {
    if !format.is_vop3() && format != Format::Vinterp {
        return None;
    }
    match field {
        Field::Src0 => Some(0),
        Field::Src1 => Some(1),
        Field::Src2 => Some(2),
        Field::Vdst => Some(3),
        _ => None,
    }
}

/// `raw` is the field's value, of a source of 9 bits one that is a VGPR.
pub fn read(inst: &Inst, info: &OperandInfo, raw: u32) -> Option<Operand> {
    let (number, high) = match op_sel_bit(inst.info().format, info.field) {
        Some(bit) => (raw & 0xff, inst.field(Field::OpSel)? >> bit & 1 != 0),
        None => (raw & (HIGH - 1), raw & HIGH != 0),
    };
    Some(Operand::Reg(RegRange::half(Reg::vgpr(number as u16), high)))
}

pub fn write(inst: &mut Inst, info: &OperandInfo, range: RegRange) -> Option<()> {
    if !info.half || !range.first.is_vgpr() || range.count != 1 {
        return None;
    }
    let (_, width) = inst.raw_field(info.field)?;
    let (number, high) = (u32::from(range.first.number()), range.part == Part::High);
    let number = match op_sel_bit(inst.info().format, info.field) {
        Some(bit) => {
            let selected = inst.field(Field::OpSel)?;
            inst.put_field(Field::OpSel, selected & !(1 << bit) | u32::from(high) << bit)?;
            number
        }
        None if number < HIGH => number | if high { HIGH } else { 0 },
        None => return None,
    };
    inst.put_field(info.field, number | if width == 9 { 0x100 } else { 0 })
}
