//! Work that cannot listen to signals, on a thread of its own.
//!
//! When a signal handler raises, the work is left alone to end, maybe later than the interpreter. So its thread asks nothing
//! of Python, not even for its errors. (For LLVM the interpreter's end waits.)

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::device::device_error;
use crate::ending::without_gil;
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
    let heard = &signals;
    let done = without_gil(py, move || {
        loop {
            match result.recv_timeout(Duration::from_millis(20)) {
                Err(RecvTimeoutError::Timeout) if heard.quiet() => {}
                done => return done,
            }
        }
    });
    match done {
        Ok(Ok(Ok(result))) => result.map_err(Into::into),
        Ok(Ok(Err(refused))) => Err(device_error(refused)),
        Ok(Err(payload)) => Err(internal(&*payload)),
        Err(_) => signals.or(Err(Class::Internal.error("internal error, please report it: a thread is gone"))),
    }
}
