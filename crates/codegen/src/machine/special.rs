//! State that is in no register file: SCC, VCC, EXEC, M0, MODE, FLAT_SCRATCH. It is kept in SGPRs while hooks run, and
//! handed to them there.

use luthier_isa::{EncodeError, Generation, Inst, Reg, RegRange};
use smallvec::{SmallVec, smallvec};

use super::Machine;
use super::operations::{HwReg, MODE_FP_DEFAULT, one, pair};

/// A piece of special state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Special {
    Scc,
    /// All 64 bits, in either wave size.
    Vcc,
    Exec,
    M0,
    Mode,
    FlatScratch,
}

impl Special {
    pub const ALL: [Special; 6] = {
        use Special::*;
        [Scc, Vcc, Exec, M0, Mode, FlatScratch]
    };

    pub fn name(self) -> &'static str {
        match self {
            Special::Scc => "SCC",
            Special::Vcc => "VCC",
            Special::Exec => "EXEC",
            Special::M0 => "M0",
            Special::Mode => "MODE",
            Special::FlatScratch => "FLAT_SCRATCH",
        }
    }

    /// The units that make it up.
    pub fn range(self, machine: &Machine) -> RegRange {
        match self {
            Special::Scc => RegRange::new(Reg::SCC, 1),
            Special::Vcc => RegRange::new(Reg::VCC_LO, 2),
            Special::Exec => machine.exec(),
            Special::M0 => RegRange::new(Reg::M0, 1),
            Special::Mode => RegRange::new(Reg::MODE, 1),
            Special::FlatScratch if machine.scratch_base_is_hwreg() => RegRange::new(Reg::FLAT_SCRATCH_BASE_LO, 2),
            Special::FlatScratch => RegRange::new(Reg::FLAT_SCRATCH_LO, 2),
        }
    }

    /// The piece that a register belongs to, and the unit's place in it.
    pub fn of(machine: &Machine, reg: Reg) -> Option<(Special, u16)> {
        Special::ALL.into_iter().find_map(|special| {
            let at = special.range(machine).units().position(|unit| unit == reg)?;
            Some((special, at as u16))
        })
    }

    /// Can only be kept whole by taking it out and putting it back; others can be moved like registers.
    pub fn units(self, machine: &Machine) -> u8 {
        self.range(machine).count
    }
}

/// Two at most stand in it without an allocation.
pub type Moves = SmallVec<[Inst; 2]>;

type Built = Result<Moves, EncodeError>;

impl Machine {
    pub fn scratch_base_is_hwreg(&self) -> bool {
        !self.mode.target().generation().is_gfx9_family()
    }

    /// SGPRs from `home` on = the state.
    pub fn save(&self, special: Special, home: Reg) -> Built {
        let ops = &self.ops;
        Ok(match special {
            Special::Scc => smallvec![ops.save_scc(home)?],
            Special::Vcc => smallvec![ops.mov64(home, pair(Reg::VCC_LO))?],
            Special::Exec => smallvec![ops.mov_mask(home, pair(Reg::EXEC_LO))?],
            Special::M0 => smallvec![ops.mov32(home, one(Reg::M0))?],
            Special::Mode => smallvec![ops.get_hwreg(home, HwReg::MODE)?],
            Special::FlatScratch if self.scratch_base_is_hwreg() => {
                smallvec![
                    ops.get_hwreg(home, HwReg::SCRATCH_BASE[0])?,
                    ops.get_hwreg(home.offset(1), HwReg::SCRATCH_BASE[1])?,
                ]
            }
            Special::FlatScratch => smallvec![ops.mov64(home, pair(Reg::FLAT_SCRATCH_LO))?],
        })
    }

    /// The state = SGPRs from `home` on.
    pub fn restore(&self, special: Special, home: Reg) -> Built {
        let ops = &self.ops;
        Ok(match special {
            Special::Scc => smallvec![ops.restore_scc(home)?],
            Special::Vcc => smallvec![ops.mov64(Reg::VCC_LO, pair(home))?],
            Special::Exec => smallvec![ops.mov_mask(Reg::EXEC_LO, pair(home))?],
            Special::M0 => smallvec![ops.mov32(Reg::M0, one(home))?],
            Special::Mode => smallvec![ops.set_hwreg(HwReg::MODE, home)?],
            Special::FlatScratch if self.scratch_base_is_hwreg() => {
                smallvec![
                    ops.set_hwreg(HwReg::SCRATCH_BASE[0], home)?,
                    ops.set_hwreg(HwReg::SCRATCH_BASE[1], home.offset(1))?,
                ]
            }
            Special::FlatScratch => smallvec![ops.mov64(Reg::FLAT_SCRATCH_LO, pair(home))?],
        })
    }

    /// The modes that templates are compiled for.
    pub fn default_fp_mode(&self) -> Built {
        Ok(smallvec![self.ops.set_hwreg_number(HwReg::MODE_FP, MODE_FP_DEFAULT)?])
    }

    /// `s_setreg` on MODE changes the upper bits of VGPR numbers as well, which therefore have to be set anew behind it.
    pub fn mode_holds_vgpr_msb(&self) -> bool {
        self.mode.target().generation() == Generation::Gfx1250
    }

    /// SGPRs = units of the state, from this one on.
    pub fn read_special(&self, special: Special, unit: u16, to: RegRange) -> Built {
        let ops = &self.ops;
        let state = special.range(self).first;
        let each = to.units().zip(unit..).map(|(to, unit)| match special {
            Special::Scc => ops.save_scc(to),
            Special::Mode => ops.get_hwreg(to, HwReg::MODE),
            Special::FlatScratch if self.scratch_base_is_hwreg() => {
                ops.get_hwreg(to, HwReg::SCRATCH_BASE[usize::from(unit) % 2])
            }
            _ => ops.mov32(to, one(state.offset(unit))),
        });
        each.collect()
    }
}
