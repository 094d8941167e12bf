//! Which accesses of a workgroup's waves are ordered, and which are not.
//!
//! Each wave has a vector clock. A barrier joins the clocks of all waves; an atomic that returns joins those of the
//! waves that meet at its address. An access counts as done from the moment that a wait of its wave guarantees it, so
//! one that is issued before a barrier and not waited for is not ordered by it.

use std::collections::HashMap;

/// An access of a wave.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub pc: u64,
    pub wave: u16,
    pub atomic: bool,
    /// The wave's own clock when it was issued, and when it was sure to be done.
    issued: u32,
    done: u32,
}

/// Not done yet.
const NEVER: u32 = u32::MAX;
/// Accesses that are remembered; a kernel without barriers may make more.
const MOST: usize = 1 << 20;

/// Accesses from which on it pays to look for those that everything is ordered behind.
const MANY: usize = 1 << 10;

/// Number of an access; zero for none.
pub type AccessId = u32;

/// How an access relates to an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    Ordered,
    /// They would be ordered if the earlier one had been waited for.
    NotWaitedFor,
    Unordered,
}

type Clock = Box<[u32]>;

#[derive(Debug)]
pub struct Order {
    clocks: Vec<Clock>,
    /// What atomics have released, by address.
    released: HashMap<u64, Clock>,
    /// Of barriers with numbers: what those who have come to a round under way had done, and those of the last that was
    /// complete.
    rounds: HashMap<u32, [Clock; 2]>,
    accesses: Vec<Access>,
    /// The number of the first of them.
    first: AccessId,
    outstanding: usize,
}

fn join(into: &mut Clock, from: &Clock) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Order {
    pub fn new(waves: usize) -> Order {
        let clock = |wave| (0..waves).map(|other| u32::from(other == wave)).collect();
        Order {
            clocks: (0..waves).map(clock).collect(),
            released: HashMap::new(),
            rounds: HashMap::new(),
            accesses: Vec::new(),
            first: 1,
            outstanding: 0,
        }
    }

    /// A wave issues an access.
    pub fn begin(&mut self, wave: u16, pc: u64, atomic: bool) -> AccessId {
        if self.accesses.len() >= MOST {
            self.forget();
        }
        let issued = self.clocks[usize::from(wave)][usize::from(wave)];
        self.accesses.push(Access { pc, wave, atomic, issued, done: NEVER });
        self.outstanding += 1;
        self.first + (self.accesses.len() - 1) as u32
    }

    /// A wave has waited for one of its accesses.
    pub fn finish(&mut self, id: AccessId) {
        let Some(at) = id.checked_sub(self.first) else { return };
        if let Some(access) = self.accesses.get_mut(at as usize) {
            access.done = self.clocks[usize::from(access.wave)][usize::from(access.wave)];
            self.outstanding -= 1;
        }
    }

    /// The access with this number, unless everything is ordered behind it.
    pub fn get(&self, id: AccessId) -> Option<&Access> {
        self.accesses.get(id.checked_sub(self.first)? as usize)
    }

    /// Whether everything is ordered behind the access with this number; so it is for no access at all.
    #[inline(always)]
    pub fn is_settled(&self, id: AccessId) -> bool {
        id < self.first
    }

    /// The first access that something may not be ordered behind.
    pub fn first_unsettled(&self) -> AccessId {
        self.first
    }

    /// How what a wave does now relates to an earlier access.
    pub fn relation(&self, earlier: &Access, wave: u16) -> Relation {
        let seen = self.clocks[usize::from(wave)][usize::from(earlier.wave)];
        match () {
            () if earlier.wave == wave || earlier.done <= seen => Relation::Ordered,
            () if earlier.issued <= seen => Relation::NotWaitedFor,
            () => Relation::Unordered,
        }
    }

    /// All waves of the workgroup have come to a barrier, or ended.
    pub fn barrier(&mut self) {
        let mut all = self.clocks[0].clone();
        self.clocks.iter().for_each(|clock| join(&mut all, clock));
        for (wave, clock) in self.clocks.iter_mut().enumerate() {
            clock.copy_from_slice(&all);
            clock[wave] += 1;
        }
        if self.outstanding == 0 {
            self.forget();
        }
    }

    /// A wave signals a barrier with a number, or leaves it; that may complete its round.
    pub fn arrive(&mut self, wave: u16, barrier: u32, completes: bool) {
        let own = &mut self.clocks[usize::from(wave)];
        let nothing = || [vec![0; own.len()].into_boxed_slice(), vec![0; own.len()].into_boxed_slice()];
        let [gathering, complete] = self.rounds.entry(barrier).or_insert_with(nothing);
        join(gathering, own);
        own[usize::from(wave)] += 1;
        if completes {
            complete.copy_from_slice(gathering);
            gathering.fill(0);
        }
    }

    /// A wave has waited for a complete round of a barrier with a number.
    pub fn pass(&mut self, wave: u16, barrier: u32) {
        let Some([_, complete]) = self.rounds.get(&barrier) else { return };
        join(&mut self.clocks[usize::from(wave)], complete);
        if self.accesses.len() >= MANY {
            self.forget_ordered();
        }
    }

    /// Forgets the accesses before the first that something may not be ordered behind.
    fn forget_ordered(&mut self) {
        let mut seen = self.clocks[0].clone();
        for clock in &self.clocks {
            seen.iter_mut().zip(clock).for_each(|(a, b)| *a = (*a).min(*b));
        }
        let open = |a: &Access| a.done > seen[usize::from(a.wave)];
        let ordered = self.accesses.iter().position(open).unwrap_or(self.accesses.len());
        self.accesses.drain(..ordered);
        self.first += ordered as u32;
    }

    /// A wave's atomic at an address releases what the wave has done, and acquires what others have released there if
    /// it brings something back.
    pub fn atomic(&mut self, wave: u16, address: u64, returns: bool) {
        let own = &mut self.clocks[usize::from(wave)];
        let released = self.released.entry(address).or_insert_with(|| own.clone());
        join(released, own);
        if returns {
            join(own, released);
        }
        own[usize::from(wave)] += 1;
    }

    fn forget(&mut self) {
        self.first += self.accesses.len() as u32;
        self.accesses.clear();
        self.outstanding = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_orders_what_was_waited_for() {
        let mut order = Order::new(2);
        let (waited, not) = (order.begin(0, 0, false), order.begin(0, 4, false));
        let relation = |order: &Order, id| order.relation(order.get(id).unwrap(), 1);
        assert_eq!(relation(&order, waited), Relation::Unordered);
        order.finish(waited);
        assert_eq!(relation(&order, waited), Relation::Unordered);
        order.barrier();
        assert_eq!(relation(&order, waited), Relation::Ordered);
        assert_eq!(relation(&order, not), Relation::NotWaitedFor);
        order.finish(not);
        assert_eq!(relation(&order, not), Relation::NotWaitedFor);
        order.barrier();
        assert!(order.get(waited).is_none());
    }

    #[test]
    fn a_signal_orders_what_was_done_before_it() {
        let mut order = Order::new(3);
        let before = order.begin(0, 0, false);
        order.finish(before);
        order.arrive(0, 1, false);
        let between = order.begin(0, 4, false);
        order.finish(between);
        order.arrive(1, 1, true);
        let relation = |order: &Order, id, wave| order.relation(order.get(id).unwrap(), wave);
        assert_eq!(relation(&order, before, 1), Relation::Unordered);
        order.pass(1, 1);
        assert_eq!(relation(&order, before, 1), Relation::Ordered);
        assert_eq!(relation(&order, between, 1), Relation::Unordered);
        // Who has no part in it learns nothing, and the next round brings what was between.
        assert_eq!(relation(&order, before, 2), Relation::Unordered);
        order.arrive(0, 1, false);
        order.arrive(1, 1, true);
        order.pass(1, 1);
        assert_eq!(relation(&order, between, 1), Relation::Ordered);
        order.forget_ordered();
        assert!(order.get(before).is_some());
        order.pass(2, 1);
        order.forget_ordered();
        assert!(order.get(before).is_none() && order.get(between).is_none());
    }

    #[test]
    fn a_lock_orders_what_it_guards() {
        let mut order = Order::new(2);
        order.atomic(0, 64, true);
        let guarded = order.begin(0, 0, false);
        order.finish(guarded);
        order.atomic(0, 64, false);
        let access = *order.get(guarded).unwrap();
        assert_eq!(order.relation(&access, 1), Relation::Unordered);
        order.atomic(1, 64, true);
        assert_eq!(order.relation(&access, 1), Relation::Ordered);
    }
}
