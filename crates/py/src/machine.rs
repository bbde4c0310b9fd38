//! A host with one modelled drive or array.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use array::md::Array;
use array::nas::StorageBox;
use drive::faults::Impatient;
use drive::{Drive, Truth};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use workload::{JobFile, Run, Trace};

use crate::bench::{lock, Bench, Tested};
use crate::errors::{array_error, job_error, read_profile, trace_error, with_line};
use crate::faults::faults_of;
use crate::load::{Load, LOOK_EVERY};
use crate::storage_box::Given;
use crate::trace::{replay_of, requests_of};

/// So long a drive is left alone between two looks at the clock; it tidies up meanwhile.
const IDLE_NS: u64 = 60_000_000_000;

/// A host with one modelled drive or array, and a virtual clock that starts at zero.
#[pyclass(frozen, module = "shakedown._core")]
pub struct Machine {
    bench: Arc<Mutex<Bench>>,
    model: String,
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (profile_toml, *, seed, scale_divisor = 1, faults_toml = None, host_timeout_ns = u64::MAX))]
    fn new(
        py: Python<'_>,
        profile_toml: &str,
        seed: u64,
        scale_divisor: u32,
        faults_toml: Option<&str>,
        host_timeout_ns: u64,
    ) -> PyResult<Self> {
        let profile = read_profile(py, profile_toml, scale_divisor)?;
        let model = profile.identity.model.clone();
        let drive = py.detach(|| Drive::new(&profile, seed));
        let Some(text) = faults_toml else {
            return Ok(Self::with(Tested::Drive(Box::new(drive)), model));
        };
        let faulty = faults_of(text)
            .and_then(|faults| faults.wrap(drive).map_err(|error| with_line(&error, text, error.key())))
            .map_err(PyValueError::new_err)?;
        Ok(Self::with(Tested::Faulty(Impatient::around(faulty, host_timeout_ns)), model))
    }

    #[staticmethod]
    fn storage_box(py: Python<'_>, order: Given) -> PyResult<Self> {
        let wanted = order.read(py)?;
        let model = wanted.model();
        let tested: Result<StorageBox<Array<Drive>>, _> = py.detach(|| wanted.build());
        let tested = tested.map_err(|error| array_error(&error))?;
        Ok(Self::with(Tested::Box(Box::new(tested)), model))
    }

    #[getter]
    fn capacity_bytes(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.bench).tested.capacity_bytes())
    }

    #[getter]
    fn now_ns(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.bench).now_ns)
    }

    #[getter]
    fn model(&self) -> &str {
        &self.model
    }

    #[pyo3(signature = (job, interval_ns, seed, log_requests = false, like_lab = false))]
    fn start(
        &self,
        py: Python<'_>,
        job: &str,
        interval_ns: u64,
        seed: u64,
        log_requests: bool,
        like_lab: bool,
    ) -> PyResult<Load> {
        let interval_ns = checked(interval_ns)?;
        let begun = py.detach(|| {
            self.begin(log_requests, |capacity_bytes, now_ns| {
                let file = JobFile::parse(job, capacity_bytes)?;
                Ok(if like_lab {
                    Run::start(file.like_fio(), now_ns, interval_ns, seed).through_linux()
                } else {
                    Run::start(file, now_ns, interval_ns, seed)
                })
            })
        });
        begun.map_err(|error| job_error(py, &error))?.ok_or_else(busy)
    }

    #[pyo3(signature = (
        submitted_ns, verb, offset_bytes, length_bytes, interval_ns, *, speed = 1.0, depth = None, log_requests = false
    ))]
    #[expect(clippy::too_many_arguments, reason = "four columns and how to play them")]
    fn replay(
        &self,
        py: Python<'_>,
        submitted_ns: &[u8],
        verb: &[u8],
        offset_bytes: &[u8],
        length_bytes: &[u8],
        interval_ns: u64,
        speed: f64,
        depth: Option<u32>,
        log_requests: bool,
    ) -> PyResult<Load> {
        let interval_ns = checked(interval_ns)?;
        let replay = replay_of(speed, depth)?;
        let requests = py.detach(|| requests_of(submitted_ns, verb, offset_bytes, length_bytes))?;
        let begun = py.detach(|| {
            self.begin(log_requests, |capacity_bytes, now_ns| {
                Ok(Run::replay(Trace::new(requests, capacity_bytes)?, replay, now_ns, interval_ns))
            })
        });
        begun.map_err(|error| trace_error(py, &error))?.ok_or_else(busy)
    }

    fn idle(&self, py: Python<'_>, duration_ns: u64) -> PyResult<()> {
        let to_ns = self.now_ns(py).saturating_add(duration_ns);
        while py.detach(|| self.idle_for(LOOK_EVERY, to_ns))? {
            py.check_signals()?;
        }
        Ok(())
    }

    fn losses(&self, py: Python<'_>) -> Vec<(u64, u64, u64)> {
        py.detach(|| {
            let bench = lock(&self.bench);
            let lost =
                bench.tested.losses().iter().flat_map(|lost| lost.ranges.iter().map(|range| (lost.at_ns, range)));
            lost.map(|(at_ns, range)| (at_ns, range.start, range.end - range.start)).collect()
        })
    }

    fn truth(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        py.detach(|| {
            let mut sums = BTreeMap::new();
            for truth in lock(&self.bench).tested.truths() {
                for (name, count) in counts(truth) {
                    *sums.entry(name).or_default() += count;
                }
            }
            sums
        })
    }
}

impl Machine {
    fn with(tested: Tested, model: String) -> Self {
        let bench = Bench { tested, now_ns: 0, run: None };
        Self { bench: Arc::new(Mutex::new(bench)), model }
    }

    /// Leaves it alone until `to_ns`, but no longer than that by the clock on the wall; returns whether there is more to do.
    fn idle_for(&self, time: Duration, to_ns: u64) -> PyResult<bool> {
        let mut bench = lock(&self.bench);
        if bench.run.is_some() {
            return Err(busy());
        }
        let began = Instant::now();
        while bench.now_ns < to_ns && began.elapsed() < time {
            bench.now_ns = to_ns.min(bench.now_ns.saturating_add(IDLE_NS));
            let now_ns = bench.now_ns;
            bench.tested.idle(now_ns);
        }
        Ok(bench.now_ns < to_ns)
    }

    /// Begins the load that `make` makes of the capacity and the time; `None` while another one runs.
    fn begin<E>(&self, log_requests: bool, make: impl FnOnce(u64, u64) -> Result<Run, E>) -> Result<Option<Load>, E> {
        let mut bench = lock(&self.bench);
        if bench.run.is_some() {
            return Ok(None);
        }
        let run = make(bench.tested.capacity_bytes(), bench.now_ns)?;
        bench.run = Some(if log_requests { run.log_requests() } else { run });
        Ok(Some(Load::new(Arc::clone(&self.bench))))
    }
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("a load is running on this machine")
}

fn checked(interval_ns: u64) -> PyResult<u64> {
    if interval_ns == 0 {
        return Err(PyValueError::new_err("interval_ns must be at least 1"));
    }
    Ok(interval_ns)
}

/// Names every count of the drive; a new one does not compile until it is named here.
fn counts(truth: Truth) -> BTreeMap<&'static str, u64> {
    let Truth {
        seeks,
        spin_ups,
        cached_packets,
        bands_moved,
        completed,
        dram_dirty_bytes,
        dram_read_hits,
        unparks,
        cached_bytes,
        cached_entries,
        log_bytes,
        dirty_bands,
        bands_cleaned,
        bytes_cleaned,
        bytes_cached,
        bytes_overwritten,
        cache_appends,
        cache_visits,
        stream_bytes,
        streams_broken,
        forced_passes,
    } = truth;
    BTreeMap::from([
        ("seeks", seeks),
        ("spin_ups", spin_ups),
        ("cached_packets", cached_packets),
        ("bands_moved", bands_moved),
        ("completed", completed),
        ("dram_dirty_bytes", dram_dirty_bytes),
        ("dram_read_hits", dram_read_hits),
        ("unparks", unparks),
        ("cached_bytes", cached_bytes),
        ("cached_entries", cached_entries),
        ("log_bytes", log_bytes),
        ("dirty_bands", dirty_bands),
        ("bands_cleaned", bands_cleaned),
        ("bytes_cleaned", bytes_cleaned),
        ("bytes_cached", bytes_cached),
        ("bytes_overwritten", bytes_overwritten),
        ("cache_appends", cache_appends),
        ("cache_visits", cache_visits),
        ("stream_bytes", stream_bytes),
        ("streams_broken", streams_broken),
        ("forced_passes", forced_passes),
    ])
}
