//! AQL packets: dispatches, barriers and AMD's own.

use std::sync::atomic::{AtomicU16, Ordering};

use luthier_abi::Packet;
use luthier_abi::packet::{self, Barrier, BarrierValue, format, kind};

use super::trouble::{Trouble, code};
use super::{PACKET, Queue, Step, dispatch, fault, pm4, signal};
use crate::clock;
use crate::log::log;
use crate::order::Ticket;

/// Does the packet at the head, if there is one.
pub fn step(queue: &Queue) -> Step {
    let index = queue.read_index();
    if index == queue.write_index() {
        return Step::Empty;
    }
    // Programs may take more places than the ring has, if they write each when there is room for it.
    let address = queue.ring + index % (queue.bytes / PACKET) * PACKET;
    let header: *const AtomicU16 = std::ptr::with_exposed_provenance(address as usize);
    // SAFETY: the ring is kept; a header is written by atomic stores.
    let of = unsafe { &*header }.load(Ordering::Acquire) as u8;
    if of == kind::INVALID {
        // The program has taken the place, and has not written the packet yet.
        return Step::Blocked;
    }
    let mut given = Packet([0; packet::SIZE]);
    // SAFETY: as above; with a valid header the packet is ours.
    unsafe { std::ptr::copy_nonoverlapping(header.cast(), given.0.as_mut_ptr(), given.0.len()) };
    let start = clock::nanoseconds();
    let is_barrier = given.0[1] & 1 != 0;
    let mut ticket = None;
    let done = match of {
        kind::DISPATCH => {
            ticket = queue.ticket(Some(index), is_barrier);
            dispatch::run(queue, &given, address, ticket.as_mut())
        }
        kind::BARRIER_AND | kind::BARRIER_OR => {
            let waited = barrier(queue, &given.read(), of == kind::BARRIER_OR);
            waited.map(|signals| ticket = waits(queue, index, is_barrier, &signals))
        }
        kind::VENDOR => match given.format() {
            format::PM4_IB => pm4::run(queue, &given.read()),
            format::BARRIER_VALUE => {
                let waited = barrier_value(queue, &given.read());
                waited.map(|signal| ticket = waits(queue, index, is_barrier, &[signal]))
            }
            other => {
                Err(Trouble::Error(code::VENDOR_FORMAT, format!("a vendor's packet of format {other} is unknown")))
            }
        },
        other => Err(Trouble::Error(code::FORMAT, format!("there are no packets of type {other}"))),
    };
    match done {
        Ok(()) => {
            // SAFETY: as above.
            unsafe { &*header }.store(u16::from(kind::INVALID), Ordering::Release);
            queue.set_read_index(index.wrapping_add(1));
            queue.done(ticket, given.completion_signal());
            match signal::complete(&queue.gpu, given.completion_signal(), start) {
                Ok(()) => Step::Done,
                Err(access) => fault::memory(queue, access, "its completion signal"),
            }
        }
        Err(trouble) => {
            if let (Some(order), Some(ticket)) = (queue.gpu.order(), ticket) {
                order.drops(&ticket);
            }
            match trouble {
                Trouble::Blocked => Step::Blocked,
                Trouble::Stopped | Trouble::Reported => Step::Dead,
                Trouble::Access(access, what) => fault::memory(queue, access, what),
                Trouble::Error(code, what) => fault::queue_error(queue, code, &what),
            }
        }
    }
}

/// A packet has waited for signals.
fn waits(queue: &Queue, index: u64, is_barrier: bool, signals: &[u64]) -> Option<Ticket> {
    let (order, mut ticket) = (queue.gpu.order()?, queue.ticket(Some(index), is_barrier)?);
    signals.iter().for_each(|&signal| order.waited(&mut ticket, signal));
    Some(ticket)
}

/// Up to five signals: all of them, or one, must be zero. Gives those that are.
fn barrier(queue: &Queue, packet: &Barrier, any: bool) -> Result<Vec<u64>, Trouble> {
    let (mut pending, mut passed) = (0, Vec::new());
    for handle in packet.signals.into_iter().filter(|&handle| handle != 0) {
        match signal::value(&queue.gpu, handle) {
            Ok(0) => passed.push(handle),
            Ok(_) => pending += 1,
            Err(access) => return Err(Trouble::Access(access, "a signal that it waits for")),
        }
    }
    if pending == 0 || any && !passed.is_empty() {
        log!(queue.gpu.config(), "queue {}: barrier-{} passes", queue.id, if any { "or" } else { "and" });
        return Ok(passed);
    }
    Err(Trouble::Blocked)
}

/// A signal whose bits compare to a number. Gives the signal.
fn barrier_value(queue: &Queue, packet: &BarrierValue) -> Result<u64, Trouble> {
    let BarrierValue { signal: handle, value: wanted, mask, condition, .. } = *packet;
    let value = signal::value(&queue.gpu, handle);
    let value = value.map_err(|access| Trouble::Access(access, "the signal that it waits for"))? & mask;
    let passes = match condition {
        _ if handle == 0 => true,
        0 => value == wanted,
        1 => value != wanted,
        2 => value < wanted,
        3 => value >= wanted,
        other => {
            let what = format!("a barrier-value packet has no condition {other}");
            return Err(Trouble::Error(code::VENDOR_FORMAT, what));
        }
    };
    if !passes {
        return Err(Trouble::Blocked);
    }
    log!(queue.gpu.config(), "queue {}: barrier-value passes", queue.id);
    Ok(handle)
}
