//! Overwriting registers that the lifter claims to be dead, to see whether anything changes.
//!
//! The claim is asked for once per instruction when code is translated; a micro-op before the instruction then writes
//! garbage into every register that it names. A kernel whose results stay the same, wherever they are overwritten, is
//! a strong witness that a liveness analysis is right about it.

use std::fmt;
use std::sync::Arc;

use luthier_isa::RegSet;

use crate::lower::Limits;
use crate::registers::scalar;
use crate::wave::Wave;

/// The units that are dead before an instruction.
#[derive(Clone, Copy, Default, Debug)]
pub struct Dead {
    /// Scalar units.
    pub scalars: RegSet,
    /// Vector units, in the lanes that are on.
    pub active: RegSet,
    /// Vector units, in the lanes that are off.
    pub inactive: RegSet,
}

/// Says what is dead before the instruction at an address (as loaded).
#[derive(Clone)]
pub struct Poison(pub Arc<dyn Fn(u64) -> Option<Dead> + Send + Sync>);

impl fmt::Debug for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Poison")
    }
}

/// What is overwritten before one instruction.
pub struct Doses {
    scalars: Vec<u8>,
    /// Rows and whether the lanes that are on or those that are off are meant.
    rows: Vec<(u16, bool)>,
    garbage: u32,
}

impl Doses {
    pub fn new(dead: &Dead, pc: u64, limits: Limits) -> Doses {
        // EXEC and MODE are state, not values; SGPRs, VCC, M0 and SCC are what code computes in.
        let code = |r: luthier_isa::Reg| match u8::try_from(r.index()).ok()? {
            code @ (0..=101 | scalar::VCC | 107 | scalar::M0 | scalar::SCC) => Some(code),
            _ => None,
        };
        let row = |reg| limits.row_of(reg);
        let on = dead.active.iter().filter_map(row).map(|r| (r, true));
        let off = dead.inactive.iter().filter_map(row).map(|r| (r, false));
        Doses {
            scalars: dead.scalars.iter().filter_map(code).collect(),
            rows: on.chain(off).collect(),
            garbage: (pc as u32).wrapping_mul(0x9e37_79b9) | 0x8000_0001,
        }
    }

    /// Overwrites them.
    pub fn apply(&self, w: &mut Wave) {
        for &code in &self.scalars {
            w.s[usize::from(code)] = if code == scalar::SCC { w.s[usize::from(code)] ^ 1 } else { self.garbage };
        }
        let exec = w.exec();
        for &(row, on) in &self.rows {
            let lanes = if on { exec } else { !exec };
            for (lane, value) in w.rows[usize::from(row)].0.iter_mut().enumerate() {
                if lanes >> lane & 1 != 0 {
                    *value = self.garbage ^ lane as u32;
                }
            }
        }
    }
}
