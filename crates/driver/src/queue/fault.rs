//! How a queue that cannot go on says so: to the runtime as the hardware does, and to people in better words.

use super::{Kind, Queue, Step, signal};
use crate::abi::MemoryFault;
use crate::log::say;
use crate::memory::{Access, PAGE};

const NOT_PRESENT: u32 = 1;
const READ_ONLY: u32 = 2;
/// The process cannot go on.
const FATAL: u32 = 1;

/// A packet leads to memory that the GPU does not see.
pub fn memory(queue: &Queue, access: Access, what: &str) -> Step {
    let (gpu, verb) = (&queue.gpu, if access.write { "written" } else { "read" });
    let near = gpu.view.memory.describe(access.address, gpu.view.node);
    say(&format!(
        "GPU {}, {}: {what} at {:#x} cannot be {verb}; it is {near}",
        gpu.number(),
        name(queue),
        access.address
    ));
    raise(queue, access.address, false);
    Step::Dead
}

/// A packet that is none.
pub fn queue_error(queue: &Queue, code: i64, what: &str) -> Step {
    say(&format!("GPU {}, {}, packet {}: {what}", queue.gpu.number(), name(queue), queue.read_index()));
    tell(queue, code);
    Step::Dead
}

/// What people call a queue.
fn name(queue: &Queue) -> String {
    match queue.kind {
        Kind::Aql => format!("queue {}", queue.id),
        Kind::Sdma => format!("copy queue {}", queue.id),
    }
}

/// The event of a page that is not there.
pub fn raise(queue: &Queue, address: u64, read_only: bool) {
    let failure = if read_only { READ_ONLY } else { NOT_PRESENT };
    let fault = MemoryFault { node: queue.gpu.view.node, address: address & !(PAGE - 1), failure, flags: FATAL };
    if !queue.gpu.view.events.fault(fault) {
        say("no handler is registered for memory faults; the process ends");
        std::process::abort();
    }
}

/// An error code for the runtime. A queue of copies has no signal for it, so there it is a fault.
pub fn tell(queue: &Queue, code: i64) {
    if queue.kind == Kind::Sdma {
        raise(queue, queue.ring, false);
        return;
    }
    // SAFETY: an AQL queue's structure, which is kept.
    let handle = unsafe { (&raw const (*queue.amd).inactive_signal).read_volatile() };
    if let Err(access) = signal::store(&queue.gpu, handle, code) {
        memory(queue, access, "its queue's error signal");
    }
}
