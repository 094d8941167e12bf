//! Strict mode: what an adversarial device would make of a kernel.
//!
//! Before each instruction a micro-op ([`before`]) checks its registers:
//! * A register that a load in flight may still write is *pending* until a wait guarantees the load: vmcnt counts in
//!   order; of lgkmcnt's, DS operations complete in order among themselves, scalar loads in any order. Reading or
//!   writing a pending register is a finding.
//! * A register, or a lane of a vector register, that nothing has written is *undefined*. Moves (also to and from
//!   lanes, AGPRs and memory) carry undefined values along, as spill code does; any other use of one is a finding.
//!
//! Memory checks are made where memory is accessed, and reported here as well.

use std::collections::{HashSet, VecDeque};

use luthier_isa::{Field, Flags, Inst, Operand, Reg};

use crate::op::{Flow, Op};
use crate::report::FindingKind;
use crate::wave::{Wave, scalar};

/// A finding before the launch adds where it was made.
#[derive(Clone, Debug)]
pub struct RawFinding {
    pub kind: FindingKind,
    pub pc: u64,
    pub lane: Option<u32>,
    pub address: Option<u64>,
    pub message: String,
}

/// What a load in flight will still write, and which counters say when.
#[derive(Clone, Debug)]
struct InFlight {
    regs: Vec<Reg>,
    vm: bool,
    lgkm: bool,
    /// Completes in any order (scalar loads).
    unordered: bool,
}

/// The shadow state of a wave.
pub struct Strict {
    pub findings: Vec<RawFinding>,
    seen: HashSet<(FindingKind, u64)>,
    pc: u64,
    /// Scalars by code.
    defined_scalars: [u64; 4],
    /// Lanes of v0 to v255, then of a0 to a255.
    defined_lanes: Box<[u64; 512]>,
    in_flight: VecDeque<InFlight>,
    /// How many loads in flight write each unit.
    pending: Box<[u8; Reg::COUNT]>,
    any_pending: bool,
}

impl Default for Strict {
    fn default() -> Strict {
        Strict {
            findings: Vec::new(),
            seen: HashSet::new(),
            pc: 0,
            defined_scalars: [0; 4],
            defined_lanes: Box::new([0; 512]),
            in_flight: VecDeque::new(),
            pending: Box::new([0; Reg::COUNT]),
            any_pending: false,
        }
    }
}

impl Strict {
    pub fn report(&mut self, kind: FindingKind, lane: Option<u32>, address: Option<u64>, message: String) {
        if self.seen.insert((kind, self.pc)) {
            self.findings.push(RawFinding { kind, pc: self.pc, lane, address, message });
        }
    }
    /// The dispatch has set this scalar.
    pub fn define_scalar(&mut self, code: u8) {
        self.defined_scalars[usize::from(code) / 64] |= 1 << (code % 64);
    }
    fn scalar_defined(&self, code: u8) -> bool {
        self.defined_scalars[usize::from(code) / 64] >> (code % 64) & 1 != 0
    }
    /// These lanes of v`n` are set.
    pub fn define_lanes(&mut self, n: usize, lanes: u64) {
        self.defined_lanes[n & 511] |= lanes;
    }
    /// A FLAT instruction is about to access memory in some lanes and LDS in others: only those counters matter.
    pub fn flat_lanes(&mut self, memory: u64, lds: u64) {
        if let Some(last) = self.in_flight.back_mut() {
            last.vm &= memory != 0;
            last.lgkm &= lds != 0;
        }
        if memory | lds == 0 {
            self.retire(|item| !item.vm && !item.lgkm);
        }
    }
    fn retire(&mut self, mut done: impl FnMut(&InFlight) -> bool) {
        let pending = &mut self.pending;
        self.in_flight.retain(|item| {
            let done = done(item);
            if done {
                item.regs.iter().for_each(|r| pending[r.index()] -= 1);
            }
            !done
        });
        self.any_pending = self.in_flight.iter().any(|i| !i.regs.is_empty());
    }
    /// `s_waitcnt`: at most `vm` and `lgkm` operations remain.
    fn wait(&mut self, vm: usize, lgkm: usize) {
        let excess = self.in_flight.iter().filter(|i| i.vm).count().saturating_sub(vm);
        let mut left = excess;
        self.in_flight.iter_mut().filter(|i| i.vm).for_each(|i| {
            if left > 0 {
                i.vm = false;
                left -= 1;
            }
        });
        // The adversary picks which of the unordered ones remain, so only zero guarantees those; an ordered one is
        // guaranteed once it and its successors of the same order are more than may remain.
        let ordered = self.in_flight.iter().filter(|i| i.lgkm && !i.unordered).count();
        let mut left = ordered.saturating_sub(lgkm);
        self.in_flight.iter_mut().filter(|i| i.lgkm).for_each(|i| {
            if lgkm == 0 {
                i.lgkm = false;
            } else if !i.unordered && left > 0 {
                i.lgkm = false;
                left -= 1;
            }
        });
        self.retire(|item| !item.vm && !item.lgkm);
    }
    fn launch(&mut self, item: InFlight) {
        item.regs.iter().for_each(|r| self.pending[r.index()] = self.pending[r.index()].saturating_add(1));
        self.any_pending |= !item.regs.is_empty();
        self.in_flight.push_back(item);
    }
}

/// What the checks need to know of an instruction.
pub struct Checked {
    pc: u64,
    /// Every unit touched, with whether it is written.
    touched: Vec<(Reg, bool)>,
    /// Units whose values the instruction uses: to be defined.
    used: Vec<Reg>,
    written: Vec<Reg>,
    kind: Kind,
    vm: bool,
    lgkm: bool,
    unordered: bool,
    /// Its results arrive later.
    load: bool,
}

enum Kind {
    Plain,
    /// Results are defined where the (only) source is.
    Move(Reg),
    /// vmcnt and lgkmcnt that may remain.
    Wait(usize, usize),
    ReadLane {
        from: Reg,
        lane: LaneSource,
    },
    WriteLane {
        from: Option<Reg>,
        lane: LaneSource,
    },
    ReadFirstLane(Reg),
    End,
}

#[derive(Clone, Copy)]
enum LaneSource {
    Scalar(u8),
    Constant(u32),
}

fn lane_of(w: &Wave, source: LaneSource) -> u32 {
    match source {
        LaneSource::Scalar(code) => w.s[usize::from(code)] & 63,
        LaneSource::Constant(lane) => lane & 63,
    }
}

impl Checked {
    pub fn new(inst: &Inst, pc: u64) -> Checked {
        let info = inst.info();
        let mut touched = Vec::new();
        inst.for_each_access(|a| {
            // EXEC, MODE and SCC are always there.
            if !matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI | Reg::SCC) && a.reg.index() < 768 {
                touched.push((a.reg, a.access.writes()));
            }
        });
        let regs = |value: Operand| match value {
            Operand::Reg(range) => range.units().collect(),
            _ => Vec::new(),
        };
        let (mut sources, mut written) = (Vec::new(), Vec::new());
        let store = info.flags.contains(Flags::STORE) && !info.flags.contains(Flags::ATOMIC);
        let spills = store && !info.flags.contains(Flags::GLOBAL) && !info.flags.contains(Flags::DS);
        let permutes = info.flags.contains(Flags::DPP);
        for (operand, value) in inst.operands() {
            if operand.access.writes() {
                written.extend(regs(value));
            }
            // Read-modify-write operands of lane writes and DPP keep what they do not write.
            let keeps = operand.access.writes() && (info.base == "v_writelane_b32" || permutes);
            let data = matches!(operand.field, Field::Vdata | Field::Sdata) && spills;
            if operand.access.reads() && !keeps && !data && !(permutes && operand.field == Field::Src0) {
                sources.push(regs(value));
            }
        }
        written.extend(info.implicit_writes.iter().copied().filter(|r| matches!(*r, Reg::VCC_LO | Reg::VCC_HI)));
        let lane_source = |value: Option<Operand>| match value {
            Some(Operand::Reg(range)) if range.first.index() < 256 => LaneSource::Scalar(range.first.index() as u8),
            Some(Operand::Inline(code)) => {
                LaneSource::Constant(crate::wave::inline_constant32(code as u8).unwrap_or(0))
            }
            _ => LaneSource::Constant(0),
        };
        let source0 = sources.first().and_then(|s| s.first()).copied();
        let values: Vec<Operand> =
            inst.operands().filter(|(o, _)| !o.access.writes()).map(|(_, value)| value).collect();
        let kind = match (info.base, source0) {
            ("s_waitcnt", _) => {
                let simm = inst.field(Field::Simm16).unwrap_or(0);
                // gfx9: vmcnt [15:14] and [3:0], expcnt [6:4], lgkmcnt [11:8].
                Kind::Wait((simm & 15 | simm >> 10 & 0x30) as usize, (simm >> 8 & 15) as usize)
            }
            ("v_readlane_b32", Some(from)) => Kind::ReadLane { from, lane: lane_source(values.get(1).copied()) },
            ("v_writelane_b32", _) => Kind::WriteLane {
                from: values.first().and_then(|&v| regs(v).first().copied()),
                lane: lane_source(values.get(1).copied()),
            },
            ("v_readfirstlane_b32", Some(from)) => Kind::ReadFirstLane(from),
            (
                "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32" | "v_accvgpr_mov_b32" | "s_mov_b32",
                Some(from),
            ) if !permutes => Kind::Move(from),
            ("s_mov_b64" | "v_mov_b64", Some(from)) => Kind::Move(from),
            (base, _) if base.starts_with("s_endpgm") => Kind::End,
            _ => Kind::Plain,
        };
        let used = if matches!(kind, Kind::Plain) { sources.into_iter().flatten().collect() } else { Vec::new() };
        let counted = |flag| info.flags.contains(flag);
        Checked {
            pc,
            touched,
            used,
            load: !written.is_empty() && (counted(Flags::VM_CNT) || counted(Flags::LGKM_CNT)),
            written,
            kind,
            vm: counted(Flags::VM_CNT),
            lgkm: counted(Flags::LGKM_CNT),
            unordered: counted(Flags::SMEM),
        }
    }
}

/// The micro-op before each instruction; `imm` points at its [`Checked`].
pub fn before(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: the block that holds this op holds the boxed `Checked` too, and neither moves nor drops it while the
    // op can run.
    let checked = unsafe { &*(op.imm as *const Checked) };
    let Some(mut strict) = w.strict.take() else { return Flow::Next };
    strict.check(w, checked);
    w.strict = Some(strict);
    Flow::Next
}

impl Strict {
    fn check(&mut self, w: &Wave, inst: &Checked) {
        self.pc = inst.pc;
        if let Kind::Wait(vm, lgkm) = inst.kind {
            self.wait(vm, lgkm);
            return;
        }
        if self.any_pending {
            self.check_pending(inst);
        }
        let exec = w.exec();
        for &reg in &inst.used {
            self.check_defined(reg, exec);
        }
        self.define(w, inst, exec);
        if inst.vm || inst.lgkm {
            let regs = if inst.load { inst.written.clone() } else { Vec::new() };
            self.launch(InFlight { regs, vm: inst.vm, lgkm: inst.lgkm, unordered: inst.unordered });
        }
    }

    fn check_pending(&mut self, inst: &Checked) {
        for &(reg, written) in &inst.touched {
            if self.pending[reg.index()] == 0 {
                continue;
            }
            // A later load of the same counter returns after the earlier one.
            if written && inst.load && !inst.unordered {
                let same = |i: &InFlight| !i.regs.contains(&reg) || (i.vm == inst.vm && i.lgkm == inst.lgkm);
                if self.in_flight.iter().all(same) {
                    continue;
                }
            }
            let what = if written { "written" } else { "read" };
            let message = format!("{reg} is {what} while a load may still write it: no s_waitcnt guarantees the load");
            self.report(FindingKind::MissingWait, None, None, message);
        }
    }

    fn lanes_defined(&self, reg: Reg) -> Option<u64> {
        if reg.is_vgpr() || reg.is_agpr() { Some(self.defined_lanes[reg.index() - 256]) } else { None }
    }

    fn check_defined(&mut self, reg: Reg, exec: u64) {
        if let Some(defined) = self.lanes_defined(reg) {
            let undefined = exec & !defined;
            if undefined != 0 {
                let lane = undefined.trailing_zeros();
                let message =
                    format!("{reg} is read in {} lanes in which nothing has written it", undefined.count_ones());
                self.report(FindingKind::UndefinedRegister, Some(lane), None, message);
            }
        } else if reg.index() < 124 && !self.scalar_defined(reg.index() as u8) {
            self.report(
                FindingKind::UndefinedRegister,
                None,
                None,
                format!("{reg} is read and nothing has written it"),
            );
        }
    }

    fn set_scalar(&mut self, reg: Reg, defined: bool) {
        if let Ok(code) = u8::try_from(reg.index()) {
            let (word, bit) = (usize::from(code) / 64, 1u64 << (code % 64));
            if defined {
                self.defined_scalars[word] |= bit;
            } else {
                self.defined_scalars[word] &= !bit;
            }
        }
    }

    /// Whether a value is defined: all lanes' bits for a scalar.
    fn definedness(&self, reg: Reg) -> u64 {
        match self.lanes_defined(reg) {
            Some(lanes) => lanes,
            None if reg.index() >= 124 || self.scalar_defined(reg.index() as u8) => !0,
            None => 0,
        }
    }

    fn define(&mut self, w: &Wave, inst: &Checked, exec: u64) {
        match inst.kind {
            Kind::ReadLane { from, lane } => {
                let defined = self.definedness(from) >> lane_of(w, lane) & 1 != 0;
                inst.written.iter().for_each(|&r| self.set_scalar(r, defined));
            }
            Kind::ReadFirstLane(from) => {
                let defined = self.definedness(from) >> (exec.trailing_zeros() & 63) & 1 != 0;
                inst.written.iter().for_each(|&r| self.set_scalar(r, defined));
            }
            Kind::WriteLane { from, lane } => {
                let defined = from.is_none_or(|r| self.definedness(r) != 0);
                let bit = 1u64 << lane_of(w, lane);
                for reg in &inst.written {
                    let lanes = &mut self.defined_lanes[(reg.index().max(256) - 256) & 511];
                    *lanes = if defined { *lanes | bit } else { *lanes & !bit };
                }
            }
            Kind::Move(from) => {
                for (k, &reg) in inst.written.iter().enumerate() {
                    let source = self.definedness(from.offset(k as u16));
                    if reg.is_vgpr() || reg.is_agpr() {
                        let lanes = &mut self.defined_lanes[reg.index() - 256];
                        *lanes = *lanes & !exec | source & exec;
                    } else {
                        self.set_scalar(reg, source != 0);
                    }
                }
            }
            _ => {
                for &reg in &inst.written {
                    if reg.is_vgpr() || reg.is_agpr() {
                        self.defined_lanes[reg.index() - 256] |= exec;
                    } else {
                        self.set_scalar(reg, true);
                    }
                }
            }
        }
    }
}

/// The scalars that every wave starts with, whatever its descriptor says.
pub const ALWAYS_DEFINED: [u8; 3] = [scalar::EXEC, scalar::EXEC + 1, scalar::SCC];
