//! What lies between files that were written durably, one after the other: blocks of the log and of the pool itself that are
//! free again.

use super::geometry::Geometry;
use super::indirects::Indirects;
use super::pool::Content;

/// Stretches of records without a gap: each is a file.
#[derive(Clone, Debug)]
pub(super) struct Stretches {
    records: u64,
    /// Behind a file, and no record among it: the log's block and the pool's own, free by the time of a resilver.
    free_bytes: u64,
    log_bytes: u64,
    /// And the file's indirect blocks, behind the log's.
    names_bytes: u64,
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
            return Self { records: u64::MAX, free_bytes: 0, log_bytes: 0, names_bytes: 0 };
        };
        let own_bytes = OWN_BLOCKS * geometry.allocated_bytes(OWN_BLOCK_BYTES);
        let log_bytes = geometry.allocated_bytes(log_bytes(records));
        Self { records, free_bytes: log_bytes + own_bytes, log_bytes, names_bytes: 0 }
    }

    /// The same with the indirect blocks of each.
    pub fn naming(self, indirect: &Indirects) -> Self {
        Self { names_bytes: indirect.per_stretch * indirect.allocated, ..self }
    }

    /// Records of each.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Are they files of their own?
    pub fn are_files(&self) -> bool {
        self.records < u64::MAX
    }

    /// What lies between two.
    pub fn hole_bytes(&self) -> u64 {
        self.free_bytes + self.names_bytes
    }

    /// How many records fit into so much of a metaslab, with the two copies of their indirect blocks and a few more.
    pub fn fitting(&self, room_bytes: u64, record_bytes: u64, indirect: &Indirects) -> u64 {
        let (records, between) = if self.are_files() {
            (self.records, self.hole_bytes() + 2 * self.names_bytes)
        } else {
            (indirect.records, 2 * indirect.allocated)
        };
        let room = room_bytes.saturating_sub(between);
        let stretch = records * record_bytes + between;
        room / stretch * records + (room % stretch).saturating_sub(between) / record_bytes
    }

    /// How many stretches of a metaslab lie before this record.
    pub fn before(&self, record: u64) -> u64 {
        record / self.records
    }

    /// How far into its stretch a record lies.
    pub fn within(&self, record: u64) -> u64 {
        record % self.records
    }

    /// The record behind a stretch.
    pub fn end(&self, stretch: u64) -> u64 {
        (stretch + 1) * self.records
    }

    /// How far behind its last record a stretch's indirect blocks lie, and all that lies between those before.
    pub fn names_at_bytes(&self, stretch: u64) -> u64 {
        stretch * self.hole_bytes() + self.log_bytes
    }

    /// How far a metaslab's record lies behind where it would with nothing between records.
    pub fn behind_bytes(&self, record: u64) -> u64 {
        self.before(record) * self.hole_bytes()
    }

    /// How many records of a metaslab lie in one piece from this one on.
    pub fn left(&self, record: u64) -> u64 {
        self.records - self.within(record)
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
        let behind = stretches(&raidz, Some(19 << 20)).hole_bytes();
        assert_eq!(behind, (12 + 10) << 12);
        assert_eq!(((19 << 3) * raidz.allocated_bytes(128 << 10) + behind) >> 12 & 3, 2);
    }

    #[test]
    fn one_file_has_no_gap() {
        let mirror = stretches(&Geometry::mirror(2, 12).unwrap(), None);
        assert_eq!((mirror.behind_bytes(1 << 30), mirror.hole_bytes()), (0, 0));
    }
}
