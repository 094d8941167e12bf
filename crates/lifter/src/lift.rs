//! From a code object to a [`Program`]: symbols to functions, rounds of decoding and tracking until no new code is
//! reached, then one table of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use luthier_isa::{Mode, Wave};
use luthier_loader::{CodeObject, Generation};
use rayon::prelude::*;

use crate::class::{Classes, Kind};
use crate::clobbers::Written;
use crate::decode::{is_padding, traverse};
use crate::error::target_of;
use crate::flow::Draft;
use crate::place::Places;
use crate::track::{Context, track};
use crate::{IssueKind, LiftError, Program};

/// Rounds of value tracking with jumps found in between. Compiled code needs two; code that needs more is a puzzle.
const MAX_ROUNDS: usize = 8;

/// The executable bytes of the object.
pub(crate) struct Code<'a> {
    pub mode: Mode,
    pub classes: &'static Classes,
    /// Ascending, not overlapping.
    pub ranges: Vec<(Range<u64>, &'a [u8])>,
    /// See [`Program`]'s field of this name.
    pub allocated_vgprs: u16,
}

impl<'a> Code<'a> {
    fn of(object: &'a CodeObject) -> Result<Code<'a>, LiftError> {
        let target = target_of(&object.target().processor)?;
        // From RDNA1 on each kernel says how many lanes its waves have.
        let wave32 = object.kernels().first().map(|k| k.descriptor.enable_wavefront_size32());
        let wave = wave32.map_or(target.default_wave(), |w| if w { Wave::W32 } else { Wave::W64 });
        let mode = Mode::new(target, wave).unwrap_or(target.into()).with_sramecc(object.target().sramecc);
        let mut ranges: Vec<(Range<u64>, &[u8])> = Vec::new();
        for range in object.code_ranges() {
            // Sections may overlap in a hostile file; each byte counts once.
            let start = ranges.last().map_or(range.start, |r| r.0.end.max(range.start));
            if start >= range.end {
                continue;
            }
            let size = range.end - start;
            let bytes = object.read(start, size).ok_or(LiftError::NoBytes { vaddr: start, size })?;
            ranges.push((start..range.end, bytes));
        }
        if let (Some(first), Some(last)) = (ranges.first(), ranges.last()) {
            let (start, end) = (first.0.start, last.0.end);
            if end - start > u64::from(u32::MAX) {
                return Err(LiftError::TooLarge { start, end });
            }
        }
        let generation = Generation::of(&object.target().processor);
        let all = u32::from(target.vgprs());
        let vgprs = |g| object.kernels().iter().map(move |k| k.descriptor.vgpr_count(g).min(all) as u16).max();
        let allocated_vgprs = generation.and_then(vgprs).unwrap_or(target.vgprs());
        Ok(Code { mode, classes: Classes::of_mode(mode), ranges, allocated_vgprs })
    }
    pub fn base(&self) -> u64 {
        self.ranges.first().map_or(0, |r| r.0.start)
    }
    /// The executable range around an address.
    pub fn around(&self, vaddr: u64) -> Option<&(Range<u64>, &'a [u8])> {
        let upto = self.ranges.partition_point(|r| r.0.start <= vaddr);
        self.ranges[..upto].last().filter(|r| r.0.contains(&vaddr))
    }
    pub fn bytes(&self, range: &Range<u64>) -> Option<&'a [u8]> {
        let (outer, bytes) = self.around(range.start)?;
        bytes.get((range.start - outer.start) as usize..(range.end - outer.start) as usize)
    }
}

pub(crate) fn lift(object: &CodeObject) -> Result<Program, LiftError> {
    let code = Code::of(object)?;
    let origins = crate::origin::map_of(object)?;
    let places = Places::new(object);
    let mut issues = Vec::new();
    let mut drafts = crate::seeds::drafts(object, &code, &mut issues);
    let mut dirty: Vec<bool> = vec![true; drafts.len()];
    let mut clobbers: BTreeMap<u64, Written> = BTreeMap::new();
    for round in 0.. {
        let lookup = |vaddr: u64| clobbers.get(&vaddr).copied();
        let context = Context { classes: code.classes, places: &places, clobbers: &lookup };
        drafts.par_iter_mut().zip(&dirty).filter(|(_, dirty)| **dirty).for_each(|(draft, _)| settle(draft, &context));
        dirty.iter_mut().for_each(|d| *d = false);
        let new = discover(&mut drafts, &mut dirty, &code);
        let renamed = crate::upper::follow(&mut drafts, code.classes);
        let renamed = (0..).zip(renamed).filter(|(_, renamed)| *renamed).map(|(i, _)| i);
        let renamed: Vec<usize> = renamed.filter(|i| drafts[*i].needs_tracking).collect();
        if round < MAX_ROUNDS {
            renamed.into_iter().for_each(|i| dirty[i] = true);
        } else if !renamed.is_empty() {
            renamed.into_iter().for_each(|i| give_up(&mut drafts[i]));
            crate::upper::follow(&mut drafts, code.classes);
        }
        let known = crate::clobbers::written_by_calls(&drafts, code.classes);
        if known != clobbers && round < 3 {
            for (draft, dirty) in drafts.iter().zip(&mut dirty) {
                *dirty |= draft.needs_tracking
                    && draft.roles().iter().any(|r| matches!(r.kind, Kind::Swappc | Kind::CallDirect));
            }
            clobbers = known;
        }
        if !new && !dirty.contains(&true) {
            break;
        }
    }
    crate::upper::report(&mut drafts, code.classes);
    drafts.sort_by_key(|d| d.entry);
    let gaps = crate::gaps::gaps(&drafts, &code, &mut issues);
    Ok(Program { origins, ..crate::assemble::assemble(drafts, &code, &places, gaps, issues) })
}

/// Blocks and tracked values of one function, until they agree.
fn settle(draft: &mut Draft, context: &Context<'_>) {
    // Places where others come in have been found since the blocks were built.
    if draft.flow_is_old {
        draft.build_flow();
    }
    if !draft.needs_tracking {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        if !track(draft, context) {
            return;
        }
        draft.build_flow();
    }
    give_up(draft);
}

/// Not settled: jumps found in the last round may rest on edges, or names of registers, that are gone.
fn give_up(draft: &mut Draft) {
    draft.targets.clear();
    draft.returns.clear();
    draft.build_flow();
    draft.refusal.get_or_insert_with(|| "its computed jumps do not settle".to_owned());
}

/// Addresses that a function sends control to, outside of itself: calls first.
pub(crate) fn leaves_for(draft: &Draft) -> (Vec<u64>, Vec<u64>) {
    let mut calls = Vec::new();
    for (block, terminator) in draft.flow.terminators.iter().enumerate() {
        if *terminator == crate::Terminator::Call {
            calls.extend(call_target(draft, draft.flow.starts[block + 1] as usize - 1));
        }
    }
    (calls, draft.flow.exits.iter().map(|e| e.target).collect())
}

/// Where the call at an instruction goes, if known.
pub(crate) fn call_target(draft: &Draft, instr: usize) -> Option<u64> {
    match draft.roles()[instr].kind {
        Kind::CallDirect => draft.insts()[instr].branch_target(draft.vaddr(instr)),
        _ => draft.targets.get(&(instr as u32)).copied(),
    }
}

/// Follows control out of the functions: marks entries inside of others, and lifts code that no symbol covers.
fn discover(drafts: &mut Vec<Draft>, dirty: &mut Vec<bool>, code: &Code<'_>) -> bool {
    let mut calls = BTreeSet::new();
    let mut exits = BTreeSet::new();
    for draft in drafts.iter() {
        calls.extend(leaves_for(draft).0);
        // Running off the end of a function into filler is running off the end, not into a function.
        let leaving = draft.flow.exits.iter().filter(|e| !e.falls || !starts_with_padding(code, e.target));
        exits.extend(leaving.map(|e| e.target));
    }
    let mut entries: BTreeMap<u64, usize> = drafts.iter().enumerate().map(|(i, d)| (d.entry, i)).collect();
    // Addresses that are called are functions, before anything else is.
    let mut new = false;
    for vaddr in calls.iter().chain(exits.difference(&calls)).copied() {
        if let Some(&i) = entries.get(&vaddr) {
            if drafts[i].is_kernel && !drafts[i].also_called {
                drafts[i].also_called = true;
                dirty[i] = true;
                new = true;
            }
            continue;
        }
        // Functions do not overlap, except that unnamed ones may reach below their entry.
        let below = entries.range(..vaddr).next_back().map(|e| *e.1);
        let unnamed = entries.range(vaddr..).next().map(|e| *e.1);
        if let Some(i) = below.into_iter().chain(unnamed).find(|&i| drafts[i].contains(vaddr)) {
            let draft = &mut drafts[i];
            if draft.instr_at(vaddr).is_some() && draft.entered.insert(vaddr) {
                draft.issue(vaddr, IssueKind::EnteredInside { target: vaddr });
                draft.flow_is_old = true;
                dirty[i] = true;
                new = true;
            }
            continue;
        }
        let Some((range, _)) = code.around(vaddr) else { continue };
        if vaddr % 4 != 0 {
            continue;
        }
        // Between its neighbours.
        let start = below.map_or(range.start, |i| drafts[i].extent().end.max(drafts[i].entry + drafts[i].size));
        let start = start.clamp(range.start, vaddr);
        let end = unnamed.map_or(range.end, |i| drafts[i].extent().start.min(drafts[i].entry));
        let end = end.clamp(vaddr, range.end);
        let bytes = code.bytes(&(start..end)).unwrap_or_default();
        let mut draft = Draft { name: format!("sub_{vaddr:x}"), entry: vaddr, base: code.base(), ..Draft::default() };
        let stops = |at: u64| at != vaddr && calls.contains(&at);
        draft.fill(traverse(code.classes, code.base(), bytes, start..end, [vaddr], stops));
        draft.size = draft.extent().end.saturating_sub(vaddr);
        entries.insert(vaddr, drafts.len());
        drafts.push(draft);
        dirty.push(true);
        new = true;
    }
    new
}

pub(crate) fn starts_with_padding(code: &Code<'_>, vaddr: u64) -> bool {
    word_at(code, vaddr).is_none_or(is_padding)
}

fn word_at(code: &Code<'_>, vaddr: u64) -> Option<u32> {
    let (range, bytes) = code.around(vaddr)?;
    let at = (vaddr - range.start) as usize;
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
}
