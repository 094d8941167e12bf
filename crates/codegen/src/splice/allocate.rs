//! The decision: a home for every value at one place. Pure: the same site and demands give the same allocation, and
//! nothing is emitted before it is whole.
//!
//! Registers are taken in this order: dead at the place; never used by the application but allocated; beyond what is
//! allocated. Where that does not do, live registers are put away while the hooks run: SGPRs into lanes of a VGPR, VGPRs
//! into AGPRs, else into scratch of our own. Only then is a hook rejected.

use luthier_isa::{Reg, RegRange, RegSet};
use smallvec::SmallVec;

use super::allocation::{Allocation, Assigned, Loan};
use super::assign::{all_in_place, assign};
use super::demand::{self, Demand};
use super::env::Env;
use super::pool::{Pool, Want};
use super::site::Site;
use super::slots::Cell;
use crate::machine::registers::Counts;
use crate::machine::special::Special;
use crate::plan::Rejection;
use crate::register_file::File;

/// What is put away.
#[derive(Clone, Debug, Default)]
struct Loans {
    sgprs: Vec<Reg>,
    vgprs: Vec<(Reg, bool)>,
}

/// Registers that could not be had: for which hook, and what it was for.
pub struct Shortage {
    pub demand: usize,
    pub want: Want,
    pub what: Option<&'static str>,
    /// Free SGPRs and VGPRs.
    pub left: (u32, u32),
}

impl Shortage {
    /// Takes registers out of the pool for a hook.
    pub fn take(pool: &mut Pool, want: Want, demand: usize, what: Option<&'static str>) -> Result<RegRange, Shortage> {
        pool.take(want).ok_or(Shortage { demand, want, what, left: pool.left() })
    }

    pub fn reason(&self, site: &Site, demands: &[Demand]) -> Rejection {
        let hook = demands[self.demand].prepared.name.clone();
        match self.what {
            Some(what) => Rejection::NoHome { hook, what },
            None => Rejection::Registers {
                hook,
                file: self.want.file,
                count: self.want.count,
                align: self.want.align,
                sgprs: self.left.0,
                vgprs: self.left.1,
                live: Box::new(site.live.active),
            },
        }
    }
}

/// Decides for all hooks of a place, in the order in which they run.
pub fn allocate(env: &Env, site: &Site, demands: &[Demand]) -> Allocation {
    let mut todo: SmallVec<[usize; 4]> = (0..demands.len()).collect();
    let mut rejected = Vec::new();
    let mut loans = Loans::default();
    // Registers that loads in flight may still write can be put away when all of them have been waited for.
    let (settled, mut settles) = (site.settled(), false);
    loop {
        let now = if settles { &settled } else { site };
        match (Attempt { env, site: now, demands }).make(&todo, &loans) {
            Ok(found) => return Allocation { rejected, settles, ..found },
            Err(short) => {
                if loans.extend(env, now, demands, short.want) {
                    continue;
                }
                loans = Loans::default();
                if !settles && !site.loads.is_empty() {
                    settles = true;
                    continue;
                }
                settles = false;
                todo.retain(|d| *d != short.demand);
                rejected.push((short.demand, short.reason(site, demands)));
            }
        }
    }
}

impl Loans {
    fn is_empty(&self) -> bool {
        self.sgprs.is_empty() && self.vgprs.is_empty()
    }

    /// Puts more away, so that the want can be met. False if that is not possible.
    fn extend(&mut self, env: &Env, site: &Site, demands: &[Demand], want: Want) -> bool {
        if site.indexed {
            return false;
        }
        let mut without = demand::registers(demands);
        let pool = site.pool(env, &without, demand::moves_lanes(demands));
        without.union_with(&site.excluded(env));
        let limit = match want.file {
            File::Sgpr => env.registers.limits.sgprs,
            File::Vgpr => env.registers.limits.vgprs.min(want.limit),
            File::Agpr => return false,
        };
        let lent = |r: &Reg| match want.file {
            File::Sgpr => self.sgprs.contains(r),
            _ => self.vgprs.iter().any(|(v, whole)| v == r && (*whole || !want.whole)),
        };
        let free = |r: &Reg| if want.whole { pool.is_whole(*r) } else { pool.is_free(*r) } || lent(r);
        let align = u16::from(want.align.max(1));
        let mut starts = (0..=limit.saturating_sub(want.count.into())).filter(|n| n % align == want.remainder % align);
        let fits = |first: &u16| {
            let range = RegRange::new(want.file.reg(*first), want.count);
            // Something has to be gained by it.
            range.units().all(|r| !without.contains(r)) && range.units().any(|r| !free(&r))
        };
        let Some(first) = starts.find(fits) else { return false };
        let new: Vec<Reg> = RegRange::new(want.file.reg(first), want.count).units().filter(|r| !free(r)).collect();
        match want.file {
            File::Sgpr => {
                self.sgprs.extend(new);
                self.sgprs.len() <= env.machine.lanes().into()
            }
            _ => {
                self.vgprs.retain(|(v, _)| !new.contains(v));
                self.vgprs.extend(new.into_iter().map(|r| (r, want.whole)));
                // Each has to be kept somewhere.
                let agprs = pool.agprs();
                let slots = agprs.max(env.scratch.map_or(0, |own| own.room / 4));
                self.vgprs.len() <= slots as usize
            }
        }
    }
}

struct Attempt<'a> {
    env: &'a Env<'a>,
    site: &'a Site<'a>,
    demands: &'a [Demand<'a>],
}

impl Attempt<'_> {
    fn make(&self, todo: &[usize], loans: &Loans) -> Result<Allocation, Shortage> {
        let (env, site) = (self.env, self.site);
        let mut out = Allocation::default();
        let Some(&first) = todo.first() else { return Ok(out) };
        let default_modes = !env.default_fp_mode && todo.iter().any(|d| self.demands[*d].prepared.needs_fp_mode);
        out.default_modes = default_modes;
        let changing = |special: Special| {
            todo.iter().copied().find(|d| {
                let demand = &self.demands[*d];
                let changes = demand.prepared.changes.contains(&special)
                    || special == Special::Mode && default_modes && demand.prepared.needs_fp_mode;
                changes && self.matters(special, todo) || demand.specials().any(|(s, back)| s == special && back)
            })
        };
        let called = todo.iter().any(|d| self.demands[*d].prepared.called);
        if !called && loans.is_empty() && !Special::ALL.into_iter().any(|special| changing(special).is_some()) {
            // Most places want nothing more than to count, in registers that are set apart for that.
            let all: Option<SmallVec<[Assigned; 1]>> =
                todo.iter().map(|&d| all_in_place(env, &self.demands[d], d, &out)).collect::<Option<_>>();
            if let Some(hooks) = all {
                hooks.iter().for_each(|assigned| self.note(assigned, &mut out.highest));
                return Ok(Allocation { hooks, ..out });
            }
        }
        let mut without = RegSet::EMPTY;
        todo.iter().flat_map(|d| self.demands[*d].registers()).for_each(|range| without.insert_range(range));
        let mut pool = site.pool(env, &without, demand::moves_lanes(self.demands));
        let mut take = |pool: &mut Pool, want: Want, demand: usize, what: Option<&'static str>| {
            let range = Shortage::take(pool, want, demand, what)?;
            out.highest.note(range);
            Ok(range.first)
        };

        for &(reg, whole) in &loans.vgprs {
            let home = match pool.take(Want::of(File::Agpr, 1)) {
                Some(agpr) => Cell::Register(agpr.first),
                None => {
                    out.scratch = out.scratch.max(env.carried.slots.scratch) + 4;
                    Cell::Scratch(out.scratch - 4)
                }
            };
            out.vgprs.push(Loan { reg, home, whole });
        }
        let fetches = todo.iter().any(|d| self.demands[*d].fetches_lanes());
        if todo.iter().any(|d| self.demands[*d].reaches_scratch()) {
            out.scratch = out.scratch.max(env.carried.slots.scratch);
        }
        if let Some(own) = env.scratch.filter(|own| out.scratch > 0 && own.by_register) {
            out.address = Some(match own.floating {
                Some(floating) => floating.cells,
                None => take(&mut pool, Want::of(File::Sgpr, 1), first, Some("the address of scratch"))?,
            });
        }
        let for_all = |d: &usize| {
            let demand = &self.demands[*d];
            demand.feeds.iter().any(|feed| demand.is_for_all_lanes(feed))
        };
        if fetches || loans.vgprs.iter().any(|(_, whole)| *whole) || todo.iter().any(for_all) {
            let want = Want::of(File::Sgpr, env.machine.exec().count);
            out.exec = Some(take(&mut pool, want, first, Some("EXEC"))?);
        }
        for &(reg, whole) in &loans.vgprs {
            pool.add(reg);
            if whole {
                pool.add_whole(reg);
            }
        }
        if fetches {
            out.fetched = Some(take(&mut pool, Want::whole(File::Vgpr), first, None)?);
        }
        let (mut specials, mut lanes) = (Vec::new(), Vec::new());
        let mut keep = |pool: &mut Pool, special: Special, specials: &mut Vec<(Special, Reg)>| {
            if let Some(demand) = changing(special) {
                let want = Want::of(File::Sgpr, special.units(env.machine));
                let home = take(pool, want, demand, Some(special.name()))?;
                specials.push((special, home));
            }
            Ok(())
        };
        // EXEC comes back last of all, behind the SGPRs that are lent: its home is none of them.
        keep(&mut pool, Special::Exec, &mut specials)?;
        if !loans.sgprs.is_empty() {
            let want = Want::whole(File::Vgpr);
            let vgpr = Shortage::take(&mut pool, want, first, None)?;
            lanes.push(vgpr.first);
            out.sgprs.clone_from(&loans.sgprs);
            loans.sgprs.iter().for_each(|r| pool.add(*r));
        }
        for special in Special::ALL.into_iter().filter(|s| *s != Special::Exec) {
            keep(&mut pool, special, &mut specials)?;
        }
        out.specials = specials;
        lanes.iter().for_each(|vgpr| out.highest.note(RegRange::new(*vgpr, 1)));
        out.lanes = lanes;

        for &demand in todo {
            // Each hook begins with the same free registers: nothing of the one before is needed any more.
            let assigned = assign(env, &self.demands[demand], demand, pool, &out, false)
                .map_err(|(want, left)| Shortage { demand, want, what: None, left })?;
            self.note(&assigned, &mut out.highest);
            out.hooks.push(assigned);
        }
        Ok(out)
    }

    /// The registers that a hook is given.
    fn note(&self, assigned: &Assigned, highest: &mut Counts) {
        let groups = &self.demands[assigned.demand].prepared.groups;
        for (group, reg) in groups.iter().zip(&assigned.groups) {
            highest.note(RegRange::new(*reg, group.range.count));
        }
        assigned.link.iter().for_each(|link| highest.note(RegRange::new(*link, 2)));
    }

    /// The state's value matters behind the hooks, or to one of them. Of MODE it is not known.
    fn matters(&self, special: Special, todo: &[usize]) -> bool {
        let needed = |unit| self.site.is_live(unit) || self.env.carried.watched_state.contains(unit);
        special == Special::Mode
            || special.range(self.env.machine).units().any(needed)
            || todo.iter().any(|d| self.demands[*d].specials().any(|(s, _)| s == special))
    }
}
