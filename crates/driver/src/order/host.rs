//! What the host itself touches, beside what launches and copies do.

use std::collections::VecDeque;
use std::ops::Range;

use luthier_emulator::{Footprint, Touched};

use super::clock::Clock;
use super::{Doer, Order, State, Ticket};
use crate::memory::PAGE;
use crate::touches::Code;

/// Accesses and copies under way that are remembered.
const MOST_TOUCHES: usize = 1 << 16;
const MOST_COPIES: usize = 256;

/// An access of a byte by the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTouch {
    pub address: u64,
    pub write: bool,
    pub code: Code,
}

/// Work that the host has not waited for, and an access of the host's to the same byte.
#[derive(Clone)]
pub struct HostRace {
    pub doer: Doer,
    pub touched: Touched,
    pub writes: bool,
    pub host: HostTouch,
}

/// A copy that the program has asked for.
struct Copy {
    signal: u64,
    to: Range<u64>,
    step: u64,
}

#[derive(Default)]
pub struct Host {
    /// Counts what the host has submitted.
    step: u64,
    /// The runtime's functions are heard by which the host submits work: without them, it is not known what came first.
    is_heard: bool,
    /// What it has touched while work was under way, and what it had submitted then.
    touches: VecDeque<(u64, HostTouch)>,
    copies: VecDeque<Copy>,
}

impl Host {
    /// The host submits something. What it has touched so far comes before that.
    pub fn submits(&mut self) -> u64 {
        self.step += 1;
        self.step
    }

    /// The same, by a function that is heard.
    pub fn asks(&mut self) -> u64 {
        self.is_heard = true;
        self.submits()
    }

    pub fn is_copying(&self) -> bool {
        !self.copies.is_empty()
    }

    pub fn copied(&mut self, signal: u64) {
        self.copies.retain(|copy| copy.signal != signal);
    }

    /// Nothing is under way: what was touched comes before all that will be.
    pub fn forget(&mut self) {
        self.touches.clear();
    }

    /// What it has touched since a step.
    fn since(&self, step: u64) -> impl Iterator<Item = &HostTouch> {
        let first = self.touches.partition_point(|(at, _)| *at < step);
        self.touches.range(first..).map(|(_, touch)| touch)
    }

    /// Whether it has touched a page with an atomic variable of the work's since that was submitted.
    pub fn looks_at(&self, step: u64, footprint: &Footprint) -> bool {
        self.since(step).any(|touch| may_order(footprint, touch))
    }

    /// The races of work with what it has touched since that was submitted.
    pub fn races(&self, step: u64, footprint: &Footprint, doer: &Doer) -> Vec<HostRace> {
        self.since(step).filter_map(|touch| race(footprint, doer, touch)).collect()
    }
}

/// Whether the work has an atomic variable on the page: the host may have looked at it, or set it.
fn may_order(footprint: &Footprint, touch: &HostTouch) -> bool {
    let page = touch.address & !(PAGE - 1);
    footprint.has_atomic(&(page..page + PAGE))
}

fn race(footprint: &Footprint, doer: &Doer, touch: &HostTouch) -> Option<HostRace> {
    // The runtime orders what it does itself.
    let (touched, writes) = footprint.touches(touch.address, touch.write).filter(|_| !touch.code.is_the_runtimes())?;
    Some(HostRace { doer: doer.clone(), touched: touched.clone(), writes, host: touch.clone() })
}

impl Order {
    /// The program asks for a copy, which ends with a signal.
    pub fn copies(&self, signal: u64, to: Range<u64>) {
        let host = &mut self.lock().host_touches;
        let step = host.asks();
        host.copies.push_back(Copy { signal, to, step });
        if host.copies.len() > MOST_COPIES {
            host.copies.pop_front();
        }
    }

    /// The packet writes there: it is of the last copy to there that the program has asked for.
    pub fn is_of_a_copy(&self, ticket: &mut Ticket, to: u64) {
        let state = self.lock();
        if let Some(copy) = state.host_touches.copies.iter().rfind(|copy| copy.to.contains(&to)) {
            ticket.step = copy.step;
        }
    }

    /// Whether the program has touched memory that work under way may touch, too.
    pub fn is_undecided(&self) -> bool {
        let state = self.lock();
        state.is_under_way() && state.host_touches.touches.iter().any(|(_, touch)| !touch.code.is_the_runtimes())
    }

    /// Whether something is under way that the host may touch memory of meanwhile.
    pub fn is_under_way(&self) -> bool {
        self.lock().is_under_way()
    }

    /// The host is about to touch memory. Gives the races with work that is done, and that it does not know of.
    pub fn host_touches(&self, touch: HostTouch) -> Vec<HostRace> {
        let state = &mut *self.lock();
        if !state.host_touches.is_heard {
            return Vec::new();
        }
        let mut races = Vec::new();
        let State { host, works, told, .. } = state;
        for work in works.iter_mut().filter(|work| !host.knows(work.queue, work.number)) {
            work.is_looked_at |= may_order(&work.footprint, &touch);
            if !work.is_looked_at {
                races.extend(race(&work.footprint, &work.doer, &touch));
            }
        }
        races.retain(|race| told.insert(race.places()));
        if state.is_under_way() {
            let touches = &mut state.host_touches;
            touches.touches.push_back((touches.step, touch));
            if touches.touches.len() > MOST_TOUCHES {
                touches.touches.pop_front();
                state.dropped += 1;
            }
        }
        races
    }
}

impl HostRace {
    pub fn places(&self) -> (String, u64, String, u64) {
        (self.doer.name.clone(), self.touched.pc, "the host".into(), self.host.code.pc)
    }
}

/// What the host knew when it rang, and how much it had submitted.
#[derive(Clone)]
pub struct Rung {
    /// The index of the last packet that was there.
    pub last: u64,
    pub known: Clock,
    pub step: u64,
}
