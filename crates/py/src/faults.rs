//! Whether a list of faults can be, before anything is built around it.

use drive::faults::Faults;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Raise ValueError if a drive's faults cannot be as in this text.
#[pyfunction]
pub fn check_faults(text: &str) -> PyResult<()> {
    Faults::parse(text).map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
}
