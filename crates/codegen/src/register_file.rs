//! The register files that hooks take registers from.

use std::fmt;

use luthier_isa::Reg;

/// A register file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum File {
    Sgpr,
    Vgpr,
    Agpr,
}

impl File {
    /// `None` for VCC, EXEC and the like, and for the VGPRs past v255, which operands reach only under the upper bits of
    /// their numbers.
    pub fn of(reg: Reg) -> Option<File> {
        match reg {
            r if r.is_sgpr() => Some(File::Sgpr),
            r if r.is_vgpr() && r.number() < 256 => Some(File::Vgpr),
            r if r.is_agpr() => Some(File::Agpr),
            _ => None,
        }
    }
    pub fn reg(self, n: u16) -> Reg {
        match self {
            File::Sgpr => Reg::sgpr(n),
            File::Vgpr => Reg::vgpr(n),
            File::Agpr => Reg::agpr(n),
        }
    }
    /// Unit number of the file's first register.
    pub fn first_unit(self) -> usize {
        self.reg(0).index()
    }
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            File::Sgpr => "SGPR",
            File::Vgpr => "VGPR",
            File::Agpr => "AGPR",
        })
    }
}
