//! The interpreter's end, while other threads are in native code.
//!
//! A thread that comes back to an interpreter which is no more crashes. So threads that want to come back once the end has
//! begun rest for good, and the end waits for those that are about to.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;

/// The thread that ends the interpreter, once it does.
static ENDS: OnceLock<ThreadId> = OnceLock::new();
/// Threads that are about to come back, or have come back to run code of Python's.
static BACK: AtomicUsize = AtomicUsize::new(0);
/// Milliseconds for which the end waits for them.
const PATIENCE: u32 = 1000;

struct Back;

impl Back {
    /// For a thread without the GIL: with it, it would rest and no other thread could go on.
    fn begin() -> Back {
        BACK.fetch_add(1, SeqCst);
        let back = Back;
        if ENDS.get().is_some_and(|ends| *ends != thread::current().id()) {
            drop(back);
            loop {
                thread::park();
            }
        }
        back
    }
}

impl Drop for Back {
    fn drop(&mut self) {
        BACK.fetch_sub(1, SeqCst);
    }
}

/// Does `work` without the GIL.
pub fn without_gil<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (done, back) = py.detach(|| (work(), Back::begin()));
    drop(back);
    done
}

/// Runs code with the GIL on a thread that is without it.
pub fn with_gil<T>(code: impl FnOnce(Python<'_>) -> T) -> T {
    let _back = Back::begin();
    Python::attach(code)
}

/// Has Python's exit wait.
pub fn at_exit(py: Python<'_>) -> PyResult<()> {
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(finish, py)?,)).map(drop)
}

#[pyfunction]
fn finish(py: Python<'_>) {
    ENDS.get_or_init(|| thread::current().id());
    py.detach(|| {
        #[cfg(feature = "llvm")]
        luthier_codegen::hook::finish();
        for _ in 0..PATIENCE {
            if BACK.load(SeqCst) == 0 {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
    });
}
