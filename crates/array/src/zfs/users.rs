//! Users of the pool while it is resilvered: what they have in memory and what they wait for.

use std::collections::{BTreeSet, HashSet, VecDeque};

use drive::{Completion, Request, Status};

use super::flow::Slab;
use super::memory::Memory;
use super::plan::Plan;

/// `zfs_dirty_data_max`: a tenth of memory, and no more than 4 GiB.
pub(super) fn dirty_max_bytes(memory_bytes: u64) -> u64 {
    (memory_bytes / 10).min(4 << 30)
}

/// Assumed: what the host takes to answer. Without it a job whose data is all in memory would never see time pass.
const ANSWER_NS: u64 = 10_000;

/// A user's request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bio {
    pub tag: u32,
    pub left: u32,
    pub status: Status,
    pub is_durable: bool,
}

/// What users have in memory, and what they wait for.
#[derive(Clone, Debug)]
pub(super) struct Users {
    /// Who asks: ZFS answers a program's request before it takes its next (`zfs_read`; `io_submit` waits for it).
    pub programs: usize,
    /// What they ask for next, in its order, and how many are being answered.
    pub asked: VecDeque<Request>,
    pub at_work: usize,
    pub bios: Slab<Bio>,
    /// Answers on their way, and those that are there.
    pub answers: VecDeque<Completion>,
    pub due: VecDeque<Completion>,
    pub memory: Memory,
    /// Records in memory that the next transaction group writes, and those that the one under way does.
    pub dirty: HashSet<u64>,
    pub order: Vec<u64>,
    pub syncing: BTreeSet<u64>,
    /// Of these, what has no place yet, the next one last.
    pub unplaced: Vec<u64>,
    pub most_dirty: u64,
    pub unlogged_bytes: u64,
    /// Writes that wait for a transaction group, after which there is less in memory; and with them who makes them.
    pub waiting: VecDeque<Request>,
    pub active_ns: Option<u64>,
}

impl Users {
    pub fn new(plan: &Plan, written_bytes: u64) -> Self {
        let (memory_bytes, record_bytes) = (plan.host.memory_bytes, plan.content.record_bytes);
        Self {
            programs: usize::MAX,
            asked: VecDeque::new(),
            at_work: 0,
            answers: VecDeque::new(),
            memory: Memory::new(&plan.host, &plan.tunables, record_bytes, written_bytes),
            bios: Slab::default(),
            due: VecDeque::new(),
            dirty: HashSet::new(),
            order: Vec::new(),
            syncing: BTreeSet::new(),
            unplaced: Vec::new(),
            most_dirty: (dirty_max_bytes(memory_bytes) / record_bytes).max(1),
            unlogged_bytes: 0,
            waiting: VecDeque::new(),
            active_ns: None,
        }
    }

    /// What is in the host's memory.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// When the next answer is there.
    pub fn next_answer_ns(&self) -> Option<u64> {
        self.answers.front().map(|answer| answer.completed_ns)
    }

    /// Is going to answer a request.
    pub fn answer(&mut self, now_ns: u64, tag: u32, status: Status) {
        self.answers.push_back(Completion { tag, completed_ns: now_ns + ANSWER_NS, status });
    }

    /// Was anybody here within so many nanoseconds?
    pub fn active_within(&self, now_ns: u64, within_ns: u64) -> bool {
        self.active_ns.is_some_and(|active_ns| now_ns - active_ns <= within_ns)
    }
}
