//! Which register units an instruction touches, and how surely.

use crate::Reg;

/// How one unit is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Access {
    Read,
    /// Read only if a condition holds (an indexed or masked access).
    CondRead,
    /// All 32 bits, and for a vector register all lanes, get a new value.
    Write,
    /// Some bits or lanes may keep the old value: a vector write under EXEC, a scalar write under SCC.
    /// It kills the old value only where EXEC is known to be full (vector) or never (scalar).
    CondWrite,
    ReadWrite,
    /// Read always, written as by [`Access::CondWrite`]: a 16-bit half written, the rest kept.
    ReadCondWrite,
}

impl Access {
    pub const fn reads(self) -> bool {
        !matches!(self, Access::Write | Access::CondWrite)
    }
    pub const fn writes(self) -> bool {
        !matches!(self, Access::Read | Access::CondRead)
    }
}

/// One unit and how it is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegAccess {
    pub reg: Reg,
    pub access: Access,
    /// The unit is not named in the assembly operands (SCC, VCC, EXEC, M0, MODE, FLAT_SCRATCH ...).
    pub implicit: bool,
}
