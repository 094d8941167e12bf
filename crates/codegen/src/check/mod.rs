//! The splice checker: proof, for one place, that what was inserted there is invisible to the application.
//!
//! It interprets the inserted instructions over symbolic values, with each unit holding its own at the start. Moves
//! carry values along; a hook overwrites whatever its instructions write (in whatever order they run), and leaves
//! results where its template says. In the end every unit that is needed has to hold its own value again (or a hook's
//! result, where the plan asked for that), and at each hook's start every argument the value that was promised. What
//! is not understood is wrong. (regalloc2's checker is the model.)
//!
//! It shares no code with placement. What it takes as given: the isa crate's reads and writes and its table of hazards,
//! the lifter's liveness and loads in flight, and of the templates that they give EXEC back, wait for their own loads
//! and turn VGPR indexing off again.
//!
//! | module | one idea |
//! |---|---|
//! | [`wrong`] | what it finds |
//! | [`value`], [`mode`] | symbolic values; MODE bit by bit |
//! | [`state`] | what units, lanes and scratch slots hold, and what they are to hold |
//! | `step` | an instruction of placement's own |
//! | `hook`, `renaming` | a hook: arguments, results; is it the template? |
//! | `lanes` | in which lanes its instructions run |
//! | `flight` | memory results under way |
//! | `called` | hooks that are called: call and return, and what is called in the finished copy |
//! | `placed` | the instructions of a finished copy, in the order in which they are issued |
//! | `seams` | wait states and the like where inserted code meets other code |
//! | `ends` | where a wave begins and ends |
//! | `entry` | what it starts with |
//! | `base` | the wave's scratch, where code has to find it |
//! | `keep` | values from before an instruction, kept for hooks behind it |
//! | `looked` | what hooks look at that the application does not need any more |

mod arrivals;
mod base;
mod called;
mod ends;
mod entry;
mod flight;
mod hook;
mod keep;
mod lanes;
pub mod looked;
mod marked;
pub mod mode;
mod placed;
mod renaming;
mod seams;
pub mod state;
mod step;
#[cfg(test)]
mod tests;
pub mod value;
pub mod wrong;

use luthier_isa::{Flags, Inst, Reg, RegRange, RegSet};

use self::flight::Flight;
use self::mode::ModeBits;
use self::state::{Mask, Promised, State, is_vector};
use self::step::Effect;
use self::value::Value;
use crate::machine::registers::Counts;
use crate::splice::emit::{Literal, Span};
use crate::splice::slots::{Cell, SlotHome};
use crate::splice::{Env, HookId, Site};

pub use called::called;
#[cfg(test)]
use ends::adds;
pub use ends::{ending, prologue};
pub use keep::keep;
pub use looked::Looked;
pub use seams::seams;
pub use wrong::{Violation, Wrong};

/// What is to be proven of one place.
pub struct Question<'a> {
    pub env: &'a Env<'a>,
    /// What hooks look at that the application does not need any more.
    pub looked: &'a Looked<'a>,
    pub site: &'a Site<'a>,
    /// Values from before the instruction, and where they are kept.
    pub olds: &'a [(RegRange, RegRange)],
    /// The application's instruction that the place belongs to.
    pub inst: &'a Inst,
    pub insts: &'a [Inst],
    /// Position of the first of them, which the spans and literals count from.
    pub base: usize,
    pub spans: &'a [Span],
    /// The hooks that are said to have been made, in order.
    pub made: &'a [HookId],
    pub literals: &'a [Literal],
    /// Registers, and bytes of scratch of our own, that the kernels are to be given for it.
    pub highest: Counts,
    pub scratch: u32,
}

/// State that no liveness covers: it is needed everywhere.
fn always(env: &Env) -> RegSet {
    let mut all: RegSet = env.machine.exec().units().collect();
    let state = [Reg::GPR_IDX, Reg::STATUS, Reg::TRAPSTS, Reg::FLAT_SCRATCH_BASE_LO, Reg::FLAT_SCRATCH_BASE_HI];
    state.into_iter().chain((0..16).map(Reg::ttmp)).for_each(|r| all.insert(r));
    // Later processors have ordinary registers of these numbers.
    if env.machine.mode.target().generation().is_gfx9_family() {
        all.insert_range(RegRange::new(Reg::FLAT_SCRATCH_LO, 2));
        all.insert_range(RegRange::new(Reg::XNACK_MASK_LO, 2));
    }
    all
}

/// The bytes of each lane's scratch that hold what the wave carries.
fn carried(env: &Env) -> std::ops::Range<u32> {
    let start = env.scratch.map_or(0, |own| own.start);
    start..start + env.carried.slots.scratch
}

struct Checker<'a> {
    q: &'a Question<'a>,
    state: State,
    promised: Promised,
    flight: Flight<'a>,
    violations: Vec<Violation>,
}

/// All that is wrong at one place.
pub fn splice(question: &Question) -> Vec<Violation> {
    let mut checker = Checker::new(question);
    checker.run();
    checker.finish()
}

impl<'a> Checker<'a> {
    fn new(q: &'a Question<'a>) -> Checker<'a> {
        let mode = q.env.machine.mode;
        let upper = mode.target().vgprs() > 256;
        let bits = ModeBits::at_start(q.env.default_fp_mode, upper.then_some(q.site.msb));
        let mut state = State::at_start(mode, bits, carried(q.env));
        // Where it begins is known by a register only, as long as the wave lives.
        let floating = q.env.scratch.and_then(|own| Some((own.floating?.cells, own.start)));
        state.set_bases(floating.into_iter().map(|(reg, start)| (Value::Own(reg), start)));
        Checker {
            q,
            state,
            promised: Promised::default(),
            flight: Flight::new(q.site.loads, &q.env.registers.never_used, mode.target().generation()),
            violations: Vec::new(),
        }
    }

    fn wrong(&mut self, kind: Wrong) {
        self.violations.push(Violation { address: self.q.site.address, kind });
    }

    fn has_upper_bits(&self) -> bool {
        self.q.env.machine.mode.target().vgprs() > 256
    }

    fn run(&mut self) {
        let q = self.q;
        let placed: Vec<HookId> = q.spans.iter().map(|s| s.hook).collect();
        if placed != q.made {
            self.wrong(Wrong::Hooks { wanted: q.made.to_vec(), placed });
        }
        let mut at = 0;
        for (number, span) in q.spans.iter().enumerate() {
            let (start, end) = (span.start.wrapping_sub(q.base), span.end.wrapping_sub(q.base));
            let ours = usize::from(span.called);
            if !(at + ours <= start && start <= end && end + ours <= q.insts.len()) {
                let what = format!("{:?}", span.hook);
                return self.wrong(Wrong::Span { what, start, end, count: q.insts.len() });
            }
            q.insts[at..start - ours].iter().for_each(|inst| self.step(inst));
            match span.called {
                true => self.call(number, span, &q.insts[start - 1..=end]),
                false => self.hook(number, span, &q.insts[start..end]),
            }
            at = end + ours;
        }
        q.insts[at..].iter().for_each(|inst| self.step(inst));
        let inside = |at: usize| q.spans.iter().any(|s| (s.start..s.end).contains(&at));
        if let Some(stray) = q.literals.iter().find(|l| !inside(l.inst)) {
            self.wrong(Wrong::StrayLiteral { index: stray.inst });
        }
    }

    /// One instruction outside of the hooks.
    fn step(&mut self, inst: &Inst) {
        if self.flight.wait(inst) {
            return;
        }
        self.touch(inst);
        let obeys_exec =
            inst.info().flags.intersects(Flags::VALU | Flags::VMEM) && !inst.info().flags.contains(Flags::IGNORES_EXEC);
        if obeys_exec && !matches!(self.state.mask(), Mask::Own | Mask::Full) {
            self.wrong(Wrong::Mask { what: inst.to_string() });
        }
        match step::step(&mut self.state, inst) {
            Ok(Effect::Nothing) => {}
            Ok(Effect::Load { reg, offset }) => {
                self.scratch(inst, offset);
                self.flight.load(inst, reg);
            }
            Ok(Effect::LoadScalars(range)) => range.units().for_each(|reg| self.flight.load(inst, reg)),
            Ok(Effect::Store { offset }) => self.scratch(inst, offset),
            Err(wrong) => self.wrong(wrong),
        }
    }

    /// Scratch of our own begins above the kernel's and ends where the kernel is given no more.
    fn scratch(&mut self, inst: &Inst, offset: u32) {
        let start = self.q.env.scratch.map_or(u32::MAX, |own| own.start);
        let end = start.saturating_add(self.q.scratch);
        if self.q.env.scratch.is_none() || offset < start || offset + 4 > end {
            self.wrong(Wrong::Scratch { inst: Box::new(*inst), offset, start, end });
        }
    }

    /// No register is touched that may change behind our back, or written that the kernel does not have.
    fn touch(&mut self, inst: &Inst) {
        let (given, has) = (self.q.highest, self.q.env.registers.allocated);
        let quiet = self.flight.is_quiet();
        let (mut pending, mut beyond, mut vector) = (None, None, false);
        inst.for_each_access(|a| {
            vector |= is_vector(a.reg);
            if !quiet && self.flight.is_pending(a.reg) {
                pending = Some(a.reg);
            }
            let most = match a.reg {
                r if r.is_sgpr() => given.sgprs.max(has.sgprs),
                r if r.is_agpr() => given.agprs.max(has.agprs),
                r if r.is_vgpr() => given.vgprs.max(has.vgprs),
                _ => return,
            };
            if a.access.writes() && a.reg.number() >= most && !self.q.env.allocated_at(self.q.site.address).has(a.reg) {
                beyond = Some(a.reg);
            }
        });
        if let Some(reg) = pending {
            self.wrong(Wrong::Pending { inst: Box::new(*inst), reg });
        }
        if let Some(reg) = beyond {
            self.wrong(Wrong::NotAllocated { inst: Box::new(*inst), reg });
        }
        if vector && self.q.site.indexed {
            self.wrong(Wrong::Indexed { inst: Box::new(*inst) });
        }
    }

    fn finish(mut self) -> Vec<Violation> {
        if let Some(reg) = self.flight.left() {
            self.wrong(Wrong::LeftPending { reg });
        }
        self.carried();
        self.units();
        self.mode();
        self.violations
    }

    /// Where our own scratch begins in each lane's.
    fn own_scratch(&self) -> u32 {
        self.q.env.scratch.map_or(0, |own| own.start)
    }

    /// What the wave carries in lanes and in scratch.
    fn carried(&mut self) {
        let start = self.own_scratch();
        for (_, home) in self.q.env.carried.slots.used() {
            match home {
                SlotHome::Registers(_) => {}
                SlotHome::Lanes { cell, lane: first, count } => {
                    let held = match cell {
                        Cell::Register(reg) => self.state.held(reg),
                        Cell::Scratch(offset) => self.state.slot(start + offset),
                    };
                    for lane in first..first + count {
                        let (holds, wanted) = (held.lane(lane), self.promised.of_lane(cell, lane, start));
                        if holds != wanted {
                            self.wrong(Wrong::Lane { of: format!("{cell:?}"), lane, holds, wanted });
                        }
                    }
                }
                SlotHome::Scratch { offset, count } => {
                    for at in (0..u32::from(count)).map(|n| start + offset + 4 * n) {
                        let (holds, wanted) = (self.state.slot(at).whole(), self.promised.of_scratch(at));
                        if holds != wanted || wanted.active == Value::Unknown {
                            let (holds, wanted) = match holds.active == wanted.active {
                                true => (holds.inactive, wanted.inactive),
                                false => (holds.active, wanted.active),
                            };
                            self.wrong(Wrong::Stored { offset: at, holds, wanted });
                        }
                    }
                }
            }
        }
    }

    /// What has to survive: in the lanes that are on, and in the others.
    fn needed(&self) -> (RegSet, RegSet) {
        let (env, site) = (self.q.env, self.q.site);
        let (mut active, mut inactive) = (site.live.active, site.live.inactive);
        if env.machine.exec().units().any(|u| self.promised.of(u) != Value::Own(u)) {
            // A hook gives the application another EXEC: lanes change sides.
            active.union_with(&site.live.inactive);
            inactive.union_with(&site.live.active);
        }
        let mut kept = *site.reserved(env);
        kept.union_with(site.kept);
        self.q.olds.iter().for_each(|(_, range)| kept.insert_range(*range));
        for (_, home) in env.carried.slots.used() {
            // Their lanes are looked at one by one.
            if let SlotHome::Lanes { cell: Cell::Register(reg), .. } = home {
                kept.remove(reg);
            }
        }
        for set in [&mut active, &mut inactive] {
            set.subtract(&env.registers.never_used);
            set.union_with(&kept);
        }
        // What hooks somewhere else look at.
        if !site.last {
            active.union_with(self.q.looked.registers(env.program, env.plan));
        }
        active.union_with(&always(env));
        self.promised.units().for_each(|reg| active.insert(reg));
        (active, inactive)
    }

    fn units(&mut self) {
        let (active, inactive) = self.needed();
        let mut suspects = *self.state.changed();
        self.promised.units().for_each(|reg| suspects.insert(reg));
        for reg in suspects.iter().filter(|r| *r != Reg::MODE) {
            let holds = self.state.both(reg);
            let wanted = self.promised.of(reg);
            if active.contains(reg) && (holds.active != wanted || holds.active == Value::Unknown) {
                self.wrong(Wrong::Value { reg, holds: holds.active, wanted });
            }
            let wanted = self.promised.of_inactive(reg);
            let inactive = inactive.contains(reg) || wanted != Value::Own(reg);
            if is_vector(reg) && inactive && holds.inactive != wanted {
                self.wrong(Wrong::Inactive { reg, holds: holds.inactive, wanted });
            }
        }
    }

    fn mode(&mut self) {
        let wanted = self.promised.of(Reg::MODE);
        let changed = self.state.bits.changed();
        match (wanted, self.state.mode_result) {
            (Value::Own(_), None) if changed == 0 => {}
            (Value::Own(_), None) => self.wrong(Wrong::ModeBits { bits: changed }),
            (_, Some(result)) if result == wanted => {
                // The upper bits of VGPR numbers are those that the code that follows was compiled for.
                if self.has_upper_bits() && self.state.bits.msb() != Some(self.q.site.msb) {
                    self.wrong(Wrong::UpperBits { what: "what follows a hook that sets MODE".to_owned() });
                }
            }
            (_, result) => {
                let holds = result.unwrap_or(Value::Mode(self.state.bits));
                self.wrong(Wrong::Value { reg: Reg::MODE, holds, wanted });
            }
        }
    }
}
