//! Events: what threads of the host sleep on until a GPU interrupts.
//!
//! An event that resets itself wakes the threads that wait for it, or the next one. In KFD that loses wake-ups where two
//! threads look at what an event tells of and then wait for it: the first takes what is meant for the second, which sleeps
//! for ever if nothing else happens. (ROCr 5.2 destroys queues so. KFD 1.14 and ROCr 6 have an event's age against it.) Here
//! each thread is told once of every firing that it has not been told of, so that a thread which looks and then waits never
//! misses one. Runtimes look again after each wait, as KFD wakes them without need, too.

use std::collections::HashSet;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::abi::{Event, MemoryFault, Status, event_type};

/// Events of a process, as KFD has it.
pub const MOST: usize = 4096;
/// Waits of this many milliseconds and more have no end.
const FOR_EVER: u32 = 0xffff_fffe;

#[derive(Default)]
struct Slot {
    event: Option<Box<Event>>,
    manual: bool,
    /// What a thread is told that asks and does not wait.
    set: bool,
    /// How often it has fired, how often before it was reset by hand, and how many threads wait for it now.
    fired: u64,
    reset: u64,
    waiting: u32,
    /// Up to which firing each thread has been told, those last that were told last.
    told: Vec<(ThreadMark, u64)>,
}

/// Of more threads than these a slot forgets the one that was told first, which then wakes once without need.
const REMEMBERED: usize = 64;

impl Slot {
    fn new(event: Box<Event>, manual: bool, set: bool) -> Slot {
        Slot { event: Some(event), manual, set, fired: set.into(), ..Slot::default() }
    }

    /// All that wait go on; where no thread waits, or if it is to be reset by hand, the event stays set.
    fn fire(&mut self) {
        self.fired += 1;
        self.set = self.manual || self.waiting == 0;
    }

    fn reset(&mut self) {
        self.set = false;
        self.reset = self.fired;
    }

    /// The firings that are no news for a thread.
    fn known_to(&self, thread: ThreadMark) -> u64 {
        let told = self.told.iter().find(|(of, _)| *of == thread).map_or(0, |told| told.1);
        told.max(self.reset)
    }

    /// A thread is told of all firings up to now.
    fn tell(&mut self, thread: ThreadMark) {
        self.set &= self.manual;
        self.told.retain(|(of, _)| *of != thread);
        if self.told.len() == REMEMBERED {
            self.told.remove(0);
        }
        self.told.push((thread, self.fired));
    }
}

/// A living thread. One that begins later may have the mark of one that has ended: it cannot have looked before that one
/// was told.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ThreadMark(usize);

impl ThreadMark {
    fn own() -> ThreadMark {
        thread_local!(static PLACE: u8 = const { 0 });
        ThreadMark(PLACE.with(|place| std::ptr::from_ref(place).addr()))
    }
}

struct State {
    slots: Vec<Slot>,
    /// The structures that we gave out.
    known: HashSet<usize>,
}

/// The events of a process.
pub struct Events {
    state: Mutex<State>,
    changed: Condvar,
    /// Where GPUs write an event's number before they interrupt, one place for each event.
    mailboxes: AtomicPtr<AtomicU64>,
    last: AtomicU32,
}

impl Events {
    /// `mailboxes` is the address of [`MOST`] words of eight bytes that GPUs can write to.
    pub fn new(mailboxes: u64) -> Events {
        let state = State { slots: Vec::new(), known: HashSet::new() };
        let mailboxes = AtomicPtr::new(std::ptr::with_exposed_provenance_mut(mailboxes as usize));
        Events { state: Mutex::new(state), changed: Condvar::new(), mailboxes, last: AtomicU32::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `hsaKmtCreateEvent`.
    ///
    /// # Errors
    /// There are too many.
    pub fn create(&self, kind: u32, manual: bool, set: bool) -> Result<*mut Event, Status> {
        if kind >= event_type::MAX {
            return Err(Status::InvalidParameter);
        }
        let mut state = self.lock();
        // Number 0 is no event.
        if state.slots.is_empty() {
            state.slots.push(Slot::default());
        }
        let free = state.slots.iter().skip(1).position(|slot| slot.event.is_none()).map(|i| i + 1);
        let id = free.unwrap_or(state.slots.len());
        if id >= MOST {
            return Err(Status::NoMemory);
        }
        if id == state.slots.len() {
            state.slots.push(Slot::default());
        }
        let mailbox = self.mailboxes.load(Ordering::Relaxed).addr() as u64 + 8 * id as u64;
        let fault = MemoryFault::default();
        let mut event = Box::new(Event { id: id as u32, kind, fault, hw1: 0, mailbox, hw3: id as u32 });
        let pointer = &raw mut *event;
        state.known.insert(pointer.addr());
        state.slots[id] = Slot::new(event, manual, set);
        self.last.fetch_max(id as u32, Ordering::Relaxed);
        Ok(pointer)
    }

    /// The number of an event that a caller names.
    fn number(state: &State, event: *const Event) -> Result<usize, Status> {
        if !state.known.contains(&event.addr()) {
            return Err(Status::InvalidHandle);
        }
        // SAFETY: we made it, and it was not destroyed.
        let id = unsafe { (&raw const (*event).id).read_unaligned() } as usize;
        let same = state.slots.get(id).and_then(|slot| slot.event.as_ref());
        same.filter(|own| std::ptr::addr_eq(&raw const ***own, event)).map(|_| id).ok_or(Status::InvalidHandle)
    }

    /// # Errors
    /// It is none of ours.
    pub fn destroy(&self, event: *const Event) -> Result<(), Status> {
        let mut state = self.lock();
        let id = Events::number(&state, event)?;
        state.known.remove(&event.addr());
        state.slots[id] = Slot::default();
        // Who still waits for it finds that it is gone.
        self.changed.notify_all();
        Ok(())
    }

    /// # Errors
    /// It is none of ours.
    pub fn set(&self, event: *const Event, set: bool) -> Result<(), Status> {
        let mut state = self.lock();
        let id = Events::number(&state, event)?;
        if set {
            state.slots[id].fire();
            self.changed.notify_all();
        } else {
            state.slots[id].reset();
        }
        Ok(())
    }

    /// # Errors
    /// It is none of ours.
    pub fn is_set(&self, event: *const Event) -> Result<bool, Status> {
        let state = self.lock();
        let id = Events::number(&state, event)?;
        Ok(state.slots[id].set)
    }

    /// A GPU has finished something that this event tells of.
    pub fn raise(&self, id: u32) {
        let mut state = self.lock();
        if let Some(slot) = state.slots.get_mut(id as usize).filter(|slot| slot.event.is_some()) {
            slot.fire();
            self.changed.notify_all();
        }
    }

    /// A wave interrupts: it has written the number of an event into that one's mailbox.
    pub fn interrupt(&self) {
        let mailboxes = self.mailboxes.load(Ordering::Relaxed);
        if mailboxes.is_null() {
            return;
        }
        for id in 1..=self.last.load(Ordering::Relaxed) {
            // SAFETY: there are `MOST` words.
            let mailbox = unsafe { &*mailboxes.add(id as usize) };
            if mailbox.load(Ordering::Relaxed) != 0 && mailbox.swap(0, Ordering::AcqRel) != 0 {
                self.raise(id);
            }
        }
    }

    /// Tells every event that is about memory of a fault; false if no thread would hear of it.
    pub fn fault(&self, fault: MemoryFault) -> bool {
        let mut state = self.lock();
        let mut heard = false;
        for slot in &mut state.slots {
            if let Some(event) = slot.event.as_mut().filter(|event| event.kind == event_type::MEMORY) {
                event.fault = fault;
                slot.fire();
                heard = true;
            }
        }
        self.changed.notify_all();
        heard
    }

    /// Waits for one of some events, or for all: until each has a firing that this thread was not told of, or, if it is to be
    /// reset by hand, is set.
    ///
    /// # Errors
    /// One is none of ours, or the time is over. Then no event is reset.
    pub fn wait(&self, events: &[*const Event], all: bool, milliseconds: u32) -> Result<(), Status> {
        let end = (milliseconds < FOR_EVER).then(|| Instant::now() + Duration::from_millis(milliseconds.into()));
        let thread = ThreadMark::own();
        let mut state = self.lock();
        let ids = events.iter().map(|&event| Events::number(&state, event)).collect::<Result<Vec<_>, _>>()?;
        // Firings from here on count, and earlier ones that this thread was not told of.
        let mut waits: Vec<(usize, u64)> = Vec::with_capacity(ids.len());
        for id in ids {
            let slot = &mut state.slots[id];
            let known = slot.known_to(thread);
            waits.push((id, if slot.manual && slot.set { slot.fired.saturating_sub(1) } else { known }));
            slot.waiting += 1;
        }
        let result = loop {
            let mut done = waits.iter().map(|&(id, known)| state.slots[id].fired > known);
            if if all { done.all(|done| done) } else { done.any(|done| done) } {
                break Ok(());
            }
            state = match end {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(end) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break Err(Status::WaitTimeout);
                    }
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            // A thread that waits for an event that is destroyed meanwhile has nothing to wait for.
            if events.iter().zip(&waits).any(|(event, wait)| Events::number(&state, *event) != Ok(wait.0)) {
                break Err(Status::InvalidHandle);
            }
        };
        for (id, known) in waits {
            let slot = &mut state.slots[id];
            slot.waiting = slot.waiting.saturating_sub(1);
            if result.is_ok() && slot.fired > known {
                slot.tell(thread);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_reset_themselves_unless_they_are_manual() {
        let events = Events::new(0);
        let (once, manual) =
            (events.create(0, false, true).expect("room"), events.create(0, true, true).expect("room"));
        assert_eq!(events.wait(&[once, manual], true, 0), Ok(()));
        assert_eq!((events.is_set(once), events.is_set(manual)), (Ok(false), Ok(true)));
        assert_eq!(events.wait(&[once, manual], true, 5), Err(Status::WaitTimeout));
        assert_eq!(events.wait(&[once, manual], false, 0), Ok(()));
    }

    #[test]
    fn all_threads_that_wait_for_an_event_go_on_and_each_is_told_once() {
        let events = Events::new(0);
        let event = events.create(0, false, false).expect("room");
        let place = event.expose_provenance();
        std::thread::scope(|scope| {
            let wait = || events.wait(&[std::ptr::with_exposed_provenance::<Event>(place)], true, 60_000);
            let all: Vec<_> = (0..3).map(|_| scope.spawn(wait)).collect();
            while events.lock().slots[1].waiting < 3 {
                std::thread::yield_now();
            }
            events.set(event, true).expect("ours");
            assert!(all.into_iter().all(|one| one.join().is_ok_and(|done| done == Ok(()))));
        });
        // This thread may have looked before the event fired: it is told, once.
        assert_eq!(events.is_set(event), Ok(false));
        assert_eq!(events.wait(&[event.cast_const()], true, 0), Ok(()));
        assert_eq!(events.wait(&[event.cast_const()], true, 0), Err(Status::WaitTimeout));
    }

    #[test]
    fn a_firing_that_one_thread_takes_still_wakes_one_that_looked_before_it() {
        let events = Events::new(0);
        let event = events.create(0, false, false).expect("room");
        let place = event.expose_provenance();
        let wait = |time| events.wait(&[std::ptr::with_exposed_provenance::<Event>(place)], true, time);
        // The other thread has looked; the event fires; this thread waits, then the other one does.
        events.set(event, true).expect("ours");
        assert_eq!(wait(0), Ok(()));
        std::thread::scope(|scope| {
            let other = scope.spawn(|| (wait(0), wait(0)));
            assert_eq!(other.join().expect("no panic"), (Ok(()), Err(Status::WaitTimeout)));
        });
        assert_eq!(wait(0), Err(Status::WaitTimeout));
    }

    #[test]
    fn an_event_that_is_reset_or_waited_for_in_vain_tells_of_what_comes_later_only() {
        let events = Events::new(0);
        let (one, two) = (events.create(0, false, false).expect("room"), events.create(0, false, false).expect("room"));
        events.set(one, true).expect("ours");
        events.set(one, false).expect("ours");
        assert_eq!(events.wait(&[one], true, 0), Err(Status::WaitTimeout));
        // A wait for both that ends by its time keeps what the first has to tell.
        events.set(one, true).expect("ours");
        assert_eq!(events.wait(&[one, two], true, 1), Err(Status::WaitTimeout));
        assert_eq!(events.wait(&[one, two], false, 0), Ok(()));
        assert_eq!(events.wait(&[one, two], false, 0), Err(Status::WaitTimeout));
    }

    #[test]
    fn threads_that_look_and_wait_in_turn_never_sleep_for_ever() {
        use std::sync::atomic::AtomicU64;
        let (events, turn) = (Events::new(0), AtomicU64::new(0));
        let event = events.create(0, false, false).expect("room").expose_provenance();
        // As ROCr destroys a queue: each thread changes a value, fires the event, and waits for the other's answer.
        let play = |mine: u64| {
            let event = std::ptr::with_exposed_provenance::<Event>(event);
            for round in 0..20_000 {
                while turn.load(Ordering::SeqCst) != 2 * round + mine {
                    assert_eq!(events.wait(&[event], true, 20_000), Ok(()));
                }
                turn.fetch_add(1, Ordering::SeqCst);
                events.set(event, true).expect("ours");
            }
        };
        std::thread::scope(|scope| {
            [scope.spawn(|| play(0)), scope.spawn(|| play(1))].map(|one| one.join().expect("in time"))
        });
    }

    #[test]
    fn handles_that_are_none_are_refused() {
        let events = Events::new(0);
        let event = events.create(0, false, false).expect("room");
        events.destroy(event).expect("ours");
        assert_eq!(events.destroy(event), Err(Status::InvalidHandle));
        assert_eq!(events.set(std::ptr::null(), true), Err(Status::InvalidHandle));
        assert_eq!(events.wait(&[event.cast_const()], false, 0), Err(Status::InvalidHandle));
        assert_eq!(events.create(99, false, false), Err(Status::InvalidParameter));
    }

    #[test]
    fn an_interrupt_fires_the_events_that_have_mail() {
        let mut mailboxes = vec![0u64; MOST];
        let events = Events::new((&raw mut mailboxes[0]).expose_provenance() as u64);
        let (one, two) = (events.create(0, false, false).expect("room"), events.create(0, false, false).expect("room"));
        // SAFETY: event 2's mailbox.
        unsafe { (&raw mut mailboxes[2]).write_volatile(2) };
        events.interrupt();
        assert_eq!((events.is_set(one), events.is_set(two)), (Ok(false), Ok(true)));
    }

    #[test]
    fn events_are_limited_in_number_and_numbers_are_free_again() {
        let events = Events::new(0);
        let all: Vec<_> = (1..MOST).map(|_| events.create(0, false, false).expect("room")).collect();
        assert_eq!(events.create(0, false, false), Err(Status::NoMemory));
        events.destroy(all[77]).expect("ours");
        assert!(events.create(0, false, false).is_ok());
    }
}
