//! From instructions to micro-operations.

use crate::op::Op;
use crate::wave::rows;

/// Collects the micro-ops of a block.
#[derive(Default)]
pub struct Builder {
    pub ops: Vec<Op>,
}

impl Builder {
    /// Appends a micro-op. `widest` is the number of rows that its widest vector operand spans.
    pub fn push(&mut self, op: Op, widest: u16) {
        let last = op.src.iter().copied().chain([op.dst]).max().unwrap_or(0);
        assert!(usize::from(last) + usize::from(widest) <= rows::COUNT, "row out of the vector file");
        self.ops.push(op);
    }
}
