//! fio's notation, as the model reads it: one reader for all arenas.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workload::notation;

/// Raise ValueError with the reason where it is no size.
#[pyfunction]
pub fn fio_bytes(text: &str, whole_bytes: u64) -> PyResult<u64> {
    notation::bytes_of(text, whole_bytes).map_err(PyValueError::new_err)
}

/// Raise ValueError with the reason where it is no time.
#[pyfunction]
pub fn fio_time_ns(text: &str, bare_ns: u64) -> PyResult<u64> {
    notation::time_ns(text, bare_ns).map_err(PyValueError::new_err)
}

/// Raise ValueError with the reason where it is no whole number.
#[pyfunction]
pub fn fio_count(text: &str) -> PyResult<u64> {
    notation::count(text).map_err(PyValueError::new_err)
}

/// An option's own name, of which it may have others.
#[pyfunction]
pub fn fio_option(name: &str) -> &str {
    notation::canonical(name)
}
