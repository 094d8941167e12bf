//! What a wave finds when it starts.

use luthier_isa::RegRange;

/// A value that the hardware puts into registers before a kernel's first instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryValue {
    /// What is in these registers then.
    Registers(RegRange),
}
