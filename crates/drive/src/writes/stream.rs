//! A stream's durable writes, without going through each.
//!
//! While DRAM holds nothing but a stream that goes to its bands and whose writes are answered once they are durable, there is
//! nothing to choose: its data is written in the order in which it came, and a write is answered when the heads come past its
//! end. So what is kept for choosing and for others who might come (orders, places, the footprint, the queue of answers) is put
//! away meanwhile. All that link, bands and mechanics do is done as ever, so that times are the same to the tick; where
//! something else might be chosen, writes are gone through one by one after all.
//!
//! Nor is it kept when the host was last heard of, or whether the heads have worked for it: there is no silence meanwhile, cleaning that
//! takes turns with the host keeps a stream from passing at once, and the last write of a stream is gone through as any.

use std::collections::VecDeque;

use super::durable::Durable;
use crate::buffer::{Dirty, Piece};
use crate::drive::Drive;
use crate::geometry::{BLOCK_BYTES, BLOCK_SECTORS};
use crate::mechanics::Way;
use crate::range::Range;
use crate::request::{Completion, Request, Status, Verb, Writes, SECTOR_BYTES};
use crate::work::Work;

mod answered;

/// A stream's dirty data is an extent, or two where bands meet.
const EXTENTS: usize = 2;

/// How far the stream has come.
struct Course {
    offset_bytes: u64,
    left: u64,
    now_ns: u64,
}

impl Drive {
    /// See [`BlockDevice::forward_writes`](crate::BlockDevice::forward_writes).
    pub(crate) fn stream(
        &mut self,
        now_ns: u64,
        writes: &Writes,
        free_tags: &mut Vec<u32>,
        done: &mut Vec<Completion>,
    ) -> u64 {
        if self.clock.ticks(now_ns) > self.now {
            return now_ns;
        }
        if self.rules.write_back && !writes.fua {
            return self.stream_into_dram(now_ns, writes, free_tags, done);
        }
        if !self.only_streams(writes, free_tags.len()) {
            return now_ns;
        }
        let mut course = Course { offset_bytes: writes.offset_bytes, left: writes.most, now_ns };
        let mut line = self.take_line();
        while self.take_in(&mut line, &mut course, writes, free_tags) {
            let from = done.len();
            let Some(completed_ns) = self.write_next(&mut line, writes.limit_ns, done) else {
                break;
            };
            if done.len() > from {
                course.now_ns = completed_ns;
                free_tags.extend(done[from..].iter().map(|done| done.tag));
            }
        }
        self.give_line_back(line);
        course.now_ns
    }

    /// Whether DRAM holds the stream of these writes, of which some tags are free, and nothing else is under way or asked for.
    fn only_streams(&self, writes: &Writes, free_tags: usize) -> bool {
        let Some(layer) = &self.shingled else {
            return false;
        };
        let Some((Work::Destage, until)) = self.work else {
            return false;
        };
        let sectors = writes.bytes / SECTOR_BYTES;
        let in_flight = (self.durable.len() + free_tags) as u64;
        let has_room = in_flight * sectors <= self.rules.limit_sectors && self.rules.limit_segments > EXTENTS;
        self.fits(writes)
            && has_room
            && self.clock.ns(until) < writes.limit_ns
            && self.hears_nobody_else()
            && layer.streams.passes(writes.offset_bytes / SECTOR_BYTES, true)
            && self.is_a_line(writes.offset_bytes / SECTOR_BYTES, sectors)
    }

    /// Whether these writes are of whole blocks, and all end on the drive.
    fn fits(&self, writes: &Writes) -> bool {
        let ends_bytes = writes.most.checked_mul(writes.bytes).and_then(|bytes| bytes.checked_add(writes.offset_bytes));
        let whole = writes.bytes > 0 && writes.bytes % BLOCK_BYTES == 0 && writes.offset_bytes % BLOCK_BYTES == 0;
        whole && ends_bytes.is_some_and(|ends| ends <= self.capacity_sectors() * SECTOR_BYTES)
    }

    fn hears_nobody_else(&self) -> bool {
        let quiet = self.queue.is_empty() && self.held.is_empty() && self.due.is_empty();
        quiet && self.read_cache.running.is_none() && self.bridge.is_none()
    }

    /// Whether what is dirty and under way are writes of a size, one behind the other, up to a sector.
    fn is_a_line(&self, end: u64, sectors: u64) -> bool {
        let [flying] = self.in_flight.ranges() else {
            return false;
        };
        let one_of_it = |needed: &Range| needed.sectors() == sectors && flying.start < needed.end && needed.end <= end;
        self.is_one_line_to(end, true) && self.durable.iter().all(|durable| durable.range().is_some_and(one_of_it))
    }

    /// Whether what is under way and dirty is of a stream, one behind the other up to a sector, and somebody waits for it or nobody.
    fn is_one_line_to(&self, end: u64, wanted: bool) -> bool {
        let ([flying], extents) = (self.in_flight.ranges(), self.buffer.ranges()) else {
            return false;
        };
        if extents.is_empty() || extents.len() > EXTENTS {
            return false;
        }
        let mut behind = flying.end;
        let in_line = in_line(extents).all(|index| {
            let (range, about) = (extents[index], self.buffer.about(index));
            range.start == std::mem::replace(&mut behind, range.end) && about.direct && about.wanted == wanted
        });
        in_line && behind == end
    }

    /// Takes the stream's dirty data out of DRAM's books.
    fn take_line(&mut self) -> VecDeque<Piece> {
        let mut line = std::mem::take(&mut self.line);
        line.extend(in_line(self.buffer.ranges()).map(|index| self.buffer.get(index)));
        self.line_places.clear();
        self.line_places.extend((0..self.buffer.segments()).map(|index| self.buffer.about(index).band.0));
        self.buffer.empty(self.in_flight.ranges());
        line
    }

    fn give_line_back(&mut self, mut line: VecDeque<Piece>) {
        for flying in self.in_flight.ranges() {
            self.buffer.note_taken(flying);
        }
        // Of places that the heads reach at the same tick DRAM's first one goes first.
        for place in 0..self.line_places.len() {
            let band = self.line_places[place];
            if let Some(Piece { range, about }) = line.iter().find(|piece| piece.about.band.0 == band) {
                self.buffer.push(*range, about);
                self.locate(place);
            }
        }
        debug_assert_eq!(self.buffer.segments(), line.len(), "a band has one place");
        line.clear();
        self.line = line;
    }

    /// Takes in a write for each free tag. False, and none: the stream has not as many, or more bands are met.
    fn take_in(
        &mut self,
        line: &mut VecDeque<Piece>,
        course: &mut Course,
        writes: &Writes,
        free_tags: &mut Vec<u32>,
    ) -> bool {
        let (start, count) = (course.offset_bytes / SECTOR_BYTES, free_tags.len() as u64);
        let new = Range { start, end: start + count * writes.bytes / SECTOR_BYTES };
        if count > course.left || !self.stay_few(line, &new) {
            return false;
        }
        self.now = self.now.max(self.clock.ticks(course.now_ns));
        let arrives = (self.now + self.overhead).max(self.ready_at);
        while let Some(tag) = free_tags.pop() {
            let Writes { fua, bytes, .. } = *writes;
            let request = Request { tag, verb: Verb::Write, fua, offset_bytes: course.offset_bytes, bytes };
            let (range, about) = self.add_to_line(line, &request, arrives);
            self.durable.push(Durable::of(&request, range, &about));
            course.offset_bytes += bytes;
            course.left -= 1;
        }
        true
    }

    /// Whether a line with new data behind it consists of no more extents than it may.
    fn stay_few(&self, line: &VecDeque<Piece>, new: &Range) -> bool {
        let Some(layer) = &self.shingled else {
            return false;
        };
        let home = self.home_block;
        let (mut extents, mut last) = (line.len(), line.back().map(|piece| piece.about.band.0));
        let mut start = new.start;
        while start < new.end && extents <= EXTENTS {
            let band = layer.expect(&self.mechanics.geometry, home + start / BLOCK_SECTORS);
            extents += usize::from(last != Some(band.number));
            (last, start) = (Some(band.number), (band.end - home) * BLOCK_SECTORS);
        }
        extents <= EXTENTS
    }

    /// Brings a write into DRAM, behind the line.
    fn add_to_line(&mut self, line: &mut VecDeque<Piece>, request: &Request, arrives: u64) -> (Range, Dirty) {
        let (range, mut about) = self.bring_in(request, arrives);
        debug_assert!(about.direct, "a stream stays one");
        let mut start = range.start;
        while let Some(layer) = self.shingled.as_ref().filter(|_| start < range.end) {
            let home = self.home_block;
            let band = layer.expect(&self.mechanics.geometry, home + start / BLOCK_SECTORS);
            let end = range.end.min((band.end - home) * BLOCK_SECTORS);
            about.band = (band.number, band.start);
            match line.back_mut() {
                Some(last) if last.about.band == about.band => {
                    last.range.end = end;
                    last.about.gather(&about);
                    self.leave_place(about.band.0);
                }
                _ => line.push_back(Piece { range: Range { start, end }, about }),
            }
            self.line_places.push(about.band.0);
            start = end;
        }
        (range, about)
    }

    /// The heads' work ends, who waited for it is answered, and they go on with the next piece. `None`, and nothing has happened:
    /// it would not be before `limit_ns`, or that may not be what happens.
    fn write_next(&mut self, line: &mut VecDeque<Piece>, limit_ns: u64, done: &mut Vec<Completion>) -> Option<u64> {
        let (_, until) = self.work?;
        let completed_ns = self.clock.ns(until);
        let landed = self.in_flight.hull();
        let late = |durable: &Durable| durable.ends_by(landed.end) && durable.arrived > until;
        if completed_ns >= limit_ns || !self.goes_on(line, until) || self.durable.iter().any(late) {
            return None;
        }
        self.land(until);
        self.answer_line(landed.end, completed_ns, done);
        let piece = self.cut(line)?;
        self.write_in_place(&piece);
        Some(completed_ns)
    }

    /// What is under way is on the platters.
    fn land(&mut self, until: u64) {
        self.now = until;
        let (first, end) = self.surface(&self.in_flight.hull());
        self.read_cache.forget(first, end);
        self.in_flight.clear();
        self.read_last = false;
    }

    /// Answers all writes that end by a sector, which is durable now.
    fn answer_line(&mut self, end: u64, completed_ns: u64, done: &mut Vec<Completion>) {
        let mut index = 0;
        while index < self.durable.len() {
            if !self.durable[index].ends_by(end) {
                index += 1;
                continue;
            }
            let Durable { tag, .. } = self.durable.take(index);
            done.push(Completion { tag, completed_ns, status: Status::Good });
            self.truth.completed += 1;
        }
    }

    /// Whether the heads that are free at `at` go on with the first extent of the line, without anything between.
    fn goes_on(&self, line: &VecDeque<Piece>, at: u64) -> bool {
        let (Some(layer), Some(next)) = (&self.shingled, line.front()) else {
            return false;
        };
        let (first, _) = self.surface(&next.range);
        let departure = self.mechanics.departure(&self.head, at, Way::Write);
        let reach = |piece: &Piece| {
            let (first, _) = self.surface(&piece.range);
            departure.reach(at, &self.mechanics.spot(first.wrapping_add(self.shift(first))))
        };
        let nearest = line.iter().skip(1).all(|other| reach(next) < reach(other));
        let undisturbed = !layer.disturbs_streams() && self.may_write_in_place(first);
        undisturbed && next.about.arrived <= at && nearest
    }

    /// A piece that is taken, or grows, leaves its place in DRAM to the last one.
    fn leave_place(&mut self, band: u32) {
        if let Some(place) = self.line_places.iter().rposition(|other| *other == band) {
            self.line_places.swap_remove(place);
        }
    }

    /// Takes off the line what is written next, as [`WriteBuffer::take`](crate::buffer::WriteBuffer::take) does.
    fn cut(&mut self, line: &mut VecDeque<Piece>) -> Option<Piece> {
        let next = line.front_mut()?;
        let Some(end) = next.range.cut_within(self.rules.destage_sectors) else {
            let whole = line.pop_front()?;
            self.leave_place(whole.about.band.0);
            return Some(whole);
        };
        let taken = Range { end, ..next.range };
        let about = next.about.split(taken.sectors(), next.range.sectors());
        next.range.start = end;
        Some(Piece { range: taken, about })
    }
}

/// The places in DRAM of a stream's extents, at most [`EXTENTS`], in the order of their addresses.
fn in_line(extents: &[Range]) -> impl Iterator<Item = usize> {
    let turned = usize::from(extents.len() == EXTENTS && extents[EXTENTS - 1].start < extents[0].start);
    (0..extents.len()).map(move |place| place ^ turned)
}
