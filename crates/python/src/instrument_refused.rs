//! `instrument` of a module that was built without LLVM: it says so.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::Class;

#[pyfunction]
#[pyo3(signature = (*_arguments, **_named))]
pub fn instrument(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    Err(Class::Instrument.error("this build of luthier has no LLVM (feature `llvm`) and cannot instrument"))
}
