//! Rust errors and panics as the exceptions of `luthier.errors`.

use std::fmt::Display;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyType;

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
        panic::set_hook(Box::new(|info| {
            if let Ok(mut last) = LAST_PANIC.lock() {
                *last = Some(info.to_string().replace('\n', " "));
            }
        }));
    });
}

/// Runs `work` without the GIL; a panic in it becomes an InternalError.
pub fn guard<T: Send>(py: Python<'_>, work: impl FnOnce() -> PyResult<T> + Send) -> PyResult<T> {
    py.detach(|| panic::catch_unwind(AssertUnwindSafe(work))).unwrap_or_else(|payload| Err(internal(&*payload)))
}

fn internal(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let noted = LAST_PANIC.lock().ok().and_then(|mut last| last.take());
    let text = noted
        .or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string()))
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    Class::Internal.error(format!("internal error, please report it: {text}"))
}
