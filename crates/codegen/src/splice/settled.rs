//! Hooks that are given nothing of their place, in registers that are where they look for them: what was decided for one
//! at a place is right at every other where nothing is needed that it changes.

use std::rc::Rc;

use luthier_isa::{Reg, RegSet};
use smallvec::SmallVec;

use super::allocation::Allocation;
use super::demand::{Demand, Feeds};
use super::env::{Env, HookId};
use super::site::Site;
use crate::machine::special::Special;
use crate::plan::Arg;

/// What was decided for one hook.
struct Settled<'a> {
    template: u32,
    args: &'a [Arg],
    feeds: Feeds,
    /// Nothing of it may be needed.
    changes: SmallVec<[Reg; 4]>,
    allocation: Rc<Allocation>,
}

/// The latest decisions of one function.
#[derive(Default)]
pub struct Latest<'a> {
    kept: Vec<Settled<'a>>,
    /// Which of them makes room next.
    oldest: usize,
}

impl<'a> Latest<'a> {
    /// Up to this many are looked through faster than one is decided.
    const MOST: usize = 8;

    /// What was decided for a hook that is alone at its place, if that is right here as well.
    pub fn find(&self, env: &'a Env<'a>, site: &Site, id: HookId) -> Option<(Demand<'a>, Rc<Allocation>)> {
        let (template, prepared, args) = env.hook(id).filter(|_| !site.indexed)?;
        let found = self.kept.iter().find(|one| one.template == template && std::ptr::eq(one.args, args))?;
        if found.changes.iter().any(|unit| site.is_live(*unit)) {
            return None;
        }
        let demand = Demand { id, template, prepared, feeds: found.feeds.clone(), args };
        Some((demand, found.allocation.clone()))
    }

    /// Keeps what was decided for the hooks of a place, if it depends on nothing of the place.
    pub fn keep(&mut self, env: &'a Env<'a>, demands: &[Demand<'a>], allocation: &Allocation) {
        let [demand] = demands else { return };
        let Some(changes) = changes(env, demand).filter(|_| is_in_place(allocation)) else { return };
        let Demand { template, args, .. } = *demand;
        let (feeds, allocation) = (demand.feeds.clone(), Rc::new(allocation.clone()));
        let settled = Settled { template, args, feeds, changes, allocation };
        if self.kept.iter().any(|one| one.template == template && std::ptr::eq(one.args, args)) {
            return;
        }
        if self.kept.len() < Latest::MOST {
            self.kept.push(settled);
        } else {
            self.kept[self.oldest] = settled;
            self.oldest = (self.oldest + 1) % Latest::MOST;
        }
    }
}

/// The state that a hook changes, if that is all that its place matters for.
fn changes(env: &Env, demand: &Demand) -> Option<SmallVec<[Reg; 4]>> {
    let given = |arg: &Arg| {
        matches!(arg, Arg::Const(_) | Arg::Variable { .. } | Arg::Slot(_) | Arg::HasClusters | Arg::WaveSize)
    };
    let prepared = demand.prepared;
    if prepared.touches_vgprs || prepared.stack.is_some() || prepared.needs_fp_mode || !demand.args.iter().all(given) {
        return None;
    }
    let mut units = SmallVec::new();
    for special in &prepared.changes {
        let range = special.range(env.machine);
        if *special == Special::Mode || range.units().any(|unit| env.carried.watched_state.contains(unit)) {
            return None;
        }
        units.extend(range.units());
    }
    Some(units)
}

/// One hook, and nothing else: no register of the place is taken.
fn is_in_place(allocation: &Allocation) -> bool {
    let Allocation { vgprs, exec, address, fetched, lanes, sgprs, specials, settles, default_modes, .. } = allocation;
    let nothing = vgprs.is_empty() && lanes.is_empty() && sgprs.is_empty() && specials.is_empty();
    let none = exec.is_none() && address.is_none() && fetched.is_none() && !settles && !default_modes;
    let [hook] = &allocation.hooks[..] else { return false };
    // Each argument is in place, in a group of its own: if there are no more groups, none was taken from the place.
    let placed =
        hook.link.is_none() && hook.in_place.iter().all(|placed| *placed) && hook.groups.len() == hook.in_place.len();
    nothing && none && placed && allocation.rejected.is_empty()
}

/// No registers.
pub static NOTHING: RegSet = RegSet::EMPTY;
