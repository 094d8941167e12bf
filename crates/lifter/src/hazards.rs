//! Hazards along all ways through a function, without running it: instructions that come too early behind others.
//!
//! A block's instructions are judged behind the last ones on each way that leads to it. Scalars that vector instructions
//! have read, which matter for as long as a wave runs, are followed through the whole function. What a function is entered
//! with, and what a call leaves, is taken to be far enough away: compilers judge a function at a time, too.

use luthier_isa::hazard::{Facts, Hazards, Missing, Scalars};

use crate::ways::{Way, ways};
use crate::worklist::WorkList;
use crate::{BlockId, FuncId, InstrId, Program, Terminator};

/// An instruction that comes too early on some way.
#[derive(Clone, Debug)]
pub struct TooEarly {
    pub instr: InstrId,
    /// What is missing in front of it; `first` is the address of the instruction that it has to keep away from.
    pub missing: Missing,
}

/// Instructions that are followed in front of a block: where hazards pass with wait states, and where they last until
/// vector instructions have come.
const LENGTH: usize = 20;
const LONGER: usize = 40;
/// Where there are more ways than these, they are followed for fewer instructions.
const MOST_WAYS: usize = 1024;

/// The instructions of a function that come too early, by address, each once for each rule. Of a function whose code is not
/// understood there are none.
pub fn too_early(program: &Program, func: FuncId) -> Vec<TooEarly> {
    if program.function(func).refusal.is_some() {
        return Vec::new();
    }
    let judge = Judge::new(program, func);
    if judge.facts.iter().all(Facts::is_indifferent) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let entering = judge.scalars();
    let mut wave = Hazards::default();
    for (n, block) in program.function(func).blocks.iter().enumerate() {
        judge.block(block, entering.get(n).and_then(Option::as_ref), &mut wave, &mut found);
    }
    found.sort_by_key(|early| early.instr);
    let mut told: Vec<TooEarly> = Vec::new();
    for early in found {
        let same = |other: &TooEarly| other.instr == early.instr && other.missing.rule == early.missing.rule;
        if !told.iter().rev().take_while(|other| other.instr == early.instr).any(same) {
            told.push(early);
        }
    }
    told
}

struct Judge<'a> {
    program: &'a Program,
    func: FuncId,
    first: InstrId,
    facts: Vec<Facts>,
    length: usize,
}

impl<'a> Judge<'a> {
    fn new(program: &'a Program, func: FuncId) -> Judge<'a> {
        let instrs = program.function_instrs(func);
        let facts = instrs.iter().map(|i| Facts::of(program.inst(i))).collect();
        let length = if Hazards::last(program.mode()) { LONGER } else { LENGTH };
        Judge { program, func, first: instrs.first, facts, length }
    }

    fn step(&self, wave: &mut Hazards, instr: InstrId, report: impl FnMut(Missing)) {
        wave.check(&self.facts[(instr.0 - self.first.0) as usize], self.program.vaddr(instr), report);
    }

    /// The scalars that are known where each block begins; nothing where no hazard is about them.
    fn scalars(&self) -> Vec<Option<Scalars>> {
        let blocks = self.program.function(self.func).blocks;
        if !Scalars::matter(self.program.mode()) {
            return Vec::new();
        }
        let mut known: Vec<Option<Scalars>> = vec![Some(Scalars::default()); blocks.len()];
        let mut work = WorkList::all(blocks.len());
        let mut wave = Hazards::default();
        while let Some(n) = work.pop_first() {
            let Some(before) = known[n].clone() else { continue };
            let block = self.program.block(BlockId(blocks.first.0 + n as u32));
            wave.restart();
            wave.set_scalars(before);
            block.instrs.iter().for_each(|instr| self.step(&mut wave, instr, |_| {}));
            if block.terminator == Terminator::Call {
                continue;
            }
            let after = wave.scalars();
            for next in self.program.succs(BlockId(blocks.first.0 + n as u32)) {
                let next = next.0.wrapping_sub(blocks.first.0) as usize;
                if known.get_mut(next).and_then(Option::as_mut).is_some_and(|scalars| scalars.join(&after)) {
                    work.insert(next);
                }
            }
        }
        known
    }

    /// Judges a block's instructions behind each way that leads to it.
    fn block(&self, block: BlockId, scalars: Option<&Scalars>, wave: &mut Hazards, found: &mut Vec<TooEarly>) {
        let instrs = self.program.block(block).instrs;
        for (n, way) in self.ways(block).iter().enumerate() {
            // Further on nothing differs from way to way.
            let judged = if n == 0 { instrs.len() } else { instrs.len().min(self.length) };
            wave.restart();
            way.instrs.iter().for_each(|instr| self.step(wave, *instr, |_| {}));
            if let Some(scalars) = scalars {
                wave.set_scalars(scalars.clone());
            }
            for instr in instrs.iter().take(judged) {
                self.step(wave, instr, |missing| found.push(TooEarly { instr, missing }));
            }
        }
    }

    fn ways(&self, block: BlockId) -> Vec<Way> {
        let mut length = self.length;
        while length > 1 {
            if let Some(found) = ways(self.program, block, length, MOST_WAYS, |_| false) {
                return found;
            }
            length /= 2;
        }
        // Blocks that very many lead to: each of those alone.
        let last = |p: &BlockId| self.program.block(*p).instrs.iter().rev().take(self.length).collect::<Vec<_>>();
        let preds = self.program.preds(block).iter();
        let preds = preds.filter(|p| self.program.block(**p).terminator != Terminator::Call);
        preds.map(|p| Way { instrs: last(p).into_iter().rev().collect(), is_open: true }).collect()
    }
}
