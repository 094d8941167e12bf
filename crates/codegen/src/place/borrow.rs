//! Scalar registers on loan: where too few are free, live ones are kept in lanes of a free VGPR while hooks run.

use luthier_isa::{EncodeError, Reg, RegRange, RegSet};

use super::env::Env;
use super::hazard;
use super::ops::one;
use super::point::Splice;
use super::pool::{File, Pool};

/// Neighbouring SGPRs that could not be found.
#[derive(Clone, Copy, Debug)]
pub struct Shortage {
    pub count: u8,
    pub align: u8,
    pub remainder: u16,
}

/// The registers lent at one point. Register `i` is in lane `i`.
#[derive(Debug, Default)]
pub struct Borrowed {
    registers: Vec<Reg>,
}

/// The VGPR that holds them; none is needed where nothing is lent.
pub type Lanes = Option<Reg>;

impl Borrowed {
    /// Lends what is missing. False if no tuple can be lent, or more would be than a VGPR has lanes.
    pub fn borrow(&mut self, env: &Env, pool: &Pool, excluded: &RegSet, need: Shortage) -> bool {
        let align = u16::from(need.align.max(1));
        let last = env.limits.sgprs.saturating_sub(need.count.into());
        let fits = |first: &u16| {
            let range = RegRange::new(Reg::sgpr(*first), need.count);
            let new = |r: Reg| !pool.is_free(r) && !self.registers.contains(&r);
            // Something has to be gained by it.
            range.units().all(|r| !excluded.contains(r)) && range.units().any(new)
        };
        let mut starts = (0..=last).filter(|n| n % align == need.remainder % align);
        let Some(first) = starts.find(fits) else { return false };
        for reg in RegRange::new(Reg::sgpr(first), need.count).units() {
            if !pool.is_free(reg) && !self.registers.contains(&reg) {
                self.registers.push(reg);
            }
        }
        self.registers.len() <= 64
    }

    /// Puts the registers away, and into the pool. `None` if no VGPR is free to keep them.
    pub fn begin(&self, env: &Env, pool: &mut Pool, out: &mut Splice) -> Result<Option<Lanes>, EncodeError> {
        if self.registers.is_empty() {
            return Ok(Some(None));
        }
        let Some(vgpr) = pool.take(File::Vgpr, 1, 1, 0, true) else { return Ok(None) };
        out.highest.note(vgpr);
        for (lane, reg) in self.registers.iter().enumerate() {
            out.insts.push(env.ops.write_lane(vgpr.first, lane as u8, one(*reg))?);
            pool.add(*reg);
        }
        Ok(Some(Some(vgpr.first)))
    }

    /// Takes the registers back. Gives the wait states that have to follow.
    pub fn end(&self, env: &Env, lanes: Lanes, out: &mut Splice) -> Result<u32, EncodeError> {
        let Some(vgpr) = lanes else { return Ok(0) };
        for (lane, reg) in self.registers.iter().enumerate() {
            out.insts.push(env.ops.read_lane(*reg, vgpr, lane as u8)?);
        }
        Ok(hazard::VALU_SCALAR)
    }
}
