//! Queues whose packets we see.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{look, of_the_process};
use crate::flow::Flow;
use crate::hsa::{self, Handle, Packet, Queue, QueueError, Status};
use crate::session::complain;
use crate::{complete, cooperative, held};

pub unsafe extern "C" fn queue_create(
    agent: Handle,
    size: u32,
    kind: u32,
    callback: QueueError,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    let session = of_the_process();
    // A tool that came before has a way of its own to create queues, whose packets it sees; we look at them there.
    let own = session.is_active() && session.runtime().creates_queues_itself();
    let create = if own { session.runtime().intercept_create } else { session.runtime().queue_create };
    // SAFETY: the application's arguments, as they are.
    unsafe { watched(create, agent, size, kind, callback, data, private, group, queue) }
}

pub unsafe extern "C" fn intercept_create(
    agent: Handle,
    size: u32,
    kind: u32,
    callback: QueueError,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    let create = of_the_process().runtime().intercept_create;
    // SAFETY: the application's arguments, as they are.
    unsafe { watched(create, agent, size, kind, callback, data, private, group, queue) }
}

/// Creates a queue whose packets we see.
#[expect(clippy::too_many_arguments, reason = "they are the runtime's")]
unsafe fn watched(
    create: hsa::QueueCreate,
    agent: Handle,
    size: u32,
    kind: u32,
    callback: QueueError,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    // SAFETY: the caller's promise.
    let make = || unsafe { create(agent, size, kind, callback, data, private, group, queue) };
    let runtime = of_the_process().runtime();
    let is_intercepted = create as usize == runtime.intercept_create as usize;
    // Of queues that another tool creates nothing is known.
    let is_shared = kind == hsa::COOPERATIVE && is_intercepted && runtime.creates_queues_itself() && !queue.is_null();
    let (status, is_new) = if is_shared {
        // SAFETY: the caller's promise.
        unsafe { cooperative::create(agent, queue, make) }
    } else {
        (make(), true)
    };
    if status == hsa::SUCCESS && is_new && !queue.is_null() {
        look(|session| {
            // The runtime may hand packets to us for as long as the process lives.
            // SAFETY: the runtime has just written it.
            let queue_address = unsafe { *queue }.addr() as u64;
            let source = Source { agent, queue: queue_address, index: QUEUES.fetch_add(1, Ordering::Relaxed) };
            let watched = Box::leak(Box::new(WatchedQueue { source, flow: Flow::new(size) }));
            // SAFETY: the runtime has just written it.
            let made = unsafe { (session.runtime().intercept_register)(*queue, packets, (&raw mut *watched).cast()) };
            if made != hsa::SUCCESS {
                complain(&format!("a queue cannot be watched (status {made:#x}): its launches are not instrumented"));
            }
            if session.wants.complete {
                // SAFETY: as above. Without it, launches have no times.
                unsafe { (session.runtime().profile)(*queue, 1) };
            }
        });
    }
    status
}

pub unsafe extern "C" fn queue_destroy(queue: *mut Queue) -> Status {
    let runtime = of_the_process().runtime();
    if cooperative::destroy(runtime, queue) {
        return hsa::SUCCESS;
    }
    // SAFETY: the application's argument.
    unsafe { (runtime.queue_destroy)(queue) }
}

/// Where packets come from.
#[derive(Clone, Copy)]
pub struct Source {
    /// The GPU.
    pub agent: Handle,
    /// The queue's address.
    pub queue: u64,
    /// A number that no other queue has.
    pub index: u64,
}

/// Queues that there were so far.
static QUEUES: AtomicU64 = AtomicU64::new(0);

/// A queue whose packets we see.
struct WatchedQueue {
    source: Source,
    flow: Flow,
}

/// Packets that the application has submitted.
unsafe extern "C" fn packets(from: *const c_void, count: u64, _index: u64, watched: *mut c_void, write: hsa::Writer) {
    let mut ours: Vec<Packet> = Vec::new();
    let mut held = Vec::new();
    // SAFETY: what was registered with this function.
    let WatchedQueue { source, flow } = unsafe { &*watched.cast::<WatchedQueue>() };
    look(|session| {
        for n in 0..count as usize {
            // SAFETY: as many as the runtime says. They may lie anywhere.
            ours.push(unsafe { from.cast::<Packet>().add(n).read_unaligned() });
        }
        if session.wants.hold {
            (ours, held) = held::surround(session, *source, std::mem::take(&mut ours));
        } else {
            for packet in &mut ours {
                let theirs = packet.completion_signal();
                let followed = if packet.is_dispatch() { session.direct(*source, packet) } else { None };
                // Of a signal that is not the application's it hears nothing.
                if followed.is_none() && packet.completion_signal() == theirs {
                    complete::behind(session, *source, packet);
                }
            }
        }
        flow.make_room(session, &mut ours);
    });
    let (all, count) =
        if ours.len() as u64 >= count { (ours.as_ptr().cast(), ours.len() as u64) } else { (from, count) };
    // SAFETY: as many packets, ours or the application's.
    unsafe { write(all, count) };
    if !held.is_empty() {
        look(|session| held::look(session, held));
    }
}
