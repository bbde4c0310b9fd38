//! A smaller drive of the same kind, for runs that have to be quick.

use super::{Profile, ProfileError};
use crate::geometry::BLOCK_BYTES;

impl Profile {
    /// The drive with capacity, persistent cache and map entries divided by `divisor`.
    ///
    /// Tracks and bands keep their size; a stroke over the same share of the surface takes as long, because the
    /// seek curve is a function of that share.
    ///
    /// # Errors
    /// When `divisor` is 0, or when what is left of the drive contradicts itself (too small for its zones, say).
    pub fn scaled(&self, divisor: u32) -> Result<Self, ProfileError> {
        if divisor == 0 {
            return Err(ProfileError::value("scale", divisor, "a drive is divided by 1 or more"));
        }
        let mut small = self.clone();
        if divisor == 1 {
            return Ok(small);
        }
        let by = u64::from(divisor);
        small.scale_divisor = self.scale_divisor.saturating_mul(divisor);
        small.geometry.capacity_bytes = whole_blocks(self.geometry.capacity_bytes / by);
        // Fewer cylinders than zones cannot be, nor zones without bands that move: a small drive gets coarser zones.
        let cylinder_bytes = self.geometry.heads * self.geometry.outer_track_bytes;
        let zone_bytes = cylinder_bytes.max(self.shingled.as_ref().map_or(0, |shingled| {
            shingled.least_bands_per_zone() * shingled.tracks_per_band * self.geometry.outer_track_bytes
        }));
        let most_zones = (small.geometry.capacity_bytes / zone_bytes).max(1);
        small.geometry.zones = self.geometry.zones.min(most_zones);
        if let Some(shingled) = &mut small.shingled {
            shingled.cache.bytes = whole_blocks(shingled.cache.bytes / by);
            shingled.cache.entries = (shingled.cache.entries / by).max(1);
            shingled.cache.packets = shingled.cache.packets.map(|packets| (packets / by).max(1));
        }
        small.check()?;
        Ok(small)
    }
}

fn whole_blocks(bytes: u64) -> u64 {
    bytes / BLOCK_BYTES * BLOCK_BYTES
}
