//! The memory that the recovery of copies reads into, as far as it decides how long requests are (`resync_alloc_pages`): a
//! request has a segment for each piece of memory, and a host adapter's list has room for so many.
//!
//! The kernel gives out first what it was given back last, a page at a time. So the pages of a block that was read in their order
//! come back in the opposite one, in which none follows another; the next block that takes them has them in order again.
//! Blocks that are given back in another order than they were taken in leave a mixture. But a processor keeps only so many for
//! itself: what is too much goes back to where all memory is, and comes from there in order.

use std::collections::VecDeque;

use super::buddies::Buddies;
use super::run::Run;

/// So many pages go to a processor's list at once (`zone_batchsize`), in any host with 1 GiB of memory or more,
const BATCH: u32 = 63;
/// and with so many it is too long (`zone_highsize`): of a host with 1 GiB and one processor, as the lab's (`/proc/zoneinfo`).
const TOO_MANY: u32 = 1263;

/// The list of one processor, and the memory behind it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    /// The first goes first.
    list: VecDeque<Run>,
    listed: u32,
    /// How often more goes back at once, while many come back and few are taken (`free_factor`).
    doublings: u32,
    memory: Buddies,
}

impl Pages {
    /// Takes so many, appends them to `taken`, and returns how many runs these are, and in how many pieces they lie.
    pub fn take(&mut self, mut wanted: u32, taken: &mut Vec<Run>) -> (u16, u16) {
        let first = taken.len();
        while wanted > 0 {
            let run = self.take_run(wanted);
            wanted -= run.count;
            if !taken[first..].last_mut().is_some_and(|last| last.join(run)) {
                taken.push(run);
            }
        }
        let pieces = taken[first..].iter().map(|run| run.pieces()).sum::<u32>();
        ((taken.len() - first) as u16, pieces as u16)
    }

    /// Takes one.
    pub fn take_one(&mut self) -> Run {
        self.take_run(1)
    }

    /// The first run of the list, and so many of it at most.
    fn take_run(&mut self, most: u32) -> Run {
        if self.list.is_empty() {
            self.refill();
        }
        let front = &mut self.list[0];
        let run = front.split_first(most);
        if front.count == 0 {
            self.list.pop_front();
        }
        self.listed -= run.count;
        self.doublings = self.doublings.checked_shr(run.count).unwrap_or(0);
        run
    }

    /// Gives back pages in the order in which they were taken.
    pub fn give_back(&mut self, taken: &[Run]) {
        for run in taken {
            let mut left = *run;
            while left.count > 0 {
                let run = left.split_first(TOO_MANY - self.listed);
                self.listed += run.count;
                self.push_first(run.reversed());
                if self.listed == TOO_MANY {
                    self.shorten();
                }
            }
        }
    }

    fn push_first(&mut self, mut run: Run) {
        if let Some(front) = self.list.front_mut() {
            if run.join(*front) {
                *front = run;
                return;
            }
        }
        self.list.push_front(run);
    }

    /// What comes from memory at once (`rmqueue_bulk`).
    fn refill(&mut self) {
        let mut wanted = BATCH;
        while wanted > 0 {
            let run = self.memory.take(wanted);
            wanted -= run.count;
            self.list.push_back(run);
        }
        self.listed += BATCH;
    }

    /// Those that came first go back to memory (`nr_pcp_free`, `free_pcppages_bulk`).
    fn shorten(&mut self) {
        let most = TOO_MANY - BATCH;
        let count = BATCH << self.doublings;
        if count < most {
            self.doublings += 1;
        }
        let mut left = count.min(most);
        self.listed -= left;
        while left > 0 {
            let Some(last) = self.list.back_mut() else { return };
            let run = last.split_last(left);
            if last.count == 0 {
                self.list.pop_back();
            }
            left -= run.count;
            self.memory.give_back(run.reversed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCK_PAGES: u32 = 16;

    /// The same page by page, as the kernel does it.
    #[derive(Default)]
    struct OneByOne {
        list: VecDeque<u32>,
        doublings: u32,
        memory: Buddies,
    }

    impl OneByOne {
        fn take(&mut self, taken: &mut Vec<u32>) -> u16 {
            let first = taken.len();
            for _ in 0..BLOCK_PAGES {
                self.doublings >>= 1;
                if self.list.is_empty() {
                    self.list.extend((0..BATCH).map(|_| self.memory.take(1).first));
                }
                taken.extend(self.list.pop_front());
            }
            1 + taken[first..].windows(2).filter(|pair| pair[1] != pair[0] + 1).count() as u16
        }

        fn give_back(&mut self, taken: &[u32]) {
            for page in taken {
                self.list.push_front(*page);
                if self.list.len() as u32 >= TOO_MANY {
                    let most = TOO_MANY - BATCH;
                    let count = BATCH << self.doublings;
                    self.doublings += u32::from(count < most);
                    for page in (0..count.min(most)).filter_map(|_| self.list.pop_back()) {
                        self.memory.give_back(Run::forward(page, 1));
                    }
                }
            }
        }
    }

    fn pieces(pages: &mut Pages) -> u16 {
        pages.take(BLOCK_PAGES, &mut Vec::new()).1
    }

    #[test]
    fn pages_that_come_back_are_in_the_opposite_order_every_other_time() {
        let mut pages = Pages::default();
        let mut taken = Vec::new();
        for expected in [1, 16, 1, 16] {
            taken.clear();
            assert_eq!(pages.take(BLOCK_PAGES, &mut taken).1, expected);
            pages.give_back(&taken);
        }
    }

    #[test]
    fn blocks_that_come_back_in_another_order_leave_a_mixture() {
        let mut pages = Pages::default();
        let mut taken = [const { Vec::new() }; 2];
        taken.iter_mut().for_each(|taken| _ = pages.take(BLOCK_PAGES, taken));
        let mut again = Vec::new();
        taken.iter().for_each(|taken| pages.give_back(taken));
        assert_eq!(pages.take(BLOCK_PAGES, &mut again).1, 16, "each as it was, turned round");
        pages.give_back(&again);
        assert_eq!([(); 2].map(|()| pieces(&mut pages)), [1, 16]);
    }

    #[test]
    fn what_is_too_much_for_the_list_comes_in_order_again() {
        let mut pages = Pages::default();
        let mut taken = Vec::new();
        let blocks = 2 * TOO_MANY / BLOCK_PAGES;
        (0..blocks).for_each(|_| _ = pages.take(BLOCK_PAGES, &mut taken));
        pages.give_back(&taken);
        let listed = (pages.listed / BLOCK_PAGES) as usize;
        let pieces: Vec<u16> = (0..blocks).map(|_| pieces(&mut pages)).collect();
        assert!(listed < (TOO_MANY / BLOCK_PAGES) as usize);
        assert!(pieces[..listed].iter().all(|pieces| *pieces == 16), "these are the last that came back: {pieces:?}");
        assert!(pieces[listed + 1..].iter().all(|pieces| *pieces <= 2), "these were in memory: {pieces:?}");
    }

    proptest! {
        /// Whatever comes back in which order, runs of pages are what the pages one by one would be.
        #[test]
        fn runs_are_what_pages_one_by_one_are(steps in prop::collection::vec((0..200_usize, 0..200_usize, 1..40_usize), 1..40)) {
            let (mut runs, mut ones) = (Pages::default(), OneByOne::default());
            let mut blocks: Vec<(Vec<Run>, Vec<u32>)> = Vec::new();
            for (takes, returns, stride) in steps {
                for _ in 0..takes {
                    let (mut of_runs, mut of_ones) = (Vec::new(), Vec::new());
                    let (count, pieces) = runs.take(BLOCK_PAGES, &mut of_runs);
                    prop_assert_eq!((usize::from(count), pieces), (of_runs.len(), ones.take(&mut of_ones)));
                    let pages = of_runs.iter().flat_map(|run| (0..run.count).map(|at| run.page(at)));
                    prop_assert_eq!(pages.collect::<Vec<_>>(), of_ones.clone());
                    blocks.push((of_runs, of_ones));
                }
                for k in 0..returns.min(blocks.len()) {
                    let (of_runs, of_ones) = blocks.remove(k * stride % blocks.len());
                    runs.give_back(&of_runs);
                    ones.give_back(&of_ones);
                }
            }
        }
    }
}
