//! Kernels that native code does whole, a wave after the other ([`crate::joined::Kernel`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::pairs::{Following, Ways};
use super::{Cursor, Program, Stop, Tier};
use crate::code::{Block, Place};
use crate::native::Run;
use crate::op::Flow;
use crate::registers::scalar;
use crate::wave::Wave;

/// Native code of all that the waves of a launch do.
pub struct Kernel {
    pub code: Code,
    pub tally: Tally,
    /// Scalar registers that it may write, but for SCC.
    pub scalars: Box<[u8]>,
    /// The worker's number of the block at which they begin.
    at: u32,
    ways: Option<Ways>,
}

/// The block at which waves begin, which has the code.
pub struct Code(Arc<Block>);

/// What waves have done.
pub struct Tally {
    /// Instructions of a wave, if it takes the branch and if it does not, and how many waves did.
    lengths: [u64; 2],
    counts: [u64; 2],
}

impl Code {
    pub fn run(&self) -> Option<&Run> {
        self.native().and_then(|kernel| kernel.native.run())
    }

    /// Rows in which it needs zeros, see [`crate::native::Whole`].
    pub fn zeros(&self) -> &[u16] {
        self.native().map_or(&[], |kernel| &kernel.native.zeros)
    }

    fn native(&self) -> Option<&crate::joined::Kernel> {
        self.0.kernel.get()?.as_ref()
    }
}

impl Tally {
    /// Counts a wave that has been through the code; its instructions.
    #[inline(always)]
    pub fn count(&mut self, w: &mut Wave) -> u64 {
        let way = usize::from(!std::mem::take(&mut w.skipped));
        self.counts[way] += 1;
        self.lengths[way]
    }
}

/// Workgroups of a worker after which it looks again for such code, and how often all of a launch's waves that are left would
/// have to make a block hot for it to be worth while.
const BETWEEN_LOOKS: u64 = 32;
const WORTH: u64 = 5;

impl Program {
    /// How many workgroups a worker runs by such code next; 0 if it is not time to look for it. `workgroups`: those that the
    /// worker has begun; `waves_left`: the launch's waves that no worker has begun.
    pub fn next_by_kernel(&mut self, workgroups: u64, waves_left: u64) -> u64 {
        let is_time = workgroups.is_multiple_of(BETWEEN_LOOKS.min(self.hot)) && workgroups != 0;
        if !is_time || waves_left < self.hot.saturating_mul(WORTH) {
            return 0;
        }
        self.shuffle.as_mut().map_or(u64::MAX, |shuffle| shuffle.next() % 4)
    }

    /// The code of waves that begin at a place, if it is one run of native code and hot. Where it is two blocks, no wave sees by
    /// the first one what another does: they may do it one after the other, each with what follows. `constants`: see
    /// [`Start::constants`](crate::start::Start::constants).
    pub fn kernel(&mut self, w: &Wave, begin: Place, constants: &[u8]) -> Option<Kernel> {
        let &at = self.by_place.get(&begin)?;
        if self.has_halts || self.blocks[at as usize].tier != Tier::Native {
            return None;
        }
        self.look_ahead(w, at);
        let entry = &self.blocks[at as usize];
        let block = |at: u32| &self.blocks[at as usize].block;
        let ways = match &entry.following {
            Following::Joined(pair) if entry.is_private || self.reads_constants(&entry.block, constants) => {
                Some(pair.ways)
            }
            _ if entry.block.taken.is_none() => None,
            _ => return None,
        };
        let following = ways.map(|ways| (block(ways.through), &**block(ways.over)));
        self.code.kernel(&entry.block, following, w.mode)?;
        let length = |at: u32| self.blocks[at as usize].length;
        let lengths =
            ways.map_or([entry.length; 2], |ways| [ways.over, ways.through].map(|at| entry.length + length(at)));
        let mut scalars = scalars_written(&entry.block);
        scalars.extend(following.iter().flat_map(|(through, _)| scalars_written(through)));
        let (code, scalars) = (Code(Arc::clone(&entry.block)), scalars.into_iter().collect());
        Some(Kernel { code, scalars, tally: Tally { lengths, counts: [0; 2] }, at, ways })
    }

    /// Waves have been through it, and are counted.
    pub fn count_kernel(&mut self, kernel: &mut Kernel) {
        let [over, through] = std::mem::take(&mut kernel.tally.counts);
        self.blocks[kernel.at as usize].count += over + through;
        if let Some(ways) = kernel.ways {
            self.blocks[ways.over as usize].count += over;
            self.blocks[ways.through as usize].count += through;
        }
    }

    /// Why a wave has stopped in it, and its instructions.
    pub fn stopped_in(&mut self, kernel: &Kernel, w: &mut Wave, cursor: &mut Cursor, flow: Flow) -> (Stop, u64) {
        let stopped = w.stopped.take().unwrap_or(0);
        if let Some(ways) = kernel.ways {
            return self.end_of_pair(kernel.at, ways, w, cursor, flow, stopped);
        }
        let entry = &mut self.blocks[kernel.at as usize];
        entry.count += 1;
        let done = entry.length;
        self.stop_behind(w, cursor, kernel.at, flow, stopped, done)
    }
}

fn scalars_written(block: &Block) -> BTreeSet<u8> {
    let mut all = BTreeSet::new();
    for (_, inst) in &block.insts {
        inst.for_each_access(|access| {
            let code = u8::try_from(access.reg.index()).ok().filter(|&code| code < scalar::FIRST_CONST);
            all.extend(code.filter(|_| access.access.writes()));
        });
    }
    all
}
