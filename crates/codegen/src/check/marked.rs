//! Scalars that vector instructions have read stay marked on some processors (RDNA4; RDNA3's masks in waves of 64), so
//! that a later write of one has to be waited for: inserted code leaves none of the application's marked that the
//! application's own instructions leave unmarked.

use std::collections::BTreeMap;
use std::ops::Range;

use luthier_isa::hazard::{Hazards, Scalars};
use luthier_isa::{Flags, Reg, RegRange, RegSet};
use luthier_lifter::FunctionKind;

use super::Wrong;
use super::placed::Placed;
use crate::splice::Env;

/// Scalars that no vector instruction has read before any of this code runs: of a kernel that calls nothing, those that
/// none of it reads.
pub fn unread(env: &Env, code: &[Placed]) -> RegSet {
    let func = code.iter().find_map(|p| p.origin).and_then(|v| env.program.instr_at(v)).map(|i| env.program.func_of(i));
    let starts =
        func.is_some_and(|f| env.program.function(f).kind == FunctionKind::Kernel && env.program.callers(f).is_empty());
    let leaves = Flags::CALL | Flags::INDIRECT;
    if !starts || code.iter().any(|p| p.origin.is_some() && p.inst.info().flags.intersects(leaves)) {
        return env.carried.unread;
    }
    let mut unread: RegSet = (0..128).filter_map(Reg::from_index).collect();
    // What inserted vector instructions have read of the application's is forgotten behind each place: see `marked`.
    for placed in code {
        let lasting = |reg: &Reg| placed.origin.is_some() || is_ours(env, pair(*reg));
        placed.facts.marked().iter().filter(lasting).for_each(|reg| unread.remove(reg));
    }
    // Counters are read when the wave ends.
    unread.union_with(&env.carried.unread);
    unread
}

/// A scalar and its neighbour, which are marked together.
fn pair(reg: Reg) -> RegRange {
    RegRange::new(Reg::from_index(reg.index() & !1).unwrap_or(reg), 2)
}

/// No instruction of the application touches either.
fn is_ours(env: &Env, pair: RegRange) -> bool {
    pair.units().all(|reg| env.registers.never_used.contains(reg))
}

/// Where the application is reached while inserted vector instructions have left scalars of its marked: its writes of
/// them would have to be waited for where nothing waits.
pub fn marked(env: &Env, unread: &RegSet, code: &[Placed]) -> Vec<(usize, Wrong)> {
    let mut found = Vec::new();
    let mut start = 0;
    for run in code.chunk_by(|a, b| a.origin.is_none() && b.origin.is_none()) {
        if run[0].origin.is_none() {
            inserted(env, unread, code, start..start + run.len(), &mut found);
        }
        start += run.len();
    }
    found
}

/// One run of inserted instructions, along its own branches as well.
fn inserted(env: &Env, unread: &RegSet, code: &[Placed], run: Range<usize>, found: &mut Vec<(usize, Wrong)>) {
    // The application's: nothing else of it leaves them marked.
    let lasts = |reg: &Reg| unread.contains(*reg) && !is_ours(env, pair(*reg));
    let mut arriving: BTreeMap<usize, Scalars> = BTreeMap::new();
    loop {
        let (mut left, mut again) = (Vec::new(), false);
        let mut wave = Hazards::brief();
        let open = |wave: &Hazards| wave.scalars().marked().iter().filter(lasts).collect::<RegSet>();
        for at in run.clone() {
            let inst = &code[at].inst;
            if let Some(more) = arriving.get(&at) {
                let mut scalars = wave.scalars();
                scalars.join(more);
                wave.set_scalars(scalars);
            }
            wave.check(&code[at].facts, 0, |_| {});
            if inst.info().flags.contains(Flags::BRANCH) && !code[at].returns {
                match code[at].to.filter(|to| run.contains(to)) {
                    Some(to) => {
                        let more = arriving.entry(to).or_default().join(&wave.scalars());
                        again |= to <= at && more;
                    }
                    None => left.push((at, open(&wave))),
                }
            }
            if code[at].ends() {
                wave.set_scalars(Scalars::default());
            }
        }
        left.push((run.end, open(&wave)));
        if !again {
            found.extend(left.iter().filter_map(|(at, open)| wrong(code, *at, open)));
            return;
        }
    }
}

/// Behind a wave's end nothing is read or written.
fn wrong(code: &[Placed], at: usize, open: &RegSet) -> Option<(usize, Wrong)> {
    let (reg, next) = (open.iter().next()?, code.get(at)?);
    let end = next.inst.info().flags.contains(Flags::END);
    (!end).then(|| (at, Wrong::Marked { inst: Box::new(next.inst), reg }))
}
