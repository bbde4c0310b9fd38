//! What a machine and its loads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use drive::Drive;
use workload::Run;

/// Drive, clock and the job that runs; shared by a machine and its loads.
pub struct Bench {
    pub drive: Drive,
    pub now_ns: u64,
    pub run: Option<Run>,
}

/// Locks a bench. A panic while it was locked has already been raised; what it left is as good as can be had.
pub fn lock(bench: &Mutex<Bench>) -> MutexGuard<'_, Bench> {
    bench.lock().unwrap_or_else(PoisonError::into_inner)
}
