//! An array in a storage box, from one order: a plain dictionary.

use array::md::{Array, Options};
use array::nas::{self, StorageBox};
use array::{Layout, LayoutError};
use drive::{BlockDevice, Drive, Profile};
use pyo3::prelude::*;

use crate::errors::array_error;
use crate::rebuild::{read_profiles, Changes, SEEDS_APART};

/// The order as Python gives it; see the stub's `StorageBoxOrder`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Given {
    layout: String,
    profiles: Vec<String>,
    missing: Vec<usize>,
    scale_divisor: u32,
    options: Changes,
    link_bytes_per_s: Option<u64>,
    read_ceiling_bytes_per_s: Option<u64>,
    write_ceiling_bytes_per_s: Option<u64>,
    round_trip_ns: u64,
    outstanding: Option<u32>,
    read_cache_bytes: u64,
    read_ahead_bytes: u64,
    write_cache_bytes: u64,
    dirty_expire_ns: u64,
    battery: bool,
    seed: u64,
}

/// The order, its texts read.
pub struct Wanted {
    layout: Layout,
    profiles: Vec<Profile>,
    given: Given,
}

impl Given {
    pub fn read(self, py: Python<'_>) -> PyResult<Wanted> {
        Ok(Wanted {
            layout: self.layout.parse().map_err(|error: LayoutError| array_error(&error))?,
            profiles: read_profiles(py, &self.profiles, self.scale_divisor)?,
            given: self,
        })
    }
}

impl Wanted {
    /// What stands for a drive's model: `raid5 of 4`.
    pub fn model(&self) -> String {
        format!("{} of {}", self.layout.name(), self.profiles.len())
    }

    pub fn build(&self) -> Result<StorageBox<Array<Drive>>, LayoutError> {
        let seeds = self.given.seed.wrapping_mul(SEEDS_APART);
        let drives: Vec<Drive> =
            (seeds..).zip(&self.profiles).map(|(seed, profile)| Drive::new(profile, seed)).collect();
        let member_bytes = drives.iter().map(BlockDevice::capacity_bytes).min().unwrap_or(0);
        let options = Options::new(self.layout, drives.len(), member_bytes)?;
        let mut array = Array::new(self.given.options.applied(options)?, drives, 0)?;
        for member in &self.given.missing {
            array.lose(*member);
        }
        if array.has_failed() {
            let reason = format!("{} does not survive that", self.layout.name());
            return Err(LayoutError::value("missing drives", self.given.missing.len(), reason));
        }
        StorageBox::new(self.nas_options(), array, 0)
    }

    fn nas_options(&self) -> nas::Options {
        let given = &self.given;
        nas::Options {
            link_bytes_per_s: given.link_bytes_per_s,
            read_ceiling_bytes_per_s: given.read_ceiling_bytes_per_s,
            write_ceiling_bytes_per_s: given.write_ceiling_bytes_per_s,
            round_trip_ns: given.round_trip_ns,
            outstanding: given.outstanding.unwrap_or(nas::Options::default().outstanding),
            read_cache_bytes: given.read_cache_bytes,
            read_ahead_bytes: given.read_ahead_bytes,
            write_cache_bytes: given.write_cache_bytes,
            dirty_expire_ns: given.dirty_expire_ns,
            battery: given.battery,
        }
    }
}
