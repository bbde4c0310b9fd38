//! The holes that transaction groups leave behind the data of a pool that was written from its beginning. A group goes on from one
//! metaslab to the next.

use super::geometry::Geometry;
use super::own;

/// After so many it is the same again.
const ROUND: usize = 64;

/// First copies of the pool's own blocks lie behind a group's data, and are free again two groups later: 16 to 19 in lists of the
/// lab's. So the next group may begin on another drive of a raidz.
const OWN_BLOCKS: [u64; 2] = [16, 20];

/// Transaction groups of so many records each.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    records: u64,
    /// What groups leave free, up to the end of each, over and over again.
    free_bytes: [u64; ROUND],
    most_bytes: u64,
}

impl Groups {
    /// `records` of each; `u64::MAX`: all is one.
    pub fn new(geometry: &Geometry, records: u64, source: &mut sim::Stream) -> Self {
        let block = geometry.allocated_bytes(own::BLOCK_BYTES);
        let mut blocks = 0;
        let free_bytes = [0; ROUND].map(|_: u64| {
            blocks += OWN_BLOCKS[0] + source.below(OWN_BLOCKS[1] - OWN_BLOCKS[0]);
            blocks * block
        });
        Self { records, free_bytes, most_bytes: (OWN_BLOCKS[1] - 1) * block }
    }

    /// What they have left free between one record of the pool and a later one.
    pub fn free_between(&self, first: u64, record: u64) -> u64 {
        self.free_before(record) - self.free_before(first)
    }

    /// What they may leave free between any so many records, at most.
    pub fn most_free_among(&self, records: u64) -> u64 {
        records.div_ceil(self.records) * self.most_bytes
    }

    /// How many records of a record's group lie in one piece from it on.
    pub fn left(&self, record: u64) -> u64 {
        self.records - record % self.records
    }

    fn free_before(&self, record: u64) -> u64 {
        let (rounds, groups) = (record / self.records / ROUND as u64, record / self.records % ROUND as u64);
        let last = groups.checked_sub(1).map_or(0, |last| self.free_bytes[last as usize]);
        rounds * self.free_bytes[ROUND - 1] + last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(geometry: &Geometry) -> Groups {
        Groups::new(geometry, 800, &mut sim::stream(1, "groups"))
    }

    #[test]
    fn each_leaves_a_hole() {
        let groups = groups(&Geometry::mirror(2, 12).unwrap());
        assert_eq!([0, 799, 800].map(|record| groups.left(record)), [800, 1, 800]);
        assert_eq!(groups.free_between(0, 799), 0);
        let blocks = |first, record| groups.free_between(first, record) >> 12;
        assert!((0..1000).all(|group| (16..20).contains(&blocks(800 * group + 799, 800 * (group + 1)))));
        assert!((0..1000).all(|first| blocks(first, first + 1600) <= groups.most_free_among(1600) >> 12));
    }

    #[test]
    fn behind_half_of_them_the_next_record_of_a_raidz_begins_two_drives_further_on() {
        let groups = groups(&Geometry::raidz(1, 4, 12).unwrap());
        let first_drive = |group: u64| groups.free_between(0, group * 800) >> 12 & 3;
        assert!((0..1000).all(|group| first_drive(group) & 1 == 0));
        let moved = (0..1000).filter(|group| first_drive(*group) == 2).count();
        assert!((350..650).contains(&moved), "{moved}");
    }
}
