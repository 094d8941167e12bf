//! The checker against real splices on every processor: it finds nothing in them as they are, and something in every way
//! of breaking them.

mod behind;
mod copies_called;
pub mod descriptors;
mod ends;
mod hooks;
mod kernels;
mod mutate;
mod places;
#[path = "../../../tests/support/mod.rs"]
mod support;
mod unknown;
mod waits;

use std::collections::BTreeMap;

use luthier_isa::{Generation, Mode};

use self::kernels::Busy;
use crate::check;
use crate::layout::chunk::ChunkId;

/// Kernels from nearly everything free to nothing free, with the VGPRs that they are given.
const PRESSURES: [(Busy, u32); 3] = [
    (Busy { sgprs: 12, vgprs: 16, agprs: 0 }, 24),
    (Busy { sgprs: 90, vgprs: 40, agprs: 0 }, 64),
    (Busy { sgprs: 100, vgprs: 64, agprs: 0 }, 64),
];

/// The same, with one that uses VGPRs past v255 where there are any, and those that leave no VGPR of a wave of the largest
/// workgroup, so that VGPRs wait in scratch or in AGPRs.
fn pressures(mode: Mode) -> Vec<(Busy, u32)> {
    let upper = (mode.target().vgprs() > 256).then_some((Busy { sgprs: 20, vgprs: 16, agprs: 0 }, 272));
    let most = match mode.target().generation() {
        Generation::Gfx9 | Generation::Gfx1250 => 64,
        _ if matches!(mode.target(), luthier_isa::Target::Gfx1100 | luthier_isa::Target::Gfx1200) => 192,
        _ => 128,
    };
    let full = (most > 64).then_some((Busy { sgprs: 100, vgprs: most, agprs: 0 }, most));
    let unified = matches!(mode.target().generation(), Generation::Gfx90a | Generation::Gfx940);
    let halves = unified.then_some((Busy { sgprs: 100, vgprs: 64, agprs: 64 }, 64));
    PRESSURES.into_iter().chain(upper).chain(full).chain(halves).collect()
}

/// A processor of each generation in each wave size; all of them if `LUTHIER_ALL_TARGETS` is set.
fn modes() -> Vec<Mode> {
    let all = Mode::all().filter(|m| m.target().has_tables());
    let mut found: Vec<Mode> = Vec::new();
    for mode in all {
        let same = |m: &&Mode| m.target().generation() == mode.target().generation() && m.wave() == mode.wave();
        // CDNA1 is the one of its generation that has AGPRs.
        let known = found.iter().find(same).is_some() && mode.target() != luthier_isa::Target::Gfx908;
        let asked = std::env::var("LUTHIER_TARGETS").ok();
        if asked.as_deref().is_some_and(|list| !list.split(',').any(|name| name == mode.target().name())) {
            continue;
        }
        if !known || asked.is_some() || std::env::var_os("LUTHIER_ALL_TARGETS").is_some() {
            found.push(mode);
        }
    }
    found
}

#[test]
fn nothing_is_found_in_splices_as_they_are() {
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut places, mut rejected) = (0, BTreeMap::new());
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        for (busy, room) in pressures(mode) {
            let Some(object) = kernels::busy(mode, busy, room) else { return };
            for hook in &hooks {
                let middle = busy.middle();
                let wanted = |n| n < 3 || (middle - 6..middle + 24).contains(&n);
                let rejections = places::for_each(&object, hook, wanted, |env, spliced| {
                    places += 1;
                    for violation in spliced.check(env) {
                        let text: String = violation.to_string().chars().filter(|c| !c.is_ascii_digit()).collect();
                        let entry = wrong.entry(format!("{}: {text}", hook.name)).or_default();
                        entry.0 += 1;
                        if entry.1.is_empty() {
                            let insts: Vec<String> = spliced.insts.iter().map(|i| i.to_string()).collect();
                            entry.1 = format!("{mode:?}: {violation}\n    {}", insts.join("\n    "));
                        }
                    }
                });
                for reason in rejections {
                    *rejected.entry(format!("{} {:?}", hook.name, std::mem::discriminant(&reason))).or_insert(0) += 1;
                }
            }
        }
    }
    println!("{places} places; rejected: {rejected:#?}");
    for (what, (count, example)) in &wrong {
        println!("{count} of {what}\n  {example}");
    }
    assert!(wrong.is_empty() && places > 500, "{} kinds of violations, {places} places", wrong.len());
}

/// Templates that act for the wave in one lane, and say nothing of lanes that the application may have off: placement
/// then keeps those lanes' registers nowhere.
#[test]
fn hooks_that_change_lanes_that_are_off_are_noticed_whatever_their_templates_say() {
    let (mut silent, mut noticed) = (0, 0);
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        for (busy, room) in pressures(mode) {
            let Some(object) = kernels::busy(mode, busy, room) else { return };
            for hook in hooks.iter().filter(|hook| hook.template.writes_inactive_lanes.iter().next().is_some()) {
                let template = luthier_isa::RegSet::EMPTY;
                let template = crate::Template { writes_inactive_lanes: template, ..(*hook.template).clone() };
                let lies = hooks::Hook { template: template.into(), args: hook.args.clone(), ..*hook };
                let wanted = |n: usize| (busy.middle()..busy.middle() + 3).contains(&n);
                places::for_each(&object, &lies, wanted, |env, spliced| {
                    // Where a VGPR is put away, that is done in the lanes that are on.
                    let found = spliced.check(env);
                    let inactive = |v: &check::Violation| matches!(v.kind, check::Wrong::Inactive { .. });
                    if found.iter().any(inactive) { noticed += 1 } else { silent += 1 }
                });
            }
        }
    }
    println!("{noticed} noticed, {silent} without harm");
    assert!(noticed > 20, "{noticed} noticed, {silent} not");
}

/// Breaks real splices in every way. Those without an effect are not made: see `mutate`.
#[test]
fn every_way_of_breaking_a_splice_is_noticed() {
    /// Places of one kernel and hook that are broken.
    const MOST: usize = 4;
    let mut table: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        for (busy, room) in pressures(mode) {
            let Some(object) = kernels::busy(mode, busy, room) else { return };
            for hook in &hooks {
                // Around the middle of the kernel, where all is live and loads are in flight.
                let upper = busy.middle() + 11..busy.middle() + 19;
                let wanted =
                    |n: usize| (0..MOST).any(|k| n == busy.middle() + 3 * k) || room > 256 && upper.contains(&n);
                places::for_each(&object, hook, wanted, |env, spliced| {
                    for (what, changed) in mutate::all(env, &spliced) {
                        let entry = table.entry(what).or_default();
                        entry.0 += 1;
                        match changed.check(env).is_empty() {
                            false => entry.1 += 1,
                            true if entry.2.is_empty() => {
                                let list = |s: &places::Spliced| {
                                    let all: Vec<String> = s.insts.iter().map(|i| i.to_string()).collect();
                                    all.join("\n    ")
                                };
                                let (name, before, after) = (hook.name, list(&spliced), list(&changed));
                                entry.2 = format!("{mode:?} {name}:\n    {before}\n  became\n    {after}");
                            }
                            true => {}
                        }
                    }
                });
            }
        }
    }
    println!("{:<60} {:>8} {:>8}", "mutation", "made", "noticed");
    for (what, (made, noticed, _)) in &table {
        println!("{what:<60} {made:>8} {noticed:>8}");
    }
    let missed: Vec<_> = table.iter().filter(|(_, (made, noticed, _))| made != noticed).collect();
    for (what, (made, noticed, example)) in &missed {
        println!("{} of {what} were not noticed, as on {example}", made - noticed);
    }
    assert!(missed.is_empty() && table.len() > 20, "{} kinds of mutations get through", missed.len());
}

/// Kernels as a whole: their copies have nothing wrong, preambles, flushes and seams included; without a wait state that
/// was inserted, most have.
#[test]
fn copies_are_right_and_wait_states_are_missed() {
    let mut missed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = BTreeMap::new();
    let mut copies = 0;
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        let Some(object) = kernels::busy(mode, PRESSURES[0].0, PRESSURES[0].1) else { return };
        for hook in &hooks {
            places::copies(&object, hook, |env, copied| {
                copies += 1;
                for violation in &copied.violations {
                    wrong
                        .entry(format!("{mode:?} {}: {}", hook.name, class(violation)))
                        .or_insert(violation.to_string());
                }
                for (what, chunk) in mutate::without_wait_states(mode, &copied.chunk, 8) {
                    let entry = missed.entry(what).or_default();
                    entry.0 += 1;
                    entry.1 += usize::from(!check::seams(env, ChunkId(0), &chunk).is_empty());
                }
            });
        }
    }
    for (what, example) in &wrong {
        println!("{what}\n  {example}");
    }
    for (what, (made, noticed)) in &missed {
        println!("without {what:<52} {made:>8} {noticed:>8}");
    }
    assert!(wrong.is_empty() && copies > 0, "{} kinds of violations in {copies} copies", wrong.len());
}

fn class(violation: &crate::check::Violation) -> String {
    violation.to_string().chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// What is no splice: entries, ends, and values kept over an instruction.
#[test]
fn every_way_of_breaking_an_entry_an_end_or_a_kept_value_is_noticed() {
    let mut table: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        for (busy, room) in pressures(mode) {
            let Some(object) = kernels::busy(mode, busy, room) else { return };
            let mut tell = |what: String, before: &[luthier_isa::Inst], after: &[luthier_isa::Inst], noticed: bool| {
                let entry = table.entry(what).or_default();
                entry.0 += 1;
                entry.1 += usize::from(noticed);
                if !noticed && entry.2.is_empty() {
                    let list =
                        |code: &[luthier_isa::Inst]| code.iter().map(|i| format!("\n    {i}")).collect::<String>();
                    entry.2 = format!("{mode:?}:{}\n  became{}", list(before), list(after));
                }
            };
            // The first hook counts; of the others no counter is used.
            wrong.extend(ends::entries_and_ends(&object, &hooks[0], &mut tell));
            let middle = busy.middle();
            wrong.extend(ends::kept(&object, &hooks[0], |n| (middle..middle + 10).contains(&n), &mut tell));
        }
    }
    println!("{:<60} {:>8} {:>8}", "mutation", "made", "noticed");
    for (what, (made, noticed, _)) in &table {
        println!("{what:<60} {made:>8} {noticed:>8}");
    }
    let missed: Vec<_> = table.iter().filter(|(_, (made, noticed, _))| made != noticed).collect();
    for (what, (made, noticed, example)) in &missed {
        println!("{} of {what} were not noticed, as on {example}", made - noticed);
    }
    assert!(wrong.is_empty(), "as they are: {}", wrong[0]);
    assert!(missed.is_empty() && table.len() > 20, "{} kinds of mutations get through", missed.len());
}

/// A wait that is taken away and that the checker does not miss is one that strict mode does not miss either.
#[test]
fn waits_that_nobody_misses_are_not_needed_by_the_kernel() {
    /// Waits of one kernel and hook that are taken away.
    const MOST: usize = 6;
    let mut table: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let waits = |mode: &Mode| mode.target().generation() >= Generation::Gfx10;
    for mode in modes().into_iter().filter(waits) {
        let Some(hooks) = hooks::all(mode) else { return };
        let Some(object) = kernels::busy(mode, PRESSURES[0].0, PRESSURES[0].1) else { return };
        for hook in hooks.iter().filter(|h| ["count in memory", "wide", "rounding"].contains(&h.name)) {
            let program = luthier_lifter::Program::lift(&object).unwrap();
            let done = crate::instrument(&object, &places::plan(&program, hook)).unwrap();
            let new = luthier_loader::CodeObject::parse(done.bytes).unwrap();
            let before = waits::findings(mode, &new).unwrap_or_else(|e| panic!("{mode:?} {}: {e}", hook.name));
            places::copies(&object, hook, |env, copied| {
                let all = waits::inserted(mode, &copied.chunk);
                let step = all.len().div_ceil(MOST).max(1);
                for (word, name) in all.into_iter().step_by(step) {
                    let mut chunk = copied.chunk.clone();
                    chunk.words[word as usize] = waits::NOP;
                    let noticed = !check::seams(env, ChunkId(0), &chunk).is_empty();
                    let found = waits::findings(mode, &waits::without(&new, word)).unwrap() > before;
                    let entry = table.entry(format!("{} {name}", mode.target().name())).or_default();
                    entry[0] += 1;
                    entry[1] += usize::from(noticed);
                    entry[2] += usize::from(found);
                    assert!(noticed || !found, "{mode:?} {}: strict mode misses {name} at word {word}", hook.name);
                }
            });
        }
    }
    println!("{:<40} {:>8} {:>8} {:>8}", "taken away", "waits", "noticed", "needed");
    for (what, [made, noticed, needed]) in &table {
        println!("{what:<40} {made:>8} {noticed:>8} {needed:>8}");
    }
}

/// Tests ask of a component what they ask of its environment.
impl<'a> std::ops::Deref for crate::component::Component<'a> {
    type Target = crate::splice::Env<'a>;
    fn deref(&self) -> &Self::Target {
        &self.env
    }
}
