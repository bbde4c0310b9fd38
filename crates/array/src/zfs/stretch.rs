//! What lies between the records of a pool that was written from its beginning: the indirect blocks of its files, and holes
//! behind each transaction group.

use super::geometry::Geometry;
use super::indirects::Indirects;
use super::own;
use super::pool::Content;

/// The records of a metaslab by their files, if it has several, and by groups.
#[derive(Clone, Debug)]
pub(super) struct Stretches {
    records: u64,
    /// The indirect blocks of each.
    names_bytes: u64,
    /// How many records of the next file lie before those of one, over and over again.
    under_way: [u64; ROUND],
    group_records: u64,
    /// What groups leave free, up to the end of each, over and over again.
    free_bytes: [u64; ROUND],
}

/// After so many it is the same again.
const ROUND: usize = 64;

/// A file's indirect block is given its place when all it names have theirs, behind those that are under way by then: up to seven
/// records of the next file, each as often as any other in a list of the lab's.
const UNDER_WAY: u64 = 8;

/// First copies of the pool's own blocks lie behind a group's data, and are free again two groups later: 16 to 19 in lists of the
/// lab's. So the next group may begin on another drive of a raidz.
const OWN_BLOCKS: [u64; 2] = [16, 20];

impl Stretches {
    /// Those of a fresh pool; an aged one's runs lie where they lie.
    pub fn new(geometry: &Geometry, content: Content, group_bytes: u64, seed: u64) -> Self {
        let of_fresh = |bytes: Option<u64>| match bytes.filter(|_| content.run_records.is_none()) {
            Some(bytes) => (bytes / content.record_bytes).max(1),
            None => u64::MAX,
        };
        let (records, group_records) = (of_fresh(content.file_bytes), of_fresh(Some(group_bytes)));
        let mut source = sim::stream(seed, "what lies between records");
        let under_way = [0; ROUND].map(|_: u64| source.below(UNDER_WAY).min(records - 1));
        let mut blocks = 0;
        let free_bytes = [0; ROUND].map(|_: u64| {
            blocks += OWN_BLOCKS[0] + source.below(OWN_BLOCKS[1] - OWN_BLOCKS[0]);
            blocks * geometry.allocated_bytes(own::BLOCK_BYTES)
        });
        Self { records, names_bytes: 0, under_way, group_records, free_bytes }
    }

    /// The same with the indirect blocks of each.
    pub fn naming(self, indirect: &Indirects) -> Self {
        Self { names_bytes: indirect.per_stretch * indirect.allocated, ..self }
    }

    /// Records of each.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// As many of so many records as whole files have.
    pub fn in_whole_files(&self, records: u64) -> u64 {
        if self.are_files() {
            records - records % self.records
        } else {
            records
        }
    }

    /// Are they files of their own?
    pub fn are_files(&self) -> bool {
        self.records < u64::MAX
    }

    /// How many records fit into so much of a metaslab, with the two copies of their indirect blocks and a few more.
    pub fn fitting(&self, room_bytes: u64, record_bytes: u64, indirect: &Indirects) -> u64 {
        let (records, between) = if self.are_files() {
            (self.records, 3 * self.names_bytes)
        } else {
            (indirect.records, 2 * indirect.allocated)
        };
        let room_bytes = room_bytes.saturating_sub(self.holes_bytes(room_bytes / record_bytes));
        let room = room_bytes.saturating_sub(between);
        let stretch = records * record_bytes + between;
        room / stretch * records + (room % stretch).saturating_sub(between) / record_bytes
    }

    /// In which stretch of its metaslab a record lies.
    pub fn of(&self, record: u64) -> u64 {
        record / self.records
    }

    /// How far into its stretch a record lies.
    pub fn within(&self, record: u64) -> u64 {
        record % self.records
    }

    /// The first record of a stretch.
    pub fn begin(&self, stretch: u64) -> u64 {
        stretch * self.records
    }

    /// The record before which a stretch's indirect blocks lie.
    pub fn behind_names(&self, stretch: u64) -> u64 {
        self.begin(stretch + 1) + self.under_way[stretch as usize % ROUND]
    }

    /// How many stretches have their indirect blocks before a record.
    pub fn named_before(&self, record: u64) -> u64 {
        let stretch = self.of(record);
        let is_under_way = stretch > 0 && self.behind_names(stretch - 1) > record;
        stretch - u64::from(is_under_way)
    }

    /// What lies before a record and is none, if so many stretches have their indirect blocks there.
    pub fn between_bytes(&self, record: u64, named: u64) -> u64 {
        named * self.names_bytes + self.holes_bytes(record)
    }

    /// What groups have left free before a record.
    fn holes_bytes(&self, record: u64) -> u64 {
        let (rounds, groups) = (record / self.group_records / ROUND as u64, record / self.group_records % ROUND as u64);
        let last = groups.checked_sub(1).map_or(0, |last| self.free_bytes[last as usize]);
        rounds * self.free_bytes[ROUND - 1] + last
    }

    /// How many records of a metaslab lie in one piece from this one on.
    pub fn left(&self, record: u64) -> u64 {
        self.left_before_names(record).min(self.group_records - record % self.group_records)
    }

    /// How many records lie between this one and the next indirect blocks, itself included.
    pub fn left_before_names(&self, record: u64) -> u64 {
        if !self.are_files() {
            return u64::MAX;
        }
        self.behind_names(self.named_before(record)) - record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretches(geometry: &Geometry, file_bytes: Option<u64>, seed: u64) -> Stretches {
        let content = Content { record_bytes: 128 << 10, fill: 1.0, run_records: None, file_bytes };
        let bare = Stretches::new(geometry, content, 100 << 20, seed);
        let indirect = Indirects::new(geometry, bare.records());
        bare.naming(&indirect)
    }

    fn mirror() -> Geometry {
        Geometry::mirror(2, 12).unwrap()
    }

    #[test]
    fn the_indirect_blocks_of_each_file_lie_among_the_first_eight_records_of_the_next() {
        let mut often = [0; 8];
        for seed in 0..50 {
            let files = stretches(&mirror(), Some(6 << 20), seed);
            let mut record = 0;
            for stretch in 0..100 {
                let behind = files.behind_names(stretch);
                often[(behind - 48 * (stretch + 1)) as usize] += 1;
                assert_eq!((files.named_before(behind - 1), files.named_before(behind)), (stretch, stretch + 1));
                assert_eq!(files.left_before_names(record), behind - record);
                record = behind;
            }
        }
        assert!(often.iter().all(|times| (500..750).contains(times)), "{often:?}");
    }

    #[test]
    fn a_file_of_one_record_has_its_own_behind_it() {
        let files = stretches(&mirror(), Some(1), 1);
        assert_eq!([0, 1, 2].map(|record| files.named_before(record)), [0, 1, 2]);
    }

    /// Of 100 MiB each.
    #[test]
    fn a_group_leaves_a_hole() {
        let one = stretches(&mirror(), None, 1);
        let behind = |record| one.between_bytes(record, 0) >> 12;
        assert_eq!((behind(799), one.left(0), one.left(799), one.left(800)), (0, 800, 1, 800));
        assert!((0..1000).all(|group| (16..20).contains(&(behind(800 * (group + 1)) - behind(800 * group)))));
    }

    #[test]
    fn behind_half_of_the_groups_the_next_record_of_a_raidz_begins_two_drives_further_on() {
        let raidz = stretches(&Geometry::raidz(1, 4, 12).unwrap(), None, 1);
        let first_drive = |group: u64| raidz.between_bytes(group * 800, 0) >> 12 & 3;
        assert!((0..1000).all(|group| first_drive(group) & 1 == 0));
        let moved = (0..1000).filter(|group| first_drive(*group) == 2).count();
        assert!((350..650).contains(&moved), "{moved}");
    }
}
