//! Where the workers of a launch wait while all that they have under way waits for global wave sync.
//!
//! Waves of different workers wait for one another, so no worker can tell by itself that no wave will ever come. A worker
//! with nothing to do waits here until a wave of another one releases some; when all wait, the launch is stuck for good.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::gws::lock;

/// How often a worker looks whether the launch was stopped for another reason.
const LOOK: Duration = Duration::from_millis(20);
/// Looks that a worker which has not begun is waited for.
const PATIENCE: u32 = 500;

#[derive(Debug, Default)]
struct State {
    /// Workers that have begun and not ended.
    active: usize,
    /// Workers that may still begin.
    to_come: usize,
    /// Those of the active that wait here, since waves were last released.
    idle: usize,
    /// How often waves were released.
    releases: u64,
    /// No wave will ever go on.
    over: bool,
}

#[derive(Debug)]
pub struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

/// A worker that has begun; it has ended when this is dropped.
pub struct Presence<'a>(&'a Meeting);

impl Meeting {
    pub fn new(workers: usize) -> Meeting {
        let state = State { to_come: workers, ..State::default() };
        Meeting { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A worker begins.
    pub fn enter(&self) -> Presence<'_> {
        let mut state = lock(&self.state);
        state.to_come = state.to_come.saturating_sub(1);
        state.active += 1;
        Presence(self)
    }

    /// Waves were released that may be any worker's.
    pub fn wake(&self) {
        let mut state = lock(&self.state);
        state.releases += 1;
        // A worker that waits looks again, and is not idle until it has.
        state.idle = 0;
        self.changed.notify_all();
    }

    /// A worker whose waves all wait does so until something changes; false if nothing ever will. True says only that the
    /// worker has to look again: what was released may be another worker's. `released` tells whether one of its waves may go
    /// on, `complete` whether workers that have not begun yet would have nothing to begin.
    pub fn wait(&self, stop: &AtomicBool, released: impl Fn() -> bool, complete: bool) -> bool {
        let mut state = lock(&self.state);
        if released() {
            return true;
        }
        let seen = state.releases;
        state.idle += 1;
        for looks in 0u32.. {
            // A worker that does not come for so long has nowhere to run.
            let complete = complete || state.to_come == 0 || looks >= PATIENCE;
            if state.over || state.idle >= state.active && complete {
                state.over = true;
                self.changed.notify_all();
                return false;
            }
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            if state.releases != seen {
                return true;
            }
            // Who is stuck says so, even if another one has said so already.
            if !state.over && (stop.load(Relaxed) || released()) {
                state.idle = state.idle.saturating_sub(1);
                return true;
            }
        }
        true
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.active -= 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Workers that hand a ball around, each of them waiting while another has it, get to the end; and with no worker to throw
    /// it, all notice.
    #[test]
    fn the_last_to_wait_tells_the_others() {
        for workers in [1, 2, 5] {
            let (meeting, stop, at) = (Meeting::new(workers), AtomicBool::new(false), AtomicUsize::new(0));
            let stuck = std::thread::scope(|scope| {
                let work = |own: usize| {
                    let _presence = meeting.enter();
                    loop {
                        let turn = at.load(Relaxed);
                        if turn == 1000 {
                            // No worker throws it any more. The last wake may come to those that wait here already.
                            while meeting.wait(&stop, || false, true) {}
                            return true;
                        }
                        if turn % workers == own {
                            at.store(turn + 1, Relaxed);
                            if turn == 999 {
                                // By then the others wait for what does not come.
                                std::thread::sleep(3 * LOOK);
                            }
                            meeting.wake();
                        } else if !meeting.wait(&stop, || at.load(Relaxed) != turn, false) {
                            return false;
                        }
                    }
                };
                let all: Vec<_> = (0..workers).map(|own| scope.spawn(move || work(own))).collect();
                all.into_iter().map(|worker| worker.join()).filter(|ended| matches!(ended, Ok(true))).count()
            });
            assert_eq!((stuck, at.load(Relaxed)), (workers, 1000));
        }
    }

    #[test]
    fn who_has_not_begun_is_waited_for_and_who_has_ended_is_not() {
        let (meeting, stop) = (Meeting::new(2), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                let _presence = meeting.enter();
                meeting.wait(&stop, || false, false)
            });
            std::thread::sleep(3 * LOOK);
            assert!(!first.is_finished());
            drop(meeting.enter());
            assert!(!first.join().expect("ends"));
        });
    }
}
