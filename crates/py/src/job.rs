//! A job file, judged.

use pyo3::prelude::*;
use workload::JobFile;

use crate::errors::job_error;

/// Raise JobError if `start` would.
#[pyfunction]
pub fn check_job(py: Python<'_>, job: &str, capacity_bytes: u64) -> PyResult<()> {
    py.detach(|| JobFile::parse(job, capacity_bytes)).map(drop).map_err(|error| job_error(py, &error))
}
