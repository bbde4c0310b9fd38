//! The pages of memory that a recovery of copies reads into (`resync_alloc_pages`): whether they follow each other there
//! decides how many blocks make one request.
//!
//! The kernel gives out first what it was given back last, a page at a time. So the pages of a block that was read in their order
//! come back in the opposite one, in which none follows another; the next block that takes them has them in order again.
//! Blocks that are given back in another order than they were taken in leave a mixture.

use super::options::PAGE_BYTES;
use super::recovery::BLOCK_BYTES;

const BLOCK_PAGES: usize = (BLOCK_BYTES / PAGE_BYTES) as usize;

/// Pages by their numbers in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    /// The last goes first.
    given_back: Vec<u32>,
    untouched: u32,
}

impl Pages {
    /// Takes those of a block, appends them to `taken`, and returns in how many pieces they lie.
    pub fn take(&mut self, taken: &mut Vec<u32>) -> u64 {
        let first = taken.len();
        for _ in 0..BLOCK_PAGES {
            let page = self.given_back.pop().unwrap_or_else(|| {
                self.untouched += 1;
                self.untouched - 1
            });
            taken.push(page);
        }
        1 + taken[first..].windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u64
    }

    /// Gives back pages in the order in which they were taken.
    pub fn give_back(&mut self, taken: &[u32]) {
        self.given_back.extend_from_slice(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_come_back_lie_the_other_way_round() {
        let mut pages = Pages::default();
        let pieces = [1, 16, 1].map(|_| {
            let mut taken = Vec::new();
            let pieces = [(); 3].map(|()| pages.take(&mut taken));
            pages.give_back(&taken);
            pieces
        });
        assert_eq!(pieces, [[1; 3], [16; 3], [1; 3]]);
    }

    #[test]
    fn blocks_that_overtake_each_other_leave_a_mixture() {
        let mut pages = Pages::default();
        let (mut one, mut other) = (Vec::new(), Vec::new());
        _ = (pages.take(&mut one), pages.take(&mut other));
        pages.give_back(&one);
        let mut again = Vec::new();
        assert_eq!(pages.take(&mut again), 16);
        pages.give_back(&other);
        pages.give_back(&again);
        assert_eq!([(); 2].map(|()| pages.take(&mut Vec::new())), [1, 16]);
    }
}
