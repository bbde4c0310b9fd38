//! Indirect blocks: what names the records. Each is kept twice (`redundant_metadata=all`), in two metaslabs.

use super::geometry::Geometry;
use super::pool::Pool;
use super::stretch::Stretches;

/// Pointers in one of 128 KiB.
const POINTERS: u64 = 1024;

/// What a pointer takes of a block compressed by lz4, and the block beside: checksums and places do not compress. (Blocks
/// made of random ones take 2.5 KB with 48 pointers, 7.0 with 160, 26 with 640, and 42 with all.)
const POINTER_BYTES: u64 = 41;
const HEAD_BYTES: u64 = 512;

/// Those of a metaslab that is full.
#[derive(Clone, Debug)]
pub(super) struct Indirects {
    /// Records under each.
    pub records: u64,
    /// How many name a stretch of records.
    pub per_stretch: u64,
    pub bytes: u64,
    pub allocated: u64,
}

impl Indirects {
    /// Of stretches of so many records, of which none shares its indirect blocks with another.
    pub fn new(geometry: &Geometry, stretch_records: u64) -> Self {
        let (per_stretch, records) = match stretch_records {
            u64::MAX => (0, POINTERS),
            all => (all.div_ceil(POINTERS), all.div_ceil(all.div_ceil(POINTERS))),
        };
        let bytes = (HEAD_BYTES + records * POINTER_BYTES).next_multiple_of(geometry.sector_bytes());
        Self { records, per_stretch, bytes, allocated: geometry.allocated_bytes(bytes) }
    }

    /// The number of the one that names a metaslab's record; of one behind all, how many there are.
    fn number(&self, stretches: &Stretches, record: u64) -> u64 {
        stretches.before(record) * self.per_stretch + stretches.within(record) / self.records
    }
}

impl Pool {
    /// How many indirect blocks there are, each of which is kept twice.
    pub fn indirects(&self) -> u64 {
        match self.records {
            0 => 0,
            records => self.indirect_of(records - 1) + 1,
        }
    }

    /// The one that names a record.
    pub fn indirect_of(&self, record: u64) -> u64 {
        let (metaslab, record) = (record / self.records_per_metaslab, record % self.records_per_metaslab);
        metaslab * self.indirects_per_metaslab() + self.indirect.number(&self.stretches, record)
    }

    fn indirects_per_metaslab(&self) -> u64 {
        self.indirect.number(&self.stretches, self.records_per_metaslab - 1) + 1
    }

    /// Where the two copies of an indirect block lie. The first is among what it names: behind its file, else behind the
    /// records of its metaslab, which changes a seek in a thousand records. The second is with all others, else
    /// an eighth of the vdev further on.
    pub fn indirect_offsets(&self, indirect: u64) -> [u64; 2] {
        let (home, number) = (indirect / self.indirects_per_metaslab(), indirect % self.indirects_per_metaslab());
        let allocated = self.indirect.allocated;
        let first = if self.stretches.are_files() {
            let stretch = number / self.indirect.per_stretch;
            let behind = self.stretches.end(stretch).min(self.records_per_metaslab) * self.record_allocated();
            let in_hole = self.stretches.names_at_bytes(stretch) + number % self.indirect.per_stretch * allocated;
            self.metaslab_offset(home) + behind + in_hole
        } else {
            self.tail_offset(home) + 2 * number * allocated
        };
        let second = match self.second_copies {
            Some(first_of_all) => first_of_all + indirect * allocated,
            None => {
                let apart = (home + (self.metaslabs / 8).max(1)) % self.metaslabs;
                self.tail_offset(apart) + (2 * number + 1) * allocated
            }
        };
        [first, second]
    }

    /// Lays the second copies of all into one metaslab, the one behind the first, as OpenZFS does since 0.8
    /// (`METASLAB_WEIGHT_SECONDARY`), where neither data nor age has filled it.
    pub fn gather_second_copies(&mut self) {
        let is_empty = self.runs.is_none() && self.records > 0 && self.metaslabs > 1 && !self.content().contains(&1);
        let bytes = 1 << self.metaslab_shift;
        // Before them is what the pool has written of itself since it was made.
        let first = bytes + bytes / 8;
        let fits = self.indirects() * self.indirect.allocated <= bytes / 2;
        self.second_copies = (is_empty && fits).then(|| first - first % self.geometry.alignment_bytes());
    }

    /// Behind all records of a metaslab.
    fn tail_offset(&self, metaslab: u64) -> u64 {
        let holes = self.stretches.before(self.records_per_metaslab - 1) + 1;
        self.metaslab_offset(metaslab)
            + self.records_per_metaslab * self.record_allocated()
            + holes * self.stretches.hole_bytes()
    }
}
