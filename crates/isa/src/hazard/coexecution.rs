//! gfx1250's matrix instructions that run beside other VALU instructions, and for how long.
//!
//! What they read and write is theirs for a number of VALU instructions, whatever these are. The numbers, and which
//! instructions take how long, are those of LLVM 22's hazard recognizer for each of them. Where later versions of LLVM and
//! it differ, the rows of [`super::rules`] have the longer of the two: later ones count transcendental instructions and
//! both halves of a dual one, and leave alone what only overwrites a factor.

use crate::{Field, Flags, Generation, Inst, Operand};

/// How long they run, by the VALU instructions that have to come in between: 2, 4 and 8, one more before a matrix
/// instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    Short,
    Middle,
    Long,
}

/// `None` of an instruction that does not run beside others.
pub fn pace(inst: &Inst) -> Option<Pace> {
    let info = inst.info();
    let coexecutes = info.mode.target().generation() == Generation::Gfx1250
        && info.flags.contains(Flags::WMMA)
        // Single precision goes the way of other VALU instructions.
        && !info.base.ends_with("x4_f32")
        // These load scales, and have no result.
        && !info.base.contains("_ld_scale");
    if !coexecutes {
        return None;
    }
    let bytes = info.base.ends_with("_iu8");
    Some(match () {
        () if info.base.starts_with("v_swmmac_") => {
            if bytes {
                Pace::Middle
            } else {
                Pace::Short
            }
        }
        () if bytes || has_factor_of_bytes(inst) => Pace::Long,
        () => Pace::Middle,
    })
}

/// Of several formats, one of the factors has one of 8 bits. Its registers tell: 128 elements for each of 16 rows.
fn has_factor_of_bytes(inst: &Inst) -> bool {
    let registers = |field| match inst.operand_in(field) {
        Some(Operand::Reg(range)) => range.count,
        _ => 0,
    };
    inst.info().base.ends_with("16x16x128_f8f6f4") && [Field::Src0, Field::Src1].into_iter().any(|f| registers(f) == 16)
}
