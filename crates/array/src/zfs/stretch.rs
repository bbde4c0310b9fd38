//! What lies between the records of a pool that was written from its beginning: the indirect blocks of its files.

use super::indirects::Indirects;

/// The records of a metaslab by their files, if it has several.
#[derive(Clone, Debug)]
pub(super) struct Stretches {
    records: u64,
    /// The indirect blocks of each.
    names_bytes: u64,
    /// How many records of the next file lie before those of one, over and over again.
    under_way: [u64; ROUND],
}

/// After so many it is the same again.
const ROUND: usize = 64;

/// A file's indirect block is given its place when all it names have theirs, behind those that are under way by then. Here up to
/// seven records of the next file, each as often as any other, as in the list of the lab's that taught it; in those of a raidz1
/// it is 5 to 60, mostly 32 to 55, which is left out.
const UNDER_WAY: u64 = 8;

impl Stretches {
    /// Of so many records each; `u64::MAX`: all is one file.
    pub fn new(records: u64, source: &mut sim::Stream) -> Self {
        let under_way = [0; ROUND].map(|_: u64| source.below(UNDER_WAY).min(records - 1));
        Self { records, names_bytes: 0, under_way }
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

    /// The indirect blocks of so many stretches.
    pub fn all_names_bytes(&self, stretches: u64) -> u64 {
        stretches * self.names_bytes
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

    fn stretches(records: u64, seed: u64) -> Stretches {
        Stretches::new(records, &mut sim::stream(seed, "files"))
    }

    #[test]
    fn the_indirect_blocks_of_each_file_lie_among_the_first_eight_records_of_the_next() {
        let mut often = [0; 8];
        for seed in 0..50 {
            let files = stretches(48, seed);
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
        let files = stretches(1, 1);
        assert_eq!([0, 1, 2].map(|record| files.named_before(record)), [0, 1, 2]);
    }
}
