//! A launch that listens: the caller who waits for it is asked now and then whether it is to go on.

use std::cell::{Cell, OnceCell};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::watchdog::{Done, Progress};

/// How often it is asked.
const EVERY: Duration = Duration::from_millis(20);

/// Asks, on the thread that launches; a "no" stops the launch.
pub struct Attention<'a> {
    go_on: &'a dyn Fn(Progress) -> bool,
    /// How far the launch is, once it has begun, and its workgroups.
    done: OnceCell<(Arc<Done>, u64)>,
    asked: Cell<Instant>,
    refused: Cell<bool>,
}

impl<'a> Attention<'a> {
    pub fn new(go_on: &'a dyn Fn(Progress) -> bool) -> Attention<'a> {
        let (done, asked, refused) = (OnceCell::new(), Cell::new(Instant::now()), Cell::new(false));
        Attention { go_on, done, asked, refused }
    }

    /// The launch begins, of this many workgroups.
    pub fn begin(&self, done: &Arc<Done>, workgroups: u64) {
        self.done.get_or_init(|| (Arc::clone(done), workgroups));
    }

    /// The caller said no.
    pub fn refused(&self) -> bool {
        self.refused.get()
    }

    /// Asks if it is time to.
    pub fn ask(&self, stop: &AtomicBool) {
        if self.asked.get().elapsed() >= EVERY {
            self.ask_now(stop);
        }
    }

    fn ask_now(&self, stop: &AtomicBool) {
        self.asked.set(Instant::now());
        let progress = self.done.get().map_or_else(Progress::default, |(done, of)| done.progress(*of));
        if !self.refused.get() && !(self.go_on)(progress) {
            self.refused.set(true);
            stop.store(true, Relaxed);
        }
    }

    /// Asks until `latch` is open.
    pub fn wait(&self, latch: &Latch, stop: &AtomicBool) {
        let mut left = latch.left.lock().unwrap_or_else(PoisonError::into_inner);
        while *left > 0 {
            left = latch.changed.wait_timeout(left, EVERY).unwrap_or_else(PoisonError::into_inner).0;
            if *left > 0 {
                drop(left);
                self.ask_now(stop);
                left = latch.left.lock().unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Sleeps a little, then asks; false for no.
    pub fn nap(&self, stop: &AtomicBool) -> bool {
        std::thread::sleep(Duration::from_millis(1));
        self.ask(stop);
        !self.refused.get()
    }
}

/// Opens when all workers are home.
pub struct Latch {
    left: Mutex<usize>,
    changed: Condvar,
}

/// A worker; it is home when this is dropped, by a panic too.
pub struct Away<'a>(&'a Latch);

impl Latch {
    pub fn new(workers: usize) -> Latch {
        Latch { left: Mutex::new(workers), changed: Condvar::new() }
    }
    pub fn worker(&self) -> Away<'_> {
        Away(self)
    }
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        *self.0.left.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}
