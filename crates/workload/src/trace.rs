//! A trace: requests that were once made, to be made again.

use drive::{Verb, SECTOR_BYTES};
use thiserror::Error;

/// A request of a trace that cannot be made, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("request {request} of the trace: {reason}")]
pub struct TraceError {
    /// Its place in the trace, from 0.
    pub request: usize,
    /// What is wrong.
    pub reason: String,
}

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRequest {
    /// When it was submitted, in nanoseconds since any moment.
    pub submitted_ns: u64,
    /// The verb.
    pub verb: Verb,
    /// First byte; 0 for a flush.
    pub offset_bytes: u64,
    /// Length; 0 for a flush.
    pub bytes: u64,
}

/// Requests in the order of their submission, each possible on the device it was checked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    requests: Vec<TraceRequest>,
}

impl Trace {
    /// Takes requests that a device of this capacity can answer.
    ///
    /// # Errors
    /// The first request that comes before the one in front of it, is not made of whole sectors, is empty, is a flush of
    /// a place, or reaches past the end of the device.
    pub fn new(requests: Vec<TraceRequest>, capacity_bytes: u64) -> Result<Self, TraceError> {
        let mut last_ns = 0;
        for (at, request) in requests.iter().enumerate() {
            if let Some(reason) = fault(request, last_ns, capacity_bytes) {
                return Err(TraceError { request: at, reason });
            }
            last_ns = request.submitted_ns;
        }
        Ok(Self { requests })
    }

    /// The requests.
    pub fn requests(&self) -> &[TraceRequest] {
        &self.requests
    }
}

fn fault(request: &TraceRequest, last_ns: u64, capacity_bytes: u64) -> Option<String> {
    let TraceRequest { submitted_ns, verb, offset_bytes, bytes } = *request;
    if submitted_ns < last_ns {
        return Some(format!("submitted at {submitted_ns} ns, before the one in front of it at {last_ns} ns"));
    }
    if verb == Verb::Flush {
        return (offset_bytes != 0 || bytes != 0).then(|| "a flush has neither an offset nor a length".to_owned());
    }
    if bytes == 0 {
        return Some("it is empty".to_owned());
    }
    if offset_bytes % SECTOR_BYTES != 0 || bytes % SECTOR_BYTES != 0 {
        return Some(format!("{bytes} bytes at {offset_bytes} are not whole sectors of {SECTOR_BYTES} bytes"));
    }
    if offset_bytes.checked_add(bytes).is_none_or(|end_bytes| end_bytes > capacity_bytes) {
        return Some(format!("{bytes} bytes at {offset_bytes} reach past the end of the drive at {capacity_bytes}"));
    }
    None
}

/// When the requests of a trace are made again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Replay {
    /// At their times, so many times as fast, however long the answers take (an open loop).
    Timed {
        /// Above 0; 1: as it was.
        speed: f64,
    },
    /// As fast as they are answered, with so many in flight (a closed loop). Their times only order them.
    AsFastAsPossible {
        /// At least 1.
        depth: u32,
    },
}
