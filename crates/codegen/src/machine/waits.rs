//! Waiting for memory results: the instructions that bring a set of counters down.

use luthier_isa::{EncodeError, Field, Inst, Operand};
use luthier_lifter::Wait;

use super::Machine;

impl Machine {
    /// The instructions that wait for this.
    pub fn wait(&self, wait: Wait) -> Result<Vec<Inst>, EncodeError> {
        luthier_lifter::wait_instructions(self.mode, wait)
    }
}
