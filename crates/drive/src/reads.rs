//! Reads: from dirty data, from what was read ahead, or from the platters.

use crate::ahead::Running;
use crate::buffer::Range;
use crate::drive::{Choice, Drive, Work, BLOCK_SECTORS};
use crate::mechanics::{Access, Way};
use crate::queue::Waiting;
use crate::request::{Request, SECTOR_BYTES};

impl Drive {
    pub(crate) fn read(&mut self, request: Request, arrives: u64) {
        let range = sectors(&request);
        let (first, end) = self.surface(&range);
        let dirty = self.buffer.covers(&range) || self.in_flight.iter().any(|piece| piece.range.covers(&range));
        if dirty || self.read_cache.covers(first, end) {
            self.hit(&request, arrives);
        } else if self.work.is_some() || !self.follow(&request, first, end, arrives) {
            let place = self.mechanics.geometry.place(self.whereabouts(first, end).0);
            self.queue.push(Waiting {
                tag: request.tag,
                arrived: arrives,
                first_block: first,
                end_block: end,
                track: place.track,
                phase: self.mechanics.geometry.phase(place),
            });
        }
    }

    /// Serves a read from the read-ahead that is under way, and keeps that going. False: it does not lead there.
    fn follow(&mut self, request: &Request, first: u64, end: u64, arrives: u64) -> bool {
        let Some(running) = self.read_cache.running else {
            return false;
        };
        if first < running.start || first > running.limit {
            return false;
        }
        let geometry = &self.mechanics.geometry;
        if running.reached_at(geometry, running.limit) < arrives {
            // The heads have come to rest at the limit: what lies beyond has to wait for its turn like any read.
            let read = end <= running.limit;
            if read {
                self.hit(request, arrives);
            }
            return read;
        }
        let limit = self.ahead_limit(end);
        let reached = running.reached_at(geometry, end);
        self.read_cache.running = Some(Running {
            start: running.start.max(first.saturating_sub(self.read_ahead_blocks)),
            next: running.next.max(end),
            since: reached,
            limit: limit.max(running.limit),
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

    pub(crate) fn start_read(&mut self) -> Choice {
        self.claim_heads(self.now);
        let Some(read) = self.queue.take(&self.mechanics, &self.head, self.now) else {
            return Choice::Rest(None);
        };
        let begin = self.now.max(read.arrived);
        let access = self.collect(begin, read.first_block, read.end_block);
        self.answer(read.tag, access.begins, access.ends, (read.end_block - read.first_block) * BLOCK_SECTORS);
        let limit = self.ahead_limit(read.end_block);
        if limit > read.end_block {
            let (start, next) = (read.first_block, read.end_block);
            self.read_cache.running = Some(Running { start, next, since: access.ends, limit });
        }
        self.busy(Work::Read, access.ends)
    }

    /// Reads blocks from wherever they lie, one run after the other; returns when the first and the last came.
    fn collect(&mut self, begin: u64, first: u64, end: u64) -> Access {
        let mut begins = None;
        let (mut at, mut now) = (first, begin);
        while at < end {
            let (place, blocks) = self.whereabouts(at, end);
            let access = self.transfer(now, place, place + blocks, Way::Read);
            begins.get_or_insert(access.begins);
            (at, now) = (at + blocks, access.ends);
        }
        Access { begins: begins.unwrap_or(begin), ends: now }
    }

    /// Where the data of `first` lies and how much of what follows up to `end` lies behind it.
    fn whereabouts(&self, first: u64, end: u64) -> (u64, u64) {
        match &self.shingled {
            Some(layer) => layer.run(&self.mechanics.geometry, first, end),
            None => (first, end - first),
        }
    }

    /// How far the heads may read on from `end`, where a read has just ended.
    fn ahead_limit(&self, end: u64) -> u64 {
        let geometry = &self.mechanics.geometry;
        let limit = (end + self.read_ahead_blocks).min(geometry.blocks()).max(end);
        match &self.shingled {
            Some(layer) => layer.clear_until(geometry, end - 1, limit).max(end),
            None => limit,
        }
    }

    /// The blocks of the surface where a range of the host's has its home.
    pub(crate) fn surface(&self, range: &Range) -> (u64, u64) {
        let home = self.shingled.as_ref().map_or(0, |layer| layer.first_band_block());
        (home + range.start / BLOCK_SECTORS, home + range.end.div_ceil(BLOCK_SECTORS))
    }
}

pub(crate) fn sectors(request: &Request) -> Range {
    let start = request.offset_bytes / SECTOR_BYTES;
    Range { start, end: start + request.bytes / SECTOR_BYTES }
}
