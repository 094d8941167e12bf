//! The processors.

use crate::tables::{self, Index};
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
        match self {
            Target::Gfx90a => &tables::GFX90A_OPCODES,
        }
    }
    pub(crate) fn index(self) -> &'static Index {
        match self {
            Target::Gfx90a => &tables::GFX90A_INDEX,
        }
    }
    pub(crate) fn classes(self) -> &'static [[u64; 8]] {
        match self {
            Target::Gfx90a => &tables::GFX90A_CLASSES,
        }
    }
    fn mnemonics(self) -> &'static [(&'static str, u16)] {
        match self {
            Target::Gfx90a => &tables::GFX90A_MNEMONICS,
        }
    }
    pub fn opcode(self, id: OpcodeId) -> &'static OpcodeInfo {
        &self.opcodes()[usize::from(id.0)]
    }
    /// By mnemonic as printed (`v_add_f32_e32`); several opcodes may share it, the first is returned.
    pub fn find(self, mnemonic: &str) -> Option<&'static OpcodeInfo> {
        let names = self.mnemonics();
        let at = names.binary_search_by_key(&mnemonic, |(name, _)| name).ok()?;
        Some(&self.opcodes()[usize::from(names[at].1)])
    }
}
