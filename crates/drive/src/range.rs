//! A range of the host's sectors.

use crate::geometry::BLOCK_SECTORS;
use crate::request::{Request, SECTOR_BYTES};

/// Sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
}

impl Range {
    pub const ALL: Self = Self { start: 0, end: u64::MAX };

    /// What a request is about.
    pub fn of(request: &Request) -> Self {
        let start = request.offset_bytes / SECTOR_BYTES;
        Self { start, end: start + request.bytes / SECTOR_BYTES }
    }

    pub fn overlaps(&self, other: &Range) -> bool {
        self.start < other.end && other.start < self.end
    }

    pub fn covers(&self, other: &Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub fn sectors(&self) -> u64 {
        self.end - self.start
    }

    /// Where a whole block ends, so that what lies before is no longer than `sectors`; `None`: that is all of it.
    #[inline]
    pub fn cut_within(&self, sectors: u64) -> Option<u64> {
        let end = (self.start + sectors) / BLOCK_SECTORS * BLOCK_SECTORS;
        (self.start < end && end < self.end).then_some(end)
    }
}
