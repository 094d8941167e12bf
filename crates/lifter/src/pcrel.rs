//! PC-relative values: what every `s_getpc_b64` comes to.

use luthier_isa::{Reg, RegRange};

use crate::{InstrId, Program};

pub use crate::place::Place;

/// An address that code puts together from the program counter, or loads from memory that cannot change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcValue {
    /// The instruction after which the address is complete.
    pub at: InstrId,
    /// The `s_getpc_b64` or the load that it starts from.
    pub source: InstrId,
    /// The register pair that holds it then.
    pub pair: RegRange,
    /// `None` when the value tracker does not see what becomes of the program counter.
    pub vaddr: Option<u64>,
    /// What is at that address.
    pub place: Option<Place>,
}

impl Program {
    /// The values that an instruction completes.
    pub fn pc_values_at(&self, instr: InstrId) -> &[PcValue] {
        let from = self.pc_values.partition_point(|v| v.at < instr);
        let to = self.pc_values.partition_point(|v| v.at <= instr);
        &self.pc_values[from..to]
    }
}

pub(crate) fn pair(low: u16) -> RegRange {
    RegRange::new(Reg::from_index(usize::from(low)).unwrap_or(Reg::sgpr(0)), 2)
}
