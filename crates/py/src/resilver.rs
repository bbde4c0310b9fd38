//! A ZFS resilver from one order to one answer, both plain dictionaries.

use array::zfs::{Content, Files, Geometry, Host, Order, Plan, Sampling, Tunables, PARTITION_AT_BYTES};
use array::{Layout, LayoutError};
use drive::faults::Faults;
use drive::{BlockDevice, Drive, Profile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use workload::rebuild::{resilver_telling, wear, RebuildError, ResilverOrder, Resilvered, Told};

use crate::errors::array_error;
use crate::rebuild::{answer as told_of, read_faults, read_profiles, refusal, Share, SEEDS_APART};

/// A shingled drive's bands in a window of a sample: those cut by its borders are few among them.
const BANDS_IN_WINDOW: u64 = 16;
/// Strata where windows are as long.
const FEW_STRATA: u64 = 12;
/// A persistent cache has surely been filled and filled anew when so many times its size has been written: two fifths of a resilver's
/// writes pass it by as streams.
const CACHES_FIRST: f64 = 2.0;

/// See the stub for the order and the answer.
#[pyfunction]
pub fn resilver<'py>(py: Python<'py>, order: Given, share: &Bound<'py, Share>) -> PyResult<Bound<'py, PyDict>> {
    let profiles = read_profiles(py, &order.profiles, order.scale_divisor)?;
    let faults = read_faults(&order.faults)?;
    let share = share.get();
    let done = py.detach(|| {
        let told: &mut Told = &mut |done| share.tell(done);
        resilver_telling(&order.order(&profiles, faults, told)?, told)
    });
    answer(py, &done.map_err(|error| refusal(py, error))?)
}

/// The order as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Given {
    layout: String,
    profiles: Vec<String>,
    scale_divisor: u32,
    faults: Vec<Option<String>>,
    member_bytes: u64,
    fill: f64,
    record_bytes: u64,
    run_records: Option<u64>,
    file_bytes: Option<u64>,
    ashift: u32,
    draid: Option<(u64, u64)>,
    replacement: usize,
    spare: Option<u64>,
    order: String,
    release: String,
    host: (u64, Option<u64>, u32, Option<f64>, Option<u64>),
    used: bool,
    load: Option<String>,
    second_failure: Option<(usize, u64)>,
    seed: u64,
    whole: bool,
}

impl Given {
    fn order(
        &self,
        profiles: &[Profile],
        faults: Vec<Option<Faults>>,
        told: &mut Told,
    ) -> Result<ResilverOrder, RebuildError> {
        let seeds = self.seed.wrapping_mul(SEEDS_APART);
        let mut drives: Vec<Drive> = (seeds..).zip(profiles).map(|(seed, profile)| Drive::new(profile, seed)).collect();
        let mut start_ns = 0;
        if let Some(worn) = drives.get_mut(self.replacement).filter(|_| self.used) {
            let bytes = self.member_bytes.min(worn.capacity_bytes());
            start_ns = wear(worn, bytes, self.seed, told)?;
        }
        let whole = self.whole || faults.iter().any(Option::is_some);
        let plan = self.plan(profiles, whole)?;
        Ok(ResilverOrder { plan, drives, faults, start_ns, load: self.load.clone(), seed: self.seed })
    }

    /// Beside a load they are others than the users'.
    fn files(&self) -> Files {
        match (self.file_bytes, &self.load) {
            (None, _) => Files::One,
            (Some(bytes), None) => Files::Each { bytes: Some(bytes).filter(|bytes| *bytes > 0) },
            (Some(bytes), Some(_)) => Files::BehindUsers { bytes: Some(bytes).filter(|bytes| *bytes > 0) },
        }
    }

    fn plan(&self, profiles: &[Profile], whole: bool) -> Result<Plan, LayoutError> {
        let geometry = geometry(&self.layout, profiles.len() as u64, self.ashift, self.draid)?;
        let tunables = tunables(&self.release)?;
        let order = match self.order.as_str() {
            "blocks" => Order::Blocks,
            "sorted" => Order::Sorted,
            "sequential" => Order::Sequential,
            other => return Err(LayoutError::value("order", other, "it is blocks, sorted or sequential")),
        };
        let (memory_bytes, cache_bytes, cores, rebuilt_bytes_per_s, timeout_ns) = self.host;
        let command_timeout_ns = timeout_ns.unwrap_or(Host::default().command_timeout_ns);
        let sampling = if whole { Sampling::NONE } else { self.sampling(profiles, &geometry) };
        Ok(Plan {
            geometry,
            member_bytes: self.member_bytes,
            partition_at_bytes: PARTITION_AT_BYTES,
            content: Content {
                record_bytes: self.record_bytes,
                fill: self.fill,
                run_records: self.run_records,
                files: self.files(),
            },
            lost: self.replacement,
            spare: self.spare,
            order,
            tunables,
            host: Host { memory_bytes, cache_bytes, cores, rebuilt_bytes_per_s, command_timeout_ns },
            sampling,
            second_failure: self.second_failure,
            seed: self.seed,
        })
    }

    /// Nothing depends on what was long ago, but for a shingled drive's cache: it is filled first, and then windows are
    /// longer than its bands.
    fn sampling(&self, profiles: &[Profile], geometry: &Geometry) -> Sampling {
        let usual = Sampling::default();
        let column_bytes = (self.record_bytes / geometry.data_width()).max(1);
        let (mut first, mut window): (u64, u64) = (0, 0);
        for profile in profiles {
            if let Some(shingled) = &profile.shingled {
                let track = (profile.geometry.outer_track_bytes + profile.geometry.inner_track_bytes) / 2;
                first = first.max((shingled.cache.bytes as f64 * CACHES_FIRST) as u64);
                window = window.max(shingled.tracks_per_band * track * BANDS_IN_WINDOW);
            }
        }
        if window == 0 {
            return usual;
        }
        let window_records = usual.window_records.max(window / column_bytes);
        Sampling { records: FEW_STRATA * window_records, window_records, first_records: first / column_bytes }
    }
}

/// How much data a pool of one vdev has room for; see the stub.
#[pyfunction]
#[pyo3(signature = (layout, width, member_bytes, record_bytes, ashift, draid, release))]
pub fn usable_bytes(
    layout: &str,
    width: u64,
    member_bytes: u64,
    record_bytes: u64,
    ashift: u32,
    draid: Option<(u64, u64)>,
    release: &str,
) -> PyResult<u64> {
    if record_bytes == 0 {
        return Err(PyValueError::new_err("record_bytes must be at least 1"));
    }
    let geometry = geometry(layout, width, ashift, draid).map_err(|error| array_error(&error))?;
    let tunables = tunables(release).map_err(|error| array_error(&error))?;
    Ok(geometry.usable_bytes(member_bytes, record_bytes, &tunables))
}

fn tunables(release: &str) -> Result<Tunables, LayoutError> {
    match release {
        "0.6" => Ok(Tunables::v0_6()),
        "2.1" => Ok(Tunables::v2_1()),
        "2.3" => Ok(Tunables::v2_3()),
        other => Err(LayoutError::value("release", other, "0.6, 2.1 and 2.3 are known")),
    }
}

fn geometry(layout: &str, width: u64, ashift: u32, draid: Option<(u64, u64)>) -> Result<Geometry, LayoutError> {
    match layout.parse()? {
        Layout::Mirror => Geometry::mirror(width, ashift),
        Layout::Raidz(parity) => Geometry::raidz(u64::from(parity), width, ashift),
        Layout::Draid(parity) => {
            // `zpool create draid` without more: groups of 8 data drives, no spare.
            let parity = u64::from(parity);
            let (data, spares) = draid.unwrap_or((8.min(width.saturating_sub(parity)), 0));
            Geometry::draid(parity, data, width, spares, ashift)
        }
        md => Err(LayoutError::value("layout", md.name(), "not one of ZFS")),
    }
}

fn answer<'py>(py: Python<'py>, done: &Resilvered) -> PyResult<Bound<'py, PyDict>> {
    let told = told_of(py, &done.report)?;
    let zfs = &done.zfs;
    told.set_item("deviation_ns", zfs.deviation_ns)?;
    told.set_item("simulated_ns", zfs.simulated_ns)?;
    told.set_item("allocated_bytes", zfs.allocated_bytes)?;
    told.set_item("records", zfs.records)?;
    told.set_item("cores_busy", zfs.cores_busy)?;
    Ok(told)
}
