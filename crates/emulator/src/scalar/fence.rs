//! The order in which other workers see what a wave does to memory.
//!
//! A store is done for all workers once a wait for its counter is over: what a wave loads afterwards is no older. (LLVM
//! makes sequential consistency of that, in "Memory Model" of its AMDGPU page.) The host's processor, though, may keep a
//! store to itself and load first; a fence prevents that. Everything else that a GPU orders x86 has in order anyway: loads,
//! stores, a load and stores behind it, and who sees one worker's store sees it as all others do. Hosts that order less
//! have a fence at each wait for memory.

use std::sync::atomic::Ordering::SeqCst;

use luthier_isa::wait::Wait;
use luthier_isa::{Counter, Inst};

use crate::op::{Flow, Op};
use crate::wave::Wave;

/// Whether the host's processor delays nothing but stores.
const DELAYS_STORES_ALONE: bool = cfg!(target_arch = "x86_64");

/// Whether an instruction waits for operations on memory of which other workers may have to see the order.
pub fn orders(inst: &Inst) -> bool {
    let is_gfx9 = inst.info().mode.target().generation().is_gfx9_family();
    Wait::of_instruction(inst).bounds().any(|(counter, _)| match counter {
        Counter::Vs | Counter::Async | Counter::Tensor => true,
        // Of loads and stores.
        Counter::Vm => is_gfx9 || !DELAYS_STORES_ALONE,
        Counter::Exp | Counter::X => false,
        _ => !DELAYS_STORES_ALONE,
    })
}

/// What the wave has done is seen by all before what it does next.
#[inline]
pub fn fence() {
    std::sync::atomic::fence(SeqCst);
}

/// A wait that [`orders`].
pub fn wait(w: &mut Wave, _op: &Op) -> Flow {
    if w.has_stored || !DELAYS_STORES_ALONE {
        w.has_stored = false;
        fence();
    }
    Flow::Next
}
