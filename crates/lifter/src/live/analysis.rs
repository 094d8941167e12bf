//! The backward fixpoint over one function, and what it says of every point.

use luthier_isa::RegSet;

use super::effects::effects;
use super::summary::Summaries;
use super::transfer::Transfers;
use super::units::{NARROW, Sides, WIDE, is_narrow};
use super::{Live, all_units};
use crate::exec::{BlockModes, Modes};
use crate::worklist::WorkList;
use crate::{BlockId, FuncId, InstrId, Program, Terminator};

/// What does not change while the fixpoint is computed.
pub(crate) struct Model<const WORDS: usize> {
    func: FuncId,
    modes: BlockModes,
    transfers: Transfers<WORDS>,
}

impl<const WORDS: usize> Model<WORDS> {
    pub fn of(program: &Program, func: FuncId) -> Self {
        let modes = BlockModes::of(program, func);
        let blocks = program.function(func).blocks;
        let (mut transfers, mut states) = (Transfers::with_capacity(blocks.len()), Vec::new());
        for block in blocks.iter().rev() {
            let range = program.block(block).instrs.indices();
            let instrs = program.insts[range.clone()].iter().zip(&program.roles[range]).rev();
            transfers.add(|sink| match modes.are_lost() {
                true => instrs.for_each(|(inst, &role)| effects(inst, role, program.classes, Modes::LOST, sink)),
                false => {
                    modes_of_block(program, &modes, block, &mut states);
                    let instrs = instrs.zip(states.iter().rev());
                    instrs.for_each(|((inst, &role), &modes)| effects(inst, role, program.classes, modes, sink));
                }
            });
        }
        Model { func, modes, transfers }
    }

    /// Liveness at the start of every block. `at_return` is what is live where the function returns to; without
    /// `with_reads` the result is which of that comes through to the start.
    pub fn solve(
        &self,
        program: &Program,
        known: &Summaries,
        at_return: &RegSet,
        with_reads: bool,
    ) -> Vec<Sides<WORDS>> {
        let blocks = program.function(self.func).blocks;
        let mut live_in = vec![Sides::NONE; blocks.len()];
        let mut work = WorkList::all(blocks.len());
        while let Some(index) = work.pop_last() {
            let block = blocks.first.offset(index as u32);
            let mut live = after(program, block, &live_in, known, at_return);
            if program.block(block).terminator == Terminator::Call {
                let behind = Live::from(&live);
                live = Sides::from(&known.before_call(program.call(block), &behind, with_reads));
            }
            self.transfers.apply(index, &mut live, with_reads);
            if !live_in[index].contains_all(&live) {
                live_in[index].union_with(&live);
                program.preds(block).iter().for_each(|p| work.insert((p.0 - blocks.first.0) as usize));
            }
        }
        live_in
    }
}

/// Liveness behind a block's last instruction; of a call, where it returns to.
pub(super) fn after<const WORDS: usize>(
    program: &Program,
    block: BlockId,
    live_in: &[Sides<WORDS>],
    known: &Summaries,
    at_return: &RegSet,
) -> Sides<WORDS> {
    let first = program.function(program.block(block).func).blocks.first;
    let outside = live_outside(program, block, known, at_return);
    let mut live = outside.map_or(Sides::NONE, |live| Sides::from(&live));
    for succ in program.succs(block) {
        live.union_with(&live_in[(succ.0 - first.0) as usize]);
    }
    live
}

/// What is live where control goes to from the end of a block, outside of the function; if it does.
fn live_outside(program: &Program, block: BlockId, known: &Summaries, at_return: &RegSet) -> Option<Live> {
    let mut live = match program.block(block).terminator {
        Terminator::Return { proven: true } => Some(Live::both(*at_return)),
        Terminator::Return { proven: false } => {
            let mut live = *at_return;
            live.union_with(known.at_unproven_return());
            Some(Live::both(live))
        }
        Terminator::UnknownJump | Terminator::Unsupported => Some(Live::both(*all_units(program.target()))),
        _ => None,
    };
    for exit in program.exits_of(block) {
        live.get_or_insert(Live::NONE).union_with(&known.before_tail(exit, at_return));
    }
    live
}

fn modes_of_block(program: &Program, modes: &BlockModes, block: BlockId, out: &mut Vec<Modes>) {
    out.clear();
    let mut now = modes.at_start(block);
    for i in program.block(block).instrs.iter() {
        out.push(now);
        now.step(program.classes, program.role(i), program.inst(i));
    }
}

/// Liveness around one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    pub instr: InstrId,
    pub before: &'a Live,
    /// Behind the instruction, if it falls through to the next one; of a call, where it returns to.
    pub after: &'a Live,
}

/// Liveness around the instructions of a block, or around its last ones.
#[derive(Clone, Debug)]
pub struct Points {
    first: InstrId,
    /// How many instructions the block has.
    count: usize,
    /// Behind the block, then before each of its instructions, the last one first.
    lives: Vec<Live>,
}

impl Points {
    /// Of no instructions.
    pub const NONE: Points = Points { first: InstrId(0), count: 0, lives: Vec::new() };

    /// Around the block's instruction number `n`; `None` if it has fewer, or was not asked for.
    pub fn get(&self, n: usize) -> Option<Point<'_>> {
        let back = self.count.checked_sub(n + 1)?;
        let instr = InstrId(self.first.0 + n as u32);
        Some(Point { instr, before: self.lives.get(back + 1)?, after: &self.lives[back] })
    }
    /// Around every instruction, in order.
    pub fn iter(&self) -> impl Iterator<Item = Point<'_>> {
        (0..).map_while(|n| self.get(n))
    }
}

/// At the start of every block.
enum LiveIn {
    Narrow(Vec<Sides<NARROW>>),
    Wide(Vec<Sides<WIDE>>),
}

/// The live register units of one function.
///
/// At a call of a known function, what the callee may read is live, and what lives on behind the call unless the
/// callee surely overwrites it. At a return, what is live behind the calls. Where a callee, a caller or a jump's target
/// is not known, every unit there is counts as live: those beyond the wave's allocation too.
pub struct Liveness<'a> {
    program: &'a Program,
    func: FuncId,
    modes: BlockModes,
    live_in: LiveIn,
    /// Live where the function returns to.
    at_return: RegSet,
}

impl<'a> Liveness<'a> {
    pub fn of(program: &'a Program, func: FuncId) -> Liveness<'a> {
        Liveness::given(program, func, program.summaries.at_return(func))
    }
    /// The same as if nothing was needed where the function returns to: what the function itself, and what it calls, may
    /// still read. Whatever is live so is live in all callers as well, up to where it is written; what is live behind
    /// only some of the calls is not.
    pub fn within(program: &'a Program, func: FuncId) -> Liveness<'a> {
        Liveness::given(program, func, RegSet::EMPTY)
    }
    fn given(program: &'a Program, func: FuncId, at_return: RegSet) -> Liveness<'a> {
        fn solve<const WORDS: usize>(
            program: &Program,
            func: FuncId,
            at_return: &RegSet,
        ) -> (BlockModes, Vec<Sides<WORDS>>) {
            let model = Model::of(program, func);
            let live_in = model.solve(program, &program.summaries, at_return, true);
            (model.modes, live_in)
        }
        let (modes, live_in) = if is_narrow(program.target()) {
            let (modes, live_in) = solve(program, func, &at_return);
            (modes, LiveIn::Narrow(live_in))
        } else {
            let (modes, live_in) = solve(program, func, &at_return);
            (modes, LiveIn::Wide(live_in))
        };
        Liveness { program, func, modes, live_in, at_return }
    }
    /// The liveness of every function, one after the other on all cores, each handed to `f` and then dropped.
    pub fn for_each<R: Send>(program: &'a Program, f: impl Fn(&Liveness<'a>) -> R + Sync) -> Vec<R> {
        use rayon::prelude::*;
        (0..program.functions().len() as u32).into_par_iter().map(|i| f(&Liveness::of(program, FuncId(i)))).collect()
    }
    pub fn func(&self) -> FuncId {
        self.func
    }
    fn index(&self, block: BlockId) -> usize {
        (block.0 - self.program.function(self.func).blocks.first.0) as usize
    }
    /// At the start of a block of the function.
    pub fn at_start(&self, block: BlockId) -> Live {
        match &self.live_in {
            LiveIn::Narrow(live_in) => Live::from(&live_in[self.index(block)]),
            LiveIn::Wide(live_in) => Live::from(&live_in[self.index(block)]),
        }
    }
    /// At the end of a block: behind its last instruction, over all the ways it may go on. Of a call, where it returns
    /// to.
    pub fn at_end(&self, block: BlockId) -> Live {
        let outside = live_outside(self.program, block, &self.program.summaries, &self.at_return);
        let mut live = outside.unwrap_or(Live::NONE);
        self.program.succs(block).iter().for_each(|succ| live.union_with(&self.at_start(*succ)));
        live
    }
    /// Live in any lane at the start of a block.
    pub fn live_in(&self, block: BlockId) -> RegSet {
        self.at_start(block).any()
    }
    /// Live in any lane at the end of a block.
    pub fn live_out(&self, block: BlockId) -> RegSet {
        self.at_end(block).any()
    }
    /// Liveness around every instruction of a block, in order. One walk over the block: use this rather than
    /// [`Liveness::before`] when more than one point of it is of interest.
    pub fn points(&self, block: BlockId) -> Points {
        let mut points = Points::NONE;
        self.points_into(block, &mut points);
        points
    }
    /// The same in memory that is there already.
    pub fn points_into(&self, block: BlockId, points: &mut Points) {
        self.points_from(block, 0, points);
    }
    /// The same around the block's instructions from number `from` on.
    pub fn points_from(&self, block: BlockId, from: usize, points: &mut Points) {
        let instrs = self.program.block(block).instrs;
        (points.first, points.count) = (instrs.first, instrs.len());
        points.lives.clear();
        match is_narrow(self.program.target()) {
            true => self.walk::<NARROW>(block, from, &mut points.lives),
            false => self.walk::<WIDE>(block, from, &mut points.lives),
        }
    }
    /// What [`Liveness::points`] says of the place in front of a block's first instruction, without a walk over the block.
    pub fn before_first(&self, block: BlockId) -> Live {
        let mut live = self.at_start(block);
        if self.modes.at_start(block).exec_full {
            // No lane is off.
            live.inactive = RegSet::EMPTY;
        }
        live
    }
    fn walk<const WORDS: usize>(&self, block: BlockId, from: usize, lives: &mut Vec<Live>) {
        let program = self.program;
        let instrs = program.block(block).instrs;
        let mut states = Vec::with_capacity(instrs.len());
        match self.modes.are_lost() {
            true => states.resize(instrs.len(), Modes::LOST),
            false => modes_of_block(program, &self.modes, block, &mut states),
        }
        lives.reserve(instrs.len().saturating_sub(from) + 1);
        let after = self.at_end(block);
        lives.push(after);
        let mut live = Sides::<WORDS>::from(&after);
        for (i, modes) in instrs.iter().zip(&states).skip(from).rev() {
            if Some(i) == instrs.last() && program.block(block).terminator == Terminator::Call {
                live = Sides::from(&program.summaries.before_call(program.call(block), &after, true));
            }
            effects(program.inst(i), program.role(i), program.classes, *modes, &mut live);
            // Where EXEC is full, no lane is off.
            let inactive = if modes.exec_full { RegSet::EMPTY } else { RegSet::from(&live.inactive) };
            lives.push(Live { active: RegSet::from(&live.active), inactive });
        }
    }
    fn around(&self, instr: InstrId, which: impl Fn(Point) -> Live) -> Live {
        let block = self.program.block_of(instr);
        let n = (instr.0 - self.program.block(block).instrs.first.0) as usize;
        self.points(block).get(n).map_or(Live::NONE, which)
    }
    /// Just before an instruction of the function. Walks its block.
    pub fn before(&self, instr: InstrId) -> Live {
        self.around(instr, |point| *point.before)
    }
    /// Just behind an instruction of the function. Walks its block.
    pub fn after(&self, instr: InstrId) -> Live {
        self.around(instr, |point| *point.after)
    }
    /// Live in any lane just before an instruction.
    pub fn live_before(&self, instr: InstrId) -> RegSet {
        self.before(instr).any()
    }
    /// Live in any lane just behind an instruction.
    pub fn live_after(&self, instr: InstrId) -> RegSet {
        self.after(instr).any()
    }
}
