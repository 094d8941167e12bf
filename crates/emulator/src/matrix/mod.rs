//! Matrix operations: MFMA.

use crate::registry::ValuOp;

/// The operation of an isa `base` mnemonic (`v_mfma_f32_32x32x8f16`), if it is one of ours.
pub fn lookup(_base: &str) -> Option<ValuOp> {
    None
}
