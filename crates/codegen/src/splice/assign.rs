//! The registers of one hook: for each of its template's groups some that are free, or those that an argument is in.

use luthier_isa::{Reg, RegRange, RegSet};
use smallvec::{SmallVec, smallvec};

use super::allocation::{Allocation, Assigned, Groups};
use super::demand::{Demand, Source};
use super::env::{Env, HookId};
use super::pool::{Pool, Want};
use crate::register_file::File;

/// Registers that could not be had, and how many SGPRs and VGPRs were free.
pub type NotHad = (Want, (u32, u32));

/// Of the template's groups those that an argument is in already, and of the arguments those that are where the template
/// looks for them.
fn stays(env: &Env, demand: &Demand, so_far: &Allocation) -> (Groups<Option<Reg>>, SmallVec<[bool; 8]>) {
    let prepared = demand.prepared;
    let mut groups: Groups<Option<Reg>> = smallvec![None; prepared.groups.len()];
    let mut in_place = smallvec![false; demand.feeds.len()];
    // Where arguments stay, and whether the hook changes them there: the others must not see that.
    let (mut stay, mut changed) = (RegSet::EMPTY, RegSet::EMPTY);
    for (feed, placed) in demand.feeds.iter().zip(&mut in_place) {
        let group = &prepared.groups[feed.input.group];
        let (range, back) = match feed.source {
            Source::Registers { range, back } => (range, back),
            Source::Special { special, unit, count, back } => match so_far.home(special) {
                Some(home) => (RegRange::new(home.offset(unit), count), back),
                None => continue,
            },
            Source::Lanes { .. } | Source::Scratch { .. } | Source::Number(_) => continue,
        };
        // Its new value may be left there; any other may not.
        let input = feed.input;
        let unharmed = !input.clobbered || input.written && back && !group.whole;
        let last = range.first.offset(u16::from(range.count) - 1);
        let fits = File::of(range.first) == Some(group.file)
            && File::of(last) == Some(group.file)
            && last.number() < group.limit
            && range.first.number() % u16::from(group.align) == group.range.first.number() % u16::from(group.align);
        // What the application uses is better not read by vector instructions where that leaves a mark; where the wave
        // ends, none matters.
        let ends = matches!(demand.id, HookId::Ending(_));
        let unmarked = !group.read_by_lanes || ends || !env.machine.remembers_scalar_reads();
        let seen = range.units().any(|u| changed.contains(u) || input.clobbered && stay.contains(u));
        if input.alone && unharmed && fits && unmarked && !seen && groups[input.group].is_none() {
            groups[input.group] = Some(range.first);
            stay.insert_range(range);
            if input.clobbered {
                changed.insert_range(range);
            }
            *placed = true;
        }
    }
    (groups, in_place)
}

/// The registers of a hook that needs none of its own.
pub fn all_in_place(env: &Env, demand: &Demand, index: usize, so_far: &Allocation) -> Option<Assigned> {
    let (groups, in_place) = stays(env, demand, so_far);
    Some(Assigned { demand: index, groups: groups.into_iter().collect::<Option<_>>()?, in_place, link: None })
}

/// Registers for one hook, number `index` of the demands. An argument may stay where the application has it, unless `moves`
/// wants all of them in registers of the hook's own.
pub fn assign(
    env: &Env,
    demand: &Demand,
    index: usize,
    mut pool: Pool,
    so_far: &Allocation,
    moves: bool,
) -> Result<Assigned, NotHad> {
    let prepared = demand.prepared;
    let (mut groups, in_place) = match moves {
        true => (smallvec![None; prepared.groups.len()], smallvec![false; demand.feeds.len()]),
        false => stays(env, demand, so_far),
    };
    // Wide groups first: they are the hardest to find a place for.
    let mut order: Vec<usize> = (0..groups.len()).filter(|g| groups[*g].is_none()).collect();
    order.sort_by_key(|g| std::cmp::Reverse((prepared.groups[*g].range.count, prepared.groups[*g].align)));
    for g in order {
        let group = &prepared.groups[g];
        let want = Want {
            file: group.file,
            count: group.range.count,
            align: group.align,
            remainder: group.range.first.number() % u16::from(group.align),
            whole: group.whole || demand.fills_whole(env, g),
            limit: group.limit,
        };
        let range = pool.take(want).ok_or((want, pool.left()))?;
        groups[g] = Some(range.first);
    }
    // Nothing is put away for it: where none are free, the hook stands in place.
    let link = prepared.called.then(|| pool.take(Want::of(File::Sgpr, 2))).flatten().map(|range| range.first);
    Ok(Assigned { demand: index, groups: groups.into_iter().flatten().collect(), in_place, link })
}
