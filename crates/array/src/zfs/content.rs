//! What was written to a pool.

use super::files::Lengths;
use super::geometry::Geometry;
use crate::LayoutError;

/// Beside a load so much of what is filled is the users' file, and the rest others.
const USERS_EIGHTHS: u64 = 7;
/// All is written in whole pieces: a 64th each, in whole MiB.
const LEAST_PIECES: u64 = 64;
const PIECE_BYTES: [u64; 2] = [1 << 20, 1 << 30];

/// Which files a fresh pool has, written one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// All is one file.
    One,
    /// All are so long.
    Each {
        /// Of one; without it as long as `shakedown rebuild` makes them where it fills a real pool: a 64th, in whole MiB.
        bytes: Option<u64>,
    },
    /// Seven eighths are one file, which users work on, and behind it lie others, each so long.
    BehindUsers {
        /// Of one of the others; without it a 64th of these.
        bytes: Option<u64>,
    },
}

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
    /// Of a fresh pool.
    pub files: Files,
}

impl Content {
    /// Refuses what cannot be.
    pub(super) fn check(&self, geometry: &Geometry) -> Result<(), LayoutError> {
        let Self { record_bytes, fill, run_records, .. } = *self;
        if !(0.0..=1.0).contains(&fill) {
            return Err(LayoutError::value("fill", format!("{:.0} %", fill * 100.0), "0 % is empty and 100 % is full"));
        }
        if !record_bytes.is_power_of_two() || !(geometry.sector_bytes()..=16 << 20).contains(&record_bytes) {
            return Err(LayoutError::value("record size", record_bytes, "a power of two from a sector to 16 MiB"));
        }
        if run_records == Some(0) {
            return Err(LayoutError::value("run of records", 0, "at least one record lies in one piece"));
        }
        if let Some(bytes) = self.file_bytes().filter(|bytes| *bytes < record_bytes) {
            return Err(LayoutError::value("file", format!("{bytes} bytes"), "it has a record at least"));
        }
        Ok(())
    }

    fn file_bytes(&self) -> Option<u64> {
        match self.files {
            Files::One => None,
            Files::Each { bytes } | Files::BehindUsers { bytes } => bytes,
        }
    }

    /// How long the files are where there is to be so much data, and how many records all of them have. Of an aged pool nobody knows
    /// which runs are whose.
    pub(super) fn lengths(&self, wanted_records: u64) -> (Lengths, u64) {
        let each_of = |records: u64| {
            let bytes = self.file_bytes().unwrap_or_else(|| piece_bytes(records * self.record_bytes));
            (bytes / self.record_bytes).max(1)
        };
        let files = if self.run_records.is_some() { Files::One } else { self.files };
        match files {
            Files::One => (Lengths::ONE, wanted_records),
            Files::Each { .. } => {
                let each = each_of(wanted_records);
                (Lengths { long: 0, each }, wanted_records / each * each)
            }
            Files::BehindUsers { .. } => {
                let users_bytes = users_bytes(wanted_records * self.record_bytes);
                let long = users_bytes.div_ceil(self.record_bytes);
                let others = wanted_records / 8;
                let each = each_of(others);
                (Lengths { long, each }, long + others / each * each)
            }
        }
    }

    /// How many of the records that fit into a metaslab are there in runs: none lies in two.
    pub(super) fn in_whole_runs(&self, fitting: u64) -> Result<u64, LayoutError> {
        let in_runs = fitting - fitting % self.run_records.unwrap_or(1);
        if in_runs > 0 {
            return Ok(in_runs);
        }
        let (key, value) = match (self.run_records, self.file_bytes()) {
            (Some(records), _) => ("run of records", records),
            (None, Some(bytes)) => ("file", bytes),
            (None, None) => ("record size", self.record_bytes),
        };
        Err(LayoutError::value(key, value, format!("a metaslab has room for {fitting} records")))
    }
}

/// The users' file, where so much is filled.
fn users_bytes(filled_bytes: u64) -> u64 {
    let wanted_bytes = filled_bytes / 8 * USERS_EIGHTHS;
    let piece_bytes = piece_bytes(wanted_bytes);
    wanted_bytes / piece_bytes * piece_bytes
}

/// In what so much is written.
fn piece_bytes(bytes: u64) -> u64 {
    let [least, most] = PIECE_BYTES;
    (bytes / LEAST_PIECES / least * least).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the lab's are long beside a load, of a mirror, a raidz1 and a raidz2, and of a whole drive.
    #[test]
    fn the_users_file_is_of_whole_pieces() {
        let of_mib = |filled: u64| users_bytes(filled << 20) >> 20;
        assert_eq!([414, 1250, 1310, 4 << 20].map(of_mib), [360, 1088, 1139, 3584 << 10]);
    }

    #[test]
    fn behind_the_users_file_an_eighth_is_in_others() {
        let files = Files::BehindUsers { bytes: Some(1 << 20) };
        let content = Content { record_bytes: 128 << 10, fill: 0.12, run_records: None, files };
        // Of 414 MiB: 360, and 51 of one MiB.
        let (Lengths { long, each }, records) = content.lengths(414 * 8);
        assert_eq!((long, each, records), (360 * 8, 8, 411 * 8));
        assert_eq!(Content { run_records: Some(4), ..content }.lengths(414 * 8).1, 414 * 8);
    }

    /// As the lab's are long: of a mirror, a raidz1 and a raidz2 alone, and beside a load.
    #[test]
    fn files_of_no_length_are_a_64th_in_whole_mib() {
        let lengths = |files: Files, filled: u64| {
            let content = Content { record_bytes: 128 << 10, fill: 0.12, run_records: None, files };
            content.lengths(filled * 8)
        };
        let each = |filled: u64| {
            let (Lengths { long, each }, records) = lengths(Files::Each { bytes: None }, filled);
            (long, each / 8, records / 8)
        };
        assert_eq!([414, 1250, 1310].map(each), [(0, 6, 414), (0, 19, 1235), (0, 20, 1300)]);
        let behind = |filled: u64| lengths(Files::BehindUsers { bytes: None }, filled).0.each / 8;
        assert_eq!([414, 1250, 1310].map(behind), [1, 2, 2]);
    }
}
