//! Contradictions between values that are each possible alone.

use super::{CleaningWhen, Profile, ProfileError, SeekCurve, ShingledProfile};

/// Bytes of a physical sector: tracks, packets and buffers are made of whole ones.
const BLOCK_BYTES: u64 = crate::geometry::BLOCK_BYTES;

impl Profile {
    pub(super) fn check(&self) -> Result<(), ProfileError> {
        self.check_geometry()?;
        self.check_seek()?;
        self.check_skews()?;
        self.check_dram()?;
        match &self.shingled {
            Some(shingled) => self.check_shingled(shingled),
            None => Ok(()),
        }
    }

    fn check_geometry(&self) -> Result<(), ProfileError> {
        let geometry = &self.geometry;
        for (key, bytes) in [
            ("geometry.capacity_bytes", geometry.capacity_bytes),
            ("geometry.outer_track_bytes", geometry.outer_track_bytes),
            ("geometry.inner_track_bytes", geometry.inner_track_bytes),
        ] {
            if bytes % BLOCK_BYTES != 0 {
                return Err(ProfileError::value(key, bytes, "a multiple of the 4096 bytes of a sector is expected"));
            }
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
        for (key, degrees, need_ms) in [
            (
                "geometry.track_skew_degrees",
                self.geometry.track_skew_degrees,
                self.mechanics.head_switch_ms + settle_ms,
            ),
            ("geometry.cylinder_skew_degrees", self.geometry.cylinder_skew_degrees, single_track_ms + settle_ms),
        ] {
            if degrees / 360.0 * turn_ms < need_ms {
                let least = need_ms / turn_ms * 360.0;
                let reason =
                    format!("the {need_ms:.2} ms of a switch and settling for a write need {least:.1} degrees");
                return Err(ProfileError::value(key, degrees, reason));
            }
        }
        Ok(())
    }

    fn check_dram(&self) -> Result<(), ProfileError> {
        let dram = &self.dram;
        if dram.write_bytes < dram.destage_bytes {
            let reason = format!("less than one destaging of {} bytes", dram.destage_bytes);
            return Err(ProfileError::value("dram.write_bytes", dram.write_bytes, reason));
        }
        if dram.destage_bytes % BLOCK_BYTES != 0 {
            let reason = "a multiple of the 4096 bytes of a sector is expected";
            return Err(ProfileError::value("dram.destage_bytes", dram.destage_bytes, reason));
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
            let reason = format!("the cache is larger than the drive of {} bytes", geometry.capacity_bytes);
            return Err(ProfileError::value("translation.cache.bytes", cache.bytes, reason));
        }
        for (key, bytes) in [
            ("translation.cache.packet_bytes", cache.packet_bytes),
            ("translation.cleaning.merge_bytes", cleaning.merge_bytes),
        ] {
            if bytes % BLOCK_BYTES != 0 {
                return Err(ProfileError::value(key, bytes, "a multiple of the 4096 bytes of a sector is expected"));
            }
        }
        let packet_space = cache.packet_bytes.max((cache.packet_tracks * geometry.outer_track_bytes as f64) as u64);
        let visit_space = (cache.append_tracks * geometry.outer_track_bytes as f64) as u64;
        let least = 2 * (packet_space + visit_space + 2 * BLOCK_BYTES);
        if cache.bytes < least {
            let reason = format!("two packets need {least} bytes");
            return Err(ProfileError::value("translation.cache.bytes", cache.bytes, reason));
        }
        if cache.entries < 2 * cache.packet_writes {
            let reason = format!(
                "one packet of {} writes, each cutting an older one in two, needs twice as many",
                cache.packet_writes
            );
            return Err(ProfileError::value("translation.cache.entries", cache.entries, reason));
        }
        if cleaning.when == CleaningWhen::Lazy && cleaning.low_mark >= cleaning.high_mark {
            let reason = format!("not below the high mark ({})", cleaning.high_mark);
            return Err(ProfileError::value("translation.cleaning.low_mark", cleaning.low_mark, reason));
        }
        Ok(())
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
    match points.windows(2).find(|pair| pair[1][0] <= pair[0][0] || pair[1][1] < pair[0][1]) {
        Some(pair) => wrong(format!("{pair:?}"), "shares rise from point to point and times never fall"),
        None => Ok(()),
    }
}
