//! Moves between VGPRs and accumulation VGPRs. They respect EXEC.

use luthier_isa::op::Op as IsaOp;

use crate::lanes;
use crate::op::{Flow, Op, Semantics};
use crate::registry::ValuOp;
use crate::wave::Wave;

struct Move;

impl Semantics for Move {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        lanes::map1(w, op, |a| a)
    }
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    matches!(op, IsaOp::VAccvgprReadB32 | IsaOp::VAccvgprWriteB32 | IsaOp::VAccvgprMovB32).then(ValuOp::of::<Move>)
}
