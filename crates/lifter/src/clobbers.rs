//! What calls of functions with known bodies may write, while functions are still being found.

use std::collections::{BTreeMap, BTreeSet};

use luthier_isa::RegSet;

use crate::class::{Classes, Kind, Role};
use crate::flow::Draft;
use crate::lift::{call_target, leaves_for};

/// What a function and whatever it calls may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Written {
    pub regs: RegSet,
    /// Scratch memory, its caller's included.
    pub scratch: bool,
}

/// For every function: the units that it and whatever it calls may write. Left out where that is not known.
pub(crate) fn written_by_calls(drafts: &[Draft], classes: &Classes) -> BTreeMap<u64, Written> {
    let mut called: BTreeSet<u64> = BTreeSet::new();
    let by_entry: BTreeMap<u64, usize> = drafts.iter().enumerate().map(|(i, d)| (d.entry, i)).collect();
    let mut work: Vec<u64> = drafts.iter().flat_map(|d| leaves_for(d).0).collect();
    while let Some(vaddr) = work.pop() {
        if let Some(&i) = by_entry.get(&vaddr)
            && called.insert(vaddr)
        {
            let (calls, exits) = leaves_for(&drafts[i]);
            work.extend(calls.into_iter().chain(exits));
        }
    }
    // Own writes and callees; `None` where something unknown may run.
    let mut known: BTreeMap<u64, (Written, Vec<u64>)> = BTreeMap::new();
    for vaddr in &called {
        let draft = &drafts[by_entry[vaddr]];
        let open = draft.flow.terminators.iter().enumerate().any(|(b, t)| match t {
            crate::Terminator::Call => call_target(draft, draft.flow.starts[b + 1] as usize - 1).is_none(),
            crate::Terminator::UnknownJump | crate::Terminator::Unsupported => true,
            _ => false,
        });
        let relative = |r: &Role| matches!(r.kind, Kind::ScalarRelative | Kind::VectorRelative | Kind::GprIdxOn);
        if open || draft.roles().iter().any(relative) {
            continue;
        }
        let mut written = Written::default();
        for inst in draft.insts() {
            classes.for_each_access(inst, |a| {
                if a.access.writes() {
                    written.regs.insert(a.reg);
                }
            });
            written.scratch |= crate::scratch::may_write(inst);
        }
        let (calls, exits) = leaves_for(draft);
        known.insert(*vaddr, (written, calls.into_iter().chain(exits).collect()));
    }
    // Take out whatever depends on something unknown, then add up until nothing changes.
    let mut callers: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (&vaddr, (_, callees)) in &known {
        callees.iter().for_each(|c| callers.entry(*c).or_default().push(vaddr));
    }
    let mut lost: Vec<u64> = callers.keys().copied().filter(|c| !known.contains_key(c)).collect();
    while let Some(vaddr) = lost.pop() {
        known.remove(&vaddr);
        lost.extend(callers.get(&vaddr).into_iter().flatten().filter(|c| known.contains_key(c)));
    }
    let mut written: BTreeMap<u64, Written> = known.iter().map(|(v, (w, _))| (*v, *w)).collect();
    let mut work: BTreeSet<u64> = written.keys().copied().collect();
    while let Some(vaddr) = work.pop_first() {
        let from = written[&vaddr];
        for caller in callers.get(&vaddr).into_iter().flatten() {
            if let Some(to) = written.get_mut(caller) {
                let before = *to;
                to.regs.union_with(&from.regs);
                to.scratch |= from.scratch;
                if *to != before {
                    work.insert(*caller);
                }
            }
        }
    }
    written
}
