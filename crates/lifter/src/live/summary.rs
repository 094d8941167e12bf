//! What callers need to know of a function, and a function of its callers.
//!
//! Two fixpoints, after Srivastava and Wall: first, from callees to callers, what each function may read before it
//! writes it, and which units may come through it unwritten; then, from callers to callees, what is live where it
//! returns to. Both grow from nothing, so that recursion needs no special treatment.

use std::collections::{BTreeSet, HashMap};

use luthier_isa::{Reg, RegSet, Target};

use super::analysis::{Model, after};
use super::units::Sides;
use super::{Live, all_units};
use crate::class::Kind;
use crate::{Call, Exit, FuncId, FunctionKind, Program, Terminator};

#[derive(Clone)]
struct Summary {
    /// May be read before it is written.
    reads: RegSet,
    /// May have the value of the entry at a return.
    passes: RegSet,
    /// Live where the function returns to.
    at_return: RegSet,
}

impl Summary {
    /// Everything may be.
    fn of_the_unknown(target: Target) -> Summary {
        let all = *all_units(target);
        Summary { reads: all, passes: all, at_return: all }
    }
}

/// Summaries of the functions that are called, or left for others.
pub(crate) struct Summaries {
    of: HashMap<FuncId, Summary>,
    callers: HashMap<FuncId, BTreeSet<FuncId>>,
    /// What any function that takes part in calls may read: live where a return is not proven to be one, on the
    /// assumption that it stays within the object.
    world: RegSet,
    nothing_known: Summary,
}

/// What the blocks of functions do that are looked at again and again.
pub(crate) type Models<const WORDS: usize> = HashMap<FuncId, Model<WORDS>>;

/// The register pair that a proven return jumps to.
const LINK: Reg = Reg::sgpr(30);

impl Summaries {
    /// Nothing is known of any function.
    pub fn none(target: Target) -> Summaries {
        Summaries {
            of: HashMap::new(),
            callers: HashMap::new(),
            world: *all_units(target),
            nothing_known: Summary::of_the_unknown(target),
        }
    }

    /// The first half: what callees do. Nothing is said yet of what is live behind calls.
    pub fn of_callees<const WORDS: usize>(program: &Program, models: &mut Models<WORDS>) -> Summaries {
        let all = *all_units(program.target());
        let empty = Summary { reads: RegSet::EMPTY, passes: RegSet::EMPTY, at_return: RegSet::EMPTY };
        let mut callers: HashMap<FuncId, BTreeSet<FuncId>> = HashMap::new();
        let calls = program.calls().iter().map(|c| (c.block, c.callee));
        let exits = program.exits().iter().map(|e| (e.block, e.callee));
        for (block, callee) in calls.chain(exits) {
            if let Some(callee) = callee {
                callers.entry(callee).or_default().insert(program.block(block).func);
            }
        }
        let mut known = Summaries {
            of: callers.keys().map(|&f| (f, empty.clone())).collect(),
            world: world(program, &callers),
            ..Summaries::none(program.target())
        };
        // Callees to callers. Ids are in address order, which says nothing; the work list sorts it out.
        let mut work: BTreeSet<FuncId> = callers.keys().copied().collect();
        while let Some(func) = work.pop_first() {
            let model = models.entry(func).or_insert_with(|| Model::of(program, func));
            let entry = entry_index(program, func);
            let at_entry = |live_in: Vec<Sides<WORDS>>| live_in.get(entry).map_or(all, |live| Live::from(live).any());
            let reads = at_entry(model.solve(program, &known, &RegSet::EMPTY, true));
            let passes = at_entry(model.solve(program, &known, &all, false));
            if let Some(old) = known.of.get_mut(&func)
                && (old.reads != reads || old.passes != passes)
            {
                (old.reads, old.passes) = (reads, passes);
                work.extend(callers[&func].iter().filter(|f| callers.contains_key(f)));
            }
        }
        Summaries { callers, ..known }
    }

    /// The second half, from callers to callees. May be done again when more addresses turn out to be taken.
    pub fn look_behind_calls<const WORDS: usize>(
        &mut self,
        program: &Program,
        taken: &[bool],
        models: &mut Models<WORDS>,
    ) {
        let all = *all_units(program.target());
        for (&func, summary) in &mut self.of {
            let function = program.function(func);
            if taken[func.index()] || !function.entered_inside.is_empty() {
                summary.at_return = all;
            } else {
                summary.at_return = RegSet::EMPTY;
            }
        }
        let mut work: BTreeSet<FuncId> = self.callers.values().flatten().copied().collect();
        while let Some(func) = work.pop_first() {
            let model = models.entry(func).or_insert_with(|| Model::of(program, func));
            let at_return = self.at_return(func);
            let live_in = model.solve(program, self, &at_return, true);
            let mut found: Vec<(FuncId, RegSet)> = Vec::new();
            for block in program.function(func).blocks.iter() {
                if program.block(block).terminator == Terminator::Call
                    && let Some(call) = program.call(block)
                    && let Some(callee) = call.callee
                {
                    let behind = match call.link.first == LINK {
                        true => Live::from(&after(program, block, &live_in, self, &at_return)).any(),
                        false => all,
                    };
                    found.push((callee, behind));
                    continue;
                }
                found.extend(program.exits_of(block).iter().filter_map(|e| Some((e.callee?, at_return))));
            }
            for (callee, behind) in found {
                if let Some(summary) = self.of.get_mut(&callee) {
                    let before = summary.at_return;
                    summary.at_return.union_with(&behind);
                    if summary.at_return != before && calls_others(program, callee) {
                        work.insert(callee);
                    }
                }
            }
        }
    }

    fn get(&self, callee: Option<FuncId>) -> &Summary {
        callee.and_then(|f| self.of.get(&f)).unwrap_or(&self.nothing_known)
    }
    /// What is live where the function returns to: everything, if its callers are not known.
    pub fn at_return(&self, func: FuncId) -> RegSet {
        self.get(Some(func)).at_return
    }
    pub fn at_unproven_return(&self) -> &RegSet {
        &self.world
    }
    /// Units that may be read before they are written.
    pub fn reads(&self, callee: Option<FuncId>) -> RegSet {
        self.get(callee).reads
    }
    /// Units that may come unwritten through a call.
    pub fn passes(&self, callee: Option<FuncId>) -> RegSet {
        self.get(callee).passes
    }
    /// Liveness at a callee's entry, given that behind the call.
    pub fn before_call(&self, call: Option<&Call>, behind: &Live, with_reads: bool) -> Live {
        Live::both(self.enter(call.and_then(|c| c.callee), behind.any(), with_reads))
    }
    /// Liveness at the target of control that leaves the function and does not come back.
    pub fn before_tail(&self, exit: &Exit, at_return: &RegSet) -> Live {
        match exit.callee {
            Some(_) => Live::both(self.enter(exit.callee, *at_return, true)),
            None => Live::both(self.nothing_known.reads),
        }
    }
    fn enter(&self, callee: Option<FuncId>, behind: RegSet, with_reads: bool) -> RegSet {
        let summary = self.get(callee);
        let mut stopped = behind;
        stopped.subtract(&summary.passes);
        let mut live = behind;
        live.subtract(&stopped);
        if with_reads {
            live.union_with(&summary.reads);
        }
        live
    }
}

fn entry_index(program: &Program, func: FuncId) -> usize {
    let function = program.function(func);
    (function.entry.0 - function.blocks.first.0) as usize
}

fn calls_others(program: &Program, func: FuncId) -> bool {
    let blocks = program.function(func).blocks;
    program.calls_of(func).iter().any(|c| c.callee.is_some())
        || blocks.iter().any(|b| program.exits_of(b).iter().any(|e| e.callee.is_some()))
}

fn world(program: &Program, callers: &HashMap<FuncId, BTreeSet<FuncId>>) -> RegSet {
    let mut read = RegSet::EMPTY;
    let unproven = |b: &crate::Block| b.terminator == Terminator::Return { proven: false };
    if !program.blocks().iter().any(unproven) {
        return read;
    }
    let calling: BTreeSet<FuncId> = callers.values().flatten().chain(callers.keys()).copied().collect();
    for f in program.function_ids() {
        if !calling.contains(&f) && program.function(f).kind == FunctionKind::Kernel && program.calls_of(f).is_empty() {
            continue;
        }
        for i in program.function_instrs(f).iter() {
            program.inst(i).for_each_access(|a| {
                if a.access.reads() {
                    read.insert(a.reg);
                }
            });
            match program.kind(i) {
                Kind::GprIdxOn | Kind::GprIdxMode | Kind::VectorRelative | Kind::ScalarRelative => {
                    return *all_units(program.target());
                }
                _ => {}
            }
        }
    }
    read
}
