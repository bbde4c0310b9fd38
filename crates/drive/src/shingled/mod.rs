//! The shingled translation layer: static bands, a persistent cache in front of them, cleaning, streams.
//!
//! `log` and `map` are the cache, `append` writes into it, `clean` empties it, `streams` finds what may bypass it and `direct`
//! lets that pass.

mod append;
mod clean;
mod direct;
mod log;
mod map;
mod streams;

use rangemap::RangeSet;

use crate::clock::{Clock, TURN};
use crate::geometry::{Geometry, BLOCK_BYTES};
use crate::profile::{CleaningOrder, CleaningWhen, EntryCounts, Profile, ShingledProfile};
use crate::truth::Truth;

pub(crate) use append::{Extent, VISIT_PACKETS};
use clean::Cleaning;
use direct::OpenBand;
use log::Log;
use map::{Change, Map};
use streams::Streams;

/// Rules of the persistent cache in the drive's units.
#[derive(Clone, Debug)]
struct Rules {
    entries: u64,
    counts: EntryCounts,
    packet_blocks: u64,
    packet_writes: u64,
    least_space_blocks: u64,
    packet_ticks: u64,
    append_ticks: u64,
    append_blocks: u64,
    journal_every: u64,
    journal_ticks: u64,
    when: CleaningWhen,
    order: CleaningOrder,
    clean_idle: u64,
    high_mark: f64,
    low_mark: f64,
    bands_per_pass: usize,
    finishes_band: bool,
    ration_appends: u64,
    ration_until: f64,
    collect_ticks: u64,
    merge_blocks: u64,
    merge_on_disk: bool,
}

/// The layer's state. Blocks are those of the surface: first the log, then a place for merging, then the bands.
#[derive(Clone, Debug)]
pub(crate) struct Shingled {
    rules: Rules,
    tracks_per_band: u64,
    first_band_track: u64,
    first_band_block: u64,
    merge_at_block: u64,
    map: Map,
    log: Log,
    pub streams: Streams,
    open: Vec<OpenBand>,
    cleaning: Cleaning,
    /// Blocks that hold nothing of worth.
    trimmed: RangeSet<u64>,
    appends_since_journal: u64,
    counters: Truth,
}

/// Bytes in front of the bands: the log, and the place for merging if there is one.
pub(crate) fn reserved_bytes(profile: &Profile) -> u64 {
    profile.shingled.as_ref().map_or(0, |shingled| {
        let merge = if shingled.cleaning.merge_on_disk { shingled.cleaning.merge_bytes } else { 0 };
        // The bands begin with a track of their own.
        shingled.cache.bytes + merge + profile.geometry.outer_track_bytes
    })
}

impl Shingled {
    pub fn new(profile: &Profile, shingled: &ShingledProfile, geometry: &Geometry, clock: &Clock) -> Self {
        let log_blocks = shingled.cache.bytes / BLOCK_BYTES;
        let front_blocks = (reserved_bytes(profile) - profile.geometry.outer_track_bytes) / BLOCK_BYTES;
        let first_band_track = geometry.place(front_blocks).track + 1;
        let bands = (geometry.tracks() - first_band_track).div_ceil(shingled.tracks_per_band);
        Self {
            rules: Rules::new(profile, shingled, clock),
            tracks_per_band: shingled.tracks_per_band,
            first_band_track,
            first_band_block: geometry.first_block(first_band_track),
            merge_at_block: log_blocks,
            map: Map::new(bands as usize),
            log: Log::new(log_blocks),
            streams: Streams::new(&shingled.streams),
            open: Vec::with_capacity(shingled.streams.tracked as usize + 1),
            cleaning: Cleaning::default(),
            trimmed: RangeSet::new(),
            appends_since_journal: 0,
            counters: Truth::default(),
        }
    }

    /// Where the host's first block lies.
    pub fn first_band_block(&self) -> u64 {
        self.first_band_block
    }

    /// The band that holds a block of the surface.
    fn band(&self, geometry: &Geometry, block: u64) -> u32 {
        ((geometry.place(block).track - self.first_band_track) / self.tracks_per_band) as u32
    }

    /// The blocks of the surface that a band takes.
    fn band_blocks(&self, geometry: &Geometry, band: u32) -> (u64, u64) {
        let track = self.first_band_track + u64::from(band) * self.tracks_per_band;
        (geometry.first_block(track), geometry.first_block((track + self.tracks_per_band).min(geometry.tracks())))
    }

    /// Where the band of a block ends.
    pub fn band_end(&self, geometry: &Geometry, block: u64) -> u64 {
        self.band_blocks(geometry, self.band(geometry, block)).1
    }

    /// Whether a band begins at this block.
    pub fn is_border(&self, geometry: &Geometry, block: u64) -> bool {
        self.band_blocks(geometry, self.band(geometry, block)).0 == block
    }

    /// Where the data of block `first` lies, and how much of what follows, up to `end` and the band's end, lies right
    /// behind it.
    pub fn run(&self, geometry: &Geometry, first: u64, end: u64) -> (u64, u64) {
        let band = self.band(geometry, first);
        let (band_start, band_end) = self.band_blocks(geometry, band);
        let end = end.min(band_end);
        let inside = (first - band_start) as u32;
        match self.map.piece_after(band, inside) {
            Some(piece) if piece.start <= inside => {
                let skipped = inside - piece.start;
                (u64::from(piece.at + skipped), u64::from(piece.blocks - skipped).min(end - first))
            }
            Some(piece) => (first, (band_start + u64::from(piece.start)).min(end) - first),
            None => (first, end - first),
        }
    }

    /// How far from `first` on, up to `end`, everything lies at home.
    pub fn clear_until(&self, geometry: &Geometry, first: u64, end: u64) -> u64 {
        let mut at = first;
        while at < end {
            let (place, blocks) = self.run(geometry, at, end);
            if place != at {
                break;
            }
            at += blocks;
        }
        at
    }

    /// The host's data in `first..end` is worth nothing any more. Advice, which a full map does not take: dropping the
    /// middle of an entry would need another.
    pub fn trim(&mut self, geometry: &Geometry, first: u64, end: u64) {
        if first < end && self.room_to_cut() {
            self.drop_cached(geometry, first, end);
            self.trimmed.insert(first..end);
        }
    }

    /// The host wrote `first..end`, so it is of worth again.
    pub fn untrim(&mut self, first: u64, end: u64) {
        if !self.trimmed.is_empty() {
            self.trimmed.remove(first..end);
        }
    }

    /// Forgets what the cache holds of `first..end`.
    fn drop_cached(&mut self, geometry: &Geometry, first: u64, end: u64) {
        let mut at = first;
        while at < end {
            let band = self.band(geometry, at);
            let (start, band_end) = self.band_blocks(geometry, band);
            let until = band_end.min(end);
            let dropped = self.map.remove(band, (at - start) as u32, (until - start) as u32);
            self.counters.bytes_overwritten += dropped * BLOCK_BYTES;
            at = until;
        }
        self.settle_log();
    }

    /// Whether an entry could be cut in two.
    pub fn room_to_cut(&self) -> bool {
        self.rules.counts == EntryCounts::Packet || self.entries() < self.rules.entries
    }

    /// Tells the log what the map no longer needs, in the order in which it came about: a packet that was cut in two
    /// first and lost a part after must not count as dead in between.
    fn settle_log(&mut self) {
        for change in self.map.changes.drain(..) {
            match change {
                Change::Gone { packet, .. } => self.log.release(packet),
                Change::Cut { packet } => self.log.retain(packet),
            }
        }
    }

    fn entries(&self) -> u64 {
        match self.rules.counts {
            EntryCounts::Write => self.map.entries(),
            EntryCounts::Packet => self.log.live_packets(),
        }
    }

    /// How full the cache is, by bytes or by entries, whichever is more.
    fn fill(&self) -> f64 {
        let bytes = self.log.used_blocks() as f64 / self.log.capacity_blocks() as f64;
        bytes.max(self.entries() as f64 / self.rules.entries as f64)
    }

    pub fn truth(&self, drive: Truth) -> Truth {
        Truth {
            cached_bytes: self.map.cached_blocks() * BLOCK_BYTES,
            cached_entries: self.entries(),
            log_bytes: self.log.used_blocks() * BLOCK_BYTES,
            dirty_bands: self.map.dirty_bands(),
            bands_cleaned: self.counters.bands_cleaned,
            bytes_cleaned: self.counters.bytes_cleaned,
            bytes_cached: self.counters.bytes_cached,
            bytes_overwritten: self.counters.bytes_overwritten,
            cache_appends: self.counters.cache_appends,
            stream_bytes: self.counters.stream_bytes,
            streams_broken: self.counters.streams_broken,
            forced_passes: self.counters.forced_passes,
            ..drive
        }
    }
}

impl Rules {
    fn new(profile: &Profile, shingled: &ShingledProfile, clock: &Clock) -> Self {
        let (cache, cleaning) = (&shingled.cache, &shingled.cleaning);
        let turns = |turns: f64| (turns * TURN as f64).round() as u64;
        let outer_blocks = (profile.geometry.outer_track_bytes / BLOCK_BYTES) as f64;
        Self {
            entries: cache.entries,
            counts: cache.entry_counts,
            packet_blocks: cache.packet_bytes / BLOCK_BYTES,
            packet_writes: cache.packet_writes,
            least_space_blocks: ((cache.packet_tracks * outer_blocks).ceil() as u64).max(1),
            packet_ticks: turns(cache.packet_turns),
            append_ticks: turns(cache.append_turns),
            append_blocks: (cache.append_tracks * outer_blocks).ceil() as u64,
            journal_every: cache.journal_every,
            journal_ticks: clock.span(cache.journal_ms * 1e6),
            when: cleaning.when,
            order: cleaning.order,
            clean_idle: clock.span(cleaning.idle_ms * 1e6),
            high_mark: cleaning.high_mark,
            low_mark: cleaning.low_mark,
            bands_per_pass: cleaning.bands_per_pass as usize,
            finishes_band: cleaning.finishes_band,
            ration_appends: cleaning.ration_appends,
            ration_until: cleaning.ration_until,
            collect_ticks: turns(cleaning.collect_turns),
            merge_blocks: cleaning.merge_bytes / BLOCK_BYTES,
            merge_on_disk: cleaning.merge_on_disk,
        }
    }

    /// Space in the log of a packet with `blocks` of data.
    fn space_blocks(&self, blocks: u64) -> u64 {
        blocks.max(self.least_space_blocks)
    }
}
