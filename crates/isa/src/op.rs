//! What an instruction does, whatever it is called and however it is encoded.
//!
//! An [`Op`] is the same on every processor: RDNA3's `global_load_b32` and gfx9's `global_load_dword`, RDNA4's
//! `s_add_co_u32` and `s_add_u32` are one. It has the name of the oldest processor that has the operation. What differs
//! in its operands or its result is another operation: `ds_cmpstore_b32` takes the operands of `ds_cmpst_b32` in another
//! order. `build/synonyms.txt` has the names that are taken together.

mod families;

use std::fmt;

use crate::{Format, Mode, OpcodeInfo};

include!(concat!(env!("OUT_DIR"), "/ops.rs"));

/// The name of the operation that `name` is a name of, encodings not told apart; `name` itself if it is none.
pub fn canonical_name(name: &str) -> &str {
    Op::from_name(name).map_or(name, |op| op.name())
}

impl Op {
    /// Every operation, ordered by name.
    pub const fn all() -> &'static [Op] {
        &ALL
    }

    /// `s_add_u32`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// By any of its names, without what tells the encoding (`_e32`, `_e64`, `_dpp`, `_sdwa`).
    pub fn from_name(name: &str) -> Option<Op> {
        let synonym = || Some(SYNONYMS[SYNONYMS.binary_search_by_key(&name, |(other, _)| other).ok()?].1);
        NAMES.binary_search(&name).ok().map(|at| ALL[at]).or_else(synonym)
    }

    pub(crate) fn from_number(number: u16) -> Op {
        ALL[usize::from(number)]
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OpcodeInfo {
    /// What it does, whatever its name.
    #[inline]
    pub fn op(&self) -> Op {
        self.op
    }
}

impl Mode {
    /// The opcodes of an operation, the shortest encoding first: the forms of VOP1, VOP2 and VOPC before those of VOP3,
    /// SDWA and DPP behind both. None if the processor does not have the operation.
    pub fn encodings(self, op: Op) -> impl Iterator<Item = &'static OpcodeInfo> {
        let tables = self.tables();
        let places = &tables.by_op;
        let first = places.partition_point(|&id| tables.opcodes[usize::from(id)].op < op);
        places[first..].iter().map(|&id| &tables.opcodes[usize::from(id)]).take_while(move |info| info.op == op)
    }

    /// The plainest opcode of an operation: the first of [`Mode::encodings`]. Of an operation with several forms of
    /// address any one may be it.
    pub fn plain(self, op: Op) -> Option<&'static OpcodeInfo> {
        self.encodings(op).next()
    }

    /// The first opcode of an operation in this format.
    pub fn encoded(self, op: Op, format: Format) -> Option<&'static OpcodeInfo> {
        self.encodings(op).find(|info| info.format == format)
    }
}

/// Where an opcode stands among those of its operation.
pub(crate) fn rank(info: &OpcodeInfo) -> (Op, bool, u8, u16) {
    let special = info.flags.intersects(crate::Flags::SDWA | crate::Flags::DPP);
    (info.op, special, info.size, info.id.0)
}
