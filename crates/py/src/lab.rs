//! `Lab`: a User-Mode Linux guest's clock and drives.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use drive::faults::FaultsError;
use drive::{BlockDevice, Drive};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serve::lab::{
    self, DriveReport, FrontKind, Guest, Identity, Kept, LabError, LabOptions, LabReport, Limits, Outcome,
};

use crate::errors::{self, read_profile};
use crate::faults::faults_of;

/// See the stub for the contract.
#[pyclass(frozen, module = "shakedown._core")]
pub struct Lab {
    lab: Mutex<lab::Lab>,
}

/// A drive as Python describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct DriveOrder {
    profile_toml: String,
    seed: u64,
    scale_divisor: u32,
    front: String,
    serial: String,
    store_path: Option<PathBuf>,
    faults_toml: String,
    #[pyo3(default)]
    power_may_fail: bool,
    #[pyo3(default)]
    history_path: Option<PathBuf>,
}

#[pymethods]
impl Lab {
    #[new]
    #[pyo3(signature = (folder, drives, *, spill_folder = None, memory_bytes = 2 << 30, trace_path = None))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        drives: Vec<DriveOrder>,
        spill_folder: Option<PathBuf>,
        memory_bytes: u64,
        trace_path: Option<PathBuf>,
    ) -> PyResult<Self> {
        let drives = drives.into_iter().map(|order| drive(py, order)).collect::<PyResult<Vec<_>>>()?;
        let mut options = LabOptions { memory_bytes, trace_path, ..LabOptions::new(&folder) };
        options.spill_folder = spill_folder.unwrap_or(options.spill_folder);
        let lab = lab::Lab::new(drives, &options).map_err(|error| lab_error(&error))?;
        Ok(Self { lab: Mutex::new(lab) })
    }

    #[getter]
    fn kernel_arguments(&self) -> PyResult<Vec<String>> {
        Ok(lock(&self.lab)?.kernel_arguments())
    }

    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(lock(&self.lab)?.now_ns())
    }

    #[getter]
    fn drives<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let identities: Vec<Identity> = lock(&self.lab)?.identities().cloned().collect();
        let drives = identities.iter().map(|identity| identity_to_dict(py, identity));
        PyList::new(py, drives.collect::<PyResult<Vec<_>>>()?)
    }

    #[getter]
    fn time_of_day_ns(&self) -> PyResult<u64> {
        Ok(lock(&self.lab)?.time_of_day_ns())
    }

    fn end(&self, py: Python<'_>) -> PyResult<()> {
        let mut lab = lock(&self.lab)?;
        let lab = &mut *lab;
        py.detach(|| lab.end()).map_err(|error| lab_error(&error))
    }

    #[pyo3(signature = (*, off_ns))]
    fn power_cycle(&self, py: Python<'_>, off_ns: u64) -> PyResult<()> {
        let mut lab = lock(&self.lab)?;
        if lab.now_ns().checked_add(off_ns).is_none_or(|on_ns| on_ns > LAST_NS) {
            return Err(PyValueError::new_err("power that comes back later than in a hundred years never comes back"));
        }
        let lab = &mut *lab;
        py.detach(|| lab.power_cycle(off_ns)).map_err(|error| lab_error(&error))
    }

    #[pyo3(signature = (guest_pid, *, wall_limit_s = None, stall_limit_s = 60.0, pin_cpu = None, on_tick = None,
        power_cut_at_ns = None))]
    #[expect(clippy::too_many_arguments, reason = "one for each limit, by name")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        guest_pid: i32,
        wall_limit_s: Option<f64>,
        stall_limit_s: f64,
        pin_cpu: Option<usize>,
        on_tick: Option<Py<PyAny>>,
        power_cut_at_ns: Option<u64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let limits = Limits {
            wall: wall_limit_s.map(span).transpose()?,
            silence: span(stall_limit_s)?,
            cpu: pin_cpu,
            power_cut_ns: power_cut_at_ns,
        };
        let guest = Guest::of_process(guest_pid)?;
        let mut interruption = Ok(());
        // Signals reach Python's main thread only, which is this one: it looks at them itself.
        let mut go_on = || {
            interruption = Python::attach(|py| {
                if let Some(tick) = &on_tick {
                    tick.call0(py)?;
                }
                py.check_signals()
            });
            interruption.is_ok()
        };
        let mut lab = lock(&self.lab)?;
        let lab = &mut *lab;
        let report = py.detach(|| lab.run(Some(&guest), &limits, &mut go_on));
        interruption?;
        report_to_dict(py, &report.map_err(|error| lab_error(&error))?)
    }
}

/// A hundred years: beyond them times would not fit into their 64 bits.
const LAST_NS: u64 = 100 * 365 * 86_400 * 1_000_000_000;

/// Locks a lab, unless it runs: whoever asks may be what it calls, and would wait for itself. A panic while it was locked has
/// already been raised.
fn lock(lab: &Mutex<lab::Lab>) -> PyResult<MutexGuard<'_, lab::Lab>> {
    match lab.try_lock() {
        Ok(lab) => Ok(lab),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(errors::LabError::new_err("the lab serves a guest: ask it afterwards")),
    }
}

fn span(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|_| PyValueError::new_err("a limit must be a positive time"))
}

fn drive(py: Python<'_>, order: DriveOrder) -> PyResult<lab::LabDrive> {
    let profile = read_profile(py, &order.profile_toml, order.scale_divisor)?;
    let drive = Drive::new(&profile, order.seed);
    let (device, history): (Box<dyn BlockDevice + Send>, _) = match &order.history_path {
        None => (Box::new(drive), None),
        Some(path) => {
            let (kept, history) = py.detach(|| Kept::resume(drive, path)).map_err(|error| lab_error(&error))?;
            (Box::new(kept), Some(history))
        }
    };
    let refused = |error: FaultsError| PyValueError::new_err(error.to_string());
    let (device, unplugged) = match order.faults_toml.as_str() {
        "" => (device, Vec::new()),
        text => {
            let faults = faults_of(text).map_err(PyValueError::new_err)?;
            (faults.wrap(device).map_err(refused)?, faults.unplugged())
        }
    };
    let front = match order.front.as_str() {
        "scsi" => FrontKind::Scsi,
        "blk" => FrontKind::Blk,
        other => return Err(PyValueError::new_err(format!("front is {other:?}: \"scsi\" or \"blk\" is expected"))),
    };
    if front == FrontKind::Blk && !unplugged.is_empty() {
        return Err(PyValueError::new_err("virtio-blk cannot be told that a drive is unplugged: --bus scsi"));
    }
    let identity = Identity::new(&profile, order.seed, &order.serial);
    let DriveOrder { store_path, power_may_fail, .. } = order;
    Ok(lab::LabDrive {
        identity,
        front,
        store_path,
        power_may_fail,
        unplugged,
        history,
        ..lab::LabDrive::new(&profile, order.seed, device)
    })
}

/// What the machine does not give is an `OSError`, with its number where a drive's data finds no room; what nobody should ever
/// see is a `LabError`.
fn lab_error(error: &LabError) -> PyErr {
    match error {
        LabError::Protocol(_) => errors::LabError::new_err(error.to_string()),
        LabError::Data(source) => PyOSError::new_err((source.raw_os_error(), error.to_string())),
        _ => PyOSError::new_err(error.to_string()),
    }
}

fn report_to_dict<'py>(py: Python<'py>, report: &LabReport) -> PyResult<Bound<'py, PyDict>> {
    let outcome = match report.outcome {
        Outcome::Ended => "ended",
        Outcome::WallLimit => "wall_limit",
        Outcome::Loops => "loops",
        Outcome::Hangs => "hangs",
        Outcome::Rebooted => "rebooted",
        Outcome::Deadlock => "deadlock",
        Outcome::PowerCut => "power_cut",
        Outcome::Interrupted => "interrupted",
    };
    let dict = PyDict::new(py);
    dict.set_item("outcome", outcome)?;
    dict.set_item("virtual_ns", report.virtual_ns)?;
    dict.set_item("wall_ns", report.wall_ns)?;
    dict.set_item("boot_wall_ns", report.boot_wall_ns)?;
    dict.set_item("trace_hash", format!("{:016x}", report.trace_hash))?;
    dict.set_item("messages", report.messages)?;
    dict.set_item("interrupts", report.interrupts)?;
    let drives = report.drives.iter().map(|drive| drive_to_dict(py, drive)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("drives", drives)?;
    Ok(dict)
}

fn drive_to_dict<'py>(py: Python<'py>, drive: &DriveReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = identity_to_dict(py, &drive.identity)?;
    let counters = &drive.counters;
    for (name, count) in [
        ("reads", counters.reads),
        ("writes", counters.writes),
        ("flushes", counters.flushes),
        ("trims", counters.trims),
        ("others", counters.others),
        ("read_bytes", counters.read_bytes),
        ("written_bytes", counters.written_bytes),
        ("errors", counters.errors),
        ("aborted", counters.aborted),
        ("resets", counters.resets),
        ("most_outstanding", counters.most_outstanding),
        ("longest_ns", counters.longest_ns),
        ("stored_bytes", drive.memory_bytes + drive.file_bytes),
        ("spilled_bytes", drive.file_bytes),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("faults_met", &drive.faults_met)?;
    Ok(dict)
}

fn identity_to_dict<'py>(py: Python<'py>, identity: &Identity) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("model", &identity.model)?;
    dict.set_item("serial", &identity.serial)?;
    dict.set_item("wwn", format!("0x{:016x}", identity.wwn))?;
    dict.set_item("capacity_bytes", identity.capacity_bytes)?;
    Ok(dict)
}
