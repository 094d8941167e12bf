//! Running translated code: a worker's view of it, with how often each block ran.
//!
//! A block's instructions are retired all of them or, if a fault stops the launch, in part. Counting is then one addition
//! a block.

mod begin;
#[cfg(target_arch = "x86_64")]
mod kernel;
mod pairs;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(target_arch = "x86_64")]
pub use kernel::{Kernel, Tally};
use luthier_isa::Inst;
use pairs::Following;
pub use pairs::Together;

use crate::code::{Block, Code, Place, Refusal};
use crate::lower::Limits;
use crate::meets::syncs;
use crate::mode::Mode;
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

/// How a worker runs a block: the micro-ops as they were translated, or with native code, as far as there is some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tier {
    Ops,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is native code for x86-64 only"))]
    Native,
}

impl Tier {
    #[inline(always)]
    fn ops(self, block: &Block) -> &[Op] {
        #[cfg(target_arch = "x86_64")]
        if self == Tier::Native
            && let Some(Some(native)) = block.native.get()
        {
            return &native.ops;
        }
        &block.ops
    }
}

/// Executions after which a block is hot, and what decides at random, if that is asked for.
#[cfg(target_arch = "x86_64")]
fn hot() -> (u64, Option<Shuffle>) {
    use crate::native::{When, when};
    match when() {
        When::Never => (u64::MAX, None),
        When::Hot(executions) => (executions, None),
        When::Random(seed) => (1, Some(Shuffle::new(seed))),
    }
}
#[cfg(target_arch = "x86_64")]
fn is_native(block: &Block) -> bool {
    block.native.get().is_some()
}
/// How a block that has become hot is run.
#[cfg(target_arch = "x86_64")]
fn tier(code: &Code, block: &Block, mode: Mode, loops: bool) -> Tier {
    code.native(block, mode, loops);
    Tier::Native
}

#[cfg(not(target_arch = "x86_64"))]
fn hot() -> (u64, Option<Shuffle>) {
    (u64::MAX, None)
}
#[cfg(not(target_arch = "x86_64"))]
fn is_native(_block: &Block) -> bool {
    false
}
#[cfg(not(target_arch = "x86_64"))]
fn tier(_code: &Code, _block: &Block, _mode: Mode, _loops: bool) -> Tier {
    Tier::Ops
}

/// Numbers that say when blocks change their tier, for tests.
struct Shuffle(u64);

impl Shuffle {
    /// Each program has its own.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is native code for x86-64 only"))]
    fn new(seed: u64) -> Shuffle {
        static PROGRAMS: AtomicU64 = AtomicU64::new(1);
        Shuffle(seed.wrapping_add(PROGRAMS.fetch_add(1, Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }
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

/// Blocks that are not run as a whole, because something in them is to be looked at an instruction at a time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Halts {
    /// Those with an instruction at one of these addresses.
    pub addresses: BTreeSet<u64>,
    /// Those that access memory.
    pub memory: bool,
}

impl Halts {
    fn hold(&self, block: &Block) -> bool {
        let at = |pc: &u64| !self.addresses.is_empty() && self.addresses.contains(pc);
        block.insts.iter().any(|(pc, inst)| at(pc) || self.memory && inst.memory().is_some())
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

/// The block that a wave comes to.
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub place: Place,
    /// Instructions.
    pub length: u64,
    /// It begins with an instruction by which waves meet, ...
    pub meets: bool,
    /// ... one of a barrier with a number, or of global wave sync.
    pub syncs: bool,
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

    /// The block that a wave comes to behind another one, or why it stops there, with the instructions that it has done.
    #[inline(always)]
    fn follow(
        &mut self,
        w: &mut Wave,
        cursor: &mut Cursor,
        at: u32,
        flow: Flow,
        stopped: u16,
        done: u64,
    ) -> Result<u32, (Stop, u64)> {
        // The usual ways, one after the other: which of several a jump by a table takes, the host's processor guesses worse.
        let entry = &self.blocks[at as usize];
        if flow == Flow::Taken && entry.taken != UNKNOWN {
            return Ok(entry.taken);
        }
        if matches!(flow, Flow::Next | Flow::Fall) && entry.next != UNKNOWN {
            return Ok(entry.next);
        }
        self.leave(w, cursor, at, flow, stopped, done)
    }

    /// The same where it is not known yet, or no other block.
    #[inline(never)]
    fn leave(
        &mut self,
        w: &mut Wave,
        cursor: &mut Cursor,
        at: u32,
        flow: Flow,
        stopped: u16,
        done: u64,
    ) -> Result<u32, (Stop, u64)> {
        let Entry { block, next, length, .. } = &self.blocks[at as usize];
        match flow {
            Flow::Next | Flow::Fall | Flow::Yield | Flow::Barrier => {
                let (place, mut next) = (block.next, *next);
                if next == UNKNOWN {
                    match self.block_at(w, place) {
                        Ok(found) => next = found,
                        Err(refusal) if matches!(flow, Flow::Next | Flow::Fall) => return Err((refusal.into(), done)),
                        // Where the wave waits there is no fault yet.
                        Err(_) => {}
                    }
                    self.blocks[at as usize].next = next;
                }
                let after = if next == UNKNOWN { Cursor::Place(place) } else { Cursor::Block(next) };
                match flow {
                    Flow::Yield => {
                        *cursor = after;
                        Err((Stop::Yielded, done))
                    }
                    Flow::Barrier => {
                        *cursor = after;
                        Err((Stop::Barrier, done))
                    }
                    _ => Ok(next),
                }
            }
            Flow::Taken => {
                let place = block.taken.unwrap_or(Place { pc: 0, ..block.next });
                let next = self.block_at(w, place).map_err(|refusal| (refusal.into(), done))?;
                self.blocks[at as usize].taken = next;
                Ok(next)
            }
            Flow::Jump => {
                let place = Place { pc: w.pc, ..block.next };
                self.block_at(w, place).map_err(|refusal| (refusal.into(), done))
            }
            Flow::End => {
                // Where it has ended, however far it ran at a time.
                *cursor = Cursor::Place(block.last());
                Err((Stop::End, done))
            }
            Flow::Fault => {
                let at = usize::from(stopped).min(block.insts.len() - 1);
                let (pc, inst) = &block.insts[at];
                let done = done - (length - at as u64);
                let refusal = if w.fault.is_none() { block.refusal.clone() } else { None };
                Err((Stop::Fault { pc: *pc, text: inst.to_string(), refusal }, done))
            }
        }
    }

    /// The worker's number of the block that starts at a place.
    fn block_at(&mut self, w: &Wave, place: Place) -> Result<u32, Refusal> {
        if let Some((_, at)) = self.latest.filter(|(latest, _)| *latest == place) {
            return Ok(at);
        }
        if let Some(&at) = self.by_place.get(&place) {
            self.latest = Some((place, at));
            return Ok(at);
        }
        let block = self.code.block(w, place, self.epoch)?;
        self.written.iter_mut().zip(&block.written).for_each(|(all, more)| *all |= more);
        let at = self.blocks.len() as u32;
        // What another worker, or another launch, has found hot is so here from the beginning.
        let tier = if is_native(&block) { Tier::Native } else { Tier::Ops };
        let hot = self.hot.saturating_sub(block.heat()).max(1);
        let halts = self.halts.hold(&block);
        let first = block.insts.first().filter(|_| self.code.is_apart());
        let (meets, syncs) = first.map_or((false, false), |(_, inst)| (self.code.meets(inst), syncs(inst)));
        let loops = block.taken == Some(place);
        self.blocks.push(Entry {
            length: block.insts.len() as u64,
            is_private: block.is_private,
            block,
            place,
            halts,
            meets,
            syncs,
            count: 0,
            hot,
            tier,
            loops,
            taken: UNKNOWN,
            next: UNKNOWN,
            following: self.unjoined(),
        });
        self.by_place.insert(place, at);
        Ok(at)
    }

    /// Where waves halt from now on.
    pub fn set_halts(&mut self, halts: &Halts) {
        self.has_halts = *halts != Halts::default();
        if self.halts != *halts {
            self.blocks.iter_mut().for_each(|entry| entry.halts = halts.hold(&entry.block));
            self.halts = halts.clone();
        }
    }

    /// The place at which a wave goes on, how many instructions the block there has, and whether waves meet in it.
    ///
    /// # Errors
    /// There is no code.
    pub fn ahead(&mut self, w: &Wave, cursor: Cursor) -> Result<Ahead, Stop> {
        let at = match cursor {
            Cursor::Block(at) => at,
            Cursor::Place(place) => self.block_at(w, place)?,
        };
        let Entry { place, length, meets, syncs, .. } = self.blocks[at as usize];
        Ok(Ahead { place, length, meets, syncs })
    }

    /// The place at which a wave goes on.
    pub fn place(&self, cursor: Cursor) -> Place {
        match cursor {
            Cursor::Place(place) => place,
            Cursor::Block(at) => self.blocks[at as usize].place,
        }
    }

    /// Whether the block at which a wave goes on is private, as far as is known.
    pub fn is_private(&self, cursor: Cursor) -> bool {
        matches!(cursor, Cursor::Block(at) if self.blocks[at as usize].is_private)
    }

    /// Its instructions; 0 if they are not known.
    pub fn length(&self, cursor: Cursor) -> u64 {
        if let Cursor::Block(at) = cursor { self.blocks[at as usize].length } else { 0 }
    }

    /// Registers that the code which has run so far may have written.
    pub fn written(&self) -> &Registers {
        &self.written
    }

    /// Visits every instruction of every block that was executed, with its address and how often it was.
    pub fn visit_counts(&self, mut visit: impl FnMut(u64, &Inst, u64)) {
        for Entry { block, count, .. } in self.blocks.iter().filter(|entry| entry.count != 0) {
            block.insts.iter().for_each(|(pc, inst)| visit(*pc, inst, *count));
        }
    }

    pub fn limits(&self) -> Limits {
        self.code.limits()
    }

    /// The address at which a wave goes on.
    pub fn address(&self, cursor: Cursor) -> u64 {
        match cursor {
            Cursor::Place(place) => place.pc,
            Cursor::Block(at) => self.blocks.get(at as usize).map_or(0, |entry| entry.block.address()),
        }
    }

    /// The text of the instruction at an address that was run.
    pub fn text_at(&self, pc: u64) -> Option<String> {
        self.blocks.iter().find_map(|entry| entry.block.text_at(pc))
    }
}
