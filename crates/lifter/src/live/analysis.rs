//! The backward fixpoint over one function, and what it says of every point.

use luthier_isa::RegSet;

use super::effects::{effects, effects_with};
use super::summary::Summaries;
use super::transfer::{Crossing, Sides, Transfer};
use super::{Live, all_units};
use crate::class::ExecEffect;
use crate::exec::{BlockModes, Modes};
use crate::{BlockId, FuncId, InstrId, Program, Terminator};

/// What does not change while the fixpoint is computed.
pub(super) struct Model {
    pub func: FuncId,
    pub modes: BlockModes,
    pub transfers: Vec<Transfer>,
}

impl Model {
    pub fn of(program: &Program, func: FuncId) -> Model {
        let modes = BlockModes::of(program, func);
        let (mut states, mut reads) = (Vec::new(), Vec::new());
        let transfers = program
            .function(func)
            .blocks
            .iter()
            .map(|block| {
                let instrs = program.block(block).instrs;
                if modes.constant(block) {
                    let (mut sides, at_start) = (Sides::default(), modes.at_start(block));
                    for inst in program.insts[instrs.indices()].iter().rev() {
                        effects_with(inst, program.classes, at_start, ExecEffect::None, &mut reads, &mut sides);
                    }
                    return Transfer::Sides(sides);
                }
                let mut transfer = Box::new(Crossing::identity(program.target()));
                modes_of_block(program, &modes, block, &mut states);
                for (inst, modes) in program.insts[instrs.indices()].iter().zip(&states).rev() {
                    effects(inst, program.classes, *modes, &mut reads, transfer.as_mut());
                }
                Transfer::Crossing(transfer)
            })
            .collect();
        Model { func, modes, transfers }
    }

    /// Liveness at the start of every block. `at_return` is what is live where the function returns to; without
    /// `with_reads` the result is which of that comes through to the start.
    pub fn solve(&self, program: &Program, known: &Summaries, at_return: &RegSet, with_reads: bool) -> Vec<Live> {
        let blocks = program.function(self.func).blocks;
        let index = |b: BlockId| (b.0 - blocks.first.0) as usize;
        let mut live_in = vec![Live::NONE; blocks.len()];
        let mut waiting = vec![true; blocks.len()];
        // Last block first, which is close to postorder in compiled code.
        let mut work: std::collections::BinaryHeap<BlockId> = blocks.iter().collect();
        while let Some(block) = work.pop() {
            if !std::mem::take(&mut waiting[index(block)]) {
                continue;
            }
            let mut end = after(program, block, &live_in, known, at_return);
            if program.block(block).terminator == Terminator::Call {
                end = known.before_call(program.call(block), &end, with_reads);
            }
            let start = self.transfers[index(block)].apply(&end, with_reads);
            if live_in[index(block)].union_with(&start) {
                for &pred in program.preds(block) {
                    if !std::mem::replace(&mut waiting[index(pred)], true) {
                        work.push(pred);
                    }
                }
            }
        }
        live_in
    }
}

/// Liveness behind a block's last instruction; of a call, where it returns to.
pub(super) fn after(
    program: &Program,
    block: BlockId,
    live_in: &[Live],
    known: &Summaries,
    at_return: &RegSet,
) -> Live {
    let b = program.block(block);
    let first = program.function(b.func).blocks.first;
    let mut live = match b.terminator {
        Terminator::Return { proven: true } => Live::both(*at_return),
        Terminator::Return { proven: false } => {
            let mut live = *at_return;
            live.union_with(known.at_unproven_return());
            Live::both(live)
        }
        Terminator::UnknownJump | Terminator::Unsupported => Live::both(*all_units(program.target())),
        _ => Live::NONE,
    };
    for succ in program.succs(block) {
        live.union_with(&live_in[(succ.0 - first.0) as usize]);
    }
    for exit in program.exits_of(block) {
        live.union_with(&known.before_tail(exit, at_return));
    }
    live
}

fn modes_of_block(program: &Program, modes: &BlockModes, block: BlockId, out: &mut Vec<Modes>) {
    out.clear();
    let mut now = modes.at_start(block);
    for i in program.block(block).instrs.iter() {
        out.push(now);
        now.step(program.classes, program.inst(i));
    }
}

/// Liveness around one instruction.
#[derive(Clone, Debug)]
pub struct Point {
    pub instr: InstrId,
    pub before: Live,
    /// Behind the instruction, if it goes on to the next one; of a call, where it returns to.
    pub after: Live,
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
    live_in: Vec<Live>,
    /// Live where the function returns to.
    at_return: RegSet,
}

impl<'a> Liveness<'a> {
    pub fn of(program: &'a Program, func: FuncId) -> Liveness<'a> {
        let known = &program.summaries;
        let model = Model::of(program, func);
        let at_return = known.at_return(func);
        let live_in = model.solve(program, known, &at_return, true);
        Liveness { program, func, modes: model.modes, live_in, at_return }
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
    pub fn at_start(&self, block: BlockId) -> &Live {
        &self.live_in[self.index(block)]
    }
    /// At the start of every block, in order.
    pub fn block_starts(&self) -> &[Live] {
        &self.live_in
    }
    /// At the end of a block: behind its last instruction, over all the ways it may go on. Of a call, where it returns
    /// to.
    pub fn at_end(&self, block: BlockId) -> Live {
        after(self.program, block, &self.live_in, &self.program.summaries, &self.at_return)
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
    pub fn points(&self, block: BlockId) -> Vec<Point> {
        let instrs = self.program.block(block).instrs;
        let mut states = Vec::with_capacity(instrs.len());
        modes_of_block(self.program, &self.modes, block, &mut states);
        let mut reads = Vec::new();
        let mut points = Vec::with_capacity(instrs.len());
        let mut live = self.at_end(block);
        for (i, modes) in instrs.iter().zip(&states).rev() {
            let after = live;
            if Some(i) == instrs.last() && self.program.block(block).terminator == Terminator::Call {
                live = self.program.summaries.before_call(self.program.call(block), &after, true);
            }
            effects(self.program.inst(i), self.program.classes, *modes, &mut reads, &mut live);
            // Where EXEC is full, no lane is off.
            let inactive = if modes.exec_full { RegSet::EMPTY } else { live.inactive };
            points.push(Point { instr: i, before: Live { active: live.active, inactive }, after });
        }
        points.reverse();
        points
    }
    fn point(&self, instr: InstrId) -> Point {
        let block = self.program.block_of(instr);
        let first = self.program.block(block).instrs.first;
        self.points(block).swap_remove((instr.0 - first.0) as usize)
    }
    /// Just before an instruction of the function. Walks its block.
    pub fn before(&self, instr: InstrId) -> Live {
        self.point(instr).before
    }
    /// Just behind an instruction of the function. Walks its block.
    pub fn after(&self, instr: InstrId) -> Live {
        self.point(instr).after
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
