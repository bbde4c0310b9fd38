//! The same of writes that are answered as soon as DRAM has them.
//!
//! A stream fills DRAM sooner than the heads empty it, and then its writes wait for room, outside. Two things happen: the heads end
//! a turn, which lets some of these in, and one that came in is answered, whereupon the next is asked for.

use std::collections::VecDeque;

use super::Course;
use crate::buffer::Piece;
use crate::drive::Drive;
use crate::geometry::BLOCK_SECTORS;
use crate::request::{Completion, Request, Status, Verb, Writes, SECTOR_BYTES};
use crate::work::Work;

impl Drive {
    /// As [`stream`](Self::stream), where writes need not be durable to be answered.
    pub(super) fn stream_into_dram(
        &mut self,
        now_ns: u64,
        writes: &Writes,
        free_tags: &mut Vec<u32>,
        done: &mut Vec<Completion>,
    ) -> u64 {
        if !self.only_streams_into_dram(writes) {
            return now_ns;
        }
        let mut course = Course { offset_bytes: writes.offset_bytes, left: writes.most, now_ns };
        let mut line = self.take_line();
        while self.ask_for_more(&mut line, &mut course, writes.bytes, free_tags) {
            let Some(answered_ns) = self.pass_to_answer(&mut line, writes.limit_ns) else {
                break;
            };
            self.now = self.now.max(self.clock.ticks(answered_ns));
            course.now_ns = answered_ns;
            while let Some(due) = self.due.first().filter(|due| due.completion.completed_ns <= answered_ns) {
                free_tags.push(due.completion.tag);
                done.push(due.completion);
                self.due.pop();
                self.truth.completed += 1;
            }
        }
        self.give_line_back(line);
        course.now_ns
    }

    /// Whether DRAM holds the stream of these writes, others of it wait for room, and nothing else is under way or asked for.
    fn only_streams_into_dram(&self, writes: &Writes) -> bool {
        let (Some(layer), Some((Work::Destage, until))) = (&self.shingled, self.work) else {
            return false;
        };
        let alone = self.queue.is_empty() && self.durable.is_empty();
        let quiet = alone && self.read_cache.running.is_none() && self.bridge.is_none();
        let end = writes.offset_bytes / SECTOR_BYTES;
        let Some((_, first)) = self.held.front().filter(|_| quiet && until > self.now && self.fits(writes)) else {
            return false;
        };
        let begins = first.offset_bytes / SECTOR_BYTES;
        layer.streams.passes(begins, false)
            && self.is_one_line_to(begins, false)
            && self.wait_in_line(writes.bytes, end)
    }

    /// Whether those that wait for room are writes of a size, one behind the other, up to a sector.
    fn wait_in_line(&self, bytes: u64, end: u64) -> bool {
        let (ends_bytes, count) = (end * SECTOR_BYTES, self.held.len() as u64);
        let from = ends_bytes.checked_sub(count * bytes);
        let in_place = |(index, (_, held)): (u64, &(u64, Request))| {
            held.bytes == bytes && !held.fua && Some(held.offset_bytes) == from.map(|from| from + index * bytes)
        };
        (0..).zip(&self.held).all(in_place)
    }

    /// Asks for a write for each free tag. False, and none: the stream has not as many.
    fn ask_for_more(
        &mut self,
        line: &mut VecDeque<Piece>,
        course: &mut Course,
        bytes: u64,
        free_tags: &mut Vec<u32>,
    ) -> bool {
        if free_tags.len() as u64 > course.left {
            return false;
        }
        let arrives = (self.now + self.overhead).max(self.ready_at);
        while let Some(tag) = free_tags.pop() {
            let request = Request { tag, verb: Verb::Write, fua: false, offset_bytes: course.offset_bytes, bytes };
            if self.held.is_empty() && self.line_has_room(line, bytes / SECTOR_BYTES) {
                self.let_in(line, request, arrives);
            } else {
                self.held.push_back((arrives, request));
            }
            course.offset_bytes += bytes;
            course.left -= 1;
        }
        true
    }

    fn line_has_room(&self, line: &VecDeque<Piece>, sectors: u64) -> bool {
        let used = sectors_of(line) + self.in_flight.sectors();
        (used + sectors <= self.rules.limit_sectors || used == 0) && line.len() < self.rules.limit_segments
    }

    fn let_in(&mut self, line: &mut VecDeque<Piece>, request: Request, arrives: u64) {
        let (_, about) = self.add_to_line(line, &request, arrives);
        self.complete(request.tag, about.arrived, Status::Good);
    }

    /// Lets the heads go on until an answer falls due, and returns when the host hears of it. `None`: it would not be before
    /// `limit_ns`, or that may not be what happens.
    fn pass_to_answer(&mut self, line: &mut VecDeque<Piece>, limit_ns: u64) -> Option<u64> {
        loop {
            let (_, until) = self.work?;
            if let Some(due) = self.due.first().filter(|due| due.at <= until) {
                let heard_ns = due.completion.completed_ns;
                return (heard_ns < limit_ns && self.clock.ticks(heard_ns) < until).then_some(heard_ns);
            }
            if self.clock.ns(until) >= limit_ns || !self.turn_to_next(line, until) {
                return None;
            }
        }
    }

    /// The heads' work ends, who finds room comes in, and they go on with the next piece. False, and nothing has happened: that may
    /// not be what happens.
    fn turn_to_next(&mut self, line: &mut VecDeque<Piece>, until: u64) -> bool {
        let Some(comes_in) = self.comes_in(line).filter(|_| self.goes_on(line, until)) else {
            return false;
        };
        self.land(until);
        for _ in 0..comes_in {
            let Some((arrived, request)) = self.held.pop_front() else { break };
            self.let_in(line, request, arrived.max(until));
        }
        self.cut(line).is_some_and(|piece| {
            self.write_in_place(&piece);
            true
        })
    }

    /// How many come in once what is under way has left DRAM, if all that go to the last band, and the heads are pressed for more.
    fn comes_in(&self, line: &VecDeque<Piece>) -> Option<usize> {
        let (layer, last) = (self.shingled.as_ref()?, line.back()?);
        let band = layer.expect(&self.mechanics.geometry, self.home_block + last.range.start / BLOCK_SECTORS);
        let band_end = (band.end - self.home_block) * BLOCK_SECTORS;
        let (mut count, mut used) = (0, sectors_of(line));
        let mut end = last.range.end;
        for (_, request) in self.held.iter().take_while(|_| line.len() < self.rules.limit_segments) {
            let sectors = request.bytes / SECTOR_BYTES;
            if used + sectors > self.rules.limit_sectors {
                break;
            }
            (count, used, end) = (count + 1, used + sectors, end + sectors);
        }
        let pressed = count < self.held.len() || 2 * used >= self.rules.limit_sectors;
        (pressed && end <= band_end).then_some(count)
    }
}

fn sectors_of(line: &VecDeque<Piece>) -> u64 {
    line.iter().map(|piece| piece.range.sectors()).sum()
}
