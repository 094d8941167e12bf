//! From a code object to a [`Program`]: symbols to functions, rounds of decoding and tracking until no new code is
//! reached, then one table of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use luthier_isa::{RegSet, Target};
use luthier_loader::{CodeObject, Generation};
use rayon::prelude::*;

use crate::class::{Classes, Kind};
use crate::decode::{Decoded, is_padding, sweep, traverse};
use crate::error::target_of;
use crate::flow::Draft;
use crate::place::Places;
use crate::track::{Context, track};
use crate::{Gap, GapKind, Issue, IssueKind, LiftError, Program};

/// Rounds of value tracking with jumps found in between. Compiled code needs two; code that needs more is a puzzle.
const MAX_ROUNDS: usize = 8;

/// Bytes from a kernel's entry to where it starts with its arguments preloaded.
const PRELOADED_ENTRY: u64 = 256;

/// The executable bytes of the object.
pub(crate) struct Code<'a> {
    pub target: Target,
    pub classes: &'static Classes,
    /// Ascending, not overlapping.
    pub ranges: Vec<(Range<u64>, &'a [u8])>,
    /// See [`Program`]'s field of this name.
    pub allocated_vgprs: u16,
}

impl<'a> Code<'a> {
    fn of(object: &'a CodeObject) -> Result<Code<'a>, LiftError> {
        let target = target_of(&object.target().processor)?;
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
        let vgprs = |g| object.kernels().iter().map(move |k| k.descriptor.vgpr_count(g).min(256) as u16).max();
        let allocated_vgprs = generation.and_then(vgprs).unwrap_or(256);
        Ok(Code { target, classes: Classes::of_target(target), ranges, allocated_vgprs })
    }
    pub fn base(&self) -> u64 {
        self.ranges.first().map_or(0, |r| r.0.start)
    }
    /// The executable range around an address.
    fn around(&self, vaddr: u64) -> Option<&(Range<u64>, &'a [u8])> {
        let upto = self.ranges.partition_point(|r| r.0.start <= vaddr);
        self.ranges[..upto].last().filter(|r| r.0.contains(&vaddr))
    }
    fn bytes(&self, range: &Range<u64>) -> Option<&'a [u8]> {
        let (outer, bytes) = self.around(range.start)?;
        bytes.get((range.start - outer.start) as usize..(range.end - outer.start) as usize)
    }
}

/// What is known of a function before its code is looked at.
struct Seed {
    name: String,
    vaddr: u64,
    /// `None`: the symbol does not say.
    size: Option<u64>,
    is_kernel: bool,
    second_entry: Option<u64>,
    issues: Vec<Issue>,
    refusal: Option<String>,
}

pub(crate) fn lift(object: &CodeObject) -> Result<Program, LiftError> {
    let code = Code::of(object)?;
    let places = Places::new(object);
    let mut issues = Vec::new();
    let seeds = seeds(object, &code, &mut issues);
    let ends = function_ends(&seeds, &code);
    let mut drafts: Vec<Draft> =
        seeds.into_par_iter().zip(ends).map(|(seed, end)| decode_seed(seed, end, &code)).collect();
    drafts.retain(|d| !d.insts.is_empty() || !d.issues.is_empty());
    let mut dirty: Vec<bool> = vec![true; drafts.len()];
    let mut clobbers: BTreeMap<u64, RegSet> = BTreeMap::new();
    for round in 0.. {
        let lookup = |vaddr: u64| clobbers.get(&vaddr).copied();
        let context = Context { classes: code.classes, places: &places, clobbers: &lookup };
        drafts.par_iter_mut().zip(&dirty).filter(|(_, dirty)| **dirty).for_each(|(draft, _)| settle(draft, &context));
        dirty.iter_mut().for_each(|d| *d = false);
        let new = discover(&mut drafts, &mut dirty, &code);
        let known = written_by_calls(&drafts, code.classes);
        if known != clobbers && round < 3 {
            for (draft, dirty) in drafts.iter().zip(&mut dirty) {
                *dirty |= draft.needs_tracking
                    && draft
                        .insts
                        .iter()
                        .any(|i| code.classes.of(i) == Kind::Swappc || code.classes.of(i) == Kind::CallDirect);
            }
            clobbers = known;
        }
        if !new && !dirty.contains(&true) {
            break;
        }
    }
    drafts.sort_by_key(|d| d.entry);
    let gaps = gaps(&drafts, &code, &mut issues);
    Ok(crate::assemble::assemble(drafts, &code, &places, gaps, issues))
}

/// The functions that symbols and kernel descriptors name, by address.
fn seeds(object: &CodeObject, code: &Code<'_>, issues: &mut Vec<Issue>) -> Vec<Seed> {
    let mut seeds: BTreeMap<u64, Seed> = BTreeMap::new();
    let functions = object.functions().iter().map(|f| (f.name.clone(), f.vaddr, f.size, false, false));
    let kernels =
        object.kernels().iter().map(|k| (k.name.clone(), k.entry, 0, true, k.descriptor.kernarg_preload_length() > 0));
    for (name, vaddr, size, is_kernel, preloads) in functions.chain(kernels) {
        if code.around(vaddr).is_none() || vaddr % 4 != 0 {
            issues.push(Issue { vaddr, function: String::new(), kind: IssueKind::BadSymbol { symbol: name } });
            continue;
        }
        let seed = seeds.entry(vaddr).or_insert_with(|| Seed {
            name,
            vaddr,
            size: None,
            is_kernel: false,
            second_entry: None,
            issues: Vec::new(),
            refusal: None,
        });
        seed.size = seed.size.or((size != 0).then_some(size));
        seed.is_kernel |= is_kernel;
        if preloads {
            seed.second_entry = vaddr.checked_add(PRELOADED_ENTRY);
        }
    }
    seeds.into_values().collect()
}

/// Where each function's bytes end: where its symbol says, but not past the next function or the executable range.
fn function_ends(seeds: &[Seed], code: &Code<'_>) -> Vec<u64> {
    let next = |i: usize| seeds.get(i + 1).map_or(u64::MAX, |s: &Seed| s.vaddr);
    seeds
        .iter()
        .enumerate()
        .map(|(i, seed)| {
            let range_end = code.around(seed.vaddr).map_or(seed.vaddr, |r| r.0.end);
            let end = seed.size.map_or(range_end, |size| seed.vaddr.saturating_add(size));
            end.min(next(i)).min(range_end)
        })
        .collect()
}

fn decode_seed(mut seed: Seed, end: u64, code: &Code<'_>) -> Draft {
    let range = seed.vaddr..end;
    let claimed = seed.size.unwrap_or(0);
    if range.end - range.start < claimed {
        let kind = IssueKind::SymbolOverlap { symbol: format!("at {end:#x}") };
        seed.issues.push(Issue { vaddr: end, function: seed.name.clone(), kind });
        seed.refusal = Some(format!("its symbol overlaps what starts at {end:#x}"));
    }
    let bytes = code.bytes(&range).unwrap_or_default();
    let mut draft = Draft {
        name: seed.name,
        is_kernel: seed.is_kernel,
        named: true,
        entry: seed.vaddr,
        second_entry: seed.second_entry,
        size: range.end - range.start,
        issues: seed.issues,
        refusal: seed.refusal,
        ..Draft::default()
    };
    // With a size, the bytes are the symbol's promise of code. Without, only what is reached is.
    let decoded = match seed.size {
        Some(_) => sweep(code.target, bytes, range.start),
        None => Err((range.start, luthier_isa::DecodeError::Truncated { needed: 0, available: 0 })),
    };
    match decoded {
        Ok(decoded) => draft.fill(decoded, code.classes),
        Err((first_bad, _)) => {
            draft.fill(
                traverse(
                    code.target,
                    bytes,
                    range.clone(),
                    [range.start].into_iter().chain(draft.second_entry),
                    |_| false,
                ),
                code.classes,
            );
            if seed.size.is_some() && draft.refusal.is_none() {
                let reached: u64 = draft.insts.iter().map(|i| i.size() as u64).sum();
                let size = (range.end - range.start).saturating_sub(reached);
                draft.issue(first_bad, IssueKind::UnreachedBytes { size });
                draft.refusal = Some(format!("the bytes at {first_bad:#x} are no instruction"));
            } else if seed.size.is_none() {
                draft.size = draft.extent().end.saturating_sub(draft.entry);
            }
        }
    }
    draft
}

impl Draft {
    fn issue(&mut self, vaddr: u64, kind: IssueKind) {
        self.issues.push(Issue { vaddr, function: self.name.clone(), kind });
    }
    fn fill(&mut self, decoded: Decoded, classes: &Classes) {
        for (vaddr, error) in decoded.bad {
            self.issue(vaddr, IssueKind::Undecodable { reason: error.to_string() });
            self.refusal.get_or_insert_with(|| format!("the bytes at {vaddr:#x} are no instruction"));
        }
        for (vaddr, with) in decoded.overlaps {
            self.issue(vaddr, IssueKind::Overlap { with });
            self.refusal.get_or_insert_with(|| format!("instructions overlap at {vaddr:#x}"));
        }
        self.insts = decoded.insts;
        self.vaddrs = decoded.vaddrs;
        self.needs_tracking =
            self.insts.iter().any(|i| matches!(classes.of(i), Kind::Getpc | Kind::Setpc | Kind::Swappc));
    }
}

/// Blocks and tracked values of one function, until they agree.
fn settle(draft: &mut Draft, context: &Context<'_>) {
    draft.build_flow(context.classes);
    if !draft.needs_tracking {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        if !track(draft, context) {
            return;
        }
        draft.build_flow(context.classes);
    }
    // Not settled: jumps found in the last round may rest on edges that are gone.
    draft.targets.clear();
    draft.returns.clear();
    draft.build_flow(context.classes);
    draft.refusal.get_or_insert_with(|| "its computed jumps do not settle".to_owned());
}

/// Addresses that a function sends control to, outside of itself: calls first.
fn leaves_for(draft: &Draft, classes: &Classes) -> (Vec<u64>, Vec<u64>) {
    let mut calls = Vec::new();
    for (block, terminator) in draft.flow.terminators.iter().enumerate() {
        if *terminator == crate::Terminator::Call {
            calls.extend(call_target(draft, draft.flow.starts[block + 1] as usize - 1, classes));
        }
    }
    (calls, draft.flow.exits.iter().map(|e| e.target).collect())
}

/// Where the call at an instruction goes, if known.
pub(crate) fn call_target(draft: &Draft, instr: usize, classes: &Classes) -> Option<u64> {
    match classes.of(&draft.insts[instr]) {
        Kind::CallDirect => draft.insts[instr].branch_target(draft.vaddrs[instr]),
        _ => draft.targets.get(&(instr as u32)).copied(),
    }
}

/// Follows control out of the functions: marks entries inside of others, and lifts code that no symbol covers.
fn discover(drafts: &mut Vec<Draft>, dirty: &mut Vec<bool>, code: &Code<'_>) -> bool {
    let mut calls = BTreeSet::new();
    let mut exits = BTreeSet::new();
    for draft in drafts.iter() {
        calls.extend(leaves_for(draft, code.classes).0);
        // Running off the end of a function into filler is running off the end, not into a function.
        let leaving = draft.flow.exits.iter().filter(|e| !e.falls || !starts_with_padding(code, e.target));
        exits.extend(leaving.map(|e| e.target));
    }
    let mut entries: BTreeMap<u64, usize> = drafts.iter().enumerate().map(|(i, d)| (d.entry, i)).collect();
    // Addresses that are called are functions, before anything else is.
    let mut new = false;
    for vaddr in calls.iter().chain(exits.difference(&calls)).copied() {
        if entries.contains_key(&vaddr) {
            continue;
        }
        // Functions do not overlap, except that unnamed ones may reach below their entry.
        let below = entries.range(..vaddr).next_back().map(|e| *e.1);
        let unnamed = entries.range(vaddr..).next().map(|e| *e.1);
        if let Some(i) = below.into_iter().chain(unnamed).find(|&i| drafts[i].contains(vaddr)) {
            let draft = &mut drafts[i];
            if draft.instr_at(vaddr).is_some() && draft.entered.insert(vaddr) {
                draft.issue(vaddr, IssueKind::EnteredInside { target: vaddr });
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
        let mut draft = Draft { name: format!("sub_{vaddr:x}"), entry: vaddr, ..Draft::default() };
        let stops = |at: u64| at != vaddr && calls.contains(&at);
        draft.fill(traverse(code.target, bytes, start..end, [vaddr], stops), code.classes);
        draft.size = draft.extent().end.saturating_sub(vaddr);
        entries.insert(vaddr, drafts.len());
        drafts.push(draft);
        dirty.push(true);
        new = true;
    }
    new
}

fn starts_with_padding(code: &Code<'_>, vaddr: u64) -> bool {
    word_at(code, vaddr).is_none_or(is_padding)
}

fn word_at(code: &Code<'_>, vaddr: u64) -> Option<u32> {
    let (range, bytes) = code.around(vaddr)?;
    let at = (vaddr - range.start) as usize;
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
}

/// For every function: the units that it and whatever it calls may write. Left out where that is not known.
fn written_by_calls(drafts: &[Draft], classes: &Classes) -> BTreeMap<u64, RegSet> {
    let mut called: BTreeSet<u64> = BTreeSet::new();
    let by_entry: BTreeMap<u64, usize> = drafts.iter().enumerate().map(|(i, d)| (d.entry, i)).collect();
    let mut work: Vec<u64> = drafts.iter().flat_map(|d| leaves_for(d, classes).0).collect();
    while let Some(vaddr) = work.pop() {
        if let Some(&i) = by_entry.get(&vaddr)
            && called.insert(vaddr)
        {
            let (calls, exits) = leaves_for(&drafts[i], classes);
            work.extend(calls.into_iter().chain(exits));
        }
    }
    // Own writes and callees; `None` where something unknown may run.
    let mut known: BTreeMap<u64, (RegSet, Vec<u64>)> = BTreeMap::new();
    for vaddr in &called {
        let draft = &drafts[by_entry[vaddr]];
        let open = draft.flow.terminators.iter().enumerate().any(|(b, t)| match t {
            crate::Terminator::Call => call_target(draft, draft.flow.starts[b + 1] as usize - 1, classes).is_none(),
            crate::Terminator::UnknownJump | crate::Terminator::Unsupported => true,
            _ => false,
        });
        let relative = |i| matches!(classes.of(i), Kind::ScalarRelative | Kind::VectorRelative | Kind::GprIdxOn);
        if open || draft.insts.iter().any(relative) {
            continue;
        }
        let mut written = RegSet::EMPTY;
        for inst in &draft.insts {
            inst.for_each_access(|a| {
                if a.access.writes() {
                    written.insert(a.reg);
                }
            });
        }
        let (calls, exits) = leaves_for(draft, classes);
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
    let mut written: BTreeMap<u64, RegSet> = known.iter().map(|(v, (w, _))| (*v, *w)).collect();
    let mut work: BTreeSet<u64> = written.keys().copied().collect();
    while let Some(vaddr) = work.pop_first() {
        let from = written[&vaddr];
        for caller in callers.get(&vaddr).into_iter().flatten() {
            if let Some(to) = written.get_mut(caller) {
                let before = *to;
                to.union_with(&from);
                if *to != before {
                    work.insert(*caller);
                }
            }
        }
    }
    written
}

/// The executable bytes that belong to no function.
fn gaps(drafts: &[Draft], code: &Code<'_>, issues: &mut Vec<Issue>) -> Vec<Gap> {
    let mut taken: Vec<Range<u64>> = Vec::new();
    for draft in drafts {
        if draft.named {
            taken.push(draft.entry..draft.entry + draft.size);
        }
        // Runs of instructions.
        let mut run: Option<Range<u64>> = None;
        for (inst, &vaddr) in draft.insts.iter().zip(&draft.vaddrs) {
            let end = vaddr + inst.size() as u64;
            match &mut run {
                Some(run) if run.end == vaddr => run.end = end,
                _ => taken.extend(run.replace(vaddr..end)),
            }
        }
        taken.extend(run);
    }
    taken.sort_by_key(|r| r.start);
    let mut gaps = Vec::new();
    let mut taken = taken.into_iter().peekable();
    for (range, _) in &code.ranges {
        let mut at = range.start;
        while let Some(next) = taken.next_if(|t| t.start < range.end) {
            if next.start > at {
                gaps.push(at..next.start);
            }
            at = at.max(next.end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
    }
    gaps.into_iter()
        .map(|range| {
            let (vaddr, size) = (range.start, range.end - range.start);
            let words = code.bytes(&range).unwrap_or_default().chunks(4);
            let padding = words.into_iter().all(|w| match w.try_into() {
                Ok(word) => is_padding(u32::from_le_bytes(word)),
                Err(_) => w.iter().all(|b| *b == 0),
            });
            if !padding {
                issues.push(Issue { vaddr, function: String::new(), kind: IssueKind::OutsideFunctions { size } });
            }
            Gap { vaddr, size, kind: if padding { GapKind::Padding } else { GapKind::Unknown } }
        })
        .collect()
}
