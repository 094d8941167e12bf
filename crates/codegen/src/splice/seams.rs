//! Hazards where inserted code meets what surrounds it: wait states and waits for dependencies, by isa's table.
//!
//! What came before a place is looked at only when something is inserted that has to keep away from anything; what comes
//! behind it, when something was inserted that others have to keep away from.

use std::rc::Rc;

use luthier_isa::hazard::{Cure, Facts, Hazards, Remedy, Scalars};
use luthier_isa::msb::{self, MsbChange};
use luthier_isa::op::Op;
use luthier_isa::{EncodeError, Field, Flags, Generation, Inst, Mode, Reg, RegSet, Target, VgprMsb};
use luthier_lifter::InFlight;

use super::issued::{Issued, Ways};
use crate::machine::Operations;
use crate::machine::cures::{Cures, WINDOW};
use crate::machine::known::facts;
use crate::template::paths::Paths;
use crate::template::prepared::is_memory;
use crate::template::renamed::Code;

/// More ways than these through inserted code are not told apart.
const MOST_WAYS: usize = 128;

/// Follows the instructions that a wave issues, and says what has to come in between.
#[derive(Clone)]
pub struct Seam<'a> {
    mode: Mode,
    /// Scalars that no vector instruction reads.
    unread: RegSet,
    issued: Issued<'a>,
    cures: Cures,
    /// The state that all of that leaves on each way; made when it is first asked for.
    before: Option<Vec<Hazards>>,
    /// The code inserted last, as hazards see it, and the state that it alone leaves on each way.
    inserted: Vec<Rc<Facts>>,
    own: Vec<Hazards>,
    /// There were too many ways through the last template: all that it may leave is to be waited for.
    lost: bool,
    /// Some of it asks others to keep away.
    makes: bool,
    memory: bool,
}

impl<'a> Seam<'a> {
    pub fn new(mode: Mode, unread: RegSet) -> Seam<'a> {
        let mut seam = Seam {
            mode,
            unread,
            issued: Issued::after(None),
            cures: Cures { mode, idle: Some(Reg::vgpr(0)), msb: VgprMsb::ZERO },
            before: None,
            inserted: Vec::new(),
            own: Vec::new(),
            lost: false,
            makes: false,
            memory: true,
        };
        seam.settle();
        seam
    }

    /// A run of instructions begins behind these; without, where nothing has been issued that matters any more.
    pub fn begin(&mut self, ways: Option<Ways<'a>>) {
        self.issued.begin(ways);
        self.memory = true;
        self.settle();
    }

    /// A place begins where these memory results may still be under way, in a wave with `vgprs` VGPRs, and where the upper
    /// bits of VGPR numbers are these.
    pub fn avoid(&mut self, loads: &InFlight, vgprs: u16, msb: VgprMsb) {
        self.cures.msb = msb;
        self.cures.idle = (0..vgprs.max(1)).map(Reg::vgpr).find(|reg| !loads.holds(*reg));
    }

    /// The inserted code is no longer apart from what came before it.
    fn settle(&mut self) {
        self.before = None;
        self.inserted.clear();
        self.makes = false;
        match &mut self.own[..] {
            [own] => own.restart(),
            _ => self.own = vec![Hazards::brief()],
        }
        self.own[0].assume_read(&self.unread);
    }

    /// An instruction of the application, which needs nothing in between.
    pub fn follow(&mut self, inst: &Inst) {
        self.memory = is_memory(inst);
        self.issued.add(std::slice::from_ref(inst));
        if self.makes || self.before.is_some() || !self.inserted.is_empty() {
            self.settle();
        }
    }

    /// Appends an instruction behind what it needs.
    pub fn issue(&mut self, ops: &Operations, inst: Inst, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let facts = facts(&inst);
        if !facts.is_indifferent() {
            self.look_back(ops, out)?;
            for _ in 0..64 {
                let Some(remedy) = self.needed(&facts) else { break };
                self.remedy(ops, remedy, out)?;
            }
        }
        self.note(facts);
        self.memory = is_memory(&inst);
        self.issued.add(std::slice::from_ref(&inst));
        if let MsbChange::Sets(msb) = msb::change(&inst) {
            self.cures.msb = msb;
        }
        out.push(inst);
        Ok(())
    }

    /// Appends what a template needs before it and in it. Its own instructions keep away from each other; what came
    /// before is kept away from as long as it matters.
    pub fn lead_in(&mut self, ops: &Operations, code: &Code, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        // In front of the template there is room; so what an instruction further on needs is put there. What it needs of
        // its own neighbours does not go away by that.
        if !code.indifferent {
            let mut done = vec![0u8; code.facts.len()];
            self.look_back(ops, out)?;
            while let Some((n, remedy)) = self.first_need(code, &done) {
                done[n] += 1;
                self.remedy(ops, remedy, out)?;
            }
            if code.paths.is_some() && code.facts.len() > WINDOW {
                self.wait_for_scalars(ops, out)?;
                self.wait_for_late(ops, code, out)?;
            }
        }
        if let Some(paths) = &code.paths {
            self.pass_through(code, paths);
        } else {
            if code.indifferent {
                self.before.iter_mut().flatten().chain(&mut self.own).for_each(|state| {
                    code.facts.iter().for_each(|facts| state.go_by(facts));
                });
            } else {
                code.facts.iter().for_each(|facts| self.note(facts.clone()));
            }
            self.issued.add(&code.insts);
        }
        if let Some(last) = code.insts.last() {
            self.memory = is_memory(last);
        }
        Ok(())
    }

    /// Behind a template that branches there are as many ways as lead through it.
    fn pass_through(&mut self, code: &Code, paths: &Paths) {
        self.makes |= !code.indifferent;
        self.inserted.extend_from_slice(&code.facts);
        // Made again from what was issued, when it is asked for.
        self.before = None;
        let so_far = self.issued.count().max(self.own.len());
        let ways = paths.last.as_deref().filter(|ways| ways.len() * so_far <= MOST_WAYS);
        let Some(ways) = ways else {
            (self.lost, self.makes) = (true, true);
            self.issued = Issued::after(Some(Rc::new(|_| None)));
            return;
        };
        self.issued.add_ways(&code.insts, ways);
        let mut own = Vec::new();
        for way in ways {
            if way.whole {
                own.extend(self.own.iter().map(|before| {
                    let mut state = before.clone();
                    way.insts.iter().for_each(|n| state.step(&code.facts[*n]));
                    state
                }));
            } else {
                let insts: Vec<Inst> = way.insts.iter().map(|n| code.insts[*n]).collect();
                own.push(self.stepped(&insts));
            }
        }
        self.own = own;
    }

    /// The first instruction of a template that comes too early, unless that was seen to already often enough, and what it
    /// needs.
    fn first_need(&self, code: &Code, done: &[u8]) -> Option<(usize, Remedy)> {
        // So it is nearly everywhere, and it is quickly seen.
        let clear = |state: &Hazards| state.is_clear(code.facts.iter().map(|facts| &**facts));
        if code.apart && self.states().iter().all(clear) {
            return None;
        }
        match &code.paths {
            Some(paths) => paths.first.iter().find_map(|way| self.need_on(code, way.iter().copied(), done)),
            // However much later: scalars that were not waited for, and other hazards that last.
            None if Hazards::last(self.mode) => self.need_on(code, 0..code.facts.len(), done),
            None => self.need_on(code, 0..code.facts.len().min(WINDOW), done),
        }
    }

    /// Waits for scalars that were written, as who reads them cannot be seen from here.
    fn wait_for_scalars(&mut self, ops: &Operations, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let waits = |seam: &Self| seam.states().iter().find_map(|state| state.unwaited(seam.mode));
        for _ in 0..4 {
            let Some(remedy) = waits(self) else { break };
            self.remedy(ops, remedy, out)?;
        }
        Ok(())
    }

    /// Ends what lasts and concerns any instruction of a template, as what runs between here and there cannot be seen.
    fn wait_for_late(&mut self, ops: &Operations, code: &Code, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        if !Hazards::last(self.mode) {
            return Ok(());
        }
        let held = self.states().iter().find_map(|state| state.held_before(code.facts.iter().map(|facts| &**facts)));
        if let Some(remedy) = held {
            self.remedy(ops, remedy, out)?;
        }
        for facts in &code.facts {
            for _ in 0..4 {
                let Some(remedy) = self.needed(facts).filter(|remedy| !matches!(remedy, Remedy::States(_))) else {
                    break;
                };
                self.remedy(ops, remedy, out)?;
            }
        }
        Ok(())
    }

    fn need_on(&self, code: &Code, way: impl Iterator<Item = usize>, done: &[u8]) -> Option<(usize, Remedy)> {
        let mut states = self.states().to_vec();
        for n in way {
            let facts = &code.facts[n];
            if let Some(remedy) = worst(&states, facts).filter(|_| done[n] < 3) {
                return Some((n, remedy));
            }
            states.iter_mut().for_each(|state| state.step(facts));
        }
        None
    }

    /// Appends what the instructions that come next need. `live` are the registers that may be read behind the place.
    pub fn lead_out(
        &mut self,
        ops: &Operations,
        next: &[Inst],
        live: impl FnOnce() -> RegSet,
        out: &mut Vec<Inst>,
    ) -> Result<(), EncodeError> {
        if self.has_one_move(out) && next.first().is_none_or(is_memory) {
            let nop = ops.nop(1)?;
            self.put(nop, out);
        }
        if !self.makes {
            return Ok(());
        }
        let live = &live();
        if self.lost {
            self.lost = false;
            let slate = self.cures.everything(ops)?;
            self.own = vec![self.stepped(&[])];
            slate.into_iter().for_each(|inst| self.put(inst, out));
        }
        for _ in 0..64 {
            let Some(remedy) = self.own.iter().find_map(|own| self.missing_behind(own.clone(), next, live)) else {
                break;
            };
            self.remedy(ops, remedy, out)?;
        }
        Ok(())
    }

    /// A move of an accumulator is all that was inserted: on CDNA1 it makes a hazard of a vector instruction of the
    /// application before it and an access to memory behind it, which have to be two instructions apart then.
    fn has_one_move(&self, inserted: &[Inst]) -> bool {
        let moves = |op: Op| matches!(op, Op::VAccvgprReadB32 | Op::VAccvgprWriteB32);
        self.mode.target() == Target::Gfx908 && matches!(inserted, [inst] if moves(inst.info().op()))
    }

    /// What the instructions that come next need, after the inserted code on one way.
    fn missing_behind(&self, mut trial: Hazards, next: &[Inst], live: &RegSet) -> Option<Remedy> {
        for inst in next.iter().take(WINDOW) {
            let facts = facts(inst);
            if let Some(missing) = trial.needed(&facts) {
                return Some(missing.remedy);
            }
            trial.go_by(&facts);
        }
        let left = trial.rest(self.mode, self.inserted.iter().map(|facts| &**facts), |reg| live.contains(reg));
        // Code inserted further on may take registers that are dead here, and looks back no further than the window.
        left.or_else(|| trial.unwaited(self.mode))
    }

    /// Vector instructions among the inserted ones leave one of these scalars marked as read.
    pub fn marks(&self, scalars: impl Fn(Reg) -> bool, code: &[Inst]) -> bool {
        let mut vector = code.iter().filter(|inst| inst.info().flags.contains(Flags::VALU));
        Scalars::matter(self.mode) && vector.any(|inst| facts(inst).marked().iter().any(&scalars))
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
        for way in &*self.issued.ways().unwrap_or_else(|| Rc::new(self.issued.known())) {
            if way.iter().any(|i| i.info().flags.contains(Flags::MFMA)) {
                self.stepped(way).held().for_each(|range| busy.insert_range(range));
            }
            if self.mode.target().generation() == Generation::Gfx1250 {
                let matrix = way.iter().filter(|i| i.info().flags.contains(Flags::WMMA));
                let operands = matrix.flat_map(|i| i.operands().filter_map(|(_, value)| value.reg()));
                operands.for_each(|range| busy.insert_range(range));
            }
            if let Some(last) = way.last().filter(|i| i.info().flags.intersects(Flags::STORE | Flags::ATOMIC)) {
                let data = last.operand_in(Field::Vdata).and_then(|o| o.reg());
                data.filter(|range| range.count > 2).into_iter().for_each(|range| busy.insert_range(range));
            }
        }
        busy
    }

    /// Works out the state on each way. Where the ways are not known, everything that could still be going on there is
    /// waited for.
    fn look_back(&mut self, ops: &Operations, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        if self.before.is_some() {
            return Ok(());
        }
        let ways = match self.issued.ways() {
            Some(ways) => ways,
            None => {
                self.issued.forget();
                let slate = self.cures.everything(ops)?;
                slate.into_iter().for_each(|inst| self.put(inst, out));
                Rc::new(self.issued.known())
            }
        };
        // All that was inserted is among the recent ones.
        // Some hazards last until something ends them, or for a number of vector instructions: what was issued further back
        // than a way goes may be any of them.
        let state = |way: &Vec<Inst>| self.stepped_behind(way.len() >= WINDOW, way);
        self.before = Some(ways.iter().map(state).collect());
        Ok(())
    }

    /// Appends an instruction of a remedy.
    fn put(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        self.note(facts(&inst));
        self.memory = false;
        self.issued.add(std::slice::from_ref(&inst));
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

    fn note(&mut self, facts: Rc<Facts>) {
        self.before.iter_mut().flatten().for_each(|state| state.step(&facts));
        self.own.iter_mut().for_each(|state| state.step(&facts));
        self.makes |= !facts.is_indifferent();
        self.inserted.push(facts);
    }

    fn remedy(&mut self, ops: &Operations, remedy: Remedy, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let insts = match remedy {
            Remedy::States(n) => vec![ops.nop(n)?],
            Remedy::Vectors(n, Cure::VectorNop) => self.cures.insts(ops, Cure::VectorNop)?.repeat(n as usize),
            Remedy::Vectors(_, cure) | Remedy::Cure(cure) => self.cures.insts(ops, cure)?,
        };
        insts.into_iter().for_each(|inst| self.put(inst, out));
        Ok(())
    }

    /// What a wave that has issued these leaves.
    fn stepped(&self, insts: &[Inst]) -> Hazards {
        self.stepped_behind(false, insts)
    }

    /// The same of a wave that may have issued anything before.
    fn stepped_behind(&self, anything: bool, insts: &[Inst]) -> Hazards {
        // What lasts longer than the window is taken for the worst that it can be.
        let mut state = Hazards::brief();
        state.assume_read(&self.unread);
        state.assume_written(self.mode, &self.unread);
        if anything {
            state.assume_anything(self.mode);
        }
        insts.iter().for_each(|inst| state.step(&facts(inst)));
        state.assume_read(&self.unread);
        state
    }
}

/// The most that is missing before an instruction, over all ways.
fn worst(states: &[Hazards], facts: &Facts) -> Option<Remedy> {
    let all = states.iter().filter_map(|state| state.needed(facts)).map(|missing| missing.remedy);
    all.max_by_key(|remedy| match remedy {
        Remedy::States(n) => (0, *n),
        Remedy::Vectors(n, _) => (1, *n),
        Remedy::Cure(_) => (2, 0),
    })
}
