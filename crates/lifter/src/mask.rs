//! What is known of EXEC at every point of a function.
//!
//! EXEC is followed together with the copies of it that code puts aside (`s_and_saveexec_b64 s[4:5], vcc`), so that it is
//! known again where a divergent region ends (`s_or_b64 exec, exec, s[4:5]`). Three things end what is known: a value
//! that is not followed, a join where ways disagree, and a call.

use luthier_isa::{Field, Inst, Operand, Reg, RegRange};

use crate::class::{Classes, ExecEffect, Kind, MaskOp, Role, is_all_ones};
use crate::worklist::WorkList;
use crate::{BlockId, FuncId, InstrId, Program};

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecState {
    /// Every bit is set.
    Full,
    /// As at the function's entry: the lanes that the wave came in with, which may be all or not.
    Entry,
    /// Some of the lanes of the entry, or of a point where EXEC was full: narrowed since, perhaps to none.
    Partial,
    /// Nothing is known.
    Unknown,
}

impl ExecState {
    /// `full`, `entry`, `partial` or `unknown`.
    pub const fn name(self) -> &'static str {
        match self {
            ExecState::Full => "full",
            ExecState::Entry => "entry",
            ExecState::Partial => "partial",
            ExecState::Unknown => "unknown",
        }
    }
}

/// Where the lanes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Full,
    Entry,
}

/// The value of EXEC, or of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mask {
    /// All lanes of the root.
    Whole(Root),
    /// Some of them.
    Part(Root),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    /// `None`: nothing is known.
    exec: Option<Mask>,
    /// By first register, in order.
    copies: Vec<(Reg, Mask)>,
}

impl State {
    fn root(mask: Mask) -> Root {
        match mask {
            Mask::Whole(root) | Mask::Part(root) => root,
        }
    }
    /// What is true of both.
    fn meet(&mut self, other: &State) {
        self.exec = self.exec.zip(other.exec).and_then(|(a, b)| join(a, b));
        let theirs = |reg: Reg| other.copies.iter().find(|c| c.0 == reg).map(|c| c.1);
        let both = self.copies.iter().filter_map(|(reg, mask)| Some((*reg, join(*mask, theirs(*reg)?)?)));
        self.copies = both.collect();
    }
    fn value(&self, classes: &Classes, operand: Option<Operand>) -> Option<Mask> {
        match operand {
            _ if classes.is_exec(operand) => self.exec,
            _ if is_all_ones(operand) => Some(Mask::Whole(Root::Full)),
            Some(Operand::Reg(range)) => self.copies.iter().find(|c| c.0 == range.first).map(|c| c.1),
            _ => None,
        }
    }
    fn forget(&mut self, classes: &Classes, inst: &Inst) {
        if self.copies.is_empty() {
            return;
        }
        let units = usize::from(classes.mask_units());
        classes.for_each_access(inst, |a| {
            if a.access.writes() {
                self.copies.retain(|c| a.reg < c.0 || a.reg.index() >= c.0.index() + units);
            }
        });
    }
    fn keep(&mut self, classes: &Classes, to: Option<Operand>, mask: Option<Mask>) {
        if let (Some(Operand::Reg(range)), Some(mask)) = (to, mask)
            && range == RegRange::new(range.first, classes.mask_units())
            && range.first.is_sgpr()
        {
            let at = self.copies.partition_point(|c| c.0 < range.first);
            self.copies.insert(at, (range.first, mask));
        }
    }
    fn step(&mut self, classes: &Classes, role: Role, inst: &Inst) {
        let Role { kind, exec: effect } = role;
        let (sdst, src0, src1) =
            (inst.operand_in(Field::Sdst), inst.operand_in(Field::Ssrc0), inst.operand_in(Field::Ssrc1));
        let op = classes.mask_op(kind);
        let value = |operand| self.value(classes, operand);
        let before = self.exec;
        // All lanes of the root, as soon as one side has them and the other has no others.
        let full = Some(Mask::Whole(Root::Full));
        let union = |a: Option<Mask>, b: Option<Mask>| match (a?, b?) {
            (a, b) if State::root(a) != State::root(b) => None,
            (Mask::Whole(root), _) | (_, Mask::Whole(root)) => Some(Mask::Whole(root)),
            (a, _) => Some(a),
        };
        let after = match (effect, kind) {
            (ExecEffect::None, _) => before,
            (ExecEffect::Full, _) => Some(Mask::Whole(Root::Full)),
            (ExecEffect::Grow, _) if before == full => full,
            (ExecEffect::Grow, _) if op == MaskOp::Or => union(value(src0), value(src1)),
            (ExecEffect::Grow, Kind::OrSaveexec) => union(before, value(src0)),
            (ExecEffect::Grow, _) => None,
            // Of what nothing is known, a part is as little known.
            (ExecEffect::Shrink, _) => before.map(|m| Mask::Part(State::root(m))),
            (ExecEffect::Unknown, _) if op == MaskOp::Mov && classes.is_exec(sdst) => value(src0),
            // A bit by bit change of a part of the root by another part of it stays within.
            (ExecEffect::Unknown, _) if op == MaskOp::Xor && classes.is_exec(sdst) => {
                match (value(src0), value(src1)) {
                    (Some(a), Some(b)) if State::root(a) == State::root(b) => Some(Mask::Part(State::root(a))),
                    _ => None,
                }
            }
            (ExecEffect::Unknown, _) => None,
        };
        let copied = match kind {
            // The others put the new value there.
            Kind::ShrinkExec | Kind::GrowExec | Kind::OrSaveexec if inst.info().op().is_saveexec() => before,
            _ if op == MaskOp::Mov => value(src0),
            _ if op == MaskOp::Xor => match (value(src0), value(src1)) {
                (Some(a), Some(b)) if State::root(a) == State::root(b) => Some(Mask::Part(State::root(a))),
                _ => None,
            },
            _ => None,
        };
        self.forget(classes, inst);
        match kind {
            Kind::CallDirect | Kind::Swappc => *self = State { exec: None, copies: Vec::new() },
            Kind::ScalarRelative => self.copies.clear(),
            _ => self.keep(classes, sdst, copied),
        }
        if effect != ExecEffect::None {
            self.exec = after;
        }
    }
    fn exec(&self) -> ExecState {
        match self.exec {
            Some(Mask::Whole(Root::Full)) => ExecState::Full,
            Some(Mask::Whole(Root::Entry)) => ExecState::Entry,
            Some(Mask::Part(_)) => ExecState::Partial,
            None => ExecState::Unknown,
        }
    }
}

fn join(a: Mask, b: Mask) -> Option<Mask> {
    match a == b {
        true => Some(a),
        false => (State::root(a) == State::root(b)).then_some(Mask::Part(State::root(a))),
    }
}

/// What is known of EXEC, for one function.
pub struct ExecStates<'a> {
    program: &'a Program,
    first: BlockId,
    at_start: Vec<State>,
}

impl<'a> ExecStates<'a> {
    pub fn of(program: &'a Program, func: FuncId) -> ExecStates<'a> {
        let function = program.function(func);
        let (blocks, first) = (function.blocks, function.blocks.first);
        let lost = State { exec: None, copies: Vec::new() };
        let mut states: Vec<Option<State>> = vec![None; blocks.len()];
        let mut work = WorkList::new(blocks.len());
        let mut start = |block: BlockId, state: &State| {
            let at = &mut states[(block.0 - first.0) as usize];
            match at {
                Some(old) => old.meet(state),
                None => *at = Some(state.clone()),
            }
            work.insert((block.0 - first.0) as usize);
        };
        let entry = State { exec: Some(Mask::Whole(Root::Entry)), ..lost.clone() };
        if !blocks.is_empty() {
            start(function.entry, &entry);
        }
        let at = |vaddr: u64| program.instr_at(vaddr).map(|i| program.block_of(i));
        function.second_entry.and_then(at).into_iter().for_each(|b| start(b, &entry));
        function.entered_inside.iter().filter_map(|v| at(*v)).for_each(|b| start(b, &lost));
        if program.has_wild_jumps() {
            let dispatched = |b: BlockId| b == function.entry || Some(program.block_vaddr(b)) == function.second_entry;
            blocks.iter().filter(|b| program.preds(*b).is_empty() && !dispatched(*b)).for_each(|b| start(b, &lost));
        }
        while let Some(index) = work.pop_first() {
            let Some(mut state) = states[index].clone() else { continue };
            let block = first.offset(index as u32);
            let instrs = program.block(block).instrs;
            instrs.iter().for_each(|i| state.step(program.classes, program.role(i), program.inst(i)));
            for &succ in program.succs(block) {
                let at = &mut states[(succ.0 - first.0) as usize];
                let changed = match at {
                    Some(old) => {
                        let before = old.clone();
                        old.meet(&state);
                        *old != before
                    }
                    None => {
                        *at = Some(state.clone());
                        true
                    }
                };
                if changed {
                    work.insert((succ.0 - first.0) as usize);
                }
            }
        }
        // What nothing is seen to reach may still be jumped to.
        ExecStates { program, first, at_start: states.into_iter().map(|s| s.unwrap_or(lost.clone())).collect() }
    }
    /// EXEC before every instruction of a block, in order. One walk over the block: use this rather than
    /// [`ExecStates::before`] when more than one point of it is of interest.
    pub fn points(&self, block: BlockId) -> Vec<ExecState> {
        let mut state = self.at_start[(block.0 - self.first.0) as usize].clone();
        let instrs = self.program.block(block).instrs;
        let each = instrs.iter().map(|i| {
            let exec = state.exec();
            state.step(self.program.classes, self.program.role(i), self.program.inst(i));
            exec
        });
        each.collect()
    }
    /// EXEC just before an instruction of the function. Walks its block.
    pub fn before(&self, instr: InstrId) -> ExecState {
        let block = self.program.block_of(instr);
        let first = self.program.block(block).instrs.first;
        self.points(block)[(instr.0 - first.0) as usize]
    }
}
