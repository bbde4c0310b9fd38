//! Into the persistent cache: extents become packets, packets are appended to the log.

use super::pieces::Piece;
use super::Shingled;
use crate::geometry::BLOCK_BYTES;
use crate::geometry::BLOCK_SECTORS;
use crate::mechanics::Arm;
use crate::profile::EntryCounts;

/// Most packets that one visit to the log writes before others get a turn.
pub(crate) const VISIT_PACKETS: u64 = 64;

/// An extent on its way into the cache, in blocks of the surface; it lies within one band.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub band: u32,
    /// Block within the band.
    pub inside: u32,
    pub first: u64,
    pub end: u64,
    /// Host writes that it gathers.
    pub writes: u64,
}

impl Extent {
    pub fn blocks(&self) -> u64 {
        self.end - self.first
    }
}

impl Shingled {
    /// How many packets of any size fit now, by space, by entries and by packets. Each is counted as the largest: what a
    /// visit gathers is not known before, and a lone small write waits for room for such a one, too.
    pub fn room_packets(&self, region: usize) -> u64 {
        let entries_left = self.rules.entries.saturating_sub(self.entries());
        let by_entries = match self.rules.counts {
            EntryCounts::Packet => entries_left,
            // Each write may cut an older one in two.
            EntryCounts::Write => self.rules.twice_packet_writes.divide(entries_left),
        };
        let packets_left = self.rules.packets.saturating_sub(self.live_packets());
        self.room_in_log(region).min(by_entries).min(packets_left)
    }

    /// How many packets of any size the log of a place has space for.
    pub(super) fn room_in_log(&self, region: usize) -> u64 {
        let records_blocks = self.records_blocks(region);
        let region = &self.regions[region];
        region.log.room_packets(region.packet_space_blocks, records_blocks)
    }

    /// Space that the next visit takes beyond its packets: a record of them, and one of the passes since the last visit.
    fn records_blocks(&self, region: usize) -> u64 {
        self.regions[region].visit_blocks * if self.has_unrecorded_pass() { 2 } else { 1 }
    }

    /// Whether room has to be made before a visit with so many packets, of which there is room for `room`. What even an empty
    /// cache has no room for goes there in parts.
    pub fn lacks_room(&self, region: usize, packets: u64, room: u64) -> bool {
        room == 0 || (self.map.dirty_bands() > 0 && (room < packets || self.log_is_tight(region)))
    }

    /// The same as far as space in the log goes.
    pub(super) fn log_lacks_room(&self, region: usize, packets: u64) -> bool {
        self.room_in_log(region) < packets || self.log_is_tight(region)
    }

    /// Once a pass had to make room, more than just enough is wanted.
    fn log_is_tight(&self, region: usize) -> bool {
        let log = &self.regions[region].log;
        self.has_unrecorded_pass()
            && log.capacity_blocks() - log.used_blocks() < self.rules.room_blocks + self.records_blocks(region)
    }

    /// Whether a visit that begins then with so many blocks belongs to the append of the visit before it.
    pub fn goes_on(&self, region: usize, begin: u64, blocks: u64) -> bool {
        self.last_visit == (region, begin) && self.appended_blocks + blocks <= self.rules.append_blocks
    }

    /// Most sectors that one append holds, were all of them there; 0: those of one visit.
    pub fn append_sectors(&self) -> u64 {
        self.rules.append_blocks * BLOCK_SECTORS
    }

    /// How many sectors from an extent's start fill one packet.
    pub fn packet_sectors(&self, sectors: u64, writes: u64) -> u64 {
        // Mostly an extent is one write: no division for that.
        let share = |sectors: u64| if writes == 1 { sectors } else { sectors.div_ceil(writes) };
        let by_writes = share(sectors * self.rules.packet_writes).next_multiple_of(BLOCK_SECTORS);
        by_writes.min(self.rules.packet_blocks * BLOCK_SECTORS).max(BLOCK_SECTORS)
    }

    /// Whether an extent fits into a packet that holds `blocks` of `writes` host writes.
    pub fn shares_packet(&self, blocks: u64, writes: u64, extent: &Extent) -> bool {
        writes + extent.writes <= self.rules.packet_writes && blocks + extent.blocks() <= self.rules.packet_blocks
    }

    /// Writes extents, all of one place of the cache, as packets to the end of its log; returns when that is done. An
    /// extent that does not fit into the packet before it begins one of its own. There must be room.
    pub fn append(&mut self, arm: &mut Arm, begin: u64, extents: &[Extent]) -> u64 {
        let geometry = &arm.mechanics.geometry;
        let region = extents.first().map_or(0, |extent| self.region_of(geometry, extent.first));
        let blocks = extents.iter().map(Extent::blocks).sum();
        let goes_on = self.goes_on(region, begin, blocks);
        self.appended_blocks = if goes_on { self.appended_blocks + blocks } else { blocks };
        let mut ticks = self.rules.append_ticks;
        if self.last_visit == (region, begin) {
            ticks += self.rules.follow_ticks;
        }
        let (mut first_at, mut end_at) = (None, 0);
        extents.iter().for_each(|extent| self.map.touch_pieces(extent.band));
        let mut rest = extents;
        while !rest.is_empty() {
            let (packet, others) = rest.split_at(self.group(rest));
            let space_blocks = self.regions[region].space_blocks(packet.iter().map(Extent::blocks).sum());
            let records_blocks = if first_at.is_none() && !goes_on { self.records_blocks(region) } else { 0 };
            let (id, at) = self.regions[region].log.append(space_blocks + records_blocks);
            ticks += match &self.flash {
                Some(flash) => flash.write_ticks + space_blocks * flash.block_ticks,
                None => self.rules.packet_ticks + self.regions[region].pass_ticks(space_blocks),
            };
            self.counters.cache_appends += 1;
            first_at.get_or_insert(at);
            end_at = at + space_blocks;
            self.insert(packet, region, id, at);
            rest = others;
        }
        self.counters.cache_visits += 1;
        if !goes_on {
            self.count_append();
            ticks += self.journal_ticks();
        }
        if self.flash.is_some() {
            return begin + ticks;
        }
        let (log_at, first_at) = (self.regions[region].at, first_at.unwrap_or(0));
        let ends = arm.visit(begin, log_at + first_at, ticks);
        if end_at > first_at {
            arm.head.place = geometry.last(&arm.head.place, end_at - first_at);
        } else {
            *arm.head = arm.mechanics.head_at(log_at + end_at.max(1), ends);
        }
        self.last_visit = (region, ends);
        ends
    }

    /// How many of the extents go into the next packet, at least one.
    fn group(&self, extents: &[Extent]) -> usize {
        let (mut blocks, mut writes) = (0, 0);
        let shared = extents.iter().take_while(|extent| {
            let shares = self.shares_packet(blocks, writes, extent);
            blocks += extent.blocks();
            writes += extent.writes;
            shares
        });
        shared.count().max(1)
    }

    fn insert(&mut self, packet: &[Extent], region: usize, id: u32, packet_at: u64) {
        let mut at = packet_at;
        self.regions[region].log.retain(id, packet.len());
        for extent in packet {
            let piece = Piece {
                start: extent.inside,
                blocks: extent.blocks() as u32,
                at: at as u32,
                packet: id,
                entries: extent.writes.min(self.rules.packet_writes) as u32,
            };
            self.counters.bytes_overwritten += self.map.insert(extent.band, piece) * BLOCK_BYTES;
            self.counters.bytes_cached += extent.blocks() * BLOCK_BYTES;
            at += extent.blocks();
        }
        self.settle_log(region);
    }

    /// Counts an append; what writing out the map costs when it is time for that.
    fn journal_ticks(&mut self) -> u64 {
        self.appends_since_journal += 1;
        if self.rules.journal_every == 0 || self.appends_since_journal < self.rules.journal_every {
            return 0;
        }
        self.appends_since_journal = 0;
        self.rules.journal_ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::clock::TURN;
    use crate::geometry::Geometry;
    use crate::mechanics::{Head, Mechanics};
    use crate::profile::{CacheProfile, Profile};
    use crate::shingled::reserved_bytes;
    use crate::truth::Truth;

    /// A drive whose packets hold so many writes and blocks, and whose map counts writes.
    fn layer(packet_writes: u64, packet_blocks: u64) -> (Mechanics, Shingled) {
        with(|cache| (cache.packet_writes, cache.packet_bytes) = (packet_writes, packet_blocks * BLOCK_BYTES))
    }

    fn with(change: impl Fn(&mut CacheProfile)) -> (Mechanics, Shingled) {
        let mut profile = Profile::parse(include_str!("../../../../drives/wd40efax.toml")).unwrap();
        let cache = &mut profile.shingled.as_mut().unwrap().cache;
        cache.entry_counts = EntryCounts::Write;
        change(cache);
        let clock = Clock::new(profile.rpm());
        let geometry = Geometry::new(&profile.geometry, reserved_bytes(&profile));
        let layer = Shingled::new(profile.shingled.as_ref().unwrap(), &geometry, &clock);
        (Mechanics::new(&profile.mechanics, geometry, &clock), layer)
    }

    /// How many packets so many extents become, of two blocks and one write each.
    fn packets(packet_writes: u64, packet_blocks: u64, extents: u64) -> u64 {
        let (mechanics, mut layer) = layer(packet_writes, packet_blocks);
        let (mut head, mut truth) = (mechanics.head_at(1, 0), Truth::default());
        let mut arm = Arm { mechanics: &mechanics, head: &mut head, truth: &mut truth };
        let first = layer.first_band_block();
        let extent = |at: u64| Extent { band: 0, inside: at as u32, first: first + at, end: first + at + 2, writes: 1 };
        layer.append(&mut arm, 0, &(0..extents).map(|index| extent(4 * index)).collect::<Vec<_>>());
        layer.counters.cache_appends
    }

    #[test]
    fn a_packet_is_full_of_writes_or_of_blocks() {
        assert_eq!([1, 5, 6, 10, 11].map(|extents| packets(5, 1024, extents)), [1, 1, 2, 2, 3], "of five writes");
        assert_eq!([1, 5, 6, 10, 11].map(|extents| packets(1024, 10, extents)), [1, 1, 2, 2, 3], "of ten blocks");
    }

    /// However an extent is cut, its packets are no more than its writes fill.
    #[test]
    fn an_extent_takes_no_more_packets_than_its_writes_need() {
        let (_, layer) = layer(4, 1 << 20);
        for (writes, blocks) in (1..40).flat_map(|writes| (writes..80).map(move |blocks| (writes, blocks))) {
            let sectors = blocks * BLOCK_SECTORS;
            let packet = layer.packet_sectors(sectors, writes);
            let packets = sectors.div_ceil(packet);
            assert!(
                packet % BLOCK_SECTORS == 0 && packets <= writes.div_ceil(4),
                "{blocks} blocks of {writes}: {packets}"
            );
        }
    }

    /// One extent of so many writes at the beginning of a band; returns when it has been appended.
    fn append(mechanics: &Mechanics, layer: &mut Shingled, blocks: u64, writes: u64) -> (u64, Head) {
        let (mut head, mut truth) = (mechanics.head_at(1, 0), Truth::default());
        let mut arm = Arm { mechanics, head: &mut head, truth: &mut truth };
        let first = layer.first_band_block();
        let ends = layer.append(&mut arm, 0, &[Extent { band: 0, inside: 0, first, end: first + blocks, writes }]);
        (ends, head)
    }

    #[test]
    fn an_extent_takes_an_entry_for_each_of_its_writes_and_no_more_than_a_packet_has() {
        for (writes, entries) in [(1, 1), (3, 3), (5, 5), (7, 5)] {
            let (mechanics, mut layer) = layer(5, 1024);
            append(&mechanics, &mut layer, 8, writes);
            assert_eq!(layer.truth(Truth::default()).cached_entries, entries, "of {writes} writes");
        }
    }

    /// A packet that has a whole track passes for a turn, however little it holds; then the heads are over its end.
    #[test]
    fn the_heads_pass_over_all_the_space_of_a_packet() {
        let track = |mechanics: &Mechanics| mechanics.geometry.place(0).track_blocks.get();
        let [(bare_ends, bare), (whole_ends, whole)] = [0.0, 1.0].map(|tracks| {
            let (mechanics, mut layer) = with(|cache| cache.packet_tracks = tracks);
            let (ends, head) = append(&mechanics, &mut layer, 2, 1);
            (ends, (head.place.block, track(&mechanics)))
        });
        let share = 1.0 - 2.0 / whole.1 as f64;
        assert!(((whole_ends - bare_ends) as f64 - TURN as f64 * share).abs() < 2.0, "{bare_ends} and {whole_ends}");
        assert_eq!((bare.0, whole.0), (1, whole.1 - 1));
    }

    /// Of eight tracks each packet takes one, though its data is a block.
    #[test]
    fn there_is_room_for_as_many_packets_as_their_space_leaves() {
        let (mechanics, _) = with(|_| ());
        let track_bytes = mechanics.geometry.place(0).track_blocks.get() * BLOCK_BYTES;
        let (mechanics, mut layer) = with(|cache| {
            (cache.packet_bytes, cache.packet_tracks, cache.bytes) = (BLOCK_BYTES, 1.0, 8 * track_bytes);
        });
        assert_eq!(layer.room_packets(0), 8);
        append(&mechanics, &mut layer, 1, 1);
        assert_eq!(layer.room_packets(0), 7);
    }
}
