//! A rebuild from one order to one answer, both plain dictionaries.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use array::md::{Arrangement, Options};
use array::{Ended, Layout, LayoutError, MemberShare, Progress};
use drive::faults::Faults;
use drive::{BlockDevice, Drive, Profile};
use pyo3::exceptions::PyInterruptedError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use workload::rebuild::{rebuild_telling, wear, Felt, Order, RebuildError, Report, Stopped, Told};

use crate::errors::{job_error, read_profile, ArrayError};
use crate::faults::faults_of;
use crate::load::{tuple, RowTuple};

/// Seeds of members are that far from each other, so that those of neighbouring arrays do not meet.
pub(crate) const SEEDS_APART: u64 = 1000;

/// How far a rebuild is, for who waits for it in another thread, and may end it from there.
#[pyclass(frozen, module = "shakedown._core")]
#[derive(Default)]
pub struct Share {
    done: AtomicU64,
    stopped: AtomicBool,
}

impl Share {
    pub(crate) fn tell(&self, done: f64) -> Result<(), Stopped> {
        self.done.store(done.to_bits(), Ordering::Relaxed);
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(Stopped),
            false => Ok(()),
        }
    }
}

#[pymethods]
impl Share {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn done(&self) -> f64 {
        f64::from_bits(self.done.load(Ordering::Relaxed))
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// See the stub for the order and the answer.
#[pyfunction]
pub fn rebuild<'py>(py: Python<'py>, order: Given, share: &Bound<'py, Share>) -> PyResult<Bound<'py, PyDict>> {
    let wanted = Wanted::read(py, order)?;
    let share = share.get();
    let report = py.detach(|| {
        let told: &mut Told = &mut |done| share.tell(done);
        rebuild_telling(&wanted.order(told)?, told)
    });
    answer(py, &report.map_err(|error| refusal(py, error))?)
}

/// The order as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Given {
    layout: String,
    profiles: Vec<String>,
    scale_divisor: u32,
    faults: Vec<Option<String>>,
    options: Changes,
    member_bytes: u64,
    fill: f64,
    replacement: usize,
    used: bool,
    load: Option<String>,
    seed: u64,
    whole: bool,
}

/// The order, its texts read.
struct Wanted {
    profiles: Vec<Profile>,
    faults: Vec<Option<Faults>>,
    layout: Layout,
    given: Given,
}

/// Options that are not md's defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Changes {
    chunk_bytes: Option<u64>,
    rotation: Option<String>,
    copies: Option<(usize, usize, bool)>,
    stripe_cache: Option<u64>,
    stripe_cache_most: Option<u64>,
    speed_min_bytes_per_s: Option<u64>,
    speed_max_bytes_per_s: Option<u64>,
    bitmap: Option<bool>,
    read_modify_write: Option<bool>,
    max_request_bytes: Option<u64>,
    max_segments: Option<u64>,
    jiffy_ns: Option<u64>,
    processors: Option<u32>,
    command_timeout_ns: Option<u64>,
    journal_at_bytes: Option<u64>,
    mounted_before_ns: Option<u64>,
}

impl Changes {
    /// The options, changed.
    pub(crate) fn applied(&self, mut options: Options) -> Result<Options, LayoutError> {
        macro_rules! take {
            ($($name:ident),*) => { $(if let Some(value) = self.$name { options.$name = value; })* };
        }
        take!(chunk_bytes, stripe_cache, stripe_cache_most, speed_min_bytes_per_s, speed_max_bytes_per_s);
        take!(
            bitmap,
            read_modify_write,
            max_request_bytes,
            max_segments,
            jiffy_ns,
            processors,
            command_timeout_ns,
            mounted_before_ns
        );
        options.journal_at_bytes = self.journal_at_bytes.or(options.journal_at_bytes);
        options.stripe_cache_most = options.stripe_cache_most.max(options.stripe_cache);
        if let Some(rotation) = &self.rotation {
            if options.parity_count() == 0 {
                return Err(LayoutError::value(
                    "rotation",
                    rotation,
                    format!("{} has no parity", options.layout.name()),
                ));
            }
            options.arrangement = Arrangement::Parity(rotation.parse()?);
        }
        if let Some((near, far, offset)) = self.copies {
            if options.layout != Layout::Raid10 {
                return Err(LayoutError::value("copies", near * far, "only raid10 has them to choose"));
            }
            options.arrangement = Arrangement::Copies { near, far, offset };
        }
        options.check()?;
        Ok(options)
    }
}

/// The members' profiles, of which most are alike.
pub(crate) fn read_profiles(py: Python<'_>, texts: &[String], scale_divisor: u32) -> PyResult<Vec<Profile>> {
    let mut profiles: Vec<Profile> = Vec::with_capacity(texts.len());
    for (at, text) in texts.iter().enumerate() {
        let alike = texts[..at].iter().position(|other| other == text);
        profiles.push(match alike {
            Some(other) => profiles[other].clone(),
            None => read_profile(py, text, scale_divisor)?,
        });
    }
    Ok(profiles)
}

/// What goes wrong with each member.
pub(crate) fn read_faults(texts: &[Option<String>]) -> PyResult<Vec<Option<Faults>>> {
    let parse = |text: &String| faults_of(text).map_err(ArrayError::new_err);
    texts.iter().map(|text| text.as_ref().map(parse).transpose()).collect()
}

impl Wanted {
    fn read(py: Python<'_>, given: Given) -> PyResult<Self> {
        Ok(Self {
            layout: given.layout.parse().map_err(|error: LayoutError| ArrayError::new_err(error.to_string()))?,
            faults: read_faults(&given.faults)?,
            profiles: read_profiles(py, &given.profiles, given.scale_divisor)?,
            given,
        })
    }

    fn order(&self, told: &mut Told) -> Result<Order, RebuildError> {
        let Given { member_bytes, replacement, seed, fill, whole, used, .. } = self.given;
        let options = Options::new(self.layout, self.profiles.len(), member_bytes)?;
        let options = Options { seed, ..self.given.options.applied(options)? };
        let seeds = seed.wrapping_mul(SEEDS_APART);
        let mut drives: Vec<Drive> =
            (seeds..).zip(&self.profiles).map(|(seed, profile)| Drive::new(profile, seed)).collect();
        let mut start_ns = 0;
        if let Some(worn) = drives.get_mut(replacement).filter(|_| used) {
            let bytes = member_bytes.min(worn.capacity_bytes());
            start_ns = wear(worn, bytes, seed, told)?;
        }
        let (faults, load) = (self.faults.clone(), self.given.load.clone());
        Ok(Order { options, drives, replacement, faults, start_ns, load, fill, seed, whole })
    }
}

pub(crate) fn refusal(py: Python<'_>, error: RebuildError) -> PyErr {
    match error {
        RebuildError::Job(error) => job_error(py, &error),
        RebuildError::Stopped(stopped) => PyInterruptedError::new_err(stopped.to_string()),
        other => ArrayError::new_err(other.to_string()),
    }
}

pub(crate) fn answer<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let outcome = &report.outcome;
    let told = PyDict::new(py);
    let (ended, lost_bytes, failed_member) = match outcome.ended {
        Ended::Complete => ("complete", 0, None),
        Ended::WithLosses { lost_bytes } => ("with-losses", lost_bytes, None),
        Ended::Failed { member, .. } => ("failed", 0, Some(member)),
    };
    told.set_item("began_ns", report.began_ns)?;
    told.set_item("duration_ns", outcome.duration_ns)?;
    told.set_item("ended", ended)?;
    told.set_item("lost_bytes", lost_bytes)?;
    told.set_item("failed_member", failed_member)?;
    told.set_item("replacement", outcome.replacement)?;
    told.set_item("done", outcome.done)?;
    told.set_item("unguarded_bytes", outcome.unguarded_bytes)?;
    told.set_item("whole", report.whole)?;
    told.set_item("requests", report.requests)?;
    let members = outcome.members.iter().map(|share| member(py, share)).collect::<PyResult<Vec<_>>>()?;
    told.set_item("members", PyList::new(py, members)?)?;
    told.set_item("progress", progress(py, &outcome.progress)?)?;
    told.set_item("during", rows(&report.during))?;
    told.set_item("alone", rows(&report.alone))?;
    told.set_item("felt_during", all_felt(py, &report.felt_during)?)?;
    told.set_item("felt_alone", all_felt(py, &report.felt_alone)?)?;
    Ok(told)
}

fn member<'py>(py: Python<'py>, share: &MemberShare) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    let counters = share.counters;
    told.set_item("awaited", share.awaited)?;
    told.set_item("failed_at_ns", share.failed_at_ns)?;
    told.set_item("bytes_read", counters.bytes_read)?;
    told.set_item("bytes_written", counters.bytes_written)?;
    told.set_item("is_faulted", share.is_faulted)?;
    told.set_item("requests", counters.requests)?;
    told.set_item("timeouts", counters.timeouts)?;
    told.set_item("bad_places", counters.bad_places)?;
    told.set_item("faults_met", counters.faults_met)?;
    told.set_item("busy_ns", counters.busy_ns)?;
    told.set_item("longest_ns", counters.longest_ns)?;
    told.set_item("longest_command_ns", counters.longest_command_ns)?;
    told.set_item("longest_flush_ns", counters.longest_flush_ns)?;
    told.set_item("longest_flush_asked_ns", counters.longest_flush_asked_ns)?;
    told.set_item("longest_silence_ns", counters.longest_silence_ns)?;
    Ok(told)
}

fn progress<'py>(py: Python<'py>, progress: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    let points = &progress.points;
    told.set_item("at_ns", points.iter().map(|point| point.at_ns).collect::<Vec<_>>())?;
    told.set_item("done_bytes", points.iter().map(|point| point.done_bytes).collect::<Vec<_>>())?;
    let speeds: Vec<f64> = points.iter().map(|point| point.shown_bytes_per_s).collect();
    told.set_item("shown_bytes_per_s", speeds)?;
    told.set_item("left_ns", points.iter().map(|point| point.left_ns).collect::<Vec<_>>())?;
    Ok(told)
}

fn rows(rows: &[workload::Row]) -> Vec<RowTuple> {
    rows.iter().map(|row| tuple(*row)).collect()
}

fn all_felt<'py>(py: Python<'py>, felt: &[Felt]) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let one = |felt: &Felt| {
        let told = PyDict::new(py);
        told.set_item("direction", felt.direction.name())?;
        told.set_item("count", felt.count)?;
        told.set_item("mean_ns", felt.mean_ns)?;
        told.set_item("p50_ns", felt.p50_ns)?;
        told.set_item("p99_ns", felt.p99_ns)?;
        told.set_item("p999_ns", felt.p999_ns)?;
        told.set_item("max_ns", felt.max_ns)?;
        Ok(told)
    };
    felt.iter().map(one).collect()
}
