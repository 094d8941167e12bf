//! Handlers of signals, which the runtime's own thread calls: which there are, and which have something to do.
//!
//! `waits.c` stands before the function that registers them, and before each handler. A process that ends waits for those
//! that are due: HIP's static destructors take apart what its handlers use, and end the runtime's thread only then.
//!
//! Without interrupts ROCr 7 may lose a handler: its thread takes back the mark that there are new ones by a store that
//! becomes visible after its look at the queue of new ones, and may overwrite the mark of a handler that came between.
//! That one is called only once another is registered. So one is, when a handler has been due for long and none runs.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a process that ends looks whether its handlers have run.
const LOOK: Duration = Duration::from_micros(50);

/// How often handlers are looked at, and for how long one is due when it is taken to be lost: longer than a thread waits for
/// its turn on a busy machine, as a rule.
const PACE: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_millis(500);

/// HSA's condition of a signal's value.
pub fn holds(value: i64, condition: c_int, wanted: i64) -> bool {
    match condition {
        0 => value == wanted,
        1 => value != wanted,
        2 => value < wanted,
        _ => value >= wanted,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Handler {
    signal: u64,
    condition: c_int,
    wanted: i64,
    runs: bool,
    /// A child after `fork` has no thread that would call it.
    process: u32,
}

impl Handler {
    /// It runs, or the runtime will call it without anything else happening. A signal that is gone has no value.
    fn is_due(&self, value: impl Fn(u64) -> Option<i64>) -> bool {
        self.process == std::process::id()
            && (self.runs || value(self.signal).is_some_and(|value| holds(value, self.condition, self.wanted)))
    }
}

/// The handlers by number, and how many each signal has.
struct All {
    last: u64,
    handlers: BTreeMap<u64, Handler>,
    signals: BTreeMap<u64, u32>,
    /// When they were looked at, and the one that was due first of those that are.
    looked: Option<Instant>,
    due: Option<(u64, Instant)>,
}

impl All {
    fn remove(&mut self, number: u64) {
        let Some(handler) = self.handlers.remove(&number) else { return };
        if let Some(count) = self.signals.get_mut(&handler.signal) {
            *count -= 1;
            if *count == 0 {
                self.signals.remove(&handler.signal);
            }
        }
    }
}

/// The handlers of a process.
pub struct Handlers(Mutex<All>);

/// This one's.
pub static HANDLERS: Handlers = Handlers::new();

impl Handlers {
    const fn new() -> Handlers {
        Handlers(Mutex::new(All {
            last: 0,
            handlers: BTreeMap::new(),
            signals: BTreeMap::new(),
            looked: None,
            due: None,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A signal gets a handler. Its number is never 0.
    pub fn add(&self, signal: u64, condition: c_int, wanted: i64) -> u64 {
        let mut all = self.lock();
        all.last += 1;
        let number = all.last;
        all.handlers.insert(number, Handler { signal, condition, wanted, runs: false, process: std::process::id() });
        *all.signals.entry(signal).or_default() += 1;
        number
    }

    /// The runtime calls it. Gives its signal.
    pub fn begins(&self, number: u64) -> Option<u64> {
        let mut all = self.lock();
        let handler = all.handlers.get_mut(&number)?;
        handler.runs = true;
        Some(handler.signal)
    }

    /// It has returned, or the runtime has refused it; the runtime calls it again or does not.
    pub fn ends(&self, number: u64, again: bool) {
        let mut all = self.lock();
        match all.handlers.get_mut(&number) {
            Some(handler) if again => handler.runs = false,
            _ => all.remove(number),
        }
    }

    /// A signal is destroyed: those of its handlers that do not run are never called.
    pub fn destroyed(&self, signal: u64) {
        let mut all = self.lock();
        if all.signals.contains_key(&signal) {
            let gone =
                |(&number, handler): (&u64, &Handler)| (handler.signal == signal && !handler.runs).then_some(number);
            let gone: Vec<u64> = all.handlers.iter().filter_map(gone).collect();
            gone.into_iter().for_each(|number| all.remove(number));
        }
    }

    pub fn has(&self, signal: u64) -> bool {
        self.lock().signals.contains_key(&signal)
    }

    /// Whether a handler has been due for long by the values that signals have, and none runs; says so once in a while.
    fn has_lost(&self, now: Instant, value: impl Fn(u64) -> Option<i64>) -> bool {
        let mut all = self.lock();
        if all.handlers.is_empty() || all.looked.is_some_and(|looked| now < looked + PACE) {
            return false;
        }
        all.looked = Some(now);
        let known = all.due.filter(|(number, _)| all.handlers.get(number).is_some_and(|one| one.is_due(&value)));
        let first = || all.handlers.iter().find(|(_, one)| one.is_due(&value)).map(|(&number, _)| (number, now));
        all.due = known.or_else(first).filter(|_| !all.handlers.values().any(|one| one.runs));
        let lost = all.due.is_some_and(|(_, since)| now >= since + LONG);
        if lost {
            all.due = None;
        }
        lost
    }

    /// Waits until no handler is due by the values that signals have, for this long at most.
    pub fn settle(&self, longest: Duration, value: impl Fn(u64) -> Option<i64>) {
        let end = Instant::now() + longest;
        while self.lock().handlers.values().any(|one| one.is_due(&value)) && Instant::now() < end {
            std::thread::sleep(LOOK);
        }
    }
}

/// What has the runtime look for new handlers, and what a signal holds.
struct Reminder {
    remind: Box<dyn Fn() + Send + Sync>,
    value: fn(u64) -> Option<i64>,
}

static REMINDER: OnceLock<Reminder> = OnceLock::new();

pub fn remind_by(remind: Box<dyn Fn() + Send + Sync>, value: fn(u64) -> Option<i64>) {
    REMINDER.get_or_init(|| Reminder { remind, value });
}

/// Reminds the runtime of a handler that it has lost.
pub fn look() {
    let Some(reminder) = REMINDER.get() else { return };
    if HANDLERS.has_lost(Instant::now(), reminder.value) {
        // On a thread of its own, since the runtime may have this one wait. Where there can be none, a later look has it.
        drop(std::thread::Builder::new().name("luthier-reminder".into()).spawn(|| (reminder.remind)()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::atomic::{AtomicI64, Ordering};

    const SIGNAL: u64 = 0x40;

    fn settles(handlers: &Handlers, value: &AtomicI64, longest: u64) -> bool {
        let (start, longest) = (Instant::now(), Duration::from_millis(longest));
        handlers.settle(longest, |signal| (signal == SIGNAL).then(|| value.load(Ordering::Acquire)));
        start.elapsed() < longest
    }

    #[test]
    fn a_process_waits_for_handlers_that_are_due_or_run_and_for_no_others() {
        let value = AtomicI64::new(1);
        let handlers = Handlers::new();
        let (never, once) = (handlers.add(SIGNAL, 0, 99), handlers.add(SIGNAL, 2, 1));
        // A signal that is gone.
        handlers.add(0x80, 0, 1);
        assert!(handlers.has(SIGNAL) && settles(&handlers, &value, 60_000));
        value.store(0, Ordering::Release);
        assert!(!settles(&handlers, &value, 5));
        handlers.begins(once);
        value.store(1, Ordering::Release);
        assert!(!settles(&handlers, &value, 5));
        // It is to be called again when the signal has its value again.
        handlers.ends(once, true);
        assert!(settles(&handlers, &value, 60_000));
        value.store(-3, Ordering::Release);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(3));
                handlers.begins(once);
                handlers.ends(once, false);
            });
            assert!(settles(&handlers, &value, 60_000));
        });
        handlers.ends(never, false);
        assert!(!handlers.has(SIGNAL));
    }

    #[test]
    fn handlers_of_a_signal_that_is_destroyed_are_forgotten_once_they_have_run() {
        let value = AtomicI64::new(0);
        let handlers = Handlers::new();
        let (waits, runs) = (handlers.add(SIGNAL, 0, 0), handlers.add(SIGNAL, 0, 0));
        handlers.begins(runs);
        handlers.destroyed(SIGNAL);
        handlers.begins(waits);
        assert!(handlers.has(SIGNAL) && !settles(&handlers, &value, 5));
        handlers.ends(runs, false);
        assert!(!handlers.has(SIGNAL) && settles(&handlers, &value, 60_000));
    }

    #[test]
    fn a_handler_is_lost_that_is_due_for_long_while_none_runs() {
        let (handlers, start) = (Handlers::new(), Instant::now());
        let lost = |value: i64, at: u64| handlers.has_lost(start + Duration::from_millis(at), |_| Some(value));
        assert!(!lost(0, 0));
        let one = handlers.add(SIGNAL, 2, 1);
        assert!(!lost(0, 20) && !lost(0, 510) && !lost(1, 521) && !lost(0, 532) && !lost(0, 1031));
        assert!(lost(0, 1042) && !lost(0, 1043) && !lost(0, 1060) && !lost(0, 1550) && lost(0, 1570));
        let two = handlers.add(SIGNAL, 2, 1);
        handlers.begins(two);
        assert!(!lost(0, 1590) && !lost(0, 2200));
        handlers.ends(two, false);
        assert!(!lost(0, 2220) && lost(0, 2730));
        handlers.ends(one, false);
        assert!(!lost(0, 2800) && !lost(0, 3500));
    }
}
