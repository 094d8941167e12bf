//! SGPRs that a part writes and reads again, where the application's vector instructions may have read them before.
//!
//! Some processors hold on to what vector instructions have read: after a write of such an SGPR they want a wait before the
//! next read. LLVM puts one where it has seen all three; the first may have been in front of the part, so that every SGPR
//! counts as read there.

use luthier_isa::hazard::{Facts, Hazards, Scalars};
use luthier_isa::{RegSet, VgprMsb};

use super::{
    code::{Code, successors},
    edit::{self, Change},
};
use crate::machine::{Operations, cures::Cures};

/// Puts the waits in. An error is a sentence about the hook.
pub fn wait(code: &mut Code) -> Result<(), String> {
    let Some(first) = code.insts.first() else { return Ok(()) };
    let mode = first.info().mode;
    let ops = Operations::of(mode).map_err(|e| e.to_string())?;
    let facts: Vec<Facts> = code.insts.iter().map(Facts::of).collect();
    let before = states(code, &facts);
    let cures = Cures { mode, idle: None, msb: VgprMsb::ZERO };
    let mut changes: Vec<Change> = code.insts.iter().map(|i| Change::none(*i)).collect();
    for ((change, state), facts) in changes.iter_mut().zip(before).zip(&facts) {
        let Some(mut state) = state.map(alone) else { continue };
        change.before = cures.waits(&ops, &mut state, facts).map_err(|e| e.to_string())?;
    }
    if changes.iter().all(|change| change.before.is_empty()) { Ok(()) } else { edit::apply(code, changes) }
}

/// What is known of scalars in front of each instruction, on all ways there; what had to be waited for was waited for.
fn states(code: &Code, facts: &[Facts]) -> Vec<Option<Scalars>> {
    let mut states: Vec<Option<Scalars>> = vec![None; facts.len()];
    let mut entry = Scalars::default();
    entry.assume_read(&RegSet::EMPTY);
    states[0] = Some(entry);
    let mut work = vec![0];
    while let Some(index) = work.pop() {
        let Some(before) = states[index].clone() else { continue };
        let mut state = alone(before);
        state.check(&facts[index], 0, |_| {});
        let after = state.scalars();
        for next in successors(&code.insts, &code.offsets, index).into_iter().flatten() {
            let more = match states.get_mut(next) {
                Some(Some(known)) => known.join(&after),
                Some(unknown) => {
                    *unknown = Some(after.clone());
                    true
                }
                None => false,
            };
            if more {
                work.push(next);
            }
        }
    }
    states
}

/// A wave about which nothing else is known.
fn alone(scalars: Scalars) -> Hazards {
    let mut wave = Hazards::brief();
    wave.set_scalars(scalars);
    wave
}
