//! `instrument` and `assemble` of a module that was built without LLVM: they say so.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::Class;

const REFUSAL: &str = "this build of luthier has no LLVM (feature `llvm`) and cannot instrument";

#[pyfunction]
#[pyo3(signature = (*_arguments, **_named))]
pub fn instrument(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    Err(Class::Instrument.error(REFUSAL))
}

#[pyfunction(name = "assemble")]
#[pyo3(signature = (*_arguments, **_named))]
pub fn assemble_text(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    Err(Class::Instrument.error(REFUSAL))
}

#[pyfunction]
#[pyo3(signature = (_folder))]
pub fn keep_hooks(_folder: Option<String>) {}

#[pyfunction]
pub fn warm_up(_processor: &str) {}

#[pyfunction]
pub fn can_instrument(_processor: &str) -> bool {
    false
}
