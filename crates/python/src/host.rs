//! Host code: where calls of programs stand in their source; the environment.

use std::ffi::OsString;

use luthier_loader::HostFile;
use pyo3::prelude::*;

use crate::error::{Class, guard};

/// A program or shared library: its functions by their symbols, and its lines by their DWARF. Places are offsets in the file.
///
/// LoadError if it cannot be read, has more than a gibibyte, or is no 64-bit ELF file.
#[pyclass(name = "HostFile", module = "luthier._core", frozen)]
pub struct PyHostFile(HostFile);

#[pymethods]
impl PyHostFile {
    #[new]
    fn new(py: Python<'_>, path: String) -> PyResult<PyHostFile> {
        let opened = guard(py, || HostFile::open(&path).map_err(|e| Class::Load.error(format!("{path}: {e}"))))?;
        Ok(PyHostFile(opened))
    }

    /// The symbol of the function at a place, as the linker has it; None where there is none.
    fn function(&self, offset: u64) -> Option<&str> {
        self.0.function(offset)
    }

    /// Function, file and line at a place, and of the calls that were inlined around it, the innermost first; empty without
    /// DWARF.
    fn frames(&self, offset: u64) -> Vec<(Option<&str>, Option<&str>, u32)> {
        self.0.frames(offset).into_iter().map(|frame| (frame.function, frame.file, frame.line)).collect()
    }
}

/// A variable of the environment, None where it is not set: what ``os.environ.get`` gives. That raises and catches two
/// exceptions for a variable that is not there, which took a launch longer than to make its result.
#[pyfunction]
pub fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
