//! Written data in DRAM that is not yet on the platters.

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
    /// Where it begins on the surface.
    pub track: u64,
    /// The phase at which it begins.
    pub phase: u64,
}

/// A dirty range, in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
}

impl Range {
    pub fn overlaps(&self, other: &Range) -> bool {
        self.start < other.end && other.start < self.end
    }

    pub fn covers(&self, other: &Range) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    pub fn sectors(&self) -> u64 {
        self.end - self.start
    }
}

/// Part of an extent, taken out to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub range: Range,
    pub about: Dirty,
}

/// The dirty extents. They never overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteBuffer {
    ranges: Vec<Range>,
    about: Vec<Dirty>,
    sectors: u64,
}

impl WriteBuffer {
    pub fn with_segments(segments: usize) -> Self {
        Self { ranges: Vec::with_capacity(segments), about: Vec::with_capacity(segments), sectors: 0 }
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

    pub fn iter(&self) -> impl Iterator<Item = (&Range, &Dirty)> {
        self.ranges.iter().zip(&self.about)
    }

    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Adds a write. What overlaps it, or touches it and is of the same kind and newer than `barrier`, becomes one extent
    /// with it. Touching ends merge only where `seam(sector)` allows. Returns the extent's index.
    pub fn add(&mut self, range: Range, about: Dirty, barrier: u64, seam: impl Fn(u64) -> bool) -> usize {
        let (written, mut range, mut about) = (range, range, about);
        let mut index = 0;
        while index < self.ranges.len() {
            let other = self.ranges[index];
            let touches =
                (other.end == range.start && seam(range.start)) || (range.end == other.start && seam(range.end));
            let kin = touches && self.about[index].direct == about.direct && self.about[index].sequence > barrier;
            if kin || other.overlaps(&range) {
                let older = self.remove(index);
                range = Range { start: range.start.min(older.range.start), end: range.end.max(older.range.end) };
                about.sequence = about.sequence.min(older.about.sequence);
                // What is there already can be on its way while the rest still comes in.
                about.arrived = about.arrived.min(older.about.arrived);
                // A write that nothing is left of needs no entry.
                about.writes += if written.covers(&older.range) { 0 } else { older.about.writes };
                about.wanted |= older.about.wanted;
                // The union may reach others that the write alone did not.
                index = 0;
            } else {
                index += 1;
            }
        }
        self.sectors += range.sectors();
        self.ranges.push(range);
        self.about.push(about);
        self.ranges.len() - 1
    }

    /// Sets where an extent begins on the surface.
    pub fn locate(&mut self, index: usize, track: u64, phase: u64) {
        self.about[index].track = track;
        self.about[index].phase = phase;
    }

    /// Notes that somebody waits for an extent to be durable.
    pub fn want(&mut self, index: usize) {
        self.about[index].wanted = true;
    }

    pub fn get(&self, index: usize) -> Piece {
        Piece { range: self.ranges[index], about: self.about[index] }
    }

    /// Takes out an extent, or as much of its beginning as ends at a whole physical sector and within `sectors`.
    /// What is left keeps its index and has to be located anew.
    pub fn take(&mut self, index: usize, sectors: u64) -> (Piece, bool) {
        let range = self.ranges[index];
        let end = (range.start + sectors) / 8 * 8;
        if end >= range.end || end <= range.start {
            return (self.remove(index), false);
        }
        let about = &mut self.about[index];
        let share = u64::from(about.writes) * (end - range.start) / range.sectors();
        let taken = Dirty { writes: (share as u32).max(1), ..*about };
        about.writes = about.writes.saturating_sub(taken.writes).max(1);
        self.ranges[index].start = end;
        self.sectors -= end - range.start;
        (Piece { range: Range { start: range.start, end }, about: taken }, true)
    }

    /// Forgets the dirty data within `range` (it was trimmed). What is left of an extent on either side stays; where
    /// one begins at the end of `range` now, it has to be located anew.
    pub fn discard(&mut self, range: &Range) {
        let mut index = 0;
        while index < self.ranges.len() {
            let other = self.ranges[index];
            if !other.overlaps(range) {
                index += 1;
                continue;
            }
            let about = self.remove(index).about;
            let before = Range { start: other.start, end: range.start };
            let after = Range { start: range.end, end: other.end };
            for rest in [before, after].into_iter().filter(|rest| rest.start < rest.end) {
                self.sectors += rest.sectors();
                self.ranges.push(rest);
                self.about.push(about);
            }
        }
    }

    fn remove(&mut self, index: usize) -> Piece {
        let piece = Piece { range: self.ranges.swap_remove(index), about: self.about.swap_remove(index) };
        self.sectors -= piece.range.sectors();
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(sequence: u64) -> Dirty {
        Dirty { sequence, arrived: 0, writes: 1, direct: false, wanted: false, track: 0, phase: 0 }
    }

    fn buffer(ranges: &[(u64, u64)]) -> WriteBuffer {
        let mut buffer = WriteBuffer::default();
        for (sequence, (start, end)) in (1..).zip(ranges) {
            buffer.add(Range { start: *start, end: *end }, about(sequence), 0, |_| true);
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
}
