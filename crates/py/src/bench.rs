//! What a machine and its loads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

use array::md::Array;
use array::nas::StorageBox;
use drive::faults::Impatient;
use drive::{BlockDevice, Drive, Lost, Truth};
use workload::{Row, Run};

/// What a host has.
pub enum Tested {
    /// One drive.
    Drive(Box<Drive>),
    /// One with faults, of which a host has had enough some time.
    Faulty(Impatient<Box<dyn BlockDevice + Send>>),
    /// An array in a storage box.
    Box(Box<StorageBox<Array<Drive>>>),
}

impl Tested {
    /// Usable bytes.
    pub fn capacity_bytes(&self) -> u64 {
        match self {
            Self::Drive(drive) => drive.capacity_bytes(),
            Self::Faulty(drive) => drive.capacity_bytes(),
            Self::Box(storage_box) => storage_box.capacity_bytes(),
        }
    }

    /// Lets time pass in which nobody asks for anything.
    pub fn idle(&mut self, to_ns: u64) {
        match self {
            Self::Drive(drive) => drive.advance(to_ns, &mut Vec::new()),
            Self::Faulty(drive) => drive.advance(to_ns, &mut Vec::new()),
            Self::Box(storage_box) => storage_box.advance(to_ns, &mut Vec::new()),
        }
    }

    /// Lets the next intervals of a run pass, or so many events; returns how many intervals have passed.
    pub fn advance(&mut self, run: &mut Run, intervals: usize, events: usize, rows: &mut Vec<Row>) -> usize {
        match self {
            Self::Drive(drive) => run.advance_briefly(drive.as_mut(), intervals, events, rows),
            Self::Faulty(drive) => run.advance_briefly(drive, intervals, events, rows),
            Self::Box(storage_box) => run.advance_briefly(storage_box.as_mut(), intervals, events, rows),
        }
    }

    /// Lets a run go on until a worker can answer.
    pub fn advance_to_answer(&mut self, run: &mut Run, due_ns: u64) -> Vec<Row> {
        match self {
            Self::Drive(drive) => run.advance_to_answer(drive.as_mut(), due_ns),
            Self::Faulty(drive) => run.advance_to_answer(drive, due_ns),
            Self::Box(storage_box) => run.advance_to_answer(storage_box.as_mut(), due_ns),
        }
    }

    /// Ends a run.
    pub fn stop(&mut self, run: &mut Run) {
        match self {
            Self::Drive(drive) => run.stop(drive.as_mut()),
            Self::Faulty(drive) => run.stop(drive),
            Self::Box(storage_box) => run.stop(storage_box.as_mut()),
        }
    }

    /// What the model knows of each drive.
    pub fn truths(&self) -> Vec<Truth> {
        match self {
            Self::Drive(drive) => vec![Drive::truth(drive)],
            Self::Faulty(drive) => drive.truth().into_iter().collect(),
            Self::Box(storage_box) => {
                let members = storage_box.inner().members();
                (0..members.len()).map(|member| members.device(member).truth()).collect()
            }
        }
    }

    /// What losses of power took.
    pub fn losses(&self) -> &[Lost] {
        match self {
            Self::Faulty(drive) => drive.losses(),
            Self::Drive(_) | Self::Box(_) => &[],
        }
    }
}

/// What is tested, clock and the job that runs; shared by a machine and its loads.
pub struct Bench {
    pub tested: Tested,
    pub now_ns: u64,
    pub run: Option<Run>,
}

/// Locks a bench. A panic while it was locked has already been raised; what it left is as good as can be had.
pub fn lock(bench: &Mutex<Bench>) -> MutexGuard<'_, Bench> {
    bench.lock().unwrap_or_else(PoisonError::into_inner)
}
