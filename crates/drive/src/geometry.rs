//! Where a logical block lies: zones of tracks that hold less and less towards the inner edge, laid over cylinders
//! and heads, each track turned against the one before by a skew.

use std::ops::Range;

use crate::clock::{PHASE_MASK, TURN};
use crate::profile::GeometryProfile;
use crate::request::SECTOR_BYTES;

/// Bytes of a block, the grain of places and of passing times: a physical sector, or eight of a drive whose sectors
/// have 512.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// Sectors of 512 bytes in a block.
pub(crate) const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// A number that much is divided by, with its reciprocal: a multiplication takes a fraction of a division's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Divisor {
    value: u64,
    reciprocal: u64,
}

impl Divisor {
    pub fn new(value: u64) -> Self {
        Self { value, reciprocal: u64::MAX / value }
    }

    pub fn get(self) -> u64 {
        self.value
    }

    /// `number / self`. Exact as long as the product of the two is less than 2^64: the reciprocal is too small by less
    /// than 2^-64, which then weighs less than the one that is added.
    #[inline]
    pub fn divide(self, number: u64) -> u64 {
        debug_assert!((number + 1).checked_mul(self.value).is_some(), "{number} / {}", self.value);
        ((u128::from(number + 1) * u128::from(self.reciprocal)) >> 64) as u64
    }
}

/// A zone: consecutive tracks of the same size.
#[derive(Clone, Debug)]
struct Zone {
    first_block: u64,
    first_track: u64,
    track_blocks: Divisor,
}

/// What is the same for all blocks of a zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneView {
    pub first_block: u64,
    pub end_block: u64,
    pub track_blocks: u64,
    pub heads: u64,
    pub track_skew: u64,
    pub cylinder_skew: u64,
}

/// A block's place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub block: u64,
    /// Counted from the outer edge, in logical order.
    pub track: u64,
    pub cylinder: u64,
    /// Block within the track.
    pub sector: u64,
    /// Blocks of that track.
    pub track_blocks: Divisor,
}

impl Place {
    /// The place of its track's first block.
    pub fn track_start(self) -> Self {
        Self { block: self.block - self.sector, sector: 0, ..self }
    }
}

/// The surface, seen as one long row of tracks.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    /// Behind the last one an empty one.
    zones: Vec<Zone>,
    /// For every 2^`bucket_shift` blocks the zone in which they begin: finding a zone is a look and rarely a step.
    zone_of_bucket: Vec<u16>,
    bucket_shift: u32,
    heads: Divisor,
    tracks_per_zone: Divisor,
    blocks: u64,
    track_skew: u64,
    cylinder_skew: u64,
    /// The phase of the first block of all.
    first_phase: u64,
}

impl Geometry {
    /// The surface of `profile` with `reserved_bytes` beyond its capacity (a persistent cache).
    pub fn new(profile: &GeometryProfile, reserved_bytes: u64) -> Self {
        let needed_blocks = (profile.capacity_bytes + reserved_bytes).div_ceil(BLOCK_BYTES);
        let sizes = zone_sizes(profile);
        let tracks_per_zone = needed_blocks.div_ceil(sizes.iter().sum()).next_multiple_of(profile.heads);
        let mut zones = Vec::with_capacity(sizes.len());
        let mut blocks = 0;
        for (index, track_blocks) in sizes.into_iter().enumerate() {
            zones.push(Zone {
                first_block: blocks,
                first_track: index as u64 * tracks_per_zone,
                track_blocks: Divisor::new(track_blocks),
            });
            blocks += track_blocks * tracks_per_zone;
        }
        let bucket_shift = (blocks / (16 * zones.len() as u64)).max(1).ilog2();
        let first_track = zones.len() as u64 * tracks_per_zone;
        zones.push(Zone { first_block: blocks, first_track, track_blocks: Divisor::new(1) });
        let skew = |degrees: f64| (degrees / 360.0 * TURN as f64).round() as u64;
        let buckets = (blocks >> bucket_shift) + 1;
        let zone_of_bucket = (0..buckets)
            .map(|bucket| (zones.partition_point(|zone| zone.first_block <= bucket << bucket_shift) - 1) as u16)
            .collect();
        Self {
            zones,
            zone_of_bucket,
            bucket_shift,
            heads: Divisor::new(profile.heads),
            tracks_per_zone: Divisor::new(tracks_per_zone),
            blocks,
            track_skew: skew(profile.track_skew_degrees),
            cylinder_skew: skew(profile.cylinder_skew_degrees),
            first_phase: 0,
        }
    }

    /// The same surface, turned by `phase`.
    pub fn turned(self, phase: u64) -> Self {
        Self { first_phase: phase & PHASE_MASK, ..self }
    }

    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    pub fn tracks(&self) -> u64 {
        self.zones[self.zones.len() - 1].first_track
    }

    /// Tracks of one size that lie side by side.
    pub fn zone_tracks(&self) -> u64 {
        self.tracks_per_zone.get()
    }

    pub fn cylinders(&self) -> u64 {
        self.tracks() / self.heads.get()
    }

    #[inline]
    pub fn cylinder(&self, track: u64) -> u64 {
        self.heads.divide(track)
    }

    #[inline]
    fn zone(&self, block: u64) -> &Zone {
        debug_assert!(block < self.blocks, "block {block} of {}", self.blocks);
        let mut index = usize::from(self.zone_of_bucket[(block >> self.bucket_shift) as usize]);
        while self.zones[index + 1].first_block <= block {
            index += 1;
        }
        &self.zones[index]
    }

    /// The zone of a block.
    pub fn zone_of(&self, block: u64) -> ZoneView {
        let zone = self.zone(block);
        let track_blocks = zone.track_blocks.get();
        ZoneView {
            first_block: zone.first_block,
            end_block: zone.first_block + self.tracks_per_zone.get() * track_blocks,
            track_blocks,
            heads: self.heads.get(),
            track_skew: self.track_skew,
            cylinder_skew: self.cylinder_skew,
        }
    }

    #[inline]
    pub fn place(&self, block: u64) -> Place {
        let zone = self.zone(block);
        let inside = block - zone.first_block;
        let track = zone.track_blocks.divide(inside);
        Place {
            block,
            track: zone.first_track + track,
            cylinder: self.cylinder(zone.first_track + track),
            sector: inside - track * zone.track_blocks.get(),
            track_blocks: zone.track_blocks,
        }
    }

    #[cfg(test)]
    pub fn track_blocks(&self, track: u64) -> u64 {
        self.zones[self.tracks_per_zone.divide(track) as usize].track_blocks.get()
    }

    /// The first block of a track, or the number of all blocks for the track after the last.
    pub fn first_block(&self, track: u64) -> u64 {
        let zone = &self.zones[self.tracks_per_zone.divide(track) as usize];
        zone.first_block + (track - zone.first_track) * zone.track_blocks.get()
    }

    /// The blocks of certain tracks, to be told by that of a block, around it: mostly all of them lie in its zone.
    #[inline]
    pub fn blocks_around(&self, block: u64, tracks_around: impl FnOnce(u64) -> Range<u64>) -> Range<u64> {
        let zone = self.zone(block);
        let tracks = tracks_around(zone.first_track + zone.track_blocks.divide(block - zone.first_block));
        if tracks.start < zone.first_track || tracks.end > zone.first_track + self.tracks_per_zone.get() {
            return self.first_block(tracks.start)..self.first_block(tracks.end);
        }
        let track_blocks = zone.track_blocks.get();
        let start = zone.first_block + (tracks.start - zone.first_track) * track_blocks;
        start..start + (tracks.end - tracks.start) * track_blocks
    }

    /// When a place comes under the heads, in ticks from the first block of all, were everything read in one go: a turn
    /// for every track before it, and the skews between them.
    #[inline]
    fn begins(&self, place: &Place) -> u64 {
        self.track_begins(place) + sector_ticks(place.sector, place.track_blocks)
    }

    /// When the block at a place has passed the heads, in the same ticks. Behind a track's end the skew is still ahead.
    #[inline]
    fn ends(&self, place: &Place) -> u64 {
        self.track_begins(place) + sector_ticks(place.sector + 1, place.track_blocks)
    }

    #[inline]
    fn track_begins(&self, place: &Place) -> u64 {
        place.track * TURN + (place.track - place.cylinder) * self.track_skew + place.cylinder * self.cylinder_skew
    }

    /// The phase at which the block at `place` begins.
    #[inline]
    pub fn phase(&self, place: &Place) -> u64 {
        (self.first_phase + self.begins(place)) & PHASE_MASK
    }

    /// The place of the last of `blocks` blocks, at least one, from `place` on: mostly it is on the same track.
    #[inline]
    pub fn last(&self, place: &Place, blocks: u64) -> Place {
        if place.sector + blocks <= place.track_blocks.get() {
            Place { block: place.block + blocks - 1, sector: place.sector + blocks - 1, ..*place }
        } else {
            self.place(place.block + blocks - 1)
        }
    }

    /// How long the heads pass over what lies from `first` to `last`, the skews between tracks included.
    #[inline]
    pub fn transfer_ticks(&self, first: &Place, last: &Place) -> u64 {
        self.ends(last) - self.begins(first)
    }

    /// How many blocks from `place` on have passed the heads completely after `ticks`, at most `limit`.
    pub fn blocks_within(&self, place: &Place, ticks: u64, limit: u64) -> u64 {
        // Mostly the answer lies on the same track, where it is the inverse of a proportion.
        let begin_ticks = sector_ticks(place.sector, place.track_blocks);
        if begin_ticks + ticks < TURN {
            let end = ((begin_ticks + ticks + 1) * place.track_blocks.get() - 1) / TURN;
            return (end - place.sector).min(limit);
        }
        let (mut low, mut high) = (0, limit);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.transfer_ticks(place, &self.last(place, middle)) <= ticks {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }

    /// How long the heads, past the block at `behind`, need until they have passed over `blocks` more: where a track ends
    /// in between, the skew to the next comes first.
    pub fn follow_ticks(&self, behind: &Place, blocks: u64) -> u64 {
        if blocks == 0 {
            return 0;
        }
        let place = self.last(behind, 2);
        self.gap_before(&place) + self.transfer_ticks(&place, &self.last(&place, blocks))
    }

    /// How many of the blocks behind a place have passed then completely after `ticks`, at most `limit`.
    pub fn followed_within(&self, behind: &Place, ticks: u64, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let place = self.last(behind, 2);
        ticks.checked_sub(self.gap_before(&place)).map_or(0, |ticks| self.blocks_within(&place, ticks, limit))
    }

    /// From the end of what lies before a place until that comes under the head.
    fn gap_before(&self, place: &Place) -> u64 {
        if place.sector > 0 || place.track == 0 {
            0
        } else if place.track == place.cylinder * self.heads.get() {
            self.cylinder_skew
        } else {
            self.track_skew
        }
    }
}

/// Ticks from a track's start to the start of a sector.
#[inline]
fn sector_ticks(sector: u64, track_blocks: Divisor) -> u64 {
    track_blocks.divide(sector * TURN)
}

/// Blocks of a track, zone by zone, stepping down evenly from the outer size to the inner.
fn zone_sizes(profile: &GeometryProfile) -> Vec<u64> {
    let outer = profile.outer_track_bytes / BLOCK_BYTES;
    let inner = profile.inner_track_bytes / BLOCK_BYTES;
    let steps = (profile.zones - 1).max(1);
    (0..profile.zones).map(|zone| outer - (outer - inner) * zone / steps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile() -> GeometryProfile {
        GeometryProfile {
            capacity_bytes: 100_000_000_000,
            rpm: 7200.0,
            heads: 3,
            physical_sector_bytes: 4096,
            outer_track_bytes: 1_900_544,
            inner_track_bytes: 987_136,
            zones: 20,
            track_skew_degrees: 60.0,
            cylinder_skew_degrees: 75.0,
        }
    }

    #[test]
    fn the_published_drive_has_the_published_tracks() {
        // R087, R090..R093, R107: 5,000,980,856,832 bytes in zones of 4096 bytes less each are 3,461,911 tracks.
        let geometry =
            Geometry::new(&GeometryProfile { capacity_bytes: 5_000_980_856_832, heads: 8, zones: 224, ..profile() }, 0);
        assert_eq!(geometry.track_blocks(0) - geometry.track_blocks(geometry.tracks_per_zone.get()), 1);
        assert!((geometry.tracks() as f64 / 3_461_911.0 - 1.0).abs() < 2e-3, "{}", geometry.tracks());
    }

    /// How long the heads pass over so many blocks.
    fn over(geometry: &Geometry, place: &Place, blocks: u64) -> u64 {
        geometry.transfer_ticks(place, &geometry.last(place, blocks))
    }

    #[test]
    fn a_stream_loses_only_the_skews() {
        let geometry = Geometry::new(&profile(), 0);
        let start = geometry.place(0);
        let cylinder_blocks = 3 * start.track_blocks.get();
        let ticks = over(&geometry, &start, 10 * cylinder_blocks);
        let skews = 20 * geometry.track_skew + 9 * geometry.cylinder_skew;
        assert_eq!(ticks, 30 * TURN + skews);
    }

    proptest! {
        #[test]
        fn a_reciprocal_divides_as_a_division_does(value in 1..1_u64 << 24, number in 0..1_u64 << 40) {
            let divisor = Divisor::new(value);
            for number in [number, number / value * value, (number / value * value).saturating_sub(1)] {
                prop_assert_eq!(divisor.divide(number), number / value);
            }
        }

        #[test]
        fn places_and_first_blocks_agree(share in 0.0..1.0_f64) {
            let geometry = Geometry::new(&profile(), 0);
            let block = (share * geometry.blocks() as f64) as u64;
            let place = geometry.place(block);
            prop_assert_eq!(geometry.first_block(place.track) + place.sector, block);
            prop_assert!(place.sector < place.track_blocks.get());
            prop_assert_eq!(place.track_blocks.get(), geometry.track_blocks(place.track));
        }

        /// Whatever way a transfer is cut in two, the second part begins exactly where the first ended. Half of them go
        /// over a border between zones, behind which a track holds another number of blocks.
        #[test]
        fn transfers_are_seamless(
            share in 0.0..0.99_f64,
            zone in prop::option::of(1..20_usize),
            first in 1..5_000_u64,
            second in 1..5_000_u64,
        ) {
            let geometry = Geometry::new(&profile(), 0);
            let before = (share * (first + second) as f64) as u64;
            let block = zone.map_or((share * geometry.blocks() as f64) as u64, |zone| geometry.zones[zone].first_block - before);
            let (place, middle) = (geometry.place(block), geometry.place(block + first));
            let end_phase = geometry.phase(&place) + over(&geometry, &place, first);
            let gap = (geometry.phase(&middle).wrapping_sub(end_phase)) & PHASE_MASK;
            let whole = over(&geometry, &place, first + second);
            prop_assert_eq!(whole, over(&geometry, &place, first) + gap + over(&geometry, &middle, second));
        }

        /// Who follows gets there when who reads all at once does, wherever the tracks end.
        #[test]
        fn following_is_reading_in_one_go(share in 0.0..0.9_f64, to_track_end in any::<bool>(), blocks in 1..3_000_u64) {
            let geometry = Geometry::new(&profile(), 0);
            let block = (share * geometry.blocks() as f64) as u64;
            let place = geometry.place(block);
            let first = if to_track_end { place.track_blocks.get() - place.sector } else { 1 };
            let behind = geometry.place(block + first - 1);
            let ticks = geometry.follow_ticks(&behind, blocks);
            prop_assert_eq!(over(&geometry, &place, first) + ticks, over(&geometry, &place, first + blocks));
            prop_assert_eq!(geometry.followed_within(&behind, ticks, 10_000), blocks);
            prop_assert!(geometry.followed_within(&behind, ticks - 1, 10_000) < blocks);
        }

        #[test]
        fn blocks_within_inverts_the_transfer(share in 0.0..0.9_f64, blocks in 1..3_000_u64) {
            let geometry = Geometry::new(&profile(), 0);
            let place = geometry.place((share * geometry.blocks() as f64) as u64);
            let ticks = over(&geometry, &place, blocks);
            prop_assert_eq!(geometry.blocks_within(&place, ticks, 10_000), blocks);
            prop_assert_eq!(geometry.blocks_within(&place, ticks - 1, 10_000), blocks - 1);
        }
    }
}
