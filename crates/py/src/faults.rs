//! Whether a list of faults can be, before anything is built around it.

use drive::faults::Faults;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::with_line;

/// Raise ValueError if a drive's faults cannot be as in this text.
#[pyfunction]
pub fn check_faults(text: &str) -> PyResult<()> {
    faults_of(text).map(drop).map_err(PyValueError::new_err)
}

/// The faults of a text, or what is wrong with which line of it.
pub fn faults_of(text: &str) -> Result<Faults, String> {
    Faults::parse(text).map_err(|error| with_line(&error, text, error.key()))
}
