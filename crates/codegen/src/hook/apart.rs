//! Instructions of a part that come too early after others on a way that branches.
//!
//! LLVM keeps them apart, but counts on its way back through a block the branch at its end also where the conditional
//! branch in front of it is taken: a loop's first instructions are one wait state too early then.

use luthier_isa::Flags;
use luthier_isa::hazard::{Facts, Hazards, Remedy};

use super::{
    code::Code,
    edit::{self, Change},
};
use crate::machine::{Operations, cures::WINDOW};
use crate::template::paths::Before;

/// No hazard but those of matrix instructions lasts for more wait states.
const SHORT: usize = 6;

/// Wait states of the longest `s_nop`.
const MOST_OF_ONE: u32 = 16;

/// Puts in the wait states that are missing. An error is a sentence about the hook.
pub fn keep(code: &mut Code) -> Result<(), String> {
    let branches = |flags: Flags| flags.intersects(Flags::BRANCH | Flags::COND_BRANCH);
    if !code.insts.iter().any(|inst| branches(inst.info().flags)) {
        return Ok(());
    }
    let ops = Operations::of(code.insts[0].info().mode).map_err(|e| e.to_string())?;
    let facts: Vec<Facts> = code.insts.iter().map(Facts::of).collect();
    let before = Before::of(&code.insts);
    let matrix = code.insts.iter().any(|inst| inst.info().flags.contains(Flags::MFMA));
    let length = if matrix { WINDOW } else { SHORT };
    let mut changes: Vec<Change> = code.insts.iter().map(|i| Change::none(*i)).collect();
    for (at, change) in changes.iter_mut().enumerate().filter(|(at, _)| !facts[*at].is_indifferent()) {
        let ways = before.ways(at, length).ok_or("the hook branches too often for what its instructions wait for")?;
        let mut states = ways.iter().filter_map(|way| missing(&facts, way, at)).max().unwrap_or(0);
        while states > 0 {
            let some = states.min(MOST_OF_ONE);
            change.before.push(ops.nop(some).map_err(|e| e.to_string())?);
            states -= some;
        }
    }
    if changes.iter().all(|change| change.before.is_empty()) { Ok(()) } else { edit::apply(code, changes) }
}

/// Wait states that are missing before an instruction, behind these.
fn missing(facts: &[Facts], way: &[usize], at: usize) -> Option<u32> {
    let mut wave = Hazards::brief();
    way.iter().for_each(|n| wave.check(&facts[*n], 0, |_| {}));
    match wave.needed(&facts[at])?.remedy {
        Remedy::States(states) => Some(states),
        Remedy::Vectors(..) | Remedy::Cure(_) => None,
    }
}
