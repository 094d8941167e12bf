//! Room for packets in the queue that an intercepted one stands in front of.
//!
//! An application may fill the intercepted queue again as soon as its packets have been handed on, and be ahead of the GPU by
//! more packets than the queue behind has room for. ROCr 5.2 can keep those of one packet that find no room: of two that one
//! doorbell tells of, the second one ends the program ("overflow buffer not empty"), or overtakes the first. So packets are handed
//! on only when there is room. How far the GPU has come is known from packets of ours among the others, which do nothing but
//! change a signal.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::hsa::{Handle, Packet};

/// Between two looks at whether there is room.
const LOOK: Duration = Duration::from_micros(50);
/// Slots that are not counted on: the runtime's own packets, and one that is read before it is said to be.
const RESERVE: u64 = 4;
/// The most marks that a queue has.
const MARKS: u64 = 8;

/// What marks need of the rest.
pub trait Signals {
    /// A signal that is 1.
    fn closed(&self) -> Option<Handle>;
    /// The signal of a mark that the GPU has come to.
    fn is_reached(&self, signal: Handle) -> bool;
    /// A signal that stands in no packet any more.
    fn give_back(&self, signal: Handle);
    /// Somebody still listens.
    fn goes_on(&self) -> bool;
}

/// How full a queue is.
#[derive(Debug)]
pub struct Flow {
    size: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Packets that were handed on, and how many of these the GPU has certainly come to.
    written: u64,
    read: u64,
    /// How many were handed on up to each mark that it has not come to.
    marks: VecDeque<(u64, Handle)>,
    marked: u64,
}

impl Flow {
    pub fn new(size: u32) -> Flow {
        Flow { size: size.into(), state: Mutex::default() }
    }

    /// Waits until there is room for packets that are about to be handed on, all at once. A mark may be put behind them.
    pub fn make_room(&self, signals: &impl Signals, packets: &mut Vec<Packet>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let count = packets.len() as u64;
        while state.settle(signals) && state.written - state.read + count + RESERVE > self.size && signals.goes_on() {
            std::thread::sleep(LOOK);
        }
        state.written += count;
        if state.written - state.marked >= self.size / MARKS
            && let Some(signal) = signals.closed()
        {
            packets.push(Packet::mark(signal));
            state.written += 1;
            state.marked = state.written;
            let here = (state.written, signal);
            state.marks.push_back(here);
        }
    }
}

impl State {
    /// Sees which marks the GPU has come to; false if there are none left to wait for.
    fn settle(&mut self, signals: &impl Signals) -> bool {
        while let Some((written, signal)) = self.marks.front().copied() {
            if !signals.is_reached(signal) {
                return true;
            }
            self.read = written;
            self.marks.pop_front();
            signals.give_back(signal);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A GPU that comes to one more mark whenever it is waited for.
    #[derive(Default)]
    struct Gpu {
        made: RefCell<u64>,
        waits: RefCell<u64>,
        reached: RefCell<u64>,
        back: RefCell<Vec<u64>>,
    }

    impl Signals for Gpu {
        fn closed(&self) -> Option<Handle> {
            *self.made.borrow_mut() += 1;
            Some(Handle(*self.made.borrow()))
        }
        fn is_reached(&self, signal: Handle) -> bool {
            signal.0 <= *self.reached.borrow()
        }
        fn give_back(&self, signal: Handle) {
            self.back.borrow_mut().push(signal.0);
        }
        fn goes_on(&self) -> bool {
            *self.waits.borrow_mut() += 1;
            *self.reached.borrow_mut() += 1;
            true
        }
    }

    fn hand_on(flow: &Flow, gpu: &Gpu, count: usize) -> usize {
        let mut packets = vec![Packet::barrier(None, None); count];
        flow.make_room(gpu, &mut packets);
        packets.len()
    }

    #[test]
    fn no_more_packets_are_under_way_than_there_is_room_for() {
        let (flow, gpu) = (Flow::new(64), Gpu::default());
        for _ in 0..1000 {
            assert!((3..=4).contains(&hand_on(&flow, &gpu, 3)));
            let state = flow.state.lock().unwrap();
            assert!(state.written - state.read + RESERVE <= 64 + 1, "{state:?}");
        }
        assert!(*gpu.waits.borrow() > 100);
        assert!(gpu.back.borrow().is_sorted() && gpu.back.borrow().len() > 100);
    }

    #[test]
    fn a_gpu_that_keeps_up_is_never_waited_for() {
        let (flow, gpu) = (Flow::new(64), Gpu::default());
        for _ in 0..1000 {
            *gpu.reached.borrow_mut() = *gpu.made.borrow();
            hand_on(&flow, &gpu, 1);
        }
        assert_eq!(*gpu.waits.borrow(), 0);
    }
}
