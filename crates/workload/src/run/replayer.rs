//! The submitter that makes the requests of a trace again.

use drive::{Request, Verb};

use super::worker::Wish;
use crate::job::Direction;
use crate::trace::{Replay, Trace, TraceRequest};

/// Walks through a trace. A failed request does not end it: that the trace goes on is the point of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Replayer {
    trace: Trace,
    replay: Replay,
    start_ns: u64,
    next: usize,
    free_tags: Vec<u32>,
    tags: u32,
    in_flight: u32,
}

impl Replayer {
    /// Begins at `start_ns`, with the first request of the trace.
    pub fn new(trace: Trace, replay: Replay, start_ns: u64) -> Self {
        Self { trace, replay, start_ns, next: 0, free_tags: Vec::new(), tags: 0, in_flight: 0 }
    }

    /// Has everything been answered?
    pub fn is_over(&self) -> bool {
        self.in_flight == 0 && self.next == self.trace.requests().len()
    }

    /// Goes on as far as it can at `now_ns`.
    pub fn step(&mut self, now_ns: u64) -> Wish {
        let Some(traced) = self.trace.requests().get(self.next).copied() else {
            return if self.in_flight > 0 { Wish::Completion } else { Wish::Over };
        };
        match self.replay {
            Replay::Timed { speed } => {
                let due_ns = self.due_ns(traced, speed);
                if now_ns < due_ns {
                    return Wish::Wake(due_ns);
                }
            }
            Replay::AsFastAsPossible { depth } if self.in_flight >= depth => return Wish::Completion,
            Replay::AsFastAsPossible { .. } => {}
        }
        self.next += 1;
        self.in_flight += 1;
        let TraceRequest { verb, offset_bytes, bytes, .. } = traced;
        let request = Request { tag: self.take_tag(), verb, fua: false, offset_bytes, bytes };
        Wish::Submit { request, direction: direction(verb) }
    }

    /// Leaves out the rest of the trace.
    pub fn end(&mut self) {
        self.next = self.trace.requests().len();
    }

    /// One of its requests has been answered.
    pub fn completed(&mut self, tag: u32) {
        self.in_flight -= 1;
        self.free_tags.push(tag);
    }

    fn due_ns(&self, traced: TraceRequest, speed: f64) -> u64 {
        let first_ns = self.trace.requests()[0].submitted_ns;
        self.start_ns.saturating_add(((traced.submitted_ns - first_ns) as f64 / speed) as u64)
    }

    /// There are as many tags as were ever in flight: an open loop knows no bound beforehand.
    fn take_tag(&mut self) -> u32 {
        self.free_tags.pop().unwrap_or_else(|| {
            self.tags += 1;
            self.tags - 1
        })
    }
}

/// `None` for a flush, which no row counts.
pub(crate) fn direction(verb: Verb) -> Option<Direction> {
    match verb {
        Verb::Read => Some(Direction::Read),
        Verb::Write => Some(Direction::Write),
        Verb::Trim => Some(Direction::Trim),
        Verb::Flush => None,
    }
}
