//! What scalar instructions do, each a few of the host's.

use crate::registers::scalar;

/// A scalar operation with a native form.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    pub form: ScalarForm,
    /// On 64 bits.
    pub wide: bool,
    pub a: Source,
    pub b: Source,
    pub dst: u8,
}

#[derive(Clone, Copy, Debug)]
pub enum Source {
    Register(u8),
    Constant(u64),
}

/// Which lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first one that is on, or the wave's first one if none is.
    First,
    Number(u32),
    /// As a scalar register says.
    Register(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// x86's conditions: SCC is kept as one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
    BelowEqual,
    Above,
    AboveEqual,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarForm {
    Move,
    /// What a row holds in a lane; the sources have no meaning.
    Lane(u16, Which),
    /// SCC says whether the result is not zero.
    Not,
    Logic {
        logic: Logic,
        inverts_b: bool,
        inverts: bool,
    },
    /// EXEC becomes that of the source and EXEC, which goes to the destination.
    SaveExec {
        logic: Logic,
        inverts_source: bool,
        inverts_exec: bool,
        inverts: bool,
    },
    /// SCC is the carry, and may be one before.
    Add {
        carries: bool,
    },
    Subtract {
        borrows: bool,
    },
    /// SCC is an overflow.
    AddSigned,
    SubtractSigned,
    ShiftLeft,
    ShiftRight,
    ShiftSigned,
    Multiply,
    /// SCC stays what it is.
    AddQuietly,
    SubtractQuietly,
    /// SCC alone is written.
    Compare(When),
    Select,
    /// The first source where the condition holds, which SCC says; the second one else.
    Extreme(When),
    /// The upper half of a product.
    MultiplyHigh {
        signed: bool,
    },
    /// The sum of the first source, shifted left by this, and the second one; SCC says whether the sum is 2^32 or more.
    ShiftAdd(u8),
    /// The second source says where a field of the first one begins, and how long it is.
    Field,
    /// The same of a field with a sign, which is known.
    SignedField {
        at: u8,
        width: u8,
    },
    /// A row of ones: how many, and from where.
    Ones,
    /// SCC is whether a bit is this.
    TestBit(bool),
    /// A bit becomes this.
    SetBit(bool),
    /// The lower half of the result is that of the first source, or its upper one; the upper half is of the second source.
    Pack {
        upper_a: bool,
        upper_b: bool,
    },
    /// The lowest 8 or 16 bits with their sign.
    Extend {
        byte: bool,
    },
    /// The number of the lowest bit that is set, or of the highest one from above; -1 if none is.
    FirstBit {
        highest: bool,
    },
    CountOnes,
    /// Without its sign; of the first source, or (`difference`) what it is more than the second one.
    Absolute {
        difference: bool,
    },
}

impl ScalarForm {
    pub fn has_one_source(self) -> bool {
        use ScalarForm::{Absolute, CountOnes, Extend, FirstBit, Lane, Move, Not, SaveExec, SignedField};
        matches!(
            self,
            Move | Lane(..)
                | Not
                | SaveExec { .. }
                | SignedField { .. }
                | Extend { .. }
                | FirstBit { .. }
                | CountOnes
                | Absolute { difference: false }
        )
    }

    /// The second source has 32 bits, though the operation has 64.
    pub fn has_narrow_second(self) -> bool {
        use ScalarForm::{Field, Ones, SetBit, ShiftLeft, ShiftRight, ShiftSigned, TestBit};
        matches!(self, ShiftLeft | ShiftRight | ShiftSigned | Field | Ones | SetBit(_) | TestBit(_))
    }

    pub fn reads_scc(self) -> bool {
        use ScalarForm::{Add, Select, Subtract};
        matches!(self, Add { carries: true } | Subtract { borrows: true } | Select)
    }

    pub fn writes_scc(self) -> bool {
        use ScalarForm::{AddQuietly, Extend, FirstBit, Lane, Move, Multiply, MultiplyHigh};
        use ScalarForm::{Ones, Pack, Select, SetBit, SubtractQuietly};
        !matches!(
            self,
            Move | Lane(..)
                | Multiply
                | MultiplyHigh { .. }
                | AddQuietly
                | SubtractQuietly
                | Select
                | Ones
                | SetBit(_)
                | Pack { .. }
                | Extend { .. }
                | FirstBit { .. }
        )
    }

    /// Whether anything but SCC is written.
    pub fn writes_result(self) -> bool {
        !matches!(self, ScalarForm::Compare(_) | ScalarForm::TestBit(_))
    }

    /// The result has 32 bits, though the operation has 64.
    pub fn is_narrowing(self) -> bool {
        matches!(self, ScalarForm::FirstBit { .. } | ScalarForm::CountOnes)
    }
}

impl Scalar {
    /// Whether other lanes are on behind it.
    pub fn writes_exec(&self) -> bool {
        let writes = self.dst..=self.dst + u8::from(self.wide && !self.form.is_narrowing());
        matches!(self.form, ScalarForm::SaveExec { .. })
            || self.form.writes_result() && (writes.contains(&scalar::EXEC) || writes.contains(&(scalar::EXEC + 1)))
    }

    /// The row that it reads a lane of, and which one.
    pub fn lane(&self) -> Option<(u16, Which)> {
        if let ScalarForm::Lane(row, which) = self.form { Some((row, which)) } else { None }
    }

    /// Whether lanes may be on behind it that were off before.
    pub fn widens_exec(&self) -> bool {
        let narrows =
            |form| matches!(form, ScalarForm::SaveExec { logic: Logic::And, inverts_exec: false, inverts: false, .. });
        self.writes_exec() && !narrows(self.form)
    }
}
