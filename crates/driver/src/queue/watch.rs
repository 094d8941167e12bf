//! How queues wait without a doorbell that interrupts: programs ring by a plain store, so a thread has to look.
//!
//! A queue's thread looks itself for a while after its last packet, giving way to others. Then it sleeps, and one thread
//! for all queues looks every now and then, more seldom the longer nothing happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::Queue;
use crate::{handlers, polling};

/// How long a queue looks before it sleeps.
const AWAKE: Duration = Duration::from_micros(150);
/// How often the thread looks, by how long nothing has happened.
const PACES: [(Duration, Duration); 3] = [
    (Duration::from_millis(20), Duration::from_micros(50)),
    (Duration::from_secs(1), Duration::from_micros(500)),
    (Duration::MAX, Duration::from_millis(2)),
];

fn pace(quiet: Duration) -> Duration {
    PACES.into_iter().find(|(up_to, _)| quiet < *up_to).map_or(AWAKE, |(_, pace)| pace)
}

/// How a queue is found and woken.
#[derive(Default)]
pub struct Watch {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

impl Watch {
    pub fn set_thread(&self, thread: Thread) {
        self.thread.set(thread).unwrap_or(());
    }

    pub fn wake(&self) {
        if self.asleep.swap(false, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

/// How long a queue has had nothing to do.
#[derive(Default)]
pub struct Patience(Option<Instant>);

impl Patience {
    /// How long, unless that is so short that looking again costs less than sleeping.
    fn is_over(&mut self) -> Option<Duration> {
        let quiet = self.0.get_or_insert_with(Instant::now).elapsed();
        if quiet >= AWAKE {
            return Some(quiet);
        }
        (0..32).for_each(|_| std::hint::spin_loop());
        std::thread::yield_now();
        None
    }

    /// Waits a little for packets, at first very little.
    pub fn for_packets(&mut self, watch: &Watch, has_work: impl Fn() -> bool) {
        if self.is_over().is_none() {
            return;
        }
        watch.asleep.store(true, Ordering::SeqCst);
        // Who looks next sees that this queue sleeps.
        if !has_work() {
            std::thread::park();
        }
        watch.asleep.store(false, Ordering::Release);
    }

    /// Waits a little for a signal, at first very little.
    pub fn for_signals(&mut self) {
        if let Some(quiet) = self.is_over() {
            std::thread::park_timeout(pace(quiet));
        }
    }
}

/// All queues, for the thread that looks.
static QUEUES: Mutex<Vec<Weak<Queue>>> = Mutex::new(Vec::new());

/// A new queue is to be looked at.
pub fn add(queue: &Arc<Queue>) {
    static LOOKING: Once = Once::new();
    let mut queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    queues.retain(|queue| queue.strong_count() != 0);
    queues.push(Arc::downgrade(queue));
    drop(queues);
    LOOKING.call_once(|| {
        let thread = quietly(|| std::thread::Builder::new().name("luthier-doorbells".into()).spawn(look_for_ever));
        // Without it queues still wake whenever a thread waits for an event.
        drop(thread);
    });
}

fn look_for_ever() {
    let mut last = Instant::now();
    loop {
        if look() {
            last = Instant::now();
        }
        polling::look();
        handlers::look();
        std::thread::sleep(pace(last.elapsed()));
    }
}

/// Wakes the queues that sleep with something to do; whether there is any.
pub fn look() -> bool {
    let queues = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut woken = false;
    for queue in queues.iter().filter_map(Weak::upgrade) {
        if queue.watch.asleep.load(Ordering::SeqCst) && queue.has_work() {
            queue.watch.wake();
            woken = true;
        }
    }
    woken
}

/// Runs something that makes threads, with all signals blocked: signals are for the program's own threads.
pub fn quietly<T>(make: impl FnOnce() -> T) -> T {
    // SAFETY: fills in a set of signals and changes this thread's mask, which is put back.
    unsafe {
        let (mut all, mut old) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        let made = make();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, std::ptr::null_mut());
        made
    }
}
