//! Writes: into DRAM, and from there to the platters.

use std::cell::Cell;

use crate::buffer::{Dirty, Piece, WriteBuffer};
use crate::clock::TURN;
use crate::drive::{Drive, First};
use crate::geometry::BLOCK_SECTORS;
use crate::mechanics::{Arm, Way};
use crate::passing::Passing;
use crate::queue::Candidate;
use crate::range::Range;
use crate::request::{Request, Status, SECTOR_BYTES};
use crate::shingled::{Extent, VISIT_PACKETS};
use crate::sweep::{nearest_of, Side};
use crate::work::{Choice, Work};
use durable::{Durable, Need};

pub(crate) mod durable;
pub(crate) mod rules;
mod stream;

impl Drive {
    pub(crate) fn write(&mut self, request: Request, arrives: u64) {
        if self.held.is_empty() && self.has_room(&request) {
            self.admit(request, arrives);
        } else {
            self.held.push_back((arrives, request));
        }
    }

    pub(crate) fn flush(&mut self, tag: u32, arrives: u64) {
        self.durable.push(Durable { tag, arrived: arrives, need: Need::UpTo(self.sequence) });
        self.settle(arrives, &Range::ALL);
    }

    /// Forgets whatever DRAM holds and whoever waits for that; returns what was written and not yet durable. Of what
    /// passes under the heads the sectors that have passed are new, and the others old; none is torn. A visit to the log
    /// counts for nothing before its end.
    pub(crate) fn forget_writes(&mut self) -> Vec<Range> {
        let flying = match self.passing.take() {
            Some(passing) => vec![passing.rest(&self.mechanics.geometry, self.now)],
            None => self.in_flight.ranges().to_vec(),
        };
        let lost = self.buffer.ranges().iter().copied().chain(flying).filter(|range| range.sectors() > 0).collect();
        self.in_flight.clear();
        self.buffer = WriteBuffer::with_segments(self.rules.limit_segments, self.mechanics.geometry.cylinders());
        self.held.clear();
        self.durable.clear();
        lost
    }

    /// TRIM tells the drive that data is worth nothing: what its caches hold of it need not be written any more. On the
    /// surface only whole blocks count.
    pub(crate) fn trim(&mut self, request: Request, arrives: u64) {
        let range = Range::of(&request);
        // What is dropped does not stand in the way of a read-ahead that has begun before.
        self.know_limit();
        self.discard(&range);
        let whole = Range {
            start: range.start.next_multiple_of(BLOCK_SECTORS),
            end: range.end / BLOCK_SECTORS * BLOCK_SECTORS,
        };
        let (first, end) = self.surface(&whole);
        if let Some(layer) = &mut self.shingled {
            layer.trim(&self.mechanics.geometry, first, end);
        }
        self.complete(request.tag, arrives, Status::Good);
        self.settle(arrives, &range);
    }

    /// Drops what DRAM holds of a range, written or read.
    fn discard(&mut self, range: &Range) {
        self.buffer.discard(range);
        if let Some(index) = self.buffer.beginning_at(range.end) {
            self.locate(index);
        }
        let (first, end) = self.surface(range);
        if self.read_cache.meets(first, end) {
            self.claim_heads(self.now);
        }
        self.read_cache.forget(first, end);
    }

    /// Whether DRAM can take a write now. One that exceeds all of DRAM is let in when nothing else is there.
    fn has_room(&self, request: &Request) -> bool {
        let used = self.buffer.sectors() + self.in_flight.sectors();
        let fits = used + request.bytes / SECTOR_BYTES <= self.rules.limit_sectors || used == 0;
        fits && self.buffer.segments() < self.rules.limit_segments
    }

    fn admit(&mut self, request: Request, arrives: u64) {
        let (range, mut about) = self.bring_in(&request, arrives);
        let Dirty { arrived, sequence, wanted: through, .. } = about;
        self.add_dirty(range, &mut about);
        if through {
            self.durable.push(Durable { tag: request.tag, arrived, need: Need::Range(range, sequence) });
        } else {
            self.complete(request.tag, arrived, Status::Good);
        }
    }

    /// Brings a write into DRAM; where it goes is seen to elsewhere.
    #[inline(always)]
    fn bring_in(&mut self, request: &Request, arrives: u64) -> (Range, Dirty) {
        let range = Range::of(request);
        let arrived = self.carry_in(arrives, range.sectors());
        let through = request.fua || !self.rules.write_back;
        self.sequence += 1;
        let (first, end) = self.surface(&range);
        let mut direct = false;
        if let Some(layer) = &mut self.shingled {
            layer.untrim(first, end);
            direct = layer.streams.observe(range.start, range.sectors(), through);
        }
        let about =
            Dirty { sequence: self.sequence, arrived, writes: 1, direct, wanted: through, band: (0, 0), spot: None };
        (range, about)
    }

    /// Adds a write to the dirty extents, cut where bands meet: an extent belongs to one band.
    fn add_dirty(&mut self, range: Range, about: &mut Dirty) {
        let barrier = self.durable.barrier();
        if self.shingled.is_none() {
            return self.add_part(range, about, barrier, |_| true);
        }
        let home = self.home_block;
        let mut start = range.start;
        while start < range.end {
            let Some(layer) = &self.shingled else { return };
            let band = layer.expect(&self.mechanics.geometry, home + start / BLOCK_SECTORS);
            let part = Range { start, end: range.end.min((band.end - home) * BLOCK_SECTORS) };
            let is_border = |block: u64| block == band.start || block == band.end;
            about.band = (band.number, band.start);
            self.add_part(part, about, barrier, |sector| !is_border(home + sector / BLOCK_SECTORS));
            start = part.end;
        }
    }

    /// The same for what belongs to one band, and becomes one with others only where `seam(sector)` allows.
    #[inline(always)]
    fn add_part(&mut self, part: Range, about: &Dirty, barrier: u64, seam: impl Fn(u64) -> bool) {
        let index = self.buffer.add(part, about, barrier, seam);
        self.locate(index);
        // The extent is as old as its oldest part, so who waits for a part of that age waits for all of it.
        let extent = self.buffer.ranges()[index];
        let wanted = self.buffer.about(index).wanted;
        if !wanted && self.durable.iter().any(|durable| durable.awaits(&extent)) {
            self.buffer.want(index);
        }
    }

    /// Finds where an extent begins on the surface, for the heads to choose by. Into the log it goes by its age.
    #[inline(always)]
    fn locate(&mut self, index: usize) {
        let about = self.buffer.about(index);
        if about.spot.is_none() && (self.shingled.is_none() || about.direct) {
            self.find_spot(index);
        }
    }

    fn find_spot(&mut self, index: usize) {
        let (first, _) = self.written_blocks(&self.buffer.get(index).range);
        self.buffer.locate(index, self.mechanics.spot(first.wrapping_add(self.shift(first))));
    }

    /// The home addresses that a range of the host's passes over as it is written. Places are kept in blocks of several sectors;
    /// where sectors are written one by one, the end of one range and the beginning of the next within a block are no turn apart.
    #[inline(always)]
    fn written_blocks(&self, range: &Range) -> (u64, u64) {
        if self.rules.physical_sectors == BLOCK_SECTORS {
            return self.surface(range);
        }
        let nearest = |sector: u64| self.home_block + (sector + BLOCK_SECTORS / 2) / BLOCK_SECTORS;
        let (first, end) = (nearest(range.start), nearest(range.end));
        // The last block of a drive may not be whole.
        let first = first.min(self.surface(range).1 - 1);
        (first, end.max(first + 1))
    }

    /// A band has moved: what goes to it goes elsewhere.
    pub(crate) fn follow_band(&mut self, home: std::ops::Range<u64>) {
        for index in 0..self.buffer.ranges().len() {
            let (first, _) = self.surface(&self.buffer.get(index).range);
            if home.contains(&first) && self.buffer.about(index).spot.is_some() {
                let spot = self.mechanics.spot(first.wrapping_add(self.shift(first)));
                self.buffer.relocate(index, spot);
            }
        }
    }

    /// Somebody waits for a write to leave DRAM.
    pub(crate) fn writes_press(&self) -> bool {
        let somebody_waits = !self.held.is_empty() || !self.durable.is_empty();
        somebody_waits && !self.buffer.is_empty()
    }

    /// Destages when somebody waits for it, when DRAM is half full, or when the host is silent.
    pub(crate) fn choose_destage(&mut self, pressing: bool) -> Choice {
        if self.buffer.is_empty() {
            return Choice::Rest(None);
        }
        let full = 2 * self.buffer.sectors() >= self.rules.limit_sectors
            || 2 * self.buffer.segments() >= self.rules.limit_segments;
        let at = self.silent_at(self.rules.idle);
        if pressing || full || self.now >= at {
            self.start_destage(None)
        } else {
            Choice::Rest(Some(at))
        }
    }

    /// Writes out the `next` extent to go, or if that is not known what is found to be.
    pub(crate) fn start_destage(&mut self, next: Option<Candidate>) -> Choice {
        self.claim_heads(self.now);
        if self.shingled.is_some() {
            return self.start_shingled_destage();
        }
        let Some(next) = next.or_else(|| self.next_extent()) else {
            return Choice::Rest(None);
        };
        let piece = self.take(next.index, self.rules.destage_sectors);
        let ends = self.write_home(&piece);
        self.in_flight.push(piece.range, piece.about.sequence);
        self.busy(Work::Destage, ends)
    }

    /// Takes out an extent or its beginning.
    #[inline]
    fn take(&mut self, index: usize, sectors: u64) -> Piece {
        let (piece, rest) = self.buffer.take(index, sectors);
        if rest {
            self.locate(index);
        }
        piece
    }

    /// The oldest extent decides: a stream's goes to its band, any other into the persistent cache.
    fn start_shingled_destage(&mut self) -> Choice {
        let Some(oldest) = self.oldest_extent(|_| true) else {
            return Choice::Rest(None);
        };
        if self.buffer.about(oldest).direct {
            self.start_direct()
        } else {
            self.start_append(oldest)
        }
    }

    fn start_direct(&mut self) -> Choice {
        // Streams go on for as long as the host likes: what is far from them would wait for their end.
        let starved = self.starving_since().and_then(|_| self.oldest_extent(|about| about.direct));
        let Some(index) = starved.or_else(|| self.nearest_extent().map(|next| next.index)) else {
            return Choice::Rest(None);
        };
        let (first, _) = self.surface(&self.buffer.get(index).range);
        let Some(layer) = &mut self.shingled else {
            return Choice::Rest(None);
        };
        if layer.is_under_way(&self.mechanics.geometry, first) || !layer.room_to_cut() {
            layer.force_pass();
            return self.start_cleaning();
        }
        if layer.must_close_before(&self.mechanics, first) {
            let open = layer.closes_before(&self.mechanics, first);
            layer.force_close(open);
            return self.start_cleaning();
        }
        let piece = self.take(index, self.rules.destage_sectors);
        self.write_in_place(&piece)
    }

    /// Whether data may go to its band at a block now, with nothing to be done before.
    fn may_write_in_place(&self, first: u64) -> bool {
        self.shingled.as_ref().is_some_and(|layer| {
            let under_way = layer.is_under_way(&self.mechanics.geometry, first);
            !under_way && layer.room_to_cut() && !layer.must_close_before(&self.mechanics, first)
        })
    }

    /// Begins to write a piece to its band.
    fn write_in_place(&mut self, piece: &Piece) -> Choice {
        let (first, end) = self.surface(&piece.range);
        let begin = self.now.max(piece.about.arrived);
        let Some(layer) = &mut self.shingled else {
            return Choice::Rest(None);
        };
        let mut arm = Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth };
        let written = layer.write_direct(&mut arm, begin, first, end);
        let ends = written.ends;
        let passes = written.passes.filter(|_| self.rules.is_whole(&piece.range));
        self.passing = passes.map(|(begins, block)| Passing::new(piece.range, begins, block));
        self.in_flight.push(piece.range, piece.about.sequence);
        self.busy(Work::Destage, ends)
    }

    /// Gathers extents, the `oldest` first, for one visit to the log; without room there, forces a cleaning pass.
    fn start_append(&mut self, oldest: usize) -> Choice {
        let (range, about) = (self.buffer.ranges()[oldest], self.buffer.about(oldest));
        let (writes, waited_since) = (u64::from(about.writes), about.arrived);
        let (first, _) = self.surface(&range);
        let Some(layer) = &mut self.shingled else {
            return Choice::Rest(None);
        };
        let region = layer.region_of(&self.mechanics.geometry, first);
        let packet_sectors = layer.packet_sectors(range.sectors(), writes);
        let visit = range.sectors().min(self.rules.destage_sectors);
        let goes_on = layer.goes_on(region, self.now, visit.div_ceil(BLOCK_SECTORS));
        let sectors = if goes_on { visit } else { range.sectors().min(layer.append_sectors()).max(visit) };
        let packets = if sectors <= packet_sectors { 1 } else { sectors.div_ceil(packet_sectors).min(VISIT_PACKETS) };
        let room = layer.room_packets(region);
        let lacks_room = layer.lacks_room(region, packets, room);
        if lacks_room {
            layer.press();
        }
        if lacks_room || (!goes_on && layer.ration_is_spent(waited_since)) {
            layer.force_pass_for(region, packets, waited_since);
            return self.start_cleaning();
        }
        let arrived = self.gather(region, room.min(VISIT_PACKETS));
        let Some(layer) = &mut self.shingled else {
            return Choice::Rest(None);
        };
        let mut arm = Arm { mechanics: &self.mechanics, head: &mut self.head, truth: &mut self.truth };
        let ends = layer.append(&mut arm, self.now.max(arrived), &self.batch);
        self.busy(Work::Destage, ends)
    }

    /// Fills `in_flight` and `batch` with what at most `room` packets hold, up to the first extent that belongs to
    /// another place of the cache; returns when all of it was in DRAM.
    fn gather(&mut self, region: usize, room: u64) -> u64 {
        self.batch.clear();
        let (mut packets, mut blocks, mut writes, mut sectors, mut arrived) = (0, 0, 0, 0, 0);
        let unwanted_up_to = self.unwanted_up_to();
        while let Some(index) = self.buffer.oldest(unwanted_up_to, |about| !about.direct) {
            let Some(layer) = &self.shingled else { break };
            let range = self.buffer.ranges()[index];
            let whole = self.extent(&range, self.buffer.about(index));
            if layer.region_of(&self.mechanics.geometry, whole.first) != region {
                break;
            }
            if packets == 0 || !layer.shares_packet(blocks, writes, &whole) {
                if packets == room || sectors >= self.rules.destage_sectors {
                    break;
                }
                (packets, blocks, writes) = (packets + 1, 0, 0);
            }
            let most = layer.packet_sectors(range.sectors(), whole.writes);
            let piece = self.take(index, most);
            let extent = if piece.range == range { whole } else { self.extent(&piece.range, &piece.about) };
            (blocks, writes) = (blocks + extent.blocks(), writes + extent.writes);
            sectors += piece.range.sectors();
            arrived = arrived.max(piece.about.arrived);
            self.in_flight.push(piece.range, piece.about.sequence);
            self.batch.push(extent);
        }
        arrived
    }

    fn extent(&self, range: &Range, about: &Dirty) -> Extent {
        let (first, end) = self.surface(range);
        let (band, band_start) = about.band;
        Extent { band, inside: (first - band_start) as u32, first, end, writes: u64::from(about.writes) }
    }

    /// Up to which write extents may be destaged now that nobody waits for to be durable: any, unless somebody waits for
    /// others and nobody for room.
    fn unwanted_up_to(&self) -> u64 {
        if self.durable.is_empty() || !self.held.is_empty() {
            u64::MAX
        } else {
            self.durable.barrier()
        }
    }

    /// The nearest of the reads that wait and the extents, found in one search; `None` where it takes more than that to tell:
    /// somebody has waited too long, or an extent would be nearer if the host did not still send it.
    pub(crate) fn nearest_of_both(&self) -> Option<First> {
        if self.queue.has_starving(self.now) || self.starving_since().is_some() {
            return None;
        }
        let unwanted_up_to = self.unwanted_up_to();
        let [read, write] = [Way::Read, Way::Write].map(|way| self.mechanics.departure(&self.head, self.now, way));
        let reads = Side { sweep: self.queue.sweep(), departure: &read };
        let writes = Side { sweep: self.buffer.sweep(), departure: &write };
        let is_late = Cell::new(false);
        let may_go = |side, index, reach| {
            if side == 0 {
                return true;
            }
            let about = self.buffer.about(index);
            let is_allowed = about.wanted || about.sequence <= unwanted_up_to;
            let is_there = about.arrived <= self.now + reach;
            is_late.set(is_late.get() || (is_allowed && !is_there));
            is_allowed && is_there
        };
        let (side, index, reach) = nearest_of([reads, writes], self.now, u64::MAX, may_go)?;
        let next = Some(Candidate { index, reach, starves_since: None });
        match side {
            0 if is_late.get() => None,
            0 => Some(First::Read(next)),
            _ => Some(First::Write(next)),
        }
    }

    /// Since when somebody has waited for an extent, if that is too long.
    fn starving_since(&self) -> Option<u64> {
        let starves = |since: u64| self.queue.starves(since, self.now);
        let held = self.held.front().map(|(arrived, _)| *arrived).filter(|since| starves(*since));
        self.durable.starving_since(starves).into_iter().chain(held).min()
    }

    /// The extent that goes next to its place: the oldest that somebody has waited for too long, else the nearest.
    pub(crate) fn next_extent(&self) -> Option<Candidate> {
        match self.starving_since() {
            Some(since) => {
                let index = self.oldest_extent(|_| true)?;
                Some(Candidate { index, reach: u64::MAX, starves_since: Some(since) })
            }
            None => self.nearest_extent(),
        }
    }

    /// The allowed extent that the heads reach soonest, of those that go to their place. One that the host is still sending by
    /// then would be waited for a turn longer, so it is only chosen where there is no other.
    fn nearest_extent(&self) -> Option<Candidate> {
        let unwanted_up_to = self.unwanted_up_to();
        let departure = self.mechanics.departure(&self.head, self.now, Way::Write);
        let nearest = |is_there: &dyn Fn(&Dirty, u64) -> bool| {
            let may_go = |index, reach| {
                let about = self.buffer.about(index);
                (about.wanted || about.sequence <= unwanted_up_to) && is_there(about, self.now + reach)
            };
            self.buffer.sweep().nearest(&departure, self.now, u64::MAX, may_go)
        };
        let (index, reach) = nearest(&|about, passes| about.arrived <= passes).or_else(|| nearest(&|_, _| true))?;
        Some(Candidate { index, reach, starves_since: None })
    }

    /// The allowed extent of a `kind` with the oldest data.
    fn oldest_extent(&self, kind: impl Fn(&Dirty) -> bool) -> Option<usize> {
        self.buffer.oldest(self.unwanted_up_to(), kind)
    }

    /// Writes a piece to its place; returns when that is done.
    fn write_home(&mut self, piece: &Piece) -> u64 {
        let (first, end) = self.written_blocks(&piece.range);
        let begin = self.now.max(piece.about.arrived);
        let access = self.arm().transfer(begin, first, end, Way::Write);
        let whole = self.rules.is_whole(&piece.range);
        self.passing = whole.then(|| Passing::new(piece.range, access.begins, first));
        // Half a physical sector is read in one turn and written back in the next.
        let ends = access.ends + if whole { 0 } else { TURN };
        self.head.rested_at = ends;
        ends
    }

    pub(crate) fn finish_destage(&mut self) {
        // Until now the written data hid what was read ahead of the old.
        for index in 0..self.in_flight.ranges().len() {
            let range = self.in_flight.ranges()[index];
            let (first, end) = self.surface(&range);
            self.read_cache.forget(first, end);
            self.buffer.landed(&range);
        }
        let landed = self.in_flight.hull();
        self.in_flight.clear();
        self.passing = None;
        self.settle(self.now, &landed);
    }

    /// After data within `range` became durable, or room appeared, at `at`: answers who waited for it and lets held writes
    /// in.
    fn settle(&mut self, at: u64, range: &Range) {
        let mut index = 0;
        while index < self.durable.len() {
            let need = &self.durable[index].need;
            if need.is_met_within(range) && self.is_durable(need) {
                let done = self.durable.take(index);
                self.complete(done.tag, at.max(done.arrived), Status::Good);
            } else {
                index += 1;
            }
        }
        while let Some((arrived, request)) = self.held.front().copied() {
            if !self.has_room(&request) {
                break;
            }
            self.held.pop_front();
            self.admit(request, arrived.max(at));
        }
    }

    fn is_durable(&self, need: &Need) -> bool {
        match need {
            Need::Range(needed, sequence) => {
                let mut dirty = self.buffer.overlapping(needed);
                let mut flying = self.in_flight.iter().filter(|(range, _)| range.overlaps(needed));
                !dirty.any(|(_, about)| about.sequence <= *sequence) && !flying.any(|(_, other)| other <= *sequence)
            }
            Need::UpTo(sequence) => {
                let oldest = self.buffer.oldest(u64::MAX, |_| true).map(|index| self.buffer.get(index).about.sequence);
                oldest.is_none_or(|oldest| oldest > *sequence)
                    && !self.in_flight.iter().any(|(_, other)| other <= *sequence)
            }
        }
    }
}
