//! Stores of workgroups that run on several threads, one after the other where they may meet.
//!
//! A store that leaves memory as it is does not race, so what was stored before has to be there when the next store is
//! judged. A word's writer is noted before it writes: without a gate, another thread's store of the same value would come
//! in between and be said to race.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;

use super::Races;

/// What is being written: a bit for each piece of memory, which it shares with others.
#[derive(Default)]
pub(super) struct Gate(AtomicU64);

/// Bits of an address within a piece: what a wave stores at a time, as a rule.
const PIECE: u32 = 8;
/// A store takes less time than this, unless its thread is interrupted.
const SPINS: u32 = 100;

fn bit(address: u64) -> u64 {
    // The fraction of the golden ratio: pieces at a power of two from each other have bits of their own, too.
    1 << ((address >> PIECE).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - u64::BITS.trailing_zeros()))
}

/// While this lives, no other thread's store to some pieces of memory is judged or made.
#[must_use]
#[derive(Default)]
pub struct Passage(Option<(Arc<Races>, u64)>);

impl Passage {
    /// For a store of `size` bytes at each address, fewer than a piece has, once no other thread has one of its pieces.
    pub fn enter(races: &Arc<Races>, addresses: impl Iterator<Item = u64>, size: u64) -> Passage {
        let Some(Gate(held)) = &races.gate else { return Passage::default() };
        let last = size.saturating_sub(1);
        let pieces = addresses.fold(0, |pieces, at| pieces | bit(at) | bit(at.saturating_add(last)));
        // All at once, so that no thread that holds some waits for others.
        let free = |held: u64| (held & pieces == 0).then_some(held | pieces);
        let mut tries = 0;
        while held.fetch_update(Acquire, Relaxed, free).is_err() {
            tries += 1;
            if tries % SPINS == 0 { thread::yield_now() } else { hint::spin_loop() }
        }
        Passage(Some((Arc::clone(races), pieces)))
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        if let Some((races, pieces)) = &self.0
            && let Some(Gate(held)) = &races.gate
        {
            held.fetch_and(!pieces, Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    fn races(workers: usize) -> Arc<Races> {
        Arc::new(Races::new([1; 3], 2, false, Default::default(), workers))
    }

    #[test]
    fn who_stores_to_the_same_piece_comes_later_and_who_stores_elsewhere_does_not() {
        let races = races(2);
        let first = Passage::enter(&races, [0x1ffc].into_iter(), 8);
        let mut others = (3u64..).map(|n| n << PIECE).filter(|&at| bit(at) & (bit(0x1ffc) | bit(0x2000)) == 0);
        drop(Passage::enter(&races, others.by_ref().take(2), 16));
        let is_in = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _passage = Passage::enter(&races, [0x20f0].into_iter(), 4);
                is_in.store(true, Relaxed);
            });
            (0..100).for_each(|_| thread::yield_now());
            assert!(!is_in.load(Relaxed));
            drop(first);
        });
        assert!(is_in.load(Relaxed));
    }

    #[test]
    fn one_worker_needs_no_gate() {
        let races = races(1);
        let _first = Passage::enter(&races, [0x1000].into_iter(), 4);
        drop(Passage::enter(&races, [0x1000].into_iter(), 4));
    }
}
