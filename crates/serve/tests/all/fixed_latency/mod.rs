//! A device that takes the same time for everything: what is delivered can be compared with what is known.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use drive::{BlockDevice, Completion, Request, Status};

/// Completes each request `latency_ns` after it was submitted, any number of them side by side.
pub struct FixedLatency {
    pub capacity_bytes: u64,
    pub queue_depth: u32,
    pub latency_ns: u64,
    /// Requests that touch this range end with a medium error.
    pub bad_bytes: Range<u64>,
    /// What was asked for, in order, for whoever wants to know.
    pub heard: Arc<Mutex<Vec<Request>>>,
    outstanding: VecDeque<Completion>,
}

impl FixedLatency {
    pub fn new(capacity_bytes: u64, latency_ns: u64) -> Self {
        let (heard, outstanding) = (Arc::default(), VecDeque::new());
        Self { capacity_bytes, queue_depth: 32, latency_ns, bad_bytes: 0..0, heard, outstanding }
    }
}

impl BlockDevice for FixedLatency {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn queue_depth(&self) -> u32 {
        self.queue_depth
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        assert!(self.outstanding.len() < self.queue_depth as usize, "the host overfilled the queue");
        let touches_bad =
            request.offset_bytes < self.bad_bytes.end && self.bad_bytes.start < request.offset_bytes + request.bytes;
        let status = match touches_bad {
            true => Status::MediumError { offset_bytes: self.bad_bytes.start },
            false => Status::Good,
        };
        self.heard.lock().expect("nobody panics over a list").push(request);
        let completed_ns = now_ns + self.latency_ns;
        self.outstanding.push_back(Completion { tag: request.tag, completed_ns, status });
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.outstanding.front().map(|completion| completion.completed_ns)
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        while self.outstanding.front().is_some_and(|completion| completion.completed_ns <= to_ns) {
            completions.extend(self.outstanding.pop_front());
        }
    }
}
