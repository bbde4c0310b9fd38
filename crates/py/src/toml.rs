//! TOML as the core reads it, so that one reader decides what a file says.

use drive::TomlFault;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::IntoPyObjectExt;
use toml::{Table, Value};

use crate::errors::TomlError;

/// The tables of a text. A date is its text: no file of ours holds one.
#[pyfunction]
pub fn parse_toml<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    dict(py, text.parse().map_err(|error| TomlError::new_err(TomlFault::new(text, &error).told))?)
}

fn dict(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in table {
        dict.set_item(key, object(py, value)?)?;
    }
    Ok(dict)
}

fn object(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::String(text) => text.into_bound_py_any(py),
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Boolean(flag) => flag.into_bound_py_any(py),
        Value::Datetime(time) => time.to_string().into_bound_py_any(py),
        Value::Array(list) => {
            let objects = list.into_iter().map(|one| object(py, one)).collect::<PyResult<Vec<_>>>()?;
            objects.into_bound_py_any(py)
        }
        Value::Table(table) => dict(py, table).map(Bound::into_any),
    }
}
