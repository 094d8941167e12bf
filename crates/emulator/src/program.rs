//! Running translated code: a worker's view of it, with how often each block ran.
//!
//! A block's instructions are retired all of them or, if a fault stops the launch, in part. Counting is then one addition
//! a block.

mod begin;
mod follow;
mod halts;
#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod laps;
mod look;
mod pairs;
mod tier;

use std::collections::HashMap;
use std::sync::Arc;

pub use halts::Halts;
#[cfg(target_arch = "x86_64")]
pub use kernel::{Kernel, Tally};
pub use look::Ahead;
use pairs::Following;
pub use pairs::Together;
use tier::{Shuffle, Tier, hot, tier};

use crate::code::{Block, Code, Place, Refusal};
use crate::op::{Flow, Op};
use crate::registers::Registers;
use crate::wave::Wave;

const UNKNOWN: u32 = u32::MAX;

/// A block as one worker knows it.
struct Entry {
    block: Arc<Block>,
    /// Its instructions.
    length: u64,
    /// See [`Block::is_private`].
    is_private: bool,
    place: Place,
    /// Whether a wave stops before it, see [`Halts`].
    halts: bool,
    /// Whether it begins with an instruction by which waves meet, see [`crate::meets`].
    meets: bool,
    syncs: bool,
    /// Executions, and how many make the block hot.
    count: u64,
    hot: u64,
    tier: Tier,
    /// Its branch, if it is taken, leads to the block itself: native code may execute it several times.
    loops: bool,
    /// The worker's numbers of the blocks that follow.
    taken: u32,
    next: u32,
    following: Following,
}

/// Why a wave stops running, for now or for good.
#[derive(Debug)]
pub enum Stop {
    /// Its time slice is over.
    Quantum,
    /// It sleeps, and lets others run.
    Yielded,
    /// The next block is one of those before which it is to stop, or longer than the wave may run.
    Halted,
    Barrier,
    End,
    /// The wave's `fault`, or a refusal, at an instruction.
    Fault {
        pc: u64,
        text: String,
        refusal: Option<String>,
    },
}

impl From<Refusal> for Stop {
    fn from(Refusal { pc, message }: Refusal) -> Stop {
        Stop::Fault { pc, text: "?".into(), refusal: Some(message) }
    }
}

/// The translated code that one worker uses in one launch.
pub struct Program {
    code: Arc<Code>,
    halts: Halts,
    /// There are some.
    has_halts: bool,
    /// The state of the host's code when the launch began.
    epoch: u64,
    /// Executions after which a block is hot.
    hot: u64,
    shuffle: Option<Shuffle>,
    blocks: Vec<Entry>,
    by_place: HashMap<Place, u32>,
    /// The last one that was looked up there: most waves begin at one place.
    latest: Option<(Place, u32)>,
    /// Of the block at which waves begin: see [`Program::begin`].
    beginning: Option<(Place, Option<Cursor>)>,
    /// Registers that the code which has run so far may have written.
    written: Registers,
}

impl Drop for Program {
    /// Launches that are short, and many, make blocks hot too.
    fn drop(&mut self) {
        self.blocks.iter().for_each(|entry| entry.block.warm(entry.count));
    }
}

/// Where a wave is between two blocks.
#[derive(Clone, Copy, Debug)]
pub enum Cursor {
    Place(Place),
    Block(u32),
}

/// Executes micro-ops up to the first that does not go on to the next one, which says what follows; and its instruction.
#[inline(always)]
fn execute(w: &mut Wave, ops: &[Op]) -> (Flow, u16) {
    let mut flow = Flow::Fall;
    for op in ops {
        // SAFETY: the handler was selected for this processor and the op's rows were checked when the builder made it.
        flow = unsafe { (op.run)(w, op) };
        if flow != Flow::Next {
            return (flow, w.stopped.take().unwrap_or(op.inst));
        }
    }
    (flow, 0)
}

impl Program {
    pub fn new(code: Arc<Code>, epoch: u64) -> Program {
        let (blocks, by_place, written) = (Vec::new(), HashMap::new(), Registers::default());
        let (hot, shuffle) = hot();
        Program {
            code,
            halts: Halts::default(),
            has_halts: false,
            epoch,
            hot,
            shuffle,
            blocks,
            by_place,
            latest: None,
            beginning: None,
            written,
        }
    }

    /// Runs a wave until it stops, for about `budget` instructions; gives the number that it did.
    pub fn run(&mut self, w: &mut Wave, cursor: &mut Cursor, budget: u64) -> (Stop, u64) {
        self.run_within(w, cursor, budget, u64::MAX)
    }

    /// The same for `most` instructions at the most, and up to the next block at which waves halt.
    pub fn run_within(&mut self, w: &mut Wave, cursor: &mut Cursor, budget: u64, most: u64) -> (Stop, u64) {
        let mut done = 0;
        let mut at = match *cursor {
            Cursor::Block(at) => at,
            Cursor::Place(place) => match self.block_at(w, place) {
                Ok(at) => at,
                Err(refusal) => return (refusal.into(), 0),
            },
        };
        loop {
            if done >= budget {
                *cursor = Cursor::Block(at);
                return (Stop::Quantum, done);
            }
            let entry = &mut self.blocks[at as usize];
            if entry.halts || entry.length > most - done {
                *cursor = Cursor::Block(at);
                return (Stop::Halted, done);
            }
            entry.count += 1;
            if entry.count >= entry.hot {
                entry.hot = u64::MAX;
                entry.tier = tier(&self.code, &entry.block, w.mode, entry.loops);
                if let Some(shuffle) = &mut self.shuffle {
                    let number = shuffle.next();
                    if number & 1 != 0 {
                        entry.tier = Tier::Ops;
                    }
                    entry.hot = entry.count + 1 + (number >> 1) % 8;
                }
            }
            if entry.tier == Tier::Native {
                self.look_ahead(w, at);
            }
            let entry = &mut self.blocks[at as usize];
            let length = entry.length;
            done += length;
            // Where the loop here would go on with the next block.
            let pair = match &entry.following {
                Following::Joined(pair) => Some(pair).filter(|pair| {
                    entry.tier == Tier::Native && done < budget && pair.ways.longest <= most - done && !self.has_halts
                }),
                _ => None,
            };
            let ways = pair.map(|pair| pair.ways);
            let turns = entry.loops && entry.tier == Tier::Native;
            if turns {
                // As often as the loop here would come to it again.
                let within = budget.saturating_sub(done).div_ceil(length).min((most - done) / length);
                w.may_turn = u32::try_from(within).unwrap_or(u32::MAX);
            }
            let (flow, mut stopped) = execute(w, pair.map_or_else(|| entry.tier.ops(&entry.block), |pair| &pair.ops));
            if turns {
                let more = u64::from(std::mem::take(&mut w.turned));
                entry.count += more;
                done += more * length;
            }
            if let Some(ways) = ways
                && (flow != Flow::Fault || u64::from(stopped) >= length)
            {
                let more;
                (at, more, stopped) = self.second(w, ways, length, stopped);
                done += more;
            }
            let entry = &self.blocks[at as usize];
            if flow == Flow::Barrier && entry.next != UNKNOWN {
                *cursor = Cursor::Block(entry.next);
                return (Stop::Barrier, done);
            }
            if flow == Flow::End {
                *cursor = Cursor::Place(entry.block.last());
                return (Stop::End, done);
            }
            match self.follow(w, cursor, at, flow, stopped, done) {
                Ok(next) => at = next,
                Err(stopped) => return stopped,
            }
        }
    }
}
