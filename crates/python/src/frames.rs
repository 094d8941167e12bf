//! Zstandard frames, which case files are made of.

use std::io::Read;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{Class, guard};

/// The bytes in a frame of Zstandard.
#[pyfunction]
pub fn compress<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let made = guard(py, || zstd::stream::encode_all(data, 1).map_err(|e| Class::Argument.error(e)))?;
    Ok(PyBytes::new(py, &made))
}

/// The ``size`` bytes that a frame holds. LoadError if it holds another number of them, or is damaged.
#[pyfunction]
pub fn decompress<'py>(py: Python<'py>, frame: &[u8], size: u64) -> PyResult<Bound<'py, PyBytes>> {
    let work = || {
        let mut found = Vec::new();
        let read = zstd::stream::read::Decoder::new(frame)
            .map(zstd::stream::read::Decoder::single_frame)
            // One byte more shows that there is more.
            .and_then(|decoder| decoder.take(size.saturating_add(1)).read_to_end(&mut found));
        read.map_err(|error| Class::Load.error(format!("a Zstandard frame is damaged: {error}")))?;
        if found.len() as u64 != size {
            let more = if found.len() as u64 > size { "more" } else { "fewer" };
            return Err(Class::Load.error(format!("a Zstandard frame holds {more} than {size} bytes")));
        }
        Ok(found)
    };
    Ok(PyBytes::new(py, &guard(py, work)?))
}
