//! Pairs of blocks as rounds of a workgroup: native code, the workgroup's barrier, and behind it one block, wherever the branch
//! in the pair leads. What is found out of a pair is kept beside it.

use super::pairs::{Following, Pair, sole};
use super::{Program, UNKNOWN};
use crate::mode::Mode;
use crate::native::Run;
use crate::op::Flow;
use crate::wave::Wave;

/// What is known of a pair as a round.
#[derive(Clone, Copy)]
pub(super) enum Known {
    /// Nothing, or not yet what is behind it.
    Nothing,
    IsNone,
    Is(Ends),
}

/// How a round ends.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// The worker's number of the block behind the barrier.
    next: u32,
    next_is_private: bool,
    /// Each wave signals the barrier before it waits.
    signals: bool,
    /// How many instructions a round is, where the branch is taken and where it is not.
    lengths: [u64; 2],
}

/// A round that all waves of a workgroup are before.
pub struct Lap<'a> {
    run: &'a Run,
    ends: Ends,
    /// The code is right for waves that have this MODE and are as much watched.
    mode: Mode,
    is_watched: bool,
    /// How many waves have taken the branch, and how many have not.
    pub went: [u64; 2],
}

impl Lap<'_> {
    /// The worker's number of the block behind the barrier.
    pub fn next(&self) -> u32 {
        self.ends.next
    }

    /// Whether waves may run that block as soon as all have come to the barrier.
    pub fn goes_on(&self) -> bool {
        self.ends.next_is_private
    }

    /// Whether each wave signals the barrier before it waits.
    pub fn signals(&self) -> bool {
        self.ends.signals
    }

    /// Has a wave come to the barrier: how many instructions that was. Or how its code has ended otherwise, if the code is right
    /// for it; else nothing is done.
    #[inline(always)]
    pub fn run(&mut self, w: &mut Wave) -> Result<u64, Option<Flow>> {
        if (self.mode, self.is_watched) != (w.mode, w.is_watched) {
            return Err(None);
        }
        match self.run.go(w) {
            Flow::Next => {}
            flow => return Err(Some(flow)),
        }
        let way = usize::from(!std::mem::take(&mut w.skipped));
        self.went[way] += 1;
        Ok(self.ends.lengths[way])
    }
}

impl Program {
    /// The round that begins with block `at`, before which `waves` waves stand; `w` is the first of them. There is none if the
    /// block has no such code, or if the worker has to look at that code first.
    #[inline(always)]
    pub fn lap(&mut self, at: u32, waves: usize, w: &Wave) -> Option<Lap<'_>> {
        if let Following::Joined(Pair { lap: Known::Nothing, .. }) = self.blocks[at as usize].following {
            self.learn(at);
        }
        let entry = &self.blocks[at as usize];
        let Following::Joined(Pair { lap: Known::Is(ends), ops, .. }) = &entry.following else { return None };
        let run = ops.first().and_then(Run::of)?;
        let suits = !self.has_halts && entry.may_run(waves) && run.is_for(w);
        suits.then_some(Lap { run, ends: *ends, mode: w.mode, is_watched: w.is_watched, went: [0; 2] })
    }

    #[cold]
    fn learn(&mut self, at: u32) {
        let Following::Joined(Pair { ways, ops, .. }) = &self.blocks[at as usize].following else { return };
        let [over, through] = [ways.over, ways.through].map(|n| &self.blocks[n as usize]);
        let first = self.blocks[at as usize].length;
        // Waves may have gone one way only so far.
        let next = if over.next == UNKNOWN { through.next } else { over.next };
        let found = match sole(ops) {
            None => Known::IsNone,
            Some(_) if over.block.next != through.block.next => Known::IsNone,
            Some(_) if next == UNKNOWN => Known::Nothing,
            Some((_, signals)) => Known::Is(Ends {
                next,
                next_is_private: self.blocks[next as usize].is_private,
                signals,
                lengths: [over, through].map(|second| first + second.length),
            }),
        };
        if let Following::Joined(pair) = &mut self.blocks[at as usize].following {
            pair.lap = found;
        }
    }
}
