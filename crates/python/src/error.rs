//! Rust errors and panics as the exceptions of `luthier.errors`.

use std::fmt::Display;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use luthier_emulator::EmuError;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::device::device_error;
use crate::ending::{with_gil, without_gil};

/// The classes that this module raises.
#[derive(Clone, Copy)]
pub enum Class {
    Load,
    Lift,
    Instrument,
    Device,
    Argument,
    Internal,
    Link,
    Finalized,
    DuplicateSymbol,
    Unresolved,
    Relocation,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Load => "LoadError",
            Class::Lift => "LiftError",
            Class::Instrument => "InstrumentError",
            Class::Device => "DeviceError",
            Class::Argument => "ArgumentError",
            Class::Internal => "InternalError",
            Class::Link => "LinkError",
            Class::Finalized => "FinalizedError",
            Class::DuplicateSymbol => "DuplicateSymbolError",
            Class::Unresolved => "UnresolvedSymbolError",
            Class::Relocation => "RelocationError",
        }
    }

    /// An exception of this class.
    pub fn error(self, message: impl Display) -> PyErr {
        let message = message.to_string();
        Python::attach(|py| {
            let class = py.import("luthier.errors").and_then(|m| m.getattr(self.name()));
            match class.and_then(|c| c.cast_into::<PyType>().map_err(PyErr::from)) {
                Ok(class) => PyErr::from_type(class, message),
                Err(error) => error,
            }
        })
    }
}

/// Where and why the last panic happened, until [`guard`] takes it.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Panics leave a note instead of text on standard error.
pub fn keep_panics_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        is_forked();
        panic::set_hook(Box::new(|info| {
            if let Ok(mut last) = LAST_PANIC.lock() {
                *last = Some(info.to_string().replace('\n', " "));
            }
        }));
    });
}

/// Runs `work` without the GIL; a panic in it becomes an InternalError.
pub fn guard<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    without_gil(py, || caught(work))
}

/// The same for work that runs on this thread alone, or has threads that are good after a fork.
pub fn listening<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    let done = without_gil(py, || panic::catch_unwind(AssertUnwindSafe(work)));
    done.unwrap_or_else(|payload| Err(internal(&*payload)))
}

fn caught<T: Send>(work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    match panic::catch_unwind(AssertUnwindSafe(|| on_own_threads(work))) {
        Ok(done) => done.map_err(device_error)?,
        Err(payload) => Err(internal(&*payload)),
    }
}

/// Does work that may use rayon's threads. A fork has none of those that its parent may have started, and uses others.
pub fn on_own_threads<R: Send>(work: impl FnOnce() -> R + Send) -> Result<R, EmuError> {
    if is_forked() { Ok(luthier_emulator::pool()?.install(work)) } else { Ok(work()) }
}

/// Begins work on rayon's threads that nothing waits for, and whose panic is whatever asks for the same next.
pub fn beside(work: impl FnOnce() + Send + 'static) {
    let caught = || _ = panic::catch_unwind(AssertUnwindSafe(work));
    match is_forked().then(luthier_emulator::pool) {
        Some(pool) => _ = pool.map(|pool| pool.spawn(caught)),
        None => rayon::spawn(caught),
    }
}

/// This process is a fork of the one that imported the module.
fn is_forked() -> bool {
    static IMPORTED_BY: AtomicU32 = AtomicU32::new(0);
    let here = std::process::id();
    here != IMPORTED_BY.compare_exchange(0, here, Relaxed, Relaxed).map_or_else(|before| before, |_| here)
}

/// What Python's signal handlers raise when they run now, on the main thread; Ctrl-C's KeyboardInterrupt for one.
#[derive(Default)]
pub struct Signals(Mutex<Option<PyErr>>);

impl Signals {
    /// False once a handler has raised.
    pub fn quiet(&self) -> bool {
        self.ask(|py| py.check_signals())
    }
    /// False once Python code has raised.
    pub fn ask(&self, code: impl FnOnce(Python<'_>) -> PyResult<()>) -> bool {
        match with_gil(code) {
            Ok(()) => true,
            Err(raised) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                false
            }
        }
    }
    /// What a handler has raised, or else the result.
    pub fn or<T>(&self, result: PyResult<T>) -> PyResult<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(result, Err)
    }
}

/// An InternalError of what a panic leaves.
pub fn internal(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let noted = LAST_PANIC.lock().ok().and_then(|mut last| last.take());
    let text = noted
        .or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string()))
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    Class::Internal.error(format!("internal error, please report it: {text}"))
}
