//! Kernels whose launches do not wait until they are instrumented: a thread has that done, while their originals run.

use std::sync::{Condvar, Mutex, Once, PoisonError};

use crate::calls::inside;
use crate::hsa::Handle;
use crate::message::Said;
use crate::session::{Session, current, lock};
use crate::thread;

/// A kernel whose original runs until the controller has answered.
pub struct Late {
    pub address: u64,
    pub object: u64,
    pub slot: usize,
}

/// Those that the controller was not asked about yet.
#[derive(Default)]
pub struct Waiting {
    kernels: Mutex<Vec<Late>>,
    come: Condvar,
}

impl Waiting {
    /// One more.
    pub fn add(&self, kernel: Late) {
        static THREAD: Once = Once::new();
        lock(&self.kernels).push(kernel);
        self.come.notify_one();
        THREAD.call_once(|| thread::start(|| inside(instrument)));
    }

    /// Waits until there is one.
    fn wait(&self) {
        let kernels = lock(&self.kernels);
        drop(self.come.wait_while(kernels, |kernels| kernels.is_empty()).unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes those that fulfil a condition, in their order.
    fn take(&self, wanted: impl Fn(&Late) -> bool) -> Vec<Late> {
        lock(&self.kernels).extract_if(.., |kernel| wanted(kernel)).collect()
    }
}

/// Has them instrumented, one after the other.
fn instrument() {
    while let Some(session) = current().filter(|s| s.is_active()) {
        session.waiting.wait();
        // The thread that has the link may take some of them away.
        let mut link = lock(&session.link);
        let first = lock(&session.waiting.kernels).first().map(|kernel| kernel.slot);
        for Late { address, object, slot } in session.waiting.take(|kernel| Some(kernel.slot) == first) {
            session.converse(&mut link, address, object, slot);
        }
    }
}

impl Session {
    /// The kernels of an executable, or all of them, are not instrumented any more: they, or the process, will be gone. The
    /// controller learns that they were launched.
    pub fn leave_waiting(&self, executable: Option<Handle>) {
        if self.wants.wait || !self.is_active() {
            return;
        }
        let mut link = lock(&self.link);
        let mut code = self.code_mut();
        let mut left = Vec::new();
        for kernel in self.waiting.take(|_| true) {
            match code.object_at(kernel.address).filter(|object| object.number == kernel.object) {
                Some(object) if executable.is_none_or(|e| e == object.executable) => {
                    let address = kernel.address.wrapping_sub(object.loaded.delta);
                    left.push(Said::Left { object: kernel.object, kernel: address, slot: kernel.slot });
                }
                Some(_) => self.waiting.add(kernel),
                None => {}
            }
        }
        drop(code);
        if let Err(error) = left.iter().try_for_each(|said| link.say(said, &[])) {
            self.lost(&error);
        }
    }
}
