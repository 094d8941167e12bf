//! Hazards where inserted code meets what surrounds it: wait states and waits for dependencies, by isa's table.
//!
//! What came before a place is looked at only when something is inserted that has to keep away from anything; what comes
//! behind it, when something was inserted that others have to keep away from.

use std::rc::Rc;

use luthier_isa::hazard::{Cure, Facts, Hazards, Remedy};
use luthier_isa::op::Op;
use luthier_isa::wait::Wait;
use luthier_isa::{EncodeError, Field, Flags, Generation, Inst, Mode, Operand, Reg, RegSet};

use super::Operations;
use super::operations::{one, small};
use crate::template::prepared::is_memory;
use crate::template::renamed::Code;

/// Instructions that far back matter: no hazard lasts longer, s_nop aside.
const WINDOW: usize = 20;

/// The register that is none, as RDNA1 and RDNA2 encode it.
const NULL: u32 = 125;

/// What was issued before a run of instructions: on each way that leads there, the latest last. `None` where that is not
/// known, or where there are too many ways.
pub type Ways<'a> = Rc<dyn Fn() -> Option<Vec<Vec<Inst>>> + 'a>;

/// Follows the instructions that a wave issues, and says what has to come in between.
#[derive(Clone)]
pub struct Seam<'a> {
    mode: Mode,
    /// Scalars that no vector instruction reads.
    unread: RegSet,
    ways: Option<Ways<'a>>,
    /// A VGPR that no memory result is about to land in, to move to itself.
    idle: Option<Reg>,
    /// What has been issued since, inserted code included.
    recent: Vec<Inst>,
    /// The state that all of that leaves on each way; made when it is first asked for.
    before: Option<Vec<Hazards>>,
    /// The code inserted last, as hazards see it, and the state that it alone leaves.
    inserted: Vec<Facts>,
    own: Hazards,
    /// Some of it asks others to keep away.
    makes: bool,
    memory: bool,
}

impl<'a> Seam<'a> {
    pub fn new(mode: Mode, unread: RegSet) -> Seam<'a> {
        let mut seam = Seam {
            mode,
            unread,
            ways: None,
            idle: Some(Reg::vgpr(0)),
            recent: Vec::new(),
            before: None,
            inserted: Vec::new(),
            own: Hazards::brief(),
            makes: false,
            memory: true,
        };
        seam.settle();
        seam
    }

    /// A run of instructions begins behind these; without, where nothing has been issued that matters any more.
    pub fn begin(&mut self, ways: Option<Ways<'a>>) {
        self.ways = ways;
        self.recent.clear();
        self.memory = true;
        self.settle();
    }

    /// A place begins where these registers may still be written by memory results, of a wave with so many VGPRs.
    pub fn avoid(&mut self, pending: &RegSet, vgprs: u16) {
        self.idle = (0..vgprs.max(1)).map(Reg::vgpr).find(|reg| !pending.contains(*reg));
    }

    /// The inserted code is no longer apart from what came before it.
    fn settle(&mut self) {
        self.before = None;
        self.inserted.clear();
        self.makes = false;
        self.own.restart();
        self.own.assume_read(&self.unread);
    }

    /// An instruction of the application, which needs nothing in between.
    pub fn follow(&mut self, inst: &Inst) {
        self.memory = is_memory(inst);
        self.remember(std::slice::from_ref(inst));
        if self.makes || self.before.is_some() || !self.inserted.is_empty() {
            self.settle();
        }
    }

    fn remember(&mut self, insts: &[Inst]) {
        if self.recent.len() > 4 * WINDOW {
            self.recent.drain(..self.recent.len() - 2 * WINDOW);
        }
        self.recent.extend_from_slice(&insts[insts.len().saturating_sub(2 * WINDOW)..]);
    }

    /// Appends an instruction behind what it needs.
    pub fn issue(&mut self, ops: &Operations, inst: Inst, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let facts = Facts::of(&inst);
        if !facts.is_indifferent() {
            self.look_back(ops, out)?;
            for _ in 0..64 {
                let Some(remedy) = self.needed(&facts) else { break };
                self.remedy(ops, remedy, out)?;
            }
        }
        self.note(facts);
        self.memory = is_memory(&inst);
        self.remember(std::slice::from_ref(&inst));
        out.push(inst);
        Ok(())
    }

    /// Appends what a template needs before it and in it. Its own instructions keep away from each other; what came
    /// before is kept away from as long as it matters.
    pub fn lead_in(&mut self, ops: &Operations, code: &Code, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        // In front of the template there is room; so what an instruction further on needs is put there. What it needs of
        // its own neighbours does not go away by that.
        let mut done = [0u8; WINDOW];
        if !code.indifferent {
            self.look_back(ops, out)?;
        }
        while let Some((n, remedy)) = self.first_need(code, &done) {
            done[n] += 1;
            self.remedy(ops, remedy, out)?;
        }
        if code.indifferent {
            self.before.iter_mut().flatten().chain([&mut self.own]).for_each(|state| {
                code.facts.iter().for_each(|facts| state.go_by(facts));
            });
        } else {
            code.facts.iter().for_each(|facts| self.note(facts.clone()));
        }
        if let Some(last) = code.insts.last() {
            self.memory = is_memory(last);
        }
        self.remember(&code.insts);
        Ok(())
    }

    /// The first instruction of a template that comes too early, unless that was seen to already often enough, and what it
    /// needs.
    fn first_need(&self, code: &Code, done: &[u8; WINDOW]) -> Option<(usize, Remedy)> {
        if code.indifferent {
            return None;
        }
        let mut states = self.states().to_vec();
        for (n, facts) in code.facts.iter().enumerate().take(WINDOW) {
            if let Some(remedy) = worst(&states, facts).filter(|_| done[n] < 3) {
                return Some((n, remedy));
            }
            states.iter_mut().for_each(|state| state.check(facts, 0, |_| {}));
        }
        None
    }

    /// Appends what the instructions that come next need. `live` are the registers that may be read behind the place.
    pub fn lead_out(
        &mut self,
        ops: &Operations,
        next: &[Inst],
        live: &RegSet,
        out: &mut Vec<Inst>,
    ) -> Result<(), EncodeError> {
        if !self.makes {
            return Ok(());
        }
        for _ in 0..64 {
            let mut trial = self.own.clone();
            let mut missing = None;
            for inst in next.iter().take(WINDOW) {
                let facts = Facts::of(inst);
                missing = trial.needed(&facts).map(|m| m.remedy);
                if missing.is_some() {
                    break;
                }
                trial.go_by(&facts);
            }
            if missing.is_none() {
                missing = trial.rest(self.mode, self.inserted.iter(), |reg| live.contains(reg));
            }
            let Some(remedy) = missing else { break };
            self.remedy(ops, remedy, out)?;
        }
        Ok(())
    }

    /// Vector instructions among the inserted ones read one of these scalars.
    pub fn has_read(&self, scalars: impl Fn(Reg) -> bool, code: &[Inst]) -> bool {
        code.iter().filter(|inst| inst.info().flags.contains(Flags::VALU)).any(|inst| {
            let mut reads = false;
            inst.for_each_access(|a| {
                let named = !a.implicit || matches!(a.reg, Reg::VCC_LO | Reg::VCC_HI);
                let scalar = a.reg.index() < 124;
                reads |= a.access.reads() && scalar && named && scalars(a.reg);
            });
            reads
        })
    }

    /// A memory instruction does not follow another one directly.
    pub fn separate_memory(&mut self, ops: &Operations, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        if self.memory { self.issue(ops, ops.nop(1)?, out) } else { Ok(()) }
    }

    /// The same for the application's next one.
    pub fn separate_next(
        &mut self,
        ops: &Operations,
        next: Option<&Inst>,
        out: &mut Vec<Inst>,
    ) -> Result<(), EncodeError> {
        if self.memory && next.is_none_or(is_memory) { self.issue(ops, ops.nop(1)?, out) } else { Ok(()) }
    }

    /// Registers that are better left alone: matrix instructions that may still be at work use them, or a store that has
    /// just begun.
    pub fn busy(&self) -> RegSet {
        let mut busy = RegSet::EMPTY;
        // Where the ways are not known, all of it is over before anything that has to keep away.
        for way in self.all_ways().unwrap_or_else(|| vec![self.recent.clone()]) {
            if way.iter().any(|i| i.info().flags.contains(Flags::MFMA)) {
                self.stepped(&way).held().for_each(|range| busy.insert_range(range));
            }
            if let Some(last) = way.last().filter(|i| i.info().flags.intersects(Flags::STORE | Flags::ATOMIC)) {
                let data = last.operand_in(Field::Vdata).and_then(|o| o.reg());
                data.filter(|range| range.count > 2).into_iter().for_each(|range| busy.insert_range(range));
            }
        }
        busy
    }

    /// The last instructions on each way. `None` where they are not known.
    fn all_ways(&self) -> Option<Vec<Vec<Inst>>> {
        let recent = &self.recent[self.recent.len().saturating_sub(WINDOW)..];
        let ways = match self.ways.as_ref().filter(|_| recent.len() < WINDOW) {
            Some(ways) => ways()?,
            None => Vec::new(),
        };
        if ways.is_empty() {
            return Some(vec![recent.to_vec()]);
        }
        let keep = WINDOW - recent.len();
        let whole = |mut way: Vec<Inst>| {
            way.drain(..way.len().saturating_sub(keep));
            way.extend_from_slice(recent);
            way
        };
        let mut all: Vec<Vec<Inst>> = Vec::with_capacity(ways.len());
        for way in ways.into_iter().map(whole) {
            if !all.contains(&way) {
                all.push(way);
            }
        }
        Some(all)
    }

    /// Works out the state on each way. Where the ways are not known, everything that could still be going on there is
    /// waited for.
    fn look_back(&mut self, ops: &Operations, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        if self.before.is_some() {
            return Ok(());
        }
        let ways = match self.all_ways() {
            Some(ways) => ways,
            None => {
                self.ways = None;
                let slate = self.clean_slate(ops)?;
                slate.into_iter().for_each(|inst| self.put(inst, out));
                vec![self.recent.clone()]
            }
        };
        // All that was inserted is among the recent ones.
        self.before = Some(ways.iter().map(|way| self.stepped(way)).collect());
        Ok(())
    }

    /// What ends every hazard, whatever was issued before.
    fn clean_slate(&self, ops: &Operations) -> Result<Vec<Inst>, EncodeError> {
        let mut slate = vec![ops.nop(16)?, ops.nop(WINDOW as u32 - 16)?];
        let cures: &[Cure] = match self.mode.target().generation() {
            generation if generation.is_gfx9_family() => &[],
            Generation::Gfx10 => &[Cure::Vector, Cure::Scalar, Cure::VmVsrc, Cure::Stores],
            _ => &[Cure::VmVsrc, Cure::VaVdst, Cure::SaSdst],
        };
        for cure in cures {
            slate.extend(self.cure(ops, *cure)?);
        }
        Ok(slate)
    }

    /// Appends an instruction of a remedy.
    fn put(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        self.note(Facts::of(&inst));
        self.memory = false;
        self.remember(std::slice::from_ref(&inst));
        out.push(inst);
    }

    /// What is missing before an instruction.
    fn needed(&self, facts: &Facts) -> Option<Remedy> {
        if facts.is_indifferent() { None } else { worst(self.states(), facts) }
    }

    /// The state on each way, after [`Seam::look_back`].
    fn states(&self) -> &[Hazards] {
        self.before.as_deref().unwrap_or_default()
    }

    fn note(&mut self, facts: Facts) {
        self.before.iter_mut().flatten().for_each(|state| state.check(&facts, 0, |_| {}));
        self.own.check(&facts, 0, |_| {});
        self.makes |= !facts.is_indifferent();
        self.inserted.push(facts);
    }

    fn remedy(&mut self, ops: &Operations, remedy: Remedy, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let insts = match remedy {
            Remedy::States(n) => vec![ops.nop(n)?],
            Remedy::Vectors(_, cure) | Remedy::Cure(cure) => self.cure(ops, cure)?,
        };
        insts.into_iter().for_each(|inst| self.put(inst, out));
        Ok(())
    }

    /// Writes of scalars that vector instructions have read have to be waited for.
    fn holds_reads(&self) -> bool {
        self.mode.target().generation() >= Generation::Gfx11
    }

    fn cure(&self, ops: &Operations, cure: Cure) -> Result<Vec<Inst>, EncodeError> {
        let with = |op: Op, value: u32| {
            let missing = EncodeError::NoField { mnemonic: op.name(), field: Field::Simm16 };
            let mut inst = Inst::new(self.mode.plain(op).ok_or(missing)?);
            inst.set_field(Field::Simm16, value)?;
            Ok(inst)
        };
        let depctr = Op::SWaitcntDepctr;
        let inst = match cure {
            Cure::Nop => ops.nop(1)?,
            // An identity under any EXEC, unless a memory result lands in between; v_nop would be dropped.
            Cure::VectorNop | Cure::Vector => match self.idle {
                Some(idle) => ops.vector_mov(idle, one(idle))?,
                None => {
                    let all = Wait { vmcnt: Some(0), lgkmcnt: Some(0), expcnt: Some(0), ..Wait::default() };
                    let mut insts = all.instructions(self.mode)?;
                    insts.push(ops.vector_mov(Reg::vgpr(0), one(Reg::vgpr(0)))?);
                    return Ok(insts);
                }
            },
            // To nowhere, since any other scalar may be about to be loaded.
            Cure::Scalar => Inst::build(ops.s_mov_b32, &[Operand::Special(NULL as u16), small(0)])?,
            Cure::VmVsrc => with(depctr, 0xffe3)?,
            Cure::VaVdst => with(depctr, 0x0fff)?,
            Cure::SaSdst if !self.holds_reads() => with(depctr, 0xfffe)?,
            // Whichever unit wrote last: one wait for all results in scalars.
            Cure::SaSdst | Cure::VaSdst | Cure::VaVcc | Cure::AluSaSdst | Cure::AluVaSdst | Cure::AluVaVcc => {
                with(depctr, 0xf1fc)?
            }
            Cure::Stores => {
                let mut inst = with(Op::SWaitcntVscnt, 0)?;
                inst.set_field(Field::Sdst, NULL)?;
                inst
            }
        };
        Ok(vec![inst])
    }

    /// What a wave that has issued these leaves.
    fn stepped(&self, insts: &[Inst]) -> Hazards {
        // What lasts longer than the window is taken for the worst that it can be.
        let mut state = Hazards::brief();
        state.assume_read(&self.unread);
        state.assume_written(&self.unread);
        insts.iter().for_each(|inst| state.check(&Facts::of(inst), 0, |_| {}));
        state.assume_read(&self.unread);
        state
    }
}

/// The most that is missing before an instruction, over all ways.
fn worst(states: &[Hazards], facts: &Facts) -> Option<Remedy> {
    let all = states.iter().filter_map(|state| state.needed(facts)).map(|missing| missing.remedy);
    all.max_by_key(|remedy| match remedy {
        Remedy::States(n) => *n,
        Remedy::Vectors(..) | Remedy::Cure(_) => u32::MAX,
    })
}
