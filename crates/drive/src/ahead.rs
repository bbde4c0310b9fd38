//! Reading on past a read: the running one, and the ranges that earlier ones left in DRAM.

use crate::footprint::Footprint;
use crate::geometry::{Geometry, Place};
use crate::mechanics::Head;
use crate::range::Range;

/// The heads go on reading from where a read ended, until they are needed elsewhere or the limit is reached. All in
/// home addresses, which on drives that keep their data in one row are blocks of the surface. The place of the heads is
/// meanwhile that of the block before `next`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    /// First block that DRAM holds.
    pub start: u64,
    /// All before this block had passed the head at `since`. Where a track ends there, the skew to the next is still ahead.
    pub next: u64,
    pub since: u64,
    /// It goes no farther than this. How far it can go is only found out when somebody wants to know: mostly it ends long before.
    pub limit: u64,
    /// All before this block is known to lie in one row; at the `limit` that is exact.
    pub known: u64,
    /// What to add (it wraps around) for the block of the surface.
    pub shift: u64,
}

impl Running {
    /// When everything before `block` is in DRAM, the block before `next` being at `behind`.
    pub fn reached_at(&self, geometry: &Geometry, behind: &Place, block: u64) -> u64 {
        if block <= self.next {
            return self.since;
        }
        self.since + geometry.follow_ticks(behind, block - self.next)
    }

    /// How many blocks behind `next` are in DRAM at `now`, as far as the limit is known.
    pub fn read_by(&self, geometry: &Geometry, behind: &Place, now: u64) -> u64 {
        geometry.followed_within(behind, now.saturating_sub(self.since), self.limit - self.next)
    }

    /// Whether it may have to be found out how far it goes before it is said that it gets to a block.
    pub fn is_uncertain_at(&self, block: u64) -> bool {
        self.known <= block && self.known < self.limit
    }
}

/// What DRAM holds of the surface for reading.
#[derive(Clone, Debug)]
pub(crate) struct ReadCache {
    segments: Vec<(u64, u64)>,
    footprint: Footprint,
    oldest: usize,
    pub running: Option<Running>,
}

impl ReadCache {
    pub fn new(segments: usize) -> Self {
        Self { segments: vec![(0, 0); segments], footprint: Footprint::new(), oldest: 0, running: None }
    }

    /// One of the same size that holds nothing.
    pub fn emptied(&self) -> Self {
        Self::new(self.segments.len())
    }

    #[cfg(test)]
    pub fn segments(&self) -> &[(u64, u64)] {
        &self.segments
    }

    /// The ranges kept that overlap `start..end`.
    pub fn overlapping(&self, start: u64, end: u64) -> impl Iterator<Item = &(u64, u64)> + Clone {
        self.segments.iter().filter(move |segment| segment.0 < end && start < segment.1)
    }

    /// A read-ahead that has read so many blocks ends at `now`: keeps what it has read, and moves the heads to where it left
    /// them.
    pub fn stop(&mut self, running: &Running, read: u64, geometry: &Geometry, head: &mut Head, now: u64) {
        let end = running.next + read;
        // Before that the read is still under way, and DRAM holds none of it.
        if now >= running.since {
            self.keep(running.start, end);
        }
        let reached_limit = end == running.limit;
        head.rested_at =
            if reached_limit { running.reached_at(geometry, &head.place, end) } else { now.max(running.since) };
        head.place = geometry.last(&head.place, 1 + read);
    }

    /// Whether the running read-ahead has read, or may come to read as far as is known, blocks of a range.
    pub fn meets(&self, start: u64, end: u64) -> bool {
        self.running.is_some_and(|running| running.start < end && start < running.limit)
    }

    /// Where the first range kept begins that ends after a block.
    pub fn first_kept_after(&self, block: u64) -> u64 {
        self.segments.iter().filter(|segment| segment.1 > block).map(|segment| segment.0).min().unwrap_or(u64::MAX)
    }

    /// Whether the running read-ahead comes, or has come, to a block, or ends just before.
    #[inline]
    pub fn leads_to(&self, block: u64) -> bool {
        self.running.is_some_and(|running| running.start <= block && block <= running.limit)
    }

    /// False: no range kept overlaps `start..end`.
    #[inline]
    pub fn may_hold(&self, start: u64, end: u64) -> bool {
        self.footprint.may_meet(&Range { start, end })
    }

    /// Whether a range kept overlaps `start..end`.
    pub fn holds_of(&self, start: u64, end: u64) -> bool {
        self.may_hold(start, end) && self.overlapping(start, end).next().is_some()
    }

    /// Forgets what overlaps a range: what the drive keeps there is another thing now.
    pub fn forget(&mut self, start: u64, end: u64) {
        if !self.holds_of(start, end) {
            return;
        }
        for segment in &mut self.segments {
            if segment.0 < end && start < segment.1 {
                self.footprint.remove(&Range { start: segment.0, end: segment.1 });
                *segment = (0, 0);
            }
        }
    }

    fn keep(&mut self, start: u64, end: u64) {
        let (old_start, old_end) = std::mem::replace(&mut self.segments[self.oldest], (start, end));
        self.footprint.remove(&Range { start: old_start, end: old_end });
        self.footprint.add(&Range { start, end });
        self.oldest = if self.oldest + 1 == self.segments.len() { 0 } else { self.oldest + 1 };
    }
}
