//! Exact requests, one after the other, and when each was submitted and completed.

use drive::{BlockDevice, Completion, Drive, Request, Verb};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bench::Bench;

/// Requests as columns.
pub struct Requests {
    verbs: Vec<Verb>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}

impl Requests {
    /// From columns of bytes: verbs as in the request log, offsets and lengths as little-endian numbers.
    pub fn decode(verbs: &[u8], offsets: &[u8], lengths: &[u8]) -> PyResult<Self> {
        let verbs = verbs.iter().map(|code| verb(*code)).collect::<PyResult<Vec<_>>>()?;
        let (offsets, lengths) = (numbers(offsets), numbers(lengths));
        if offsets.len() != verbs.len() || lengths.len() != verbs.len() {
            return Err(PyValueError::new_err("the columns are not of one length"));
        }
        Ok(Self { verbs, offsets, lengths })
    }

    fn request(&self, index: usize) -> Request {
        let (verb, offset_bytes, bytes) = (self.verbs[index], self.offsets[index], self.lengths[index]);
        Request { tag: index as u32, verb, fua: false, offset_bytes, bytes }
    }
}

/// When each request was submitted and completed.
pub struct Played {
    submitted_ns: Vec<u64>,
    completed_ns: Vec<u64>,
}

impl Played {
    /// As columns of little-endian numbers.
    pub fn encode<'py>(&self, py: Python<'py>) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>) {
        let column = |numbers: &[u64]| -> Vec<u8> { numbers.iter().flat_map(|number| number.to_le_bytes()).collect() };
        (PyBytes::new(py, &column(&self.submitted_ns)), PyBytes::new(py, &column(&self.completed_ns)))
    }
}

/// Keeps `depth` requests in flight until all have completed.
pub fn play(bench: &mut Bench, requests: &Requests, depth: usize) -> PyResult<Played> {
    if bench.run.is_some() {
        return Err(PyRuntimeError::new_err("a job is running on this machine"));
    }
    let count = requests.verbs.len();
    let mut played = Played { submitted_ns: vec![0; count], completed_ns: vec![0; count] };
    let depth = depth.clamp(1, bench.drive.queue_depth() as usize);
    let (mut next, mut in_flight, mut answers) = (0, 0, Vec::new());
    while next < count || in_flight > 0 {
        while next < count && in_flight < depth {
            played.submitted_ns[next] = bench.now_ns;
            bench.drive.submit(bench.now_ns, requests.request(next));
            (next, in_flight) = (next + 1, in_flight + 1);
        }
        in_flight -= settle(&mut bench.drive, &mut bench.now_ns, &mut answers, &mut played)?;
    }
    Ok(played)
}

/// Waits for the next completions; how many there were.
fn settle(drive: &mut Drive, now_ns: &mut u64, answers: &mut Vec<Completion>, played: &mut Played) -> PyResult<usize> {
    while answers.is_empty() {
        let Some(at) = drive.next_event_ns() else {
            return Err(PyRuntimeError::new_err("the drive forgot a request"));
        };
        *now_ns = at.max(*now_ns);
        drive.advance(*now_ns, answers);
    }
    for answer in answers.iter() {
        if answer.status != drive::Status::Good {
            return Err(PyOSError::new_err(format!("request {} failed: {:?}", answer.tag, answer.status)));
        }
        played.completed_ns[answer.tag as usize] = answer.completed_ns;
    }
    let count = answers.len();
    answers.clear();
    Ok(count)
}

fn verb(code: u8) -> PyResult<Verb> {
    match code {
        0 => Ok(Verb::Read),
        1 => Ok(Verb::Write),
        2 => Ok(Verb::Trim),
        3 => Ok(Verb::Flush),
        _ => Err(PyValueError::new_err(format!("{code} is no verb"))),
    }
}

fn numbers(column: &[u8]) -> Vec<u64> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, byte| high << 8 | u64::from(*byte));
    column.chunks_exact(8).map(number).collect()
}
