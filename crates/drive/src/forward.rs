//! Sequential reads, one after the other, without going through each.
//!
//! Once the heads read on from where a read ended, and the platters are slower than all else, a stream's reads complete when
//! the heads get to their ends, whatever the host does in between. Where these are is geometry: within a zone every
//! read takes the same turn of the platters to within a tick, and a skew more where it crosses to another track. So
//! reads are counted instead of made, and the drive is left as if they had been made. Times and latencies are the same to
//! the nanosecond; where that cannot be shown, reads are stepped through one by one after all.

use sim::LatencyHistogram;

use crate::ahead::Running;
use crate::clock::{Clock, TURN};
use crate::drive::Drive;
use crate::geometry::{ZoneView, BLOCK_BYTES, BLOCK_SECTORS};
use crate::range::Range;
use crate::request::{Forwarded, Reads};

impl Drive {
    /// See [`BlockDevice::forward_reads`](crate::BlockDevice::forward_reads).
    pub(crate) fn forward(&mut self, now_ns: u64, reads: &Reads, latencies: &mut LatencyHistogram) -> Forwarded {
        let none = Forwarded { count: 0, now_ns };
        self.know_limit();
        let Some((running, most)) = self.undisturbed(now_ns, reads) else {
            return none;
        };
        let blocks = reads.bytes / BLOCK_BYTES;
        let mut course = Course { next: running.next, at: running.since, left: most, limit_ns: reads.limit_ns };
        if most < reads.least || !self.reaches(course, blocks, reads.least) {
            return none;
        }
        while course.left > 0 && self.cross_zone(&mut course, blocks, latencies) {}
        let count = most - course.left;
        self.settle_after(running, course, blocks, count);
        Forwarded { count, now_ns: self.clock.ns(course.at) }
    }

    /// The read-ahead that these reads follow and how many of them nothing else can touch. `None`: something might.
    fn undisturbed(&self, now_ns: u64, reads: &Reads) -> Option<(Running, u64)> {
        let running = self.read_cache.running?;
        // A band that a stream has left open, or whose cleaning has begun, waits for as long as the host goes on: where it does not, the
        // heads are at it already.
        let quiet = self.is_quiet() && self.shingled.as_ref().is_none_or(|layer| layer.is_home());
        let whole = reads.offset_bytes % BLOCK_BYTES == 0 && reads.bytes % BLOCK_BYTES == 0 && reads.bytes > 0;
        let fits = reads.offset_bytes < self.capacity_sectors() * crate::SECTOR_BYTES;
        if !quiet || !whole || !fits || self.clock.ns(running.since) != now_ns {
            return None;
        }
        let (first, _) = self.surface(&sectors_at(reads.offset_bytes));
        let blocks = reads.bytes / BLOCK_BYTES;
        if first != running.next || blocks > self.read_ahead_blocks || !self.platters_are_slowest(first, blocks) {
            return None;
        }
        let in_drive = self.capacity_sectors() / BLOCK_SECTORS - reads.offset_bytes / BLOCK_BYTES;
        let end = self.read_cache.first_kept_after(first).min(first + in_drive);
        Some((running, reads.most.min(end.saturating_sub(first) / blocks)))
    }

    /// Whether a read's data passes under the head later than the host can have asked for it and the link carried it.
    /// Further in the tracks are shorter and the platters slower still.
    fn platters_are_slowest(&self, first: u64, blocks: u64) -> bool {
        let track_blocks = self.mechanics.geometry.zone_of(first).track_blocks;
        // From a completion to the tick at which the host's answer to it arrives, the clock may round up.
        let rounding = 4 + (4.0 / self.clock.ns_per_tick()) as u64;
        let link = self.link_ticks(blocks * BLOCK_SECTORS) + rounding;
        blocks <= track_blocks && blocks * TURN / track_blocks > link && self.link_is_free_at(self.now)
    }

    fn reaches(&self, course: Course, blocks: u64, least: u64) -> bool {
        let geometry = &self.mechanics.geometry;
        let ticks = geometry.follow_ticks(&geometry.place(course.next - 1), least * blocks);
        self.clock.ns(course.at + ticks) <= course.limit_ns
    }

    /// Goes on to the end of the zone, or of the time. False: the time is over.
    fn cross_zone(&self, course: &mut Course, blocks: u64, latencies: &mut LatencyHistogram) -> bool {
        let zone = self.mechanics.geometry.zone_of(course.next);
        let lane = Lane::new(&zone, course.next, blocks);
        let whole = course.left.min((zone.end_block - course.next) / blocks);
        let fitting = |count: u64| self.clock.ns(course.at + lane.ticks(count)) <= course.limit_ns;
        let count = most_that(whole, fitting);
        if count > 0 {
            if blocks > zone.track_blocks || !lane.count_all(&self.clock, course.at, count, latencies) {
                return self.step(course, blocks, count, latencies);
            }
            course.advance(count, blocks, lane.ticks(count));
        }
        // The read that crosses into the next zone goes alone.
        count == whole && (course.left == 0 || self.step(course, blocks, 1, latencies))
    }

    /// `count` reads one by one. False: the time is over.
    fn step(&self, course: &mut Course, blocks: u64, count: u64, latencies: &mut LatencyHistogram) -> bool {
        let geometry = &self.mechanics.geometry;
        for _ in 0..count {
            let ticks = geometry.follow_ticks(&geometry.place(course.next - 1), blocks);
            let (from_ns, to_ns) = (self.clock.ns(course.at), self.clock.ns(course.at + ticks));
            if to_ns > course.limit_ns {
                return false;
            }
            latencies.record(to_ns - from_ns);
            course.advance(1, blocks, ticks);
        }
        true
    }

    /// The drive as `count` reads have left it.
    fn settle_after(&mut self, running: Running, course: Course, blocks: u64, count: u64) {
        if count == 0 {
            return;
        }
        let last = course.next - blocks;
        let limit = self.ahead_limit(course.next, running.shift).max(running.limit);
        self.read_cache.running = Some(Running {
            start: running.start.max(last.saturating_sub(self.read_ahead_blocks)),
            next: course.next,
            since: course.at,
            limit,
            known: limit,
            shift: running.shift,
        });
        self.head.place = self.mechanics.geometry.place(course.next.wrapping_add(running.shift) - 1);
        debug_assert!(!self.read_last, "heads that rest have no turn");
        self.host_seen_at = self.host_seen_at.max(course.at);
        self.truth.completed += count;
        self.now = self.clock.ticks(self.clock.ns(course.at));
    }
}

fn sectors_at(offset_bytes: u64) -> Range {
    let start = offset_bytes / crate::SECTOR_BYTES;
    Range { start, end: start + BLOCK_SECTORS }
}

/// How far the reads have come.
#[derive(Clone, Copy)]
struct Course {
    next: u64,
    at: u64,
    left: u64,
    limit_ns: u64,
}

impl Course {
    fn advance(&mut self, count: u64, blocks: u64, ticks: u64) {
        self.next += count * blocks;
        self.at += ticks;
        self.left -= count;
    }
}

/// Reads of one size within a zone. Borders of tracks are numbered from the zone's beginning.
struct Lane {
    track_blocks: u64,
    heads: u64,
    track_skew: u64,
    cylinder_skew: u64,
    blocks: u64,
    /// The first read begins here, in blocks from the zone's beginning.
    from: u64,
}

impl Lane {
    fn new(zone: &ZoneView, next: u64, blocks: u64) -> Self {
        let from = next - zone.first_block;
        let (track_skew, cylinder_skew) = (zone.track_skew, zone.cylinder_skew);
        Self { track_blocks: zone.track_blocks, heads: zone.heads, track_skew, cylinder_skew, blocks, from }
    }

    /// The first border that a read crosses: a read that begins at one does, and one that ends there does not.
    fn first_border(&self) -> u64 {
        self.from.div_ceil(self.track_blocks)
    }

    /// How many of the first `count` reads cross to another track of the same cylinder, and how many to another cylinder.
    fn crossings(&self, count: u64) -> (u64, u64) {
        let first = self.first_border();
        let behind = (self.from + count * self.blocks).div_ceil(self.track_blocks);
        let cylinders = behind.div_ceil(self.heads) - first.div_ceil(self.heads);
        (behind - first - cylinders, cylinders)
    }

    /// How long the first `count` reads take.
    fn ticks(&self, count: u64) -> u64 {
        let turned = |block: u64| block * TURN / self.track_blocks;
        let (tracks, cylinders) = self.crossings(count);
        turned(self.from + count * self.blocks) - turned(self.from)
            + tracks * self.track_skew
            + cylinders * self.cylinder_skew
    }

    /// Counts the latencies of the first `count` reads, of which the first begins at tick `at`. False, and nothing is
    /// counted, if it takes looking at each to tell where in the histogram it belongs.
    fn count_all(&self, clock: &Clock, at: u64, count: u64, latencies: &mut LatencyHistogram) -> bool {
        let (tracks, cylinders) = match self.crossings(count) {
            (tracks, cylinders) if self.track_skew == self.cylinder_skew => (0, tracks + cylinders),
            crossings => crossings,
        };
        let kinds = [(count - tracks - cylinders, 0), (tracks, self.track_skew), (cylinders, self.cylinder_skew)];
        let mut groups = kinds.map(|(count, skew)| (count, self.latency_ns(clock, skew)));
        groups.sort_unstable_by_key(|(_, (least, _))| *least);
        let mut top: Option<(u64, u64)> = None;
        for (count, (least, most)) in groups {
            if count > 0 {
                if !latencies.counts_alike(least, most) || top.is_some_and(|(_, below)| below >= least) {
                    return false;
                }
                top = Some((least, most));
            }
        }
        let Some((least, most)) = top else {
            return true;
        };
        let max_ns = match latencies.max_ns() {
            Some(max_ns) if max_ns >= most => max_ns,
            _ => self.longest_ns(clock, at, count, (least, most)),
        };
        let sum_ns = clock.ns(at + self.ticks(count)) - clock.ns(at);
        latencies.record_groups(groups.map(|(count, (least, _))| (least, count)), sum_ns, max_ns);
        true
    }

    /// Between what the latencies lie of reads that cross a skew.
    fn latency_ns(&self, clock: &Clock, skew: u64) -> (u64, u64) {
        let turned = self.blocks * TURN;
        let least = turned / self.track_blocks + skew;
        (clock.span_ns(least), clock.span_ns(turned.div_ceil(self.track_blocks) + skew) + 1)
    }

    /// The longest latency: of the kind of reads whose latencies lie in `kind`, where it is looked for until one is as
    /// long as it can be.
    fn longest_ns(&self, clock: &Clock, at: u64, count: u64, kind: (u64, u64)) -> u64 {
        let latency = |read: u64| clock.ns(at + self.ticks(read + 1)) - clock.ns(at + self.ticks(read));
        let (tracks, cylinders) = self.crossings(count);
        let mut longest = 0;
        let mut see = |read: u64| {
            longest = longest.max(latency(read));
            longest < kind.1
        };
        if tracks + cylinders == 0 {
            (0..count).all(&mut see);
            return longest;
        }
        let behind = (self.from + count * self.blocks).div_ceil(self.track_blocks);
        // Where both kinds of borders are crossed those of cylinders take longer, or the other way round; reads of the
        // shorter kind are seen in vain, but never taken for the longest.
        let only_cylinders = cylinders > 0 && self.cylinder_skew > self.track_skew;
        let step = if only_cylinders { self.heads } else { 1 };
        let first = self.first_border().next_multiple_of(step);
        let borders = (first..behind).step_by(step as usize).map(|border| border * self.track_blocks - self.from);
        borders.map(|inside| inside / self.blocks).all(&mut see);
        longest
    }
}

/// The largest number up to `limit` for which something holds that holds for all below it, and for 0.
fn most_that(limit: u64, holds: impl Fn(u64) -> bool) -> u64 {
    if holds(limit) {
        return limit;
    }
    let (mut low, mut high) = (0, limit);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
