//! Dense numbers of functions, blocks and instructions.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// Place in the program's table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
            pub const fn offset(self, by: u32) -> $name {
                $name(self.0 + by)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// A function of the program, by address.
    FuncId, "f"
);
id!(
    /// A basic block. A function's blocks are consecutive, by address.
    BlockId, "b"
);
id!(
    /// An instruction. A block's instructions are consecutive, by address.
    InstrId, "i"
);

/// Consecutive ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct IdRange<T> {
    pub first: T,
    /// One past the last.
    pub end: T,
}

pub type BlockIds = IdRange<BlockId>;
pub type InstrIds = IdRange<InstrId>;

macro_rules! range {
    ($id:ident) => {
        impl IdRange<$id> {
            pub const fn new(first: u32, end: u32) -> Self {
                IdRange { first: $id(first), end: $id(end) }
            }
            pub const fn len(self) -> usize {
                (self.end.0 - self.first.0) as usize
            }
            pub const fn is_empty(self) -> bool {
                self.first.0 == self.end.0
            }
            pub fn iter(self) -> impl DoubleEndedIterator<Item = $id> + ExactSizeIterator + Clone {
                (self.first.0..self.end.0).map($id)
            }
            pub fn contains(self, id: $id) -> bool {
                self.first <= id && id < self.end
            }
            pub const fn indices(self) -> Range<usize> {
                self.first.index()..self.end.index()
            }
            /// The last one; `None` of an empty range.
            pub fn last(self) -> Option<$id> {
                (!self.is_empty()).then(|| $id(self.end.0 - 1))
            }
        }
    };
}

range!(BlockId);
range!(InstrId);
