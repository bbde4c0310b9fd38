//! The memory that the recovery of copies reads into, as far as it decides how long requests are (`resync_alloc_pages`): a
//! request has a segment for each piece of memory, and a host adapter's list has room for so many.
//!
//! The kernel gives out first what it was given back last, a page at a time. So the pages of a block that was read in their order
//! come back in the opposite one, in which none follows another; the next block that takes them has them in order again.
//! Blocks that are given back in another order than they were taken in leave a mixture. But a processor keeps only so many for
//! itself: what is too much goes back to where all memory is, and comes from there in order. And pages become `slabs`, which come
//! between others, so that those of a block lie further apart with each turn.

use super::buddies::Buddies;

/// So many pages go to a processor's list at once (`zone_batchsize`), in any host with 1 GiB of memory or more,
const BATCH: usize = 63;
/// and with so many it is too long (`zone_highsize`): of a host with 1 GiB and one processor, as the lab's (`/proc/zoneinfo`).
const TOO_MANY: usize = 1263;

/// The list of one processor, and the memory behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    /// The last goes first.
    list: Vec<u32>,
    /// How often more goes back at once, while many come back and few are taken (`free_factor`).
    doublings: u32,
    memory: Buddies,
}

impl Pages {
    /// Takes so many, and appends them to `taken`.
    pub fn take(&mut self, mut wanted: usize, taken: &mut Vec<u32>) {
        self.doublings = self.doublings.checked_shr(wanted as u32).unwrap_or(0);
        while wanted > 0 {
            if self.list.is_empty() {
                self.refill();
            }
            let left = self.list.len().saturating_sub(wanted);
            let first = taken.len();
            wanted -= self.list.len() - left;
            taken.extend_from_slice(&self.list[left..]);
            taken[first..].reverse();
            self.list.truncate(left);
        }
    }

    /// Takes one.
    pub fn take_one(&mut self) -> u32 {
        self.doublings >>= 1;
        if self.list.is_empty() {
            self.refill();
        }
        self.list.pop().unwrap_or_default()
    }

    /// Gives back pages in the order in which they were taken.
    pub fn give_back(&mut self, mut taken: &[u32]) {
        while !taken.is_empty() {
            let (fit, rest) = taken.split_at(taken.len().min(TOO_MANY - self.list.len()));
            self.list.extend_from_slice(fit);
            if self.list.len() == TOO_MANY {
                self.shorten();
            }
            taken = rest;
        }
    }

    /// What comes from memory at once (`rmqueue_bulk`).
    fn refill(&mut self) {
        self.list.extend((0..BATCH).map(|_| self.memory.take()));
        self.list.reverse();
    }

    /// Those that came first go back to memory (`nr_pcp_free`, `free_pcppages_bulk`).
    fn shorten(&mut self) {
        let most = TOO_MANY - BATCH;
        let count = BATCH << self.doublings;
        if count < most {
            self.doublings += 1;
        }
        self.list.drain(..count.min(most)).for_each(|page| self.memory.give_back(page));
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffers::pieces;
    use super::*;

    const BLOCK_PAGES: usize = 16;

    fn take(pages: &mut Pages) -> Vec<u32> {
        let mut taken = Vec::new();
        pages.take(BLOCK_PAGES, &mut taken);
        taken
    }

    #[test]
    fn pages_that_come_back_are_in_the_opposite_order_every_other_time() {
        let mut pages = Pages::default();
        for expected in [1, 16, 1, 16] {
            let taken = take(&mut pages);
            assert_eq!(pieces(&taken), expected);
            pages.give_back(&taken);
        }
    }

    #[test]
    fn blocks_that_come_back_in_another_order_leave_a_mixture() {
        let mut pages = Pages::default();
        let taken = [(); 2].map(|()| take(&mut pages));
        taken.iter().for_each(|taken| pages.give_back(taken));
        let again = take(&mut pages);
        assert_eq!(pieces(&again), 16, "each as it was, turned round");
        pages.give_back(&again);
        assert_eq!([(); 2].map(|()| pieces(&take(&mut pages))), [1, 16]);
    }

    #[test]
    fn a_page_that_is_taken_for_itself_leaves_the_others_in_their_order() {
        let mut pages = Pages::default();
        assert_eq!(pages.take_one(), 0);
        assert_eq!(take(&mut pages), (1..17).collect::<Vec<u32>>());
        pages.give_back(&[0]);
        assert_eq!((pages.take_one(), pages.take_one()), (0, 17));
    }

    #[test]
    fn what_is_too_much_for_the_list_comes_in_order_again() {
        let mut pages = Pages::default();
        let blocks = 2 * TOO_MANY / BLOCK_PAGES;
        let taken: Vec<u32> = (0..blocks).flat_map(|_| take(&mut pages)).collect();
        pages.give_back(&taken);
        let listed = pages.list.len() / BLOCK_PAGES;
        let pieces: Vec<u16> = (0..blocks).map(|_| pieces(&take(&mut pages))).collect();
        assert!(listed < TOO_MANY / BLOCK_PAGES);
        assert!(pieces[..listed].iter().all(|pieces| *pieces == 16), "these are the last that came back: {pieces:?}");
        assert!(pieces[listed + 1..].iter().all(|pieces| *pieces <= 2), "these were in memory: {pieces:?}");
    }
}
