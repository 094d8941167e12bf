//! RDNA3 with waves of 64 lanes: operands that come past the register file from before and from behind a change of EXEC.
//!
//! A VALU instruction writes one register, a scalar instruction changes EXEC, a VALU instruction writes another
//! register, and soon an instruction reads both: the halves of the wave may get results of different age. There is no
//! hazard with more than two VALU instructions around the change of EXEC, or with more than four behind the second
//! write, or once results have been waited for.

use std::collections::VecDeque;

use crate::{Flags, Generation, Mode, Operand, RegRange, Wave};

use super::view::View;
use super::{Cure, Missing, Remedy};

const AROUND_EXEC: u32 = 2;
const BEHIND: u32 = 4;
/// VALU instructions that can matter.
const KEPT: usize = 9;
/// VALU instructions between the first write and what reads both results.
const BETWEEN: u32 = AROUND_EXEC + 1 + BEHIND;

fn matters(mode: Mode) -> bool {
    mode.target().generation() == Generation::Gfx11 && mode.wave() == Wave::W64
}

#[derive(Clone, Debug, Default)]
pub struct ForwardingFacts {
    vector: bool,
    /// Distinct vector registers that it reads and writes.
    sources: Vec<RegRange>,
    results: Vec<RegRange>,
    pub changes_exec: bool,
    /// Results are waited for.
    drains: bool,
}

impl ForwardingFacts {
    pub fn of(view: &View) -> Option<ForwardingFacts> {
        if !matters(view.inst.info().mode) {
            return None;
        }
        let mut facts = ForwardingFacts {
            vector: view.is_vector(),
            changes_exec: view.is(Flags::SALU) && view.writes_exec(),
            drains: view.all_marks().contains(super::Marks::RESULTS_OUT),
            ..Default::default()
        };
        if facts.vector {
            for (operand, value) in view.inst.operands() {
                let Operand::Reg(range) = value else { continue };
                if !range.first.is_vgpr() {
                    continue;
                }
                if operand.access.writes() {
                    facts.results.push(range);
                }
                if operand.access.reads() && !facts.sources.contains(&range) {
                    facts.sources.push(range);
                }
            }
        }
        (facts.vector || facts.changes_exec || facts.drains).then_some(facts)
    }
}

/// A VALU instruction of late.
#[derive(Clone)]
struct Vector {
    results: Vec<RegRange>,
    pc: u64,
    /// Where EXEC was changed behind it, before the next one; of several places the lowest.
    exec_changed: Option<u64>,
}

#[derive(Clone, Default)]
pub struct Forwarding {
    /// The latest first.
    recent: VecDeque<Vector>,
    /// There is none before them, or what there was is waited for.
    drained: bool,
    /// Anything may have run more than this many VALU instructions ago.
    elsewhere: Option<u32>,
}

fn overlap(a: RegRange, b: RegRange) -> bool {
    let (a0, b0) = (a.first.index(), b.first.index());
    a0 < b0 + usize::from(b.count) && b0 < a0 + usize::from(a.count)
}

impl Forwarding {
    /// As for a wave that begins.
    pub fn restart(&mut self) {
        *self = Forwarding::default();
    }

    /// Takes it that anything may have been issued by now.
    pub fn assume_anything(&mut self, mode: Mode) {
        self.elsewhere = matters(mode).then_some(0);
        self.drained = false;
    }

    /// A change of EXEC that comes soon would have results of late in front of it.
    pub fn holds_results(&self) -> bool {
        let near = AROUND_EXEC as usize + 1;
        self.recent.iter().take(near).any(|v| !v.results.is_empty()) || self.elsewhere.is_some_and(|n| n <= AROUND_EXEC)
    }

    /// EXEC has changed between VALU instructions that a later one may still read the results of.
    pub fn is_open(&self) -> bool {
        self.recent.iter().any(|v| v.exec_changed.is_some())
    }

    pub fn check(&mut self, facts: &ForwardingFacts, pc: u64) -> Option<Missing> {
        if facts.drains {
            *self = Forwarding { drained: true, ..Forwarding::default() };
            return None;
        }
        if facts.changes_exec {
            match self.recent.front_mut() {
                Some(last) => last.exec_changed = Some(last.exec_changed.map_or(pc, |before| before.min(pc))),
                // Behind one that was not looked at.
                None if !self.drained => {
                    self.recent.push_front(Vector { results: Vec::new(), pc, exec_changed: Some(pc) });
                }
                None => {}
            }
            return None;
        }
        let missing = (facts.sources.len() > 1 && self.is_open())
            .then(|| self.missing(facts))
            .flatten()
            .or_else(|| self.unseen(facts));
        self.elsewhere = self.elsewhere.map(|vectors| vectors + 1).filter(|vectors| *vectors <= BETWEEN);
        self.recent.truncate(KEPT - 1);
        self.recent.push_front(Vector { results: facts.results.clone(), pc, exec_changed: None });
        missing
    }

    /// A source may have been written by an instruction that was not looked at.
    fn unseen(&self, facts: &ForwardingFacts) -> Option<Missing> {
        self.elsewhere?;
        let written = |source: &RegRange| self.recent.iter().any(|v| v.results.iter().any(|&r| overlap(r, *source)));
        let source = facts.sources.iter().find(|source| !written(source)).filter(|_| facts.sources.len() > 1)?;
        Some(Missing {
            rule: "partial-forwarding",
            what: format!(
                "{} may have been written before a change of EXEC, and another source behind it",
                source.first
            ),
            remedy: Remedy::Cure(Cure::VaVdst),
            first: super::ELSEWHERE,
        })
    }

    fn missing(&self, facts: &ForwardingFacts) -> Option<Missing> {
        // How many VALU instructions lie between the last write of each source and this.
        let written = |source: &RegRange| {
            let at = self.recent.iter().position(|v| v.results.iter().any(|&r| overlap(r, *source)))?;
            Some((at as u32, *source))
        };
        let mut defs: Vec<_> = facts.sources.iter().filter_map(written).collect();
        defs.sort_by_key(|&(at, _)| at);
        let &(behind, second) = defs.first()?;
        if behind > BEHIND {
            return None;
        }
        // The last change of EXEC before that write: behind the VALU instruction at this place.
        let exec = (behind as usize + 1..self.recent.len()).find(|&k| self.recent[k].exec_changed.is_some())? as u32;
        // Another change of EXEC, between the first one and these writes, does not count.
        let after = defs.iter().filter(|&&(at, _)| at < exec).map(|&(at, _)| at).min()?;
        let &(before, first) = defs.iter().find(|&&(at, _)| at >= exec)?;
        let around = (exec - after - 1) + (before - exec);
        (around <= AROUND_EXEC).then_some(())?;
        Some(Missing {
            rule: "partial-forwarding",
            what: format!(
                "{} was written before a change of EXEC, {} behind it, both within a few instructions",
                first.first, second.first
            ),
            remedy: Remedy::Cure(Cure::VaVdst),
            // Any of the three may be the one too many.
            first: [before, behind]
                .map(|at| self.recent[at as usize].pc)
                .into_iter()
                .chain(self.recent[exec as usize].exec_changed)
                .min()?,
        })
    }
}
