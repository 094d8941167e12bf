//! The launches that are followed to their end, and the signals that this takes.
//!
//! Who waits for a packet knows that those in front of it are over, so they are told first, whichever of them a thread hears of
//! first: a barrier behind launches without signals is followed, too, until they are told.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::hsa::Handle;

/// A packet under way.
pub struct Under {
    /// The kernel's slot and the launch's number; none of a packet that is no launch which tools know.
    pub launch: Option<(usize, u64)>,
    pub agent: Handle,
    pub ours: Handle,
    /// The application's, or 0.
    pub theirs: Handle,
    /// It was over when our thread looked last.
    pub late: bool,
}

/// A packet's queue and its place in there: those of a queue are in its order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Place(u64);

/// Bits of a place that are the packet's; the rest is the queue's.
const OF_PACKET: u32 = 40;

impl Place {
    pub fn word(self) -> u64 {
        self.0
    }
    pub fn of_word(word: u64) -> Place {
        Place(word)
    }
    fn new(queue: u64, packet: u64) -> Place {
        Place(queue << OF_PACKET | packet & ((1 << OF_PACKET) - 1))
    }
    /// Those of its queue that come before it.
    fn before(self) -> std::ops::Range<Place> {
        Place(self.0 >> OF_PACKET << OF_PACKET)..self
    }
}

#[derive(Default)]
pub struct Followed {
    state: Mutex<State>,
    /// There is a packet under way.
    come: Condvar,
    /// One more is told.
    told: Condvar,
}

#[derive(Default)]
struct State {
    under_way: BTreeMap<Place, Under>,
    /// Packets whose end a thread is telling at this moment.
    telling: BTreeSet<Place>,
    /// Packets whose ends are known, but not from the runtime, which has yet to call the handler; with the signal once
    /// that is not needed any more.
    unheard: HashMap<Place, Option<Handle>>,
    /// Signals to be used again.
    idle: Vec<Handle>,
    /// Packets that were followed so far.
    count: u64,
    /// There is nothing to look at any more: the process ends, or the runtime does.
    ended: bool,
    /// Our thread waits for a packet.
    asleep: bool,
}

/// How long others are waited for at the end. One that is held up does not keep the process.
pub const PATIENCE: Duration = Duration::from_secs(1);

impl State {
    /// Takes a packet that is over, with those in front of it that are, too: who knows of it knows of them.
    fn take(&mut self, place: Place, is_over: &impl Fn(&Under) -> bool, to: &mut Vec<(Place, Under)>) {
        let Some(last) = self.under_way.remove(&place) else { return };
        if last.theirs.0 != 0 {
            let over = |(place, under): (&Place, &Under)| is_over(under).then_some(*place);
            let before: Vec<Place> = self.under_way.range(place.before()).filter_map(over).collect();
            for place in before {
                to.extend(self.under_way.remove(&place).map(|under| (place, under)));
            }
        }
        to.push((place, last));
    }
}

impl Followed {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signal that was used before.
    pub fn signal(&self) -> Option<Handle> {
        self.lock().idle.pop()
    }

    /// Follows the next packet of a queue.
    pub fn add(&self, queue: u64, under: Under) -> Place {
        let mut state = self.lock();
        state.count += 1;
        let place = Place::new(queue, state.count);
        state.under_way.insert(place, under);
        if state.asleep {
            self.come.notify_one();
        }
        place
    }

    /// It is not followed after all.
    pub fn remove(&self, place: Place) {
        let mut state = self.lock();
        let signal = state.under_way.remove(&place).map(|under| under.ours);
        state.idle.extend(signal);
    }

    /// A packet of this queue is under way, or over and not told yet.
    pub fn has_of(&self, queue: u64) -> bool {
        let state = self.lock();
        let all = Place::new(queue, 0)..Place::new(queue + 1, 0);
        state.under_way.range(all.clone()).next().is_some() || state.telling.range(all).next().is_some()
    }

    /// The runtime says that a packet is over: `tell` tells that, if it has not yet. Before it, `tell` tells the end of each
    /// packet in front for which `is_over` is true.
    pub fn heard(&self, place: Place, is_over: impl Fn(&Under) -> bool, tell: impl Fn(&Under)) {
        let mut state = self.lock();
        let mut over = Vec::new();
        state.take(place, &is_over, &mut over);
        if over.is_empty() {
            let signal = state.unheard.remove(&place).flatten();
            state.idle.extend(signal);
            return;
        }
        self.tell(state, &over, Some(place), None, tell);
    }

    /// `tell` tells the end of each packet for which `due` is true, and before it that of each packet in front for which
    /// `is_over` is true. Other threads may be telling some of these: `patience` bounds the wait for them.
    pub fn found(
        &self,
        due: impl Fn(&mut Under) -> bool,
        is_over: impl Fn(&Under) -> bool,
        patience: Option<Duration>,
        tell: impl Fn(&Under),
    ) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        let is_due = |(place, under): (&Place, &mut Under)| due(under).then_some(*place);
        let places: Vec<Place> = state.under_way.iter_mut().filter_map(is_due).collect();
        let mut over = Vec::new();
        for place in places {
            state.take(place, &is_over, &mut over);
        }
        self.tell(state, &over, None, patience, tell);
    }

    /// Tells of these, in their order. The runtime has spoken of `heard`, and will speak of the others.
    fn tell(
        &self,
        mut state: MutexGuard<'_, State>,
        over: &[(Place, Under)],
        heard: Option<Place>,
        patience: Option<Duration>,
        tell: impl Fn(&Under),
    ) {
        state.telling.extend(over.iter().map(|(place, _)| *place));
        state.unheard.extend(over.iter().filter(|(place, _)| heard != Some(*place)).map(|(place, _)| (*place, None)));
        drop(state);
        for (n, (place, under)) in over.iter().enumerate() {
            // Even if `tell` panics, no thread waits for these any longer.
            let rest = Telling(self, &over[n..]);
            if under.theirs.0 != 0 {
                self.wait_for_those_before(*place, patience);
            }
            tell(under);
            std::mem::forget(rest);
            let mut state = self.lock();
            state.telling.remove(place);
            match state.unheard.get_mut(place) {
                Some(signal) => *signal = Some(under.ours),
                None => state.idle.push(under.ours),
            }
            drop(state);
            self.told.notify_all();
        }
    }

    /// Waits until other threads have told of those in front of a packet.
    fn wait_for_those_before(&self, place: Place, patience: Option<Duration>) {
        let (state, latest) = (self.lock(), patience.map(|patience| Instant::now() + patience));
        let waits = |state: &mut State| state.telling.range(place.before()).next().is_some();
        self.wait_while(state, latest, waits);
    }

    fn wait_while(&self, state: MutexGuard<'_, State>, latest: Option<Instant>, waits: impl FnMut(&mut State) -> bool) {
        match latest {
            Some(latest) => {
                let left = latest.saturating_duration_since(Instant::now());
                drop(self.told.wait_timeout_while(state, left, waits));
            }
            None => drop(self.told.wait_while(state, waits)),
        }
    }

    /// Waits until there is a packet under way.
    pub fn wait(&self) {
        let mut state = self.lock();
        state.asleep = true;
        let nothing = |state: &mut State| state.ended || state.under_way.is_empty();
        self.come.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner).asleep = false;
    }

    pub fn is_empty(&self) -> bool {
        self.lock().under_way.is_empty()
    }

    /// The packet is over, and that has been said.
    pub fn is_told(&self, place: Place) -> bool {
        let state = self.lock();
        !state.under_way.contains_key(&place) && !state.telling.contains(&place)
    }

    /// Gives a signal back that no packet has any more.
    pub fn give_back(&self, signal: Handle) {
        self.lock().idle.push(signal);
    }

    /// Waits for the threads that are about to say that a packet is over.
    pub fn finish(&self) {
        let latest = Instant::now() + PATIENCE;
        self.wait_while(self.lock(), Some(latest), |state| !state.telling.is_empty());
    }

    /// There is a runtime.
    pub fn begin(&self) {
        self.lock().ended = false;
    }

    /// From now on no signal is looked at; with `forget`, they do not exist any more.
    pub fn end(&self, forget: bool) {
        let latest = Instant::now() + PATIENCE;
        let mut state = loop {
            match self.state.try_lock() {
                Ok(state) => break state,
                Err(TryLockError::Poisoned(state)) => break state.into_inner(),
                // By a thread that has come to its end in here, or by one that a fork has left behind: that is not looked at.
                Err(TryLockError::WouldBlock) if Instant::now() >= latest => return,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        state.ended = true;
        if forget {
            state.under_way.clear();
            state.unheard.clear();
            state.idle.clear();
        }
    }
}

/// Packets whose end this thread is telling.
struct Telling<'a>(&'a Followed, &'a [(Place, Under)]);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        self.1.iter().for_each(|(place, _)| {
            state.telling.remove(place);
        });
        drop(state);
        self.0.told.notify_all();
    }
}

#[cfg(test)]
mod tests;
