//! What lies between files that were written durably, one after the other: blocks of the log and of the pool itself that are
//! free again.

use super::geometry::Geometry;
use super::pool::{Content, RECORDS_PER_INDIRECT};

/// Stretches of records without a gap: each is a file.
#[derive(Clone, Debug)]
pub(super) struct Stretches {
    records: u64,
    /// Behind a file: free by the time of a resilver, and too small for a record.
    hole_bytes: u64,
}

/// What the intent log writes of a record that has its place already (`lr_write_t`).
const LOGGED_BYTES: u64 = 192;

/// Sizes of its blocks (`zil_block_buckets`).
const LOG_BLOCKS: [u64; 3] = [4 << 10, 12 << 10, 36 << 10];
const LARGEST_LOG_BLOCK: u64 = 128 << 10;

/// The first copies of the pool's own blocks go where data goes: behind every second file the lab's OpenZFS ends a transaction
/// group and leaves 7 to 13 of them. So the next file begins on another drive of a raidz.
const OWN_BLOCKS: u64 = 5;
const OWN_BLOCK_BYTES: u64 = 4 << 10;

impl Stretches {
    /// Those of a fresh pool; an aged one's runs lie where they lie.
    pub fn new(geometry: &Geometry, content: Content) -> Self {
        let file_bytes = content.file_bytes.filter(|_| content.run_records.is_none());
        let Some(records) = file_bytes.map(|bytes| (bytes / content.record_bytes).max(1)) else {
            return Self { records: u64::MAX, hole_bytes: 0 };
        };
        let own_bytes = OWN_BLOCKS * geometry.allocated_bytes(OWN_BLOCK_BYTES);
        Self { records, hole_bytes: geometry.allocated_bytes(log_bytes(records)) + own_bytes }
    }

    /// How many records fit into so much of a metaslab, with the two copies of their indirect blocks and one more.
    pub fn fitting(&self, room_bytes: u64, record_bytes: u64, indirect_bytes: u64) -> u64 {
        let room = room_bytes - 2 * indirect_bytes - self.hole_bytes;
        let holes = RECORDS_PER_INDIRECT.div_ceil(self.records) * self.hole_bytes;
        let with_indirect = RECORDS_PER_INDIRECT * record_bytes + 2 * indirect_bytes + holes;
        let rest = (room % with_indirect).saturating_sub(holes) / record_bytes;
        room / with_indirect * RECORDS_PER_INDIRECT + rest
    }

    /// How far a metaslab's record lies behind where it would with nothing between records.
    pub fn behind_bytes(&self, record: u64) -> u64 {
        record / self.records * self.hole_bytes
    }

    /// How many records of a metaslab lie in one piece from this one on.
    pub fn left(&self, record: u64) -> u64 {
        self.records - record % self.records
    }
}

/// The log block of a file of so many records.
fn log_bytes(records: u64) -> u64 {
    let bytes = records * LOGGED_BYTES;
    LOG_BLOCKS.into_iter().find(|block| bytes <= *block).unwrap_or(LARGEST_LOG_BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(geometry: &Geometry, file_bytes: Option<u64>) -> Stretches {
        Stretches::new(geometry, Content { record_bytes: 128 << 10, fill: 1.0, run_records: None, file_bytes })
    }

    /// As the lab's OpenZFS leaves them: 12 KiB of the log behind 6 MiB of a mirror, 36 KiB and their parity behind 19 MiB of a
    /// raidz, whose next file begins two drives further on.
    #[test]
    fn behind_a_file_its_log_block_and_the_pools_own_are_free() {
        let mirror = stretches(&Geometry::mirror(2, 12).unwrap(), Some(6 << 20));
        assert_eq!([0, 47, 48, 96].map(|record| mirror.behind_bytes(record)), [0, 0, 32 << 10, 64 << 10]);
        assert_eq!([0, 47, 48].map(|record| mirror.left(record)), [48, 1, 48]);
        let raidz = Geometry::raidz(1, 4, 12).unwrap();
        let behind = stretches(&raidz, Some(19 << 20)).hole_bytes;
        assert_eq!(behind, (12 + 10) << 12);
        assert_eq!(((19 << 3) * raidz.allocated_bytes(128 << 10) + behind) >> 12 & 3, 2);
    }

    #[test]
    fn one_file_has_no_gap() {
        let mirror = stretches(&Geometry::mirror(2, 12).unwrap(), None);
        assert_eq!((mirror.behind_bytes(1 << 30), mirror.hole_bytes), (0, 0));
    }
}
