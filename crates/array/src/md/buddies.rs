//! Free memory in blocks of 1 to 1024 pages, as the kernel's buddy allocator keeps it (`__rmqueue_smallest`, `__free_one_page`).
//!
//! It gives out the smallest block first, and the pages of one in their order. What comes back is merged with its neighbour. So
//! pages that come back in any order are given out in theirs, once they have been here.

use super::run::Run;

/// The largest block has 2 to the power of this many pages.
const LARGEST: u8 = 10;
const NOBODY: u32 = u32::MAX;

/// A page, and if a free block begins with it, of which order, and between which others in the list of that order.
#[derive(Clone, Copy, Debug)]
struct Page {
    order: Option<u8>,
    before: u32,
    behind: u32,
}

/// Blocks of one order.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// Pages by their numbers in memory, of which there are always more.
#[derive(Clone, Debug)]
pub(super) struct Buddies {
    pages: Vec<Page>,
    lists: [List; LARGEST as usize + 1],
}

impl Default for Buddies {
    fn default() -> Self {
        Self { pages: Vec::new(), lists: [List { first: NOBODY, last: NOBODY }; LARGEST as usize + 1] }
    }
}

impl Buddies {
    /// So many pages of the first of the smallest blocks, or all that it has. What is not needed of it is in the lists as if they
    /// had been taken one by one (`expand`).
    pub fn take(&mut self, count: u32) -> Run {
        let smallest = (0..=LARGEST).find(|order| self.lists[usize::from(*order)].first != NOBODY);
        let order = smallest.unwrap_or_else(|| self.grow());
        let page = self.lists[usize::from(order)].first;
        self.unlink(page);
        let (mut left, end) = (page + count.min(1 << order), page + (1 << order));
        let taken = Run::forward(page, left - page);
        while left < end {
            let order = left.trailing_zeros() as u8;
            self.link_first(left, order);
            left += 1 << order;
        }
        taken
    }

    /// Pages come back, one by one: who is back with all its neighbours is a block, whatever became of it meanwhile.
    pub fn give_back(&mut self, mut run: Run) {
        while run.count > 0 {
            // Where a block would have to end, seen from where the run goes.
            let boundary = if run.is_backward { run.first + 1 } else { run.first };
            let order = boundary.trailing_zeros().min(run.count.ilog2()).min(u32::from(LARGEST));
            let block = run.split_first(1 << order);
            self.give_back_block(block.lowest(), order as u8);
        }
    }

    /// A block that is likely to be merged soon goes last in its list (`buddy_merge_likely`).
    fn give_back_block(&mut self, mut page: u32, mut order: u8) {
        while order < LARGEST && self.is_free(page ^ (1 << order), order) {
            let buddy = page ^ (1 << order);
            self.unlink(buddy);
            page &= buddy;
            order += 1;
        }
        let whole = page & !(1 << order);
        if order + 1 < LARGEST && self.is_free(whole ^ (2 << order), order + 1) {
            self.link_last(page, order);
        } else {
            self.link_first(page, order);
        }
    }

    /// One more of the largest blocks.
    fn grow(&mut self) -> u8 {
        let page = self.pages.len() as u32;
        let taken = Page { order: None, before: NOBODY, behind: NOBODY };
        self.pages.resize(self.pages.len() + (1 << LARGEST), taken);
        self.link_first(page, LARGEST);
        LARGEST
    }

    fn is_free(&self, page: u32, order: u8) -> bool {
        self.pages.get(page as usize).is_some_and(|page| page.order == Some(order))
    }

    fn link_first(&mut self, page: u32, order: u8) {
        let list = &mut self.lists[usize::from(order)];
        let behind = std::mem::replace(&mut list.first, page);
        self.pages[page as usize] = Page { order: Some(order), before: NOBODY, behind };
        match behind {
            NOBODY => list.last = page,
            behind => self.pages[behind as usize].before = page,
        }
    }

    fn link_last(&mut self, page: u32, order: u8) {
        let list = &mut self.lists[usize::from(order)];
        let before = std::mem::replace(&mut list.last, page);
        self.pages[page as usize] = Page { order: Some(order), before, behind: NOBODY };
        match before {
            NOBODY => list.first = page,
            before => self.pages[before as usize].behind = page,
        }
    }

    fn unlink(&mut self, page: u32) {
        let Page { order, before, behind } = self.pages[page as usize];
        let Some(order) = order else { return };
        self.pages[page as usize].order = None;
        let list = &mut self.lists[usize::from(order)];
        match before {
            NOBODY => list.first = behind,
            before => self.pages[before as usize].behind = behind,
        }
        match behind {
            NOBODY => list.last = before,
            behind => self.pages[behind as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn take_one(buddies: &mut Buddies) -> u32 {
        buddies.take(1).first
    }

    fn give_back_one(buddies: &mut Buddies, page: u32) {
        buddies.give_back(Run::forward(page, 1));
    }

    #[test]
    fn pages_that_came_back_the_other_way_round_are_given_out_in_order() {
        let mut buddies = Buddies::default();
        assert_eq!(buddies.take(1024), Run::forward(0, 1024));
        (0..1024).rev().for_each(|page| give_back_one(&mut buddies, page));
        assert_eq!(buddies.take(1024), Run::forward(0, 1024));
    }

    #[test]
    fn the_smallest_block_goes_first() {
        let mut buddies = Buddies::default();
        assert_eq!(
            [buddies.take(3), buddies.take(5)],
            [Run::forward(0, 3), Run::forward(3, 1)],
            "then a block of four"
        );
        assert_eq!(buddies.take(4), Run::forward(4, 4));
        [0, 1, 6].into_iter().for_each(|page| give_back_one(&mut buddies, page));
        assert_eq!([buddies.take(2), buddies.take(2)], [Run::forward(6, 1), Run::forward(0, 2)]);
    }

    proptest! {
        /// Nobody is given a page that another has, and when all have come back no more is needed than there was.
        #[test]
        fn each_page_is_given_out_once(counts in prop::collection::vec(1..700_usize, 1..12), at in 0..1000_usize) {
            let mut buddies = Buddies::default();
            let mut taken = Vec::new();
            for count in counts {
                taken.extend((0..count).map(|_| take_one(&mut buddies)));
                let unique: std::collections::BTreeSet<_> = taken.iter().copied().collect();
                prop_assert_eq!(unique.len(), taken.len());
                let returned = taken.len() * at / 1000;
                (0..returned).for_each(|k| give_back_one(&mut buddies, taken.swap_remove(k * 7 % taken.len())));
            }
            let pages = buddies.pages.len();
            taken.drain(..).for_each(|page| give_back_one(&mut buddies, page));
            (0..pages).for_each(|_| _ = take_one(&mut buddies));
            prop_assert_eq!(buddies.pages.len(), pages);
        }

        /// Runs that come back are their pages that come back one by one.
        #[test]
        fn runs_are_their_pages(runs in prop::collection::vec((1..90_u32, prop::bool::ANY), 1..60), stride in 1..60_usize) {
            let (mut of_runs, mut of_ones) = (Buddies::default(), Buddies::default());
            let mut taken = Vec::new();
            for (count, is_backward) in runs {
                let run = of_runs.take(count);
                (0..run.count).for_each(|at| assert_eq!(take_one(&mut of_ones), run.page(at)));
                taken.push(if is_backward { run.reversed() } else { run });
            }
            for k in 0..taken.len() {
                let run = taken.remove(k * stride % taken.len());
                of_runs.give_back(run);
                (0..run.count).for_each(|at| give_back_one(&mut of_ones, run.page(at)));
            }
            for _ in 0..of_runs.pages.len() {
                prop_assert_eq!(take_one(&mut of_runs), take_one(&mut of_ones));
            }
        }
    }
}
