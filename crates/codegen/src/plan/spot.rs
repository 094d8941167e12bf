//! An insertion and the instruction that it belongs to.

use luthier_lifter::InstrId;

use super::Where;

/// One insertion of the plan, with its instruction found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Spot {
    pub instr: InstrId,
    pub at: Where,
    pub order: i32,
    /// Index into the plan's insertions.
    pub insertion: u32,
}
