//! The splice checker: proof, for one point, that what was inserted there is invisible to the application.
//!
//! It interprets the inserted instructions over symbolic values, with each unit holding its own at the start. Moves
//! carry values along; a template overwrites whatever its instructions write (in whatever order they run), and leaves
//! results where it says. In the end every live unit has to hold its own value again (or a hook's result, where the
//! plan asked for that), and at each template's start every argument the value that was promised. Registers of loads
//! in flight may not be touched. It shares no code with placement; what it takes as given is the isa crate's reads and
//! writes, the lifter's liveness and loads, and the templates' own account of their arguments.
//! (regalloc2's checker is the model.)

mod renamed;
mod value;

use luthier_isa::{Field, Inst, Operand, Reg, RegRange, RegSet};
use luthier_lifter::{InFlight, Live, Wait};

use crate::{ArgValue, Plan};
use renamed::Renaming;
use value::{Promised, State, Value};

/// A placement that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Violation {
    /// Of the application's instruction.
    pub address: u64,
    pub reason: String,
}

/// A template among the inserted instructions.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub start: usize,
    pub end: usize,
    /// Index into the plan's insertions.
    pub insertion: usize,
}

/// What is to be proven of one point.
pub struct Question<'a> {
    pub plan: &'a Plan,
    /// The low register of each counter's pair.
    pub counters: &'a [Option<Reg>],
    /// For counters without one: the VGPR and the first of the two lanes that hold it.
    pub counter_lanes: &'a [Option<(Reg, u8)>],
    /// Registers that no code of the application touches.
    pub unused: &'a RegSet,
    pub address: u64,
    pub live: &'a Live,
    pub loads: &'a InFlight,
    pub insts: &'a [Inst],
    pub templates: &'a [Placed],
}

struct Checker<'a> {
    q: &'a Question<'a>,
    state: State,
    promised: Promised,
    pending: RegSet,
    violations: Vec<Violation>,
}

/// All that is wrong at one point.
pub fn splice(question: &Question) -> Vec<Violation> {
    let mut pending = question.loads.registers();
    pending.subtract(question.unused);
    let (state, promised) = (State::at_start(), Promised::default());
    let mut checker = Checker { q: question, state, promised, pending, violations: Vec::new() };
    checker.run();
    checker.violations
}

impl Checker<'_> {
    fn wrong(&mut self, reason: String) {
        self.violations.push(Violation { address: self.q.address, reason });
    }

    fn run(&mut self) {
        let mut at = 0;
        for (hook, placed) in self.q.templates.iter().enumerate() {
            let valid = at <= placed.start && placed.start <= placed.end && placed.end <= self.q.insts.len();
            if !valid {
                return self.wrong(format!("hook {hook} claims instructions {} to {}", placed.start, placed.end));
            }
            (at..placed.start).for_each(|n| self.step(n));
            self.template(hook, placed);
            at = placed.end;
        }
        (at..self.q.insts.len()).for_each(|n| self.step(n));

        let (mut active, mut inactive) = (self.q.live.active, self.q.live.inactive);
        active.subtract(self.q.unused);
        inactive.subtract(self.q.unused);
        for low in self.q.counters.iter().flatten() {
            active.insert_range(RegRange::new(*low, 2));
        }
        for &(vgpr, first) in self.q.counter_lanes.iter().flatten() {
            for lane in [first, first + 1] {
                let (holds, wanted) = (self.state.lane(vgpr, lane), self.promised.of_lane(vgpr, lane));
                if holds != wanted {
                    self.wrong(format!("lane {lane} of {vgpr} holds {holds:?} instead of {wanted:?}"));
                }
            }
        }
        for (reg, holds) in value::broken(&self.state, &self.promised, &active, &inactive) {
            self.wrong(format!("{reg} is live, and holds {holds:?} instead of {:?}", self.promised.of(reg)));
        }
    }

    /// An access to a register that a load in flight may write.
    fn touches_pending(&mut self, inst: &Inst) {
        let mut touched = None;
        inst.for_each_access(|a| {
            if self.pending.contains(a.reg) {
                touched = Some(a.reg);
            }
        });
        if let Some(reg) = touched {
            self.wrong(format!("{inst} touches {reg}, which a load in flight may write"));
        }
    }

    /// One instruction outside of the templates: only what placement is known to need is understood.
    fn step(&mut self, n: usize) {
        let inst = &self.q.insts[n];
        self.touches_pending(inst);
        let operands: Vec<Operand> = inst.operands().map(|(_, v)| v).collect();
        match (inst.info().base, operands.as_slice()) {
            ("s_nop", _) => {}
            ("s_waitcnt", _) => self.wait(inst),
            (
                "s_mov_b32" | "s_mov_b64" | "v_mov_b32" | "v_accvgpr_read_b32" | "v_accvgpr_write_b32",
                [Operand::Reg(to), from],
            ) => {
                let from = match from {
                    Operand::Reg(from) if from.count == to.count => Some(*from),
                    _ => None,
                };
                let values: Vec<Value> = match from {
                    Some(from) => from.units().map(|u| self.state.get(u)).collect(),
                    None => vec![Value::Other; to.count.into()],
                };
                to.units().zip(values).for_each(|(u, v)| self.state.set(u, v));
            }
            ("v_writelane_b32", [Operand::Reg(to), from, Operand::Inline(lane @ 128..=191)]) => {
                let value = match from {
                    Operand::Reg(from) if from.count == 1 => self.state.get(from.first),
                    _ => Value::Other,
                };
                self.state.set_lane(to.first, (lane - 128) as u8, value);
            }
            ("v_readlane_b32", [Operand::Reg(to), Operand::Reg(from), Operand::Inline(lane @ 128..=191)]) => {
                let value = self.state.lane(from.first, (lane - 128) as u8);
                self.state.set(to.first, value);
            }
            // 1 if SCC, else 0.
            ("s_cselect_b32", [Operand::Reg(to), Operand::Inline(129), Operand::Inline(128)]) => {
                let value = match self.state.get(Reg::SCC) {
                    Value::Own(Reg::SCC) => Value::Copy(Reg::SCC),
                    _ => Value::Other,
                };
                self.state.set(to.first, value);
            }
            ("s_cmp_lg_u32", [Operand::Reg(from), Operand::Inline(128)]) => {
                let value = match self.state.get(from.first) {
                    Value::Copy(Reg::SCC) => Value::Own(Reg::SCC),
                    _ => Value::Other,
                };
                self.state.set(Reg::SCC, value);
            }
            ("s_getreg_b32", [Operand::Reg(to), ..]) => {
                let whole = fp_mode(inst) && self.state.get(Reg::MODE) == Value::Own(Reg::MODE);
                self.state.set(to.first, if whole { Value::Copy(Reg::MODE) } else { Value::Other });
            }
            ("s_setreg_b32", [Operand::Reg(from), _] | [_, Operand::Reg(from)]) => {
                let back = fp_mode(inst) && self.state.get(from.first) == Value::Copy(Reg::MODE);
                self.state.set(Reg::MODE, if back { Value::Own(Reg::MODE) } else { Value::Other });
            }
            // Only the bits that are put back later may change: see `fp_mode`.
            ("s_setreg_imm32_b32", _) if fp_mode(inst) => self.state.set(Reg::MODE, Value::Other),
            _ => self.wrong(format!("{inst} stands outside of every hook, and is nothing that placement needs")),
        }
    }

    fn wait(&mut self, inst: &Inst) {
        let done = Wait::decode(inst.field(Field::Simm16).unwrap_or(0xffff) as u16);
        let enough = |has: Option<u8>, needs: Option<u8>| needs.is_none_or(|n| has.is_some_and(|h| h <= n));
        let arrived: Vec<Reg> = self
            .pending
            .iter()
            .filter(|r| {
                let needs = self.q.loads.wait_for(&[*r].into_iter().collect());
                enough(done.vmcnt, needs.vmcnt)
                    && enough(done.lgkmcnt, needs.lgkmcnt)
                    && enough(done.expcnt, needs.expcnt)
            })
            .collect();
        arrived.into_iter().for_each(|r| self.pending.remove(r));
    }

    fn template(&mut self, hook: usize, placed: &Placed) {
        let Some(insertion) = self.q.plan.insertions.get(placed.insertion) else {
            return self.wrong(format!("hook {hook} is none of the plan's insertions"));
        };
        let template = &insertion.template;
        let code = &self.q.insts[placed.start..placed.end];
        let renaming = match Renaming::between(template, code) {
            Ok(renaming) => renaming,
            Err(reason) => return self.wrong(reason),
        };
        // What each argument stands for: registers of the application, or a counter's.
        let source = |value: &ArgValue| match *value {
            ArgValue::Reg(range) => Some((range, false)),
            ArgValue::RegInOut(range) => Some((range, true)),
            ArgValue::Counter(c) => self.q.counters.get(c).copied().flatten().map(|low| (RegRange::new(low, 2), true)),
            ArgValue::Baked => None,
        };
        let mut results = Vec::new();
        let mut lane_results = Vec::new();
        for (n, (value, place)) in insertion.args.iter().zip(&template.args).enumerate() {
            let Some(place) = place else { continue };
            if let ArgValue::Counter(c) = value
                && let Some((vgpr, first)) = self.q.counter_lanes.get(*c).copied().flatten()
            {
                for (i, unit) in (0u8..2).zip(place.range.units()) {
                    let Some(at) = renaming.placed(unit) else { continue };
                    let (holds, wanted) = (self.state.get(at), self.promised.of_lane(vgpr, first + i));
                    if place.read && holds != wanted {
                        self.wrong(format!(
                            "{}: argument {n} is to be {wanted:?}, but {at} holds {holds:?}",
                            template.name
                        ));
                    }
                    if place.written {
                        let result = Value::Result { hook: hook as u16, arg: n as u16, unit: i };
                        lane_results.push((at, (vgpr, first + i), result));
                    }
                }
                continue;
            }
            let Some((range, kept)) = source(value) else { continue };
            for (i, (unit, stands_for)) in place.range.units().zip(range.units()).enumerate() {
                let Some(at) = renaming.placed(unit) else { continue };
                let (holds, wanted) = (self.state.get(at), self.promised.of(stands_for));
                // SCC is handed over as 0 or 1.
                let as_bit = stands_for == Reg::SCC && wanted == Value::Own(Reg::SCC) && holds == Value::Copy(Reg::SCC);
                if place.read && holds != wanted && !as_bit {
                    self.wrong(format!(
                        "{}: argument {n} is to be {stands_for}, but {at} holds {holds:?}",
                        template.name
                    ));
                }
                if place.written && kept {
                    results.push((at, stands_for, Value::Result { hook: hook as u16, arg: n as u16, unit: i as u8 }));
                }
            }
        }
        for inst in code {
            self.touches_pending(inst);
            inst.for_each_access(|a| {
                // The template gives EXEC back.
                if !a.access.writes() || a.reg == Reg::EXEC_LO || a.reg == Reg::EXEC_HI {
                    return;
                }
                self.state.set(a.reg, Value::Other);
                if renaming.original(a.reg).is_none_or(|u| template.writes_inactive_lanes.contains(u)) {
                    self.state.spoil_inactive(a.reg);
                }
            });
        }
        for (at, (vgpr, lane), value) in lane_results {
            self.state.set(at, value);
            self.promised.set_lane(vgpr, lane, value);
        }
        for (at, stands_for, value) in results {
            self.state.set(at, value);
            self.promised.set(stands_for, value);
        }
    }
}

/// The access is to MODE's rounding and denormal bits, and to nothing else.
fn fp_mode(inst: &Inst) -> bool {
    const MODE_0_TO_7: u32 = 7 << 11 | 1;
    inst.field(Field::Simm16).map(|f| f & 0xffff) == Some(MODE_0_TO_7)
}
