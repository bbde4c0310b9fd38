//! What the pool says of itself (the MOS): three copies of each block, in three metaslabs. Where they lie, and what is still
//! there when a resilver begins.

use std::array::from_fn;

use super::geometry::Geometry;
use super::pool::Pool;

pub(super) const BLOCK_BYTES: u64 = 4 << 10;
/// Blocks that a transaction group changes, at most.
pub(super) const GROUP_BLOCKS: u64 = 12;

/// Which of its blocks each pass over a group writes (`spa_sync`): what one has written changes what is allocated, so that the next
/// writes some of them again, in their places, until nothing changes. All three are as the lab's lists of requests show them: of
/// groups with users' data, of those with what somebody has ordered besides (a drive put in, a scan begun), and of a scan's without users.
pub(super) type Passes = [&'static [u64]; 3];
pub(super) const PASSES_WITH_DATA: Passes = [&[0, 1], &[2, 3, 4, 5, 6, 7, 0, 1], &[3, 6, 0, 1]];
pub(super) const PASSES_WITH_TASKS: Passes =
    [&[0, 1, 2, 3, 4, 5, 6, 7], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], &[1, 2, 3, 4, 5, 10]];
pub(super) const PASSES_OF_SCAN: Passes = [&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], &[10, 5, 6, 7, 8, 9], &[10, 5, 6, 7, 8, 9]];
pub(super) const COPIES: u64 = 3;

/// How many blocks these write.
pub(super) fn blocks_of(passes: &Passes) -> u64 {
    passes.iter().copied().flatten().max().map_or(0, |last| last + 1)
}

/// What is still as it was written when the pool was made, at the first import and at the second, of the blocks written then: in
/// lists of the lab's these are scattered among what later groups have freed.
const KEPT: [Written; 3] = [
    Written { kept: &[0, 3, 13, 14, 15, 18, 34, 57], blocks: 65 },
    Written { kept: &[49, 62, 64, 66, 67], blocks: 68 },
    Written { kept: &[31, 37, 44, 62, 65], blocks: 80 },
];

/// Blocks of the pool's own that were written at a time, and which of them are still there.
struct Written {
    kept: &'static [u64],
    blocks: u64,
}

/// A block of the pool's own that a resilver finds.
pub(super) type Copies = [u64; COPIES as usize];

impl Pool {
    /// Where the groups of a resilver write a copy of what the pool says of itself, and how much room they have there, if copies lie so
    /// many sixteenths of the vdev `apart`: where the second import has begun, behind what that has left. Of a full pool the first
    /// metaslabs have them, behind their last records: only the way of the arm matters.
    pub fn own_room(&self, copy: usize, apart: Option<u64>) -> (u64, u64) {
        let last = self.content().last().copied().unwrap_or(0);
        let (metaslab, written_bytes) = match apart {
            Some(sixteenths) => (last + 1 + copy as u64 * (self.metaslabs * sixteenths).div_ceil(16), 0),
            None => (self.own[2][copy], self.bytes_written(2)),
        };
        let of_two_groups = 2 * GROUP_BLOCKS * self.geometry.allocated_bytes(BLOCK_BYTES);
        let free_bytes = (1_u64 << self.metaslab_shift).saturating_sub(self.geometry.alignment_bytes() + written_bytes);
        let room_bytes = if self.is_empty(metaslab) { free_bytes.max(of_two_groups) } else { of_two_groups };
        (self.own_place(metaslab, copy as u64, written_bytes, room_bytes), room_bytes)
    }

    /// Is it there, and has no records?
    fn is_empty(&self, metaslab: u64) -> bool {
        metaslab < self.metaslabs && !is_among(self.content(), metaslab)
    }

    /// So far into a metaslab; of one that is not empty, so much behind its records.
    fn own_place(&self, metaslab: u64, copy: u64, into_bytes: u64, bytes: u64) -> u64 {
        if self.is_empty(metaslab) {
            return self.begin_of(metaslab) + into_bytes;
        }
        let end = (metaslab % self.metaslabs + 1) << self.metaslab_shift;
        let offset = end.saturating_sub((copy + 1) * (into_bytes + bytes));
        offset - offset % self.geometry.alignment_bytes()
    }

    /// Where a metaslab begins.
    pub fn begin_of(&self, metaslab: u64) -> u64 {
        (metaslab << self.metaslab_shift).next_multiple_of(self.geometry.alignment_bytes())
    }

    /// What was written to a metaslab when the pool was made, before any data.
    pub fn made_bytes(&self, metaslab: u64) -> u64 {
        u64::from(self.runs.is_none() && metaslab < COPIES) * made_bytes(&self.geometry)
    }

    fn bytes_written(&self, time: usize) -> u64 {
        KEPT[time].blocks * self.geometry.allocated_bytes(BLOCK_BYTES)
    }

    /// Blocks of the pool's own that a resilver finds, which no group of it changes. Of an aged pool they are lost among the rest.
    pub fn kept(&self) -> Vec<Copies> {
        if self.runs.is_some() || self.records == 0 {
            return Vec::new();
        }
        let allocated = self.geometry.allocated_bytes(BLOCK_BYTES);
        let of_time = |(time, metaslabs): (usize, Copies)| {
            let firsts: Copies = from_fn(|copy| match (time, metaslabs[copy]) {
                (0, metaslab) if metaslab < self.metaslabs => self.begin_of(metaslab),
                (_, metaslab) => self.own_place(metaslab, copy as u64, 0, self.bytes_written(time)),
            });
            KEPT[time].kept.iter().map(move |number| firsts.map(|first| first + number * allocated))
        };
        self.own.into_iter().enumerate().flat_map(of_time).collect()
    }
}

/// What is written to each of three metaslabs when a pool is made.
pub(super) fn made_bytes(geometry: &Geometry) -> u64 {
    KEPT[0].blocks * geometry.allocated_bytes(BLOCK_BYTES)
}

/// Metaslabs with the pool's own blocks: of the time when it was made, of the first import and of the second, each of which takes
/// three.
pub(super) fn own_metaslabs(content: &[u64], goes_back: bool) -> [Copies; 3] {
    let mut empty = empty_metaslabs(content, goes_back);
    let mut three = || from_fn(|_| empty.next().expect("numbers do not end"));
    [[0, 1, 2], three(), three()]
}

/// Metaslabs that are empty once data fills these, in the order in which they are taken (`metaslab_compare`): those that had third
/// copies while data filled the one before, except the first and the last, and those that were never written to. Where data
/// `goes_back` to one that had become empty, the third copies do not, and take one more.
pub(super) fn empty_metaslabs(content: &[u64], goes_back: bool) -> impl Iterator<Item = u64> + '_ {
    let had_thirds = third_copies(content).take(content.len().saturating_sub(1)).skip(1);
    let unused = (content.last().copied().unwrap_or(0) + 2 + u64::from(goes_back)).max(3)..;
    had_thirds.filter(|metaslab| !is_among(content, *metaslab)).chain(unused)
}

/// Of large pools these are tens of thousands.
fn is_among(content: &[u64], metaslab: u64) -> bool {
    content.binary_search(&metaslab).is_ok()
}

/// Which metaslab has third copies while data fills each of these: the next that nothing was ever written to.
fn third_copies(content: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let mut unused = 1;
    content.iter().map(move |metaslab| {
        // The first has the second copies behind it, and these the third ones.
        unused = (metaslab + 1).max(unused + 1);
        unused
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfs::pool::Content;

    fn pool(geometry: Geometry, fill: f64) -> Pool {
        let content = Content { record_bytes: 128 << 10, fill, run_records: None, file_bytes: Some(6 << 20) };
        Pool::new(geometry, 4_000_787_030_016 / 1000, content, 200 << 20, 1).unwrap()
    }

    /// As the lists of the lab's requests show it of a mirror with content in 0 and 3, of a raidz1, a raidz2 and a draid2.
    #[test]
    fn each_import_takes_three_empty_metaslabs() {
        let mirror = pool(Geometry::mirror(2, 12).unwrap(), 0.15);
        assert_eq!(mirror.content(), [0, 3, 5]);
        assert_eq!(mirror.own, [[0, 1, 2], [4, 7, 8], [9, 10, 11]]);
        let small = pool(Geometry::mirror(2, 12).unwrap(), 0.12);
        assert_eq!((small.content(), small.own[2]), (&[0, 3][..], [8, 9, 10]));
        let raidz1 = pool(Geometry::raidz(1, 4, 12).unwrap(), 0.12);
        assert_eq!((raidz1.content(), raidz1.own[1], raidz1.own[2]), (&[0, 3, 5, 7][..], [4, 6, 9], [10, 11, 12]));
        let raidz2 = pool(Geometry::raidz(2, 5, 12).unwrap(), 0.12);
        assert_eq!(raidz2.content(), [0, 3, 5, 7, 9]);
        assert_eq!(raidz2.own, [[0, 1, 2], [4, 6, 8], [11, 12, 13]]);
        let draid2 = pool(Geometry::draid(2, 2, 6, 0, 12).unwrap(), 0.12);
        assert_eq!(draid2.content(), [0, 3, 4, 5, 7, 9]);
        assert_eq!(draid2.own, [[0, 1, 2], [6, 8, 12], [13, 14, 15]]);
    }

    #[test]
    fn passes_write_what_there_is_and_some_of_it_again() {
        for passes in [PASSES_WITH_DATA, PASSES_WITH_TASKS, PASSES_OF_SCAN] {
            let written: Vec<u64> = passes.concat();
            let blocks: std::collections::BTreeSet<u64> = written.iter().copied().collect();
            assert!(blocks.iter().copied().eq(0..blocks.len() as u64), "{passes:?}");
            assert!(blocks.len() < written.len() && blocks.len() as u64 <= GROUP_BLOCKS, "{passes:?}");
            assert_eq!(blocks.len() as u64, blocks_of(&passes));
        }
    }

    #[test]
    fn what_is_kept_lies_apart_from_what_groups_write() {
        for fill in [0.12, 0.5, 1.0] {
            let pool = pool(Geometry::mirror(2, 12).unwrap(), fill);
            let kept = pool.kept();
            assert_eq!(kept.len(), KEPT.iter().map(|written| written.kept.len()).sum::<usize>());
            for copy in 0..COPIES as usize {
                let (first, room_bytes) = pool.own_room(copy, None);
                let groups = first..first + room_bytes;
                assert!(kept.iter().flatten().all(|kept| !groups.contains(kept)), "{fill}");
            }
        }
    }
}
