//! Blocks before which waves stop.

use std::collections::BTreeSet;

use super::Program;
use crate::code::Block;

/// Blocks that are not run as a whole, because something in them is to be looked at an instruction at a time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Halts {
    /// Those with an instruction at one of these addresses.
    pub addresses: BTreeSet<u64>,
    /// Those that access memory.
    pub memory: bool,
}

impl Halts {
    pub(super) fn hold(&self, block: &Block) -> bool {
        let at = |pc: &u64| !self.addresses.is_empty() && self.addresses.contains(pc);
        block.insts.iter().any(|(pc, inst)| at(pc) || self.memory && inst.memory().is_some())
    }
}

impl Program {
    /// Where waves halt from now on.
    pub fn set_halts(&mut self, halts: &Halts) {
        self.has_halts = *halts != Halts::default();
        if self.halts != *halts {
            self.blocks.iter_mut().for_each(|entry| entry.halts = halts.hold(&entry.block));
            self.halts = halts.clone();
        }
    }
}
