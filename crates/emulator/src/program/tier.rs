//! How a worker runs a block: its micro-ops, or native code of them; and when that changes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::code::{Block, Code};
use crate::mode::Mode;
use crate::op::Op;

/// How a worker runs a block: the micro-ops as they were translated, or with native code, as far as there is some.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tier {
    Ops,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is native code for x86-64 only"))]
    Native,
}

impl Tier {
    #[inline(always)]
    pub(super) fn ops(self, block: &Block) -> &[Op] {
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
pub(super) fn hot() -> (u64, Option<Shuffle>) {
    use crate::native::{When, when};
    match when() {
        When::Never => (u64::MAX, None),
        When::Hot(executions) => (executions, None),
        When::Random(seed) => (1, Some(Shuffle::new(seed))),
    }
}
#[cfg(target_arch = "x86_64")]
pub(super) fn is_native(block: &Block) -> bool {
    block.native.get().is_some()
}
/// How a block that has become hot is run.
#[cfg(target_arch = "x86_64")]
pub(super) fn tier(code: &Code, block: &Block, mode: Mode, loops: bool) -> Tier {
    code.native(block, mode, loops);
    Tier::Native
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn hot() -> (u64, Option<Shuffle>) {
    (u64::MAX, None)
}
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn is_native(_block: &Block) -> bool {
    false
}
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn tier(_code: &Code, _block: &Block, _mode: Mode, _loops: bool) -> Tier {
    Tier::Ops
}

/// Numbers that say when blocks change their tier, for tests.
pub(super) struct Shuffle(u64);

impl Shuffle {
    /// Each program has its own.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "there is native code for x86-64 only"))]
    fn new(seed: u64) -> Shuffle {
        static PROGRAMS: AtomicU64 = AtomicU64::new(1);
        Shuffle(seed.wrapping_add(PROGRAMS.fetch_add(1, Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }
}
