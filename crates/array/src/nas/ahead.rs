//! What a box reads before anybody has asked for it: Linux' `ondemand_readahead`, which has one of these for each open file.

use std::ops::Range;

/// Whoever reads in sequence, and how far ahead of him is read.
#[derive(Clone, Debug)]
pub(super) struct ReadAhead {
    most_bytes: u64,
    /// Where the last read ended.
    next: u64,
    /// The last stretch that was read ahead: its length, its beginning and its end. Who comes past its beginning has the next read.
    window_bytes: u64,
    begun: u64,
    end: u64,
}

impl ReadAhead {
    pub fn new(most_bytes: u64) -> Self {
        Self { most_bytes, next: 0, window_bytes: 0, begun: 0, end: 0 }
    }

    /// A read has come: what to read ahead of it now.
    pub fn follow(&mut self, read: &Range<u64>) -> Option<Range<u64>> {
        let in_sequence = read.start == self.next;
        self.next = read.end;
        if self.most_bytes == 0 {
            return None;
        }
        if !in_sequence {
            (self.window_bytes, self.begun, self.end) = (0, 0, 0);
            return None;
        }
        let bytes = if self.window_bytes == 0 {
            self.window_bytes = self.first(read.end - read.start);
            self.window_bytes.saturating_sub(read.end - read.start)
        } else if read.end > self.begun {
            self.window_bytes = self.grown();
            self.window_bytes
        } else {
            return None;
        };
        self.begun = self.end.max(read.end);
        self.end = self.begun + bytes;
        (bytes > 0).then_some(self.begun..self.end)
    }

    /// `get_init_ra_size`: with the read itself.
    fn first(&self, bytes: u64) -> u64 {
        let bytes = bytes.next_power_of_two();
        let times = if bytes <= self.most_bytes / 32 {
            4
        } else if bytes <= self.most_bytes / 4 {
            2
        } else {
            return self.most_bytes;
        };
        bytes * times
    }

    /// `get_next_ra_size`.
    fn grown(&self) -> u64 {
        let times = if self.window_bytes < self.most_bytes / 16 { 4 } else { 2 };
        (self.window_bytes * times).min(self.most_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;

    fn followed(ahead: &mut ReadAhead, at_kib: u64, kib: u64) -> Option<(u64, u64)> {
        ahead.follow(&(at_kib * KIB..(at_kib + kib) * KIB)).map(|range| (range.start / KIB, range.end / KIB))
    }

    #[test]
    fn the_window_grows_with_each_stretch_that_is_come_to() {
        let mut ahead = ReadAhead::new(128 * KIB);
        assert_eq!(followed(&mut ahead, 0, 8), Some((8, 16)));
        assert_eq!(followed(&mut ahead, 8, 8), Some((16, 48)));
        assert_eq!(followed(&mut ahead, 16, 8), Some((48, 112)));
        assert_eq!(followed(&mut ahead, 24, 8), None, "the last stretch is not come to");
        assert_eq!(followed(&mut ahead, 32, 24), Some((112, 240)));
        assert_eq!(followed(&mut ahead, 56, 64), Some((240, 368)), "no more than the most");
    }

    #[test]
    fn long_reads_have_the_most_read_ahead_from_the_second_on() {
        let mut ahead = ReadAhead::new(128 * KIB);
        assert_eq!(followed(&mut ahead, 0, 1024), None);
        assert_eq!(followed(&mut ahead, 1024, 1024), Some((2048, 2176)));
        assert_eq!(followed(&mut ahead, 2048, 1024), Some((3072, 3200)));
    }

    #[test]
    fn a_read_elsewhere_ends_it_and_a_new_sequence_begins_small() {
        let mut ahead = ReadAhead::new(128 * KIB);
        followed(&mut ahead, 0, 64);
        assert_eq!(followed(&mut ahead, 1000, 4), None);
        assert_eq!(followed(&mut ahead, 1004, 4), Some((1008, 1020)));
        assert_eq!(followed(&mut ReadAhead::new(0), 0, 4), None, "nor where none is asked for");
    }
}
