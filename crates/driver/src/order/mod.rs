//! What orders launches and copies, and those that nothing orders although they touch the same bytes.
//!
//! A packet knows what its queue has waited for, what the signals stood for that it waited for, and what the host knew when
//! it was submitted. The host knows what it has seen of signals: by the runtime's functions, which `waits.c` stands before,
//! and by handlers. All its threads count as one. Where that cannot be seen, of signals that the runtime made for itself or
//! of runtimes without `waits.c`, the host is taken to know of work as soon as it is done. So nothing is told that the host
//! has ordered, and what ran apart by chance may be missed.

mod clock;
mod host;

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use luthier_emulator::packet::Spot;
use luthier_emulator::{Conflict, Footprint};

use clock::Clock;
use host::{Host, Rung};
pub use host::{HostRace, HostTouch};

/// Work that is compared with what comes after it, and pieces of memory that all of it has touched.
const MOST_WORK: usize = 1024;
const MOST_PIECES: usize = 4 << 20;
/// Signals that copies were told to wait for, of the last of them.
const MOST_AWAITED: usize = 256;

/// What is done there, for people.
#[derive(Clone)]
pub struct Doer {
    /// The launch's number, and whether it is the program's; none of a copy.
    pub launch: Option<(u64, bool)>,
    pub name: String,
    pub gpu: u32,
    pub queue: u64,
    /// Where an instruction of it is.
    pub spot: Option<Arc<dyn Fn(u64) -> Spot + Send + Sync>>,
}

/// Work that has been done.
struct Work {
    queue: usize,
    number: u64,
    footprint: Footprint,
    doer: Doer,
    /// The host has touched a page with an atomic variable of its: that may be what orders them.
    is_looked_at: bool,
}

impl Work {
    fn pieces(&self) -> usize {
        self.footprint.writes.len() + self.footprint.reads.len()
    }
}

/// A packet under way.
pub struct Ticket {
    queue: usize,
    number: u64,
    index: Option<u64>,
    clock: Clock,
    barrier: bool,
    /// How much the host had submitted, with this.
    step: u64,
}

/// Two works that nothing orders.
pub struct Clash {
    pub conflict: Conflict,
    pub earlier: Doer,
    pub later: Doer,
}

/// What a work clashes with: earlier works, and what the host has touched meanwhile.
#[derive(Default)]
pub struct Clashes {
    pub works: Vec<Clash>,
    pub host: Vec<HostRace>,
}

/// One queue's packets.
#[derive(Default)]
struct Line {
    /// How many there were.
    count: u64,
    /// What each packet from now on knows, and what one with the barrier bit knows besides: all that was done.
    known: Clock,
    done: Clock,
    rung: VecDeque<Rung>,
    /// What packets under way know.
    under_way: Vec<(u64, Clock)>,
}

impl Line {
    /// Its packets up to this index have had their turn.
    fn come(&mut self, index: Option<u64>) {
        while let (Some(index), Some(rung)) = (index, self.rung.front())
            && rung.last <= index
        {
            self.rung.pop_front();
        }
    }
}

#[derive(Default)]
struct State {
    host: Clock,
    host_touches: Host,
    lines: Vec<Line>,
    /// What signals stand for, and those whose changes the host sees by functions that are heard.
    signals: HashMap<u64, Clock>,
    heard: HashSet<u64>,
    works: VecDeque<Work>,
    /// What the runtime's own copies were told to wait for. It looks at these signals itself, and has a queue wait only for
    /// those that were not done then.
    awaited: VecDeque<u64>,
    /// Clashes that were told, by their instructions.
    told: HashSet<(String, u64, String, u64)>,
    /// Work that is not compared any more although something may be unordered with it.
    dropped: u64,
}

#[derive(Default)]
pub struct Order(Mutex<State>);

impl Order {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new queue; its number here.
    pub fn add_queue(&self) -> usize {
        let mut state = self.lock();
        state.lines.push(Line::default());
        state.lines.len() - 1
    }

    /// A queue is destroyed, for which the host has waited.
    pub fn end_queue(&self, queue: usize) {
        let state = &mut *self.lock();
        let line = std::mem::take(&mut state.lines[queue]);
        state.host.join(&line.done);
        state.lines[queue] = Line { count: line.count, ..Line::default() };
        state.prune();
    }

    /// The program has made a signal by a function that is heard.
    pub fn made(&self, signal: u64) {
        self.lock().heard.insert(signal);
    }

    pub fn destroyed(&self, signal: u64) {
        let mut state = self.lock();
        state.heard.remove(&signal);
        state.signals.remove(&signal);
    }

    /// The host has looked at a signal, or is told of it.
    pub fn seen(&self, signal: u64) {
        let state = &mut *self.lock();
        // Programs look often, and mostly there is nothing new.
        if state.signals.get(&signal).is_some_and(|clock| state.host.join(clock)) {
            state.prune();
        }
    }

    /// The host is about to change a signal.
    pub fn changes(&self, signal: u64) {
        let state = &mut *self.lock();
        state.signals.entry(signal).or_default().join(&state.host);
    }

    /// The host is about to ring: packets up to this index are there.
    pub fn rings(&self, queue: usize, index: u64) {
        let state = &mut *self.lock();
        let step = state.host_touches.asks();
        state.lines[queue].rung.push_back(Rung { last: index, known: state.host.clone(), step });
    }

    /// A packet of a queue comes to its turn. `index` is its place in the ring, of a queue for which the host rings.
    pub fn begin(&self, queue: usize, index: Option<u64>, barrier: bool) -> Ticket {
        let state = &mut *self.lock();
        let line = &mut state.lines[queue];
        line.count += 1;
        let number = line.count;
        let mut clock = line.known.clone();
        line.come(index.and_then(|index| index.checked_sub(1)));
        let step = match line.rung.front() {
            Some(rung) => {
                clock.join(&rung.known);
                rung.step
            }
            None => {
                clock.join(&state.host);
                state.host_touches.submits()
            }
        };
        if barrier {
            clock.join(&line.done);
        }
        line.under_way.push((number, clock.clone()));
        Ticket { queue, number, index, clock, barrier, step }
    }

    /// The packet has waited for a signal: those behind it have, too.
    pub fn waited(&self, ticket: &mut Ticket, signal: u64) {
        let state = &mut *self.lock();
        if let Some(clock) = state.signals.get(&signal) {
            ticket.clock.join(clock);
            state.lines[ticket.queue].known.join(clock);
        }
    }

    /// The program has the runtime wait for a signal before it copies.
    pub fn awaits(&self, signal: u64) {
        let mut state = self.lock();
        state.awaited.retain(|known| *known != signal);
        state.awaited.push_back(signal);
        if state.awaited.len() > MOST_AWAITED {
            state.awaited.pop_front();
        }
    }

    /// The packet is the runtime's own, which has looked at signals without a packet that waits for them.
    pub fn is_the_runtimes(&self, ticket: &mut Ticket) {
        let State { signals, awaited, .. } = &*self.lock();
        for clock in awaited.iter().filter_map(|signal| signals.get(signal)) {
            ticket.clock.join(clock);
        }
    }

    /// What the packet has touched, and what it clashes with.
    pub fn touched(&self, ticket: &Ticket, footprint: Footprint, doer: Doer) -> Clashes {
        if footprint.is_empty() {
            return Clashes::default();
        }
        let state = &mut *self.lock();
        let mut clashes = Vec::new();
        for work in state.works.iter().filter(|work| !ticket.clock.knows(work.queue, work.number)) {
            let Some(conflict) = work.footprint.conflict(&footprint) else { continue };
            let place = |doer: &Doer, pc: u64| (doer.name.clone(), pc);
            let (earlier, later) = (place(&work.doer, conflict.earlier.pc), place(&doer, conflict.later.pc));
            if state.told.insert((earlier.0, earlier.1, later.0, later.1)) {
                clashes.push(Clash { conflict, earlier: work.doer.clone(), later: doer.clone() });
            }
        }
        let is_looked_at = state.host_touches.looks_at(ticket.step, &footprint);
        let mut host = Vec::new();
        if !is_looked_at {
            host = state.host_touches.races(ticket.step, &footprint, &doer);
            host.retain(|race| state.told.insert(race.places()));
        }
        state.works.push_back(Work { queue: ticket.queue, number: ticket.number, footprint, doer, is_looked_at });
        Clashes { works: clashes, host }
    }

    /// The packet is done: its signal, if it has one, stands for it from now on. Before the signal changes.
    pub fn ends(&self, ticket: Ticket, signal: u64) {
        let Ticket { queue, number, index, mut clock, barrier, .. } = ticket;
        clock.learn(queue, number);
        let state = &mut *self.lock();
        let line = &mut state.lines[queue];
        line.under_way.retain(|(of, _)| *of != number);
        line.come(index);
        line.done.join(&clock);
        if barrier {
            line.known.join(&clock);
        }
        if signal != 0 {
            state.signals.entry(signal).or_default().join(&clock);
            state.host_touches.copied(signal);
        }
        if signal != 0 && !state.heard.contains(&signal) {
            state.host.join(&clock);
        }
        state.prune();
    }

    /// The packet was given up, or has to be begun again.
    pub fn drops(&self, ticket: &Ticket) {
        let state = &mut *self.lock();
        state.lines[ticket.queue].under_way.retain(|(number, _)| *number != ticket.number);
    }

    /// Memory is freed: what comes to lie there is another's.
    pub fn freed(&self, bytes: &Range<u64>) {
        let state = &mut *self.lock();
        for work in &mut state.works {
            for pieces in [&mut work.footprint.writes, &mut work.footprint.reads] {
                pieces.retain(|piece| piece.bytes.end <= bytes.start || bytes.end <= piece.bytes.start);
            }
        }
    }

    /// How many works are not compared with later ones any more although they may be unordered with them.
    pub fn dropped(&self) -> u64 {
        std::mem::take(&mut self.lock().dropped)
    }
}

impl State {
    fn is_under_way(&self) -> bool {
        self.host_touches.is_copying()
            || self.lines.iter().any(|line| !line.rung.is_empty() || !line.under_way.is_empty())
    }

    /// Forgets work that every packet knows of, those under way and those to come.
    fn prune(&mut self) {
        if !self.is_under_way() {
            self.host_touches.forget();
        }
        let State { host, lines, works, dropped, .. } = self;
        let clocks = || {
            let rung = lines.iter().flat_map(|line| &line.rung).map(|rung| &rung.known);
            rung.chain(lines.iter().flat_map(|line| &line.under_way).map(|(_, clock)| clock))
        };
        works.retain(|&Work { queue, number, .. }| {
            !host.knows(queue, number) || clocks().any(|clock| !clock.knows(queue, number))
        });
        let mut pieces: usize = works.iter().map(Work::pieces).sum();
        while works.len() > MOST_WORK || pieces > MOST_PIECES {
            let Some(work) = works.pop_front() else { break };
            pieces -= work.pieces();
            *dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests;
