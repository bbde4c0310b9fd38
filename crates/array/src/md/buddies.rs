//! Free memory in blocks of 1 to 1024 pages, as the kernel's buddy allocator keeps it (`__rmqueue_smallest`, `__free_one_page`).
//!
//! It gives out the smallest block first, and the pages of one in their order. What comes back is merged with its neighbour. So
//! pages that come back in any order are given out in theirs, once they have been here.

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
    /// The first page of the first of the smallest blocks. The halves that are left of it are blocks of their own (`expand`).
    pub fn take(&mut self) -> u32 {
        let smallest = (0..=LARGEST).find(|order| self.lists[usize::from(*order)].first != NOBODY);
        let order = smallest.unwrap_or_else(|| self.grow());
        let page = self.lists[usize::from(order)].first;
        self.unlink(page);
        (0..order).rev().for_each(|half| self.link_first(page + (1 << half), half));
        page
    }

    /// A page comes back: with all its neighbours it is a block. One that is likely to be merged soon goes last in its list
    /// (`buddy_merge_likely`).
    pub fn give_back(&mut self, mut page: u32) {
        let mut order = 0;
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

    fn take<const N: usize>(buddies: &mut Buddies) -> [u32; N] {
        [(); N].map(|()| buddies.take())
    }

    #[test]
    fn pages_that_came_back_the_other_way_round_are_given_out_in_order() {
        let mut buddies = Buddies::default();
        let pages: [u32; 1024] = take(&mut buddies);
        assert_eq!(pages, std::array::from_fn(|page| page as u32));
        pages.iter().rev().for_each(|page| buddies.give_back(*page));
        assert_eq!(take(&mut buddies), pages);
    }

    #[test]
    fn the_smallest_block_goes_first() {
        let mut buddies = Buddies::default();
        assert_eq!(take(&mut buddies), [0, 1, 2, 3, 4, 5, 6, 7]);
        [0, 1, 6].into_iter().for_each(|page| buddies.give_back(page));
        assert_eq!(take(&mut buddies), [6, 0, 1, 8]);
    }

    proptest! {
        /// Nobody is given a page that another has, and when all have come back no more is needed than there was.
        #[test]
        fn each_page_is_given_out_once(counts in prop::collection::vec(1..700_usize, 1..12), at in 0..1000_usize) {
            let mut buddies = Buddies::default();
            let mut taken = Vec::new();
            for count in counts {
                taken.extend((0..count).map(|_| buddies.take()));
                let unique: std::collections::BTreeSet<_> = taken.iter().copied().collect();
                prop_assert_eq!(unique.len(), taken.len());
                let returned = taken.len() * at / 1000;
                (0..returned).for_each(|k| buddies.give_back(taken.swap_remove(k * 7 % taken.len())));
            }
            let pages = buddies.pages.len();
            taken.drain(..).for_each(|page| buddies.give_back(page));
            (0..pages).for_each(|_| _ = buddies.take());
            prop_assert_eq!(buddies.pages.len(), pages);
        }
    }
}
