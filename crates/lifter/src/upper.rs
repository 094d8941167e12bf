//! Which of gfx1250's 1024 VGPRs the instructions name: the upper bits of the numbers, followed through the whole object.
//!
//! The bits are in MODE, and stay until something sets them ([`luthier_isa::msb`]). A wave starts with zeros. LLVM calls
//! and returns with zeros too, but nothing is taken from that: a function is entered with what all calls that may reach
//! it have there, and a call comes back with what its callee returns with. Where ways disagree, or nothing is seen to
//! come in, the bits are not known, and neither are the registers.
//!
//! What is found is put into the instructions ([`Inst::at`]), so that all later code sees the registers meant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use luthier_isa::{Inst, MsbChange, Operand, OperandInfo, VgprMsb, msb};

use crate::class::{Classes, Kind, Role};
use crate::decode::Pool;
use crate::flow::Draft;
use crate::lift::call_target;
use crate::{IssueKind, Terminator};

/// The bits at a point, `None` where they are not known.
type Bits = Option<VgprMsb>;
/// The same where nothing may have been seen to come to the point.
type Seen = Option<Bits>;

fn join(to: &mut Seen, from: Bits) -> bool {
    let joined = match *to {
        None => from,
        Some(old) if old == from => return false,
        Some(_) => None,
    };
    to.replace(joined) != Some(joined)
}

fn step(inst: &Inst, role: &Role, bits: Bits) -> Bits {
    if !matches!(role.kind, Kind::VgprMsb | Kind::Setreg) {
        return bits;
    }
    match msb::change(inst) {
        MsbChange::Keeps => bits,
        MsbChange::Sets(new) => Some(new),
        MsbChange::Unknown => None,
    }
}

/// Where control goes that leaves a function: to which function, if it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Function(usize),
    /// Some function, or none of this object.
    Unknown,
}

/// What is known of the functions, by number.
struct State {
    entered: Vec<Seen>,
    /// With what they return.
    left: Vec<Seen>,
    /// Those that wait for what they return with.
    callers: Vec<BTreeSet<usize>>,
    /// At calls and jumps that may reach any function.
    anywhere: Seen,
    /// Functions about which something has changed since they were looked at.
    work: BTreeSet<usize>,
}

/// Puts the bits into the instructions. True for the functions whose instructions name other registers than before.
pub(crate) fn follow(drafts: &mut [Draft], classes: &Classes) -> Vec<bool> {
    // A wave starts with zeros: as long as nothing sets anything else, they stay.
    let sets = |(inst, role): (&Inst, &Role)| match role.kind {
        Kind::VgprMsb | Kind::Setreg => !matches!(msb::change(inst), MsbChange::Keeps | MsbChange::Sets(VgprMsb::ZERO)),
        _ => false,
    };
    if classes.mode.target().vgprs() <= 256 || !drafts.iter().any(|d| d.insts().iter().zip(d.roles()).any(sets)) {
        return vec![false; drafts.len()];
    }
    let by_entry: BTreeMap<u64, usize> = drafts.iter().enumerate().map(|(i, d)| (d.entry, i)).collect();
    let mut state = State {
        entered: drafts.iter().map(|d| d.is_kernel.then_some(Some(VgprMsb::ZERO))).collect(),
        left: vec![None; drafts.len()],
        callers: vec![BTreeSet::new(); drafts.len()],
        anywhere: None,
        work: (0..drafts.len()).collect(),
    };
    let mut starts: Vec<Vec<Seen>> = vec![Vec::new(); drafts.len()];
    while let Some(number) = state.work.pop_first() {
        starts[number] = blocks(number, &drafts[number], &by_entry, &mut state);
    }
    drafts.iter_mut().zip(starts).map(|(draft, starts)| put(draft, &starts)).collect()
}

/// The bits at the start of every block of a function, and what it tells of others.
fn blocks(number: usize, draft: &Draft, by_entry: &BTreeMap<u64, usize>, state: &mut State) -> Vec<Seen> {
    let flow = &draft.flow;
    let mut starts: Vec<Seen> = vec![None; flow.blocks()];
    let mut work = BTreeSet::new();
    let mut enter = |starts: &mut [Seen], vaddr: u64, bits: Bits| {
        if let Some(block) = draft.instr_at(vaddr).and_then(|i| flow.block_starting_at(i)) {
            join(&mut starts[block as usize], bits);
            work.insert(block as usize);
        }
    };
    let mut entered = state.entered[number];
    if let Some(bits) = state.anywhere.filter(|_| !draft.is_kernel || draft.also_called) {
        join(&mut entered, bits);
    }
    if let Some(bits) = entered {
        enter(&mut starts, draft.entry, bits);
        draft.second_entry.iter().for_each(|vaddr| enter(&mut starts, *vaddr, bits));
    }
    draft.entered.iter().for_each(|vaddr| enter(&mut starts, *vaddr, None));
    let target = |vaddr: Option<u64>| match vaddr.and_then(|v| by_entry.get(&v)) {
        Some(&function) => Target::Function(function),
        None => Target::Unknown,
    };
    while let Some(block) = work.pop_first() {
        let Some(mut bits) = starts[block] else { continue };
        let instrs = flow.instrs(block);
        instrs.clone().for_each(|i| bits = step(&draft.insts()[i], &draft.roles()[i], bits));
        match flow.terminators[block] {
            Terminator::Call => {
                let callee = target(call_target(draft, instrs.end - 1));
                // It comes back, if it is seen to.
                let Some(back) = state.called(number, callee, bits) else { continue };
                bits = back;
            }
            Terminator::Return { .. } => state.leaves(number, bits),
            Terminator::UnknownJump | Terminator::Unsupported => {
                state.called(number, Target::Unknown, bits);
                state.leaves(number, None);
            }
            _ => {}
        }
        // Control that goes to another function returns from there.
        let from = flow.exits.partition_point(|e| (e.block as usize) < block);
        for exit in flow.exits[from..].iter().take_while(|e| e.block as usize == block) {
            if let Some(left) = state.called(number, target(Some(exit.target)), bits) {
                state.leaves(number, left);
            }
        }
        for &succ in flow.succs(block) {
            if join(&mut starts[succ as usize], bits) {
                work.insert(succ as usize);
            }
        }
    }
    starts
}

impl State {
    /// Control goes to another function: with which bits it comes back from there, if it is seen to.
    fn called(&mut self, caller: usize, target: Target, bits: Bits) -> Seen {
        match target {
            Target::Function(function) => {
                self.callers[function].insert(caller);
                if join(&mut self.entered[function], bits) {
                    self.work.insert(function);
                }
                self.left[function]
            }
            Target::Unknown => {
                if join(&mut self.anywhere, bits) {
                    self.work.extend(0..self.entered.len());
                }
                Some(None)
            }
        }
    }

    /// A function returns.
    fn leaves(&mut self, function: usize, bits: Bits) {
        if join(&mut self.left[function], bits) {
            self.work.extend(&self.callers[function]);
        }
    }
}

/// Puts the bits into a function's instructions.
fn put(draft: &mut Draft, starts: &[Seen]) -> bool {
    let mut found: Vec<Bits> = Vec::with_capacity(draft.insts().len());
    for (block, start) in starts.iter().enumerate() {
        let mut bits = start.flatten();
        for i in draft.flow.instrs(block) {
            let inst = &draft.insts()[i];
            // A tuple that runs past the last register: the manual does not say what it is.
            found.push(bits.filter(|bits| bits.fits(inst)));
            bits = step(inst, &draft.roles()[i], bits);
        }
    }
    if draft.insts().iter().zip(&found).all(|(inst, bits)| inst.msb() == *bits) {
        return false;
    }
    // The pool may be that of other functions as well.
    let insts = draft.insts().iter().zip(found).map(|(inst, bits)| inst.at(bits)).collect();
    let (offsets, roles) = (draft.view().offsets.to_vec(), draft.roles().to_vec());
    draft.instrs = 0..offsets.len();
    draft.pool = Arc::new(Pool { insts, offsets, roles });
    true
}

/// The instruction names VGPRs, and it is not known which.
pub(crate) fn is_open(inst: &Inst) -> bool {
    let named = |operand: &OperandInfo| match inst.named(operand) {
        Operand::Reg(range) => range.first.is_vgpr() && msb::slot(inst.info(), operand.field).is_some(),
        _ => false,
    };
    inst.msb().is_none() && inst.info().operands.iter().any(named)
}

/// Says where registers are not known.
pub(crate) fn report(drafts: &mut [Draft], classes: &Classes) {
    if classes.mode.target().vgprs() <= 256 {
        return;
    }
    for draft in drafts {
        let places = draft.insts().iter().enumerate().filter(|(_, inst)| is_open(inst)).map(|(i, _)| i);
        let places: Vec<usize> = places.collect();
        if let Some(&first) = places.first() {
            let vaddr = draft.vaddr(first);
            draft.issue(vaddr, IssueKind::UnknownVgprs { instructions: places.len() });
            draft.refusal.get_or_insert_with(|| format!("which VGPRs are meant from {vaddr:#x} on is not known"));
        }
    }
}
