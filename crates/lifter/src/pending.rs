//! Memory results that may still be under way: registers that an outstanding load may write, at any time until a wait
//! says that it has.
//!
//! The hardware counts outstanding operations, and `s_waitcnt` and its kin wait until a counter is low enough (Vega ISA,
//! "Manually Inserted Wait States"; [`luthier_isa::wait`] has the counters of each generation, and what counts on them). Vector memory operations come back in the order they were
//! issued, loads and stores alike, so `vmcnt(n)` says that all but the last n are done. That fails while a FLAT
//! operation is out, which may be served by LDS instead: then only `vmcnt(0)` says something. DS operations are in
//! order among themselves; scalar loads, messages, FLAT and GDS operations mix with them in any order, and then only
//! `lgkmcnt(0)` says something. (LLVM's SIInsertWaitcnts, `counterOutOfOrder`, draws the same lines.)
//!
//! Registers that an outstanding *store* reads are not listed: since GFX7 the hardware has read them when the next
//! instruction is issued (LLVM: `vmemWriteNeedsExpWaitcnt` is false from Sea Islands on). Exports and GDS operations
//! do hold theirs until expcnt says otherwise, and are listed.

use std::rc::Rc;

use luthier_isa::wait::{self, Counted};
use luthier_isa::{Counter, Flags, Inst, Reg, RegSet, Wait};
use smallvec::SmallVec;

use crate::class::Kind;
use crate::worklist::WorkList;
use crate::{Block, BlockId, FuncId, FunctionKind, InstrId, Program};

/// A register that waits for a counter, and how many operations that count have been issued since, at least.
type Waiting = Vec<(Reg, u8)>;

/// What one counter counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Queue {
    waiting: Waiting,
    /// Kinds of operation that are out, one bit each.
    kinds: u16,
    /// Operations that are out, at most; [`MANY`] stands for any number.
    most: u8,
}

const MANY: u8 = u8::MAX;

const fn bit(kind: wait::Kind) -> u16 {
    1 << kind as u8
}

/// Kinds whose operations may overtake one another.
const UNORDERED: u16 =
    bit(wait::Kind::Flat) | bit(wait::Kind::Gds) | bit(wait::Kind::Scalar) | bit(wait::Kind::Message);

impl Queue {
    fn issue(&mut self, counted: Counted, targets: &[Reg]) {
        self.kinds |= bit(counted.kind);
        self.most = self.most.saturating_add(counted.most);
        self.waiting.iter_mut().for_each(|e| e.1 = e.1.saturating_add(1));
        for &reg in targets {
            match self.waiting.binary_search_by_key(&reg, |e| e.0) {
                Ok(i) => self.waiting[i].1 = 0,
                Err(i) => self.waiting.insert(i, (reg, 0)),
            }
        }
    }
    /// Whether there is more than before.
    fn merge(&mut self, other: &Queue) -> bool {
        let before = (self.kinds, self.most);
        self.kinds |= other.kinds;
        self.most = self.most.max(other.most);
        let mut more = before != (self.kinds, self.most);
        for &(reg, age) in &other.waiting {
            match self.waiting.binary_search_by_key(&reg, |e| e.0) {
                Ok(i) if self.waiting[i].1 <= age => continue,
                Ok(i) => self.waiting[i].1 = age,
                Err(i) => self.waiting.insert(i, (reg, age)),
            }
            more = true;
        }
        more
    }
    /// The oldest is done first.
    fn in_order(&self) -> bool {
        self.kinds & (self.kinds.wrapping_sub(1) | UNORDERED) == 0
    }
    fn wait(&mut self, upto: u8) {
        if upto == 0 {
            (self.kinds, self.most) = (0, 0);
            return self.waiting.clear();
        }
        self.most = self.most.min(upto);
        if self.in_order() {
            self.waiting.retain(|e| e.1 < upto);
        }
    }
    /// The value to wait for, so that none of the registers waits any more.
    fn wait_for(&self, registers: &RegSet) -> Option<u8> {
        let youngest = self.waiting.iter().filter(|e| registers.contains(e.0)).map(|e| e.1).min();
        youngest.map(|age| if self.in_order() { age } else { 0 })
    }
}

/// What is under way at a point.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InFlight {
    queues: [Queue; Counter::ALL.len()],
    /// Registers that expcnt guards: exports and GDS operations have yet to read them, or LDS parameters to come. Few
    /// kernels have any: absent then, as the state is copied at each branch.
    exp: Option<Box<RegSet>>,
}

impl InFlight {
    /// Registers that must be left alone: an outstanding operation may write them, or has yet to read them.
    pub fn registers(&self) -> RegSet {
        let mut all = self.exp.as_deref().copied().unwrap_or(RegSet::EMPTY);
        self.queues.iter().flat_map(|q| &q.waiting).for_each(|e| all.insert(e.0));
        all
    }
    /// Whether a register must be left alone.
    pub fn holds(&self, reg: Reg) -> bool {
        let waits = |q: &Queue| q.waiting.binary_search_by_key(&reg, |e| e.0).is_ok();
        self.queues.iter().any(waits) || self.exp.as_ref().is_some_and(|exp| exp.contains(reg))
    }
    pub fn is_empty(&self) -> bool {
        self.exp.is_none() && self.queues.iter().all(|q| q.waiting.is_empty())
    }
    /// The most that a counter can stand at; `None` where nothing bounds it. A processor that does not have the counter
    /// has it at zero.
    pub fn outstanding(&self, counter: Counter) -> Option<u8> {
        Some(self.queues[counter as usize].most).filter(|n| *n < MANY)
    }
    /// The wait after which none of `registers` is under way.
    pub fn wait_for(&self, registers: &RegSet) -> Wait {
        let mut wait = Wait::default();
        for counter in Counter::ALL {
            *wait.of(counter) = self.queues[counter as usize].wait_for(registers);
        }
        if self.exp.as_ref().is_some_and(|exp| exp.intersects(registers)) {
            wait.expcnt = Some(0);
        }
        wait
    }
    fn merge(&mut self, other: &InFlight) -> bool {
        let mut more = false;
        self.queues.iter_mut().zip(&other.queues).for_each(|(a, b)| more |= a.merge(b));
        if let Some(exp) = &other.exp {
            let ours = self.exp.get_or_insert_default();
            more |= !ours.contains_all(exp);
            ours.union_with(exp);
        }
        more
    }
    fn wait(&mut self, wait: Wait) {
        wait.bounds().for_each(|(counter, n)| self.queues[counter as usize].wait(n));
        if wait.expcnt == Some(0) {
            self.exp = None;
        }
    }
    fn step(&mut self, inst: &Inst) {
        if !wait::concerns(inst) {
            return;
        }
        let op = inst.info().op();
        if op.is_wait() {
            return self.wait(Wait::of_instruction(inst));
        }
        // Whether cache maintenance counts does not matter: not counting it only waits for more.
        if op.is_cache_control() {
            return;
        }
        let mut counted = wait::counted(inst).peekable();
        if counted.peek().is_none() {
            return;
        }
        let targets = targets(inst);
        for counted in counted {
            let returns = !matches!(counted.counter, Counter::Vs | Counter::Exp | Counter::X);
            self.queues[counted.counter as usize].issue(counted, if returns { &targets } else { &[] });
            if counted.counter == Counter::Exp {
                // LDS parameters and direct loads (RDNA3) come back under expcnt.
                let written: &[Reg] = if counted.kind == wait::Kind::Export { &targets } else { &[] };
                for reg in held(inst).iter().chain(written) {
                    self.exp.get_or_insert_default().insert(*reg);
                }
            }
        }
    }
    /// Everything that these instructions may leave under way, in any order.
    fn anything(mut self) -> InFlight {
        for queue in &mut self.queues {
            queue.waiting.iter_mut().for_each(|e| e.1 = 0);
            (queue.kinds, queue.most) = (u16::MAX, MANY);
        }
        self
    }
}

/// The registers that an operation writes when it comes back: vector registers, or the scalars of a scalar load or of a
/// message's answer.
fn targets(inst: &Inst) -> SmallVec<[Reg; 16]> {
    let scalar = inst.info().flags.contains(Flags::SMEM) || inst.info().op().is_message();
    let mut targets = SmallVec::new();
    inst.for_each_access(|a| {
        let vector = a.reg.is_vgpr() || a.reg.is_agpr();
        if a.access.writes() && (vector || scalar && a.reg.index() < 128) {
            targets.push(a.reg);
        }
    });
    targets
}

/// An export or GDS operation reads its data when its turn comes.
fn held(inst: &Inst) -> SmallVec<[Reg; 16]> {
    let mut held = SmallVec::new();
    inst.for_each_access(|a| {
        if a.access.reads() && (a.reg.is_vgpr() || a.reg.is_agpr()) {
            held.push(a.reg);
        }
    });
    held
}

impl Program {
    /// What some function of a component may leave under way.
    fn left_by_component(&self, func: FuncId) -> &InFlight {
        self.component_cache(func).get_or_init(|| {
            let mut all = InFlight::default();
            for &f in self.component(func) {
                for i in self.function_instrs(f).iter() {
                    // A wait changes nothing here: each instruction may be the last one.
                    if self.kind(i) != Kind::Waitcnt {
                        all.step(self.inst(i));
                    }
                }
            }
            all.anything()
        })
    }
}

/// The memory results under way at every point of one function. Behind a call and at a called function's entry,
/// whatever any function of the component loads may be.
pub struct PendingLoads<'a> {
    program: &'a Program,
    first: BlockId,
    at_start: Vec<Rc<InFlight>>,
    /// Instructions that do not run after all; ascending.
    absent: Rc<[InstrId]>,
}

impl<'a> PendingLoads<'a> {
    pub fn of(program: &'a Program, func: FuncId) -> PendingLoads<'a> {
        PendingLoads::without(program, func, Rc::default())
    }
    /// The same where these instructions of the function, by number, do not run: neither their loads nor their waits.
    pub fn without(program: &'a Program, func: FuncId, absent: Rc<[InstrId]>) -> PendingLoads<'a> {
        let function = program.function(func);
        let (blocks, first) = (function.blocks, function.blocks.first);
        let index = |b: BlockId| (b.0 - first.0) as usize;
        let dispatched = function.kind == FunctionKind::Kernel
            && program.callers(func).is_empty()
            && !program.is_address_taken(func);
        let mut states: Vec<Option<InFlight>> = vec![None; blocks.len()];
        let mut work = WorkList::new(blocks.len());
        if !blocks.is_empty() {
            let entry = if dispatched { InFlight::default() } else { program.left_by_component(func).clone() };
            states[index(function.entry)] = Some(entry);
            work.insert(index(function.entry));
        }
        if let Some(block) = function.second_entry.and_then(|v| program.instr_at(v)).map(|i| program.block_of(i)) {
            states[index(block)].get_or_insert_default();
            work.insert(index(block));
        }
        // Where control may come in unseen: jumps from elsewhere, blocks that nothing is known to reach.
        let inside = function.entered_inside.iter().filter_map(|&v| program.instr_at(v)).map(|i| program.block_of(i));
        let unreached = blocks.iter().filter(|&b| {
            let dispatched = b == function.entry || Some(program.block_vaddr(b)) == function.second_entry;
            program.wild_jumps && program.preds(b).is_empty() && !dispatched
        });
        for block in inside.chain(unreached) {
            states[index(block)] = Some(program.left_by_component(func).clone());
            work.insert(index(block));
        }
        while let Some(at) = work.pop_first() {
            let Some(mut state) = states[at].clone() else { continue };
            let block = first.offset(at as u32);
            program.block(block).instrs.iter().for_each(|i| {
                step(program, func, i, &absent, &mut state);
            });
            for &succ in program.succs(block) {
                let changed = match &mut states[index(succ)] {
                    Some(old) => old.merge(&state),
                    none => {
                        *none = Some(state.clone());
                        true
                    }
                };
                if changed {
                    work.insert(index(succ));
                }
            }
        }
        // What nothing reaches does not run.
        let at_start = states.into_iter().map(|state| Rc::new(state.unwrap_or_default())).collect();
        PendingLoads { program, first, at_start, absent }
    }
    /// What is under way before every instruction of a block, in order, and at its end. One walk over the block: use this
    /// rather than [`PendingLoads::at`] when more than one point of it is of interest.
    pub fn points(&self, block: BlockId) -> Vec<Rc<InFlight>> {
        let all: Vec<usize> = (0..=self.program.block(block).instrs.len()).collect();
        self.points_at(block, &all).into_iter().map(|(_, point)| point).collect()
    }
    /// The same before some of the block's instructions, by their numbers, which ascend; its end counts as one. Each comes
    /// with its number.
    pub fn points_at(&self, block: BlockId, numbers: &[usize]) -> Vec<(usize, Rc<InFlight>)> {
        let Block { func, instrs, .. } = *self.program.block(block);
        let mut points: Vec<(usize, Rc<InFlight>)> = Vec::with_capacity(numbers.len());
        let Some(last) = numbers.last() else { return points };
        let mut state = self.at_start[(block.0 - self.first.0) as usize].clone();
        let mut wanted = numbers.iter().copied().peekable();
        for (n, i) in instrs.iter().take(*last).enumerate() {
            if wanted.next_if_eq(&n).is_some() {
                points.push((n, state.clone()));
            }
            // Few instructions change anything: what does not change is shared with the last point.
            if matters(self.program, i, &self.absent) {
                step(self.program, func, i, &self.absent, Rc::make_mut(&mut state));
            }
        }
        points.extend(wanted.next().map(|n| (n, state)));
        points
    }
    /// What is under way just before an instruction of the function.
    pub fn at(&self, instr: InstrId) -> InFlight {
        let block = self.program.block_of(instr);
        let Block { func, instrs, .. } = *self.program.block(block);
        let mut state = InFlight::clone(&self.at_start[(block.0 - self.first.0) as usize]);
        instrs.iter().take_while(|i| *i != instr).for_each(|i| {
            step(self.program, func, i, &self.absent, &mut state);
        });
        state
    }
    /// Registers that an outstanding operation may write just before an instruction.
    pub fn pending_loads(&self, instr: InstrId) -> RegSet {
        self.at(instr).registers()
    }
}

/// An instruction may change what is under way.
fn matters(p: &Program, i: InstrId, absent: &[InstrId]) -> bool {
    let calls = || matches!(p.kind(i), Kind::CallDirect | Kind::Swappc);
    (wait::concerns(p.inst(i)) || calls()) && absent.binary_search(&i).is_err()
}

/// What an instruction changes.
fn step(p: &Program, func: FuncId, i: InstrId, absent: &[InstrId], state: &mut InFlight) {
    match p.kind(i) {
        _ if absent.binary_search(&i).is_ok() => {}
        Kind::CallDirect | Kind::Swappc => {
            state.merge(p.left_by_component(func));
        }
        _ => state.step(p.inst(i)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_tells_old_loads_from_new() {
        let (v, w) = (Reg::vgpr(1), Reg::vgpr(2));
        let mut s = InFlight::default();
        let vm = |kind| Counted { counter: Counter::Vm, kind, most: 1 };
        s.queues[0].issue(vm(wait::Kind::Memory), &[v]);
        s.queues[0].issue(vm(wait::Kind::Memory), &[w]);
        assert_eq!(s.wait_for(&[v].into_iter().collect()).vmcnt, Some(1));
        assert_eq!(s.outstanding(Counter::Vm), Some(2));
        s.wait(Wait { vmcnt: Some(1), ..Wait::default() });
        assert_eq!(s.registers(), [w].into_iter().collect());
        assert_eq!(s.outstanding(Counter::Vm), Some(1));
        s.queues[0].issue(vm(wait::Kind::Flat), &[v]);
        assert_eq!(s.wait_for(&[w].into_iter().collect()).vmcnt, Some(0));
        s.wait(Wait { vmcnt: Some(1), ..Wait::default() });
        assert_eq!(s.registers().len(), 2);
        assert_eq!(s.clone().anything().outstanding(Counter::Vm), None);
    }
}
