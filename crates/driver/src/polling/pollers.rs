//! The runtime's own threads that poll: found, interrupted, and asleep in the signal's handler.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use super::HANDLED;
use crate::runtime;

/// The longest sleep of the runtime's thread.
const PAUSE: u64 = 50_000_000;
/// Processor time after which that thread is taken to poll.
const POLLS: u64 = 20_000;
/// After a sleep in which nothing has changed it is interrupted again so soon.
const SOON: i64 = 200_000;
/// How often at most.
const TRIES: u32 = 8;
const NO_TIMER: c_int = -1;
/// A thread that is yet to say its number.
const CLAIMED: i64 = -1;
/// A thread of the runtime's own that polls.
struct Poller {
    thread: AtomicI64,
    clock: AtomicI64,
    /// The processor time that it had at the last look, or when it was let go last.
    used: AtomicU64,
    /// It sleeps, and is not to be interrupted: that would wait until it is let go, before it has done anything.
    pauses: AtomicBool,
    /// It runs a handler of the program's.
    handles: AtomicBool,
    /// What interrupts it soon after a sleep, or [`NO_TIMER`]. It is the kernel's number: before glibc 2.34, C's functions are
    /// in a library of their own.
    timer: AtomicI32,
    /// The processor time that it had when it was let go last.
    let_go: AtomicU64,
    /// How often it may still be interrupted soon since then.
    tries: AtomicU32,
}

impl Poller {
    /// Takes it for this thread, if it is no other's; the runtime starts two threads at a time.
    fn claim(&self) -> bool {
        self.thread.compare_exchange(0, CLAIMED, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Has the thread interrupted soon, a few times for each sleep: it may be outside of the runtime's code, or have waited for
    /// the processor.
    fn interrupt_soon(&self) {
        let left = self.tries.load(Ordering::Relaxed);
        if left == 0 {
            return;
        }
        self.tries.store(left - 1, Ordering::Relaxed);
        let timer = self.timer.load(Ordering::Relaxed);
        let once = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec { tv_sec: 0, tv_nsec: SOON },
        };
        if timer != NO_TIMER {
            // SAFETY: a timer of this thread's.
            unsafe { libc::syscall(libc::SYS_timer_settime, timer, 0, &raw const once, std::ptr::null::<c_void>()) };
        }
    }
}

/// The processor time of a thread, by its clock, in nanoseconds.
fn processor_time(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills in a structure of ours.
    let done = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as u64)
}

/// Such threads; there are one or two.
static POLLERS: [Poller; 4] = [const {
    Poller {
        thread: AtomicI64::new(0),
        clock: AtomicI64::new(0),
        used: AtomicU64::new(0),
        pauses: AtomicBool::new(false),
        handles: AtomicBool::new(false),
        timer: AtomicI32::new(NO_TIMER),
        let_go: AtomicU64::new(0),
        tries: AtomicU32::new(0),
    }
}; 4];
/// Where the runtime's code is.
static CODE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

thread_local! {
    /// Which of the pollers this thread is, and the changes that it had seen when it was let go.
    static OWN: Cell<Option<&'static Poller>> = const { Cell::new(None) };
    static SEEN: Cell<u32> = const { Cell::new(0) };
}

fn interruption() -> c_int {
    libc::SIGRTMAX() - 2
}

/// This thread is one of the runtime's that polls.
pub fn poller_begins() {
    let Some((start, end)) = runtime::code() else { return };
    // SAFETY: fills in structures of ours; the handler is a function of the type that it is said to be.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(interruption(), std::ptr::null(), &raw mut old);
        if old.sa_sigaction != libc::SIG_DFL && old.sa_sigaction != pause as *const () as usize {
            return; // the program's own
        }
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = pause as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(interruption(), &raw const new, std::ptr::null_mut());
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, interruption());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        let mut clock = 0;
        if libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) != 0 {
            return;
        }
        CODE[0].store(start, Ordering::Relaxed);
        CODE[1].store(end, Ordering::Relaxed);
        let Some(free) = POLLERS.iter().find(|one| one.claim()) else { return };
        free.clock.store(clock.into(), Ordering::Relaxed);
        free.used.store(0, Ordering::Relaxed);
        free.handles.store(false, Ordering::Relaxed);
        free.let_go.store(0, Ordering::Relaxed);
        let thread = libc::syscall(libc::SYS_gettid);
        free.timer.store(timer_of(thread), Ordering::Relaxed);
        OWN.set(Some(free));
        free.thread.store(thread, Ordering::Release);
    }
}

/// A timer that interrupts a thread, or [`NO_TIMER`] if there is none to be had.
fn timer_of(thread: i64) -> c_int {
    // SAFETY: fills in structures of ours.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = interruption();
        event.sigev_notify_thread_id = thread as c_int;
        let mut timer: c_int = NO_TIMER;
        let made = libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) == 0;
        if made { timer } else { NO_TIMER }
    }
}

/// If this thread is one of the runtime's that poll: it runs a handler of the program's from now on, or has run it.
pub fn handles(on: bool) {
    let Some(own) = OWN.get() else { return };
    own.handles.store(on, Ordering::Release);
    // For what is under way already.
    // SAFETY: fills in a structure of ours, and changes this thread's mask.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, interruption());
        let how = if on { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// It ends.
pub fn poller_ends() {
    // SAFETY: asks for a number.
    let own = unsafe { libc::syscall(libc::SYS_gettid) };
    for one in &POLLERS {
        if one.thread.load(Ordering::Relaxed) == own {
            let timer = one.timer.swap(NO_TIMER, Ordering::Relaxed);
            if timer != NO_TIMER {
                // SAFETY: it is this thread's, and stands nowhere any more.
                unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
            }
            one.thread.store(0, Ordering::Release);
        }
    }
}

/// Interrupts the runtime's threads that have polled since this was called before.
pub fn look() {
    for one in &POLLERS {
        let thread = one.thread.load(Ordering::Acquire);
        if thread <= 0 || one.pauses.load(Ordering::Acquire) || one.handles.load(Ordering::Acquire) {
            continue;
        }
        let Some(now) = processor_time(one.clock.load(Ordering::Relaxed) as libc::clockid_t) else { continue };
        if now.saturating_sub(one.used.swap(now, Ordering::Relaxed)) >= POLLS {
            // SAFETY: the thread has the handler; of one that has ended this says so.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, interruption()) };
        }
    }
}

/// The runtime's thread, while it polls. Whatever has changed since it was let go it may not have seen yet.
unsafe extern "C" fn pause(_number: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel gives to a handler.
    let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] } as u64;
    // SAFETY: this thread's own.
    let errno = unsafe { *libc::__errno_location() };
    pause_at(at);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// This thread sleeps, if what it was at is in the runtime's code.
fn pause_at(at: u64) {
    let (seen, own) = (SEEN.get(), OWN.get());
    let time = || processor_time(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0);
    let is_inside = (CODE[0].load(Ordering::Relaxed)..CODE[1].load(Ordering::Relaxed)).contains(&at);
    // Where others have had the processor meanwhile, it has not looked at everything since its last sleep.
    let has_looked = own.is_none_or(|own| time().saturating_sub(own.let_go.load(Ordering::Relaxed)) >= POLLS);
    if !is_inside || !has_looked {
        own.inspect(|own| own.interrupt_soon());
        return;
    }
    if HANDLED.count.load(Ordering::SeqCst) == seen {
        own.inspect(|own| own.pauses.store(true, Ordering::Release));
        HANDLED.sleep(seen, PAUSE);
    }
    let now_seen = HANDLED.count.load(Ordering::SeqCst);
    SEEN.set(now_seen);
    if let Some(own) = own {
        // To sleep and to wake takes processor time, too.
        let now = time();
        own.used.store(now, Ordering::Relaxed);
        own.let_go.store(now, Ordering::Relaxed);
        own.pauses.store(false, Ordering::Release);
        own.tries.store(TRIES, Ordering::Relaxed);
        // What follows a change may need it awake.
        if now_seen == seen {
            own.interrupt_soon();
        }
    }
}
