//! What LLVM is at work on, so that the process does not end under it.
//!
//! When a process ends, C++ destroys what LLVM's code works with, whether or not threads still run that code. So what
//! ends a process that has other threads calls [`finish`] first.

use std::{
    process,
    sync::atomic::{AtomicU64, Ordering::SeqCst},
    thread,
    time::Duration,
};

/// The process that the rest is about in the upper half: a fork has none of its parent's threads. Whether it ends in bit
/// [`ENDS`], and below it how many jobs are under way.
static STATE: AtomicU64 = AtomicU64::new(0);
const ENDS: u64 = 1 << 31;

/// A job of LLVM's, until it is dropped.
pub struct Job(());

impl Job {
    /// None once the process ends.
    pub fn start() -> Option<Job> {
        STATE
            .fetch_update(SeqCst, SeqCst, |state| Some(here(state)).filter(|state| state & ENDS == 0).map(|s| s + 1))
            .ok()?;
        Some(Job(()))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        STATE.fetch_sub(1, SeqCst);
    }
}

/// Waits for what LLVM is at work on, and has it refuse all further work: for the end of a process. What was still to be
/// compiled becomes an error.
pub fn finish() {
    let _ = STATE.fetch_update(SeqCst, SeqCst, |state| Some(here(state) | ENDS));
    while STATE.load(SeqCst) & (ENDS - 1) != 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// The state of this process, which is new if it was that of the process that forked it.
fn here(state: u64) -> u64 {
    let process = u64::from(process::id()) << 32;
    if state & !u64::from(u32::MAX) == process { state } else { process }
}
