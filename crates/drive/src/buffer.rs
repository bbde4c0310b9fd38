//! Written data in DRAM that is not yet on the platters.

use crate::ages::Ages;
use crate::footprint::Footprint;
use crate::mechanics::Spot;
use crate::range::Range;
use crate::sweep::Sweep;

/// A dirty extent's description; its range is kept apart, since every write and read looks through the ranges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dirty {
    /// Of its oldest part: what a flush has to wait for.
    pub sequence: u64,
    /// When its oldest part was complete in DRAM.
    pub arrived: u64,
    /// Host writes that it gathers.
    pub writes: u32,
    /// Belongs to a sequential stream that bypasses the persistent cache.
    pub direct: bool,
    /// Somebody waits for it to be durable.
    pub wanted: bool,
    /// The number of its band, and where that begins, if there are bands.
    pub band: (u32, u64),
    /// Where it begins on the surface, if the heads choose by that.
    pub spot: Option<Spot>,
}

impl Dirty {
    /// More was written behind it.
    #[inline]
    pub fn gather(&mut self, other: &Dirty) {
        self.arrived = self.arrived.min(other.arrived);
        self.writes += other.writes;
    }

    /// Of its sectors `part` are taken out: what is said of these.
    #[inline]
    pub fn split(&mut self, part: u64, sectors: u64) -> Dirty {
        let share = u64::from(self.writes) * part / sectors;
        let taken = Dirty { writes: (share as u32).max(1), ..*self };
        self.writes = self.writes.saturating_sub(taken.writes).max(1);
        taken
    }
}

/// Part of an extent, taken out to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub range: Range,
    pub about: Dirty,
}

/// Pieces on their way to the platters.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    /// Kept apart from what else is known of them: reads look through these.
    ranges: Vec<Range>,
    /// The sequences of their oldest parts.
    sequences: Vec<u64>,
    sectors: u64,
}

impl InFlight {
    pub fn with_segments(segments: usize) -> Self {
        let (ranges, sequences) = (Vec::with_capacity(segments), Vec::with_capacity(segments));
        Self { ranges, sequences, sectors: 0 }
    }

    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    pub fn push(&mut self, range: Range, sequence: u64) {
        self.sectors += range.sectors();
        self.ranges.push(range);
        self.sequences.push(sequence);
    }

    /// The range in which all of them lie.
    pub fn hull(&self) -> Range {
        let (starts, ends) = (self.ranges.iter().map(|range| range.start), self.ranges.iter().map(|range| range.end));
        Range { start: starts.min().unwrap_or(0), end: ends.max().unwrap_or(0) }
    }

    /// Each range with the sequence of its oldest part.
    pub fn iter(&self) -> impl Iterator<Item = (&Range, u64)> {
        self.ranges.iter().zip(self.sequences.iter().copied())
    }

    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Whether a piece overlaps a range.
    pub fn holds_of(&self, range: &Range) -> bool {
        self.ranges.iter().any(|piece| piece.overlaps(range))
    }

    /// They have arrived.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.sequences.clear();
        self.sectors = 0;
    }
}

/// The dirty extents. They never overlap.
///
/// They lie in no order, each known by its index until one is removed. Orders by age, of those that somebody waits for and
/// of the others, and by phase beside them, and a footprint, spare most who ask from looking through all.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer {
    ranges: Vec<Range>,
    about: Vec<Dirty>,
    /// By age those that nobody waits for, and those that somebody does.
    ages: [Ages; 2],
    /// Of what has been taken out, too, until it has landed.
    footprint: Footprint,
    sweep: Sweep,
    sectors: u64,
}

impl WriteBuffer {
    pub fn with_segments(segments: usize, cylinders: u64) -> Self {
        Self {
            ranges: Vec::with_capacity(segments),
            about: Vec::with_capacity(segments),
            ages: [Ages::with_capacity(segments), Ages::with_capacity(segments)],
            footprint: Footprint::new(),
            sweep: Sweep::with_capacity(segments, cylinders),
            sectors: 0,
        }
    }

    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    pub fn segments(&self) -> usize {
        self.ranges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// The extents among which all are that overlap or touch a range: none or, seldom, all there are.
    #[inline]
    fn near(&self, range: &Range) -> &[Range] {
        let around = Range { start: range.start.saturating_sub(1), end: range.end + 1 };
        if self.footprint.may_meet(&around) {
            &self.ranges
        } else {
            &[]
        }
    }

    /// The extents that overlap or touch a range.
    fn around(&self, range: &Range) -> impl Iterator<Item = usize> + '_ {
        let Range { start, end } = *range;
        let near = self.near(range).iter().enumerate();
        near.filter(move |(_, other)| other.start <= end && other.end >= start).map(|(index, _)| index)
    }

    /// The extents that overlap a range.
    pub fn overlapping<'a>(&'a self, range: &'a Range) -> impl Iterator<Item = (&'a Range, &'a Dirty)> + Clone + 'a {
        let near = self.near(range).iter().zip(&self.about);
        near.filter(|(other, _)| other.overlaps(range))
    }

    /// False: nothing overlaps a range, neither an extent nor what has been taken out and not landed.
    #[inline]
    pub fn may_meet(&self, range: &Range) -> bool {
        self.footprint.may_meet(range)
    }

    /// Whether an extent overlaps a range.
    pub fn holds_of(&self, range: &Range) -> bool {
        self.ranges.iter().any(|other| other.overlaps(range))
    }

    /// The extent that begins at a sector.
    pub fn beginning_at(&self, sector: u64) -> Option<usize> {
        self.ranges.iter().position(|range| range.start == sector)
    }

    /// The extent of a `kind` with the oldest data that somebody waits for, or that is not newer than `unwanted_up_to`; of
    /// equals the one with the least index.
    pub fn oldest(&self, unwanted_up_to: u64, kind: impl Fn(&Dirty) -> bool) -> Option<usize> {
        let unwanted = self.oldest_in(false, unwanted_up_to, &kind);
        let wanted = self.oldest_in(true, u64::MAX, &kind);
        let age = |index: usize| (self.about[index].sequence, index);
        match (unwanted, wanted) {
            (Some(one), Some(other)) if age(other) < age(one) => Some(other),
            (Some(one), _) => Some(one),
            (None, other) => other,
        }
    }

    #[inline(always)]
    fn oldest_in(&self, wanted: bool, up_to: u64, kind: impl Fn(&Dirty) -> bool) -> Option<usize> {
        let ages = &self.ages[usize::from(wanted)];
        let mut next = ages.oldest();
        while let Some(index) = next {
            let about = &self.about[index];
            if about.sequence > up_to {
                return None;
            }
            if kind(about) {
                return Some(self.first_as_old(index, ages, kind));
            }
            next = ages.newer_than(index);
        }
        None
    }

    /// Of an extent and those behind it in its order that are as old and of the `kind`, the one with the least index.
    #[inline(always)]
    fn first_as_old(&self, index: usize, ages: &Ages, kind: impl Fn(&Dirty) -> bool) -> usize {
        let (mut least, sequence) = (index, self.about[index].sequence);
        let mut next = ages.newer_than(index);
        while let Some(index) = next.filter(|index| self.about[*index].sequence == sequence) {
            if kind(&self.about[index]) {
                least = least.min(index);
            }
            next = ages.newer_than(index);
        }
        least
    }

    /// Adds a write. What overlaps it, or touches it and is of the same kind and newer than `barrier`, becomes one extent
    /// with it. Touching ends merge only where `seam(sector)` allows. Returns the extent's index.
    pub fn add(&mut self, range: Range, about: &Dirty, barrier: u64, seam: impl Fn(u64) -> bool) -> usize {
        if self.near(&range).is_empty() {
            self.push(range, about);
            return self.ranges.len() - 1;
        }
        let (written, mut range, mut about) = (range, range, *about);
        let alike = |other: &Dirty| other.direct == about.direct && other.sequence > barrier;
        let mut kin = self.kin(&range, None, alike, &seam);
        if let Some(index) = kin.filter(|index| self.may_grow(*index, &range, alike, &seam)) {
            self.grow(index, range.end, &about);
            return index;
        }
        while let Some(index) = kin {
            let older = self.remove(index);
            self.landed(&older.range);
            range = Range { start: range.start.min(older.range.start), end: range.end.max(older.range.end) };
            about.sequence = about.sequence.min(older.about.sequence);
            // What is there already can be on its way while the rest still comes in.
            about.arrived = about.arrived.min(older.about.arrived);
            // A write that nothing is left of needs no entry.
            about.writes += if written.covers(&older.range) { 0 } else { older.about.writes };
            about.wanted |= older.about.wanted;
            // The union may reach others that the write alone did not.
            kin = self.kin(&range, None, alike, &seam);
        }
        self.push(range, &about);
        self.ranges.len() - 1
    }

    /// The first extent, `except` one, that becomes one with a range.
    fn kin(
        &self,
        range: &Range,
        except: Option<usize>,
        alike: impl Fn(&Dirty) -> bool,
        seam: impl Fn(u64) -> bool,
    ) -> Option<usize> {
        let kin = self.around(range).filter(|index| {
            let other = &self.ranges[*index];
            let touches = || seam(if other.end == range.start { range.start } else { range.end });
            Some(*index) != except && (other.overlaps(range) || (alike(&self.about[*index]) && touches()))
        });
        kin.min()
    }

    /// Whether a range only makes the last extent longer, as a stream does: then that keeps its place in all orders.
    fn may_grow(
        &self,
        index: usize,
        range: &Range,
        alike: impl Fn(&Dirty) -> bool,
        seam: impl Fn(u64) -> bool,
    ) -> bool {
        let this = self.ranges[index];
        let union = Range { start: this.start, end: range.end };
        let is_last = index + 1 == self.ranges.len();
        is_last && this.end == range.start && self.kin(&union, Some(index), alike, seam).is_none()
    }

    fn grow(&mut self, index: usize, end: u64, about: &Dirty) {
        let range = self.ranges[index];
        self.sectors += end - range.end;
        self.footprint.extend(&range, end);
        self.ranges[index].end = end;
        self.about[index].gather(about);
        if about.wanted {
            self.want(index);
        }
    }

    /// Sets where an extent begins on the surface.
    pub fn locate(&mut self, index: usize, spot: Spot) {
        debug_assert!(self.about[index].spot.is_none());
        self.about[index].spot = Some(spot);
        self.sweep.insert(spot, index);
    }

    /// The same for an extent that has been located elsewhere.
    pub fn relocate(&mut self, index: usize, spot: Spot) {
        self.lose(index);
        self.locate(index, spot);
    }

    #[inline]
    fn lose(&mut self, index: usize) {
        if let Some(spot) = self.about[index].spot.take() {
            self.sweep.remove(spot, index);
        }
    }

    /// The extents by where they begin, as far as they have been located.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    pub fn about(&self, index: usize) -> &Dirty {
        &self.about[index]
    }

    /// Notes that somebody waits for an extent to be durable.
    #[inline]
    pub fn want(&mut self, index: usize) {
        if !self.about[index].wanted {
            self.ages[0].remove(index);
            self.about[index].wanted = true;
            self.enter(index);
        }
    }

    pub fn get(&self, index: usize) -> Piece {
        Piece { range: self.ranges[index], about: self.about[index] }
    }

    /// Takes out an extent, or as much of its beginning as ends at a whole block and within `sectors`.
    /// What is left keeps its index and has to be located anew.
    #[inline]
    pub fn take(&mut self, index: usize, sectors: u64) -> (Piece, bool) {
        let range = self.ranges[index];
        let Some(end) = range.cut_within(sectors) else {
            return (self.remove(index), false);
        };
        self.lose(index);
        let taken = self.about[index].split(end - range.start, range.sectors());
        self.footprint.cut(end);
        self.ranges[index].start = end;
        self.sectors -= end - range.start;
        (Piece { range: Range { start: range.start, end }, about: taken }, true)
    }

    /// Notes a range that has been taken out and has not landed.
    pub fn note_taken(&mut self, range: &Range) {
        self.footprint.add(range);
    }

    /// Forgets all of its extents, and those that have been taken out.
    pub fn empty(&mut self, taken: &[Range]) {
        taken.iter().for_each(|range| self.landed(range));
        while let Some(index) = self.ranges.len().checked_sub(1) {
            let range = self.remove(index).range;
            self.landed(&range);
        }
    }

    /// What was taken out and covers a range is on the platters, or forgotten.
    pub fn landed(&mut self, range: &Range) {
        self.footprint.remove(range);
    }

    /// Forgets the dirty data within `range` (it was trimmed). What is left of an extent on either side stays; where
    /// one begins at the end of `range` now, it has to be located anew.
    pub fn discard(&mut self, range: &Range) {
        while let Some(index) = self.around(range).filter(|index| self.ranges[*index].overlaps(range)).min() {
            let spot = self.about[index].spot;
            let Piece { range: other, about } = self.remove(index);
            self.landed(&other);
            if other.start < range.start {
                self.push(Range { start: other.start, end: range.start }, &about);
                if let Some(spot) = spot {
                    self.locate(self.ranges.len() - 1, spot);
                }
            }
            if range.end < other.end {
                self.push(Range { start: range.end, end: other.end }, &about);
            }
        }
    }

    /// Adds an extent that has not been located.
    pub fn push(&mut self, range: Range, about: &Dirty) {
        self.sectors += range.sectors();
        self.ranges.push(range);
        self.about.push(Dirty { spot: None, ..*about });
        self.footprint.add(&range);
        self.enter(self.ranges.len() - 1);
    }

    /// Puts an extent into its order by age.
    #[inline(always)]
    fn enter(&mut self, index: usize) {
        let Dirty { sequence, wanted, .. } = self.about[index];
        self.ages[usize::from(wanted)].insert(index, |other| self.about[other].sequence > sequence);
    }

    /// Removes an extent; the last takes over its index.
    fn remove(&mut self, index: usize) -> Piece {
        self.lose(index);
        self.ages[usize::from(self.about[index].wanted)].remove(index);
        let last = self.ranges.len() - 1;
        if index < last {
            let Dirty { wanted, spot, .. } = self.about[last];
            self.ages[usize::from(wanted)].rename(last, index);
            if let Some(spot) = spot {
                self.sweep.rename(spot, last, index);
            }
        }
        let piece = Piece { range: self.ranges.swap_remove(index), about: self.about.swap_remove(index) };
        self.sectors -= piece.range.sectors();
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(sequence: u64) -> Dirty {
        Dirty { sequence, arrived: 0, writes: 1, direct: false, wanted: false, band: (0, 0), spot: None }
    }

    fn buffer(ranges: &[(u64, u64)]) -> WriteBuffer {
        let mut buffer = WriteBuffer::with_segments(8, 1000);
        for (sequence, (start, end)) in (1..).zip(ranges) {
            buffer.add(Range { start: *start, end: *end }, &about(sequence), 0, |_| true);
        }
        buffer
    }

    #[test]
    fn a_trim_takes_its_part_of_every_extent() {
        let mut buffer = buffer(&[(0, 100), (200, 300), (400, 500)]);
        buffer.discard(&Range { start: 50, end: 450 });
        buffer.discard(&Range { start: 10, end: 20 });
        let mut left: Vec<(u64, u64)> = buffer.ranges().iter().map(|range| (range.start, range.end)).collect();
        left.sort_unstable();
        assert_eq!(left, [(0, 10), (20, 50), (450, 500)]);
        assert_eq!(buffer.sectors(), 90);
    }

    #[test]
    fn a_write_that_is_wholly_overwritten_counts_no_more() {
        let buffer = buffer(&[(0, 8), (0, 8), (8, 16), (0, 16), (12, 20)]);
        assert_eq!((buffer.get(0).range, buffer.get(0).about.writes), (Range { start: 0, end: 20 }, 2));
        assert_eq!(buffer.get(0).about.sequence, 1, "a flush waits for the oldest all the same");
    }

    /// Whether it overlaps or only touches, before or behind.
    #[test]
    fn what_grows_together_came_with_its_first_part_and_is_wanted_if_any_of_it_is() {
        for (wanted, (start, end)) in [false, true]
            .into_iter()
            .flat_map(|wanted| [(0, 8), (4, 12), (8, 16), (16, 24)].map(|range| (wanted, range)))
        {
            for (first, then) in [(70, 90), (90, 70)] {
                let mut buffer = WriteBuffer::with_segments(8, 1000);
                buffer.add(Range { start: 8, end: 16 }, &Dirty { arrived: first, wanted, ..about(1) }, 0, |_| true);
                buffer.add(Range { start, end }, &Dirty { arrived: then, ..about(2) }, 0, |_| true);
                assert_eq!(buffer.segments(), 1);
                assert_eq!((buffer.about(0).arrived, buffer.about(0).wanted), (70, wanted), "{start}..{end}");
            }
        }
    }

    /// The first goes, and the last takes over its index.
    #[test]
    fn of_extents_as_old_the_one_with_the_least_index_goes_first() {
        let mut buffer = WriteBuffer::with_segments(8, 1000);
        for (start, sequence) in [(0, 1), (100, 2), (200, 2)] {
            buffer.add(Range { start, end: start + 8 }, &about(sequence), 0, |_| true);
        }
        let (first, _) = buffer.take(0, u64::MAX >> 1);
        assert_eq!((first.range.start, buffer.ranges()[0].start), (0, 200));
        assert_eq!(buffer.oldest(u64::MAX, |_| true), Some(0));
    }

    /// Between sectors 8 and 16 lies a write, and others before and behind it. They become one but for where bands meet.
    #[test]
    fn extents_do_not_grow_over_a_seam() {
        for (seam, extents) in [(8, 2), (16, 2), (0, 1), (12, 1), (24, 1)] {
            let mut buffer = WriteBuffer::with_segments(8, 1000);
            for (start, end) in [(0, 8), (16, 24), (8, 16)] {
                buffer.add(Range { start, end }, &about(1), 0, |sector| sector != seam);
            }
            assert_eq!(buffer.segments(), extents, "bands meet at {seam}");
        }
    }

    /// A third of seven writes is two whole ones, and five are left; a part has one at least, and so has the rest.
    #[test]
    fn a_part_of_an_extent_has_its_share_of_whole_writes() {
        for (writes, part, taken, left) in [(7, 8, 2, 5), (3, 12, 1, 2), (7, 16, 4, 3), (1, 12, 1, 1)] {
            let mut extent = Dirty { writes, ..about(1) };
            assert_eq!(
                (extent.split(part, 24).writes, extent.writes),
                (taken, left),
                "{part} of 24 sectors of {writes}"
            );
        }
    }
}
