//! Translated code, which all workers of all launches on a device share.
//!
//! What a block of micro-ops depends on, besides the instructions in memory, is its [`Key`]; a device keeps one [`Code`]
//! for each. Blocks are translated once and never change, so that workers run them without asking each other; how often
//! each one ran, workers count for themselves ([`crate::program`]).
//!
//! Blocks may overlap: a branch into the middle of one starts another.

use std::collections::HashMap;
#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

#[cfg(target_arch = "x86_64")]
use luthier_isa::Flags;
use luthier_isa::{Decoder, Inst, Mode};

use crate::gws::lock;
#[cfg(target_arch = "x86_64")]
use crate::joined::{Joined, Kernel, ends_with};
use crate::lower::Limits;
use crate::meets::meets;
use crate::memory::Memory;
#[cfg(target_arch = "x86_64")]
use crate::native::{Native, native_block};
use crate::op::Op;
use crate::probe::{Probe, Probing};
use crate::registers::Registers;
use crate::strict::Looks;
use crate::wave::Wave;
use crate::weak::mark::Mark;

/// Instructions of one block at most.
const LONGEST: usize = 512;
/// Micro-ops of a device, of 40 bytes each, that are kept from one launch to the next.
const MOST_OPS: usize = 1 << 21;

/// Where a block starts: its address, and what an instruction means besides its bytes (which operands M0 indexes, or the
/// upper bits of VGPR numbers).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub pc: u64,
    pub mode: u8,
}

/// A translated block.
pub struct Block {
    pub ops: Box<[Op]>,
    pub insts: Box<[(u64, Inst)]>,
    /// What was translated, if it is a host's, which may change it.
    pub bytes: Box<[u8]>,
    /// What micro-ops point at.
    #[allow(clippy::vec_box)] // ops point at them while the vector grows
    pub _probes: Vec<Box<Probe>>,
    /// Why the last micro-op is one that stops.
    pub refusal: Option<String>,
    /// It ends in a branch to a known place, and nothing in it matters to other waves or depends on them, nor is looked at:
    /// so it makes no difference whether what other waves do comes before it or behind.
    pub is_private: bool,
    /// Registers that it writes.
    pub written: Registers,
    /// Where its branch leads, and what comes behind it.
    pub taken: Option<Place>,
    pub next: Place,
    /// Executions in launches that are over.
    pub executions: AtomicU64,
    /// Its native form, once a worker has found it hot; none if it has none.
    #[cfg(target_arch = "x86_64")]
    pub native: OnceLock<Option<Native>>,
    /// The same together with the block that follows it.
    #[cfg(target_arch = "x86_64")]
    pub joined: OnceLock<Option<Joined>>,
    /// That of all that a wave does which begins here.
    #[cfg(target_arch = "x86_64")]
    pub kernel: OnceLock<Option<Kernel>>,
}

/// Why no block starts at an address.
#[derive(Debug)]
pub struct Refusal {
    pub pc: u64,
    pub message: String,
}

/// What translated code depends on, besides memory and what its device poisons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key {
    pub mode: Mode,
    pub limits: Limits,
    pub looks: Option<Looks>,
    /// A block ends before each instruction by which waves meet.
    pub apart: bool,
    /// Caches and stores under way are modelled.
    pub weak: bool,
}

/// A block, and the state of the host's code (see [`crate::memory::Host::code_epoch`]) in which it was last found to be
/// what is in memory.
struct Known {
    block: Arc<Block>,
    epoch: AtomicU64,
}

/// The blocks of one [`Key`].
pub struct Code {
    decoder: Decoder,
    limits: Limits,
    high_vgprs: bool,
    probing: Probing,
    longest: usize,
    apart: bool,
    wave64: bool,
    blocks: Mutex<HashMap<Place, Known>>,
    /// Micro-ops of them.
    size: AtomicUsize,
}

impl Code {
    pub fn new(mode: Mode, limits: Limits, probing: Probing) -> Code {
        Code {
            decoder: Decoder::new(mode),
            high_vgprs: mode.target().vgprs() > 256,
            limits,
            probing,
            longest: LONGEST,
            apart: false,
            wave64: mode.wave() == luthier_isa::Wave::W64,
            blocks: Mutex::default(),
            size: AtomicUsize::new(0),
        }
    }

    /// The same with a block for each instruction, so that a wave can stop between any two.
    pub fn stepping(self) -> Code {
        Code { longest: 1, ..self }
    }

    /// That of a key.
    pub fn of(key: Key, probing: Probing) -> Code {
        Code { apart: key.apart, ..Code::new(key.mode, key.limits, probing) }
    }

    /// The block that starts at a place, translated if need be. `epoch` is the state of the host's code when the launch
    /// began.
    pub fn block(&self, w: &Wave, place: Place, epoch: u64) -> Result<Arc<Block>, Refusal> {
        // Held while one worker translates: the others mostly want the same block.
        let mut blocks = lock(&self.blocks);
        if let Some(known) = blocks.get(&place)
            && (known.epoch.load(Relaxed) == epoch || known.block.is_current(&w.memory))
        {
            known.epoch.store(epoch, Relaxed);
            return Ok(Arc::clone(&known.block));
        }
        let block = Arc::new(self.translate(w, place)?);
        self.size.fetch_add(block.ops.len(), Relaxed);
        let known = Known { block: Arc::clone(&block), epoch: AtomicU64::new(epoch) };
        if let Some(old) = blocks.insert(place, known) {
            self.size.fetch_sub(old.block.ops.len(), Relaxed);
        }
        Ok(block)
    }

    /// The micro-ops of a hot block with native code among them, if it has some. The first that asks says the MODE that it
    /// is made for.
    #[cfg(target_arch = "x86_64")]
    /// `loops`: its branch, if it is taken, leads to the block itself.
    pub fn native<'a>(&self, block: &'a Block, mode: crate::mode::Mode, loops: bool) -> Option<&'a Native> {
        // An instruction with a probe is the interpreter's.
        let is_free = !self.probing.looks_at_all() || block._probes.is_empty();
        let make = || if is_free { native_block(&block.ops, self.wave64, mode, loops) } else { None };
        block.native.get_or_init(make).as_ref()
    }

    /// The micro-ops of a hot block together with those that follow: `through`, or `over` if its branch is taken.
    #[cfg(target_arch = "x86_64")]
    pub fn joined<'a>(
        &self,
        first: &'a Block,
        through: &Arc<Block>,
        over: &Block,
        mode: crate::mode::Mode,
    ) -> Option<&'a Joined> {
        if !ends_with(through, over) {
            return None;
        }
        let make = || Joined::of(first, through, over, self.wave64, mode);
        first.joined.get_or_init(make).as_ref().filter(|joined| joined.is_followed_by(through))
    }

    /// Native code of all that a wave does which begins with a block; `following` as in [`Kernel::of`].
    #[cfg(target_arch = "x86_64")]
    pub fn kernel<'a>(
        &self,
        first: &'a Block,
        following: Option<(&Arc<Block>, &Block)>,
        mode: crate::mode::Mode,
    ) -> Option<&'a Kernel> {
        let make = || Kernel::of(first, following, self.wave64, mode);
        let through = following.map(|(through, _)| through);
        first.kernel.get_or_init(make).as_ref().filter(|kernel| kernel.is_followed_by(through))
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }
    pub(crate) fn decoder(&self) -> &Decoder {
        &self.decoder
    }
    /// Whether it matters to others when a wave comes to an instruction: in weak memory that of waits and caches does, too.
    pub(crate) fn meets(&self, inst: &Inst) -> bool {
        meets(inst) || self.probing.weak && Mark::of(inst).is_some_and(Mark::meets)
    }
    pub(crate) fn probing(&self) -> &Probing {
        &self.probing
    }
    /// Instructions of one block at most.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }
    /// Blocks end before each instruction by which waves meet.
    pub(crate) fn is_apart(&self) -> bool {
        self.apart
    }
    /// What blocks are told apart by besides their address are the upper bits of VGPR numbers, not indexing.
    pub(crate) fn has_high_vgprs(&self) -> bool {
        self.high_vgprs
    }
}

impl Block {
    /// Whether nothing looks at its instructions, and all can be done.
    pub fn is_alone(&self) -> bool {
        self._probes.is_empty() && self.refusal.is_none()
    }

    /// Whether the code in a host's memory is still what was translated.
    fn is_current(&self, memory: &Memory) -> bool {
        let mut bytes = vec![0; self.bytes.len()];
        memory.read(self.address(), &mut bytes).is_ok() && bytes == *self.bytes
    }

    /// How often launches that are over have run it.
    pub fn heat(&self) -> u64 {
        self.executions.load(Relaxed)
    }

    /// A launch has run it so often.
    pub fn warm(&self, executions: u64) {
        self.executions.fetch_add(executions, Relaxed);
    }

    /// Where its branch leads, if it is taken, and where else, if that depends on the wave.
    #[cfg(target_arch = "x86_64")]
    pub fn ways(&self) -> Option<[Place; 2]> {
        let depends = |(_, inst): &(u64, Inst)| inst.info().flags.contains(Flags::COND_BRANCH);
        self.taken.filter(|_| self.insts.last().is_some_and(depends)).map(|taken| [taken, self.next])
    }

    /// Where its last instruction is.
    #[inline]
    pub fn last(&self) -> Place {
        Place { pc: self.insts.last().map_or(0, |(pc, _)| *pc), ..self.next }
    }

    /// Where it starts.
    pub fn address(&self) -> u64 {
        self.insts.first().map_or(0, |(pc, _)| *pc)
    }

    /// The text of its instruction at an address.
    pub fn text_at(&self, pc: u64) -> Option<String> {
        let at = self.insts.binary_search_by_key(&pc, |(at, _)| *at).ok()?;
        Some(self.insts[at].1.to_string())
    }
}

/// The translated code of a device.
#[derive(Default)]
pub struct CodeCache(Mutex<HashMap<Key, Arc<Code>>>);

impl CodeCache {
    /// The code for such launches. Much of it that was kept is forgotten first; launches under way keep what they have.
    pub fn code(&self, key: Key, probing: impl FnOnce() -> Probing) -> Arc<Code> {
        let mut kept = lock(&self.0);
        if kept.values().map(|code| code.size.load(Relaxed)).sum::<usize>() > MOST_OPS {
            kept.clear();
        }
        let code = kept.entry(key).or_insert_with(|| Arc::new(Code::of(key, probing())));
        Arc::clone(code)
    }

    /// What was translated is not there any more.
    pub fn forget(&self) {
        lock(&self.0).clear();
    }
}
