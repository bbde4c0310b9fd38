//! Errors of the core as Python exceptions, their parts as attributes.

use drive::Profile;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    shakedown._core,
    ProfileError,
    PyValueError,
    "A profile cannot be a drive: the message names the key and the reason."
);
create_exception!(
    shakedown._core,
    JobError,
    PyValueError,
    "A fio job cannot be run in virtual time: the message names section, option and reason."
);

create_exception!(
    shakedown._core,
    TraceError,
    PyValueError,
    "A trace cannot be replayed on this drive: the message names the request and the reason."
);
create_exception!(
    shakedown._core,
    ArrayError,
    PyValueError,
    "An array cannot be, or cannot be rebuilt: the message names the value and the reason."
);
create_exception!(
    shakedown._core,
    TomlError,
    PyValueError,
    "A text is not TOML: the message names line, column and reason."
);
create_exception!(shakedown._core, LabError, PyRuntimeError, "The lab itself failed: its kernel is not understood.");

/// The profile of a drive, so many times smaller. Of one that is wrong the line is told, of one that was divided too often none: its
/// text does not say what is wrong.
pub fn read_profile(py: Python<'_>, toml: &str, scale_divisor: u32) -> PyResult<Profile> {
    let profile = Profile::parse(toml).map_err(|error| profile_error(py, toml, &error))?;
    profile.scaled(scale_divisor).map_err(|error| profile_error(py, "", &error))
}

/// With the line of what is wrong and the attributes `key` (`None` where the text is not TOML) and `hint`.
pub fn profile_error(py: Python<'_>, toml: &str, error: &drive::ProfileError) -> PyErr {
    let raised = ProfileError::new_err(with_line(error, toml, error.key()));
    let value = raised.value(py);
    match value.setattr("key", error.key()).and_then(|()| value.setattr("hint", error.hint())) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}

/// What is wrong, and in which line of a text its key stands.
pub fn with_line(error: &impl std::fmt::Display, toml: &str, key: Option<&str>) -> String {
    match key.and_then(|key| drive::line_of(toml, key)) {
        Some(line) => format!("{error} (line {line})"),
        None => error.to_string(),
    }
}

/// As a sentence.
pub fn array_error(error: &array::LayoutError) -> PyErr {
    ArrayError::new_err(error.to_string())
}

/// With the attributes `section`, `option`, `value`, `reason` and `hint`.
pub fn job_error(py: Python<'_>, error: &workload::JobError) -> PyErr {
    let raised = JobError::new_err(error.to_string());
    let value = raised.value(py);
    let parts = [
        ("section", &error.section),
        ("option", &error.option),
        ("value", &error.value),
        ("reason", &error.reason),
        ("hint", &error.hint),
    ];
    match parts.into_iter().try_for_each(|(name, text)| value.setattr(name, text)) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}

/// With the attributes `request` and `reason`.
pub fn trace_error(py: Python<'_>, error: &workload::TraceError) -> PyErr {
    let raised = TraceError::new_err(error.to_string());
    let value = raised.value(py);
    match value.setattr("request", error.request).and_then(|()| value.setattr("reason", &error.reason)) {
        Ok(()) => raised,
        Err(failure) => failure,
    }
}
