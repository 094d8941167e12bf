//! Queues.

use libc::c_void;

use super::{address, put, with};
use crate::abi::{Event, QueueResource, Status};
use crate::log::log;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtCreateQueue(
    node: u32,
    kind: u32,
    _percentage: u32,
    _priority: i32,
    ring: *mut c_void,
    size: u64,
    _event: *mut Event,
    resource: *mut QueueResource,
) -> Status {
    with(|s| {
        if resource.is_null() {
            return Err(Status::InvalidParameter);
        }
        // SAFETY: hsakmt.h's contract, here and below.
        let mut filled = unsafe { resource.read_unaligned() };
        s.queues.create(s.gpu(node)?, kind, address(ring), size, &mut filled)?;
        let id = filled.id;
        log!(s.config, "queue {id} of type {kind} on node {node}, ring of {size} bytes at {ring:?}");
        // SAFETY: as above.
        unsafe { put(resource, filled) }
    })
}

/// Copies go to any engine: all are the host's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtCreateQueueExt(
    node: u32,
    kind: u32,
    percentage: u32,
    priority: i32,
    _engine: u32,
    ring: *mut c_void,
    size: u64,
    event: *mut Event,
    resource: *mut QueueResource,
) -> Status {
    // SAFETY: as above.
    unsafe { hsaKmtCreateQueue(node, kind, percentage, priority, ring, size, event, resource) }
}

/// The ring cannot be moved; ROCr asks for that nowhere.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtUpdateQueue(
    id: u64,
    percentage: u32,
    _priority: i32,
    _ring: *mut c_void,
    _size: u64,
    _event: *mut Event,
) -> Status {
    with(|s| {
        log!(s.config, "queue {id} gets {percentage} percent");
        s.queues.update(id, percentage)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtDestroyQueue(id: u64) -> Status {
    with(|s| {
        log!(s.config, "queue {id} is destroyed");
        s.queues.destroy(id)
    })
}

/// Accepted: every core of the host works for every queue.
#[unsafe(no_mangle)]
pub extern "C" fn hsaKmtSetQueueCUMask(id: u64, _count: u32, _mask: *mut u32) -> Status {
    with(|s| s.queues.exists(id))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsaKmtAllocQueueGWS(id: u64, count: u32, first: *mut u32) -> Status {
    with(|s| {
        s.queues.make_cooperative(id, count != 0)?;
        // SAFETY: as above.
        if first.is_null() { Ok(()) } else { unsafe { put(first, 0) } }
    })
}
