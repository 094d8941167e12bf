//! The checker against real splices on every processor: it finds nothing in them as they are, and something in every way
//! of breaking them.

mod hooks;
mod kernels;
mod places;
#[path = "../../../tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;

use luthier_isa::Mode;

use self::kernels::Busy;

/// Kernels from nothing free to nearly everything free.
const PRESSURES: [(Busy, u32); 3] = [
    (Busy { sgprs: 12, vgprs: 16 }, 24),
    (Busy { sgprs: 90, vgprs: 40 }, 64),
    (Busy { sgprs: 100, vgprs: 64 }, 64),
];

#[test]
fn nothing_is_found_in_splices_as_they_are() {
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let (mut places, mut rejected) = (0, BTreeMap::new());
    for mode in Mode::all().filter(|m| m.target().has_tables()) {
        let Some(hooks) = hooks::all(mode) else { return };
        for (busy, room) in PRESSURES {
            let Some(object) = kernels::busy(mode, busy, room) else { return };
            for hook in &hooks {
                let rejections = places::for_each(&object, hook, |env, spliced| {
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
    assert!(wrong.is_empty() && places > 10_000, "{} kinds of violations, {places} places", wrong.len());
}
