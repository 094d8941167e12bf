//! The functions of libhsakmt, by their C names.
//!
//! Unsafe ones ask of their callers what hsakmt.h asks.
//!
//! What ROCr 5.2.3 imports is implemented, or answers as the real library does on hardware without the feature. The rest of
//! the library's functions (debugging, counters, graphics) answers so too; [`rest`] has them all in one place.

mod buffers;
mod events;
mod memory;
mod newer;
mod polling;
mod queues;
mod rest;
mod system;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::Status;
use crate::log::say;
use crate::state::{self, State};

/// Runs a function of the driver, which must be open. A mistake of ours is an error of the function's, never a panic that
/// goes through C.
fn with(run: impl FnOnce(&'static State) -> Result<(), Status>) -> Status {
    guard(|| run(state::get()?))
}

fn guard(run: impl FnOnce() -> Result<(), Status>) -> Status {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => Status::Success,
        Ok(Err(status)) => status,
        Err(_) => {
            say("the mock driver itself failed; this is a mistake in it, please report it");
            Status::Error
        }
    }
}

/// Writes a result where the caller wants it.
///
/// # Safety
/// `to` is null or a place for it.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::InvalidParameter);
    }
    // SAFETY: the caller's promise; the structures are packed to four bytes.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Copies a list that the caller gives.
///
/// # Safety
/// `from` is null or has `count` elements.
unsafe fn list<T: Copy>(from: *const T, count: u64) -> Result<Vec<T>, Status> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if from.is_null() || count > 4096 {
        return Err(Status::InvalidParameter);
    }
    // SAFETY: the caller's promise.
    Ok((0..count as usize).map(|i| unsafe { from.add(i).read_unaligned() }).collect())
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}
