//! Work that cannot listen to signals, on a thread of its own.
//!
//! When a signal handler raises, the work is left alone to end, maybe later than the interpreter. So its thread asks nothing
//! of Python, not even for its errors, and Python's exit waits for the part of the work that could not survive it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use luthier_codegen::hook;
use pyo3::prelude::*;

use crate::device::device_error;
use crate::error::{Class, Signals, internal, on_own_threads};

/// Does `work` without the GIL while signal handlers run. A panic in it becomes an InternalError.
pub fn in_background<T: Send + 'static, E: Into<PyErr> + Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let signals = Signals::default();
    let (done, result) = mpsc::sync_channel(1);
    let work = move || panic::catch_unwind(AssertUnwindSafe(|| on_own_threads(work)));
    std::thread::spawn(move || done.send(work()));
    py.detach(move || {
        loop {
            match result.recv_timeout(Duration::from_millis(20)) {
                Ok(Ok(Ok(result))) => return result.map_err(Into::into),
                Ok(Ok(Err(refused))) => return Err(device_error(refused)),
                Ok(Err(payload)) => return Err(internal(&*payload)),
                Err(RecvTimeoutError::Timeout) if signals.quiet() => {}
                Err(_) => {
                    return signals
                        .or(Err(Class::Internal.error("internal error, please report it: a thread is gone")));
                }
            }
        }
    })
}

/// Has Python's exit wait for LLVM.
pub fn at_exit(py: Python<'_>) -> PyResult<()> {
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(finish, py)?,)).map(drop)
}

#[pyfunction]
fn finish(py: Python<'_>) {
    py.detach(hook::finish);
}
