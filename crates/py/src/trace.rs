//! A trace from columns of bytes.

use drive::Verb;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workload::{Replay, TraceRequest};

/// Timed, unless a depth is given.
pub fn replay_of(speed: f64, depth: Option<u32>) -> PyResult<Replay> {
    match depth {
        Some(0) => Err(PyValueError::new_err("depth must be at least 1")),
        Some(depth) => Ok(Replay::AsFastAsPossible { depth }),
        None if speed.is_finite() && speed > 0.0 => Ok(Replay::Timed { speed }),
        None => Err(PyValueError::new_err("speed must be a number above 0")),
    }
}

/// The requests of four columns of little-endian numbers.
pub fn requests_of(
    submitted_ns: &[u8],
    verb: &[u8],
    offset_bytes: &[u8],
    length_bytes: &[u8],
) -> PyResult<Vec<TraceRequest>> {
    if [submitted_ns, offset_bytes, length_bytes].iter().any(|column| column.len() != 8 * verb.len()) {
        return Err(PyValueError::new_err("the columns of a trace are of one length: three of u64 and one of u8"));
    }
    let columns = numbers(submitted_ns).zip(verb).zip(numbers(offset_bytes)).zip(numbers(length_bytes));
    columns
        .map(|(((submitted_ns, verb), offset_bytes), bytes)| {
            Ok(TraceRequest { submitted_ns, verb: verb_of(*verb)?, offset_bytes, bytes })
        })
        .collect()
}

fn numbers(column: &[u8]) -> impl Iterator<Item = u64> + '_ {
    column.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().expect("chunks of eight")))
}

fn verb_of(code: u8) -> PyResult<Verb> {
    [Verb::Read, Verb::Write, Verb::Trim, Verb::Flush]
        .into_iter()
        .find(|verb| workload::verb_code(*verb) == code)
        .ok_or_else(|| PyValueError::new_err(format!("{code} is no verb: 0 read, 1 write, 2 trim, 3 flush")))
}
