//! Waiting for memory results: the instructions that bring a set of counters down.

use luthier_isa::{EncodeError, Inst, Wait};

use super::Machine;

impl Machine {
    /// The instructions that wait for this.
    pub fn wait(&self, wait: Wait) -> Result<Vec<Inst>, EncodeError> {
        wait.instructions(self.mode)
    }
}
