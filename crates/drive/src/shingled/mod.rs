//! The shingled translation layer: bands, a persistent cache, cleaning, streams.
//!
//! `place` lays them out and `bands` knows where a band is, `log` and `map` (with its `pieces` and its `order`) are the cache, `append` writes into it, `clean`
//! empties it, `streams` finds what may bypass it and `direct` lets that pass.
//!
//! Blocks are *home addresses* of the host's data (see `bands`) unless they are said to be of the surface.

#[cfg(test)]
mod alone;
mod append;
mod bands;
mod clean;
#[cfg(test)]
mod clean_times;
mod direct;
mod log;
mod map;
mod order;
mod pieces;
mod place;
mod streams;
#[cfg(test)]
mod turns_taken;

use rangemap::RangeSet;

use crate::clock::{Clock, TURN};
use crate::geometry::{Divisor, Geometry, BLOCK_BYTES};
use crate::profile::{CleaningDriven, CleaningOrder, CleaningWhen, EntryCounts, ShingledProfile};
use crate::truth::Truth;

pub(crate) use append::{Extent, VISIT_PACKETS};
pub(crate) use bands::Band;
use bands::Bands;
use clean::Cleaning;
use direct::OpenBand;
use map::{Change, Map};
pub(crate) use place::reserved_bytes;
use place::{nearest, Flash, Layout, Region};
use streams::Streams;

/// Rules of the persistent cache in the drive's units.
#[derive(Clone, Debug)]
struct Rules {
    entries: u64,
    packets: u64,
    counts: EntryCounts,
    packet_blocks: u64,
    packet_writes: u64,
    twice_packet_writes: Divisor,
    packet_ticks: u64,
    append_ticks: u64,
    follow_ticks: u64,
    append_blocks: u64,
    journal_every: u64,
    journal_ticks: u64,
    replay_ticks: u64,
    when: CleaningWhen,
    order: CleaningOrder,
    by_pressure: bool,
    clean_idle: u64,
    clean_rest: Option<u64>,
    high_mark: f64,
    low_mark: f64,
    bands_per_pass: usize,
    full_idle: Option<u64>,
    full_until: f64,
    finishes_band: bool,
    finishes_phase: bool,
    room_blocks: u64,
    ration_appends: u64,
    ration_until: f64,
    ration_bands: usize,
    collect_ticks: u64,
    merge_blocks: u64,
    merge_on_disk: bool,
    merge_whole: bool,
    merge_ticks: u64,
}

/// The layer's state.
#[derive(Clone, Debug)]
pub(crate) struct Shingled {
    rules: Rules,
    bands: Bands,
    map: Map,
    /// The places of the cache: one, if it is not spread. All that is cached of a band is in the same.
    regions: Vec<Region>,
    flash: Option<Flash>,
    pub streams: Streams,
    open: Vec<OpenBand>,
    cleaning: Cleaning,
    /// Blocks that hold nothing of worth.
    trimmed: RangeSet<u64>,
    appends_since_journal: u64,
    /// The place of the last visit to the log, and when it ended.
    last_visit: (usize, u64),
    /// So much the append holds that the last visit belongs to.
    appended_blocks: u64,
    counters: Truth,
}

impl Shingled {
    pub fn new(shingled: &ShingledProfile, geometry: &Geometry, clock: &Clock) -> Self {
        let Layout { bands, regions, flash } = Layout::new(shingled, geometry, clock);
        Self {
            rules: Rules::new(shingled, clock),
            map: Map::new(bands.count() as usize, bands.most_blocks(geometry)),
            bands,
            regions,
            flash,
            streams: Streams::new(&shingled.streams),
            open: Vec::with_capacity(shingled.streams.tracked as usize + 1),
            cleaning: Cleaning::default(),
            trimmed: RangeSet::new(),
            appends_since_journal: 0,
            last_visit: (0, 0),
            appended_blocks: 0,
            counters: Truth::default(),
        }
    }

    /// Whether everything lies where its home address is.
    pub fn is_home(&self) -> bool {
        self.bands.are_home() && self.map.dirty_bands() == 0
    }

    /// The home address of the host's first block.
    pub fn first_band_block(&self) -> u64 {
        self.bands.first_block()
    }

    /// Behind the last home address.
    pub fn end_block(&self) -> u64 {
        self.bands.end_block()
    }

    /// The band of a block, about which more will be asked soon.
    #[inline]
    pub fn expect(&self, geometry: &Geometry, block: u64) -> Band {
        let band = self.bands.around(geometry, block);
        self.map.touch(band.number);
        band
    }

    /// The place of the cache that takes what is cached of a band.
    fn region(&self, band: u32) -> usize {
        match self.regions.len() {
            1 => 0,
            _ => nearest(&self.regions, self.bands.middle_track(band)),
        }
    }

    /// The same for a block.
    pub fn region_of(&self, geometry: &Geometry, block: u64) -> usize {
        match self.regions.len() {
            1 => 0,
            _ => self.region(self.bands.band(geometry, block)),
        }
    }

    /// What to add (it wraps around) to a block for the block of the surface where its band holds it.
    #[inline(always)]
    pub fn shift(&self, geometry: &Geometry, block: u64) -> u64 {
        if self.bands.are_home() {
            0
        } else {
            self.shift_of_moved(geometry, block)
        }
    }

    #[inline(never)]
    fn shift_of_moved(&self, geometry: &Geometry, block: u64) -> u64 {
        self.bands.shift(geometry, self.bands.band(geometry, block))
    }

    /// Where the data of block `first` lies on the surface (behind its end: in flash), and how much of what follows, up
    /// to `end` and the band's end, lies right behind it.
    pub fn run(&self, geometry: &Geometry, first: u64, end: u64) -> (u64, u64) {
        let Band { number: band, start: band_start, end: band_end } = self.bands.around(geometry, first);
        let end = end.min(band_end);
        let inside = (first - band_start) as u32;
        let in_band = || first.wrapping_add(self.bands.shift(geometry, band));
        if !self.map.may_hold(band, inside, (end - band_start) as u32) {
            return (in_band(), end - first);
        }
        match self.map.piece_after(band, inside) {
            Some(piece) if piece.start <= inside => {
                let skipped = inside - piece.start;
                let at = self.regions[self.region(band)].at + u64::from(piece.at + skipped);
                (at, u64::from(piece.blocks - skipped).min(end - first))
            }
            Some(piece) => (in_band(), (band_start + u64::from(piece.start)).min(end) - first),
            None => (in_band(), end - first),
        }
    }

    /// How far from `first` on, up to `end`, nothing is cached and everything lies `shift` from its home address.
    pub fn clear_until(&self, geometry: &Geometry, first: u64, end: u64, shift: u64) -> u64 {
        let end = end.min(self.end_block());
        let mut at = first;
        while at < end {
            let (place, blocks) = self.run(geometry, at, end);
            if place != at.wrapping_add(shift) {
                break;
            }
            at += blocks;
        }
        at
    }

    /// Whether all of `first..end` is cached in flash; if so, when it has been read from there.
    pub fn read_flash(&mut self, geometry: &Geometry, first: u64, end: u64, arrives: u64) -> Option<(u64, u64)> {
        let flash = self.flash.as_ref()?;
        let (mut at, mut ticks) = (first, 0);
        while at < end {
            let (place, blocks) = self.run(geometry, at, end);
            if place < geometry.blocks() {
                return None;
            }
            ticks += flash.read_ticks + blocks * flash.block_ticks;
            at += blocks;
        }
        let begins = arrives.max(flash.free_at);
        self.flash.as_mut()?.free_at = begins + ticks;
        Some((begins, begins + ticks))
    }

    /// How long a run in flash takes to be read.
    pub fn flash_ticks(&self, blocks: u64) -> u64 {
        self.flash.as_ref().map_or(0, |flash| flash.read_ticks + blocks * flash.block_ticks)
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

    /// Whether a block holds nothing of worth.
    #[cfg(test)]
    pub fn is_trimmed(&self, block: u64) -> bool {
        self.trimmed.contains(&block)
    }

    /// Forgets what the cache holds of `first..end`.
    fn drop_cached(&mut self, geometry: &Geometry, first: u64, end: u64) {
        let mut at = first;
        while at < end {
            let band = self.bands.around(geometry, at);
            let until = band.end.min(end);
            let dropped = self.map.remove(band.number, (at - band.start) as u32, (until - band.start) as u32);
            self.counters.bytes_overwritten += dropped * BLOCK_BYTES;
            self.settle_log(self.region(band.number));
            at = until;
        }
    }

    /// Whether an entry could be cut in two.
    pub fn room_to_cut(&self) -> bool {
        self.rules.counts == EntryCounts::Packet || self.entries() < self.rules.entries
    }

    /// Tells a log what the map no longer needs, in the order in which it came about: a packet that was cut in two
    /// first and lost a part after must not count as dead in between.
    fn settle_log(&mut self, region: usize) {
        let log = &mut self.regions[region].log;
        for change in self.map.changes.drain(..) {
            match change {
                Change::Gone { packet, .. } => log.release(packet),
                Change::Cut { packet } => log.retain(packet, 1),
            }
        }
    }

    fn entries(&self) -> u64 {
        match self.rules.counts {
            EntryCounts::Write => self.map.entries(),
            EntryCounts::Packet => self.live_packets(),
        }
    }

    fn live_packets(&self) -> u64 {
        self.regions.iter().map(|region| region.log.live_packets()).sum()
    }

    /// How full the cache is: by bytes (of its fullest place), by entries or by packets, whichever is most.
    fn fill(&self) -> f64 {
        let share = |region: &Region| region.log.used_blocks() as f64 / region.log.capacity_blocks() as f64;
        let bytes = self.regions.iter().map(share).fold(0.0, f64::max);
        let packets = self.live_packets() as f64 / self.rules.packets as f64;
        bytes.max(self.entries() as f64 / self.rules.entries as f64).max(packets)
    }

    /// The power fails: what the cache and the bands hold stays, whatever is under way begins anew.
    pub fn lose_power(&mut self) {
        self.streams.forget();
        self.abandon_pass();
        if let Some(flash) = &mut self.flash {
            flash.free_at = 0;
        }
    }

    /// Reads what was written since the map was last written out, and writes it out; returns how long that takes.
    pub fn replay(&mut self) -> u64 {
        std::mem::take(&mut self.appends_since_journal) * self.rules.replay_ticks
    }

    pub fn truth(&self, drive: Truth) -> Truth {
        Truth {
            cached_bytes: self.map.cached_blocks() * BLOCK_BYTES,
            cached_entries: self.entries(),
            log_bytes: self.regions.iter().map(|region| region.log.used_blocks()).sum::<u64>() * BLOCK_BYTES,
            dirty_bands: self.map.dirty_bands(),
            cached_packets: self.live_packets(),
            bands_cleaned: self.counters.bands_cleaned,
            bands_moved: self.counters.bands_moved,
            bytes_cleaned: self.counters.bytes_cleaned,
            bytes_cached: self.counters.bytes_cached,
            bytes_overwritten: self.counters.bytes_overwritten,
            cache_appends: self.counters.cache_appends,
            cache_visits: self.counters.cache_visits,
            stream_bytes: self.counters.stream_bytes,
            streams_broken: self.counters.streams_broken,
            forced_passes: self.counters.forced_passes,
            ..drive
        }
    }
}

impl Rules {
    fn new(shingled: &ShingledProfile, clock: &Clock) -> Self {
        let (cache, cleaning) = (&shingled.cache, &shingled.cleaning);
        let turns = |turns: f64| (turns * TURN as f64).round() as u64;
        Self {
            entries: cache.entries,
            packets: cache.packets.unwrap_or(u64::MAX),
            counts: cache.entry_counts,
            packet_blocks: cache.packet_bytes / BLOCK_BYTES,
            packet_writes: cache.packet_writes,
            twice_packet_writes: Divisor::new(2 * cache.packet_writes),
            packet_ticks: turns(cache.packet_turns),
            append_ticks: turns(cache.append_turns),
            follow_ticks: turns(cache.follow_turns),
            append_blocks: cache.append_bytes / BLOCK_BYTES,
            journal_every: cache.journal_every,
            journal_ticks: clock.span(cache.journal_ms * 1e6),
            replay_ticks: clock.span(cache.replay_ms * 1e6),
            when: cleaning.when,
            order: cleaning.order,
            by_pressure: cleaning.driven == CleaningDriven::Pressure,
            clean_idle: clock.span(cleaning.idle_ms * 1e6),
            clean_rest: (cleaning.rest_s > 0.0).then(|| clock.span(cleaning.rest_s * 1e9)),
            high_mark: cleaning.high_mark,
            low_mark: cleaning.low_mark,
            bands_per_pass: cleaning.bands_per_pass as usize,
            full_idle: (cleaning.full_idle_ms > 0.0).then(|| clock.span(cleaning.full_idle_ms * 1e6)),
            full_until: cleaning.full_until,
            finishes_band: cleaning.finishes_band,
            finishes_phase: cleaning.finishes_phase,
            room_blocks: cleaning.room_bytes / BLOCK_BYTES,
            ration_appends: cleaning.ration_appends,
            ration_until: cleaning.ration_until,
            ration_bands: cleaning.ration_bands as usize,
            collect_ticks: turns(cleaning.collect_turns),
            merge_blocks: cleaning.merge_bytes / BLOCK_BYTES,
            merge_on_disk: cleaning.merge_on_disk,
            merge_whole: cleaning.merge_whole,
            merge_ticks: turns(cleaning.merge_turns),
        }
    }
}
