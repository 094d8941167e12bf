//! The processors.

use crate::{OpcodeId, OpcodeInfo};

/// A processor whose tables we have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Target {
    Gfx90a,
}

impl Target {
    /// From a processor name without features: `gfx90a`.
    pub fn from_name(name: &str) -> Option<Target> {
        (name == "gfx90a").then_some(Target::Gfx90a)
    }
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx90a => "gfx90a",
        }
    }
    /// Every opcode of the target, indexed by [`OpcodeId`].
    pub fn opcodes(self) -> &'static [OpcodeInfo] {
        todo!("generated tables")
    }
    pub fn opcode(self, id: OpcodeId) -> &'static OpcodeInfo {
        &self.opcodes()[usize::from(id.0)]
    }
    /// By mnemonic as printed (`v_add_f32_e32`); several opcodes may share it, the first is returned.
    pub fn find(self, _mnemonic: &str) -> Option<&'static OpcodeInfo> {
        todo!("generated tables")
    }
}
