//! Moves between VGPRs and accumulation VGPRs. They respect EXEC.

use crate::lanes;
use crate::op::{Flow, Kernel, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

struct Move;

impl Kernel for Move {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        lanes::map1(w, op, |a| a)
    }
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    matches!(base, "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32").then(ValuOp::of::<Move>)
}
