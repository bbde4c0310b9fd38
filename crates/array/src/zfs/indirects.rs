//! Indirect blocks: what names the records. Each is kept twice (`redundant_metadata=all`), in two metaslabs.

use super::geometry::Geometry;
use super::own;
use super::pool::Pool;
use super::stretch::Stretches;

/// Pointers in one of 128 KiB.
pub(super) const POINTERS: u64 = 1024;

/// What a pointer takes of a block compressed by lz4, and the block beside: checksums and places do not compress. (Blocks
/// made of random ones take 2.5 KB with 48 pointers, 7.0 with 160, 26 with 640, and 42 with all.)
const POINTER_BYTES: u64 = 41;
const HEAD_BYTES: u64 = 512;

/// Second copies of the pool's own blocks that a group writes behind those of its indirect blocks: 17 or 18 in a list of the lab's.
const OWN_SECOND_COPIES: u64 = 17;

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
        let bytes = bytes_with(geometry, records);
        Self { records, per_stretch, bytes, allocated: geometry.allocated_bytes(bytes) }
    }

    /// What the last one takes of a file of which so many records are there.
    pub fn allocated_naming(geometry: &Geometry, records: u64) -> u64 {
        match records {
            0 => 0,
            more => geometry.allocated_bytes(bytes_with(geometry, (more - 1) % POINTERS + 1)),
        }
    }

    /// The number of the one that names a metaslab's record; of one behind all, how many there are.
    fn number(&self, stretches: &Stretches, record: u64) -> u64 {
        stretches.of(record) * self.per_stretch + stretches.within(record) / self.records
    }
}

fn bytes_with(geometry: &Geometry, pointers: u64) -> u64 {
    (HEAD_BYTES + pointers * POINTER_BYTES).next_multiple_of(geometry.sector_bytes())
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

    /// Where the two copies of an indirect block lie. The first is among what it names: just behind its file, else behind the
    /// records of its metaslab, which changes a seek in a thousand records. The second is with all others, else
    /// an eighth of the vdev further on.
    pub fn indirect_offsets(&self, indirect: u64) -> [u64; 2] {
        let (home, number) = (indirect / self.indirects_per_metaslab(), indirect % self.indirects_per_metaslab());
        let allocated = self.indirect.allocated;
        let first = if self.stretches.are_files() {
            let stretch = number / self.indirect.per_stretch;
            let records = self.stretches.behind_names(stretch).min(self.records_per_metaslab);
            let among = number % self.indirect.per_stretch * allocated;
            self.behind_records(home, records, stretch) + among
        } else {
            self.tail_offset(home) + 2 * number * allocated
        };
        let second = match self.second_copies {
            Some(first_of_all) => first_of_all + self.among_second_copies(indirect),
            None => {
                let apart = (home + (self.metaslabs / 8).max(1)) % self.metaslabs;
                self.tail_offset(apart) + (2 * number + 1) * allocated
            }
        };
        [first, second]
    }

    /// How far an indirect block's second copy is from the first one of all: behind those of each group what that has written of
    /// the pool itself was free again soon.
    fn among_second_copies(&self, indirect: u64) -> u64 {
        let (home, number) = (indirect / self.indirects_per_metaslab(), indirect % self.indirects_per_metaslab());
        let of_stretch = self.indirect.per_stretch.max(1);
        let (stretch, within) =
            if self.stretches.are_files() { (number / of_stretch, number % of_stretch) } else { (0, number) };
        let behind =
            (self.stretches.begin(stretch) + (within + 1) * self.indirect.records).min(self.records_per_metaslab);
        let groups = self.groups.before(home * self.records_per_metaslab + behind - 1);
        let own = OWN_SECOND_COPIES * self.geometry.allocated_bytes(own::BLOCK_BYTES);
        indirect * self.indirect.allocated + groups * own
    }

    /// Lays the second copies of all into one metaslab, the one behind the first, as OpenZFS does since 0.8
    /// (`METASLAB_WEIGHT_SECONDARY`), where neither data nor age has filled it.
    pub fn gather_second_copies(&mut self) {
        let is_empty = self.runs.is_none() && self.records > 0 && self.metaslabs > 1 && !self.content().contains(&1);
        let bytes: u64 = 1 << self.metaslab_shift;
        let fits = self.indirects().checked_sub(1).is_some_and(|last| self.among_second_copies(last) <= bytes / 2);
        self.second_copies = (is_empty && fits).then(|| self.begin_of(1) + self.made_bytes(1));
    }

    /// Behind all records of a metaslab.
    fn tail_offset(&self, metaslab: u64) -> u64 {
        let stretches = self.stretches.of(self.records_per_metaslab - 1) + 1;
        self.behind_records(metaslab, self.records_per_metaslab, stretches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfs::pool::Content;

    fn pool(file_bytes: Option<u64>) -> Pool {
        let content = Content { record_bytes: 128 << 10, fill: 0.12, run_records: None, file_bytes };
        Pool::new(Geometry::mirror(2, 12).unwrap(), 4_000_787_030_016 / 4000, content, 200 << 20, 1).unwrap()
    }

    #[test]
    fn they_are_as_long_as_their_pointers_make_them() {
        let of_files = [6, 20].map(|mib| pool(Some(mib << 20)).indirect.bytes >> 10);
        assert_eq!((of_files, pool(None).indirect.bytes >> 10), ([4, 8], 44));
    }

    #[test]
    fn a_file_has_its_own_just_behind_it_and_the_second_copies_of_a_group_follow_each_other() {
        let mut pool = pool(Some(6 << 20));
        pool.gather_second_copies();
        assert_eq!([0, 47, 48].map(|record| pool.indirect_of(record)), [0, 0, 1]);
        let [[first, second], [_, next]] = [0, 1].map(|one| pool.indirect_offsets(one));
        assert!((pool.record_offset(47) + (128 << 10)..pool.record_offset(56)).contains(&first));
        assert_eq!((next - second, second >> pool.metaslab_shift), (4 << 10, 1));
        let seconds: Vec<u64> = (0..pool.indirects()).map(|one| pool.indirect_offsets(one)[1] >> 12).collect();
        let apart: std::collections::BTreeSet<u64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(apart.len() > 1 && apart.iter().all(|blocks| blocks % OWN_SECOND_COPIES == 1), "{apart:?}");
        // A metaslab is filled from its beginning, with what one pool says of itself first.
        assert!(second - (1 << pool.metaslab_shift) < 1 << 20);
    }

    /// Six seconds of the lab's load: 24 times their size is what the pool has free.
    #[test]
    fn a_small_pool_has_room_for_few_records_that_are_not_written() {
        assert!((220..240).contains(&pool(None).unwritten_records), "{}", pool(None).unwritten_records);
    }
}
