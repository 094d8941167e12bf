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

/// Whether an instruction waits for operations on memory whose order other workers may have to see.
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

#[cfg(test)]
mod tests {
    use luthier_isa::Mode;

    use super::*;

    /// Whether some instruction of those that wait for a counter orders.
    fn of(mode: Mode, counter: Counter) -> bool {
        let waits = Wait::NONE.and(counter, 0).instructions(mode).expect("the counter is there");
        waits.iter().any(orders)
    }

    #[test]
    fn every_processor_has_a_wait_that_orders_stores_before_loads() {
        for mode in Mode::all().filter(|mode| mode.target().has_tables()) {
            let generation = mode.target().generation();
            let stores = if generation.is_gfx9_family() { Counter::Vm } else { Counter::Vs };
            assert!(of(mode, stores), "{mode:?}");
            let others = [Counter::Exp, Counter::Lgkm, Counter::Ds, Counter::Km].into_iter();
            for counter in others.filter(|counter| counter.name(generation).is_some()) {
                assert!(!DELAYS_STORES_ALONE || !of(mode, counter), "{mode:?}: {counter:?}");
            }
        }
    }

    #[test]
    fn a_wait_forgets_the_stores_before_it() {
        let mut w = Wave::new();
        w.has_stored = true;
        assert_eq!((wait(&mut w, &Op::NOTHING), w.has_stored), (Flow::Next, false));
    }
}
