//! `serve_nbd`: a modelled drive served in real time until Python is interrupted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use drive::Drive;
use pyo3::exceptions::{PyFileExistsError, PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serve::{nbd, Options, Report, ServeError, Store, StoreError};

use crate::errors::read_profile;

/// How often Python gets to look at its signals.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(100);

/// See the stub for the contract.
#[pyfunction]
#[pyo3(signature = (
    profile_toml, socket_path, *, description, seed, scale_divisor = 1, store_path = None, on_listening = None
))]
#[expect(clippy::too_many_arguments, reason = "by name, on Python's side")]
pub fn serve_nbd<'py>(
    py: Python<'py>,
    profile_toml: &str,
    socket_path: PathBuf,
    description: String,
    seed: u64,
    scale_divisor: u32,
    store_path: Option<PathBuf>,
    on_listening: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let profile = read_profile(py, profile_toml, scale_divisor)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (server_end, news) = mpsc::channel();
    let options = Options {
        socket_path,
        export_name: profile.name.clone(),
        description,
        store: open_store(store_path, profile.capacity_bytes())?,
        listening: Some(server_end.clone()),
        stop: Arc::clone(&stop),
    };
    let server = move || {
        // Dropped when the server ends, however it ends: that wakes the one who waits.
        let _alive = server_end;
        nbd::serve(Drive::new(&profile, seed), options)
    };
    let report = until_interrupted(py, &stop, news, on_listening.as_ref(), server)?;
    report_to_dict(py, &report.map_err(|error| serve_error(&error))?)
}

fn open_store(path: Option<PathBuf>, capacity_bytes: u64) -> PyResult<Store> {
    let store = match path {
        Some(path) => Store::named(&path, capacity_bytes),
        None => Store::temporary(capacity_bytes),
    };
    store.map_err(|error| match error {
        StoreError::Io { .. } => PyOSError::new_err(error.to_string()),
        _ => PyFileExistsError::new_err(error.to_string()),
    })
}

/// What somebody else has at the path is a `FileExistsError`: the caller may want to tell it from a failure.
fn serve_error(error: &ServeError) -> PyErr {
    match error {
        ServeError::InUse(_) | ServeError::NotASocket(_) => PyFileExistsError::new_err(error.to_string()),
        _ => PyOSError::new_err(error.to_string()),
    }
}

/// Runs the server in a thread of its own, because signals reach Python's main thread only. A keyboard interrupt is the
/// way to end it; whatever else a signal handler raises ends it, too, and goes on.
fn until_interrupted(
    py: Python<'_>,
    stop: &AtomicBool,
    mut news: Receiver<()>,
    on_listening: Option<&Bound<'_, PyAny>>,
    server: impl FnOnce() -> Result<Report, ServeError> + Send + 'static,
) -> PyResult<Result<Report, ServeError>> {
    let thread = thread::spawn(server);
    let mut interruption = Ok(());
    while interruption.is_ok() {
        let outcome;
        // A receiver may be moved into the part without the GIL, but not be shared with it.
        (outcome, news) = py.detach(move || (news.recv_timeout(SIGNAL_INTERVAL), news));
        interruption = match (outcome, on_listening) {
            (Err(RecvTimeoutError::Disconnected), _) => break,
            (Ok(()), Some(tell)) => tell.call0().map(drop),
            _ => py.check_signals(),
        };
    }
    stop.store(true, Ordering::Relaxed);
    let report = py.detach(|| thread.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    match interruption {
        Err(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        _ => Ok(report),
    }
}

fn report_to_dict<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("requests", report.requests)?;
    dict.set_item("errors", report.errors)?;
    dict.set_item("connections", report.connections)?;
    dict.set_item("refused_connections", report.refused_connections)?;
    dict.set_item("store_failures", report.store_failures)?;
    dict.set_item("spoiled", report.spoiled)?;
    for (name, times) in [("modelled", report.modelled), ("lateness", report.lateness)] {
        dict.set_item(format!("{name}_p50_ns"), times.p50_ns)?;
        dict.set_item(format!("{name}_p99_ns"), times.p99_ns)?;
        dict.set_item(format!("{name}_max_ns"), times.max_ns)?;
    }
    dict.set_item("doubt", report.doubt())?;
    Ok(dict)
}
