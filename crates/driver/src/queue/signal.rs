//! Signals (`amd_signal_t`): what packets wait for, and how they say that they are done.

use std::sync::atomic::Ordering;

use luthier_abi::Signal;

use crate::clock;
use crate::gpu::Gpu;
use crate::memory::Access;
use crate::polling;

/// What a signal holds now; that of none is 0.
pub fn value(gpu: &Gpu, handle: u64) -> Result<i64, Access> {
    if handle == 0 {
        return Ok(0);
    }
    let signal = gpu.view.place::<Signal>(handle, false)?;
    // SAFETY: resolved; a value is accessed through atomics only.
    Ok(unsafe { &(*signal).value }.load(Ordering::Acquire))
}

/// Work that began at `start` is done: the signal counts down and wakes the threads that wait for it.
pub fn complete(gpu: &Gpu, handle: u64, start: u64) -> Result<(), Access> {
    if handle == 0 {
        return Ok(());
    }
    let signal = gpu.view.place::<Signal>(handle, true)?;
    // When the value changes the program may destroy the signal: nothing of it is touched from then on.
    // SAFETY: resolved.
    let (mailbox, event) = unsafe {
        (&raw mut (*signal).start).write_volatile(start);
        (&raw mut (*signal).end).write_volatile(clock::nanoseconds());
        let wake = ((&raw const (*signal).mailbox).read_volatile(), (&raw const (*signal).event).read_volatile());
        (*signal).value.fetch_sub(1, Ordering::AcqRel);
        wake
    };
    polling::changed(handle);
    wake(gpu, mailbox, event)
}

/// Gives a signal a value and wakes who waits for it.
pub fn store(gpu: &Gpu, handle: u64, value: i64) -> Result<(), Access> {
    let signal = gpu.view.place::<Signal>(handle, true)?;
    // SAFETY: resolved.
    let (mailbox, event) = unsafe {
        let wake = ((&raw const (*signal).mailbox).read_volatile(), (&raw const (*signal).event).read_volatile());
        (*signal).value.store(value, Ordering::Release);
        wake
    };
    // A queue's error signal, which the runtime handles.
    polling::changed_for_runtime();
    wake(gpu, mailbox, event)
}

fn wake(gpu: &Gpu, mailbox: u64, event: u32) -> Result<(), Access> {
    if mailbox != 0 {
        // That there is such a place is all that matters: the event is raised at once.
        gpu.view.place::<u64>(mailbox, true)?;
        gpu.view.events.raise(event);
    }
    Ok(())
}
