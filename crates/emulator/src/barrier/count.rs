//! What a barrier counts, and what a wave has seen of it and waits for.

use std::cell::Cell;
use std::rc::Rc;

use crate::gws::Ticket;

/// One barrier.
#[derive(Clone, Debug, Default)]
pub(super) struct Count {
    pub(super) members: Cell<u32>,
    pub(super) signals: Cell<u32>,
    /// How often it was complete.
    pub(super) rounds: Cell<u32>,
}

impl Count {
    pub(super) fn new(members: u32) -> Count {
        Count { members: Cell::new(members), ..Count::default() }
    }
    pub(super) fn begin_again(&self, members: u32) {
        self.members.set(members);
        self.signals.set(0);
        self.rounds.set(0);
    }
    /// One more signal; whether it was the first of its round.
    pub(super) fn signal(&self) -> bool {
        let first = self.signals.get() == 0;
        self.signals.set(self.signals.get() + 1);
        self.settle();
        first
    }
    /// One member less.
    pub(super) fn leave(&self) {
        self.members.set(self.members.get().saturating_sub(1));
        self.settle();
    }
    fn settle(&self) {
        if self.members.get() != 0 && self.signals.get() >= self.members.get() {
            self.signals.set(0);
            self.rounds.set(self.rounds.get().wrapping_add(1));
        }
    }
    /// Signals \[22:16\], members \[10:4\], valid 0.
    pub(super) fn state(&self) -> u32 {
        (self.signals.get() & 0x7f) << 16 | (self.members.get() & 0x7f) << 4 | 1
    }
    pub(super) fn seen_by(&self, wave: &Cell<u32>) {
        wave.set(self.rounds.get());
    }
    /// A wave that has seen this many rounds passes, if there was one since.
    pub(super) fn pass(&self, seen: &Cell<u32>) -> bool {
        let passes = seen.get() != self.rounds.get();
        self.seen_by(seen);
        passes
    }
}

/// The barrier of a cluster's workgroups, which all run on one worker.
#[derive(Debug)]
pub struct Cluster {
    pub(super) count: Count,
    /// The round in which each workgroup has signalled last; rounds count from one here.
    pub(super) signalled: Vec<Cell<u32>>,
}

impl Cluster {
    pub fn new(workgroups: u32) -> Rc<Cluster> {
        let signalled = (0..workgroups).map(|_| Cell::new(0)).collect();
        Rc::new(Cluster { count: Count::new(workgroups), signalled })
    }
}

/// What a wave waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Waits {
    /// All the others: `s_barrier`.
    #[default]
    ForAll,
    /// A barrier with a number; a named one is the one that it has joined.
    For(i32),
    /// A resource of global wave sync.
    Globally(Ticket),
}

/// A wave's view of its barriers.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The named barrier that it has joined; 0 for none.
    pub(super) joined: Cell<u32>,
    pub(super) waits: Cell<Waits>,
    /// Rounds that it has seen of the workgroup's barrier, the named one that it has joined, and the cluster's.
    pub(super) own: Cell<u32>,
    pub(super) named: Cell<u32>,
    pub(super) cluster: Cell<u32>,
    /// Rounds of the workgroup's barrier that it has signalled for.
    pub(super) signalled: Cell<u32>,
    /// Where it has ended.
    pub(super) ended: Cell<Option<u64>>,
}

impl View {
    pub(super) fn begin_again(&self) {
        self.joined.set(0);
        self.waits.set(Waits::default());
        [&self.own, &self.named, &self.cluster, &self.signalled].into_iter().for_each(|rounds| rounds.set(0));
        self.ended.set(None);
    }
}
