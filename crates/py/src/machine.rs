//! A host with one modelled drive.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use drive::{BlockDevice, Drive, Profile, Truth};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use workload::{JobFile, Run};

use crate::bench::{lock, Bench};
use crate::errors::{job_error, profile_error};
use crate::load::Load;
use crate::play::{play, Requests};

/// A host with one modelled drive and a virtual clock that starts at zero.
#[pyclass(frozen, module = "shakedown._core")]
pub struct Machine {
    bench: Arc<Mutex<Bench>>,
    model: String,
}

#[pymethods]
impl Machine {
    #[new]
    #[pyo3(signature = (profile_toml, *, seed, scale_divisor = 1))]
    fn new(py: Python<'_>, profile_toml: &str, seed: u64, scale_divisor: u32) -> PyResult<Self> {
        let profile = Profile::parse(profile_toml)
            .and_then(|profile| profile.scaled(scale_divisor))
            .map_err(|error| profile_error(py, &error))?;
        let model = profile.identity.model.clone();
        let drive = py.detach(|| Drive::new(&profile, seed));
        let bench = Bench { drive, now_ns: 0, run: None };
        Ok(Self { bench: Arc::new(Mutex::new(bench)), model })
    }

    #[getter]
    fn capacity_bytes(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.bench).drive.capacity_bytes())
    }

    #[getter]
    fn now_ns(&self, py: Python<'_>) -> u64 {
        py.detach(|| lock(&self.bench).now_ns)
    }

    #[getter]
    fn model(&self) -> &str {
        &self.model
    }

    fn start(&self, py: Python<'_>, job: &str, interval_ns: u64, seed: u64) -> PyResult<Load> {
        if interval_ns == 0 {
            return Err(PyValueError::new_err("interval_ns must be at least 1"));
        }
        py.detach(|| {
            let mut bench = lock(&self.bench);
            if bench.run.is_some() {
                return Ok(false);
            }
            let file = JobFile::parse(job, bench.drive.capacity_bytes())?;
            bench.run = Some(Run::start(file, bench.now_ns, interval_ns, seed));
            Ok(true)
        })
        .map_err(|error| job_error(py, &error))
        .and_then(|started| match started {
            true => Ok(Load::new(Arc::clone(&self.bench))),
            false => Err(PyRuntimeError::new_err("a job is already running on this machine")),
        })
    }

    #[pyo3(signature = (verbs, offsets, lengths, depth = 1))]
    fn play<'py>(
        &self,
        py: Python<'py>,
        verbs: &[u8],
        offsets: &[u8],
        lengths: &[u8],
        depth: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let requests = Requests::decode(verbs, offsets, lengths)?;
        let played = py.detach(|| play(&mut lock(&self.bench), &requests, depth))?;
        Ok(played.encode(py))
    }

    fn idle(&self, py: Python<'_>, duration_ns: u64) -> PyResult<()> {
        let idled = py.detach(|| {
            let mut bench = lock(&self.bench);
            if bench.run.is_some() {
                return false;
            }
            bench.now_ns = bench.now_ns.saturating_add(duration_ns);
            let to_ns = bench.now_ns;
            bench.drive.advance(to_ns, &mut Vec::new());
            true
        });
        match idled {
            true => Ok(()),
            false => Err(PyRuntimeError::new_err("a job is running on this machine")),
        }
    }

    fn truth(&self, py: Python<'_>) -> BTreeMap<&'static str, u64> {
        py.detach(|| counts(lock(&self.bench).drive.truth()))
    }
}

/// Names every count of the drive; a new one does not compile until it is named here.
fn counts(truth: Truth) -> BTreeMap<&'static str, u64> {
    let Truth {
        seeks,
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
        stream_bytes,
        streams_broken,
        forced_passes,
    } = truth;
    BTreeMap::from([
        ("seeks", seeks),
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
        ("stream_bytes", stream_bytes),
        ("streams_broken", streams_broken),
        ("forced_passes", forced_passes),
    ])
}
