//! A range that passes under the heads, block by block.

use crate::geometry::{Geometry, BLOCK_SECTORS};
use crate::range::Range;

/// A range on its way to its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passing {
    range: Range,
    /// When its first block comes under the head, and where on the surface.
    begins: u64,
    block: u64,
}

impl Passing {
    /// For whole physical sectors, which are written one after the other. Where part of one is kept, it is read first: such
    /// a write counts only once it is complete.
    pub fn new(range: Range, begins: u64, block: u64) -> Self {
        Self { range, begins, block }
    }

    /// What has not passed under the heads at `now`.
    pub fn rest(&self, geometry: &Geometry, now: u64) -> Range {
        let first = self.range.start / BLOCK_SECTORS;
        let blocks = self.range.end.div_ceil(BLOCK_SECTORS) - first;
        let ticks = now.checked_sub(self.begins);
        let passed = ticks.map_or(0, |ticks| geometry.blocks_within(&geometry.place(self.block), ticks, blocks));
        Range { start: ((first + passed) * BLOCK_SECTORS).clamp(self.range.start, self.range.end), ..self.range }
    }
}
