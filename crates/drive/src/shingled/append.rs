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
