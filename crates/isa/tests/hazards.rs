//! Hazards with what was done in code that was not looked at.

use std::collections::HashSet;

use luthier_isa::hazard::{ELSEWHERE, Facts, Hazards, Missing, Remedy, Scalars};
use luthier_isa::{Inst, Mode, RegSet};

/// Instructions that have anything to do with hazards, one for each way of having it: most of them on the first registers.
fn all(mode: Mode) -> Vec<(Inst, Facts)> {
    let insts = mode.opcodes().iter().map(Inst::new).map(|inst| (inst, Facts::of(&inst)));
    let mut seen = HashSet::new();
    insts.filter(|(_, facts)| !facts.is_indifferent() && seen.insert(format!("{facts:?}"))).collect()
}

fn missing(wave: &Hazards, facts: &Facts) -> Vec<Missing> {
    let mut found = Vec::new();
    wave.clone().check(facts, 1, |missing| found.push(missing));
    found
}

/// How much it is, to be compared with others of its rule.
fn amount(missing: &Missing) -> u32 {
    match missing.remedy {
        Remedy::States(n) | Remedy::Vectors(n, _) => n,
        Remedy::Cure(_) => 1,
    }
}

/// Whatever one instruction needs behind another one, it needs behind anything: as much of it at least.
#[test]
fn behind_anything_is_behind_every_instruction() {
    let mut pairs = 0;
    for mode in Mode::all().filter(|mode| mode.target().has_tables()) {
        let all = all(mode);
        let mut anything = Hazards::brief();
        anything.assume_anything(mode);
        anything.assume_read(&RegSet::EMPTY);
        anything.assume_written(mode, &RegSet::EMPTY);
        let most: Vec<Vec<Missing>> = all.iter().map(|(_, facts)| missing(&anything, facts)).collect();
        assert!(most.iter().flatten().all(|m| m.first == ELSEWHERE), "{mode:?}");
        for (first, facts) in &all {
            let mut wave = Hazards::brief();
            wave.check(facts, 0, |_| {});
            for ((second, facts), most) in all.iter().zip(&most) {
                for found in missing(&wave, facts) {
                    pairs += 1;
                    let enough = most.iter().any(|m| amount(m) >= amount(&found));
                    assert!(enough, "{mode:?}: {second} behind {first}: {found:?}, behind anything {most:?}");
                }
            }
        }
    }
    assert!(pairs > 1000, "{pairs} pairs with a hazard");
}

/// It passes as the hazards themselves do.
#[test]
fn what_was_done_elsewhere_passes_with_time_or_with_what_ends_it() {
    for mode in Mode::all().filter(|mode| mode.target().has_tables()) {
        let all = all(mode);
        let mut wave = Hazards::brief();
        wave.assume_anything(mode);
        (0..24).for_each(|_| wave.check(&Facts::none(), 0, |_| {}));
        for (inst, facts) in &all {
            let states = missing(&wave, facts).into_iter().find(|m| matches!(m.remedy, Remedy::States(_)));
            assert!(states.is_none(), "{mode:?}: {inst}: {states:?} behind 24 wait states");
        }
        wave.restart();
        for (inst, facts) in &all {
            assert!(missing(&wave, facts).is_empty(), "{mode:?}: {inst} where a wave begins");
        }
    }
}

/// Scalars that may have been written elsewhere are told as that, unless it is known who wrote one of them.
#[test]
fn of_scalars_written_elsewhere_and_here_the_writer_that_is_known_is_told() {
    for mode in Mode::all().filter(|mode| mode.target().has_tables() && Scalars::matter(*mode)) {
        let mut wave = Hazards::brief();
        wave.assume_read(&RegSet::EMPTY);
        wave.assume_written(mode, &RegSet::EMPTY);
        let mut told = Vec::new();
        for inst in mode.opcodes().iter().map(Inst::new) {
            wave.clone().check(&Facts::of(&inst), 1, |missing| told.push(missing));
        }
        assert!(!told.is_empty() && told.iter().all(|m| m.first == ELSEWHERE), "{mode:?}: {}", told.len());
    }
}

/// Two instructions behind each other, each with anything in front or with nothing: a state that was stepped asks for what a
/// state asks for that was checked, and where it is clear nothing is missing.
#[test]
fn what_is_stepped_is_what_is_checked_and_what_is_clear_misses_nothing() {
    let (mut clear, mut others) = (0, 0);
    for mode in Mode::all().filter(|mode| mode.target().has_tables()) {
        let all = all(mode);
        for begins in [false, true] {
            // Of the first instructions a third: their kinds lie side by side.
            for (first, facts) in all.iter().step_by(3) {
                let mut checked = Hazards::brief();
                if !begins {
                    checked.assume_anything(mode);
                    (0..21).for_each(|_| checked.step(&Facts::none()));
                }
                let mut stepped = checked.clone();
                checked.check(facts, 0, |_| {});
                stepped.step(facts);
                for (second, facts) in &all {
                    let wanted = missing(&checked, facts);
                    assert_eq!(missing(&stepped, facts), wanted, "{mode:?}: {second} behind {first}");
                    if stepped.is_clear([facts].into_iter()) {
                        clear += 1;
                        assert!(wanted.is_empty(), "{mode:?}: {second} behind {first}: {wanted:?}");
                    } else {
                        others += 1;
                    }
                }
            }
        }
    }
    assert!(clear > 10_000 && others > 1_000, "{clear} clear, {others} not");
}
