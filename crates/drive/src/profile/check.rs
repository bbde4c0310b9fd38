//! Contradictions between values that are each possible alone.

use super::{CachePlace, CacheProfile, CleaningWhen, EntryCounts, Profile, ProfileError, SeekCurve, ShingledProfile};

use crate::geometry::Geometry;
use crate::request::SECTOR_BYTES;
use crate::shingled::reserved_bytes;

/// Tracks, packets and buffers are made of whole ones.
const BLOCK_BYTES: u64 = crate::geometry::BLOCK_BYTES;

/// Their numbers have 32 bits.
const MOST_TRACKS: u64 = u32::MAX as u64;

/// Then their map takes less than 1 GB. Published drives have some hundred thousand.
const MOST_BANDS: u64 = 1 << 24;

/// As the figures of a data sheet that may stand instead.
const LONGEST_SEEK_MS: f64 = 10_000.0;

impl Profile {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        self.check_geometry()?;
        self.check_seek()?;
        self.check_skews()?;
        self.check_dram()?;
        self.check_power()?;
        self.check_bridge()?;
        if let Some(shingled) = &self.shingled {
            self.check_shingled(shingled)?;
        }
        self.check_counts()
    }

    /// Tracks and bands have numbers, and bands take memory from the beginning. Everything else has been checked.
    fn check_counts(&self) -> Result<(), ProfileError> {
        let track_bytes = self.geometry.outer_track_bytes;
        let tracks = Geometry::new(&self.geometry, reserved_bytes(self)).tracks();
        if tracks > MOST_TRACKS {
            let reason = format!("too small: the surface would have {tracks} tracks, more than {MOST_TRACKS}");
            return Err(ProfileError::value("geometry.outer_track_bytes", track_bytes, reason));
        }
        let Some(shingled) = &self.shingled else { return Ok(()) };
        let bands = tracks / shingled.tracks_per_band;
        if bands > MOST_BANDS {
            let reason = format!(
                "too few: there would be {bands} bands, more than {MOST_BANDS}, of which each takes about 40 bytes of \
                 memory"
            );
            return Err(ProfileError::value("translation.tracks_per_band", shingled.tracks_per_band, reason));
        }
        Ok(())
    }

    fn check_geometry(&self) -> Result<(), ProfileError> {
        let geometry = &self.geometry;
        for (key, bytes) in [
            ("geometry.capacity_bytes", geometry.capacity_bytes),
            ("geometry.outer_track_bytes", geometry.outer_track_bytes),
            ("geometry.inner_track_bytes", geometry.inner_track_bytes),
        ] {
            if bytes % BLOCK_BYTES != 0 {
                return Err(ProfileError::value(key, bytes, "a multiple of 4096 bytes is expected"));
            }
        }
        let sector_bytes = geometry.physical_sector_bytes;
        if sector_bytes != SECTOR_BYTES && sector_bytes != BLOCK_BYTES {
            let reason = "512 or 4096 bytes are possible";
            return Err(ProfileError::value("geometry.physical_sector_bytes", sector_bytes, reason));
        }
        if sector_bytes != BLOCK_BYTES && self.shingled.is_some() {
            let reason = "a shingled drive keeps its map in sectors of 4096 bytes";
            return Err(ProfileError::value("geometry.physical_sector_bytes", sector_bytes, reason));
        }
        if geometry.inner_track_bytes > geometry.outer_track_bytes {
            let reason = format!("an inner track holds no more than an outer one ({})", geometry.outer_track_bytes);
            return Err(ProfileError::value("geometry.inner_track_bytes", geometry.inner_track_bytes, reason));
        }
        let least = geometry.zones * geometry.heads * geometry.outer_track_bytes;
        if geometry.capacity_bytes < least {
            let reason = format!("{} zones of at least one cylinder need {least} bytes", geometry.zones);
            return Err(ProfileError::value("geometry.capacity_bytes", geometry.capacity_bytes, reason));
        }
        Ok(())
    }

    fn check_seek(&self) -> Result<(), ProfileError> {
        match &self.mechanics.seek {
            SeekCurve::Points { single_track_ms, average_ms, full_stroke_ms } => {
                if average_ms < single_track_ms {
                    let reason = format!("shorter than to the next track ({single_track_ms} ms)");
                    return Err(ProfileError::value("mechanics.seek_average_ms", average_ms, reason));
                }
                if full_stroke_ms < average_ms {
                    let reason = format!("shorter than the average ({average_ms} ms)");
                    return Err(ProfileError::value("mechanics.seek_full_stroke_ms", full_stroke_ms, reason));
                }
                let (root, line) = crate::mechanics::curve(*single_track_ms, *average_ms, *full_stroke_ms);
                if root < 0.0 || root / 2.0 + line < 0.0 {
                    let reason = format!(
                        "no curve of settling, square root and straight line that never falls goes through \
                         {single_track_ms}, {average_ms} and {full_stroke_ms} ms"
                    );
                    return Err(ProfileError::value("mechanics.seek_average_ms", average_ms, reason));
                }
                Ok(())
            }
            SeekCurve::Table(points) => check_table(points),
        }
    }

    /// A skew has to hide what it is there for, or every track would cost a lost turn.
    fn check_skews(&self) -> Result<(), ProfileError> {
        let turn_ms = 60_000.0 / self.geometry.rpm;
        let single_track_ms = match &self.mechanics.seek {
            SeekCurve::Points { single_track_ms, .. } => *single_track_ms,
            SeekCurve::Table(points) => points[0][1],
        };
        let settle_ms = self.mechanics.write_settle_ms;
        let skews = [
            (
                "geometry.track_skew_degrees",
                self.geometry.track_skew_degrees,
                self.mechanics.head_switch_ms + settle_ms,
            ),
            ("geometry.cylinder_skew_degrees", self.geometry.cylinder_skew_degrees, single_track_ms + settle_ms),
        ];
        let needs = |need_ms: f64| {
            let least = need_ms / turn_ms * 360.0;
            format!("the {need_ms:.2} ms of a switch and settling for a write need {least:.1} degrees")
        };
        let mut wrong = skews.into_iter().filter(|(_, degrees, need_ms)| degrees / 360.0 * turn_ms < *need_ms);
        let Some((key, degrees, need_ms)) = wrong.next() else {
            return Ok(());
        };
        let also = wrong.map(|(key, degrees, need_ms)| format!("; `{key}` is {degrees}: {}", needs(need_ms)));
        let reason = format!("{}{}", needs(need_ms), also.collect::<String>());
        Err(ProfileError::value(key, degrees, reason))
    }

    fn check_dram(&self) -> Result<(), ProfileError> {
        let dram = &self.dram;
        if dram.write_bytes < dram.destage_bytes {
            let reason = format!("less than one destaging of {} bytes", dram.destage_bytes);
            return Err(ProfileError::value("dram.write_bytes", dram.write_bytes, reason));
        }
        if dram.destage_bytes % BLOCK_BYTES != 0 {
            let reason = "a multiple of 4096 bytes is expected";
            return Err(ProfileError::value("dram.destage_bytes", dram.destage_bytes, reason));
        }
        Ok(())
    }

    fn check_power(&self) -> Result<(), ProfileError> {
        let mechanics = &self.mechanics;
        let (parks_s, stops_s) = (mechanics.park_after_s, mechanics.spin_down_after_s);
        if stops_s > 0.0 && stops_s < parks_s {
            let reason = format!("the heads leave the platters (after {parks_s} s) before these stop");
            return Err(ProfileError::value("mechanics.spin_down_after_s", stops_s, reason));
        }
        if stops_s > 0.0 && mechanics.spin_up_s * 1e3 < mechanics.unpark_ms {
            let reason =
                format!("less than the {} ms from the ramp to a track, which it contains", mechanics.unpark_ms);
            return Err(ProfileError::value("mechanics.spin_up_s", mechanics.spin_up_s, reason));
        }
        Ok(())
    }

    fn check_bridge(&self) -> Result<(), ProfileError> {
        let Some(bridge) = &self.interface.bridge else {
            return Ok(());
        };
        if bridge.max_transfer_bytes % crate::request::SECTOR_BYTES != 0 {
            let reason = "a multiple of the 512 bytes of a logical sector is expected";
            return Err(ProfileError::value("interface.max_transfer_bytes", bridge.max_transfer_bytes, reason));
        }
        if bridge.bridge_queue > self.queue.depth {
            let reason = format!("the drive behind it takes {} commands", self.queue.depth);
            return Err(ProfileError::value("interface.bridge_queue", bridge.bridge_queue, reason));
        }
        Ok(())
    }

    /// Most of a zone is no spare band.
    fn check_spare(&self, shingled: &ShingledProfile) -> Result<(), ProfileError> {
        let bands = shingled.bands_per_zone(&self.geometry);
        if bands < shingled.least_bands_per_zone() {
            let reason = format!("a recording zone holds {bands} bands, of which at least half are not spare");
            return Err(ProfileError::value("translation.spare_bands", shingled.spare_bands(), reason));
        }
        Ok(())
    }

    /// Each place of the cache holds two packets, and leaves room for bands. With a packet come two records, of a visit and of
    /// a pass; and as none goes around the log's end, only half of an empty log is sure to be in one piece.
    fn check_places(&self, shingled: &ShingledProfile) -> Result<(), ProfileError> {
        let cache = &shingled.cache;
        let packet_tracks_bytes = (cache.packet_tracks * self.geometry.outer_track_bytes as f64) as u64;
        let visit_bytes = (cache.append_tracks * self.geometry.outer_track_bytes as f64) as u64;
        let least =
            2 * places(cache) * (cache.packet_bytes.max(packet_tracks_bytes) + 2 * visit_bytes + 2 * BLOCK_BYTES);
        if cache.bytes < least {
            let reason = match places(cache) {
                1 => format!("two packets need {least} bytes"),
                places => format!("two packets in each of {places} places need {least} bytes"),
            };
            return Err(ProfileError::value("translation.cache.bytes", cache.bytes, reason));
        }
        let CachePlace::Spread { regions } = cache.place else {
            return Ok(());
        };
        let geometry = &self.geometry;
        let around = shingled.cleaning.merge_bytes + 2 * shingled.tracks_per_band * geometry.outer_track_bytes;
        let taken = u128::from(cache.bytes + regions * around) * u128::from(geometry.outer_track_bytes);
        if taken > u128::from(geometry.capacity_bytes) * u128::from(geometry.inner_track_bytes) {
            let reason =
                format!("of {} bytes, and with two bands around each, they leave no room between", cache.bytes);
            return Err(ProfileError::value("translation.cache.regions", regions, reason));
        }
        Ok(())
    }

    fn check_shingled(&self, shingled: &ShingledProfile) -> Result<(), ProfileError> {
        let (geometry, cache, cleaning) = (&self.geometry, &shingled.cache, &shingled.cleaning);
        let band_bytes = shingled.tracks_per_band.saturating_mul(geometry.outer_track_bytes);
        if band_bytes > geometry.capacity_bytes {
            let reason = format!("a band of {band_bytes} bytes is larger than the drive");
            return Err(ProfileError::value("translation.tracks_per_band", shingled.tracks_per_band, reason));
        }
        if cache.bytes > geometry.capacity_bytes {
            // It takes nothing of the host's room, but lies beside that.
            let reason = format!("the cache is larger than the drive of {} bytes beside it", geometry.capacity_bytes);
            return Err(ProfileError::value("translation.cache.bytes", cache.bytes, reason));
        }
        for (key, bytes) in [
            ("translation.cache.packet_bytes", cache.packet_bytes),
            ("translation.cleaning.merge_bytes", cleaning.merge_bytes),
        ] {
            if bytes % BLOCK_BYTES != 0 {
                return Err(ProfileError::value(key, bytes, "a multiple of 4096 bytes is expected"));
            }
        }
        self.check_places(shingled)?;
        if let Some(packets) = cache.packets.filter(|_| cache.entry_counts == EntryCounts::Packet) {
            let reason = "an entry is a packet (`entry_counts`), so `entries` limits them already";
            return Err(ProfileError::value("translation.cache.packets", packets, reason));
        }
        self.check_spare(shingled)?;
        // Where an entry is a packet, what is cut in two stays one.
        if cache.entry_counts == EntryCounts::Write && cache.entries < 2 * cache.packet_writes {
            let reason = format!(
                "one packet of {} writes, each cutting an older one in two, needs twice as many",
                cache.packet_writes
            );
            return Err(ProfileError::value("translation.cache.entries", cache.entries, reason));
        }
        if cleaning.rest_s > 0.0 && cleaning.rest_s * 1e3 < cleaning.idle_ms {
            let reason = format!("less than the silence before any cleaning ({} ms)", cleaning.idle_ms);
            return Err(ProfileError::value("translation.cleaning.rest_s", cleaning.rest_s, reason));
        }
        if self.scale_divisor == 1 && cleaning.room_bytes > cache.bytes {
            let reason = format!("the cache has {} bytes", cache.bytes);
            return Err(ProfileError::value("translation.cleaning.room_bytes", cleaning.room_bytes, reason));
        }
        if cleaning.when == CleaningWhen::Lazy && cleaning.low_mark >= cleaning.high_mark {
            let reason = format!("not below the high mark ({})", cleaning.high_mark);
            return Err(ProfileError::value("translation.cleaning.low_mark", cleaning.low_mark, reason));
        }
        Ok(())
    }
}

fn places(cache: &CacheProfile) -> u64 {
    match cache.place {
        CachePlace::Spread { regions } => regions,
        _ => 1,
    }
}

fn check_table(points: &[[f64; 2]]) -> Result<(), ProfileError> {
    let wrong = |value: String, reason: &str| Err(ProfileError::value("mechanics.seek_table", value, reason));
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return wrong("empty".to_owned(), "at least two points are needed");
    };
    if points.len() < 2 || first[0] != 0.0 || last[0] != 1.0 {
        return wrong(format!("{points:?}"), "it runs from share 0 (the next track) to share 1 (the full stroke)");
    }
    if first[1] <= 0.0 {
        return wrong(format!("{first:?}"), "a seek takes time");
    }
    if let Some(point) = points.iter().find(|point| point[1] > LONGEST_SEEK_MS) {
        return wrong(format!("{point:?}"), "0..10000 ms is possible");
    }
    match points.windows(2).find(|pair| pair[1][0] <= pair[0][0] || pair[1][1] < pair[0][1]) {
        Some(pair) => wrong(format!("{pair:?}"), "shares rise from point to point and times never fall"),
        None => Ok(()),
    }
}
