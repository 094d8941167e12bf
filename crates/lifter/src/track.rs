//! Value tracking within one function: where calls and jumps through registers go, and which addresses are formed.
//!
//! A forward constant propagation over scalar units and VGPR lanes (where compilers keep the return address). It knows
//! `s_getpc_b64` and the additions that follow it, moves, lanes, and loads from memory that cannot change. Whatever
//! else writes a register makes it unknown; so does a call, unless its callee is known not to write the register.

use luthier_isa::{DataType, Inst, Op, Operand, Reg};

use crate::class::{Classes, ExecEffect, Kind, Role};
use crate::clobbers::Written;
use crate::flow::Draft;
use crate::place::Places;
use crate::scratch;
use crate::sums::{add_pairs, arithmetic};
use crate::values::{Slot, Value, Values};
use crate::worklist::WorkList;

/// An address that code has put together in a register pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Formed {
    /// The instruction that completes it; `source` itself for a bare `s_getpc_b64`.
    pub at: u32,
    /// The `s_getpc_b64` or the load it comes from.
    pub source: u32,
    /// Unit of the low half.
    pub low: u16,
    /// `None` when nothing is known to be formed from this `s_getpc_b64`.
    pub vaddr: Option<u64>,
}

/// The pair in which LLVM's calling conventions leave the return address.
const RETURN_ADDRESS: usize = 30;

/// The stack and the frame pointer of LLVM's calling conventions. Nothing depends on their being that: their values are
/// only told apart from others.
const STACK_POINTER: usize = 32;

/// A fact that holds.
const YES: Value = Value::Const(1);

/// What is known outside of the function.
pub(crate) struct Context<'a> {
    pub classes: &'a Classes,
    pub places: &'a Places<'a>,
    /// What a call of the function at this address may write; `None` when unknown.
    pub clobbers: &'a (dyn Fn(u64) -> Option<Written> + Sync),
}

/// Runs the analysis and stores targets, returns and formed values in the draft. True if the targets or returns
/// changed, so that the blocks have to be built again.
pub(crate) fn track(draft: &mut Draft, context: &Context<'_>) -> bool {
    let tracker = Tracker {
        context,
        track_lanes: !draft
            .roles()
            .iter()
            .any(|r| matches!(r.kind, Kind::GprIdxOn | Kind::GprIdxMode | Kind::Setreg | Kind::VectorRelative)),
        draft,
    };
    let blocks = draft.flow.blocks();
    let mut states: Vec<Option<Values>> = vec![None; blocks];
    let mut work = WorkList::new(blocks);
    let mut start = |states: &mut Vec<Option<Values>>, vaddr: u64, values: Values| {
        if let Some(b) = draft.instr_at(vaddr).and_then(|i| draft.flow.block_starting_at(i)) {
            states[b as usize] = Some(values);
            work.insert(b as usize);
        }
    };
    start(&mut states, draft.entry, tracker.at_entry());
    draft.entered.iter().chain(&draft.second_entry).for_each(|&vaddr| start(&mut states, vaddr, Values::default()));
    // Each step only loses values, so it ends.
    while let Some(block) = work.pop_first() {
        let Some(mut values) = states[block].clone() else { continue };
        draft.flow.instrs(block).for_each(|i| tracker.step(i, &mut values));
        for (n, &succ) in draft.flow.succs(block).iter().enumerate() {
            let mut values = std::borrow::Cow::Borrowed(&values);
            if tracker.some_lane_on_edge(block, n) {
                values.to_mut().set(Slot::SOME_LANE, Some(YES));
            }
            let changed = match &mut states[succ as usize] {
                Some(state) => state.meet(&values),
                none => {
                    *none = Some(values.into_owned());
                    true
                }
            };
            if changed {
                work.insert(succ as usize);
            }
        }
    }
    let found = tracker.collect(&states);
    let changed = found.targets != draft.targets || found.returns != draft.returns;
    draft.targets = found.targets;
    draft.returns = found.returns;
    draft.pc_values = found.formed;
    changed
}

struct Tracker<'a> {
    context: &'a Context<'a>,
    draft: &'a Draft,
    /// Without register indexing, every write of a VGPR names it.
    track_lanes: bool,
}

#[derive(Default)]
struct Found {
    targets: std::collections::BTreeMap<u32, u64>,
    returns: std::collections::BTreeMap<u32, bool>,
    formed: Vec<Formed>,
}

impl Tracker<'_> {
    fn at_entry(&self) -> Values {
        let mut values = Values::default();
        if self.draft.is_kernel && self.draft.also_called {
            return values;
        }
        if self.draft.is_kernel {
            // A wave starts with one lane at least.
            values.set(Slot::SOME_LANE, Some(YES));
            if self.draft.private_buffer {
                values.set(Slot::unit(3), Some(scratch::PRIVATE));
            }
            return values;
        }
        let mut pairs = vec![RETURN_ADDRESS, STACK_POINTER];
        let jumps = self.draft.insts().iter().zip(self.draft.roles()).filter(|(_, r)| r.kind == Kind::Setpc);
        for (inst, _) in jumps {
            pairs.extend(register(nth(inst, 0)));
        }
        for low in pairs {
            for unit in [low, low + 1] {
                values.set(Slot::unit(unit), Some(Value::Entry { unit: unit as u16, plus: 0 }));
            }
        }
        values
    }

    /// The branch at the end of a block says that some lane is on: `s_cbranch_execz` not taken, `s_cbranch_execnz` taken.
    fn some_lane_on_edge(&self, block: usize, succ: usize) -> bool {
        let (succs, last) = (self.draft.flow.succs(block), self.draft.flow.instrs(block).end - 1);
        // With one successor both ways lead there.
        succs.len() == 2
            && match self.draft.insts()[last].info().op() {
                Op::SCbranchExecz => succ == 1,
                Op::SCbranchExecnz => succ == 0,
                _ => false,
            }
    }

    fn collect(&self, states: &[Option<Values>]) -> Found {
        let mut found = Found::default();
        let mut bare = Vec::new();
        for (block, state) in states.iter().enumerate() {
            // A block that nothing reaches still runs if something unseen jumps to it; nothing is known there.
            let mut values = state.clone().unwrap_or_default();
            for i in self.draft.flow.instrs(block) {
                let inst = &self.draft.insts()[i];
                let kind = self.draft.roles()[i].kind;
                match kind {
                    Kind::Setpc => self.jump(i, inst, &values, &mut found),
                    Kind::Swappc => {
                        if let Some((vaddr, _)) = register(nth(inst, 1)).and_then(|low| values.address(low)) {
                            found.targets.insert(i as u32, vaddr);
                        }
                    }
                    Kind::Getpc => {
                        if let Some(low) = register(nth(inst, 0)) {
                            bare.push(Formed { at: i as u32, source: i as u32, low: low as u16, vaddr: None });
                        }
                    }
                    _ => {}
                }
                self.step(i, &mut values);
                let formed = match kind {
                    Kind::AddcU32 | Kind::SubbU32 => register(nth(inst, 0)).map_or(0..0, |high| {
                        // The low half is next to it, in front.
                        high.saturating_sub(1)..high
                    }),
                    Kind::AddU64 => register(nth(inst, 0)).map_or(0..0, |low| low..low + 1),
                    Kind::ScalarLoad => match nth(inst, 0) {
                        Some(Operand::Reg(range)) => {
                            range.first.index()..range.first.index() + usize::from(range.count)
                        }
                        _ => 0..0,
                    },
                    _ => 0..0,
                };
                for low in formed {
                    if let Some((vaddr, source)) = values.address(low) {
                        found.formed.push(Formed { at: i as u32, source, low: low as u16, vaddr: Some(vaddr) });
                    }
                }
            }
        }
        let used: std::collections::HashSet<u32> = found.formed.iter().map(|f| f.source).collect();
        found.formed.extend(bare.into_iter().filter(|b| !used.contains(&b.source)));
        found.formed.sort_unstable_by_key(|f| (f.at, f.low));
        found
    }

    fn jump(&self, i: usize, inst: &Inst, values: &Values, found: &mut Found) {
        let Some(low) = register(nth(inst, 0)) else { return };
        if let Some((vaddr, _)) = values.address(low) {
            found.targets.insert(i as u32, vaddr);
            return;
        }
        if self.draft.is_kernel {
            return;
        }
        match (values.get(Slot::unit(low)), values.get(Slot::unit(low + 1))) {
            (Some(Value::Entry { unit: a, plus: 0 }), Some(Value::Entry { unit: b, plus: 0 })) if b == a + 1 => {
                found.returns.insert(i as u32, usize::from(a) == RETURN_ADDRESS);
            }
            _ if low == RETURN_ADDRESS => {
                found.returns.insert(i as u32, false);
            }
            _ => {}
        }
    }

    /// The known values after instruction `i`.
    fn step(&self, i: usize, values: &mut Values) {
        let inst = &self.draft.insts()[i];
        let Role { kind, exec } = self.draft.roles()[i];
        let kind = match (kind, inst.msb()) {
            (
                Kind::Writelane
                | Kind::Readlane
                | Kind::Readfirstlane
                | Kind::VectorMov
                | Kind::VectorLoad
                | Kind::VectorStore,
                None,
            ) => Kind::Plain,
            (kind, _) => kind,
        };
        let mut results: [Option<(Slot, Value)>; 3] = [None; 3];
        let mut loaded = Vec::new();
        match kind {
            Kind::Getpc => {
                if let Some(low) = register(nth(inst, 0)) {
                    let vaddr = self.draft.vaddr(i) + inst.size() as u64;
                    results[0] = Some((Slot::unit(low), Value::Low { vaddr: vaddr as u32, source: i as u32 }));
                    results[1] = Some((Slot::unit(low + 1), Value::High { vaddr, source: i as u32 }));
                }
            }
            Kind::MovB32 | Kind::MovkI32 => {
                if let (Some(to), Some(value)) = (register(nth(inst, 0)), scalar(values, nth(inst, 1))) {
                    results[0] = Some((Slot::unit(to), value));
                }
            }
            Kind::MovB64 => {
                if let Some(to) = register(nth(inst, 0)) {
                    let (low, high) = pair(values, nth(inst, 1));
                    results[0] = low.map(|v| (Slot::unit(to), v));
                    results[1] = high.map(|v| (Slot::unit(to + 1), v));
                }
            }
            Kind::AddU32 | Kind::AddcU32 | Kind::SubU32 | Kind::SubbU32 | Kind::AddI32 | Kind::SubI32 => {
                let (sum, carry) = arithmetic(
                    kind,
                    scalar(values, nth(inst, 1)),
                    scalar(values, nth(inst, 2)),
                    values.get(Slot::unit(Reg::SCC.index())),
                );
                results[0] = register(nth(inst, 0)).zip(sum).map(|(to, v)| (Slot::unit(to), v));
                results[1] = carry.map(|v| (Slot::unit(Reg::SCC.index()), v));
            }
            Kind::Writelane if self.track_lanes => {
                if let (Some(to), Some(value), Some(Value::Const(lane))) =
                    (register(nth(inst, 0)), scalar(values, nth(inst, 1)), scalar(values, nth(inst, 2)))
                {
                    results[0] = Some((Slot::lane(to, lane), value));
                }
            }
            Kind::Readlane if self.track_lanes => {
                if let (Some(to), Some(from), Some(Value::Const(lane))) =
                    (register(nth(inst, 0)), register(nth(inst, 1)), scalar(values, nth(inst, 2)))
                {
                    results[0] = values.get(Slot::lane(from, lane)).map(|v| (Slot::unit(to), v));
                }
            }
            Kind::AddkI32 => {
                if let Some(to) = register(nth(inst, 0)) {
                    let (sum, _) =
                        arithmetic(Kind::AddI32, values.get(Slot::unit(to)), scalar(values, nth(inst, 1)), None);
                    results[0] = sum.map(|v| (Slot::unit(to), v));
                }
            }
            // The high half of an address is canonical anyway.
            Kind::SextI16 => {
                let value = scalar(values, nth(inst, 1)).and_then(|v| match v {
                    Value::Const(n) => Some(Value::Const(n as u16 as i16 as u32)),
                    high @ Value::High { .. } => Some(high),
                    _ => None,
                });
                results[0] = register(nth(inst, 0)).zip(value).map(|(to, v)| (Slot::unit(to), v));
            }
            Kind::AddU64 => {
                let (a, b) = (pair(values, nth(inst, 1)), pair(values, nth(inst, 2)));
                if let (Some(to), Some((low, high))) = (register(nth(inst, 0)), add_pairs(a, b)) {
                    results[0] = Some((Slot::unit(to), low));
                    results[1] = Some((Slot::unit(to + 1), high));
                }
            }
            Kind::VectorMov if self.track_lanes => {
                if let Some(to) = register(nth(inst, 0)) {
                    results[0] = vector(values, nth(inst, 1)).map(|v| (Slot::every_lane(to), v));
                }
            }
            // With no lane on, it reads lane 0, whatever that holds.
            Kind::Readfirstlane if self.track_lanes && values.get(Slot::SOME_LANE).is_some() => {
                if let (Some(to), Some(from)) = (register(nth(inst, 0)), register(nth(inst, 1))) {
                    results[0] = values.get(Slot::every_lane(from)).map(|v| (Slot::unit(to), v));
                }
            }
            Kind::ScalarLoad => self.load(inst, i, values, &mut loaded),
            _ => {}
        }
        match kind {
            Kind::VectorStore | Kind::VectorLoad => self.scratch(inst, kind, values),
            Kind::CallDirect | Kind::Swappc => {
                let target = match kind {
                    Kind::CallDirect => inst.branch_target(self.draft.vaddr(i)),
                    _ => register(nth(inst, 1)).and_then(|low| values.address(low)).map(|a| a.0),
                };
                match target.and_then(|t| (self.context.clobbers)(t)) {
                    Some(lost) => {
                        values.retain(|slot| {
                            let unit = Values::unit_of(slot).map(Reg::from_index);
                            unit.is_none_or(|unit| unit.is_some_and(|unit| !lost.regs.contains(unit)))
                        });
                        if lost.regs.contains(Reg::EXEC_LO) || lost.regs.contains(Reg::EXEC_HI) {
                            forget_exec(values);
                        }
                        if lost.scratch {
                            values.forget_memory();
                        }
                    }
                    None => values.clear(),
                }
            }
            Kind::ScalarRelative => values.clear(),
            // Writes one lane and leaves the others.
            Kind::Writelane => {
                if let Some(vgpr) = register(nth(inst, 0)) {
                    match scalar(values, nth(inst, 2)) {
                        Some(Value::Const(lane)) => values.set(Slot::lane(vgpr, lane), None),
                        _ => values.forget_lanes(vgpr),
                    }
                }
            }
            _ => self.forget_written(inst, values),
        }
        // The link register of a call is its callee's, and gone when it comes back.
        if matches!(kind, Kind::CallDirect | Kind::Swappc)
            && let Some(link) = register(nth(inst, 0))
        {
            values.set(Slot::unit(link), None);
            values.set(Slot::unit(link + 1), None);
        }
        match exec {
            ExecEffect::None => {}
            ExecEffect::Full => {
                values.forget_every_lane();
                values.set(Slot::SOME_LANE, Some(YES));
                values.set(Slot::ALL_LANES, Some(YES));
            }
            ExecEffect::Grow => values.forget_every_lane(),
            ExecEffect::Shrink => {
                values.set(Slot::SOME_LANE, None);
                values.set(Slot::ALL_LANES, None);
            }
            ExecEffect::Unknown => forget_exec(values),
        }
        for (slot, value) in results.into_iter().flatten().chain(loaded) {
            values.set(slot, Some(value));
        }
    }

    fn forget_written(&self, inst: &Inst, values: &mut Values) {
        self.context.classes.for_each_access(inst, |a| {
            if a.access.writes() {
                if a.reg.is_vgpr() || a.reg.is_agpr() {
                    values.forget_lanes(a.reg.index());
                } else {
                    values.set(Slot::unit(a.reg.index()), None);
                }
                if matches!(a.reg, Reg::FLAT_SCRATCH_LO | Reg::FLAT_SCRATCH_HI) {
                    values.forget_memory();
                }
            }
        });
        if values.any_memory() && scratch::may_write(inst) {
            values.forget_memory();
        }
    }

    /// Loads and stores of VGPRs, which may be spills.
    fn scratch(&self, inst: &Inst, kind: Kind, values: &mut Values) {
        let generation = self.context.classes.mode.target().generation();
        let place = scratch::place(inst, generation, |operand| scalar(values, Some(operand)));
        let place = place.filter(|_| self.track_lanes);
        match (kind, place) {
            (Kind::VectorLoad, Some(place)) if values.knows(place.frame) => {
                self.forget_written(inst, values);
                place.dwords().for_each(|(vgpr, dword)| values.reload(vgpr, dword));
            }
            (Kind::VectorStore, Some(place)) => {
                values.enter(place.frame);
                place.dwords().for_each(|(vgpr, dword)| values.spill(vgpr, dword));
            }
            _ => self.forget_written(inst, values),
        }
    }

    /// A scalar load from an address of the object, of memory that never changes.
    fn load(&self, inst: &Inst, i: usize, values: &Values, out: &mut Vec<(Slot, Value)>) {
        let (Some(Operand::Reg(to)), Some(base)) = (nth(inst, 0), register(nth(inst, 1))) else { return };
        let Some((base, _)) = values.address(base) else { return };
        let mut vaddr = base;
        for (_, operand) in inst.operands().skip(2).take(2) {
            match operand {
                Operand::Imm(offset) => vaddr = vaddr.wrapping_add_signed(offset),
                other => match scalar(values, Some(other)) {
                    Some(Value::Const(offset)) => vaddr = vaddr.wrapping_add(u64::from(offset)),
                    _ => return,
                },
            }
        }
        let source = i as u32;
        let mut unit = 0;
        while unit < usize::from(to.count) {
            let at = vaddr.wrapping_add(4 * unit as u64);
            let slot = |n: usize| Slot::unit(to.first.index() + n);
            if unit + 1 < usize::from(to.count)
                && let Some(pointer) = self.context.places.constant_pointer(at)
            {
                out.push((slot(unit), Value::Low { vaddr: pointer as u32, source }));
                out.push((slot(unit + 1), Value::High { vaddr: pointer, source }));
                unit += 2;
                continue;
            }
            if let Some(word) = self.context.places.constant_word(at) {
                out.push((slot(unit), Value::Const(word)));
            }
            unit += 1;
        }
    }
}

/// EXEC may be anything now.
fn forget_exec(values: &mut Values) {
    values.forget_every_lane();
    values.set(Slot::SOME_LANE, None);
    values.set(Slot::ALL_LANES, None);
}

/// What a vector operand holds in every lane that is on.
fn vector(values: &Values, operand: Option<Operand>) -> Option<Value> {
    match operand? {
        Operand::Reg(range) if range.first.is_vgpr() || range.first.is_agpr() => {
            values.get(Slot::every_lane(range.first.index()))
        }
        other => scalar(values, Some(other)),
    }
}

fn nth(inst: &Inst, n: usize) -> Option<Operand> {
    inst.operands().nth(n).map(|(_, operand)| operand)
}

fn register(operand: Option<Operand>) -> Option<usize> {
    match operand {
        Some(Operand::Reg(range)) => Some(range.first.index()),
        _ => None,
    }
}

/// The value of a 32-bit scalar operand.
fn scalar(values: &Values, operand: Option<Operand>) -> Option<Value> {
    match operand? {
        Operand::Reg(range) => values.get(Slot::unit(range.first.index())),
        Operand::Imm(n) => Some(Value::Const(n as u32)),
        Operand::Special(_) => None,
        constant => constant.bits(DataType::I32).map(|b| Value::Const(b as u32)),
    }
}

/// The halves of a 64-bit scalar operand.
fn pair(values: &Values, operand: Option<Operand>) -> (Option<Value>, Option<Value>) {
    match operand {
        Some(Operand::Reg(range)) => {
            let low = range.first.index();
            (values.get(Slot::unit(low)), values.get(Slot::unit(low + 1)))
        }
        Some(Operand::Special(_)) | None => (None, None),
        Some(constant) => match constant.bits(DataType::B64) {
            Some(bits) => (Some(Value::Const(bits as u32)), Some(Value::Const((bits >> 32) as u32))),
            None => (None, None),
        },
    }
}
