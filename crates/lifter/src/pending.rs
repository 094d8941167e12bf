//! Memory results that may still be under way: registers that an outstanding load may write, at any time until a wait
//! says that it has.
//!
//! The hardware counts outstanding operations (vmcnt, lgkmcnt, expcnt) and `s_waitcnt` waits until a counter is low
//! enough (Vega ISA, "Manually Inserted Wait States"). Vector memory operations come back in the order they were
//! issued, loads and stores alike, so `vmcnt(n)` says that all but the last n are done. That fails while a FLAT
//! operation is out, which may be served by LDS instead: then only `vmcnt(0)` says something. DS operations are in
//! order among themselves; scalar loads, messages, FLAT and GDS operations mix with them in any order, and then only
//! `lgkmcnt(0)` says something. (LLVM's SIInsertWaitcnts, `counterOutOfOrder`, draws the same lines.)
//!
//! Registers that an outstanding *store* reads are not listed: since GFX7 the hardware has read them when the next
//! instruction is issued (LLVM: `vmemWriteNeedsExpWaitcnt` is false from Sea Islands on). Exports and GDS operations
//! do hold theirs until expcnt says otherwise, and are listed.

use luthier_isa::{Field, Flags, Inst, Reg, RegSet};

use crate::class::Kind;
use crate::{BlockId, FuncId, FunctionKind, InstrId, Program};

/// Values for `s_waitcnt`; `None` where that counter need not be waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    pub vmcnt: Option<u8>,
    pub lgkmcnt: Option<u8>,
    pub expcnt: Option<u8>,
}

const MAX_VMCNT: u32 = 63;
const MAX_LGKMCNT: u32 = 15;
const MAX_EXPCNT: u32 = 7;

impl Wait {
    pub fn is_none(&self) -> bool {
        *self == Wait::default()
    }
    /// The immediate of gfx9's `s_waitcnt`: vmcnt in bits 0 to 3 and 14 to 15, expcnt in 4 to 6, lgkmcnt in 8 to 11.
    pub fn encode(&self) -> u16 {
        let vm = self.vmcnt.map_or(MAX_VMCNT, u32::from).min(MAX_VMCNT);
        let lgkm = self.lgkmcnt.map_or(MAX_LGKMCNT, u32::from).min(MAX_LGKMCNT);
        let exp = self.expcnt.map_or(MAX_EXPCNT, u32::from).min(MAX_EXPCNT);
        (vm & 15 | exp << 4 | lgkm << 8 | (vm >> 4) << 14) as u16
    }
    /// A counter at its maximum is not waited for.
    pub fn decode(immediate: u16) -> Wait {
        let imm = u32::from(immediate);
        let below = |value: u32, max: u32| (value < max).then_some(value as u8);
        Wait {
            vmcnt: below(imm & 15 | imm >> 14 << 4, MAX_VMCNT),
            lgkmcnt: below(imm >> 8 & 15, MAX_LGKMCNT),
            expcnt: below(imm >> 4 & 7, MAX_EXPCNT),
        }
    }
}

// What is out that lgkmcnt counts.
const LDS: u8 = 1;
const GDS: u8 = 2;
const SMEM: u8 = 4;
const MESSAGE: u8 = 8;
const FLAT: u8 = 16;

/// A register that waits for a counter, and how many operations that count have been issued since, at least.
type Waiting = Vec<(Reg, u8)>;

/// What is under way at a point.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InFlight {
    vm: Waiting,
    lgkm: Waiting,
    exp: RegSet,
    flat_in_vm: bool,
    in_lgkm: u8,
}

fn issue(list: &mut Waiting, targets: &[Reg]) {
    list.iter_mut().for_each(|e| e.1 = e.1.saturating_add(1));
    for &reg in targets {
        match list.binary_search_by_key(&reg, |e| e.0) {
            Ok(i) => list[i].1 = 0,
            Err(i) => list.insert(i, (reg, 0)),
        }
    }
}

fn merge(into: &mut Waiting, other: &Waiting) {
    for &(reg, age) in other {
        match into.binary_search_by_key(&reg, |e| e.0) {
            Ok(i) => into[i].1 = into[i].1.min(age),
            Err(i) => into.insert(i, (reg, age)),
        }
    }
}

impl InFlight {
    /// Registers that must be left alone: an outstanding operation may write them, or has yet to read them.
    pub fn registers(&self) -> RegSet {
        let mut all = self.exp;
        self.vm.iter().chain(&self.lgkm).for_each(|e| all.insert(e.0));
        all
    }
    pub fn is_empty(&self) -> bool {
        self.vm.is_empty() && self.lgkm.is_empty() && self.exp.is_empty()
    }
    /// The wait after which none of `registers` is under way.
    pub fn wait_for(&self, registers: &RegSet) -> Wait {
        let youngest = |list: &Waiting| list.iter().filter(|e| registers.contains(e.0)).map(|e| e.1).min();
        Wait {
            vmcnt: youngest(&self.vm).map(|age| if self.flat_in_vm { 0 } else { age }),
            lgkmcnt: youngest(&self.lgkm).map(|age| if self.lgkm_in_order() { age } else { 0 }),
            expcnt: self.exp.intersects(registers).then_some(0),
        }
    }
    fn lgkm_in_order(&self) -> bool {
        self.in_lgkm == LDS
    }
    fn merge(&mut self, other: &InFlight) -> bool {
        let before = self.clone();
        merge(&mut self.vm, &other.vm);
        merge(&mut self.lgkm, &other.lgkm);
        self.exp.union_with(&other.exp);
        self.flat_in_vm |= other.flat_in_vm;
        self.in_lgkm |= other.in_lgkm;
        *self != before
    }
    fn wait(&mut self, wait: Wait) {
        match wait.vmcnt {
            Some(0) => {
                self.vm.clear();
                self.flat_in_vm = false;
            }
            Some(n) if !self.flat_in_vm => self.vm.retain(|e| e.1 < n),
            _ => {}
        }
        match wait.lgkmcnt {
            Some(0) => {
                self.lgkm.clear();
                self.in_lgkm = 0;
            }
            Some(n) if self.lgkm_in_order() => self.lgkm.retain(|e| e.1 < n),
            _ => {}
        }
        if wait.expcnt == Some(0) {
            self.exp = RegSet::EMPTY;
        }
    }
    fn step(&mut self, kind: Kind, inst: &Inst) {
        let flags = inst.info().flags;
        match kind {
            Kind::Waitcnt => {
                let immediate = inst.field(Field::Simm16).unwrap_or(0) as u16;
                return self.wait(Wait::decode(immediate));
            }
            Kind::Message => {
                self.in_lgkm |= MESSAGE;
                return issue(&mut self.lgkm, &[]);
            }
            // Whether cache maintenance counts does not matter: not counting it only waits for more.
            Kind::CacheControl => return,
            _ => {}
        }
        if !flags.intersects(Flags::VM_CNT | Flags::LGKM_CNT | Flags::EXP_CNT) {
            return;
        }
        let targets = targets(inst);
        let flat = is_flat(flags);
        if flags.contains(Flags::VM_CNT) && flags.intersects(Flags::LOAD | Flags::STORE | Flags::ATOMIC) {
            self.flat_in_vm |= flat;
            issue(&mut self.vm, &targets);
        }
        if flags.contains(Flags::LGKM_CNT) {
            let gds = inst.field(Field::Gds) == Some(1) || inst.info().base.contains("gws");
            self.in_lgkm |= match () {
                _ if flat => FLAT,
                _ if gds => GDS,
                _ if flags.contains(Flags::DS) => LDS,
                _ => SMEM,
            };
            issue(&mut self.lgkm, &targets);
            if gds {
                hold(&mut self.exp, inst);
            }
        }
        if flags.contains(Flags::EXPORT) {
            hold(&mut self.exp, inst);
        }
    }
    /// Everything that these instructions may leave under way, in any order.
    fn anything(mut self) -> InFlight {
        self.vm.iter_mut().chain(&mut self.lgkm).for_each(|e| e.1 = 0);
        InFlight { flat_in_vm: true, in_lgkm: LDS | GDS | SMEM | MESSAGE | FLAT, ..self }
    }
}

/// `flat_*` proper, not `global_*` or `scratch_*`.
fn is_flat(flags: Flags) -> bool {
    flags.contains(Flags::FLAT) && !flags.intersects(Flags::GLOBAL | Flags::SCRATCH)
}

/// The registers that a memory operation writes when it comes back.
fn targets(inst: &Inst) -> Vec<Reg> {
    let scalar = inst.info().flags.contains(Flags::SMEM);
    let mut targets = Vec::new();
    inst.for_each_access(|a| {
        let vector = a.reg.is_vgpr() || a.reg.is_agpr();
        if a.access.writes() && (vector || scalar && a.reg.index() < 128) {
            targets.push(a.reg);
        }
    });
    targets
}

/// An export or GDS operation reads its data when its turn comes.
fn hold(exp: &mut RegSet, inst: &Inst) {
    inst.for_each_access(|a| {
        if a.access.reads() && (a.reg.is_vgpr() || a.reg.is_agpr()) {
            exp.insert(a.reg);
        }
    });
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
                        all.step(self.kind(i), self.inst(i));
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
    at_start: Vec<InFlight>,
}

impl<'a> PendingLoads<'a> {
    pub fn of(program: &'a Program, func: FuncId) -> PendingLoads<'a> {
        let function = program.function(func);
        let (blocks, first) = (function.blocks, function.blocks.first);
        let index = |b: BlockId| (b.0 - first.0) as usize;
        let dispatched = function.kind == FunctionKind::Kernel
            && program.callers(func).is_empty()
            && !program.is_address_taken(func);
        let mut states: Vec<Option<InFlight>> = vec![None; blocks.len()];
        let mut work = std::collections::BTreeSet::new();
        if !blocks.is_empty() {
            let entry = if dispatched { InFlight::default() } else { program.left_by_component(func).clone() };
            states[index(function.entry)] = Some(entry);
            work.insert(function.entry);
        }
        if let Some(block) = function.second_entry.and_then(|v| program.instr_at(v)).map(|i| program.block_of(i)) {
            states[index(block)].get_or_insert_default();
            work.insert(block);
        }
        // Where control may come in unseen: jumps from elsewhere, blocks that nothing is known to reach.
        let inside = function.entered_inside.iter().filter_map(|&v| program.instr_at(v)).map(|i| program.block_of(i));
        let unreached = blocks.iter().filter(|&b| {
            let dispatched = b == function.entry || Some(program.block_vaddr(b)) == function.second_entry;
            program.wild_jumps && program.preds(b).is_empty() && !dispatched
        });
        for block in inside.chain(unreached) {
            states[index(block)] = Some(program.left_by_component(func).clone());
            work.insert(block);
        }
        while let Some(block) = work.pop_first() {
            let Some(mut state) = states[index(block)].clone() else { continue };
            step_block(program, func, block, &mut state, |_, _| {});
            for &succ in program.succs(block) {
                let changed = match &mut states[index(succ)] {
                    Some(old) => old.merge(&state),
                    none => {
                        *none = Some(state.clone());
                        true
                    }
                };
                if changed {
                    work.insert(succ);
                }
            }
        }
        // What nothing reaches does not run.
        PendingLoads { program, first, at_start: states.into_iter().map(Option::unwrap_or_default).collect() }
    }
    fn walk(&self, block: BlockId, mut each: impl FnMut(InstrId, &InFlight)) -> InFlight {
        let mut state = self.at_start[(block.0 - self.first.0) as usize].clone();
        let func = self.program.block(block).func;
        step_block(self.program, func, block, &mut state, |i, s| each(i, s));
        state
    }
    /// What is under way before every instruction of a block, in order. One walk over the block: use this rather than
    /// [`PendingLoads::at`] when more than one point of it is of interest.
    pub fn points(&self, block: BlockId) -> Vec<InFlight> {
        let mut points = Vec::with_capacity(self.program.block(block).instrs.len());
        self.walk(block, |_, state| points.push(state.clone()));
        points
    }
    /// What is under way just before an instruction of the function.
    pub fn at(&self, instr: InstrId) -> InFlight {
        let mut found = InFlight::default();
        self.walk(self.program.block_of(instr), |i, state| {
            if i == instr {
                found = state.clone();
            }
        });
        found
    }
    /// At the end of a block; of a call, where it returns to.
    pub fn at_end(&self, block: BlockId) -> InFlight {
        self.walk(block, |_, _| {})
    }
    /// Registers that an outstanding operation may write just before an instruction.
    pub fn pending_loads(&self, instr: InstrId) -> RegSet {
        self.at(instr).registers()
    }
}

fn step_block(
    p: &Program,
    func: FuncId,
    block: BlockId,
    state: &mut InFlight,
    mut each: impl FnMut(InstrId, &InFlight),
) {
    for i in p.block(block).instrs.iter() {
        each(i, state);
        match p.kind(i) {
            Kind::CallDirect | Kind::Swappc => {
                state.merge(p.left_by_component(func));
            }
            kind => state.step(kind, p.inst(i)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_survive_encoding() {
        for imm in [0u16, 0xc07f, 0x0f70, 0xcf7f, 0x0f7e, 0xc17f] {
            assert_eq!(Wait::decode(imm).encode(), imm, "{imm:#x}");
        }
        assert_eq!(Wait::decode(0x0f70), Wait { vmcnt: Some(0), ..Wait::default() });
        assert_eq!(Wait::decode(0xc07f), Wait { lgkmcnt: Some(0), ..Wait::default() });
    }

    #[test]
    fn counting_tells_old_loads_from_new() {
        let (v, w) = (Reg::vgpr(1), Reg::vgpr(2));
        let mut s = InFlight::default();
        issue(&mut s.vm, &[v]);
        issue(&mut s.vm, &[w]);
        assert_eq!(s.wait_for(&[v].into_iter().collect()).vmcnt, Some(1));
        s.wait(Wait { vmcnt: Some(1), ..Wait::default() });
        assert_eq!(s.registers(), [w].into_iter().collect());
        s.flat_in_vm = true;
        issue(&mut s.vm, &[v]);
        assert_eq!(s.wait_for(&[w].into_iter().collect()).vmcnt, Some(0));
        s.wait(Wait { vmcnt: Some(1), ..Wait::default() });
        assert_eq!(s.registers().len(), 2);
    }
}
