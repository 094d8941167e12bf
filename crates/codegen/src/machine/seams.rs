//! Hazards where inserted code meets what surrounds it: wait states and waits for dependencies, by isa's table.
//!
//! What came before a place is looked at only when something is inserted that has to keep away from anything; what comes
//! behind it, when something was inserted that others have to keep away from.

use luthier_isa::hazard::{Cure, Facts, Hazards, Remedy};
use luthier_isa::op::Op;
use luthier_isa::{EncodeError, Field, Flags, Inst, Mode, Reg, RegSet};

use super::Operations;
use super::operations::one;
use crate::template::prepared::is_memory;

/// Instructions that far back matter: no hazard lasts longer, s_nop aside.
const WINDOW: usize = 20;

/// The register that is none, as RDNA1 and RDNA2 encode it.
const NULL: u32 = 125;

/// Follows the instructions that a wave issues, and says what has to come in between.
#[derive(Clone)]
pub struct Seam {
    mode: Mode,
    /// Scalars that no vector instruction reads.
    unread: RegSet,
    /// What was issued before the inserted code, the latest last: on each way that leads there.
    ways: Vec<Vec<Inst>>,
    /// The same, stepped; made when it is first asked for.
    before: Option<Vec<Hazards>>,
    /// The inserted instructions alone, as hazards see them, and the state that they leave.
    inserted: Vec<Facts>,
    code: Vec<Inst>,
    own: Hazards,
    /// Some inserted instruction asks others to keep away.
    makes: bool,
    memory: bool,
}

impl Seam {
    /// Behind these instructions, on each way that leads to a place, the latest last.
    pub fn behind(mode: Mode, ways: Vec<Vec<Inst>>, unread: RegSet) -> Seam {
        let last = |way: &Vec<Inst>| way.last().is_none_or(is_memory);
        let mut own = Hazards::default();
        own.assume_read(&unread);
        Seam {
            mode,
            unread,
            memory: ways.is_empty() || ways.iter().any(last),
            ways: if ways.is_empty() { vec![Vec::new()] } else { ways },
            before: None,
            inserted: Vec::new(),
            code: Vec::new(),
            own,
            makes: false,
        }
    }

    /// Where nothing has been issued before, or nothing that matters any more.
    pub fn start(mode: Mode, unread: RegSet) -> Seam {
        Seam::behind(mode, Vec::new(), unread)
    }

    /// Instructions of the application, which need nothing in between among themselves.
    pub fn follow(&mut self, insts: &[Inst]) {
        let Some(last) = insts.last() else { return };
        self.memory = is_memory(last);
        let code = std::mem::take(&mut self.code);
        for inst in code.iter().chain(insts) {
            self.ways.iter_mut().for_each(|way| {
                if way.len() >= 2 * WINDOW {
                    way.drain(..WINDOW);
                }
                way.push(*inst);
            });
        }
        self.before = None;
        self.inserted.clear();
        self.makes = false;
        self.own.restart();
        self.own.assume_read(&self.unread);
    }

    /// Appends an instruction behind what it needs.
    pub fn issue(&mut self, ops: &Operations, inst: Inst, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        self.prepare(ops, &inst, out)?;
        self.memory = is_memory(&inst);
        self.code.push(inst);
        out.push(inst);
        Ok(())
    }

    /// Appends what a template needs before it and in it. Its own instructions keep away from each other; what came
    /// before is kept away from as long as it matters.
    pub fn lead_in(&mut self, ops: &Operations, code: &[Inst], out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        // In front of the template there is room; so what an instruction further on needs is put there. What it needs of
        // its own neighbours does not go away by that.
        let all: Vec<Facts> = code.iter().map(Facts::of).collect();
        let mut done = [0; WINDOW];
        while all.iter().any(|facts| !facts.is_indifferent()) {
            let mut trial = self.clone();
            let mut missing = None;
            for (n, facts) in all.iter().enumerate().take(WINDOW) {
                missing = trial.needed(facts).filter(|_| done[n] < 3).map(|remedy| (n, remedy));
                if missing.is_some() {
                    break;
                }
                trial.note(facts.clone());
            }
            let Some((n, remedy)) = missing else { break };
            done[n] += 1;
            self.remedy(ops, remedy, out)?;
        }
        all.into_iter().for_each(|facts| self.note(facts));
        if let Some(last) = code.last() {
            self.memory = is_memory(last);
        }
        self.code.extend_from_slice(&code[code.len().saturating_sub(2 * WINDOW)..]);
        Ok(())
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
        for way in &self.ways {
            let recent = &way[way.len().saturating_sub(WINDOW)..];
            if recent.iter().any(|i| i.info().flags.contains(Flags::MFMA)) {
                self.stepped(recent).held().for_each(|range| busy.insert_range(range));
            }
            if let Some(last) = recent.last().filter(|i| i.info().flags.intersects(Flags::STORE | Flags::ATOMIC)) {
                let data = last.operand_in(Field::Vdata).and_then(|o| o.reg());
                data.filter(|range| range.count > 2).into_iter().for_each(|range| busy.insert_range(range));
            }
        }
        busy
    }

    fn prepare(&mut self, ops: &Operations, inst: &Inst, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let facts = Facts::of(inst);
        if !facts.is_indifferent() {
            for _ in 0..64 {
                let Some(remedy) = self.needed(&facts) else { break };
                self.remedy(ops, remedy, out)?;
            }
        }
        self.note(facts);
        Ok(())
    }

    /// What is missing before an instruction.
    fn needed(&mut self, facts: &Facts) -> Option<Remedy> {
        if facts.is_indifferent() {
            return None;
        }
        if self.before.is_none() {
            let ways = self.ways.iter().map(|way| {
                let mut state = self.stepped(&way[way.len().saturating_sub(WINDOW)..]);
                self.inserted.iter().for_each(|facts| state.check(facts, 0, |_| {}));
                state
            });
            self.before = Some(ways.collect());
        }
        let before = self.before.iter().flatten();
        let all = before.filter_map(|state| state.needed(facts)).map(|missing| missing.remedy);
        all.max_by_key(|remedy| match remedy {
            Remedy::States(n) => *n,
            Remedy::Vectors(..) | Remedy::Cure(_) => u32::MAX,
        })
    }

    fn note(&mut self, facts: Facts) {
        self.before.iter_mut().flatten().for_each(|state| state.check(&facts, 0, |_| {}));
        self.own.check(&facts, 0, |_| {});
        self.makes |= !facts.is_indifferent();
        self.inserted.push(facts);
    }

    fn remedy(&mut self, ops: &Operations, remedy: Remedy, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
        let inst = match remedy {
            Remedy::States(n) => ops.nop(n)?,
            Remedy::Vectors(_, cure) | Remedy::Cure(cure) => self.cure(ops, cure)?,
        };
        self.note(Facts::of(&inst));
        self.memory = false;
        self.code.push(inst);
        out.push(inst);
        Ok(())
    }

    fn cure(&self, ops: &Operations, cure: Cure) -> Result<Inst, EncodeError> {
        let with = |op: Op, value: u32| {
            let missing = EncodeError::NoField { mnemonic: op.name(), field: Field::Simm16 };
            let mut inst = Inst::new(self.mode.plain(op).ok_or(missing)?);
            inst.set_field(Field::Simm16, value)?;
            Ok(inst)
        };
        let depctr = Op::SWaitcntDepctr;
        match cure {
            Cure::Nop => ops.nop(1),
            // An identity under any EXEC; v_nop would be dropped.
            Cure::VectorNop | Cure::Vector => ops.vector_mov(Reg::vgpr(0), one(Reg::vgpr(0))),
            // An identity, too.
            Cure::Scalar => ops.mov32(Reg::VCC_LO, one(Reg::VCC_LO)),
            Cure::VmVsrc => with(depctr, 0xffe3),
            Cure::SaSdst | Cure::AluSaSdst => with(depctr, 0xfffe),
            Cure::VaVdst => with(depctr, 0x0fff),
            Cure::VaSdst | Cure::AluVaSdst => with(depctr, 0xf1ff),
            Cure::VaVcc | Cure::AluVaVcc => with(depctr, 0xfffd),
            Cure::Stores => {
                let mut inst = with(Op::SWaitcntVscnt, 0)?;
                inst.set_field(Field::Sdst, NULL)?;
                Ok(inst)
            }
        }
    }

    /// What a wave that has issued these leaves.
    fn stepped(&self, insts: &[Inst]) -> Hazards {
        let mut state = Hazards::default();
        state.assume_read(&self.unread);
        insts.iter().for_each(|inst| state.check(&Facts::of(inst), 0, |_| {}));
        state
    }
}
