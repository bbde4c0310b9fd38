//! Loss of power and return.
//!
//! Platters, the persistent cache and its map survive; DRAM does not, and neither does what is on its way out of it. A band
//! that is being rewritten survives as well: the drive would not dare to rewrite it otherwise.

use crate::buffer::Range;
use crate::clock::TURN;
use crate::drive::{Drive, Work, BLOCK_SECTORS};
use crate::geometry::Geometry;
use crate::request::{Lost, SECTOR_BYTES};

/// A range on its way to its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    range: Range,
    /// When its first sector comes under the head, and where on the surface.
    begins: u64,
    block: u64,
}

impl Passing {
    /// Whole physical sectors are written one after the other. Where part of one is kept, it is read first: such a write
    /// counts only once it is complete.
    pub fn new(range: Range, begins: u64, block: u64) -> Option<Self> {
        (range.start % BLOCK_SECTORS == 0 && range.end % BLOCK_SECTORS == 0).then_some(Self { range, begins, block })
    }

    /// What has not passed under the heads at `now`.
    pub fn rest(&self, geometry: &Geometry, now: u64) -> Range {
        let blocks = self.range.sectors() / BLOCK_SECTORS;
        let ticks = now.checked_sub(self.begins);
        let passed = ticks.map_or(0, |ticks| geometry.blocks_within(&geometry.place(self.block), ticks, blocks));
        Range { start: self.range.start + passed * BLOCK_SECTORS, ..self.range }
    }
}

impl Drive {
    pub(crate) fn lose_power(&mut self, at_ns: u64) -> Lost {
        self.run(self.clock.ticks(at_ns).max(self.now));
        let ranges = self.forget_writes().into_iter();
        let ranges = join(ranges.map(|range| range.start * SECTOR_BYTES..range.end * SECTOR_BYTES).collect());
        while !self.queue.is_empty() {
            self.queue.take(0);
        }
        self.due.clear();
        self.read_cache = self.read_cache.emptied();
        if let Some(layer) = &mut self.shingled {
            layer.lose_power();
        }
        self.off = true;
        self.work = Some((Work::Start, u64::MAX));
        Lost { at_ns, ranges }
    }

    /// Spins up, loads the heads, replays what the map on the platters does not know yet.
    pub(crate) fn start(&mut self, at_ns: u64) -> u64 {
        let now = self.clock.ticks(at_ns).max(self.now);
        self.run(now);
        if !self.off {
            return at_ns;
        }
        let replay = self.shingled.as_mut().map_or(0, |layer| layer.replay());
        // At least a turn, so that no answer lies before its question.
        let ready_at = now + (self.mechanics.start_ticks() + replay).max(TURN);
        self.off = false;
        (self.ready_at, self.bus_free_at, self.host_seen_at) = (ready_at, ready_at, ready_at);
        self.work = Some((Work::Start, ready_at));
        self.head = self.mechanics.head_at(1, ready_at);
        self.clock.ns(ready_at)
    }
}

/// Ranges in rising order, those that overlap or touch as one.
fn join(mut ranges: Vec<std::ops::Range<u64>>) -> Vec<std::ops::Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<std::ops::Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().filter(|last| last.end >= range.start) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}
