//! A running job.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use workload::Row;

use crate::machine::{lock, Bench};

type RowTuple = (
    &'static str,
    u64,
    u64,
    u64,
    u64,
    Option<f64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
);

/// A running fio job. Row times count from the start of the machine.
#[pyclass(frozen, module = "shakedown._core")]
pub struct Load {
    bench: Mutex<Option<Arc<Mutex<Bench>>>>,
}

impl Load {
    /// The load that runs on a bench.
    pub fn new(bench: Arc<Mutex<Bench>>) -> Self {
        Self { bench: Mutex::new(Some(bench)) }
    }

    /// Does something with the bench while the job runs; once it has ended, the bench is let go.
    fn while_running<T>(&self, act: impl FnOnce(&mut Bench) -> (T, bool)) -> Option<T> {
        let mut held = self.bench.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (outcome, over) = act(&mut lock(held.as_ref()?));
        if over {
            *held = None;
        }
        Some(outcome)
    }
}

#[pymethods]
impl Load {
    fn advance(&self, py: Python<'_>, intervals: usize) -> PyResult<Vec<RowTuple>> {
        let (rows, failure) = py
            .detach(|| self.while_running(|bench| advance(bench, intervals)))
            .unwrap_or_default();
        match failure {
            Some(text) if rows.is_empty() => Err(PyOSError::new_err(text)),
            _ => Ok(rows.into_iter().map(tuple).collect()),
        }
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.while_running(|bench| (stop(bench), true)));
    }
}

/// The rows, and the failed request that ended the job; over once there are no more rows.
fn advance(bench: &mut Bench, intervals: usize) -> ((Vec<Row>, Option<String>), bool) {
    let Some(run) = &mut bench.run else { return ((Vec::new(), None), true) };
    let rows = run.advance(&mut bench.drive, intervals);
    bench.now_ns = run.now_ns();
    if !(run.is_over() && rows.is_empty()) || intervals == 0 {
        return ((rows, None), false);
    }
    let failure = run.failure().map(|failure| format!("job {}: {:?}", failure.job, failure.status));
    bench.run = None;
    ((rows, failure), true)
}

fn stop(bench: &mut Bench) {
    if let Some(mut run) = bench.run.take() {
        run.stop(&mut bench.drive);
        bench.now_ns = run.now_ns();
    }
}

fn tuple(row: Row) -> RowTuple {
    (
        row.direction.name(),
        row.start_ns,
        row.duration_ns,
        row.count,
        row.bytes,
        row.latency_mean_ns,
        row.latency_p50_ns,
        row.latency_p99_ns,
        row.latency_p999_ns,
        row.latency_max_ns,
    )
}
