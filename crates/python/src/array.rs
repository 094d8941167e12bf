//! Where NumPy's arrays have their elements, by the C structure of the array interface: NumPy's own attributes make a
//! dictionary or an object of Python's for each question, and every launch asks.

use std::ffi::{c_char, c_int, c_void};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

/// `PyArrayInterface` of NumPy's documentation, version 3 of the array interface.
#[repr(C)]
struct ArrayInterface {
    /// Always 2: a check that it is this structure.
    two: c_int,
    dimensions: c_int,
    kind: c_char,
    element: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
    described: *mut c_void,
}

/// Elements lie one after the other, the last dimension's first.
const C_CONTIGUOUS: c_int = 0x1;
const WRITEABLE: c_int = 0x400;

/// Of a NumPy array: the address of its first element, how many bytes its elements have, whether they may be written, and whether
/// they lie one after the other, by rows. None of scalars, and of arrays of objects and records, which may hold objects.
#[pyfunction]
pub fn array_place(array: &Bound<'_, PyAny>) -> PyResult<Option<(usize, u64, bool, bool)>> {
    let py = array.py();
    let Some(found) = array.getattr_opt(intern!(py, "__array_struct__"))? else { return Ok(None) };
    let Ok(capsule) = found.cast_into::<PyCapsule>() else { return Ok(None) };
    let interface = capsule.pointer_checked(None)?.cast::<ArrayInterface>();
    // SAFETY: the protocol says that a capsule without a name under this attribute holds this structure, which lives as long.
    let interface = unsafe { interface.as_ref() };
    if interface.two != 2 || interface.dimensions < 1 || matches!(interface.kind as u8, b'O' | b'V') {
        return Ok(None);
    }
    // SAFETY: the shape has as many numbers as the array has dimensions, which is at least one here.
    let shape = unsafe { std::slice::from_raw_parts(interface.shape, interface.dimensions as usize) };
    let size = shape.iter().map(|&n| n as u64).product::<u64>() * interface.element as u64;
    let is = |flag| interface.flags & flag != 0;
    Ok(Some((interface.data.expose_provenance(), size, is(WRITEABLE), is(C_CONTIGUOUS))))
}
