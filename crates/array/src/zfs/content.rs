//! What was written to a pool.

use super::geometry::Geometry;
use crate::LayoutError;

/// What was written to a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Content {
    /// `recordsize`.
    pub record_bytes: u64,
    /// The share of what `df` shows that is written, 0..=1.
    pub fill: f64,
    /// How many neighbouring records an aged pool still keeps together, in order of their birth anywhere on the vdev. `None`:
    /// a fresh pool, filled from its beginning.
    pub run_records: Option<u64>,
    /// Of a fresh pool's files, written one after the other. `None`: all is one file.
    pub file_bytes: Option<u64>,
}

impl Content {
    /// Refuses what cannot be.
    pub(super) fn check(&self, geometry: &Geometry) -> Result<(), LayoutError> {
        let Self { record_bytes, fill, run_records, file_bytes } = *self;
        if !(0.0..=1.0).contains(&fill) {
            return Err(LayoutError::value("fill", format!("{:.0} %", fill * 100.0), "0 % is empty and 100 % is full"));
        }
        if !record_bytes.is_power_of_two() || !(geometry.sector_bytes()..=16 << 20).contains(&record_bytes) {
            return Err(LayoutError::value("record size", record_bytes, "a power of two from a sector to 16 MiB"));
        }
        if run_records == Some(0) {
            return Err(LayoutError::value("run of records", 0, "at least one record lies in one piece"));
        }
        if let Some(bytes) = file_bytes.filter(|bytes| *bytes < record_bytes) {
            return Err(LayoutError::value("file", format!("{bytes} bytes"), "it has a record at least"));
        }
        Ok(())
    }

    /// How many records of a fresh pool are so many bytes; an aged one's runs lie where they lie.
    pub(super) fn fresh_records(&self, bytes: Option<u64>) -> u64 {
        match bytes.filter(|_| self.run_records.is_none()) {
            Some(bytes) => (bytes / self.record_bytes).max(1),
            None => u64::MAX,
        }
    }

    /// How many of the records that fit into a metaslab are there in runs: none lies in two.
    pub(super) fn in_whole_runs(&self, fitting: u64) -> Result<u64, LayoutError> {
        let in_runs = fitting - fitting % self.run_records.unwrap_or(1);
        if in_runs > 0 {
            return Ok(in_runs);
        }
        let (key, value) = match (self.run_records, self.file_bytes) {
            (Some(records), _) => ("run of records", records),
            (None, Some(bytes)) => ("file", bytes),
            (None, None) => ("record size", self.record_bytes),
        };
        Err(LayoutError::value(key, value, format!("a metaslab has room for {fitting} records")))
    }
}
