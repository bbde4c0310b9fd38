//! Reads: from dirty data, from what was read ahead, or from the platters.

use crate::ahead::Running;
use crate::drive::Drive;
use crate::geometry::BLOCK_SECTORS;
use crate::mechanics::{Access, Way};
use crate::queue::{Candidate, Waiting};
use crate::range::Range;
use crate::request::{Request, Verb, SECTOR_BYTES};
use crate::work::{Choice, Work};

/// How far a read has come.
struct Reached {
    /// All before this home address.
    block: u64,
    /// Up to here at least all lies `shift` from its home, as what was read last.
    row_end: u64,
    shift: u64,
}

impl Drive {
    pub(crate) fn read(&mut self, request: Request, arrives: u64) {
        let range = Range::of(&request);
        if let Some(layer) = &self.shingled {
            layer.expect(&self.mechanics.geometry, self.home_block + range.start / BLOCK_SECTORS);
        }
        let Some(missing) = self.missing(range.start, range.end) else {
            return self.hit(&request, arrives);
        };
        let (first, end) = self.surface(&range);
        if self.work.is_some() || !self.is_led_to(first) || !self.follow(&request, first, end, arrives) {
            let (first, end) = self.surface(&Range { start: missing.start, end: range.end });
            if self.read_flash(&request, first, end, arrives) {
                return;
            }
            if self.heads_are_free() {
                // What has been read ahead until now may hold some of it, or take the place of what did.
                let untouched = missing == range && !self.read_cache.meets(first, end);
                self.claim_heads(self.now);
                self.read_last = true;
                let missing = if untouched { Some(range) } else { self.missing(range.start, range.end) };
                self.fetch(request.tag, arrives, &range, missing);
                return;
            }
            let spot = self.mechanics.spot(self.first_on_surface(first, end));
            self.queue.push(Waiting { tag: request.tag, arrived: arrives, range, spot });
        }
    }

    /// Whether a read that comes now is what the heads do next, without waiting among others.
    fn heads_are_free(&self) -> bool {
        let cleans = || self.shingled.as_ref().is_some_and(|layer| layer.pass_is_forced());
        self.work.is_none() && self.queue.is_empty() && !cleans() && !self.writes_press()
    }

    /// The first run of sectors in `start..end` that DRAM does not hold, neither as dirty nor as read data.
    #[inline(always)]
    fn missing(&self, start: u64, end: u64) -> Option<Range> {
        if start >= end {
            return None;
        }
        let range = Range { start, end };
        let (first, last) = self.surface(&range);
        if !self.read_cache.may_hold(first, last) && !self.buffer.may_meet(&range) {
            return Some(range);
        }
        self.missing_beside(&range)
    }

    /// The same where DRAM may hold some of it.
    #[inline(never)]
    fn missing_beside(&self, range: &Range) -> Option<Range> {
        let (range, Range { start, end }) = (*range, *range);
        let (first, last) = self.surface(&range);
        let is_written = || self.in_flight.holds_of(&range) || self.buffer.holds_of(&range);
        let is_held = self.read_cache.holds_of(first, last) || (self.buffer.may_meet(&range) && is_written());
        if !is_held {
            return Some(range);
        }
        let home = self.home_block;
        let read = self.read_cache.overlapping(first, last).map(|(first, end)| Range {
            start: first.saturating_sub(home) * BLOCK_SECTORS,
            end: end.saturating_sub(home) * BLOCK_SECTORS,
        });
        let flying = self.in_flight.ranges().iter().copied().filter(|flying| flying.overlaps(&range));
        let dirty = self.buffer.overlapping(&range).map(|(range, _)| *range);
        let held = || dirty.clone().chain(flying.clone()).chain(read.clone());
        let mut at = start;
        while at < end {
            match held().find(|held| held.start <= at && at < held.end) {
                Some(held) => at = held.end,
                None => {
                    let next = held().map(|held| held.start).filter(|start| *start > at).min();
                    return Some(Range { start: at, end: next.map_or(end, |next| next.min(end)) });
                }
            }
        }
        None
    }

    /// Whether the read-ahead under way comes, or has come, to a block, or ends just before.
    #[inline]
    fn is_led_to(&mut self, block: u64) -> bool {
        self.read_cache.leads_to(block) && {
            self.know_limit();
            self.read_cache.leads_to(block)
        }
    }

    /// Finds out how far the read-ahead under way can go.
    pub(crate) fn know_limit(&mut self) {
        if let Some(mut running) = self.read_cache.running.filter(|running| running.known < running.limit) {
            self.find_limit(&mut running);
            self.read_cache.running = Some(running);
        }
    }

    #[inline(never)]
    pub(crate) fn find_limit(&self, running: &mut Running) {
        running.limit = self.clear_until(running.known, running.limit, running.shift);
        running.known = running.limit;
    }

    /// Serves a read from the read-ahead that is under way, whose limit is known, and keeps that going. False: it does not
    /// lead there.
    fn follow(&mut self, request: &Request, first: u64, end: u64, arrives: u64) -> bool {
        let Some(running) = self.read_cache.running else {
            return false;
        };
        if !self.lies_straight(running.limit, end, running.shift) {
            return false;
        }
        let geometry = &self.mechanics.geometry;
        if running.reached_at(geometry, &self.head.place, running.limit) < arrives {
            // The heads have come to rest at the limit: what lies beyond has to wait for its turn like any read.
            let read = end <= running.limit;
            if read {
                self.hit(request, arrives);
            }
            return read;
        }
        let limit = self.ahead_limit(end, running.shift).max(running.limit);
        let reached = running.reached_at(geometry, &self.head.place, end);
        self.head.place = geometry.last(&self.head.place, 1 + end.saturating_sub(running.next));
        self.read_cache.running = Some(Running {
            start: running.start.max(first.saturating_sub(self.read_ahead_blocks)),
            next: running.next.max(end),
            since: reached,
            limit,
            known: limit,
            shift: running.shift,
        });
        if reached <= arrives {
            self.hit(request, arrives);
        } else {
            self.answer(request.tag, arrives, reached, request.bytes / SECTOR_BYTES);
            self.work = Some((Work::Read, reached));
        }
        true
    }

    fn hit(&mut self, request: &Request, arrives: u64) {
        self.truth.dram_read_hits += 1;
        self.answer(request.tag, arrives, arrives, request.bytes / SECTOR_BYTES);
    }

    /// The read that would go next, seen from where the heads are now, if they reach it within so many ticks or it has waited
    /// too long.
    pub(crate) fn next_read(&self, within: u64) -> Option<Candidate> {
        self.queue.choose(&self.mechanics, &self.head, self.now, within)
    }

    /// Reads what waits: the `next` to go, or if that is not known what is found to be.
    pub(crate) fn start_read(&mut self, next: Option<Candidate>) -> Choice {
        if next.is_none() && self.reads_on_for_the_next() {
            return if self.work.is_some() { Choice::Busy } else { Choice::Rest(Some(self.now)) };
        }
        self.claim_heads(self.now);
        let Some(next) = next.or_else(|| self.next_read(u64::MAX)) else {
            return Choice::Rest(None);
        };
        let read = self.queue.take(next.index);
        let missing = self.missing(read.range.start, read.range.end);
        self.fetch(read.tag, read.arrived, &read.range, missing)
    }

    /// Serves from the read-ahead under way who comes next, while nobody else has come. Without that every round of a
    /// stream of some requests in flight would come just too late, and wait for a turn of the platters.
    fn reads_on_for_the_next(&mut self) -> bool {
        if self.read_cache.running.is_none() {
            return false;
        }
        let Some((index, read)) = self.queue.on_its_way(self.now) else {
            return false;
        };
        let (offset_bytes, bytes) = (read.range.start * SECTOR_BYTES, read.range.sectors() * SECTOR_BYTES);
        let request = Request { tag: read.tag, verb: Verb::Read, fua: false, offset_bytes, bytes };
        let (first, end) = self.surface(&read.range);
        let follows = self.is_led_to(first) && self.follow(&request, first, end, read.arrived);
        if follows {
            self.queue.take(index);
        }
        follows
    }

    /// Reads a range, of which `missing` is the first run that DRAM does not hold, and on from there.
    fn fetch(&mut self, tag: u32, arrived: u64, range: &Range, missing: Option<Range>) -> Choice {
        let begin = self.now.max(arrived);
        let (access, reached) = self.collect(begin, range.end, missing);
        self.answer(tag, access.begins, access.ends, range.sectors());
        let (first, end) = self.surface(range);
        let Reached { block, row_end, shift } = reached;
        if block == end && row_end >= end && shift == self.shift(end - 1) {
            // Behind a band that has moved the surface may end before.
            let left = self.mechanics.geometry.blocks() - end.wrapping_add(shift);
            let limit = self.farthest_ahead(end).min(end + left);
            let known = self.clear_until(row_end, limit.min(end + 1), shift);
            if known > end {
                let since = access.ends;
                self.read_cache.running = Some(Running { start: first, next: end, since, limit, known, shift });
            }
        }
        self.busy(Work::Read, access.ends)
    }

    /// Reads what DRAM does not hold, the `missing` run and those after it up to `until`, from wherever it lies; returns
    /// when the first and the last came, and how far the heads are then.
    fn collect(&mut self, begin: u64, until: u64, mut missing: Option<Range>) -> (Access, Reached) {
        let mut reached = Reached { block: 0, row_end: 0, shift: 0 };
        let (mut begins, mut now) = (None, begin);
        while let Some(run) = missing {
            let (first, end) = self.surface(&run);
            let farthest = self.farthest_ahead(end);
            // Two runs may share a physical sector.
            let mut at = first.max(reached.block);
            while at < end {
                let (place, row) = self.whereabouts(at, farthest.min(end + 1));
                let blocks = row.min(end - at);
                reached = Reached { block: at + blocks, row_end: at + row, shift: place.wrapping_sub(at) };
                let access = match &self.shingled {
                    Some(layer) if place >= self.mechanics.geometry.blocks() => {
                        Access { begins: now, ends: now + layer.flash_ticks(blocks) }
                    }
                    _ => self.arm().transfer(now, place, place + blocks, Way::Read),
                };
                begins.get_or_insert(access.begins);
                (at, now) = (at + blocks, access.ends);
            }
            missing = if run.end < until { self.missing_behind(run.end, until) } else { None };
        }
        (Access { begins: begins.unwrap_or(begin), ends: now }, reached)
    }

    /// The next run that DRAM does not hold. Apart, since mostly there is none.
    #[cold]
    fn missing_behind(&self, start: u64, end: u64) -> Option<Range> {
        self.missing(start, end)
    }

    /// Where the data of `first` lies and how much of what follows up to `end` lies behind it.
    fn whereabouts(&self, first: u64, end: u64) -> (u64, u64) {
        match &self.shingled {
            Some(layer) => layer.run(&self.mechanics.geometry, first, end),
            None => (first, end - first),
        }
    }

    /// The first block of the surface that a read has to fetch; of what lies in flash alone there is none.
    fn first_on_surface(&self, first: u64, end: u64) -> u64 {
        let (mut place, mut blocks) = self.whereabouts(first, end);
        let mut at = first + blocks;
        while place >= self.mechanics.geometry.blocks() && at < end {
            (place, blocks) = self.whereabouts(at, end);
            at += blocks;
        }
        place
    }

    /// Answers a read of what is cached in flash. The heads have no part in that.
    fn read_flash(&mut self, request: &Request, first: u64, end: u64, arrives: u64) -> bool {
        let geometry = &self.mechanics.geometry;
        let Some((begins, ends)) =
            self.shingled.as_mut().and_then(|layer| layer.read_flash(geometry, first, end, arrives))
        else {
            return false;
        };
        self.answer(request.tag, begins, ends, request.bytes / SECTOR_BYTES);
        true
    }

    /// What to add (it wraps around) to a home address for the block of the surface.
    #[inline]
    pub(crate) fn shift(&self, block: u64) -> u64 {
        match &self.shingled {
            Some(layer) => layer.shift(&self.mechanics.geometry, block),
            None => 0,
        }
    }

    /// Whether the data of `first..end` lies in its bands, `shift` from its home address.
    fn lies_straight(&self, first: u64, end: u64, shift: u64) -> bool {
        self.clear_until(first, end, shift) >= end
    }

    /// How far the heads may read on from `end`, where a read has just ended, over what lies `shift` from its home.
    pub(crate) fn ahead_limit(&self, end: u64, shift: u64) -> u64 {
        self.clear_until(end - 1, self.farthest_ahead(end), shift).max(end)
    }

    /// How far they may read on at most.
    #[inline]
    fn farthest_ahead(&self, end: u64) -> u64 {
        (end + self.read_ahead_blocks).min(self.mechanics.geometry.blocks()).max(end)
    }

    /// How far from `first` on, up to `end`, all data lies `shift` from its home.
    #[inline]
    fn clear_until(&self, first: u64, end: u64, shift: u64) -> u64 {
        match &self.shingled {
            Some(layer) => layer.clear_until(&self.mechanics.geometry, first, end, shift),
            None => end,
        }
    }

    /// The home addresses of a range of the host's.
    pub(crate) fn surface(&self, range: &Range) -> (u64, u64) {
        let home = self.home_block;
        (home + range.start / BLOCK_SECTORS, home + range.end.div_ceil(BLOCK_SECTORS))
    }
}
