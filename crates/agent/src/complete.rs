//! When launches are over: a signal of ours stands in the packet, and what waits for the application's is told by us.
//!
//! A packet without a signal, if no tool wants to hear of its end, has its kernel's instead, which only counts. What the
//! application waits for instead of a launch's own signal, such as a barrier behind it, is told by us, too, and later.
//!
//! The runtime says that a signal has changed by calling a handler. It has one thread for all handlers, which one of the
//! application's may hold up, to wait for a launch perhaps. So a thread of ours looks, too, and says what the runtime has not
//! said in time.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::calls::inside;
use crate::followed::{PATIENCE, Place, Under};
use crate::hsa::{self, Handle, Packet};
use crate::runtime::Times;
use crate::session::{COUNTERS, Session, current};
use crate::thread;
use crate::wrap::Source;

/// Where `amd_signal_t` has the times at which its kernel has begun and ended.
const TIMES: usize = 32;
/// How often our thread looks. A launch that is over at two looks in a row is one whose end the runtime has not told in time.
const LOOK: Duration = Duration::from_millis(2);
/// How often it looks in vain before it sleeps until there is a launch.
const IN_VAIN: u32 = 50;

/// Has the controller told when a launch is over; none if that cannot be had.
pub fn follow(
    session: &'static Session,
    source: Source,
    packet: &mut Packet,
    slot: usize,
    number: u64,
) -> Option<Place> {
    let theirs = Handle(packet.completion_signal());
    let place = put(session, source, packet, Some((slot, number)), theirs)?;
    static THREAD: Once = Once::new();
    THREAD.call_once(|| thread::start(move || look(session)));
    Some(place)
}

/// Has the application hear of a packet's end only when those in front of it are told, if some are not yet.
pub fn behind(session: &'static Session, source: Source, packet: &mut Packet) {
    let theirs = Handle(packet.completion_signal());
    if packet.has_signal() && theirs.0 != 0 && session.followed.has_of(source.index) {
        put(session, source, packet, None, theirs);
    }
}

/// Puts a signal of ours into a packet, in the place of the application's.
fn put(
    session: &'static Session,
    source: Source,
    packet: &mut Packet,
    launch: Option<(usize, u64)>,
    theirs: Handle,
) -> Option<Place> {
    let (runtime, followed) = (session.runtime(), &session.followed);
    let ours = followed.signal().or_else(|| runtime.signal())?;
    // SAFETY: a signal of ours, which stands in no packet.
    unsafe { (runtime.signal_store)(ours, 1) };
    let place = followed.add(source.index, Under { launch, agent: source.agent, ours, theirs, late: false });
    // SAFETY: a handler that takes the packet's place.
    let status = unsafe { (runtime.signal_handler)(ours, hsa::LESS, 1, over, Handle(place.word()).to_pointer()) };
    if status != hsa::SUCCESS {
        followed.remove(place);
        return None;
    }
    packet.set_completion_signal(ours.0);
    Some(place)
}

/// The runtime's word that a packet is over.
unsafe extern "C" fn over(_value: i64, data: *mut c_void) -> bool {
    // A child does not get here: its runtime has no threads.
    let Some(session) = current() else { return false };
    let place = Place::of_word(Handle::of_pointer(data).0);
    guarded(session, || {
        session.followed.heard(place, |under| is_over(session, under), |under| finished(session, under))
    });
    false
}

/// Looks for launches that are over, for ever.
fn look(session: &Session) {
    let mut in_vain = 0;
    loop {
        std::thread::sleep(LOOK);
        guarded(session, || {
            session.followed.found(
                |under| is_over(session, under) && std::mem::replace(&mut under.late, true),
                |under| is_over(session, under),
                None,
                |under| finished(session, under),
            )
        });
        in_vain = if session.followed.is_empty() { in_vain + 1 } else { 0 };
        if in_vain == IN_VAIN {
            session.followed.wait();
            in_vain = 0;
        }
    }
}

/// Sees to the launches that are over and whose end the runtime has not told yet: it, or the process, ends.
pub fn settle(session: &Session) {
    let is_over = |under: &Under| is_over(session, under);
    session.followed.found(|under| is_over(under), is_over, Some(PATIENCE), |under| finished(session, under));
    // Another thread may be about to say so of others.
    session.followed.finish();
}

fn is_over(session: &Session, under: &Under) -> bool {
    // SAFETY: signals that stand in packets are not destroyed while there is a runtime.
    unsafe { (session.runtime().signal_load)(under.ours) < 1 }
}

/// A mistake of ours must not reach the runtime, nor end our thread.
fn guarded(session: &Session, run: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(|| inside(run))).is_err() {
        session.retire();
    }
}

fn finished(session: &Session, under: &Under) {
    let runtime = session.runtime();
    // First: the application may end as soon as it knows.
    if let Some((slot, number)) = under.launch {
        let times = session.wants.complete.then(|| times(session, under));
        if let Some(counter) = session.ledger.counter(COUNTERS * slot + 3) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(times) = times {
            session.completed(slot, number, times);
        }
    }
    if under.theirs.0 != 0 {
        for at in [TIMES, TIMES + 8] {
            // SAFETY: handles are the addresses of `amd_signal_t`, and the application waits for this one to change.
            unsafe {
                let from = std::ptr::with_exposed_provenance::<u64>(under.ours.0 as usize + at).read_volatile();
                std::ptr::with_exposed_provenance_mut::<u64>(under.theirs.0 as usize + at).write_volatile(from);
            }
        }
        // SAFETY: as the packet processor would have done.
        unsafe { (runtime.signal_subtract)(under.theirs, 1) };
    }
}

/// When a launch that is over began and ended, in nanoseconds; 0 if that is not known.
fn times(session: &Session, under: &Under) -> [u64; 2] {
    let mut times = Times::default();
    // SAFETY: the signal of a dispatch that is over.
    let status = unsafe { (session.runtime().dispatch_time)(under.agent, under.ours, &raw mut times) };
    if status != hsa::SUCCESS {
        return [0, 0];
    }
    let frequency = u128::from(frequency(session));
    [times.start, times.end].map(|ticks| (u128::from(ticks) * 1_000_000_000 / frequency) as u64)
}

/// Ticks of the runtime's clock in a second.
fn frequency(session: &Session) -> u64 {
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let mut known = KNOWN.load(Ordering::Relaxed);
    if known == 0 {
        // SAFETY: the attribute has 64 bits.
        unsafe { (session.runtime().system_info)(hsa::TIMESTAMP_FREQUENCY, (&raw mut known).cast()) };
        known = known.max(1);
        KNOWN.store(known, Ordering::Relaxed);
    }
    known
}
