//! Who decides what is submitted when: a copy of a job, or a trace.

use super::replayer::Replayer;
use super::worker::{Wish, Worker};
use crate::job::Direction;

/// One of those that a run asks for requests.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there are few, and the large one is asked most often")]
pub(crate) enum Submitter {
    /// A copy of a job.
    Job(Worker),
    /// A trace.
    Trace(Replayer),
}

impl Submitter {
    /// Has it ended?
    pub fn is_over(&self) -> bool {
        match self {
            Self::Job(worker) => worker.is_over(),
            Self::Trace(replayer) => replayer.is_over(),
        }
    }

    /// The job that a failed request has ended; a trace goes on.
    pub fn ended_by_failure(&self) -> Option<&str> {
        match self {
            Self::Job(worker) => Some(worker.name()),
            Self::Trace(_) => None,
        }
    }

    /// The job's place in its file.
    pub fn number(&self) -> u16 {
        match self {
            Self::Job(worker) => worker.number(),
            Self::Trace(_) => 0,
        }
    }

    /// Does it begin with a time that does not count?
    pub fn ramps(&self) -> bool {
        match self {
            Self::Job(worker) => worker.ramps(),
            Self::Trace(_) => false,
        }
    }

    /// From when on completions count.
    pub fn measured_from_ns(&self) -> u64 {
        match self {
            Self::Job(worker) => worker.measured_from_ns(),
            Self::Trace(_) => 0,
        }
    }

    /// After how many completions it looks what has become of its requests, if not after each.
    pub fn sees_after(&self) -> Option<u32> {
        match self {
            Self::Job(worker) => worker.sees_after(),
            Self::Trace(_) => None,
        }
    }

    /// Goes on as far as it can at `now_ns`.
    pub fn step(&mut self, now_ns: u64) -> Wish {
        match self {
            Self::Job(worker) => worker.step(now_ns),
            Self::Trace(replayer) => replayer.step(now_ns),
        }
    }

    /// Asks for nothing from `now_ns` on.
    pub fn end(&mut self, now_ns: u64) {
        match self {
            Self::Job(worker) => worker.end(now_ns),
            Self::Trace(replayer) => replayer.end(),
        }
    }

    /// One of its requests has completed.
    pub fn completed(&mut self, tag: u32, direction: Option<Direction>, bytes: u64, good: bool) {
        match self {
            Self::Job(worker) => worker.completed(tag, direction, bytes, good),
            Self::Trace(replayer) => replayer.completed(tag),
        }
    }
}
