//! The checker against real splices on every processor: it finds nothing in them as they are, and something in every way
//! of breaking them.

mod hooks;
mod kernels;
mod mutate;
mod places;
#[path = "../../../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use luthier_isa::Mode;

use self::kernels::Busy;
use crate::check;
use crate::layout::chunk::ChunkId;

/// Kernels from nothing free to nearly everything free.
const PRESSURES: [(Busy, u32); 3] =
    [(Busy { sgprs: 12, vgprs: 16 }, 24), (Busy { sgprs: 90, vgprs: 40 }, 64), (Busy { sgprs: 100, vgprs: 64 }, 64)];

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
        for (busy, room) in PRESSURES {
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

/// Breaks real splices in every way. Those that nobody would notice are not made: see `mutate`.
#[test]
fn every_way_of_breaking_a_splice_is_noticed() {
    /// Places of one kernel and hook that are broken.
    const MOST: usize = 4;
    let mut table: BTreeMap<String, (usize, usize, String)> = BTreeMap::new();
    for mode in modes() {
        let Some(hooks) = hooks::all(mode) else { return };
        for (busy, room) in PRESSURES {
            let Some(object) = kernels::busy(mode, busy, room) else { return };
            for hook in &hooks {
                // Around the middle of the kernel, where all is live and loads are in flight.
                let wanted = |n: usize| (0..MOST).any(|k| n == busy.middle() + 3 * k);
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
