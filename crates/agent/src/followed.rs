//! The launches that are followed to their end, and the signals that this takes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::hsa::Handle;

/// A launch under way.
pub struct Under {
    pub slot: usize,
    pub number: u64,
    pub agent: Handle,
    pub ours: Handle,
    /// The application's, or 0.
    pub theirs: Handle,
    /// It was over when our thread looked last.
    pub late: bool,
}

#[derive(Default)]
pub struct Followed {
    state: Mutex<State>,
    come: Condvar,
    /// Threads that are about to say that a launch is over.
    telling: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// By number.
    under_way: HashMap<u64, Under>,
    /// Launches whose ends are known, but not from the runtime, which has yet to call the handler; with the signal once
    /// that is not needed any more.
    unheard: HashMap<u64, Option<Handle>>,
    /// Signals to be used again.
    idle: Vec<Handle>,
    /// There is nothing to look at any more: the process ends, or the runtime does.
    ended: bool,
    /// Our thread waits for a launch.
    asleep: bool,
}

/// Milliseconds that others are waited for at the end. One that is held up does not keep the process.
const PATIENCE: u32 = 1000;

impl Followed {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signal that was used before.
    pub fn signal(&self) -> Option<Handle> {
        self.lock().idle.pop()
    }

    pub fn add(&self, under: Under) {
        let mut state = self.lock();
        state.under_way.insert(under.number, under);
        if state.asleep {
            self.come.notify_one();
        }
    }

    /// It is not followed after all.
    pub fn remove(&self, number: u64) {
        let mut state = self.lock();
        let signal = state.under_way.remove(&number).map(|under| under.ours);
        state.idle.extend(signal);
    }

    /// Has `tell` say that a launch is over, as the runtime has just said; if that was not told yet.
    pub fn heard(&self, number: u64, tell: impl FnOnce(&Under)) {
        let mut state = self.lock();
        let Some(under) = state.under_way.remove(&number) else {
            let signal = state.unheard.remove(&number).flatten();
            state.idle.extend(signal);
            return;
        };
        let telling = self.telling();
        drop(state);
        tell(&under);
        self.lock().idle.push(under.ours);
        drop(telling);
    }

    /// Has `tell` say that those are over which `is_over` says are.
    pub fn found(&self, is_over: impl Fn(&mut Under) -> bool, tell: impl Fn(&Under)) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        let over: Vec<Under> = state.under_way.extract_if(|_, under| is_over(under)).map(|(_, under)| under).collect();
        state.unheard.extend(over.iter().map(|under| (under.number, None)));
        let telling = self.telling();
        drop(state);
        for under in over {
            tell(&under);
            let mut state = self.lock();
            match state.unheard.get_mut(&under.number) {
                Some(signal) => *signal = Some(under.ours),
                None => state.idle.push(under.ours),
            }
        }
        drop(telling);
    }

    /// Waits until there is a launch under way.
    pub fn wait(&self) {
        let mut state = self.lock();
        state.asleep = true;
        let nothing = |state: &mut State| state.ended || state.under_way.is_empty();
        self.come.wait_while(state, nothing).unwrap_or_else(PoisonError::into_inner).asleep = false;
    }

    pub fn is_empty(&self) -> bool {
        self.lock().under_way.is_empty()
    }

    fn telling(&self) -> Telling<'_> {
        self.telling.fetch_add(1, Ordering::AcqRel);
        Telling(&self.telling)
    }

    /// The launch is over, and that has been said.
    pub fn is_told(&self, number: u64) -> bool {
        let is_over = !self.lock().under_way.contains_key(&number);
        is_over && self.telling.load(Ordering::Acquire) == 0
    }

    /// Gives a signal back that no packet has any more.
    pub fn give_back(&self, signal: Handle) {
        self.lock().idle.push(signal);
    }

    /// Waits for the threads that are about to say that a launch is over.
    pub fn finish(&self) {
        patiently(|| (self.telling.load(Ordering::Acquire) == 0).then_some(()));
    }

    /// There is a runtime.
    pub fn begin(&self) {
        self.lock().ended = false;
    }

    /// From now on no signal is looked at; with `forget`, they do not exist any more.
    pub fn end(&self, forget: bool) {
        let mut state = patiently(|| match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(state)) => Some(state.into_inner()),
            // By a thread that has come to its end in here, or by one that a fork has left behind: that is not looked at.
            Err(TryLockError::WouldBlock) => None,
        });
        if let Some(state) = &mut state {
            state.ended = true;
            if forget {
                state.under_way.clear();
                state.unheard.clear();
                state.idle.clear();
            }
        }
    }
}

fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    (0..PATIENCE).find_map(|n| {
        if n > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        attempt()
    })
}

struct Telling<'a>(&'a AtomicUsize);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(number: u64) -> Followed {
        let followed = Followed::default();
        let [agent, ours, theirs] = [1, 100 + number, 0].map(Handle);
        followed.add(Under { slot: 0, number, agent, ours, theirs, late: false });
        followed
    }

    fn no(_: &Under) {
        panic!("it is told twice");
    }

    #[test]
    fn a_launch_that_the_runtime_speaks_of_is_told_once() {
        let (followed, told) = (followed(7), AtomicUsize::new(0));
        followed.heard(7, |under| {
            assert_eq!((under.number, followed.signal()), (7, None));
            told.fetch_add(1, Ordering::Relaxed);
        });
        followed.heard(7, no);
        followed.found(|_| true, no);
        assert_eq!(told.into_inner(), 1);
        assert_eq!([followed.signal(), followed.signal()], [Some(Handle(107)), None]);
    }

    #[test]
    fn a_signal_is_not_used_again_before_the_runtime_has_spoken_of_it() {
        let (followed, told) = (followed(7), AtomicUsize::new(0));
        followed.found(|_| false, no);
        let tell = |_: &Under| {
            told.fetch_add(1, Ordering::Relaxed);
        };
        followed.found(|_| true, tell);
        assert_eq!((told.into_inner(), followed.is_empty(), followed.signal()), (1, true, None));
        followed.heard(7, no);
        assert_eq!([followed.signal(), followed.signal()], [Some(Handle(107)), None]);
    }

    #[test]
    fn a_signal_of_which_the_runtime_speaks_too_early_is_used_once_the_end_is_told() {
        let followed = followed(7);
        let tell = |_: &Under| {
            followed.heard(7, no);
            assert_eq!(followed.signal(), None);
        };
        followed.found(|_| true, tell);
        assert_eq!([followed.signal(), followed.signal()], [Some(Handle(107)), None]);
    }

    #[test]
    fn nothing_is_looked_at_after_the_end() {
        let followed = followed(7);
        followed.end(false);
        followed.found(|_| panic!("a signal is looked at"), no);
        followed.begin();
        followed.found(|under| under.number == 7, |_| {});
        followed.end(true);
        assert_eq!((followed.is_empty(), followed.signal()), (true, None));
    }
}
