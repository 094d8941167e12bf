//! The decision as a call by the C calling convention would have it, for comparison: what tools do that know neither what
//! is live at a place nor what the hook touches.
//!
//! Once for all hooks of a place, and whatever they are: all loads in flight are waited for; every VGPR that a called
//! function may change, and that the kernel uses at all, goes into scratch in all lanes, every such SGPR into a lane, VCC,
//! M0 and SCC into SGPRs; each argument is moved to registers of the hook's own; afterwards all comes back.
//!
//! Three things are in favour of this placement where a tool of that kind would do worse. The hooks' bodies stand in
//! line: the three or four instructions that make an address and the two of call and return are saved. AGPRs are not put
//! away, since no hook uses any. And where EXEC and the address of scratch are kept meanwhile is found by liveness.

use luthier_isa::{Reg, RegSet};

use super::allocate::Shortage;
use super::allocation::{Allocation, Loan};
use super::assign::assign;
use super::demand::{self, Demand, Source};
use super::env::Env;
use super::pool::Want;
use super::site::Site;
use super::slots::Cell;
use crate::machine::convention::{CALLER_SAVED_STATE, caller_saved};
use crate::machine::scratch::OwnScratch;
use crate::machine::special::Special;
use crate::plan::Rejection;
use crate::register_file::File;

/// Decides for all hooks of a place, in the order in which they run.
pub fn allocate(env: &Env, site: &Site, demands: &[Demand]) -> Allocation {
    let name = |demand: &Demand| demand.prepared.name.clone();
    let all = |reason: &dyn Fn(&Demand) -> Rejection| Allocation {
        rejected: demands.iter().map(reason).enumerate().collect(),
        ..Allocation::default()
    };
    if site.indexed {
        return all(&|demand| Rejection::Indexed { what: format!("the hook {} is called", name(demand)) });
    }
    let Some(own) = env.scratch else {
        return all(&|demand| Rejection::NoScratch { hook: name(demand) });
    };
    let mut todo: Vec<usize> = (0..demands.len()).collect();
    let mut rejected = Vec::new();
    loop {
        match (Call { env, site, demands, own }).make(&todo) {
            Ok(found) => return Allocation { rejected, ..found },
            Err(short) => {
                todo.retain(|d| *d != short.demand);
                rejected.push((short.demand, short.reason(site, demands)));
            }
        }
    }
}

struct Call<'a> {
    env: &'a Env<'a>,
    site: &'a Site<'a>,
    demands: &'a [Demand<'a>],
    own: OwnScratch,
}

impl Call<'_> {
    fn make(&self, todo: &[usize]) -> Result<Allocation, Shortage> {
        let (env, site, machine) = (self.env, self.site, self.env.machine);
        let Some(&first) = todo.first() else { return Ok(Allocation::default()) };
        let (mut arguments, mut results) = (RegSet::EMPTY, RegSet::EMPTY);
        for feed in todo.iter().flat_map(|d| &self.demands[*d].feeds) {
            if let Source::Registers { range, back } = feed.source {
                arguments.insert_range(range);
                if back {
                    results.insert_range(range);
                }
            }
        }
        let mut pool = site.pool(env, &arguments, demand::moves_lanes(self.demands));
        let mut out = Allocation { settles: true, scratch: env.carried.slots.scratch, ..Allocation::default() };
        // What is not put away is taken first: these registers are in use until the end.
        let mut saved = *caller_saved();
        saved.subtract(&env.registers.never_used);
        // The application has nothing in registers that its wave does not have.
        let allocated = env.allocated_at(site.address);
        let missing: Vec<Reg> = saved.iter().filter(|reg| !allocated.has(*reg)).collect();
        missing.into_iter().for_each(|reg| saved.remove(reg));
        saved.subtract(&results);
        let mut apart = |out: &mut Allocation, count: u8, what: &'static str| {
            let range = Shortage::take(&mut pool, Want::of(File::Sgpr, count), first, Some(what))?;
            out.highest.note(range);
            range.units().for_each(|reg| saved.remove(reg));
            Ok::<Reg, Shortage>(range.first)
        };
        if self.own.by_register {
            out.address = Some(match self.own.floating {
                Some(floating) => floating.cells,
                None => apart(&mut out, 1, "the address of scratch")?,
            });
        }
        out.exec = Some(apart(&mut out, machine.exec().count, "EXEC")?);
        if self.keeps(Special::Exec, todo) {
            let home = apart(&mut out, machine.exec().count, "EXEC")?;
            out.specials.push((Special::Exec, home));
        }
        for reg in saved.iter() {
            match File::of(reg) {
                Some(File::Sgpr) => out.sgprs.push(reg),
                Some(File::Vgpr) => {
                    out.vgprs.push(Loan { reg, home: Cell::Scratch(out.scratch), whole: true });
                    out.scratch += 4;
                }
                _ => {}
            }
        }
        let untouched = |reg: &Reg| ![&arguments, site.kept, site.busy].iter().any(|set| set.contains(*reg));
        for reg in saved.iter().filter(untouched) {
            pool.add(reg);
            pool.add_whole(reg);
        }
        if todo.iter().any(|d| self.demands[*d].fetches_lanes()) {
            let vgpr = Shortage::take(&mut pool, Want::whole(File::Vgpr), first, None)?;
            out.highest.note(vgpr);
            out.fetched = Some(vgpr.first);
        }
        for _ in out.sgprs.chunks(machine.lanes().into()) {
            let vgpr = Shortage::take(&mut pool, Want::whole(File::Vgpr), first, None)?;
            out.highest.note(vgpr);
            out.lanes.push(vgpr.first);
        }
        for special in Special::ALL.into_iter().filter(|s| *s != Special::Exec && self.keeps(*s, todo)) {
            let want = Want::of(File::Sgpr, special.units(machine));
            let home = Shortage::take(&mut pool, want, first, Some(special.name()))?;
            out.highest.note(home);
            out.specials.push((special, home.first));
        }
        out.default_modes = self.sets_modes(todo);
        for &demand in todo {
            let assigned = assign(env, &self.demands[demand], demand, pool, &out, true)
                .map_err(|(want, left)| Shortage { demand, want, what: None, left })?;
            for (group, reg) in self.demands[demand].prepared.groups.iter().zip(&assigned.groups) {
                out.highest.note(luthier_isa::RegRange::new(*reg, group.range.count));
            }
            assigned.link.iter().for_each(|link| out.highest.note(luthier_isa::RegRange::new(*link, 2)));
            out.hooks.push(assigned);
        }
        Ok(out)
    }

    /// State that a function may change; what it may not, where one of the hooks does.
    fn keeps(&self, special: Special, todo: &[usize]) -> bool {
        let changes = |d: &usize| {
            let demand = &self.demands[*d];
            demand.prepared.changes.contains(&special) || demand.specials().any(|(s, back)| s == special && back)
        };
        let modes = special == Special::Mode && self.sets_modes(todo);
        CALLER_SAVED_STATE.contains(&special) || modes || todo.iter().any(changes)
    }

    fn sets_modes(&self, todo: &[usize]) -> bool {
        !self.env.default_fp_mode && todo.iter().any(|d| self.demands[*d].prepared.needs_fp_mode)
    }
}
