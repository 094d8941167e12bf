//! What `waits.c` calls, which stands before the runtime's functions for signals; none of it is hsakmt.h's.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use luthier_abi::{Signal, signal};

use super::newer::has_newer_structures;
use crate::handlers::{self, HANDLERS};
use crate::log::log;
use crate::order::Order;
use crate::polling;
use crate::state::{self, State};

/// The longest that a process which ends waits for handlers, or for work: it may wait for what never comes.
const LONGEST: Duration = Duration::from_secs(2);
/// How often it looks at work.
const LOOK: Duration = Duration::from_micros(200);

/// Sleeps until a signal has what is waited for, or for this many nanoseconds, and gives those that are left; does nothing below
/// runtimes that sleep.
///
/// # Safety
/// The signal is one of the runtime's, and lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierWait(signal: u64, condition: c_int, wanted: i64, nanoseconds: u64) -> u64 {
    if signal == 0 || !has_newer_structures() {
        return nanoseconds;
    }
    polling::begin();
    let at: *const Signal = std::ptr::with_exposed_provenance(signal as usize);
    // SAFETY: the caller's promise; values are accessed through atomics only.
    unsafe { polling::wait((&raw const (*at).value).cast::<AtomicI64>(), condition, wanted, nanoseconds) }
}

/// A signal gets a handler, whose number is returned; 0 below runtimes that sleep.
#[unsafe(no_mangle)]
pub extern "C" fn luthierHandled(signal: u64, condition: c_int, wanted: i64) -> u64 {
    if !has_newer_structures() {
        return 0;
    }
    polling::begin();
    let number = HANDLERS.add(signal, condition, wanted);
    polling::handled();
    number
}

/// The runtime calls this handler.
#[unsafe(no_mangle)]
pub extern "C" fn luthierHandlerBegins(number: u64) {
    polling::handles(true);
    if let (Some(signal), Some((_, order))) = (HANDLERS.begins(number), ordered()) {
        order.seen(signal);
    }
}

/// It has returned; the runtime calls it again or does not.
#[unsafe(no_mangle)]
pub extern "C" fn luthierHandlerEnds(number: u64, again: c_int) {
    HANDLERS.ends(number, again != 0);
    // Also of one that is not known any more, as its signal was destroyed when it was about to be called.
    polling::handles(false);
}

/// The runtime has refused it.
#[unsafe(no_mangle)]
pub extern "C" fn luthierHandlerRefused(number: u64) {
    HANDLERS.ends(number, false);
}

/// What has the runtime look for new handlers, which is called when it has lost one.
#[unsafe(no_mangle)]
pub extern "C" fn luthierReminder(remind: extern "C" fn()) {
    let said = move || {
        if let Ok(state) = state::get() {
            log!(state.config, "the runtime is reminded of a handler");
        }
        remind();
    };
    handlers::remind_by(Box::new(said), |signal| state::get().ok()?.signal(signal));
}

/// The process ends: waits for the handlers that are due, and for work with which the host may be in a race.
#[unsafe(no_mangle)]
pub extern "C" fn luthierSettle() {
    let Ok(state) = state::get() else { return };
    if let Some((_, order)) = ordered() {
        let start = Instant::now();
        while order.is_undecided() && start.elapsed() < LONGEST {
            std::thread::sleep(LOOK);
        }
    }
    HANDLERS.settle(LONGEST, |signal| state.signal(signal));
}

/// The host is about to give a signal this value: of a doorbell, the index of the last packet that is there.
///
/// # Safety
/// The signal is one of the runtime's, and lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn luthierChanges(signal: u64, value: i64) {
    let Some((state, order)) = ordered() else { return };
    let at: *const Signal = std::ptr::with_exposed_provenance(signal as usize);
    // SAFETY: the caller's promise. A doorbell's has an address where others have their value, which never changes.
    match unsafe { (&raw const (*at).kind).read_volatile() } {
        signal::DOORBELL | signal::OLD_DOORBELL => {
            // SAFETY: as above.
            let doorbell = unsafe { &(*at).value }.load(Ordering::Relaxed);
            state.queues.rings(doorbell as u64, value as u64);
            take(state);
        }
        _ => order.changes(signal),
    }
}

/// The program has made a signal.
#[unsafe(no_mangle)]
pub extern "C" fn luthierMade(signal: u64) {
    if let Some((_, order)) = ordered() {
        order.made(signal);
    }
}

/// The program has the runtime wait for a signal before it copies.
#[unsafe(no_mangle)]
pub extern "C" fn luthierAwaits(signal: u64) {
    if let Some((_, order)) = ordered() {
        order.awaits(signal);
    }
}

/// The program asks for a copy to there, which ends with a signal.
#[unsafe(no_mangle)]
pub extern "C" fn luthierCopies(signal: u64, to: u64, size: u64) {
    if let Some((state, order)) = ordered() {
        order.copies(signal, to..to.saturating_add(size));
        take(state);
    }
}

/// The host is about to submit work: what it touches from now on is seen.
fn take(state: &State) {
    if let Some(touches) = &state.touches {
        touches.take();
    }
}

/// The program has looked at a signal.
#[unsafe(no_mangle)]
pub extern "C" fn luthierSeen(signal: u64) {
    if let Some((_, order)) = ordered() {
        order.seen(signal);
    }
}

/// What orders launches, if that is looked for.
fn ordered() -> Option<(&'static State, &'static Order)> {
    let state = state::get().ok()?;
    Some((state, state.order.as_ref().as_ref()?))
}

/// The host has changed a signal.
#[unsafe(no_mangle)]
pub extern "C" fn luthierChanged(signal: u64) {
    polling::changed(signal);
}

#[unsafe(no_mangle)]
pub extern "C" fn luthierDestroyed(signal: u64) {
    HANDLERS.destroyed(signal);
    if let Some((_, order)) = ordered() {
        order.destroyed(signal);
    }
}

/// This thread is one of the runtime's own, from its beginning to its end.
#[unsafe(no_mangle)]
pub extern "C" fn luthierPoller(begins: c_int) {
    match begins {
        0 => polling::poller_ends(),
        _ if has_newer_structures() => polling::poller_begins(),
        _ => {}
    }
}
