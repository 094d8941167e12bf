//! Blocks that are run together with the one that follows them ([`crate::joined`]).

use std::sync::Arc;

use luthier_isa::op::Op as IsaOp;

#[cfg(target_arch = "x86_64")]
use super::laps::Known;
use super::{Cursor, Entry, Program, Stop, Tier, UNKNOWN, execute};
use crate::code::Block;
#[cfg(target_arch = "x86_64")]
use crate::native::{Run, are_barrier};
use crate::op::{Flow, Kind, Op};
use crate::wave::Wave;

/// Whether a hot block has native code together with the one that follows it.
pub(super) enum Following {
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is native code for x86-64 only"))]
    Unknown,
    Apart,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is native code for x86-64 only"))]
    Joined(Pair),
}

pub(super) struct Pair {
    pub ways: Ways,
    /// What is known of it as one of a workgroup's rounds.
    #[cfg(target_arch = "x86_64")]
    pub lap: Known,
    /// Micro-ops of the block, which keeps what they point at, together with those that follow.
    pub ops: Arc<[Op]>,
}

/// The worker's numbers of the blocks that may follow: `over` if the branch is taken, which is how `through` ends.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    pub(super) over: u32,
    pub(super) through: u32,
    /// Instructions of `through`.
    pub longest: u64,
}

/// A pair that the waves of a workgroup run one after the other.
#[derive(Clone, Copy)]
pub struct Together {
    /// The worker's number of its first block.
    pub at: u32,
    /// What is behind it, and how many instructions it is, where the branch is taken and where it is not.
    ends: [End; 2],
    /// Executions of each that ended at a barrier, and are not in the blocks' counts.
    counts: [u64; 2],
}

#[derive(Clone, Copy)]
struct End {
    /// The worker's number of the block behind.
    next: u32,
    length: u64,
}

/// Executions of a block after which its worker looks whether native code of it and the next one is of use.
const BETWEEN_LOOKS: u64 = 256;

#[cfg(target_arch = "x86_64")]
fn is_given_up(block: &Block) -> bool {
    matches!(block.joined.get(), Some(Some(joined)) if joined.native.is_given_up())
}
#[cfg(not(target_arch = "x86_64"))]
fn is_given_up(_block: &Block) -> bool {
    false
}

/// The run of native code that micro-ops are, if nothing but a barrier of the workgroup follows it; and whether waves signal that
/// barrier before they wait.
#[cfg(target_arch = "x86_64")]
pub(super) fn sole(ops: &[Op]) -> Option<(&Run, bool)> {
    let (run, barrier) = ops.split_first()?;
    let signals = are_barrier(barrier);
    let is_barrier = signals || matches!(barrier, [it] if it.kind == Kind::of(IsaOp::SBarrier));
    Some((Run::of(run).filter(|_| is_barrier)?, signals))
}

impl Entry {
    /// Whether `waves` waves may run the pair that begins here before the worker has to look at it again.
    #[inline(always)]
    pub(super) fn may_run(&self, waves: usize) -> bool {
        let (before, after) = (self.count, self.count + waves as u64);
        self.tier == Tier::Native && after < self.hot && before / BETWEEN_LOOKS == after / BETWEEN_LOOKS
    }
}

impl Program {
    /// What is known at first of what follows a block.
    pub(super) fn unjoined(&self) -> Following {
        #[cfg(target_arch = "x86_64")]
        if !self.code.is_apart() {
            return Following::Unknown;
        }
        Following::Apart
    }

    /// Sees to what is known of what follows a block that is native, if it is time to.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self, w: &Wave, at: u32) {
        let entry = &mut self.blocks[at as usize];
        match entry.following {
            Following::Unknown => self.join(w, at),
            Following::Joined(_) if entry.count.is_multiple_of(BETWEEN_LOOKS) && is_given_up(&entry.block) => {
                entry.following = Following::Apart;
            }
            _ => {}
        }
    }

    /// Finds out whether a block has native code together with what follows it.
    #[cold]
    fn join(&mut self, w: &Wave, at: u32) {
        self.blocks[at as usize].following = Following::Apart;
        #[cfg(target_arch = "x86_64")]
        if let Some([taken, next]) = self.blocks[at as usize].block.ways()
            && let (Ok(over), Ok(through)) = (self.block_at(w, taken), self.block_at(w, next))
        {
            let [first, after, rest] = [at, through, over].map(|n| &self.blocks[n as usize]);
            let joined = self.code.joined(&first.block, &after.block, &rest.block, w.mode);
            if let Some(joined) = joined.filter(|joined| !joined.native.is_given_up()) {
                let ways = Ways { over, through, longest: after.length };
                let ops = Arc::clone(&joined.native.ops);
                self.blocks[at as usize].following = Following::Joined(Pair { ways, lap: Known::Nothing, ops });
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = w;
    }

    /// Counts the second block of a pair whose first one has `first` instructions: which it was, its instructions, and, in it,
    /// the instruction that has this number in both.
    #[inline(always)]
    pub(super) fn second(&mut self, w: &mut Wave, ways: Ways, first: u64, inst: u16) -> (u32, u64, u16) {
        let skipped = std::mem::take(&mut w.skipped);
        let at = if skipped { ways.over } else { ways.through };
        let entry = &mut self.blocks[at as usize];
        entry.count += 1;
        let before = first + if skipped { ways.longest - entry.length } else { 0 };
        (at, entry.length, inst.saturating_sub(before as u16))
    }

    /// The pair that begins with the block before which some waves stand, for all of them in turns; none where there is no such
    /// code, or not now.
    #[inline(always)]
    pub fn pair(&self, cursor: Cursor, waves: usize) -> Option<Together> {
        let Cursor::Block(at) = cursor else { return None };
        let entry = &self.blocks[at as usize];
        let Following::Joined(pair) = &entry.following else { return None };
        if self.has_halts || !entry.may_run(waves) {
            return None;
        }
        let end = |at: u32, before: u64| {
            let entry = &self.blocks[at as usize];
            End { next: entry.next, length: before + entry.length }
        };
        Some(Together {
            at,
            ends: [end(pair.ways.over, entry.length), end(pair.ways.through, entry.length)],
            counts: [0; 2],
        })
    }

    /// Runs a pair for a wave that stands before it; stops and counts as [`Program::run_within`] does.
    #[inline(always)]
    pub fn run_pair(&mut self, this: &mut Together, w: &mut Wave, cursor: &mut Cursor) -> (Stop, u64) {
        let Following::Joined(pair) = &self.blocks[this.at as usize].following else {
            let slice = self.length(*cursor) + 1;
            return self.run_within(w, cursor, slice, u64::MAX);
        };
        let (flow, stopped) = execute(w, &pair.ops);
        let went = usize::from(!w.skipped);
        let End { next, length } = this.ends[went];
        if flow == Flow::Barrier && next != UNKNOWN {
            w.skipped = false;
            this.counts[went] += 1;
            *cursor = Cursor::Block(next);
            return (Stop::Barrier, length);
        }
        let ways = pair.ways;
        self.end_of_pair(this.at, ways, w, cursor, flow, stopped)
    }

    /// The same for the pair that begins with a block, whose code has been executed and has ended as `flow` says.
    #[cold]
    pub fn end_pair(&mut self, first: u32, w: &mut Wave, cursor: &mut Cursor, flow: Flow) -> (Stop, u64) {
        let Following::Joined(Pair { ways, ops, .. }) = &self.blocks[first as usize].following else {
            return (Stop::Quantum, 0);
        };
        let stopped = w.stopped.take().unwrap_or_else(|| ops.first().map_or(0, |op| op.inst));
        self.end_of_pair(first, *ways, w, cursor, flow, stopped)
    }

    /// The same where it ends otherwise.
    #[inline(never)]
    pub(super) fn end_of_pair(
        &mut self,
        first: u32,
        ways: Ways,
        w: &mut Wave,
        cursor: &mut Cursor,
        flow: Flow,
        stopped: u16,
    ) -> (Stop, u64) {
        let entry = &mut self.blocks[first as usize];
        entry.count += 1;
        let length = entry.length;
        let (at, done, stopped) = match flow {
            Flow::Fault if u64::from(stopped) < length => (first, length, stopped),
            _ => {
                let (at, more, stopped) = self.second(w, ways, length, stopped);
                (at, length + more, stopped)
            }
        };
        self.stop_behind(w, cursor, at, flow, stopped, done)
    }

    /// Where a wave stands that goes no further than a block, or why it stops there; and the instructions that it has done.
    pub(super) fn stop_behind(
        &mut self,
        w: &mut Wave,
        cursor: &mut Cursor,
        at: u32,
        flow: Flow,
        stopped: u16,
        done: u64,
    ) -> (Stop, u64) {
        match self.follow(w, cursor, at, flow, stopped, done) {
            Ok(next) => {
                *cursor = Cursor::Block(next);
                (Stop::Quantum, done)
            }
            Err(stopped) => stopped,
        }
    }

    /// No wave runs the pair any more: executions that ended at a barrier are counted.
    #[inline(always)]
    pub fn count(&mut self, Together { at, counts, .. }: &Together) {
        self.count_ways(*at, *counts);
    }

    /// Counts executions of the pair that begins with a block, over and through the one behind it.
    #[inline(always)]
    pub fn count_ways(&mut self, first: u32, [over, through]: [u64; 2]) {
        let Following::Joined(Pair { ways, .. }) = self.blocks[first as usize].following else { return };
        for (at, count) in [(first, over + through), (ways.over, over), (ways.through, through)] {
            self.blocks[at as usize].count += count;
        }
    }
}
