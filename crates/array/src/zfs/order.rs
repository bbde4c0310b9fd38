//! In which order a resilver goes through a pool.

use std::collections::VecDeque;
use std::ops::Range;

use super::flow::Others;
use super::own::{self, Copies};
use super::pool::Pool;
use super::tunables::{Host, Tunables};

/// How a vdev is healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Block by block as the tree of pointers names them, checksums verified: all there was before 0.8, and
    /// `zfs_scan_legacy` since.
    Blocks,
    /// The same blocks, sorted by their place on the vdev as far as memory allows: what `zpool replace` does.
    Sorted,
    /// Allocated space from its beginning to its end, checksums not verified: `zpool replace -s`, mirrors and dRAID only.
    Sequential,
}

/// A unit of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A block, how many records of users it is, and where its other copies lie, if it has any.
    Block { offset_bytes: u64, bytes: u64, records: u64, others: Others },
    /// Allocated space, and how many records lie in it.
    Segment { offset_bytes: u64, allocated: u64, records: u64 },
}

/// Bytes that the sort of a scan takes for a block (`SIO_GET_MUSED`): a `scan_io_t`, 96 of fields and 24 of its node in the tree, and an
/// address.
const SORTED_BLOCK_BYTES: u64 = 136;

/// Goes through a part of a pool.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    order: Order,
    next: u64,
    /// Up to here nothing counts: see [`Walk::go_to`].
    halt: u64,
    end: u64,
    /// Slots behind the first that hold what users have rewritten.
    beyond: Vec<u64>,
    batches: u64,
    batch_runs: u64,
    segment_bytes: u64,
    /// Is what it goes through all there is from the pool's beginning to its end, or to that of this part?
    is_from_beginning: bool,
    /// Have all second copies come already, with the first ones, wherever those lie?
    has_second_copies: bool,
    /// Copies of the pool's own blocks that are still to come, by their places, each with all of its block.
    kept: VecDeque<(u64, Copies)>,
    pending: VecDeque<Work>,
    stretch: Stretch,
}

/// Records that lie one behind the other with nothing between them, of which so many are left: the place of the first gives
/// those of the others.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    slot: u64,
    offset_bytes: u64,
    left: u64,
}

impl Walk {
    /// Nothing to go through yet.
    pub fn new(pool: &Pool, order: Order, tunables: &Tunables, host: &Host) -> Self {
        let (mut batches, mut batch_runs) = (1, u64::MAX);
        if let (Order::Sorted, Some(runs)) = (order, &pool.runs) {
            // `dsl_scan_should_clear`: a twentieth of memory, and no more than a twentieth of what is allocated.
            let limit = (host.memory_bytes / tunables.scan_mem_lim_fact).max(16 << 20).min(pool.allocated_bytes() / 20);
            batch_runs = (limit / SORTED_BLOCK_BYTES / runs.run_records).max(1);
            batches = runs.used.div_ceil(batch_runs).max(1);
        }
        let segment_bytes = tunables.rebuild_max_segment_bytes;
        // Pointers name what lies there, too; of an aged pool it is left out.
        let is_by_place = order != Order::Blocks && pool.runs.is_none();
        let beyond = if is_by_place { pool.places.beyond() } else { Vec::new() };
        Self {
            order,
            next: 0,
            halt: 0,
            end: 0,
            beyond,
            batches,
            batch_runs,
            segment_bytes,
            is_from_beginning: false,
            has_second_copies: false,
            kept: VecDeque::new(),
            pending: VecDeque::new(),
            stretch: Stretch::default(),
        }
    }

    /// How many steps all of it takes.
    pub fn steps(&self, pool: &Pool) -> u64 {
        match &pool.runs {
            Some(runs) if self.order != Order::Blocks => runs.slots * self.batches,
            _ => pool.records + self.beyond.len() as u64,
        }
    }

    /// Goes on at a step, up to another, with a halt on the way: nothing reaches over that. What begins with a halt is no run-up: it
    /// stands for nothing but itself.
    pub fn go_to(&mut self, first: u64, halt: u64, end: u64, pool: &Pool) {
        (self.next, self.halt, self.end) = (first, halt, end);
        self.is_from_beginning = first == 0 && halt == 0;
        self.pending.clear();
        self.stretch = Stretch::default();
        self.kept.clear();
        if self.is_from_beginning {
            self.kept.extend(pool.kept().into_iter().flat_map(|copies| copies.map(|copy| (copy, copies))));
            self.kept.make_contiguous().sort_unstable();
        }
    }

    /// In how many records from the beginning on something is written all over the vdev: who goes by place meets the second copies
    /// of all indirect blocks behind the first metaslab, and writes the first ones with them.
    pub fn scattered_records(&self, pool: &Pool) -> u64 {
        let is_scattered = self.order == Order::Sorted && pool.second_copies.is_some();
        if is_scattered {
            pool.records_per_metaslab.min(pool.records)
        } else {
            0
        }
    }

    /// Has all come that lies before the halt?
    pub fn is_beyond_halt(&self) -> bool {
        self.next >= self.halt && self.pending.is_empty()
    }

    /// Up to where one piece may reach.
    fn limit(&self) -> u64 {
        if self.next < self.halt {
            self.halt
        } else {
            self.end
        }
    }

    /// What comes next; `None` at the end of the part.
    pub fn next(&mut self, pool: &Pool) -> Option<Work> {
        // What comes next may lie just behind the last segment, and is one with it then.
        let waits = |walk: &Self| walk.order != Order::Sequential || walk.pending.len() > 1 || walk.next == walk.halt;
        while self.next < self.end && (self.pending.is_empty() || !waits(self)) {
            match &pool.runs {
                Some(_) if self.order != Order::Blocks => self.slot(pool),
                _ if self.stretch.left > 0 => self.of_stretch(pool),
                _ => self.record(pool),
            }
        }
        if self.pending.is_empty() && self.end == self.steps(pool) {
            self.kept_before(pool, u64::MAX);
        }
        self.pending.pop_front()
    }

    /// Copies of the pool's own blocks that lie before a place and have not come yet.
    fn kept_before(&mut self, pool: &Pool, offset_bytes: u64) {
        while self.kept.front().is_some_and(|(copy, _)| *copy < offset_bytes) {
            let (copy, copies) = self.kept.pop_front().expect("one was just seen");
            if self.order == Order::Sequential {
                self.segments(pool, copy, pool.geometry.allocated_bytes(own::BLOCK_BYTES), u64::MAX);
                continue;
            }
            let mut others = Others::default();
            if self.order == Order::Sorted {
                let unread = copies.into_iter().filter(|other| *other != copy);
                others.iter_mut().zip(unread).for_each(|(other, offset)| *other = Some(offset));
            }
            let bytes = own::BLOCK_BYTES;
            self.pending.push_back(Work::Block { offset_bytes: copy, bytes, records: 0, others });
        }
    }

    /// The block of dnodes that is just before a record, if there is one.
    fn dnodes_before(&mut self, pool: &Pool, record: u64) {
        let (bytes, others) = (own::BLOCK_BYTES, Others::default());
        match pool.dnodes_before(record) {
            Some(offset_bytes) if self.order == Order::Sequential => {
                self.segments(pool, offset_bytes, pool.geometry.allocated_bytes(bytes), u64::MAX);
            }
            Some(offset_bytes) => self.pending.push_back(Work::Block { offset_bytes, bytes, records: 0, others }),
            None => {}
        }
    }

    /// From the record at hand on: itself, or all that one segment holds.
    fn record(&mut self, pool: &Pool) {
        let record = self.next;
        let slot = if self.order == Order::Blocks { pool.places.of(record) } else { self.slot_at(pool, record) };
        let offset_bytes = pool.record_offset(slot);
        self.kept_before(pool, if self.order == Order::Blocks { u64::MAX } else { offset_bytes });
        self.dnodes_before(pool, if self.order == Order::Blocks { record } else { slot });
        match self.order {
            Order::Blocks => {
                for names in pool.indirects.beginning_in(record..record + 1) {
                    (0..2).for_each(|copy| self.names(pool, names, copy));
                }
                self.block_in(pool, slot, offset_bytes);
                self.next += 1;
            }
            Order::Sorted => {
                let left = if record < pool.records { self.sorted_from(pool, slot, offset_bytes) } else { 1 };
                self.stretch = Stretch { slot, offset_bytes, left };
                self.of_stretch(pool);
            }
            Order::Sequential => {
                let records = pool.places.old_from(slot, self.in_one_stretch(pool, slot));
                let record_bytes = pool.record_allocated();
                self.segments(pool, offset_bytes, records * record_bytes, record_bytes);
                self.next += records.max(1);
                if record < pool.records {
                    self.indirects(pool, slot..slot + records.max(1));
                }
            }
        }
    }

    /// How many records from the one at hand on come without anything else. Of a full pool copies of its own blocks may lie where
    /// records do.
    fn sorted_from(&self, pool: &Pool, slot: u64, offset_bytes: u64) -> u64 {
        let until_kept = |(copy, _): &(u64, Copies)| (copy - offset_bytes) / pool.record_allocated() + 1;
        let before_kept = self.kept.front().map_or(u64::MAX, until_kept);
        self.in_one_stretch(pool, slot).min(before_kept)
    }

    /// The next record of the stretch at hand.
    fn of_stretch(&mut self, pool: &Pool) {
        let Stretch { slot, offset_bytes, left } = self.stretch;
        self.block_in(pool, slot, offset_bytes);
        if left == 1 && self.next < pool.records {
            self.indirects(pool, slot..slot + 1);
        }
        self.next += 1;
        self.stretch = Stretch { slot: slot + 1, offset_bytes: offset_bytes + pool.record_allocated(), left: left - 1 };
    }

    /// What is there at a step, by place.
    fn slot_at(&self, pool: &Pool, step: u64) -> u64 {
        match step.checked_sub(pool.records) {
            None => pool.record_by_place(step),
            Some(number) => self.beyond[number as usize],
        }
    }

    /// How many records from the one at hand on, which is in this slot, lie one behind the other.
    fn in_one_stretch(&self, pool: &Pool, slot: u64) -> u64 {
        pool.left_in_stretch(slot).min(self.in_one_piece(pool, self.next))
    }

    /// How many steps from this one on may be of slots that follow each other. Of those behind the first a slot between two that
    /// were held then has nothing old.
    fn in_one_piece(&self, pool: &Pool, step: u64) -> u64 {
        if step < pool.records {
            (pool.records.min(self.limit()) - step).min(pool.records - pool.record_by_place(step))
        } else {
            self.limit() - step
        }
    }

    /// The block in a slot, unless it was rewritten meanwhile (`dsl_scan_freed`).
    fn block_in(&mut self, pool: &Pool, slot: u64, offset_bytes: u64) {
        if pool.places.is_old(slot) {
            self.block(pool, offset_bytes);
        }
    }

    /// The run in the slot at hand, if one lies there and its batch is at it.
    fn slot(&mut self, pool: &Pool) {
        let runs = pool.runs.as_ref().expect("only aged pools have slots");
        let (batch, slot) = (self.next / runs.slots, self.next % runs.slots);
        self.next += 1;
        let Some(run) = runs.run_in(slot).filter(|run| run / self.batch_runs == batch) else {
            return;
        };
        let records = runs.run_records.min(pool.records - run * runs.run_records);
        let offset_bytes = pool.slot_offset(slot);
        if self.order == Order::Sequential {
            self.segments(pool, offset_bytes, records * pool.record_allocated(), pool.record_allocated());
        } else {
            (0..records).for_each(|record| self.block(pool, offset_bytes + record * pool.record_allocated()));
        }
    }

    fn block(&mut self, pool: &Pool, offset_bytes: u64) {
        let others = Others::default();
        self.pending.push_back(Work::Block { offset_bytes, bytes: pool.record_bytes, records: 1, others });
    }

    /// Allocated space, of which so much is a record's.
    fn segments(&mut self, pool: &Pool, offset_bytes: u64, all: u64, record_bytes: u64) {
        let mut done = 0;
        if let Some(Work::Segment { offset_bytes: first, allocated, records }) = self.pending.back_mut() {
            if *first + *allocated == offset_bytes && pool.are_in_one_metaslab(*first, offset_bytes) {
                done = pool.geometry.rebuild_bytes(*first, *allocated + all, self.segment_bytes) - *allocated;
                *allocated += done;
                *records += done / record_bytes;
            }
        }
        while done < all {
            let allocated = pool.geometry.rebuild_bytes(offset_bytes + done, all - done, self.segment_bytes);
            // A record counts where it ends.
            let records = (done + allocated) / record_bytes - done / record_bytes;
            self.pending.push_back(Work::Segment { offset_bytes: offset_bytes + done, allocated, records });
            done += allocated;
        }
    }

    /// The indirect blocks that come behind these records, as they lie. Of a part that stands for others the second copies come
    /// with the first ones, unless all of them came in a part before.
    fn indirects(&mut self, pool: &Pool, records: Range<u64>) {
        let end = records.end.min(pool.records);
        pool.indirects.behind(end).for_each(|one| self.names(pool, one, 0));
        if pool.left_in_metaslab(end - 1) > 1 && end < pool.records {
            return;
        }
        let metaslab = (end - 1) / pool.records_per_metaslab;
        match pool.second_copies {
            Some(_) if self.is_from_beginning && metaslab == 0 => {
                (0..pool.indirects.count()).for_each(|one| self.names(pool, one, 1));
                self.has_second_copies = true;
            }
            Some(_) if self.is_from_beginning || self.has_second_copies => {}
            _ => {
                let first = metaslab * pool.records_per_metaslab;
                pool.indirects.beginning_in(first..end).for_each(|one| self.names(pool, one, 1));
            }
        }
    }

    /// A copy of an indirect block.
    fn names(&mut self, pool: &Pool, indirect: u64, copy: usize) {
        let (offsets, size) = (pool.indirect_offsets(indirect), pool.indirects.size(indirect));
        if self.order == Order::Sequential {
            self.segments(pool, offsets[copy], size.allocated, u64::MAX);
            return;
        }
        // What is sorted has all addresses of a block, of which the one at hand is read (`bp2sio`).
        let other = (self.order == Order::Sorted).then_some(offsets[1 - copy]);
        let (offset_bytes, bytes, others) = (offsets[copy], size.bytes, [other, None]);
        self.pending.push_back(Work::Block { offset_bytes, bytes, records: 0, others });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zfs::content::{Content, Files};
    use crate::zfs::geometry::Geometry;

    /// What the pool says of itself comes once for each of its three copies, each time with the other two.
    #[test]
    fn the_pools_own_blocks_come_with_all_their_copies() {
        let content = Content { record_bytes: 128 << 10, fill: 0.4, run_records: None, files: Files::One };
        let pool =
            Pool::new(Geometry::mirror(2, 12).unwrap(), 30 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
        let mut walk = Walk::new(&pool, Order::Sorted, &Tunables::v2_3(), &Host::default());
        walk.go_to(0, 0, walk.steps(&pool), &pool);
        let with_both = std::iter::from_fn(|| walk.next(&pool)).filter(
            |work| matches!(work, Work::Block { records: 0, others: [Some(one), Some(other)], .. } if one != other),
        );
        assert_eq!(with_both.count(), 3 * pool.kept().len());
    }

    fn fresh(fill: f64, files: Files) -> Pool {
        let content = Content { record_bytes: 128 << 10, fill, run_records: None, files };
        let mut pool =
            Pool::new(Geometry::mirror(2, 12).unwrap(), 30 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
        pool.gather_second_copies();
        pool
    }

    /// All that comes of a part, which begins to count at a halt.
    fn part(pool: &Pool, order: Order, first: u64, halt: u64, end: u64) -> Vec<Work> {
        let mut walk = Walk::new(pool, order, &Tunables::v2_3(), &Host::default());
        walk.go_to(first, halt, end, pool);
        std::iter::from_fn(|| walk.next(pool)).collect()
    }

    fn begins(work: &Work) -> u64 {
        match work {
            Work::Block { offset_bytes, .. } | Work::Segment { offset_bytes, .. } => *offset_bytes,
        }
    }

    fn records(work: &Work) -> u64 {
        match work {
            Work::Block { records, .. } | Work::Segment { records, .. } => *records,
        }
    }

    #[test]
    fn who_goes_by_place_meets_records_from_the_beginning_to_the_end_and_no_segment_in_two_metaslabs() {
        let (each, beside) = (Files::Each { bytes: Some(6 << 20) }, Files::BehindUsers { bytes: Some(1 << 20) });
        for (fill, files) in [(0.4, Files::One), (0.4, each), (0.4, beside), (0.7, Files::One), (1.0, Files::One)] {
            let pool = fresh(fill, files);
            for order in [Order::Sorted, Order::Sequential] {
                let mut works = part(&pool, order, 0, 0, pool.records);
                for work in &works {
                    if let Work::Segment { offset_bytes, allocated, .. } = work {
                        assert!(pool.are_in_one_metaslab(*offset_bytes, offset_bytes + allocated - 1), "{work:?}");
                    }
                }
                works.retain(|work| records(work) > 0);
                assert!(works.windows(2).all(|pair| begins(&pair[0]) < begins(&pair[1])), "{fill} {order:?}");
            }
        }
    }

    /// `bp2sio`, `zio_vdev_io_start`: what is kept twice comes once for each copy, and each time with the other.
    #[test]
    fn each_copy_of_what_names_records_comes_with_the_other() {
        let pool = fresh(0.4, Files::One);
        let works = part(&pool, Order::Sorted, 0, 0, pool.records);
        let pair = |work: &Work| match work {
            Work::Block { offset_bytes, records: 0, others: [Some(other), None], .. } => Some([*offset_bytes, *other]),
            _ => None,
        };
        let mut found: Vec<[u64; 2]> = works.iter().filter_map(pair).collect();
        let both = |[one, other]: [u64; 2]| [[one, other], [other, one]];
        let mut expected: Vec<[u64; 2]> =
            (0..pool.indirects.count()).flat_map(|one| both(pool.indirect_offsets(one))).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    /// A window stands for itself alone: of what lies elsewhere, for the pool as a whole, nothing comes with it.
    #[test]
    fn nothing_reaches_over_a_halt_and_what_is_of_the_whole_comes_with_the_whole() {
        let pool = fresh(0.4, Files::Each { bytes: Some(6 << 20) });
        for order in [Order::Blocks, Order::Sorted, Order::Sequential] {
            let mut walk = Walk::new(&pool, order, &Tunables::v2_3(), &Host::default());
            walk.go_to(0, 50, 117, &pool);
            let mut before = 0;
            while !walk.is_beyond_halt() {
                before += walk.next(&pool).as_ref().map_or(0, records);
            }
            let behind: u64 = std::iter::from_fn(|| walk.next(&pool)).map(|work| records(&work)).sum();
            assert_eq!((before, behind), (50, 67), "{order:?}");
        }
        let own: Vec<u64> = pool.kept().into_iter().flatten().collect();
        let kept = |first, halt, end| {
            let works = part(&pool, Order::Sorted, first, halt, end);
            works.iter().filter(|work| own.contains(&begins(work))).count()
        };
        let of_the_beginning = own.iter().filter(|offset| **offset < pool.record_offset(100)).count();
        assert_eq!([kept(0, 0, 100), kept(0, 10, 100)], [of_the_beginning, 0]);
        assert_eq!(kept(0, 0, pool.records), own.len());
    }

    /// Second copies lie behind the first metaslab: who has begun there has met all of them, who has not meets those of what it goes through.
    #[test]
    fn second_copies_come_once() {
        let pool = fresh(0.4, Files::One);
        let all: Vec<u64> = (0..pool.indirects.count()).map(|one| pool.indirect_offsets(one)[1]).collect();
        let each = pool.records_per_metaslab;
        let mut walk = Walk::new(&pool, Order::Sorted, &Tunables::v2_3(), &Host::default());
        let mut seconds = |first, halt, end| {
            walk.go_to(first, halt, end, &pool);
            let works = std::iter::from_fn(|| walk.next(&pool));
            works.filter(|work| all.contains(&begins(work))).count() as u64
        };
        let of_a_metaslab = pool.indirects.of(each);
        assert_eq!(seconds(2 * each - 10, 2 * each - 5, 2 * each + 10), of_a_metaslab);
        assert_eq!(seconds(0, 0, each + 10), pool.indirects.count());
        assert_eq!(seconds(2 * each - 10, 2 * each - 5, 2 * each + 10), 0);
    }

    /// Sorted is what was found first, in the order in which pointers name it, until memory is full.
    #[test]
    fn a_batch_is_of_what_pointers_name_first() {
        let content = Content { record_bytes: 128 << 10, fill: 0.3, run_records: Some(5), files: Files::One };
        let pool =
            Pool::new(Geometry::mirror(2, 12).unwrap(), 100 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
        let host = Host { memory_bytes: 8 << 20, ..Host::default() };
        let mut walk = Walk::new(&pool, Order::Sorted, &Tunables::v2_3(), &host);
        assert_eq!((walk.batches, walk.batch_runs), (2, 24_672));
        walk.go_to(0, 0, walk.steps(&pool) / 2, &pool);
        let mut found: Vec<u64> = std::iter::from_fn(|| walk.next(&pool)).map(|work| begins(&work)).collect();
        let mut expected: Vec<u64> = (0..5 * walk.batch_runs).map(|record| pool.record_offset(record)).collect();
        assert!(found.is_sorted());
        expected.sort_unstable();
        found.dedup();
        assert_eq!(found, expected);
    }

    /// `dsl_scan_should_clear`: of sectors of 512 bytes a twentieth of 1 + 1/6 of what they take, names included, has room for more than a fifth.
    #[test]
    fn a_sort_takes_no_more_than_a_twentieth_of_what_is_allocated() {
        let content = Content { record_bytes: 512, fill: 0.5, run_records: Some(1), files: Files::One };
        let pool = Pool::new(Geometry::mirror(2, 9).unwrap(), 1 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
        let batches = |memory_bytes| {
            let host = Host { memory_bytes, ..Host::default() };
            Walk::new(&pool, Order::Sorted, &Tunables::v2_3(), &host).batches
        };
        let sorted_bytes = pool.records * 136;
        let twentieth = pool.allocated_bytes() / 20;
        assert!((4 * twentieth..5 * twentieth).contains(&sorted_bytes), "{sorted_bytes} of {twentieth}");
        assert_eq!(batches(16 << 30), 5);
    }

    /// A file's end does not cut a segment: a rebuild knows what is allocated, and not of what.
    #[test]
    fn what_lies_in_one_piece_is_cut_into_whole_segments() {
        let content = Content {
            record_bytes: 128 << 10,
            fill: 0.4,
            run_records: None,
            files: Files::Each { bytes: Some(6 << 20) },
        };
        let pool =
            Pool::new(Geometry::mirror(2, 12).unwrap(), 30 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
        let mut walk = Walk::new(&pool, Order::Sequential, &Tunables::v2_3(), &Host::default());
        walk.go_to(0, 0, walk.steps(&pool), &pool);
        let segments: Vec<(u64, u64)> = std::iter::from_fn(|| walk.next(&pool))
            .map(|work| match work {
                Work::Segment { offset_bytes, allocated, .. } => (offset_bytes, allocated),
                Work::Block { .. } => panic!("a rebuild knows of no blocks"),
            })
            .collect();
        let cut = segments.windows(2).filter(|pair| pair[0].0 + pair[0].1 == pair[1].0);
        assert!(cut.clone().count() > 1000);
        assert!(cut.clone().all(|pair| pair[0].1 == 1 << 20));
    }

    /// `dsl_scan_should_clear` by hand: 16 MiB are enough for 123361 blocks of 136 bytes, which are 24672 runs of 5 records. So
    /// many lie in 15.5 % of the 96.9 GiB that a pool of 100 has for users.
    #[test]
    fn what_memory_cannot_hold_at_once_is_sorted_in_batches() {
        let host = Host { memory_bytes: 8 << 20, ..Host::default() };
        for (fill, batches) in [(0.1, 1), (0.15, 1), (0.16, 2), (0.305, 2), (0.32, 3)] {
            let content = Content { record_bytes: 128 << 10, fill, run_records: Some(5), files: Files::One };
            let pool =
                Pool::new(Geometry::mirror(2, 12).unwrap(), 100 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
            let walk = Walk::new(&pool, Order::Sorted, &Tunables::v2_3(), &host);
            assert_eq!(walk.batches, batches, "{fill} of it is full");
        }
    }

    /// Each allocated byte once, in any order, fresh or aged.
    #[test]
    fn everything_is_visited_once() {
        let host = Host { memory_bytes: 8 << 20, ..Host::default() };
        let of_users = Files::BehindUsers { bytes: Some(3 << 20) };
        for order in [Order::Blocks, Order::Sorted, Order::Sequential] {
            for (run_records, files) in
                [(None, Files::One), (Some(5), Files::One), (Some(7), Files::One), (None, of_users)]
            {
                let geometry = Geometry::mirror(2, 12).unwrap();
                let content = Content { record_bytes: 1 << 20, fill: 0.4, run_records, files };
                let pool = Pool::new(geometry, 30 << 30, content, 1 << 30, &Tunables::v2_3(), 1).unwrap();
                let mut walk = Walk::new(&pool, order, &Tunables::v2_3(), &host);
                walk.go_to(0, 0, walk.steps(&pool), &pool);
                let (mut bytes, mut records) = (0, 0);
                let mut offsets = Vec::new();
                while let Some(work) = walk.next(&pool) {
                    let (offset, length, held) = match work {
                        Work::Block { offset_bytes, bytes, records, .. } => (offset_bytes, bytes, records),
                        Work::Segment { offset_bytes, allocated, records } => (offset_bytes, allocated, records),
                    };
                    bytes += length;
                    records += held;
                    offsets.push(offset);
                }
                assert_eq!(records, pool.records, "{order:?} {run_records:?}");
                let aged = run_records.is_some() && order != Order::Blocks;
                let expected = if aged { pool.records << 20 } else { pool.allocated_bytes() };
                assert_eq!(bytes, expected, "{order:?} {run_records:?}");
                let all = offsets.len();
                offsets.sort_unstable();
                offsets.dedup();
                assert_eq!(offsets.len(), all);
            }
        }
    }
}
