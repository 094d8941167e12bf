//! What the application tells the hardware that an insertion would make false. Such an instruction becomes an `s_nop`.
//!
//! - `s_clause` says that the next instructions are memory accesses of one kind; other instructions may not stand among
//!   them.
//! - `s_sendmsg` with MSG_DEALLOC_VGPRS gives all VGPRs up before the wave ends; what is inserted behind it could not use
//!   them.

use luthier_isa::op::Op;
use luthier_isa::{Field, Inst};

use super::Spot;
use crate::plan::Where;

/// MSG_DEALLOC_VGPRS, from RDNA3 on.
const DEALLOC_VGPRS: u32 = 3;

/// The positions in a block whose instructions are hints that do not hold any more. `spots` are those of the block,
/// `first` the number of its first instruction; `appended` says that something is put before the block's last
/// instruction in any case.
pub fn broken(insts: &[Inst], first: u32, spots: &[Spot], appended: bool) -> Vec<usize> {
    // Between which two instructions something stands: n is before the n-th.
    let place = |spot: &Spot| {
        let at = (spot.instr.0 - first) as usize;
        match spot.at {
            Where::Before | Where::Entry => at..at,
            Where::Instead => at..at + 1,
            Where::After | Where::Edge { .. } => at + 1..at + 1,
        }
    };
    let any = |from: usize, to: usize| {
        spots.iter().map(place).any(|p| p.start <= to && p.end >= from)
            || appended && (from..=to).contains(&(insts.len() - 1))
    };
    let mut found = Vec::new();
    for (n, inst) in insts.iter().enumerate() {
        match inst.info().op() {
            Op::SClause => {
                let members = (inst.field(Field::Simm16).unwrap_or(0) & 0x3f) as usize + 1;
                if any(n + 1, (n + members).min(insts.len())) {
                    found.push(n);
                }
            }
            Op::SSendmsg if is_dealloc(inst) && any(n + 1, insts.len()) => found.push(n),
            _ => {}
        }
    }
    found
}

fn is_dealloc(inst: &Inst) -> bool {
    let target = inst.info().mode.target();
    target.generation() >= luthier_isa::Generation::Gfx11 && inst.field(Field::Simm16) == Some(DEALLOC_VGPRS)
}
