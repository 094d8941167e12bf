//! For runtimes that wait by polling, as ROCm 7's does below `libdtif.so`: its threads sleep instead, so that queues have the
//! processor.
//!
//! A thread of the program's that waits for a signal sleeps here first, until the signal has what it waits for; then the
//! runtime finds at once what it looks for (`waits.c` stands before the runtime's functions). The runtime's own thread, which
//! looks at the signals that have handlers, calls nothing while it polls. When it has used the processor for a while without
//! a change of any of these, it is interrupted by a signal, and sleeps in the signal's handler until one of them changes, or
//! for a moment. It is left alone outside of the runtime's code, and not interrupted while it runs a handler of the program's,
//! whose system calls would fail (EINTR).

mod pollers;

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};

use crate::clock;
use crate::handlers::{self, HANDLERS};

pub use pollers::{handles, look, poller_begins, poller_ends};

/// How long a wait looks before it sleeps.
const AWAKE: u64 = 5_000;
/// The longest sleeps of a wait, by how long it has waited: signals that the host changes are seen after one at the latest.
const NAPS: [(u64, u64); 3] = [(1_000_000, 50_000), (50_000_000, 500_000), (u64::MAX, 2_000_000)];
const SLEEP: c_int = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: c_int = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Counts changes that a thread may sleep for.
struct Changes {
    count: AtomicU32,
    sleeping: AtomicU32,
}

impl Changes {
    const fn new() -> Changes {
        Changes { count: AtomicU32::new(0), sleeping: AtomicU32::new(0) }
    }

    fn notify(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.sleeping.load(Ordering::SeqCst) != 0 {
            let all = c_int::MAX;
            // SAFETY: wakes those that sleep on a word of ours.
            unsafe { libc::syscall(libc::SYS_futex, self.count.as_ptr(), WAKE, all) };
        }
    }

    /// Sleeps until there is a change after `seen`, or for this many nanoseconds.
    fn sleep(&self, seen: u32, nanoseconds: u64) {
        let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds as i64 };
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        // SAFETY: sleeps on a word of ours, unless it has changed.
        unsafe {
            libc::syscall(libc::SYS_futex, self.count.as_ptr(), SLEEP, seen, &raw const time);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Of any signal, and of those that have handlers.
static ANY: Changes = Changes::new();
static HANDLED: Changes = Changes::new();

/// A signal has changed.
pub fn changed(handle: u64) {
    if is_used() {
        ANY.notify();
        if HANDLERS.has(handle) {
            HANDLED.notify();
        }
    }
}

/// A signal has changed that the runtime itself handles.
pub fn changed_for_runtime() {
    if is_used() {
        ANY.notify();
        HANDLED.notify();
    }
}

/// A signal has one handler more.
pub fn handled() {
    HANDLED.notify();
}

/// The functions that wait are ours.
static USED: AtomicBool = AtomicBool::new(false);

pub fn is_used() -> bool {
    USED.load(Ordering::Relaxed)
}

/// From now on waits come here.
pub fn begin() {
    USED.store(true, Ordering::Relaxed);
}

/// A wait whose time was over.
#[derive(Clone, Copy)]
struct Expired {
    value: *const AtomicI64,
    /// When it began, or those before it for the same value, and when it ended.
    began: u64,
    ended: u64,
}

thread_local! {
    static EXPIRED: Cell<Option<Expired>> = const { Cell::new(None) };
}
/// What may lie between two waits that are taken for one.
const BREAK: u64 = 100_000;

/// Sleeps until a value fulfils a condition of HSA's, or for this many nanoseconds; gives those that are left. A thread that
/// waits again and again sleeps as one that waits for long: HIP 7 waits for 4 ms at a time.
///
/// # Safety
/// The value stays where it is.
pub unsafe fn wait(value: *const AtomicI64, condition: c_int, wanted: i64, nanoseconds: u64) -> u64 {
    // SAFETY: the caller's promise.
    let now = unsafe { &*value };
    let holds = || handlers::holds(now.load(Ordering::Acquire), condition, wanted);
    let start = clock::nanoseconds();
    let before = EXPIRED.take().filter(|it| it.value == value && start.saturating_sub(it.ended) < BREAK);
    let began = before.map_or(start, |it| it.began);
    loop {
        let seen = ANY.count.load(Ordering::SeqCst);
        let time = clock::nanoseconds();
        let left = nanoseconds.saturating_sub(time.saturating_sub(start));
        if holds() {
            return left;
        }
        if left == 0 {
            EXPIRED.set(Some(Expired { value, began, ended: time }));
            return 0;
        }
        let waited = time.saturating_sub(began);
        if waited < AWAKE {
            std::hint::spin_loop();
            continue;
        }
        let nap = NAPS.into_iter().find(|(up_to, _)| waited < *up_to).map_or(AWAKE, |(_, nap)| nap);
        ANY.sleep(seen, nap.min(left));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_ends_when_its_signal_changes_and_when_its_time_is_over() {
        let value = AtomicI64::new(1);
        let start = std::time::Instant::now();
        // SAFETY: the value outlives the wait.
        unsafe { wait(&raw const value, 2, 1, 3_000_000) };
        assert!(start.elapsed() >= Duration::from_millis(3));
        begin();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(5));
                value.store(0, Ordering::Release);
                changed(0);
            });
            // SAFETY: as above.
            unsafe { wait(&raw const value, 2, 1, u64::MAX) };
        });
        assert_eq!(value.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn only_signals_with_handlers_wake_the_runtimes_thread() {
        begin();
        let number = HANDLERS.add(0x40, 0, 99);
        let before = HANDLED.count.load(Ordering::SeqCst);
        changed(0x80);
        assert_eq!(HANDLED.count.load(Ordering::SeqCst), before);
        changed(0x40);
        assert_ne!(HANDLED.count.load(Ordering::SeqCst), before);
        HANDLERS.ends(number, false);
    }
}
