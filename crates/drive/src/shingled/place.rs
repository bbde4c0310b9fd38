//! Where the parts of a shingled drive lie on its surface: the persistent cache, the place for merging, bands, spare bands.

use std::collections::VecDeque;
use std::ops::Range;

use super::bands::Bands;
use super::log::Log;
use crate::clock::{Clock, TURN};
use crate::geometry::{Divisor, Geometry, Place, BLOCK_BYTES};
use crate::profile::{CachePlace, CacheProfile, FlashProfile, Profile, ShingledProfile};

/// One place of the persistent cache.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub log: Log,
    /// Where its log begins, a block of the surface, or of flash where that is (see [`Flash`]).
    pub at: u64,
    /// Where data is merged on disk.
    pub merge_at: Place,
    /// Blocks of a track here.
    track_blocks: Divisor,
    /// Least space of a packet, and that of a full one.
    least_space_blocks: u64,
    pub packet_space_blocks: Divisor,
    /// Space that a visit takes beyond its packets.
    pub visit_blocks: u64,
    middle_track: u64,
}

impl Region {
    fn new(geometry: &Geometry, cache: &CacheProfile, at: u64, merge_at: u64, blocks: u64) -> Self {
        let place = |block: u64| geometry.place(block.min(geometry.blocks() - 1));
        let track_blocks = place(at).track_blocks;
        let least_space_blocks = ((cache.packet_tracks * track_blocks.get() as f64).ceil() as u64).max(1);
        Self {
            log: Log::new(blocks),
            at,
            merge_at: place(merge_at),
            track_blocks,
            least_space_blocks,
            packet_space_blocks: Divisor::new(least_space_blocks.max(cache.packet_bytes / BLOCK_BYTES)),
            visit_blocks: (cache.append_tracks * track_blocks.get() as f64).ceil() as u64,
            middle_track: place(at + blocks / 2).track,
        }
    }

    /// How long the heads pass over so many blocks.
    pub fn pass_ticks(&self, blocks: u64) -> u64 {
        self.track_blocks.divide(blocks * TURN)
    }

    /// Space in the log of a packet with `blocks` of data.
    pub fn space_blocks(&self, blocks: u64) -> u64 {
        blocks.max(self.least_space_blocks)
    }
}

/// A cache in flash. Its blocks are counted on from the last of the surface.
#[derive(Clone, Debug)]
pub(super) struct Flash {
    pub read_ticks: u64,
    pub write_ticks: u64,
    pub block_ticks: u64,
    /// Reads past the heads come one after the other.
    pub free_at: u64,
}

impl Flash {
    fn new(profile: &FlashProfile, clock: &Clock) -> Self {
        Self {
            read_ticks: clock.span(profile.flash_read_us * 1e3),
            write_ticks: clock.span(profile.flash_write_us * 1e3),
            block_ticks: clock.span(BLOCK_BYTES as f64 * 1e3 / profile.flash_rate_mb_s),
            free_at: 0,
        }
    }
}

/// All that is laid out.
pub(super) struct Layout {
    pub bands: Bands,
    pub regions: Vec<Region>,
    pub flash: Option<Flash>,
}

/// Bytes that data is merged in on disk.
fn merge_bytes(shingled: &ShingledProfile) -> u64 {
    if shingled.cleaning.merge_on_disk {
        shingled.cleaning.merge_bytes
    } else {
        0
    }
}

/// Bytes of the surface beyond the host's: logs, places for merging, spare bands, and what lies waste between.
pub(crate) fn reserved_bytes(profile: &Profile) -> u64 {
    profile.shingled.as_ref().map_or(0, |shingled| {
        let geometry = &profile.geometry;
        let band_bytes = shingled.tracks_per_band * geometry.outer_track_bytes;
        let spare = geometry.zones * shingled.spare_bands() * band_bytes;
        let cache = match shingled.cache.place {
            CachePlace::Outer | CachePlace::Inner => shingled.cache.bytes + merge_bytes(shingled),
            CachePlace::Spread { regions } => shingled.cache.bytes + regions * (merge_bytes(shingled) + band_bytes),
            CachePlace::Flash(_) => merge_bytes(shingled),
        };
        // The bands begin with a track of their own.
        cache + spare + geometry.outer_track_bytes
    })
}

impl Layout {
    pub fn new(shingled: &ShingledProfile, geometry: &Geometry, clock: &Clock) -> Self {
        let log_blocks = shingled.cache.bytes / BLOCK_BYTES;
        let merge_blocks = merge_bytes(shingled) / BLOCK_BYTES;
        let region = |at, merge_at, blocks| Region::new(geometry, &shingled.cache, at, merge_at, blocks);
        let tracks = |first: u64, end: u64| Bands::new(geometry, first, end, shingled.tracks_per_band);
        let behind = |blocks: u64| geometry.place(blocks).track + 1;
        let (mut flash, mut holes) = (None, Vec::new());
        let (mut bands, regions) = match &shingled.cache.place {
            CachePlace::Outer => {
                let bands = tracks(behind(log_blocks + merge_blocks), geometry.tracks());
                (bands, vec![region(0, log_blocks, log_blocks)])
            }
            CachePlace::Inner => {
                let at = geometry.blocks() - log_blocks - merge_blocks;
                (tracks(0, geometry.place(at).track), vec![region(at, at + log_blocks, log_blocks)])
            }
            CachePlace::Flash(part) => {
                flash = Some(Flash::new(part, clock));
                (tracks(behind(merge_blocks), geometry.tracks()), vec![region(geometry.blocks(), 0, log_blocks)])
            }
            CachePlace::Spread { regions } => {
                let bands = tracks(0, geometry.tracks());
                let share_blocks = log_blocks / regions;
                holes = spread(geometry, &bands, *regions, share_blocks + merge_blocks);
                let place = |hole: &Range<u64>| bands.surface(geometry, hole).start;
                let regions = holes.iter().map(|hole| region(place(hole), place(hole) + share_blocks, share_blocks));
                let regions = regions.collect();
                (bands, regions)
            }
        };
        let spare = spare(geometry, &bands, &holes, shingled.spare_bands());
        holes.extend(spare.iter().map(|band| u64::from(*band)..u64::from(*band) + 1));
        holes.sort_unstable_by_key(|hole| hole.start);
        holes.iter().for_each(|hole| bands.add_hole(geometry, hole));
        if !spare.is_empty() {
            bands.let_move(spare);
        }
        Self { bands, regions, flash }
    }
}

/// Bands for the places of a cache, evenly over the surface, each with room for `blocks`.
fn spread(geometry: &Geometry, bands: &Bands, regions: u64, blocks: u64) -> Vec<Range<u64>> {
    let holds = |first: u64, end: u64| {
        let surface = bands.surface(geometry, &(first..end));
        surface.end - surface.start >= blocks
    };
    let hole = |region: u64| {
        let first = region * bands.count() / regions;
        first..(first + 1..bands.count()).find(|end| holds(first, *end)).unwrap_or(bands.count())
    };
    (0..regions).map(hole).collect()
}

/// The last whole bands of each recording zone that are no place of the cache.
fn spare(geometry: &Geometry, bands: &Bands, holes: &[Range<u64>], each: u64) -> VecDeque<u32> {
    let is_free = |band: &u64| !holes.iter().any(|hole| hole.contains(band));
    let zones = (0..geometry.tracks()).step_by(geometry.zone_tracks() as usize);
    let zones = zones.map(|first| bands.within(&(first..first + geometry.zone_tracks())));
    zones.flat_map(|zone| zone.rev().filter(is_free).take(each as usize)).map(|band| band as u32).collect()
}

/// The place of the cache that is nearest to a track; of equals the outer one.
pub(super) fn nearest(regions: &[Region], track: u64) -> usize {
    let distances = regions.iter().map(|region| region.middle_track.abs_diff(track));
    distances.enumerate().min_by_key(|(index, distance)| (*distance, *index)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Mapping;

    /// What takes part of the surface: logs, places for merging, and the host's bands.
    fn parts(profile: &Profile, shingled: &ShingledProfile, geometry: &Geometry) -> Vec<Range<u64>> {
        let Layout { bands, regions, flash } = Layout::new(shingled, geometry, &Clock::new(profile.rpm()));
        let log = |region: &Region| region.at..region.at + region.log.capacity_blocks();
        let merge =
            |region: &Region| region.merge_at.block..region.merge_at.block + merge_bytes(shingled) / BLOCK_BYTES;
        let mut parts: Vec<Range<u64>> = regions.iter().map(log).filter(|_| flash.is_none()).collect();
        parts.extend(regions.iter().map(merge));
        let mut home = bands.first_block();
        while home < bands.end_block() {
            let band = bands.around(geometry, home);
            let shift = bands.shift(geometry, band.number);
            parts.push(band.start.wrapping_add(shift)..band.end.wrapping_add(shift));
            home = band.end;
        }
        let host_bytes = (bands.end_block() - bands.first_block()) * BLOCK_BYTES;
        assert!(host_bytes >= profile.geometry.capacity_bytes, "the host has room in {host_bytes} bytes");
        parts
    }

    /// The cache lies beside the host's data, however large it is.
    #[test]
    fn the_largest_cache_leaves_the_host_all_of_its_room() {
        for place in [CachePlace::Outer, CachePlace::Inner] {
            let text = include_str!("../../../../drives/st8000as0002.toml");
            let mut profile = Profile::parse(text).unwrap().scaled(100).unwrap();
            let capacity_bytes = profile.geometry.capacity_bytes;
            let shingled = profile.shingled.as_mut().unwrap();
            (shingled.cache.place, shingled.cache.bytes) = (place, capacity_bytes);
            let geometry = Geometry::new(&profile.geometry, reserved_bytes(&profile));
            let mut parts = parts(&profile, profile.shingled.as_ref().unwrap(), &geometry);
            parts.sort_unstable_by_key(|part| part.start);
            assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", profile.shingled);
        }
    }

    #[test]
    fn nothing_lies_where_something_else_does() {
        let flash = FlashProfile { flash_read_us: 100.0, flash_write_us: 500.0, flash_rate_mb_s: 200.0 };
        let spread = CachePlace::Spread { regions: 5 };
        for place in [CachePlace::Outer, CachePlace::Inner, CachePlace::Flash(flash), spread] {
            for mapping in [Mapping::Static, Mapping::Dynamic { spare_bands: 2 }] {
                let text = include_str!("../../../../drives/st8000as0002.toml");
                let mut profile = Profile::parse(text).unwrap().scaled(100).unwrap();
                let shingled = profile.shingled.as_mut().unwrap();
                (shingled.cache.place, shingled.mapping) = (place.clone(), mapping);
                (shingled.cleaning.merge_on_disk, shingled.cleaning.merge_bytes) = (true, 1 << 30);
                let geometry = Geometry::new(&profile.geometry, reserved_bytes(&profile));
                let mut parts = parts(&profile, profile.shingled.as_ref().unwrap(), &geometry);
                parts.sort_unstable_by_key(|part| part.start);
                let overlaps = parts.windows(2).find(|pair| pair[0].end > pair[1].start);
                assert_eq!(overlaps, None, "{:?}", profile.shingled);
                assert!(parts.last().unwrap().end <= geometry.blocks());
            }
        }
    }

    /// Places of four tracks from tracks 10 and 20 on: their middles are 12 and 22, and 17 is as near to either.
    #[test]
    fn of_two_places_the_nearer_is_taken_and_of_equals_the_outer() {
        let profile = Profile::parse(include_str!("../../../../drives/wd40efax.toml")).unwrap();
        let geometry = Geometry::new(&profile.geometry, reserved_bytes(&profile));
        let at = |track: u64| geometry.first_block(track);
        let cache = &profile.shingled.as_ref().unwrap().cache;
        let regions = [10, 20].map(|track| Region::new(&geometry, cache, at(track), 0, at(track + 4) - at(track)));
        assert_eq!([0, 11, 16, 17, 18, 23, 90].map(|track| nearest(&regions, track)), [0, 0, 0, 0, 1, 1, 1]);
    }

    /// The spare places of a zone are its last two whole bands, but for those that a place of the cache takes.
    #[test]
    fn the_last_whole_bands_of_each_zone_are_spare() {
        let text = include_str!("../../../../drives/st8000as0002.toml");
        let mut profile = Profile::parse(text).unwrap().scaled(20).unwrap();
        profile.geometry.zones = 8;
        let geometry = Geometry::new(&profile.geometry, reserved_bytes(&profile));
        let bands = Bands::new(&geometry, 0, geometry.tracks(), 17);
        let zone =
            |number: u64| bands.within(&(number * geometry.zone_tracks()..(number + 1) * geometry.zone_tracks()));
        let last = zone(1).end;
        let expected = (0..8).flat_map(|number| match (number, zone(number).end) {
            (1, end) => [end - 2, end - 3],
            (_, end) => [end - 1, end - 2],
        });
        let taken = last - 1..last;
        assert!(spare(&geometry, &bands, &[taken], 2).into_iter().map(u64::from).eq(expected));
    }
}
