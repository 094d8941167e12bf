//! Scalar operations: SOP1, SOP2, SOPK, SOPC, SOPP.
//!
//! Sources are scalar codes in `op.src` ([`IMM`], [`IMM2`]: the constant in `op.imm`, `op.imm2`), the destination is
//! `op.sdst`; a SOPK or SOPP immediate is in `op.imm`, sign-extended.

use luthier_isa::op::Op as IsaOp;

mod arith;
pub(crate) mod barrier;
mod control;
mod fence;
mod fork;
mod hwreg;
mod logic;

use crate::op::{Handler, Op};
use crate::wave::Wave;

/// Source code of the constant in `op.imm`.
pub const IMM: u16 = 256;
/// Source code of the constant in `op.imm2`.
pub const IMM2: u16 = 257;
/// No source.
pub const NONE: u16 = 0xffff;

/// Source `k`, 32 bits.
#[inline(always)]
pub fn s32(w: &Wave, op: &Op, k: usize) -> u32 {
    match op.src[k] {
        IMM => op.imm as u32,
        IMM2 => op.imm2 as u32,
        code => w.s[usize::from(code & 255)],
    }
}

/// Source `k`, 64 bits.
#[inline(always)]
pub fn s64(w: &Wave, op: &Op, k: usize) -> u64 {
    match op.src[k] {
        IMM => op.imm,
        IMM2 => op.imm2,
        code => w.s64((code & 255) as u8),
    }
}

#[inline(always)]
pub(crate) fn set32(w: &mut Wave, op: &Op, value: u32) {
    w.s[usize::from(op.sdst)] = value;
}

/// The handler of a scalar operation.
pub fn lookup(op: IsaOp) -> Option<Handler> {
    arith::lookup(op).or_else(|| logic::lookup(op)).or_else(|| control::lookup(op))
}

pub use control::is_idle;
pub use fence::{fence, orders, wait};
pub(crate) use hwreg::{getreg, is_of_arithmetic, is_scalars, setreg};

/// A handler from a closure that always goes on to the next micro-op.
macro_rules! next {
    (|$w:ident, $op:ident| $body:expr) => {{
        fn run($w: &mut $crate::wave::Wave, $op: &$crate::op::Op) -> $crate::op::Flow {
            let () = $body;
            $crate::op::Flow::Next
        }
        Some(run as $crate::op::Handler)
    }};
}
pub(crate) use next;
