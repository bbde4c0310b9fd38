//! Pages of memory that follow each other, forward or backward.

/// Pages, each the next in memory behind the one before, or before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The page that goes first.
    pub first: u32,
    pub count: u32,
    pub is_backward: bool,
}

impl Run {
    /// So many pages in their order.
    pub fn forward(first: u32, count: u32) -> Self {
        Self { first, count, is_backward: false }
    }

    /// The page at a place; that of the place behind the last would go on with it.
    pub fn page(self, at: u32) -> u32 {
        if self.is_backward {
            self.first.wrapping_sub(at)
        } else {
            self.first + at
        }
    }

    /// Of the pages the one with the lowest number.
    pub fn lowest(self) -> u32 {
        if self.is_backward {
            self.page(self.count - 1)
        } else {
            self.first
        }
    }

    pub fn reversed(self) -> Self {
        Self { first: self.page(self.count - 1), is_backward: !self.is_backward, ..self }
    }

    /// The first so many of it, which is shorter by them then; all of it if it has no more.
    pub fn split_first(&mut self, count: u32) -> Self {
        let count = count.min(self.count);
        let taken = Self { count, ..*self };
        (self.first, self.count) = (self.page(count), self.count - count);
        taken
    }

    /// The last so many of it.
    pub fn split_last(&mut self, count: u32) -> Self {
        let mut reversed = self.reversed();
        let taken = reversed.split_first(count).reversed();
        *self = Self { count: self.count - taken.count, ..*self };
        taken
    }

    /// Goes on with another, if that is in the same direction where this ends. One page has any direction.
    pub fn join(&mut self, other: Self) -> bool {
        for is_backward in [false, true] {
            let this = Self { is_backward, ..*self };
            let fits = |run: Self| run.count == 1 || run.is_backward == is_backward;
            if fits(*self) && fits(other) && this.page(this.count) == other.first {
                *self = Self { count: self.count + other.count, ..this };
                return true;
            }
        }
        false
    }

    /// In how many pieces of memory it lies: only what goes forward is one.
    pub fn pieces(self) -> u32 {
        if self.is_backward {
            self.count
        } else {
            1
        }
    }
}
