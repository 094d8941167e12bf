//! Which functions something may hold the address of.
//!
//! A function's address gets about through a relocation in data, or through code that forms it. Nearly all code that
//! forms one only calls it; so the registers that hold a formed address are followed, and the address counts as taken
//! when an instruction other than a copy or the call itself reads them, or when they may reach a reader elsewhere: a
//! callee, a caller, a jump to the unknown. Following the high half is enough, since an address needs both.

use std::collections::{BTreeMap, BTreeSet};

use luthier_isa::{Access, Reg, RegSet};

use crate::class::Kind;
use crate::live::Summaries;
use crate::pcrel::{PcValue, Place};
use crate::place::Places;
use crate::{BlockId, FuncId, Program, Terminator};

/// Addresses that are followed one by one; more of them in one function share their fate, so that the cost stays
/// linear.
const MANY: usize = 32;

/// What one function does with the function addresses that it forms.
pub(crate) struct Uses {
    pub func: FuncId,
    /// The functions whose addresses these are: formed, or loaded from the global offset table.
    pub names: Vec<FuncId>,
    pub escapes: bool,
    /// Units that may hold one where it returns.
    pub at_return: RegSet,
}

/// The functions whose addresses are taken for certain, and those that depend on what is live behind calls.
pub(crate) fn uses(program: &Program, places: &Places<'_>, known: &Summaries) -> (Vec<bool>, Vec<Uses>) {
    let mut taken = vec![false; program.functions.len()];
    let blind = program.pc_values.iter().any(|v| v.vaddr.is_none());
    for &(slot, value) in places.pointers() {
        if let Some(f) = program.function_at(value)
            && (blind || !places.in_got(slot))
        {
            taken[f.index()] = true;
        }
    }
    let mut by_func: BTreeMap<FuncId, BTreeMap<FuncId, Vec<&PcValue>>> = BTreeMap::new();
    for value in &program.pc_values {
        if let Some(name) = named(program, value) {
            by_func.entry(program.func_of(value.at)).or_default().entry(name).or_default().push(value);
        }
    }
    let mut uses: Vec<Uses> = Vec::new();
    for (func, names) in by_func {
        if names.len() <= MANY {
            uses.extend(names.values().map(|values| follow(program, known, func, values)));
        } else {
            let all: Vec<&PcValue> = names.into_values().flatten().collect();
            uses.push(follow(program, known, func, &all));
        }
    }
    for u in uses.iter().filter(|u| u.escapes) {
        u.names.iter().for_each(|f| taken[f.index()] = true);
    }
    (taken, uses)
}

/// The function that a formed address gives access to.
fn named(program: &Program, value: &PcValue) -> Option<FuncId> {
    let vaddr = match value.place.as_ref()? {
        Place::Function { .. } => value.vaddr?,
        Place::Slot { target, .. } => *target,
        _ => return None,
    };
    program.function_at(vaddr)
}

fn follow(program: &Program, known: &Summaries, func: FuncId, values: &[&PcValue]) -> Uses {
    let mut uses = Uses {
        func,
        names: values.iter().filter_map(|v| named(program, v)).collect(),
        escapes: false,
        at_return: RegSet::EMPTY,
    };
    let mut at_start: BTreeMap<BlockId, RegSet> = BTreeMap::new();
    // Only blocks behind a formed value matter.
    let mut work: BTreeSet<BlockId> = values.iter().map(|v| program.block_of(v.at)).collect();
    while let Some(block) = work.pop_first() {
        let mut held = at_start.get(&block).copied().unwrap_or_default();
        for i in program.block(block).instrs.iter() {
            step(program, i, &mut held, &mut uses.escapes);
            for v in values.iter().filter(|v| v.at == i) {
                held.insert(v.pair.first.offset(1));
            }
        }
        match program.block(block).terminator {
            Terminator::Call => {
                let callee = program.call(block).and_then(|c| c.callee);
                uses.escapes |= held.intersects(&known.reads(callee));
                let mut lost = held;
                lost.subtract(&known.passes(callee));
                held.subtract(&lost);
            }
            Terminator::Return { .. } => uses.at_return.union_with(&held),
            Terminator::UnknownJump | Terminator::Unsupported | Terminator::Trap => uses.escapes |= !held.is_empty(),
            _ => {}
        }
        for exit in program.exits_of(block) {
            uses.escapes |= held.intersects(&known.reads(exit.callee));
            uses.at_return.union_with(&held);
        }
        if uses.escapes {
            return uses;
        }
        for &succ in program.succs(block) {
            let state = at_start.entry(succ).or_default();
            let before = *state;
            state.union_with(&held);
            if *state != before {
                work.insert(succ);
            }
        }
    }
    uses
}

/// Moves the held units over one instruction; sets `escapes` if it reads one in a way that is not understood.
fn step(program: &Program, i: crate::InstrId, held: &mut RegSet, escapes: &mut bool) {
    if held.is_empty() {
        return;
    }
    let (kind, inst) = (program.kind(i), program.inst(i));
    let mut reads = false;
    inst.for_each_access(|a| reads |= a.access.reads() && held.contains(a.reg));
    let mut copies: Vec<Reg> = Vec::new();
    if reads {
        let tracked = !program.pc_values_at(i).is_empty();
        match kind {
            Kind::MovB32 | Kind::MovB64 | Kind::AddcU32 | Kind::SubbU32 => inst.for_each_access(|a| {
                if a.access.writes() && a.reg.index() < 128 {
                    copies.push(a.reg);
                }
            }),
            // Into VGPRs and back.
            Kind::VectorMov | Kind::Readfirstlane => inst.for_each_access(|a| {
                if a.access.writes() {
                    copies.push(a.reg);
                }
            }),
            Kind::ScalarLoad if tracked => {}
            // Resolved ones only: the target is a function or a place in this one.
            Kind::Swappc if program.call(program.block_of(i)).is_some_and(|c| c.target.is_some()) => {}
            Kind::Setpc if program.block(program.block_of(i)).terminator == Terminator::Jump => {}
            _ => *escapes = true,
        }
    }
    inst.for_each_access(|a| {
        if a.access == Access::Write {
            held.remove(a.reg);
        }
    });
    copies.into_iter().for_each(|r| held.insert(r));
}
