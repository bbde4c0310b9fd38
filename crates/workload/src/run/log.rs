//! Every counted request, one row each, as columns.

use drive::{Completion, Request, Status, Verb};

/// A chunk is as long as all before it, within these bounds: a short job takes little, a long one allocates seldom.
const SHORTEST_CHUNK: usize = 1 << 10;
const LONGEST_CHUNK: usize = 1 << 16;

/// Requests in the order of their completion. All columns have the same length; times are nanoseconds of the device's
/// time, sizes bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestColumns {
    /// When the job handed it over, even if it then waited in the host for room in the device's queue; or could have, where its
    /// program had to wait with an earlier one until then.
    pub submitted_ns: Vec<u64>,
    /// When the host heard of its completion.
    pub completed_ns: Vec<u64>,
    /// First byte; 0 for a flush.
    pub offset_bytes: Vec<u64>,
    /// Length; 0 for a flush.
    pub bytes: Vec<u64>,
    /// See [`verb_code`].
    pub verb: Vec<u8>,
    /// The job's place in the job file, from 0; 65535 stands for all later ones.
    pub job: Vec<u16>,
    /// See [`status_code`].
    pub status: Vec<u8>,
}

impl RequestColumns {
    fn with_capacity(requests: usize) -> Self {
        Self {
            submitted_ns: Vec::with_capacity(requests),
            completed_ns: Vec::with_capacity(requests),
            offset_bytes: Vec::with_capacity(requests),
            bytes: Vec::with_capacity(requests),
            verb: Vec::with_capacity(requests),
            job: Vec::with_capacity(requests),
            status: Vec::with_capacity(requests),
        }
    }

    /// How many requests it holds.
    pub fn len(&self) -> usize {
        self.verb.len()
    }

    /// Does it hold none?
    pub fn is_empty(&self) -> bool {
        self.verb.is_empty()
    }
}

/// 0 read, 1 write, 2 trim, 3 flush.
pub fn verb_code(verb: Verb) -> u8 {
    match verb {
        Verb::Read => 0,
        Verb::Write => 1,
        Verb::Trim => 2,
        Verb::Flush => 3,
    }
}

/// 0 good, 1 out of range, 2 medium error, 3 gone, 4 aborted.
pub fn status_code(status: Status) -> u8 {
    match status {
        Status::Good => 0,
        Status::OutOfRange => 1,
        Status::MediumError { .. } => 2,
        Status::Gone => 3,
        Status::Aborted => 4,
    }
}

/// What is in flight, by tag, and what has completed, in chunks.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    in_flight: Vec<Option<Request>>,
    chunks: Vec<RequestColumns>,
    logged: usize,
}

impl RequestLog {
    /// A request was handed over.
    pub fn submitted(&mut self, request: Request) {
        let tag = request.tag as usize;
        if tag >= self.in_flight.len() {
            self.in_flight.resize(tag + 1, None);
        }
        self.in_flight[tag] = Some(request);
    }

    /// A request of the job with this number, which asked for it then, has completed and counts.
    pub fn completed(&mut self, completion: &Completion, submitted_ns: u64, job: u16) {
        let Some(request) = self.in_flight[completion.tag as usize].take() else {
            return;
        };
        let chunk = self.chunk_with_room();
        chunk.submitted_ns.push(submitted_ns);
        chunk.completed_ns.push(completion.completed_ns);
        chunk.offset_bytes.push(request.offset_bytes);
        chunk.bytes.push(request.bytes);
        chunk.verb.push(verb_code(request.verb));
        chunk.job.push(job);
        chunk.status.push(status_code(completion.status));
        self.logged += 1;
    }

    /// How many have completed since they were last taken.
    pub fn held(&self) -> usize {
        self.chunks.iter().map(RequestColumns::len).sum()
    }

    /// Everything that has completed since the last call.
    pub fn take(&mut self) -> Vec<RequestColumns> {
        std::mem::take(&mut self.chunks)
    }

    fn chunk_with_room(&mut self) -> &mut RequestColumns {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == chunk.verb.capacity()) {
            let requests = self.logged.clamp(SHORTEST_CHUNK, LONGEST_CHUNK);
            self.chunks.push(RequestColumns::with_capacity(requests));
        }
        self.chunks.last_mut().expect("one was pushed where none was")
    }
}
