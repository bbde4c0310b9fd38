//! What transaction groups leave free between the data of a pool that was written from its beginning: blocks of their own, which
//! the next ones write anew elsewhere. A group goes on from one metaslab to the next.

use std::ops::Range;

use super::files::Lengths;
use super::filling::{group_ends, Written};
use super::geometry::Geometry;
use super::indirects::{self, Size};
use super::own;

/// After so many it is the same again.
const ROUND: u64 = 64;

/// The first copies of what each group writes of the pool itself lie behind its data: so many in lists of the lab's, besides dnodes
/// and indirect blocks. The first group has more, of a filesystem with one file and with many.
const OWN_BLOCKS: u64 = 14;
const FIRST_OWN_BLOCKS: [u64; 2] = [16, 18];

/// Of a group's blocks so many are given places as they come. Whenever one of these is written, the one with the least numbers
/// follows (`zfs_vdev_def_queue_depth`, `zio_bookmark_compare`): dnodes before a directory, and that before files.
const QUEUE_DEPTH: u64 = 32;

/// So many files have their dnodes in the first block of them, and in the second: there are a directory's and others' besides. The users'
/// file has two directories of its own.
const FIRST_DNODES: [u64; 2] = [29, 27];
const DNODES: u64 = 32;
const USERS_DNODES: u64 = 3;

/// A hole, and how much is free up to its end. One that a block has for good counts, too.
#[derive(Clone, Copy, Debug)]
struct Hole {
    /// So many records lie before it.
    before: u64,
    free_bytes: u64,
    is_held: bool,
}

/// Transaction groups and what each leaves free.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Of a round.
    holes: Vec<Hole>,
    ends: Vec<u64>,
    records: u64,
}

impl Groups {
    /// An aged pool's, of which nothing is known any more.
    pub fn unknown() -> Self {
        Self { holes: Vec::new(), ends: Vec::new(), records: u64::MAX }
    }

    /// At most so many bytes were dirty at a time, and `room` for what is not yet written where so many records are.
    pub fn new(
        geometry: &Geometry,
        written: Written,
        most_dirty: u64,
        room: impl Fn(u64) -> u64,
        source: &mut sim::Stream,
    ) -> Self {
        let (files, block) = (written.files, geometry.allocated_bytes(own::BLOCK_BYTES));
        let ends = group_ends(written, ROUND, most_dirty, room, source);
        let (mut holes, mut begin) = (Vec::new(), 0);
        for (number, end) in ends.iter().copied().enumerate() {
            let hole = |before, free_bytes| Hole { before, free_bytes, is_held: false };
            let own = if number == 0 { FIRST_OWN_BLOCKS[usize::from(files.long == 0)] } else { OWN_BLOCKS };
            let last_dnodes = block;
            holes.push(hole(end, own * block + last_dnodes + names_bytes(geometry, files, begin..end)));
            // A block of dnodes is written when all files in it are. That stays, but in the first the directory's own changes again.
            let named = dnode_blocks(files).enumerate().skip_while(|(_, named)| *named <= begin);
            for (place, named) in named.take_while(|(_, named)| *named <= end) {
                let before = named + QUEUE_DEPTH;
                holes.push(Hole { before: before.min(end), free_bytes: block, is_held: place > 0 && before < end });
            }
            // With a single file it is with the others behind the data, in lists of a mirror and of a raidz1; why is not known. A file that
            // was made before it comes first.
            let before = begin.max(files.long).saturating_add(QUEUE_DEPTH);
            if before < end {
                // The directory's own dnode is in the first block of them: with it, unless files there are written, too.
                let has_files = dnode_blocks(files).next().is_some_and(|named| begin < named);
                holes.push(hole(before, if has_files { block } else { 2 * block }));
            }
            begin = end;
        }
        holes.sort_by_key(|hole| hole.before);
        let mut free_bytes = 0;
        for hole in &mut holes {
            free_bytes += hole.free_bytes;
            hole.free_bytes = free_bytes;
        }
        Self { holes, ends, records: begin }
    }

    /// How many of them have written all they have, up to a record.
    pub fn before(&self, record: u64) -> u64 {
        let within = record % self.records;
        record / self.records * ROUND + self.ends.partition_point(|end| *end <= within) as u64
    }

    /// Up to which record the last but one goes, if there are so many.
    pub fn last_but_one(&self, records: u64) -> Option<u64> {
        // The one before the last record's: of the first of a round that is the last of the round before.
        let last_but_one = self.before(records.checked_sub(1)?).checked_sub(1)?;
        let end = self.ends.get((last_but_one % ROUND) as usize)?;
        Some(last_but_one / ROUND * self.records + end)
    }

    /// What they have left free between one record of the pool and a later one.
    pub fn free_between(&self, first: u64, record: u64) -> u64 {
        self.free_before(record) - self.free_before(first)
    }

    /// What they may leave free between any so many records, at most.
    pub fn most_free_among(&self, records: u64) -> u64 {
        // From just before a hole on there is most.
        let firsts = self.holes.iter().map(|hole| hole.before - 1);
        firsts.map(|first| self.free_between(first, first + records)).max().unwrap_or(0)
    }

    /// Has a block the last place before a record for good?
    pub fn is_held_before(&self, record: u64) -> bool {
        let within = record % self.records;
        let last = self.holes_before(within).checked_sub(1).map(|last| self.holes[last]);
        last.is_some_and(|hole| hole.is_held && hole.before == within)
    }

    /// How many of these blocks there are before so many records.
    pub fn held(&self, records: u64) -> u64 {
        let held = |holes: usize| self.holes[..holes].iter().filter(|hole| hole.is_held).count() as u64;
        records / self.records * held(self.holes.len()) + held(self.holes_before(records % self.records))
    }

    /// How many records lie in one piece from this one on.
    pub fn left(&self, record: u64) -> u64 {
        let within = record % self.records;
        self.holes.get(self.holes_before(within)).map_or(self.records, |hole| hole.before) - within
    }

    fn free_before(&self, record: u64) -> u64 {
        let (rounds, within) = (record / self.records, record % self.records);
        let free_bytes = |holes: usize| holes.checked_sub(1).map_or(0, |last| self.holes[last].free_bytes);
        rounds * free_bytes(self.holes.len()) + free_bytes(self.holes_before(within))
    }

    fn holes_before(&self, within: u64) -> usize {
        self.holes.partition_point(|hole| hole.before <= within)
    }
}

/// What the indirect blocks take that lie behind a group's records: of files the one of the last, of which only a part is there; of a
/// long one all that name any of these, since data comes before what names it (`zio_bookmark_compare`), and one above. Where the long
/// one ends within the group they lie behind that, and stay.
fn names_bytes(geometry: &Geometry, files: Lengths, records: Range<u64>) -> u64 {
    if records.end >= files.long {
        return Size::allocated_naming(geometry, (records.end - files.long) % files.each);
    }
    let full = records.end / indirects::POINTERS - records.start / indirects::POINTERS;
    let above = if records.end > indirects::POINTERS { geometry.allocated_bytes(own::BLOCK_BYTES) } else { 0 };
    let last = Size::allocated_naming(geometry, records.end % indirects::POINTERS);
    full * Size::allocated_naming(geometry, indirects::POINTERS) + last + above
}

/// After how many records each block of dnodes has all its files.
fn dnode_blocks(files: Lengths) -> impl Iterator<Item = u64> {
    let mut others = 0;
    let [first, second] = FIRST_DNODES;
    let first = if files.long == 0 { first } else { first - USERS_DNODES };
    [first, second].into_iter().chain(std::iter::repeat(DNODES)).map(move |more| {
        others += more;
        files.end_of(others)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raidz(file_records: u64) -> (Groups, u64) {
        let geometry = Geometry::raidz(1, 4, 12).unwrap();
        let block = geometry.allocated_bytes(4 << 10);
        let files = if file_records < u64::MAX { Lengths { long: 0, each: file_records } } else { Lengths::ONE };
        let written = Written { files, record_bytes: 128 << 10 };
        (Groups::new(&geometry, written, 1638 << 17, |_| 1 << 60, &mut sim::stream(1, "groups")), block)
    }

    #[test]
    fn each_leaves_a_hole_behind_nine_tenths_of_what_may_be_dirty() {
        let (groups, block) = raidz(u64::MAX);
        assert_eq!([0, 32].map(|record| groups.left(record)), [1244, 1244 - 32]);
        assert_eq!([0, 1243, 1244, 2800].map(|record| groups.before(record)), [0, 0, 1, 2]);
        let mut record = 1244;
        for _ in 1..ROUND {
            let left = groups.left(record);
            assert!((1449..=1475).contains(&left), "{left}");
            let hole = groups.free_between(record, record + left) / block;
            // With indirect blocks of up to 44 KiB, in which eight blocks are free.
            assert!((15..=39).contains(&hole), "{hole}");
            assert_eq!(groups.free_between(record, record + left - 1), 0);
            record += left;
        }
        assert!(groups.most_free_among(4000) <= 4 * 39 * block);
    }

    /// As in two lists of the lab's, of files of 19 MiB.
    #[test]
    fn a_directory_is_written_amid_the_data_and_dnodes_behind_their_last_file() {
        let (groups, block) = raidz(152);
        let mut record = 0;
        let found: Vec<(u64, u64)> = std::iter::from_fn(|| {
            let first = record;
            record += groups.left(record);
            Some((record, groups.free_between(first, record) / block))
        })
        .take(15)
        .collect();
        let holes: Vec<u64> = found.iter().map(|(_, blocks)| *blocks).collect();
        assert_eq!(holes[..9], [1, 20, 1, 17, 1, 16, 1, 1, 17], "{found:?}");
        assert_eq!(found[7].0, 29 * 152 + 32);
        assert!(!groups.is_held_before(found[7].0) && groups.is_held_before(88 * 152 + 32));
        assert_eq!([88 * 152 + 31, 88 * 152 + 32].map(|records| groups.held(records) - groups.held(60 * 152)), [0, 1]);
        assert_eq!(holes[9], 2, "the directory's dnode has no files beside it");
    }

    /// A directory is made when the users' file has been written, and stands before the first of the others; of these 26 have their dnodes in the
    /// first block, with the users' file's.
    #[test]
    fn behind_the_users_file_a_directory_is_written_and_dnodes() {
        let geometry = Geometry::mirror(2, 12).unwrap();
        let written = Written { files: Lengths { long: 2000, each: 8 }, record_bytes: 128 << 10 };
        let groups = Groups::new(&geometry, written, 1638 << 17, |_| 1 << 60, &mut sim::stream(1, "groups"));
        let holes: Vec<(u64, bool)> = groups.holes[..4].iter().map(|hole| (hole.before, hole.is_held)).collect();
        let second = groups.ends[1];
        assert_eq!(groups.ends[0], 1244);
        assert_eq!(holes, [(1244, false), (2032, false), (2000 + 26 * 8 + 32, false), (2000 + 53 * 8 + 32, true)]);
        assert!(second > 2000 + 53 * 8 + 32);
        // The users' two indirect blocks lie behind that file.
        let hole = |number: usize| groups.holes[number].free_bytes - groups.holes[number - 1].free_bytes;
        assert_eq!(groups.holes[0].free_bytes >> 10, 17 * 4 + 44 + 12 + 4);
        assert_eq!((hole(1), hole(2)), (4 << 10, 4 << 10));
    }

    /// Over two rounds, from one record to the next.
    #[test]
    fn what_is_summed_up_is_what_lies_before_each_record() {
        let (groups, _) = raidz(48);
        let (mut held, records) = (0, 2 * groups.records + 100);
        for record in 1..=records {
            held += u64::from(groups.is_held_before(record));
            assert_eq!(groups.held(record), held, "{record}");
        }
        assert!(held > 100);
        for many in [1, 500, 2000, 5000] {
            let most = (0..groups.records).map(|first| groups.free_between(first, first + many)).max();
            assert_eq!(Some(groups.most_free_among(many)), most, "{many}");
        }
    }

    /// A mirror, where a block of 4 KiB takes as much, and a thousand records may be dirty. The first group has 760: 16 blocks of its own, one of
    /// dnodes, and 32 KiB of names. The second goes on to about 1650: 14 and 1, 44 KiB of the first 1024 names, 28 of the others, and since there are two
    /// of these, one above.
    #[test]
    fn a_file_of_more_records_than_a_block_has_pointers_has_a_block_above() {
        let written = Written { files: Lengths::ONE, record_bytes: 128 << 10 };
        let geometry = Geometry::mirror(2, 12).unwrap();
        let groups = Groups::new(&geometry, written, 1000 << 17, |_| 1 << 60, &mut sim::stream(1, "groups"));
        let second = 760 + groups.left(760);
        assert!((1640..1670).contains(&second), "{second}");
        let blocks = [(0, 760), (760, second)].map(|(first, record)| groups.free_between(first, record) >> 12);
        assert_eq!(blocks, [16 + 1 + 8, 14 + 1 + 11 + 7 + 1]);
    }

    /// With a record more than a round has it is the round's last, and with one more than two have the second's.
    #[test]
    fn the_last_group_but_one_may_be_of_the_round_before() {
        let (groups, _) = raidz(48);
        assert_eq!([0, 1, groups.ends[0]].map(|records| groups.last_but_one(records)), [None; 3]);
        let mut end = 0;
        for number in 0..3 * ROUND {
            let begin = end;
            end = number / ROUND * groups.records + groups.ends[(number % ROUND) as usize];
            let expected = (number > 0).then_some(begin);
            assert_eq!([begin + 1, end].map(|records| groups.last_but_one(records)), [expected; 2], "{number}");
        }
        assert_eq!(Groups::unknown().last_but_one(1 << 40), None);
    }

    #[test]
    fn of_an_aged_pool_nothing_is_known() {
        assert_eq!((Groups::unknown().left(5), Groups::unknown().free_between(0, 1 << 40)), (u64::MAX - 5, 0));
    }
}
