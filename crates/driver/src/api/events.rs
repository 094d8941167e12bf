//! Events.

use super::{list, put, with};
use crate::abi::{Event, EventDescriptor, Status};
use crate::queue;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtCreateEvent(
    descriptor: *const EventDescriptor,
    manual: bool,
    set: bool,
    event: *mut *mut Event,
) -> Status {
    with(|s| {
        if descriptor.is_null() || event.is_null() {
            return Err(Status::InvalidParameter);
        }
        // SAFETY: hsakmt.h's contract, here and below.
        let kind = unsafe { (&raw const (*descriptor).kind).read_unaligned() };
        // SAFETY: as above.
        unsafe { put(event, s.events.create(kind, manual, set)?) }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtDestroyEvent(event: *mut Event) -> Status {
    with(|s| s.events.destroy(event))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtSetEvent(event: *mut Event) -> Status {
    with(|s| s.events.set(event, true))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtResetEvent(event: *mut Event) -> Status {
    with(|s| s.events.set(event, false))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtQueryEventState(event: *mut Event) -> Status {
    with(|s| if s.events.is_set(event)? { Ok(()) } else { Err(Status::WaitTimeout) })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtWaitOnEvent(event: *mut Event, milliseconds: u32) -> Status {
    with(|s| {
        // A thread that waits has rung a doorbell just before.
        queue::look();
        s.events.wait(&[event.cast_const()], true, milliseconds)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtWaitOnMultipleEvents(
    events: *const *const Event,
    count: u32,
    all: bool,
    milliseconds: u32,
) -> Status {
    with(|s| {
        // SAFETY: as above.
        let events = unsafe { list(events, count.into()) }?;
        queue::look();
        s.events.wait(&events, all, milliseconds)
    })
}

/// The age tells which events were heard of already. KFD has that from 1.14 on, which we do not stand for, and leaves it
/// alone before.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtWaitOnEvent_Ext(event: *mut Event, milliseconds: u32, _age: *mut u64) -> Status {
    hsaKmtWaitOnEvent(event, milliseconds)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtWaitOnMultipleEvents_Ext(
    events: *const *const Event,
    count: u32,
    all: bool,
    milliseconds: u32,
    _ages: *mut u64,
) -> Status {
    // SAFETY: as above.
    unsafe { hsaKmtWaitOnMultipleEvents(events, count, all, milliseconds) }
}
