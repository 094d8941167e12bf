//! When launches are over: a signal of ours stands in the packet, and what waits for the application's is told by us.
//!
//! A packet without a signal, if nobody wants to hear of its end, has its kernel's instead, which only counts.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::calls::inside;
use crate::hsa::{self, Handle, Packet};
use crate::message::Said;
use crate::runtime::Times;
use crate::session::{COUNTERS, Session, current, lock};

/// A launch under way.
pub struct Under {
    slot: usize,
    number: u64,
    agent: Handle,
    ours: Handle,
    /// The application's, or 0.
    theirs: Handle,
}

/// Milliseconds.
const PATIENCE: u32 = 1000;
/// Where `amd_signal_t` has the times at which its kernel has begun and ended.
const TIMES: usize = 32;

/// Has the controller told when a launch is over; false if that cannot be had.
pub fn follow(session: &Session, agent: Handle, packet: &mut Packet, slot: usize, number: u64) -> bool {
    let runtime = session.runtime();
    let known = lock(&session.signals).pop();
    let Some(ours) = known.or_else(|| runtime.signal()) else { return false };
    let theirs = Handle(packet.completion_signal());
    lock(&session.under_way).insert(number, Under { slot, number, agent, ours, theirs });
    // SAFETY: a signal of ours, and a handler that takes the launch's number.
    let status = unsafe {
        (runtime.signal_store)(ours, 1);
        (runtime.signal_handler)(ours, hsa::LESS, 1, over, Handle(number).to_pointer())
    };
    if status != hsa::SUCCESS {
        lock(&session.under_way).remove(&number);
        lock(&session.signals).push(ours);
        return false;
    }
    packet.set_completion_signal(ours.0);
    true
}

/// The runtime's word that a launch is over.
unsafe extern "C" fn over(_value: i64, data: *mut c_void) -> bool {
    // A child does not get here: its runtime has no threads.
    let Some(session) = current() else { return false };
    let mut all = lock(&session.under_way);
    let Some(under) = all.remove(&Handle::of_pointer(data).0) else { return false };
    session.finishing.fetch_add(1, Ordering::AcqRel);
    drop(all);
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| inside(|| finished(session, &under))));
    session.finishing.fetch_sub(1, Ordering::AcqRel);
    if done.is_err() {
        session.retire();
    }
    false
}

/// Sees to the launches that are over and of which the runtime has said nothing yet: it, or the process, ends.
pub fn settle(session: &Session) {
    // SAFETY: signals that stand in packets are not destroyed while there is a runtime.
    let is_over = |under: &Under| unsafe { (session.runtime().signal_load)(under.ours) } < 1;
    let over: Vec<Under> =
        lock(&session.under_way).extract_if(|_, under| is_over(under)).map(|(_, under)| under).collect();
    over.iter().for_each(|under| finished(session, under));
    // Another thread may be about to say so of others. If it is held up, the process ends all the same.
    for _ in 0..PATIENCE {
        if session.finishing.load(Ordering::Acquire) == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn finished(session: &Session, under: &Under) {
    let runtime = session.runtime();
    let times = session.wants.complete.then(|| times(session, under));
    // First: the application may end as soon as it knows.
    if let Some(counter) = session.ledger.counter(COUNTERS * under.slot + 3) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    if let Some([start, end]) = times {
        session.tell(&Said::Completed { slot: under.slot, number: under.number, start, end }, None);
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
    lock(&session.signals).push(under.ours);
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
