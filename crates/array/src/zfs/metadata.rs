//! Where a pool's metadata lies: the indirect blocks that name its records, and what it says of itself.

use std::array::from_fn;

use super::own::{self, Copies, BLOCK_BYTES, COPIES, GROUP_BLOCKS, KEPT};
use super::pool::Pool;

/// Second copies of the pool's own blocks that a group writes behind those of its indirect blocks: 17 or 18 in a list of the lab's.
const OWN_SECOND_COPIES: u64 = 17;

/// Where a block lies among those that a group leaves behind its data, and another among those that the making left: which places it had is
/// not known, and costs nothing.
const AMONG_OWN: u64 = 8;
const FREED_OF_MAKING: u64 = 60;

impl Pool {
    /// All that is allocated: what a scan has to examine.
    pub fn allocated_bytes(&self) -> u64 {
        let own = self.kept().len() as u64 * COPIES + self.groups.held(self.records);
        let own = own * self.geometry.allocated_bytes(BLOCK_BYTES);
        let indirects = self.indirects.bytes_before(self.indirects.count());
        self.records * self.record_allocated() + 2 * indirects + own
    }

    /// Where the block of dnodes lies that is just before a record, if there is one.
    pub fn dnodes_before(&self, record: u64) -> Option<u64> {
        let is_held = record < self.records && self.groups.is_held_before(record);
        let behind = || self.indirect_bytes_before(record) + self.geometry.allocated_bytes(BLOCK_BYTES);
        is_held.then(|| self.record_offset(record) - behind())
    }

    /// Indirect blocks that lie between a record and the one before it in its metaslab.
    fn indirect_bytes_before(&self, record: u64) -> u64 {
        let first = record - record % self.records_per_metaslab;
        let between = |end: u64| self.indirects.bytes_between(first..end);
        between(record) - between(record.saturating_sub(1).max(first))
    }

    /// Where the two copies of an indirect block lie. The first is among what it names: behind its file, else behind the
    /// records of its metaslab, which changes a seek in a thousand records. The second is with all others, else
    /// an eighth of the vdev further on.
    pub fn indirect_offsets(&self, indirect: u64) -> [u64; 2] {
        let (home, into_tail) = self.in_tail(indirect);
        let first = match self.indirects.place(indirect) {
            Some((records, bytes)) => {
                let metaslab = self.indirects.metaslab_of_place(records);
                self.behind_records(metaslab, records - metaslab * self.records_per_metaslab, bytes)
            }
            None => self.tail_offset(home) + into_tail,
        };
        let second = match self.second_copies {
            Some(first_of_all) => first_of_all + self.among_second_copies(indirect),
            None => {
                let apart = (home + (self.metaslabs / 8).max(1)) % self.metaslabs;
                self.tail_offset(apart) + into_tail + self.indirects.size(indirect).allocated
            }
        };
        [first, second]
    }

    /// Which metaslab an indirect block is of, and how far behind all records of one its copies lie that do, first and second ones in
    /// turns: those of the long file first.
    fn in_tail(&self, indirect: u64) -> (u64, u64) {
        let each = self.indirects.per_metaslab_of_long();
        match self.indirects.of_other(indirect) {
            None => (indirect / each, 2 * (indirect % each) * self.indirects.size(indirect).allocated),
            Some((file, number)) => {
                let (home, among) = self.indirects.among_others(file, number);
                let of_long = 2 * each * self.indirects.size(0).allocated;
                (home, of_long + 2 * among * self.indirects.size(indirect).allocated)
            }
        }
    }

    /// How far an indirect block's second copy is from the first one of all: behind those of each group what that has written of
    /// the pool itself was free again soon.
    fn among_second_copies(&self, indirect: u64) -> u64 {
        let groups = self.groups.before(self.indirects.named_up_to(indirect) - 1);
        let own = OWN_SECOND_COPIES * self.geometry.allocated_bytes(BLOCK_BYTES);
        self.indirects.bytes_before(indirect) + groups * own
    }

    /// Lays the second copies of all into one metaslab, the one behind the first, as OpenZFS does since 0.8
    /// (`METASLAB_WEIGHT_SECONDARY`), where neither data nor age has filled it.
    pub fn gather_second_copies(&mut self) {
        let is_empty = self.runs.is_none() && self.records > 0 && self.metaslabs > 1 && !self.content().contains(&1);
        let bytes: u64 = 1 << self.metaslab_shift;
        let fits =
            self.indirects.count().checked_sub(1).is_some_and(|last| self.among_second_copies(last) <= bytes / 2);
        self.second_copies = (is_empty && fits).then(|| self.begin_of(1) + self.made_bytes(1));
    }

    /// Behind all records of a metaslab.
    fn tail_offset(&self, metaslab: u64) -> u64 {
        self.place(metaslab, self.records_per_metaslab)
    }
}

impl Pool {
    /// Where the groups of a resilver write a copy of what the pool says of itself, and how much room they have there, if copies lie so
    /// many sixteenths of the vdev `apart`: where the second import has begun, behind what that has left. Of a full pool the first
    /// metaslabs have them, behind their last records: only the way of the arm matters.
    pub fn own_room(&self, copy: usize, apart: Option<u64>) -> (u64, u64) {
        let last = self.content().last().copied().unwrap_or(0);
        let (metaslab, written_bytes) = match (apart, self.later_third(copy)) {
            (Some(sixteenths), _) => (last + 1 + copy as u64 * (self.metaslabs * sixteenths).div_ceil(16), 0),
            (None, Some(later)) => (later, 0),
            (None, None) => (self.own[2][copy], self.bytes_written(2)),
        };
        let of_two_groups = 2 * GROUP_BLOCKS * self.geometry.allocated_bytes(BLOCK_BYTES);
        let free_bytes = (1_u64 << self.metaslab_shift).saturating_sub(self.geometry.alignment_bytes() + written_bytes);
        let room_bytes = if self.is_empty(metaslab) { free_bytes.max(of_two_groups) } else { of_two_groups };
        (self.own_place(metaslab, copy as u64, written_bytes, room_bytes), room_bytes)
    }

    /// Where third copies go once users' data has gone on to another metaslab: who looks for that finds the one with third copies first,
    /// and passes it over from then on (`metaslab_passivate` of `METASLAB_WEIGHT_CLAIM`), so the next unused one gets them.
    fn later_third(&self, copy: usize) -> Option<u64> {
        let moved = self.places.gone_on().min(self.later_thirds.len());
        moved.checked_sub(1).filter(|_| copy == 2).map(|last| self.later_thirds[last])
    }

    /// Is it there, and has no records?
    fn is_empty(&self, metaslab: u64) -> bool {
        metaslab < self.metaslabs && self.content().binary_search(&metaslab).is_err()
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
        self.own.into_iter().enumerate().flat_map(of_time).chain(self.dataset()).collect()
    }

    /// The filesystem's dataset: the last group but one of the data notes that an unmount has made an intent log, and nothing of it
    /// changes again. Its third copy is alone in its metaslab.
    fn dataset(&self) -> Option<Copies> {
        let third = own::last_third(self.content())?;
        let end = self.groups.last_but_one(self.records).filter(|_| self.is_empty(third))?;
        let allocated = self.geometry.allocated_bytes(BLOCK_BYTES);
        let first = self.record_offset(end) - self.indirect_bytes_before(end) - AMONG_OWN * allocated;
        Some([first, self.begin_of(1) + FREED_OF_MAKING * allocated, self.begin_of(third) + self.made_bytes(third)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfs::content::{Content, Files};
    use crate::zfs::geometry::Geometry;
    use crate::zfs::Tunables;

    fn of_files(files: Files) -> Pool {
        let content = Content { record_bytes: 128 << 10, fill: 0.12, run_records: None, files };
        Pool::new(Geometry::mirror(2, 12).unwrap(), 4_000_787_030_016 / 4000, content, 200 << 20, &Tunables::v2_3(), 1)
            .unwrap()
    }

    fn pool(geometry: Geometry, fill: f64) -> Pool {
        let content =
            Content { record_bytes: 128 << 10, fill, run_records: None, files: Files::Each { bytes: Some(6 << 20) } };
        Pool::new(geometry, 4_000_787_030_016 / 1000, content, 200 << 20, &Tunables::v2_3(), 1).unwrap()
    }

    fn of_raidz(run_records: Option<u64>, fill: f64, files: Files) -> Pool {
        let content = Content { record_bytes: 128 << 10, fill, run_records, files };
        Pool::new(Geometry::raidz(2, 6, 12).unwrap(), 40 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap()
    }

    #[test]
    fn nothing_lies_on_anything_else() {
        let fresh = [
            Files::One,
            Files::Each { bytes: Some(1 << 20) },
            Files::Each { bytes: Some(128 << 10) },
            Files::BehindUsers { bytes: Some(1 << 20) },
            Files::BehindUsers { bytes: Some(200 << 20) },
        ];
        let fresh = fresh.into_iter().flat_map(|files| [0.3, 1.0].map(|fill| of_raidz(None, fill, files)));
        for mut pool in fresh.chain([of_raidz(Some(7), 0.6, Files::One)]) {
            if pool.records % 2 == 0 {
                pool.gather_second_copies();
            }
            let mut ranges: Vec<(u64, u64)> =
                (0..pool.records).map(|record| (pool.record_offset(record), pool.record_allocated())).collect();
            ranges.extend(
                (0..pool.indirects.count())
                    .flat_map(|one| pool.indirect_offsets(one).map(|at| (at, pool.indirects.size(one).allocated))),
            );
            let own = pool.geometry.allocated_bytes(BLOCK_BYTES);
            let dnodes = (0..pool.records).filter_map(|record| pool.dnodes_before(record));
            // Where records have taken a metaslab what is kept in it is only near its place.
            let kept = pool.kept().into_iter().flatten().filter(|at| pool.is_empty(at >> pool.metaslab_shift));
            ranges.extend(kept.chain(dnodes).map(|at| (at, own)));
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            let last = ranges.last().unwrap();
            assert!(last.0 + last.1 <= pool.geometry.allocatable_bytes(40 << 30));
        }
    }

    #[test]
    fn they_are_as_long_as_their_pointers_make_them() {
        let kib = [6, 20].map(|mib| of_files(Files::Each { bytes: Some(mib << 20) }).indirects.size(0).bytes >> 10);
        assert_eq!((kib, of_files(Files::One).indirects.size(0).bytes >> 10), ([4, 8], 44));
    }

    #[test]
    fn a_file_has_its_own_just_behind_it_and_the_second_copies_of_a_group_follow_each_other() {
        let mut pool = of_files(Files::Each { bytes: Some(6 << 20) });
        pool.gather_second_copies();
        assert_eq!([0, 47, 48].map(|record| pool.indirects.of(record)), [0, 0, 1]);
        let [[first, second], [_, next]] = [0, 1].map(|one| pool.indirect_offsets(one));
        assert!((pool.record_offset(47) + (128 << 10)..pool.record_offset(56)).contains(&first));
        assert_eq!((next - second, second >> pool.metaslab_shift), (4 << 10, 1));
        let seconds: Vec<u64> = (0..pool.indirects.count()).map(|one| pool.indirect_offsets(one)[1] >> 12).collect();
        let apart: std::collections::BTreeSet<u64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(apart.len() > 1 && apart.iter().all(|blocks| blocks % OWN_SECOND_COPIES == 1), "{apart:?}");
        // A metaslab is filled from its beginning, with what one pool says of itself first.
        assert!(second - (1 << pool.metaslab_shift) < 1 << 20);
    }

    /// As a list of the lab's requests shows them of a mirror: the users' file's last is behind that, those of 51 files of 1 MiB lie in
    /// what follows, and all second copies in one piece but for what groups leave between. In the list the users' file ends 26 records
    /// later: so many of another file's were given places before.
    #[test]
    fn beside_a_load_files_lie_behind_the_users_as_in_the_lab() {
        let files = Files::BehindUsers { bytes: Some(1 << 20) };
        let content = Content { record_bytes: 128 << 10, fill: 0.12, run_records: None, files };
        let geometry = Geometry::mirror(2, 12).unwrap();
        let mut pool = Pool::new(geometry, 4_000_787_030, content, (2 << 30) / 10, &Tunables::v2_3(), 1).unwrap();
        pool.gather_second_copies();
        assert_eq!((pool.users_bytes() >> 20, pool.records >> 3, pool.indirects.count()), (360, 360 + 51, 3 + 51));
        let mib = |one: u64| pool.indirect_offsets(one).map(|offset| offset as f64 / f64::from(1 << 20));
        let near = |found: f64, lab: f64, apart: f64| assert!((found - lab).abs() < apart, "{found} for {lab}");
        near(mib(2)[0], 877.348 - 3.25, 0.5);
        near(mib(53)[0], 925.234, 1.0);
        near(mib(0)[1], 256.266, 0.1);
        near(mib(53)[1], 256.895, 0.1);
    }

    /// Six seconds of the lab's load: 24 times their size is what the pool has free.
    #[test]
    fn a_small_pool_has_room_for_few_records_that_are_not_written() {
        let unwritten = of_files(Files::One).unwritten_records;
        assert!((220..240).contains(&unwritten), "{unwritten}");
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
        // Data went back to 4, and two more groups of it ended there.
        let raidz2 = pool(Geometry::raidz(2, 4, 12).unwrap(), 0.2);
        assert_eq!((raidz2.content(), raidz2.own[1]), (&[0, 3, 4, 5, 7, 9][..], [6, 8, 10]));
        assert_eq!(raidz2.own[2], [12, 13, 14]);
    }

    /// As a raidz2's lists have it: users' data goes from metaslab 11 to 14, and third copies from 13 to 15.
    #[test]
    fn third_copies_go_on_with_users_data() {
        let mut pool = pool(Geometry::raidz(2, 5, 12).unwrap(), 0.12);
        let home = |pool: &Pool| [1, 2].map(|copy| pool.own_room(copy, None).0 >> pool.metaslab_shift);
        assert_eq!(home(&pool), [12, 13]);
        let data = |pool: &mut Pool, record| {
            let slot = pool.places.rewrite(record);
            pool.record_offset(slot) >> pool.metaslab_shift
        };
        assert_eq!((data(&mut pool, 0), home(&pool)), (11, [12, 13]));
        let last = (1..pool.records).map(|record| data(&mut pool, record)).find(|metaslab| *metaslab != 11);
        assert_eq!((last, home(&pool)), (Some(14), [12, 15]));
    }

    /// As `zdb` tells it of a mirror, a raidz1, a raidz2 and a draid2 of the lab's.
    #[test]
    fn the_dataset_has_its_third_copy_where_nothing_else_is() {
        let metaslabs = |geometry: Geometry, fill| {
            let pool = pool(geometry, fill);
            pool.dataset().map(|copies| copies.map(|copy| copy >> pool.metaslab_shift))
        };
        assert_eq!(metaslabs(Geometry::mirror(2, 12).unwrap(), 0.12), Some([3, 1, 4]));
        assert_eq!(metaslabs(Geometry::raidz(1, 4, 12).unwrap(), 0.12), Some([7, 1, 8]));
        assert_eq!(metaslabs(Geometry::raidz(2, 5, 12).unwrap(), 0.12), Some([9, 1, 10]));
        assert_eq!(metaslabs(Geometry::draid(2, 2, 6, 0, 12).unwrap(), 0.12), Some([9, 1, 10]));
        assert_eq!(metaslabs(Geometry::mirror(2, 12).unwrap(), 1.0), None, "no metaslab is left for it");
    }

    #[test]
    fn what_is_kept_lies_apart_from_what_groups_write() {
        for fill in [0.12, 0.5, 1.0] {
            let pool = pool(Geometry::mirror(2, 12).unwrap(), fill);
            let kept = pool.kept();
            let left = KEPT.iter().map(|written| written.kept.len()).sum::<usize>();
            assert_eq!(kept.len(), left + usize::from(pool.dataset().is_some()));
            for copy in 0..COPIES as usize {
                let (first, room_bytes) = pool.own_room(copy, None);
                let groups = first..first + room_bytes;
                assert!(kept.iter().flatten().all(|kept| !groups.contains(kept)), "{fill}");
            }
        }
    }
}
