//! The native module `luthier._core`.
use pyo3::prelude::*;

#[pymodule(name = "_core")]
mod core {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
