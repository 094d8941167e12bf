//! Launches one at a time, for tools that look at memory before and after each.
//!
//! Barrier packets around a launch have its queue stop in front of it, when all before is over, and behind it, until the
//! tools have looked.

use std::time::Duration;

use crate::flow::Signals;
use crate::followed::Place;
use crate::hsa::{Handle, Packet};
use crate::session::Session;
use crate::wrap::Source;

/// Between two looks at whether something is over.
const LOOK: Duration = Duration::from_micros(20);

/// A launch with barriers around it.
pub struct Held {
    slot: usize,
    number: u64,
    place: Place,
    /// Changes when all in front of the launch is over.
    reached: Handle,
    /// What the launch waits for, and what comes behind it.
    gates: [Handle; 2],
}

/// Has the packets for a GPU run what they are to run; with barriers around the launches that tools look at.
pub fn surround(session: &'static Session, source: Source, packets: Vec<Packet>) -> (Vec<Packet>, Vec<Held>) {
    let (mut all, mut held) = (Vec::with_capacity(packets.len()), Vec::new());
    for mut packet in packets {
        let followed = if packet.is_dispatch() { session.direct(source, &mut packet) } else { None };
        let signals = followed.and_then(|_| Some((closed(session)?, [closed(session)?, closed(session)?])));
        let (Some((slot, number, place)), Some((reached, gates))) = (followed, signals) else {
            all.push(packet);
            continue;
        };
        all.push(Packet::barrier(None, Some(reached)));
        all.push(Packet::barrier(Some(gates[0]), None));
        all.push(packet);
        all.push(Packet::barrier(Some(gates[1]), None));
        held.push(Held { slot, number, place, reached, gates });
    }
    (all, held)
}

impl Signals for Session {
    fn closed(&self) -> Option<Handle> {
        closed(self)
    }
    fn is_reached(&self, signal: Handle) -> bool {
        // SAFETY: a signal of ours, which is not destroyed while there is a runtime.
        unsafe { (self.runtime().signal_load)(signal) < 1 }
    }
    fn give_back(&self, signal: Handle) {
        self.followed.give_back(signal);
    }
    fn goes_on(&self) -> bool {
        self.is_active()
    }
}

/// A signal of ours that is 1.
fn closed(session: &Session) -> Option<Handle> {
    let signal = session.followed.signal().or_else(|| session.runtime().signal())?;
    // SAFETY: a signal of ours, which stands in no packet.
    unsafe { (session.runtime().signal_store)(signal, 1) };
    Some(signal)
}

/// Has the tools look at each of these launches, which have been submitted, before it begins and after it.
pub fn look(session: &Session, held: Vec<Held>) {
    let runtime = session.runtime();
    for launch in held {
        // SAFETY: a signal of ours, which is not destroyed while there is a runtime.
        until(session, || unsafe { (runtime.signal_load)(launch.reached) } < 1);
        session.begins(launch.slot, launch.number);
        // SAFETY: as above.
        unsafe { (runtime.signal_store)(launch.gates[0], 0) };
        until(session, || session.followed.is_told(launch.place));
        // SAFETY: as above. The packets that wait for it may not have seen it yet: the signal is not used again.
        unsafe { (runtime.signal_store)(launch.gates[1], 0) };
        session.followed.give_back(launch.reached);
    }
}

fn until(session: &Session, mut is_over: impl FnMut() -> bool) {
    while session.is_active() && !is_over() {
        std::thread::sleep(LOOK);
    }
}
