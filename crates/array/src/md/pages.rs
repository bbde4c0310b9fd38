//! The pages of memory that a recovery of copies reads into (`resync_alloc_pages`): whether they follow each other there
//! decides how many blocks make one request.
//!
//! The kernel gives out first what it was given back last, a page at a time. So the pages of a block that was read in their order
//! come back in the opposite one, in which none follows another; the next block that takes them has them in order again.
//! Blocks that are given back in another order than they were taken in leave a mixture. But a processor keeps only so many for
//! itself: what is too much goes back to where all memory is, and comes from there in order.

use std::collections::VecDeque;

use super::buddies::Buddies;
use super::options::PAGE_BYTES;
use super::recovery::BLOCK_BYTES;

const BLOCK_PAGES: usize = (BLOCK_BYTES / PAGE_BYTES) as usize;

/// So many pages go to a processor's list at once (`zone_batchsize`), in any host with 1 GiB of memory or more,
const BATCH: usize = 63;
/// and with so many it is too long (`zone_highsize`): of a host with 1 GiB and one processor, as the lab's (`/proc/zoneinfo`).
const TOO_MANY: usize = 1263;

/// The list of one processor, and the memory behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    /// The first goes first.
    list: VecDeque<u32>,
    /// How often more goes back at once, while many come back and few are taken (`free_factor`).
    doublings: u32,
    memory: Buddies,
}

impl Pages {
    /// Takes those of a block, appends them to `taken`, and returns in how many pieces they lie.
    pub fn take(&mut self, taken: &mut Vec<u32>) -> u64 {
        let first = taken.len();
        taken.extend((0..BLOCK_PAGES).map(|_| self.take_one()));
        1 + taken[first..].windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u64
    }

    /// Gives back pages in the order in which they were taken.
    pub fn give_back(&mut self, taken: &[u32]) {
        for page in taken {
            self.list.push_front(*page);
            if self.list.len() >= TOO_MANY {
                self.shorten();
            }
        }
    }

    /// The next page (`rmqueue_pcplist`).
    fn take_one(&mut self) -> u32 {
        self.doublings >>= 1;
        self.list.pop_front().unwrap_or_else(|| {
            let page = self.memory.take();
            self.list.extend((1..BATCH).map(|_| self.memory.take()));
            page
        })
    }

    /// Those that came first go back to memory (`nr_pcp_free`, `free_pcppages_bulk`).
    fn shorten(&mut self) {
        let most = TOO_MANY - BATCH;
        let count = BATCH << self.doublings;
        if count < most {
            self.doublings += 1;
        }
        for page in (0..count.min(most)).filter_map(|_| self.list.pop_back()) {
            self.memory.give_back(page);
        }
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

    #[test]
    fn what_is_too_much_for_the_list_comes_in_order_again() {
        let mut pages = Pages::default();
        let mut taken = Vec::new();
        let blocks = 2 * TOO_MANY / BLOCK_PAGES;
        (0..blocks).for_each(|_| _ = pages.take(&mut taken));
        pages.give_back(&taken);
        let listed = pages.list.len() / BLOCK_PAGES;
        let pieces: Vec<u64> = (0..blocks).map(|_| pages.take(&mut Vec::new())).collect();
        assert!(listed < TOO_MANY / BLOCK_PAGES);
        assert!(pieces[..listed].iter().all(|pieces| *pieces == 16), "these are the last that came back: {pieces:?}");
        assert!(pieces[listed + 1..].iter().all(|pieces| *pieces <= 2), "these were in memory: {pieces:?}");
    }
}
