//! Kernels that native code does whole, a wave after the other ([`crate::joined::Kernel`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use luthier_isa::{Access, Inst, RegAccess};

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
    /// Scalar registers, but for SCC, that it may change, and a wave has to begin with.
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

    /// Counts waves that the code has run, and their instructions; `skips` of them took the branch.
    #[inline(always)]
    pub fn count_several(&mut self, waves: u32, skips: u32) -> u64 {
        let [over, through] = [skips, waves - skips].map(u64::from);
        self.counts[0] += over;
        self.counts[1] += through;
        over * self.lengths[0] + through * self.lengths[1]
    }
}

/// Workgroups of a worker after which it looks again for such code, and how often all of a kernel's waves so far, and those of the
/// launch that are left, would have to make a block hot for it to be worth while to make some.
const BETWEEN_LOOKS: u64 = 32;
const WORTH: u64 = 5;
/// Waves that have to be left for it to pay to go over to such code that there is.
const FEWEST: u64 = 24;

impl Program {
    /// How many workgroups a worker runs by such code next; 0 if it is not time to look for it, or there is none. `workgroups`: those
    /// that the worker has begun; `waves_left`: the launch's waves that no worker has begun; `begin`: where waves begin.
    pub fn next_by_kernel(&mut self, workgroups: u64, waves_left: u64, begin: Place) -> u64 {
        let is_time = workgroups.is_multiple_of(BETWEEN_LOOKS.min(self.hot));
        if workgroups == 0 || workgroups != 1 && !is_time || waves_left < FEWEST.min(self.hot) {
            return 0;
        }
        let Some(entry) = self.by_place.get(&begin).map(|&at| &self.blocks[at as usize]) else { return 0 };
        let is_worth_it = match entry.block.kernel.get() {
            // As a rule an earlier launch has made it.
            Some(made) => made.as_ref().is_some_and(|made| !made.native.is_given_up()),
            None => {
                let so_far = entry.block.heat().saturating_add(entry.count);
                so_far.saturating_add(waves_left) >= self.hot.saturating_mul(WORTH)
            }
        };
        if !is_worth_it {
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
        let scalars = scalars_to_begin_with(&entry.block, following.map(|(through, over)| (&**through, over)));
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

/// Scalar registers that a wave changes and, as it may read them before, has to begin with: `over` is how `through` ends.
fn scalars_to_begin_with(first: &Block, following: Option<(&Block, &Block)>) -> BTreeSet<u8> {
    let mut scalars = Scalars::default();
    scalars.go_through(&first.insts);
    if let Some((through, over)) = following {
        let before = scalars.written.clone();
        let (between, behind) = through.insts.split_at(through.insts.len().saturating_sub(over.insts.len()));
        scalars.go_through(between);
        // A wave that takes the branch has not written what lies in between.
        scalars.written = before;
        scalars.go_through(behind);
    }
    scalars.read_first.intersection(&scalars.changed).copied().collect()
}

/// What instructions do to scalar registers.
#[derive(Default)]
struct Scalars {
    /// They read them, or a part of what they held before, and have not written all of it.
    read_first: BTreeSet<u8>,
    written: BTreeSet<u8>,
    changed: BTreeSet<u8>,
}

impl Scalars {
    fn go_through(&mut self, insts: &[(u64, Inst)]) {
        let each = |inst: &Inst, visit: &mut dyn FnMut(u8, Access)| {
            inst.for_each_access(|RegAccess { reg, access, .. }| {
                if let Some(code) = u8::try_from(reg.index()).ok().filter(|&code| code < scalar::FIRST_CONST) {
                    visit(code, access);
                }
            });
        };
        for (_, inst) in insts {
            each(inst, &mut |code, access| {
                if (access.reads() || access == Access::CondWrite) && !self.written.contains(&code) {
                    self.read_first.insert(code);
                }
            });
            each(inst, &mut |code, access| {
                if access.writes() {
                    self.changed.insert(code);
                }
                if matches!(access, Access::Write | Access::ReadWrite) {
                    self.written.insert(code);
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use luthier_isa::{Decoder, Mode};

    use super::*;

    fn read_first(code: &[u32]) -> Vec<u8> {
        let mode = Mode::all().find(|mode| mode.target().name() == "gfx90a").expect("a processor");
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_le_bytes()).collect();
        let insts = (0..code.len()).map(|n| (0, Decoder::new(mode).decode(&bytes[4 * n..]).expect("an instruction")));
        let mut scalars = Scalars::default();
        scalars.go_through(&insts.collect::<Vec<_>>());
        scalars.read_first.intersection(&scalars.changed).copied().collect()
    }

    #[test]
    fn a_register_that_keeps_a_part_of_what_it_held_is_one_to_begin_with() {
        let (mov, add) = (0xbe81_0080, 0x8002_0101); // s_mov_b32 s1, 0; s_add_u32 s2, s1, s1
        let (bitset, cmov) = (0xbe81_1a80, 0xbe81_0280); // s_bitset1_b32 s1, 0; s_cmov_b32 s1, 0
        let conditional = [bitset, cmov].map(|inst| read_first(&[inst]));
        assert_eq!(conditional, [vec![1], vec![1]]);
        assert!(read_first(&[mov, bitset, cmov, add]).is_empty());
        assert_eq!(read_first(&[add, mov]), [1]);
        // Nothing changes it.
        assert!(read_first(&[add]).is_empty());
    }
}
