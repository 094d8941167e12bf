//! Queues of cooperative launches. A GPU has one for all such launches: ROCr gives it to each who creates one, and counts its
//! users.
//!
//! An intercept queue in front of it takes it for its own and deletes it when it is destroyed itself, and the GPU does so again
//! when the runtime is shut down (ROCr 7.2.4: with SIGSEGV); launches through two of them at a time do not end. So a GPU has one
//! intercept queue in front of it at a time, which its users share, and which stays, unused, when the last one has destroyed it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::hsa::{self, Handle, Queue, Status};
use crate::runtime::Runtime;
use crate::session::lock;

/// Packets of a queue that is not used.
const SMALLEST: u32 = 64;

/// An intercept queue that some have created.
struct Shared {
    address: usize,
    users: u32,
}

/// By GPU.
static SHARED: Mutex<BTreeMap<Handle, Shared>> = Mutex::new(BTreeMap::new());

/// Has a GPU's intercept queue at `queue`, by `make` if there is none yet; and whether that was called.
///
/// # Safety
/// An address can be written at `queue`, and `make` writes one that it has created if its status says so.
pub unsafe fn create(agent: Handle, queue: *mut *mut Queue, make: impl FnOnce() -> Status) -> (Status, bool) {
    let mut all = lock(&SHARED);
    if let Some(shared) = all.get_mut(&agent) {
        shared.users += 1;
        // SAFETY: the caller's promise.
        unsafe { queue.write(std::ptr::with_exposed_provenance_mut(shared.address)) };
        return (hsa::SUCCESS, false);
    }
    let status = make();
    if status == hsa::SUCCESS {
        // SAFETY: `make` has written it.
        let address = unsafe { queue.read() }.expose_provenance();
        all.insert(agent, Shared { address, users: 1 });
    }
    (status, true)
}

/// Takes a user away from a queue; false if it is none of these.
pub fn destroy(runtime: &Runtime, queue: *mut Queue) -> bool {
    let mut all = lock(&SHARED);
    let Some((&agent, shared)) = all.iter_mut().find(|(_, shared)| shared.address == queue.addr()) else {
        return false;
    };
    shared.users -= 1;
    if shared.users == 0 {
        all.remove(&agent);
        leave(runtime, agent);
    }
    true
}

/// The GPU's own queue has a user less, the intercept queue.
fn leave(runtime: &Runtime, agent: Handle) {
    let (kind, mut own) = (hsa::COOPERATIVE, std::ptr::null_mut());
    // SAFETY: the result is written where it is to be.
    let status =
        unsafe { (runtime.queue_create)(agent, SMALLEST, kind, None, std::ptr::null_mut(), 0, 0, &raw mut own) };
    if status == hsa::SUCCESS {
        // Us, of this moment, and the intercept queue.
        for _ in 0..2 {
            // SAFETY: it has as many users at least.
            unsafe { (runtime.queue_destroy)(own) };
        }
    }
}

/// The runtime is shut down: nothing that it had is there any more.
pub fn forget() {
    lock(&SHARED).clear();
}
