//! A running job or trace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use workload::{RequestColumns as Chunk, Row, Run};

use crate::bench::{lock, Bench, Tested};
use crate::requests::RequestColumns;

/// See the stub's `Row`.
pub type RowTuple = (&'static str, u64, u64, u64, u64, Option<f64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

/// A running fio job or trace. Row times count from the start of the machine.
#[pyclass(frozen, module = "shakedown._core")]
pub struct Load {
    state: Mutex<State>,
}

enum State {
    Running(Arc<Mutex<Bench>>),
    Over {
        /// The failed request that ended the job, until that has been told.
        failure: Option<String>,
        /// What was logged and not yet taken; `None` if requests are not logged.
        requests: Option<Vec<Chunk>>,
    },
}

impl Load {
    /// The load that runs on a bench.
    pub fn new(bench: Arc<Mutex<Bench>>) -> Self {
        Self { state: Mutex::new(State::Running(bench)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Load {
    fn advance(&self, py: Python<'_>, intervals: usize) -> PyResult<Vec<RowTuple>> {
        tuples(py.detach(|| go_on(&mut self.state(), |tested, run| tested.advance(run, intervals))))
    }

    fn advance_to_answer(&self, py: Python<'_>, due_ns: u64) -> PyResult<Vec<RowTuple>> {
        tuples(py.detach(|| go_on(&mut self.state(), |tested, run| tested.advance_to_answer(run, due_ns))))
    }

    fn take_requests(&self, py: Python<'_>) -> PyResult<RequestColumns> {
        match py.detach(|| take_requests(&mut self.state())) {
            Some(chunks) => RequestColumns::join(py, &chunks),
            None => Err(PyRuntimeError::new_err("requests are not logged: start the job with log_requests=True")),
        }
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| stop(&mut self.state()));
    }
}

fn tuples(rows: Result<Vec<Row>, String>) -> PyResult<Vec<RowTuple>> {
    match rows {
        Ok(rows) => Ok(rows.into_iter().map(tuple).collect()),
        Err(failure) => Err(PyOSError::new_err(failure)),
    }
}

/// The rows of what comes next. A failed request is told on the call after the last rows.
fn go_on(state: &mut State, advance: impl FnOnce(&mut Tested, &mut Run) -> Vec<Row>) -> Result<Vec<Row>, String> {
    let bench = match state {
        State::Running(bench) => Arc::clone(bench),
        State::Over { failure, .. } => return failure.take().map_or(Ok(Vec::new()), Err),
    };
    let mut bench = lock(&bench);
    let Bench { tested, now_ns, run: Some(run) } = &mut *bench else {
        return Ok(Vec::new());
    };
    let rows = advance(tested, run);
    *now_ns = run.now_ns();
    if run.is_over() {
        let failure = run.failure().map(|one| format!("job {} ended at {} ns: {:?}", one.job, one.at_ns, one.status));
        *state = State::Over { failure, requests: run.take_requests() };
        bench.run = None;
    }
    Ok(rows)
}

/// The requests completed since the last call, also after the end.
fn take_requests(state: &mut State) -> Option<Vec<Chunk>> {
    match state {
        State::Running(bench) => lock(bench).run.as_mut().and_then(Run::take_requests),
        State::Over { requests, .. } => requests.as_mut().map(std::mem::take),
    }
}

fn stop(state: &mut State) {
    let State::Running(bench) = state else {
        return;
    };
    let bench = Arc::clone(bench);
    let mut bench = lock(&bench);
    let Some(mut run) = bench.run.take() else {
        return;
    };
    bench.tested.stop(&mut run);
    bench.now_ns = run.now_ns();
    *state = State::Over { failure: None, requests: run.take_requests() };
}

/// A row as Python gets it.
pub fn tuple(row: Row) -> RowTuple {
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
