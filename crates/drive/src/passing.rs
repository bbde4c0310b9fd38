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

#[cfg(test)]
mod tests {
    use crate::drive::Drive;
    use crate::profile::{CachePlace, Profile};
    use crate::request::{BlockDevice, Request, Verb};

    /// A stream goes to bands behind a place of the cache, where tracks are shorter than where their home addresses are blocks of
    /// the surface: a tick before the heads are over its end the last block has not passed.
    #[test]
    fn the_last_block_passes_at_the_end_behind_a_place_of_the_cache_too() {
        let mut profile = Profile::parse(include_str!("../../../drives/wd40efax.toml")).unwrap().scaled(100).unwrap();
        profile.geometry.zones = 2;
        let shingled = profile.shingled.as_mut().unwrap();
        shingled.cache.place = CachePlace::Spread { regions: 2 };
        (shingled.streams.min_request_bytes, shingled.streams.min_run_bytes) = (65_536, 65_536);
        (shingled.streams.tracked, shingled.streams.durable) = (2, true);
        let half = profile.geometry.capacity_bytes / 8192 * 4096;
        let mut seen = 0;
        for place in 0..40 {
            let mut drive = Drive::new(&profile, 1);
            let offset_bytes = half - (40 << 23) + (place << 24);
            // The first merges what lies before it on its track.
            let (mut now_ns, mut done) = (0, Vec::new());
            for tag in 0..2 {
                let offset_bytes = offset_bytes + (u64::from(tag) << 20);
                drive.submit(now_ns, Request { tag, verb: Verb::Write, fua: true, offset_bytes, bytes: 1 << 20 });
                while tag == 0 && done.is_empty() {
                    now_ns = drive.next_event_ns().unwrap();
                    drive.advance(now_ns, &mut done);
                }
            }
            let (Some(passing), Some((_, until))) = (drive.passing, drive.work) else { continue };
            let left = [until - 1, until].map(|at| passing.rest(&drive.mechanics.geometry, at).sectors() > 0);
            assert_eq!(left, [true, false], "{offset_bytes}");
            seen += 1;
        }
        assert!(seen > 10, "{seen}");
    }
}
