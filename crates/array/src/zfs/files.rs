//! Which record of a pool is of which of its files, written one after the other.

/// How many records files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    /// One that all others lie behind; 0: there is none. `u64::MAX`: there are no others.
    pub long: u64,
    /// Each of the others.
    pub each: u64,
}

impl Lengths {
    /// All is one file.
    pub const ONE: Self = Self { long: u64::MAX, each: 1 };

    /// Is there a file besides the long one?
    pub fn has_others(&self) -> bool {
        self.long < u64::MAX
    }

    /// How many of the others end before a record.
    pub fn ended_before(&self, record: u64) -> u64 {
        record.saturating_sub(self.long) / self.each
    }

    /// Behind so many of the others.
    pub fn end_of(&self, others: u64) -> u64 {
        self.long.saturating_add(others.saturating_mul(self.each))
    }

    /// How many records a file has from this one on; nothing, where it begins with this one.
    pub fn left_of_begun(&self, record: u64) -> u64 {
        match record.checked_sub(self.long) {
            None if record == 0 => 0,
            None => self.long - record,
            Some(behind) => behind.next_multiple_of(self.each) - behind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_comes_before_the_others() {
        let files = Lengths { long: 100, each: 8 };
        assert_eq!([99, 107, 108, 116].map(|record| files.ended_before(record)), [0, 0, 1, 2]);
        assert_eq!([0, 1, 100, 101, 107, 108].map(|record| files.left_of_begun(record)), [0, 99, 0, 7, 1, 0]);
        assert_eq!((files.end_of(0), files.end_of(2)), (100, 116));
        assert!(!Lengths::ONE.has_others() && files.has_others() && Lengths { long: 0, each: 8 }.has_others());
    }
}
