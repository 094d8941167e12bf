//! Vector ALU operations: VOP1, VOP2, VOPC, VOP3, VOP3P.

use crate::registry::ValuOp;

/// The operation of an isa `base` mnemonic (`v_add_f32`), if it is one of ours.
pub fn lookup(_base: &str) -> Option<ValuOp> {
    None
}
