//! Accesses to hardware registers, which the interpreter's functions make.

use luthier_isa::op::Op as IsaOp;

use super::scalar::Source;
use crate::op::{Kind, Op};
use crate::registers::scalar;
use crate::scalar::{IMM, IMM2, is_of_arithmetic, is_scalars};

/// `s_getreg` and `s_setreg`, and what sets the upper bits of VGPR numbers.
#[derive(Clone, Copy, Debug)]
pub struct Hardware {
    pub access: Option<HardwareAccess>,
    /// The bits that MODE has behind it.
    pub msb: Option<u8>,
}

/// An access to the field of a register that an immediate names.
#[derive(Clone, Copy, Debug)]
pub enum HardwareAccess {
    Get { field: u16, to: u8 },
    Set { field: u16, value: Source },
}

/// The form of an instruction's micro-ops. Native code asks what MODE says of arithmetic at its beginning, and knows which scalar registers each
/// instruction changes: accesses to these have no form.
pub fn hardware(ops: &[Op]) -> Option<Hardware> {
    let is_msb = |op: &&Op| op.kind == Kind::SET_MSB;
    match ops {
        [op] if is_msb(&op) => Some(Hardware { access: None, msb: Some(op.imm as u8) }),
        [op] => Some(Hardware { access: Some(access(op)?), msb: None }),
        [op, msb] if is_msb(&msb) => Some(Hardware { access: Some(access(op)?), msb: Some(msb.imm as u8) }),
        _ => None,
    }
}

fn access(op: &Op) -> Option<HardwareAccess> {
    let field = op.imm as u16;
    Some(match op.kind.operation()? {
        IsaOp::SGetregB32 if op.sdst < scalar::SCC && !matches!(op.sdst, 126 | 127) => {
            HardwareAccess::Get { field, to: op.sdst }
        }
        IsaOp::SSetregB32 | IsaOp::SSetregImm32B32 if !is_of_arithmetic(op.imm) && !is_scalars(op.imm) => {
            HardwareAccess::Set {
                field,
                value: match op.src[0] {
                    IMM => Source::Constant(op.imm),
                    IMM2 => Source::Constant(op.imm2),
                    code => Source::Register(u8::try_from(code).ok().filter(|&code| code <= scalar::SCC)?),
                },
            }
        }
        _ => return None,
    })
}
