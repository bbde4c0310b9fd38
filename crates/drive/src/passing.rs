//! A range that passes under the heads, sector by sector.

use crate::geometry::{Geometry, BLOCK_SECTORS};
use crate::range::Range;

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
