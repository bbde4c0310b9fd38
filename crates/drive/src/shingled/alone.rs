//! A translation layer with its heads and nobody else, on a drive whose times are all whole parts of a turn, to work out
//! by hand what it does.
//!
//! A track has 256 blocks, so a turn is 256 *parts*: a block passes in one, a seek takes 32 whatever its distance, a switch
//! of heads 16, settling before a write 8. A cylinder has two tracks; from the first to the second the data is turned by
//! 32, from there to the next cylinder by 64. So track `t` of cylinder `c = t / 2` begins where the platters stand at
//! `32 (t - c) + 64 c`, of 256.

use super::{Extent, Shingled};
use crate::clock::{Clock, TURN};
use crate::geometry::Geometry;
use crate::mechanics::{Arm, Head, Mechanics};
use crate::profile::{CleaningOrder, CleaningProfile, Profile, SeekCurve};
use crate::shingled::reserved_bytes;
use crate::truth::Truth;

pub(super) const PART: u64 = TURN / 256;
pub(super) const TRACK_BLOCKS: u64 = 256;
pub(super) const TRACK_BYTES: u64 = TRACK_BLOCKS * 4096;

/// Such a drive, 64 tracks large, with bands of two tracks and two tracks of cache, which merges half a track at a time.
pub(super) fn profile() -> Profile {
    let mut profile = Profile::parse(include_str!("../../../../drives/wd40efax.toml")).unwrap();
    let ms = |parts: f64| parts / 256.0 * 10.0;
    let geometry = &mut profile.geometry;
    (geometry.capacity_bytes, geometry.rpm, geometry.heads, geometry.zones) = (64 * TRACK_BYTES, 6000.0, 2, 1);
    (geometry.outer_track_bytes, geometry.inner_track_bytes) = (TRACK_BYTES, TRACK_BYTES);
    (geometry.track_skew_degrees, geometry.cylinder_skew_degrees) = (45.0, 90.0);
    let mechanics = &mut profile.mechanics;
    mechanics.seek = SeekCurve::Table(vec![[0.0, ms(32.0)], [1.0, ms(32.0)]]);
    (mechanics.head_switch_ms, mechanics.write_settle_ms, mechanics.park_after_s) = (ms(16.0), ms(8.0), 0.0);
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.tracks_per_band = 2;
    (shingled.cache.bytes, shingled.cache.packet_tracks) = (2 * TRACK_BYTES, 0.0);
    let cleaning = &mut shingled.cleaning;
    (cleaning.merge_bytes, cleaning.merge_on_disk, cleaning.finishes_band) = (TRACK_BYTES / 2, false, false);
    cleaning.collect_turns = 50.0 / 256.0;
    profile
}

/// A translation layer with its heads, and nobody else.
pub(super) struct Alone {
    pub(super) mechanics: Mechanics,
    pub(super) head: Head,
    pub(super) truth: Truth,
    pub(super) layer: Shingled,
    pub(super) now: u64,
}

impl Alone {
    pub(super) fn new(profile: &Profile) -> Self {
        let clock = Clock::new(profile.rpm());
        let geometry = Geometry::new(&profile.geometry, reserved_bytes(profile));
        let layer = Shingled::new(profile.shingled.as_ref().unwrap(), &geometry, &clock);
        let mechanics = Mechanics::new(&profile.mechanics, geometry, &clock);
        let head = mechanics.head_at(1, 0);
        Self { mechanics, head, truth: Truth::default(), layer, now: 0 }
    }

    /// Caches `inside..inside + blocks` of a band.
    pub(super) fn cache(&mut self, band: u32, inside: u64, blocks: u64) {
        let first = self.layer.bands.blocks(&self.mechanics.geometry, band).0 + inside;
        let extent = Extent { band, inside: inside as u32, first, end: first + blocks, writes: 1 };
        let mut arm = Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth };
        self.layer.append(&mut arm, self.now, &[extent]);
    }

    /// The host gives up `inside..inside + blocks` of a band.
    pub(super) fn trim(&mut self, band: u32, inside: u64, blocks: u64) {
        let first = self.layer.bands.blocks(&self.mechanics.geometry, band).0 + inside;
        self.layer.trim(&self.mechanics.geometry, first, first + blocks);
    }

    /// A stream writes so many blocks of a band from its beginning.
    pub(super) fn stream(&mut self, band: u32, blocks: u64) {
        self.stream_at(band, 0, blocks);
    }

    /// The same from within it; returns when that is done.
    pub(super) fn stream_at(&mut self, band: u32, inside: u64, blocks: u64) -> u64 {
        let first = self.layer.bands.blocks(&self.mechanics.geometry, band).0 + inside;
        let mut arm = Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth };
        self.layer.write_direct(&mut arm, self.now, first, first + blocks).ends
    }

    /// The heads are over a track, and the first block of all comes under them.
    pub(super) fn rest_over(&mut self, track: u64) {
        let end = self.mechanics.geometry.first_block(track) + 1;
        (self.now, self.head) = (self.now.next_multiple_of(TURN), self.mechanics.head_at(end, 0));
    }

    /// One operation of cleaning; returns when it ends, in parts of a turn.
    pub(super) fn clean(&mut self) -> Option<f64> {
        self.clean_before(0)
    }

    /// The same where nobody else comes before so many parts of a turn.
    pub(super) fn clean_before(&mut self, parts: u64) -> Option<f64> {
        let mut arm = Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth };
        self.now = self.layer.clean(&mut arm, self.now, parts * PART)?;
        Some(self.now as f64 / PART as f64)
    }

    /// All that are left of a pass over one band.
    pub(super) fn clean_all(&mut self) -> Vec<f64> {
        let cleaned = self.layer.counters.bands_cleaned;
        let mut ends = Vec::new();
        while self.layer.counters.bands_cleaned == cleaned {
            ends.extend(self.clean());
        }
        ends
    }
}

/// Twelve bands are dirty, with an entry each, of which the map holds 24.
pub(super) fn with_twelve_dirty(
    order: CleaningOrder,
    bands_per_pass: u64,
    change: impl Fn(&mut CleaningProfile),
) -> Alone {
    let mut profile = profile();
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.cache.entries = 24;
    (shingled.cleaning.order, shingled.cleaning.bands_per_pass) = (order, bands_per_pass);
    change(&mut shingled.cleaning);
    let mut drive = Alone::new(&profile);
    (0..12).for_each(|band| drive.cache(band, 0, 4));
    drive
}
