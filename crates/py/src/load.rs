//! A running job or trace.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drive::Status;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use workload::{Failure, RequestColumns as Chunk, Row, Run, UNNAMED};

use crate::bench::{lock, Bench, Tested};
use crate::requests::RequestColumns;

/// See the stub's `Row`.
pub type RowTuple = (&'static str, u64, u64, u64, u64, Option<f64>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

/// The interpreter gets to look at its signals so often, and its caller to count the requests that are kept.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Between two looks at the clock.
const EVENTS: usize = 4096;

/// A running fio job or trace. Row times count from the start of the machine.
#[pyclass(frozen, module = "shakedown._core")]
pub struct Load {
    playing: Mutex<Playing>,
}

struct Playing {
    state: State,
    /// What has not been told yet: a call that a signal has ended leaves it to the next.
    rows: Vec<Row>,
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
        Self { playing: Mutex::new(Playing { state: State::Running(bench), rows: Vec::new() }) }
    }

    fn playing(&self) -> MutexGuard<'_, Playing> {
        self.playing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Load {
    #[pyo3(signature = (intervals, most_requests = None))]
    fn advance(&self, py: Python<'_>, mut intervals: usize, most_requests: Option<usize>) -> PyResult<Vec<RowTuple>> {
        let most_requests = most_requests.unwrap_or(usize::MAX);
        while intervals > 0 {
            let went = py.detach(|| self.playing().go_on_for(LOOK_EVERY, intervals, most_requests));
            match went.map_err(PyOSError::new_err)? {
                Went::On(passed) => intervals -= passed,
                Went::Full => return Err(PyMemoryError::new_err("more requests are kept than may be")),
                Went::Over => break,
            }
            py.check_signals()?;
        }
        Ok(self.playing().tell())
    }

    fn advance_to_answer(&self, py: Python<'_>, due_ns: u64) -> PyResult<Vec<RowTuple>> {
        py.detach(|| self.playing().go_on_to_answer(due_ns)).map_err(PyOSError::new_err)?;
        Ok(self.playing().tell())
    }

    fn take_requests(&self, py: Python<'_>) -> PyResult<RequestColumns> {
        match py.detach(|| take_requests(&mut self.playing().state)) {
            Some(chunks) => RequestColumns::join(py, &chunks),
            None => Err(PyRuntimeError::new_err("requests are not logged: start the job with log_requests=True")),
        }
    }

    fn end(&self, py: Python<'_>) {
        py.detach(|| end(&self.playing().state));
    }

    fn stop(&self, py: Python<'_>) {
        py.detach(|| stop(&mut self.playing().state));
    }
}

/// How a load went on.
enum Went {
    /// So many intervals have passed.
    On(usize),
    /// More requests are kept than may be.
    Full,
    /// It has ended.
    Over,
}

impl Playing {
    /// Goes on for so many intervals, but no longer than that by the clock on the wall. A failed request is told on the
    /// call after the last rows.
    fn go_on_for(&mut self, time: Duration, intervals: usize, most_requests: usize) -> Result<Went, String> {
        let (began, mut passed) = (Instant::now(), 0);
        while passed < intervals && began.elapsed() < time {
            let Self { state, rows } = self;
            let kept = state.go_on(|tested, run| {
                passed += tested.advance(run, intervals - passed, EVENTS, rows);
                run.logged()
            });
            let Some(kept) = kept else {
                return self.end();
            };
            if kept > most_requests {
                return Ok(Went::Full);
            }
        }
        Ok(Went::On(passed))
    }

    fn go_on_to_answer(&mut self, due_ns: u64) -> Result<(), String> {
        let Self { state, rows } = self;
        match state.go_on(|tested, run| rows.extend(tested.advance_to_answer(run, due_ns))) {
            Some(()) => Ok(()),
            None => self.end().map(drop),
        }
    }

    /// The load is over. What failed is told once, after the last rows.
    fn end(&mut self) -> Result<Went, String> {
        match &mut self.state {
            State::Over { failure, .. } if self.rows.is_empty() => failure.take().map_or(Ok(Went::Over), Err),
            _ => Ok(Went::Over),
        }
    }

    fn tell(&mut self) -> Vec<RowTuple> {
        self.rows.drain(..).map(tuple).collect()
    }
}

impl State {
    /// Lets the run go on as is said; `None` if there is none any more.
    fn go_on<T>(&mut self, advance: impl FnOnce(&mut Tested, &mut Run) -> T) -> Option<T> {
        let Self::Running(bench) = self else {
            return None;
        };
        let bench = Arc::clone(bench);
        let mut bench = lock(&bench);
        let Bench { tested, now_ns, run: Some(run) } = &mut *bench else {
            return None;
        };
        let went = advance(tested, run);
        *now_ns = run.now_ns();
        if run.is_over() {
            let failure = run.failure().map(words);
            *self = Self::Over { failure, requests: run.take_requests() };
            bench.run = None;
        }
        Some(went)
    }
}

/// What ended a job; the one of a file without sections has no name that its author gave.
fn words(failure: &Failure) -> String {
    let job = if failure.job == UNNAMED { "the job".to_owned() } else { format!("job `{}`", failure.job) };
    let why = match failure.status {
        Status::MediumError { offset_bytes } => format!("byte {offset_bytes} could not be read or written"),
        Status::OutOfRange => "a request reached past the end of the device".to_owned(),
        Status::Gone => "the device was gone".to_owned(),
        Status::Aborted => "the host had reset the link before there was an answer".to_owned(),
        Status::Good => unreachable!("it did not fail"),
    };
    format!("{job} ended after {:.6} s: {why}", Duration::from_nanos(failure.at_ns).as_secs_f64())
}

/// The requests completed since the last call, also after the end.
fn take_requests(state: &mut State) -> Option<Vec<Chunk>> {
    match state {
        State::Running(bench) => lock(bench).run.as_mut().and_then(Run::take_requests),
        State::Over { requests, .. } => requests.as_mut().map(std::mem::take),
    }
}

fn end(state: &State) {
    let State::Running(bench) = state else {
        return;
    };
    if let Some(run) = &mut lock(bench).run {
        run.end();
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
