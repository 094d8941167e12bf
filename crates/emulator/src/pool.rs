//! The threads that workgroups run on.
//!
//! They belong to one process: a child made by `fork` has the memory of its parent and none of its threads, so it gets
//! threads of its own when it first needs some.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::EmuError;

struct Pool {
    process: u32,
    threads: ThreadPool,
}

/// Pools are never given up: the parent's is in use elsewhere, as far as a child can tell.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// This process's threads.
///
/// # Errors
/// The operating system gives none.
pub fn pool() -> Result<&'static ThreadPool, EmuError> {
    let now = POOL.load(Ordering::Acquire);
    // SAFETY: what is in POOL came out of a Box that is never freed.
    if let Some(pool) = unsafe { now.as_ref() }
        && pool.process == process::id()
    {
        return Ok(&pool.threads);
    }
    let threads = ThreadPoolBuilder::new().build().map_err(|e| EmuError::Threads(e.to_string()))?;
    let made = Box::into_raw(Box::new(Pool { process: process::id(), threads }));
    match POOL.compare_exchange(now, made, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: as above; it is in POOL now.
        Ok(_) => Ok(unsafe { &(*made).threads }),
        Err(_) => {
            // SAFETY: no other thread has seen it.
            drop(unsafe { Box::from_raw(made) });
            pool()
        }
    }
}

/// What threads of pools make together when the first of them begins: a child whose parent forks at that moment would have it
/// half made, and wait for it for ever. To be called before there is any of them.
pub fn prepare_for_forks() {
    drop(crossbeam_epoch::pin());
}

/// Whether a device is used in the process that it was made in, and whether it can be.
pub struct Home {
    process: AtomicU32,
    /// Launches under way.
    launches: AtomicUsize,
}

/// A launch that is under way as long as this lives.
pub struct UnderWay<'a>(&'a Home);

impl Home {
    pub fn here() -> Home {
        Home { process: AtomicU32::new(process::id()), launches: AtomicUsize::new(0) }
    }

    /// A launch begins.
    ///
    /// # Errors
    /// The device was copied by `fork` while a thread that is not here was in the middle of a launch.
    pub fn enter(&self) -> Result<UnderWay<'_>, EmuError> {
        let here = process::id();
        if self.process.load(Ordering::Relaxed) != here {
            if self.launches.load(Ordering::Relaxed) != 0 {
                return Err(EmuError::Forked);
            }
            self.process.store(here, Ordering::Relaxed);
        }
        self.launches.fetch_add(1, Ordering::Relaxed);
        Ok(UnderWay(self))
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.launches.fetch_sub(1, Ordering::Relaxed);
    }
}
