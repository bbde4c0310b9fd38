//! Indirect blocks: what names the records. Each is kept twice (`redundant_metadata=all`), in two metaslabs. A pool's are numbered in the order
//! of the records that they name: no two files share one, and neither do two metaslabs with the same long file.

use std::ops::Range;

use super::files::Lengths;
use super::geometry::Geometry;

/// Of one in memory, and the pointers in it.
pub(super) const BLOCK_BYTES: u64 = 128 << 10;
pub(super) const POINTERS: u64 = 1024;

/// What a pointer takes of a block compressed by lz4, and the block beside: checksums and places do not compress. (Blocks
/// made of random ones take 2.5 KB with 48 pointers, 7.0 with 160, 26 with 640, and 42 with all.)
const POINTER_BYTES: u64 = 41;
const HEAD_BYTES: u64 = 512;

/// A file's indirect block is given its place when all it names have theirs, behind those that are under way by then. Here up to
/// seven records that follow, each as often as any other, as in the list of the lab's that taught it; in those of a raidz1
/// it is 5 to 60, mostly 32 to 55, which is left out.
const UNDER_WAY: u64 = 8;
/// After so many files it is the same again.
const ROUND: usize = 64;

/// Indirect blocks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Records under each.
    pub records: u64,
    pub bytes: u64,
    pub allocated: u64,
}

impl Size {
    /// Of blocks of which each names so many.
    fn of(geometry: &Geometry, records: u64) -> Self {
        let bytes = (HEAD_BYTES + records * POINTER_BYTES).next_multiple_of(geometry.sector_bytes());
        Self { records, bytes, allocated: geometry.allocated_bytes(bytes) }
    }

    /// What the last one takes of a file of which so many records are there.
    pub fn allocated_naming(geometry: &Geometry, records: u64) -> u64 {
        match records {
            0 => 0,
            more => Self::of(geometry, (more - 1) % POINTERS + 1).allocated,
        }
    }
}

/// Those of a pool that was filled from its beginning: which there are, and behind which records they lie.
#[derive(Clone, Debug)]
pub(super) struct Indirects {
    pub files: Lengths,
    long: Size,
    each: Size,
    /// How many name one of the other files.
    per_file: u64,
    /// How many records follow a file before its indirect blocks come, over and over again.
    under_way: [u64; ROUND],
    records: u64,
    records_per_metaslab: u64,
}

impl Indirects {
    /// Of files that are so long, before it is known how many records a metaslab has.
    pub fn new(geometry: &Geometry, files: Lengths, source: &mut sim::Stream) -> Self {
        let per_file = files.each.div_ceil(POINTERS);
        Self {
            files,
            long: Size::of(geometry, POINTERS),
            each: Size::of(geometry, files.each.div_ceil(per_file)),
            per_file,
            under_way: [0; ROUND].map(|_: u64| source.below(UNDER_WAY)),
            records: 0,
            records_per_metaslab: u64::MAX,
        }
    }

    /// How many of so many records fit into so much of a metaslab, with the two copies of their indirect blocks and a few more.
    pub fn fitting(&self, room_bytes: u64, record_bytes: u64, records: u64) -> u64 {
        let fitting = |room_bytes: u64, records: u64, between: u64| {
            let room = room_bytes.saturating_sub(between);
            let stretch = records * record_bytes + between;
            room / stretch * records + (room % stretch).saturating_sub(between) / record_bytes
        };
        let of_long = |room_bytes| fitting(room_bytes, POINTERS, 2 * self.long.allocated);
        let (of_file, others) = (3 * self.per_file * self.each.allocated, self.others_of(records));
        match self.files {
            files if !files.has_others() => of_long(room_bytes),
            Lengths { long: 0, each } => fitting(room_bytes, each, of_file),
            Lengths { each, .. } => {
                let names_of_long = of_long(room_bytes).div_ceil(POINTERS) * 2 * self.long.allocated;
                let with_any = fitting(room_bytes.saturating_sub(names_of_long), each, of_file);
                with_any.max(of_long(room_bytes.saturating_sub(others * of_file)))
            }
        }
    }

    /// The same of so many records in all, of which a metaslab has so many.
    pub fn among(self, records: u64, records_per_metaslab: u64) -> Self {
        Self { records, records_per_metaslab, ..self }
    }

    /// What all are, compressed and once.
    pub fn all_bytes(&self) -> u64 {
        let of_long = self.of_long();
        of_long * self.long.bytes + (self.count() - of_long) * self.each.bytes
    }

    fn others_of(&self, records: u64) -> u64 {
        records.saturating_sub(self.files.long).div_ceil(self.files.each)
    }

    /// How many files there are behind the long one.
    fn others(&self) -> u64 {
        self.others_of(self.records)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.of_long() + self.others() * self.per_file
    }

    fn of_long(&self) -> u64 {
        match self.files.long.min(self.records) {
            0 => 0,
            all => self.of(all - 1) + 1,
        }
    }

    /// How many a metaslab has that is full of the long file.
    pub fn per_metaslab_of_long(&self) -> u64 {
        if self.files.long == 0 {
            0
        } else {
            self.records_per_metaslab.div_ceil(POINTERS)
        }
    }

    /// The one that names a record.
    pub fn of(&self, record: u64) -> u64 {
        match record.checked_sub(self.files.long) {
            None => {
                let within = record % self.records_per_metaslab;
                record / self.records_per_metaslab * self.per_metaslab_of_long() + within / POINTERS
            }
            Some(behind) => {
                let Lengths { each, .. } = self.files;
                self.of_long() + behind / each * self.per_file + behind % each / self.each.records
            }
        }
    }

    /// How large it is.
    pub fn size(&self, indirect: u64) -> Size {
        if indirect < self.of_long() {
            self.long
        } else {
            self.each
        }
    }

    /// Which file behind the long one it is of, and the how manieth of that.
    pub fn of_other(&self, indirect: u64) -> Option<(u64, u64)> {
        indirect.checked_sub(self.of_long()).map(|number| (number / self.per_file, number % self.per_file))
    }

    /// What all take that are numbered before this one.
    pub fn bytes_before(&self, indirect: u64) -> u64 {
        let of_long = indirect.min(self.of_long());
        of_long * self.long.allocated + (indirect - of_long) * self.each.allocated
    }

    /// Up to which record it names them.
    pub fn named_up_to(&self, indirect: u64) -> u64 {
        let end = match self.of_other(indirect) {
            Some((file, number)) => {
                self.files.end_of(file + 1).min(self.files.end_of(file) + (number + 1) * self.each.records)
            }
            None => {
                let each = self.per_metaslab_of_long();
                let first = indirect / each * self.records_per_metaslab;
                (first + (indirect % each + 1) * POINTERS).min(first + self.records_per_metaslab).min(self.files.long)
            }
        };
        end.min(self.records)
    }

    /// Behind how many records of the pool it lies, and what of others lies before it since the first record of its metaslab. `None`: behind
    /// all records of its metaslab.
    pub fn place(&self, indirect: u64) -> Option<(u64, u64)> {
        let Some((file, number)) = self.of_other(indirect) else {
            let (metaslab, number) = (indirect / self.per_metaslab_of_long(), indirect % self.per_metaslab_of_long());
            let ends_here = self.of_long_in(metaslab * self.records_per_metaslab) > 0;
            return ends_here.then(|| (self.files.long, number * self.long.allocated));
        };
        let place = self.place_of(file);
        let first = self.metaslab_of_place(place) * self.records_per_metaslab;
        let not_before = self.placed(place) - self.placed_before(file);
        let bytes = self.bytes_between(first..place) - not_before * self.file_bytes();
        Some((place, bytes + number * self.each.allocated))
    }

    /// In which metaslab lies what is placed behind so many records?
    pub fn metaslab_of_place(&self, records: u64) -> u64 {
        records.saturating_sub(1) / self.records_per_metaslab
    }

    /// The how manieth it is of those behind the long file of its metaslab, and which that is.
    pub fn among_others(&self, file: u64, number: u64) -> (u64, u64) {
        let metaslab = self.metaslab_of_place(self.place_of(file));
        let before = self.placed_before(file) - self.placed(metaslab * self.records_per_metaslab);
        (metaslab, before * self.per_file + number)
    }

    /// What those of one of the other files take.
    fn file_bytes(&self) -> u64 {
        self.per_file * self.each.allocated
    }

    /// Behind how many records those of a file behind the long one lie.
    fn place_of(&self, file: u64) -> u64 {
        (self.files.end_of(file + 1) + self.under_way[file as usize % ROUND]).min(self.records)
    }

    /// How many files have theirs before those of this one: of those at one place the first file's are the first.
    fn placed_before(&self, file: u64) -> u64 {
        let place = self.place_of(file);
        let ended = self.files.ended_before(place.saturating_sub(UNDER_WAY));
        self.placed(place - 1) + (ended..file).filter(|other| self.place_of(*other) == place).count() as u64
    }

    /// How many files have theirs up to behind so many records.
    fn placed(&self, records: u64) -> u64 {
        if records >= self.records {
            return self.others();
        }
        let surely = self.files.ended_before((records + 1).saturating_sub(UNDER_WAY));
        let ended = surely..self.files.ended_before(records);
        surely + ended.filter(|file| self.place_of(*file) <= records).count() as u64
    }

    /// Those that lie just behind so many records, which may be all of a metaslab's.
    pub fn behind(&self, records: u64) -> impl Iterator<Item = u64> + '_ {
        let of_long = self.of_long();
        let metaslab = self.metaslab_of_place(records);
        let ends = records == self.files.long || records % self.records_per_metaslab == 0 || records == self.records;
        let long = metaslab * self.per_metaslab_of_long()..if ends && records <= self.files.long {
            self.of(records - 1) + 1
        } else {
            0
        };
        let files = self.files.ended_before(records.saturating_sub(UNDER_WAY))..self.others();
        let files = files.take_while(move |file| self.files.end_of(file + 1).min(self.records) <= records);
        let placed = files.filter(move |file| self.place_of(*file) == records);
        long.chain(placed.flat_map(move |file| of_long + file * self.per_file..of_long + (file + 1) * self.per_file))
    }

    /// Those that name any of these records, but for the ones that name others before.
    pub fn beginning_in(&self, records: Range<u64>) -> Range<u64> {
        let first = match records.start {
            0 => 0,
            start => self.of(start - 1) + 1,
        };
        first..self.of(records.end - 1) + 1
    }

    /// What lies of them between records of a metaslab, from its first on.
    pub fn bytes_between(&self, Range { start, end }: Range<u64>) -> u64 {
        if !self.files.has_others() {
            return 0;
        }
        let of_long = if end >= self.files.long { self.of_long_in(start) } else { 0 };
        of_long * self.long.allocated + (self.placed(end) - self.placed(start)) * self.file_bytes()
    }

    /// How many of the long file's are of the metaslab that begins with a record, if the file ends there: these lie just behind
    /// the file, since data comes before what names it, and a file before the next one.
    fn of_long_in(&self, first: u64) -> u64 {
        let left = self.files.long.saturating_sub(first);
        if self.files.has_others() && left <= self.records_per_metaslab {
            left.div_ceil(POINTERS)
        } else {
            0
        }
    }

    /// How many records lie between this one and the next indirect blocks, itself included.
    pub fn left_before(&self, record: u64) -> u64 {
        if record < self.files.long {
            return if self.files.has_others() { self.files.long - record } else { u64::MAX };
        }
        let first = self.files.ended_before((record + 1).saturating_sub(UNDER_WAY));
        let files = first..(self.files.ended_before(record + 2 * UNDER_WAY) + 1).min(self.others());
        let next = files.map(|file| self.place_of(file)).filter(|place| *place > record).min();
        next.map_or(u64::MAX, |place| place - record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mirror's in metaslabs of 2000 records.
    fn of(long: u64, each: u64, records: u64, seed: u64) -> Indirects {
        let geometry = Geometry::mirror(2, 12).unwrap();
        let files = Lengths { long, each };
        Indirects::new(&geometry, files, &mut sim::stream(seed, "files")).among(records, 2000)
    }

    /// By hand: of a file of 2880 records the first metaslab has two, which name 1024 and 976, and the second one, which names 880.
    #[test]
    fn the_users_file_has_its_own_behind_it_and_each_of_the_others_too() {
        let all = of(2880, 8, 2880 + 51 * 8, 1);
        let named = [0, 1023, 1024, 1999, 2000, 2879, 2880, 2887, 2888, 3287].map(|record| all.of(record));
        assert_eq!(named, [0, 0, 1, 1, 2, 2, 3, 3, 4, 53]);
        assert_eq!((all.count(), all.of_long()), (54, 3));
        assert_eq!([0, 1, 2, 3, 53].map(|one| all.named_up_to(one)), [1024, 2000, 2880, 2888, 3288]);
        // 42.5 KiB and 840 bytes.
        let (long, each) = (44 << 10, 4 << 10);
        assert_eq!((all.size(2).allocated, all.size(3).allocated), (long, each));
        assert_eq!([0, 1, 2].map(|one| all.place(one)), [None, None, Some((2880, 0))]);
        let (place, before) = all.place(3).unwrap();
        assert!((2888..2896).contains(&place) && before % each == long % each && before >= long, "{place} {before}");
        assert_eq!([2879, 2880, 3288].map(|end| all.bytes_between(2000..end)), [0, long, long + 51 * each]);
        assert_eq!((all.left_before(5), all.left_before(2000), all.left_before(3287)), (2875, 880, 1));
    }

    /// Also of files that are shorter than what is under way, and of those that a metaslab's end cuts.
    #[test]
    fn each_lies_behind_what_it_names_and_no_two_in_one_place() {
        for (long, each) in [(0, 48), (0, 8), (0, 1), (0, 3), (2880, 8), (2880, 1), (4000, 16), (3990, 2000), (0, 1500)]
        {
            for seed in 0..20 {
                let all = of(long, each, long + 9000 / each * each, seed);
                let behind: Vec<u64> = (1..=all.records).flat_map(|record| all.behind(record)).collect();
                let mut once = behind.clone();
                once.sort_unstable();
                assert!(once.into_iter().eq(0..all.count()), "{long} {each} {seed}");
                let places = behind.iter().filter_map(|one| all.place(*one).map(|place| (*one, place)));
                let places: Vec<(u64, (u64, u64))> = places.collect();
                for (one, (place, _)) in &places {
                    assert!(
                        all.named_up_to(*one) <= *place && place - all.named_up_to(*one) < UNDER_WAY + each.max(2000)
                    );
                }
                // One behind the other, in each metaslab from its beginning.
                for pair in places.windows(2).filter(|pair| pair[0].1 .0 / 2000 == pair[1].1 .0 / 2000) {
                    let [(one, (place, bytes)), (_, (next, behind))] = [pair[0], pair[1]];
                    let same = all.metaslab_of_place(place) == all.metaslab_of_place(next);
                    assert!(!same || behind == bytes + all.size(one).allocated, "{long} {each} {seed}: {pair:?}");
                }
            }
        }
    }

    #[test]
    fn between_records_nothing_is_left_out() {
        for (long, each) in [(0, 48), (0, 3), (2880, 8), (3990, 16)] {
            let all = of(long, each, long + 5000 / each * each, 3);
            let mut record = 0;
            while record < all.records {
                let next = record + all.left_before(record).min(2000 - record % 2000);
                let within = (record + 1..next).flat_map(|one| all.behind(one)).count();
                assert_eq!(within, 0, "{long} {each}: between {record} and {next}");
                record = next;
            }
        }
    }

    /// 512 bytes and 41 for each pointer, in whole sectors.
    #[test]
    fn what_they_take_grows_with_their_pointers() {
        let geometry = Geometry::mirror(2, 9).unwrap();
        let bytes = [48, 160, 640, 1024].map(|records| Size::of(&geometry, records).bytes);
        assert_eq!(bytes, [5, 14, 53, 83].map(|sectors| sectors * 512));
    }

    /// OpenZFS fills one and goes on in the next: 1024 of 1500 names take 44 KiB and the others 20, here two halves 32 each.
    #[test]
    fn a_file_of_more_names_than_one_has_room_for_has_several_that_take_as_much() {
        let all = of(0, 1500, 3000, 1);
        let Size { records, allocated, .. } = all.size(0);
        assert_eq!((records, all.per_file, all.count()), (750, 2, 4));
        let one_by_one = [1024, 1500].map(|records| Size::allocated_naming(&Geometry::mirror(2, 12).unwrap(), records));
        assert_eq!((one_by_one, 2 * allocated), ([44 << 10, 20 << 10], 64 << 10));
    }

    #[test]
    fn the_last_one_is_full_or_has_what_is_left() {
        let geometry = Geometry::mirror(2, 12).unwrap();
        let kib = [0, 1, 1024, 1025].map(|records| Size::allocated_naming(&geometry, records) >> 10);
        assert_eq!(kib, [0, 4, 44, 4]);
    }
}
