//! What stands before each drive: classes of requests, how many of each the drive is given at a time, and neighbours made
//! one (`vdev_queue.c`).

use std::collections::VecDeque;

use sim::prefetch_behind;

use super::tunables::{Active, Tunables};

/// `zfs_vdev_write_gap_limit`.
const WRITE_GAP_LIMIT_BYTES: u64 = 4 << 10;

/// A wide vdev's queues hold more together than the processor's caches do: where one is written next is asked for as many requests ahead.
const ASKED_AHEAD: usize = 4;

/// Why a request is made, in the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    SyncRead,
    SyncWrite,
    AsyncWrite,
    Scrub,
    Rebuild,
}

const CLASSES: [Class; 5] = [Class::SyncRead, Class::SyncWrite, Class::AsyncWrite, Class::Scrub, Class::Rebuild];

impl Class {
    fn is_interactive(self) -> bool {
        !matches!(self, Self::Scrub | Self::Rebuild)
    }

    /// Those in which the first comes first; the others go by offset.
    fn is_fifo(self) -> bool {
        matches!(self, Self::SyncRead | Self::SyncWrite)
    }
}

/// A column's request, waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub offset_bytes: u64,
    /// No column is longer than a record, or than a segment of 16 MiB.
    bytes: u32,
    pub is_write: bool,
    /// Whose column it is.
    pub flow: u32,
    /// Nothing is joined to it (`ZIO_FLAG_DONT_AGGREGATE`).
    is_alone: bool,
    /// What a raidz leaves free behind it is written with it if that joins it to the next (`ZIO_FLAG_OPTIONAL`).
    fills_padding: bool,
    /// Requests are sorted by offset among those of the same half second (`VDQ_T_SHIFT`).
    age: u32,
}

impl Entry {
    pub fn new(now_ns: u64, offset_bytes: u64, bytes: u64, is_write: bool, flow: u32) -> Self {
        let (bytes, age) = (bytes as u32, (now_ns >> 29) as u32);
        Self { offset_bytes, bytes, is_write, flow, is_alone: false, fills_padding: false, age }
    }

    /// The same, with which nothing is joined if so.
    pub fn alone(self, is_alone: bool) -> Self {
        Self { is_alone, ..self }
    }

    /// The same, whose padding is written, too, if so.
    pub fn padded(self, fills_padding: bool) -> Self {
        Self { fills_padding, ..self }
    }

    pub fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }

    fn end(&self) -> u64 {
        self.offset_bytes + self.bytes()
    }
}

/// One request to the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Issued {
    pub class: Class,
    pub is_write: bool,
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// The queue before one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct VdevQueue {
    waiting: [VecDeque<Entry>; CLASSES.len()],
    /// In which classes something waits, a bit each: most looks find that nothing does.
    wanting: u8,
    /// The drive has enough, and still has it: most requests come while it is so, and need no look at all classes.
    is_sated: bool,
    active: [u32; CLASSES.len()],
    interactive: u32,
    credit: u32,
    last_class: usize,
    last_end: u64,
}

impl VdevQueue {
    /// Requests that are with the drive: all that a mirror looks at (`vdev_queue_length`), however many wait.
    pub fn load(&self) -> usize {
        self.active.iter().sum::<u32>() as usize
    }

    /// Where the last request ended.
    pub fn last_end(&self) -> u64 {
        self.last_end
    }

    pub fn push(&mut self, class: Class, entry: Entry) {
        self.is_sated &= self.wants(class);
        self.wanting |= 1 << class as u8;
        let queue = &mut self.waiting[class as usize];
        let key = |one: &Entry| (one.age, one.offset_bytes);
        if class.is_fifo() || queue.back().is_none_or(|last| key(last) <= key(&entry)) {
            queue.push_back(entry);
            queue.back().into_iter().for_each(|last| prefetch_behind(last, ASKED_AHEAD));
        } else {
            let at = queue.partition_point(|one| key(one) <= key(&entry));
            queue.insert(at, entry);
        }
    }

    /// Is there surely nothing for the drive? How many asynchronous writes it may have changes with what is dirty.
    pub fn is_idle(&self) -> bool {
        self.wanting == 0 || (self.is_sated && !self.wants(Class::AsyncWrite))
    }

    fn wants(&self, class: Class) -> bool {
        self.wanting >> class as u8 & 1 != 0
    }

    /// Drops all that waits; returns it.
    pub fn drain(&mut self) -> Vec<Entry> {
        self.wanting = 0;
        self.waiting.iter_mut().flat_map(|queue| queue.drain(..)).collect()
    }

    /// The next request for the drive, made of entries that `taken` is filled with; `None` if it has enough.
    pub fn issue(&mut self, tunables: &Tunables, dirty: f64, taken: &mut Vec<Entry>) -> Option<Issued> {
        let class = self.class_to_issue(tunables, dirty);
        self.is_sated = class.is_none();
        let class = class?;
        self.last_class = class as usize;
        let queue = &mut self.waiting[class as usize];
        let at = if class.is_fifo() { 0 } else { next_by_offset(queue, self.last_end) };
        let range = neighbours(queue, at, tunables);
        taken.clear();
        taken.extend(queue.range(range.clone()));
        queue.drain(range);
        if queue.is_empty() {
            self.wanting &= !(1 << class as u8);
        }
        let (first, last) = (taken[0], taken[taken.len() - 1]);
        let issued = Issued {
            class,
            is_write: first.is_write,
            offset_bytes: first.offset_bytes,
            bytes: last.end() - first.offset_bytes,
        };
        self.begin(class);
        self.last_end = last.end();
        Some(issued)
    }

    /// Counts a request that went to the drive past the queue: a retry.
    pub fn begin(&mut self, class: Class) {
        self.active[class as usize] += 1;
        if class.is_interactive() {
            self.interactive += 1;
            if self.interactive == 1 {
                self.credit = 1;
            }
        } else if self.interactive > 0 {
            self.credit = self.credit.saturating_sub(1);
        }
    }

    /// The drive has answered.
    pub fn done(&mut self, class: Class, tunables: &Tunables) {
        self.is_sated = false;
        self.active[class as usize] -= 1;
        if class.is_interactive() {
            self.interactive -= 1;
            self.credit = if self.interactive == 0 { 0 } else { tunables.nia.map_or(0, |(_, credit)| credit) };
        } else if self.interactive == 0 {
            self.credit = self.credit.saturating_add(1);
        }
    }

    fn class_to_issue(&self, tunables: &Tunables, dirty: f64) -> Option<Class> {
        let wanting = |at: usize| self.wants(CLASSES[at]);
        let behind_last = self.last_class + 1..CLASSES.len();
        let below_min = behind_last
            .chain(0..=self.last_class)
            .find(|at| wanting(*at) && self.active[*at] < self.min_active(CLASSES[*at], tunables));
        let found = below_min.or_else(|| {
            (0..CLASSES.len())
                .find(|at| wanting(*at) && self.active[*at] < self.max_active(CLASSES[*at], tunables, dirty))
        })?;
        Some(CLASSES[found])
    }

    fn min_active(&self, class: Class, tunables: &Tunables) -> u32 {
        let Active { min, .. } = limits(class, tunables);
        if class.is_interactive() || tunables.nia.is_none() || self.interactive == 0 {
            min
        } else {
            min.min(self.credit)
        }
    }

    fn max_active(&self, class: Class, tunables: &Tunables, dirty: f64) -> u32 {
        let Active { min, max } = limits(class, tunables);
        if class == Class::AsyncWrite {
            let share = ((dirty - 0.3) / 0.3).clamp(0.0, 1.0);
            return min + (f64::from(max - min) * share) as u32;
        }
        match tunables.nia {
            Some((delay, _)) if !class.is_interactive() => {
                if self.interactive > 0 {
                    min.min(self.credit)
                } else if self.credit < delay {
                    min.max(1)
                } else {
                    max
                }
            }
            _ => max,
        }
    }
}

fn limits(class: Class, tunables: &Tunables) -> Active {
    match class {
        Class::SyncRead => tunables.sync_read,
        Class::SyncWrite => tunables.sync_write,
        Class::AsyncWrite => tunables.async_write,
        Class::Scrub => tunables.scrub,
        Class::Rebuild => tunables.rebuild,
    }
}

/// The one behind where the last request ended, among the oldest; else the first of these.
fn next_by_offset(queue: &VecDeque<Entry>, last_end: u64) -> usize {
    let first = queue[0];
    if first.offset_bytes >= last_end {
        return 0;
    }
    let at = queue.partition_point(|one| (one.age, one.offset_bytes) < (first.age, last_end));
    if queue.get(at).is_some_and(|one| one.age == first.age) {
        at
    } else {
        0
    }
}

/// Which entries around this one make one request with it.
fn neighbours(queue: &VecDeque<Entry>, at: usize, tunables: &Tunables) -> std::ops::Range<usize> {
    let found = queue[at];
    let adjoin = |one: &Entry, next: &Entry| {
        let gap = match (found.is_write, one.fills_padding && next.fills_padding) {
            (false, _) => tunables.read_gap_limit_bytes,
            (true, true) => WRITE_GAP_LIMIT_BYTES,
            (true, false) => 0,
        };
        let is_joined = one.is_write == next.is_write && !one.is_alone && !next.is_alone;
        is_joined && next.offset_bytes.checked_sub(one.end()).is_some_and(|between| between <= gap)
    };
    let limit = tunables.aggregation_limit_bytes;
    let (mut first, mut edge) = (at, &found);
    for one in queue.range(..at).rev() {
        if !adjoin(one, edge) || found.end() - one.offset_bytes > limit {
            break;
        }
        (first, edge) = (first - 1, one);
    }
    let begin = edge.offset_bytes;
    let (mut end, mut edge) = (at + 1, &found);
    for one in queue.range(end..) {
        if !adjoin(edge, one) || one.end() - begin > limit {
            break;
        }
        (end, edge) = (end + 1, one);
    }
    first..end
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    fn issue(queue: &mut VdevQueue) -> Option<(u64, u64, usize)> {
        let mut taken = Vec::new();
        let issued = queue.issue(&Tunables::v2_3(), 0.0, &mut taken)?;
        Some((issued.offset_bytes / KIB, issued.bytes / KIB, taken.len()))
    }

    fn read(queue: &mut VdevQueue, offset_kib: u64, kib: u64) {
        queue.push(Class::Scrub, Entry::new(0, offset_kib * KIB, kib * KIB, false, 0));
    }

    #[test]
    fn neighbours_are_read_in_one_request_up_to_the_limit() {
        let mut queue = VdevQueue::default();
        for column in 0..100 {
            read(&mut queue, column * 44, 40);
        }
        // 24 columns of 40 KiB with gaps of 4: 24 * 44 - 4 = 1052 are too many, 23 make 1008.
        assert_eq!(issue(&mut queue), Some((0, 1008, 23)));
        assert_eq!(issue(&mut queue), None, "one at a time until the drive has proved idle");
        queue.done(Class::Scrub, &Tunables::v2_3());
        assert_eq!(issue(&mut queue), Some((1012, 1008, 23)));
    }

    #[test]
    fn writes_are_not_joined_over_gaps() {
        let mut queue = VdevQueue::default();
        for (offset, kib) in [(0, 40), (44, 44), (88, 44)] {
            queue.push(Class::AsyncWrite, Entry::new(0, offset * KIB, kib * KIB, true, 0));
        }
        assert_eq!(issue(&mut queue), Some((0, 40, 1)));
        assert_eq!(issue(&mut queue), Some((44, 88, 2)));
    }

    /// Three records of a raidz1 of 4, with a sector of padding behind each on this drive.
    #[test]
    fn padding_is_written_where_it_joins_what_is_written_anew() {
        let mut queue = VdevQueue::default();
        for offset in [0, 44, 88] {
            queue.push(Class::AsyncWrite, Entry::new(0, offset * KIB, 40 * KIB, true, 0).padded(true));
        }
        assert_eq!(issue(&mut queue), Some((0, 128, 3)));
        queue.push(Class::AsyncWrite, Entry::new(0, 132 * KIB, 40 * KIB, true, 0));
        queue.push(Class::AsyncWrite, Entry::new(0, 176 * KIB, 40 * KIB, true, 0).padded(true));
        assert_eq!(issue(&mut queue), Some((132, 40, 1)), "what is repaired has none");
    }

    #[test]
    fn background_classes_make_way() {
        let tunables = Tunables::v2_3();
        let mut queue = VdevQueue::default();
        (0..20).for_each(|at| read(&mut queue, at * 2000, 4));
        // Five answers without users in between: three at a time.
        for _ in 0..5 {
            assert!(issue(&mut queue).is_some());
            queue.done(Class::Scrub, &tunables);
        }
        assert_eq!((0..4).filter(|_| issue(&mut queue).is_some()).count(), 3);
        // A user's read waits for nobody, and the scan is held back.
        queue.push(Class::SyncRead, Entry::new(0, 9_000_000 * KIB, 4 * KIB, false, 1));
        assert_eq!(issue(&mut queue), Some((9_000_000, 4, 1)));
        (0..3).for_each(|_| queue.done(Class::Scrub, &tunables));
        assert!(issue(&mut queue).is_some());
        assert!(issue(&mut queue).is_none());
    }

    /// `vdev_queue_pending_add`, `_remove`, with five for both tunables: the first of the users' requests leaves room for one of the scan's, each
    /// answer that is not the last for five, one at a time, and behind the last it takes five answers until there are three at a time.
    #[test]
    fn background_requests_are_counted_between_users() {
        counted_between_users(Class::Scrub, 3);
        counted_between_users(Class::Rebuild, 2);
    }

    /// `most` are given to a drive that has nothing else to do.
    fn counted_between_users(class: Class, most: usize) {
        let tunables = Tunables { rebuild: Active { min: 1, max: 2 }, ..Tunables::v2_3() };
        let (mut queue, mut taken) = (VdevQueue::default(), Vec::new());
        (0..40).for_each(|at| queue.push(class, Entry::new(0, at * 2000 * KIB, 4 * KIB, false, 0)));
        let mut issue = |queue: &mut VdevQueue| queue.issue(&tunables, 0.0, &mut taken).map(|issued| issued.class);
        let user = |queue: &mut VdevQueue| {
            queue.push(Class::SyncRead, Entry::new(0, 9_000_000 * KIB, 4 * KIB, false, 1));
        };
        for _ in 0..7 {
            assert_eq!(issue(&mut queue), Some(class));
            queue.done(class, &tunables);
        }
        // So many go out, each when the one before is answered.
        let one_by_one = |queue: &mut VdevQueue, issue: &mut dyn FnMut(&mut VdevQueue) -> Option<Class>| {
            let goes = std::iter::from_fn(|| {
                let one = issue(queue)?;
                assert_eq!((one, issue(queue)), (class, None));
                queue.done(class, &tunables);
                Some(one)
            });
            goes.take(10).count()
        };
        for expected in [1, 0] {
            user(&mut queue);
            assert_eq!(issue(&mut queue), Some(Class::SyncRead));
            assert_eq!(one_by_one(&mut queue, &mut issue), expected);
        }
        queue.done(Class::SyncRead, &tunables);
        assert_eq!(one_by_one(&mut queue, &mut issue), 5);
        queue.done(Class::SyncRead, &tunables);
        for _ in 0..5 {
            assert_eq!([(); 2].map(|()| issue(&mut queue)), [Some(class), None]);
            queue.done(class, &tunables);
        }
        assert_eq!((0..10).filter(|_| issue(&mut queue).is_some()).count(), most);
    }

    /// `vdev_queue_max_async_writes`: from 2 at three tenths of what may be dirty to 10 at six.
    #[test]
    fn the_more_is_dirty_the_more_is_written_at_a_time() {
        let at_a_time = |dirty: f64| {
            let mut queue = VdevQueue::default();
            (0..20).for_each(|at| {
                queue.push(Class::AsyncWrite, Entry::new(0, at * 2000 * KIB, 4 * KIB, true, 0));
            });
            let mut taken = Vec::new();
            (0..20).filter(|_| queue.issue(&Tunables::v2_3(), dirty, &mut taken).is_some()).count()
        };
        assert_eq!([0.0, 0.3, 0.45, 0.61, 1.0].map(at_a_time), [2, 2, 6, 10, 10]);
    }

    #[test]
    fn what_becomes_dirty_meanwhile_lets_more_through() {
        let (mut queue, mut taken) = (VdevQueue::default(), Vec::new());
        (0..20).for_each(|at| queue.push(Class::AsyncWrite, Entry::new(0, at * 2000 * KIB, 4 * KIB, true, 0)));
        let mut issued = |queue: &mut VdevQueue, dirty| {
            (0..20).filter(|_| queue.issue(&Tunables::v2_3(), dirty, &mut taken).is_some()).count()
        };
        assert_eq!((issued(&mut queue, 0.0), queue.is_idle()), (2, false));
        assert_eq!(issued(&mut queue, 1.0), 8);
    }

    /// `vdev_queue_class_to_issue` goes round among those that have less than they should, and takes the others in the order of preference.
    #[test]
    fn who_has_less_than_it_should_has_its_turn() {
        let mut queue = VdevQueue::default();
        for at in 0..15 {
            queue.push(Class::SyncRead, Entry::new(0, at * 2000 * KIB, 4 * KIB, false, 0));
            queue.push(Class::SyncWrite, Entry::new(0, at * 2000 * KIB, 4 * KIB, true, 0));
        }
        let mut taken = Vec::new();
        let classes = std::iter::from_fn(|| queue.issue(&Tunables::v2_3(), 0.0, &mut taken).map(|issued| issued.class));
        let classes: Vec<Class> = classes.collect();
        assert_eq!((classes.len(), queue.load()), (20, 20), "ten of each are enough, and who waits is no load");
        assert!(classes.windows(2).all(|pair| pair[0] != pair[1]), "{classes:?}");
    }

    /// Also backward: what ends behind the last request is joined to what lies before it, up to the limit.
    #[test]
    fn a_request_may_be_as_long_as_the_limit() {
        let mut queue = VdevQueue::default();
        read(&mut queue, 892, 4);
        assert_eq!(issue(&mut queue), Some((892, 4, 1)));
        queue.done(Class::Scrub, &Tunables::v2_3());
        (0..8).for_each(|record| read(&mut queue, record * 128, 128));
        assert_eq!((issue(&mut queue), queue.last_end()), (Some((0, 1024, 8)), 1024 * KIB));
    }

    /// `VDQ_T_SHIFT`: what waits for longer than half a second or so comes before what lies better.
    #[test]
    fn places_decide_among_what_came_in_the_same_half_second() {
        for (later_ns, order) in [(500_000_000, [100, 900]), (600_000_000, [900, 100])] {
            let mut queue = VdevQueue::default();
            queue.push(Class::Scrub, Entry::new(0, 900_000 * KIB, 4 * KIB, false, 0));
            queue.push(Class::Scrub, Entry::new(later_ns, 100_000 * KIB, 4 * KIB, false, 0));
            let offsets = [(); 2].map(|()| {
                let (offset, ..) = issue(&mut queue).unwrap();
                queue.done(Class::Scrub, &Tunables::v2_3());
                offset / 1000
            });
            assert_eq!(offsets, order, "{later_ns}");
        }
    }

    #[test]
    fn the_elevator_goes_on_from_the_last_request() {
        let mut queue = VdevQueue::default();
        for offset in [500, 100, 900, 300] {
            read(&mut queue, offset * 1000, 4);
        }
        let tunables = Tunables::v2_3();
        let mut order = Vec::new();
        while let Some((offset, ..)) = issue(&mut queue) {
            order.push(offset / 1000);
            queue.done(Class::Scrub, &tunables);
            if order.len() == 2 {
                read(&mut queue, 50_000, 4);
            }
        }
        assert_eq!(order, [100, 300, 500, 900, 50]);
    }
}
