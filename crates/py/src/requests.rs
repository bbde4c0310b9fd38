//! The request log as columns of bytes.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use workload::RequestColumns as Chunk;

/// Completed requests as columns of little-endian numbers, in the order of their completion.
#[pyclass(frozen, get_all, module = "shakedown._core")]
pub struct RequestColumns {
    submitted_ns: Py<PyBytes>,
    completed_ns: Py<PyBytes>,
    offset_bytes: Py<PyBytes>,
    bytes: Py<PyBytes>,
    verb: Py<PyBytes>,
    job: Py<PyBytes>,
    status: Py<PyBytes>,
}

impl RequestColumns {
    /// Joins chunks.
    pub fn join(py: Python<'_>, chunks: &[Chunk]) -> PyResult<Self> {
        Ok(Self {
            submitted_ns: column(py, chunks, |chunk| &chunk.submitted_ns, u64::to_le_bytes)?,
            completed_ns: column(py, chunks, |chunk| &chunk.completed_ns, u64::to_le_bytes)?,
            offset_bytes: column(py, chunks, |chunk| &chunk.offset_bytes, u64::to_le_bytes)?,
            bytes: column(py, chunks, |chunk| &chunk.bytes, u64::to_le_bytes)?,
            verb: column(py, chunks, |chunk| &chunk.verb, u8::to_le_bytes)?,
            job: column(py, chunks, |chunk| &chunk.job, u16::to_le_bytes)?,
            status: column(py, chunks, |chunk| &chunk.status, u8::to_le_bytes)?,
        })
    }
}

/// One column of all chunks, written straight into the bytes that Python gets.
fn column<T: Copy, const WIDTH: usize>(
    py: Python<'_>,
    chunks: &[Chunk],
    of: impl Fn(&Chunk) -> &Vec<T>,
    encode: impl Fn(T) -> [u8; WIDTH],
) -> PyResult<Py<PyBytes>> {
    let count: usize = chunks.iter().map(Chunk::len).sum();
    let bytes = PyBytes::new_with(py, count * WIDTH, |mut rest| {
        for numbers in chunks.iter().map(of) {
            let (place, after) = rest.split_at_mut(numbers.len() * WIDTH);
            place.chunks_exact_mut(WIDTH).zip(numbers).for_each(|(at, number)| at.copy_from_slice(&encode(*number)));
            rest = after;
        }
        Ok(())
    })?;
    Ok(bytes.unbind())
}
