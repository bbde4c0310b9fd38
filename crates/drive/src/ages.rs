//! Who waits, by age: owners known by an index, from the oldest to the newest.

/// "Nobody".
const NONE: u32 = u32::MAX;

/// The neighbours by age.
#[derive(Clone, Copy, Debug)]
struct Links {
    older: u32,
    newer: u32,
}

/// The order. To come and to go takes the same however many wait, as long as who comes is among the newest.
#[derive(Clone, Debug)]
pub(crate) struct Ages {
    /// By index.
    links: Vec<Links>,
    oldest: u32,
    newest: u32,
}

impl Ages {
    /// For about so many, and more.
    pub fn with_capacity(count: usize) -> Self {
        Self { links: Vec::with_capacity(count), oldest: NONE, newest: NONE }
    }

    #[inline]
    pub fn oldest(&self) -> Option<usize> {
        (self.oldest != NONE).then_some(self.oldest as usize)
    }

    /// Who is next in age to somebody.
    #[inline]
    pub fn newer_than(&self, index: usize) -> Option<usize> {
        let newer = self.links[index].newer;
        (newer != NONE).then_some(newer as usize)
    }

    /// Adds an owner, before those at the end who are newer.
    #[inline(always)]
    pub fn insert(&mut self, index: usize, is_newer: impl Fn(usize) -> bool) {
        let mut older = self.newest;
        while older != NONE && is_newer(older as usize) {
            older = self.links[older as usize].older;
        }
        let newer = if older == NONE { self.oldest } else { self.links[older as usize].newer };
        let links = Links { older, newer };
        if self.links.len() <= index {
            self.links.resize(index + 1, links);
        }
        self.links[index] = links;
        self.relink(links, index as u32, index as u32);
    }

    #[inline]
    pub fn remove(&mut self, index: usize) {
        let links = self.links[index];
        self.relink(links, links.newer, links.older);
    }

    /// The owner is known by another index from now on.
    #[inline]
    pub fn rename(&mut self, from: usize, to: usize) {
        self.links[to] = self.links[from];
        self.relink(self.links[to], to as u32, to as u32);
    }

    /// Lets two neighbours name others as theirs: the older one `next`, the newer one `previous`.
    #[inline]
    fn relink(&mut self, Links { older, newer }: Links, next: u32, previous: u32) {
        match older {
            NONE => self.oldest = next,
            older => self.links[older as usize].newer = next,
        }
        match newer {
            NONE => self.newest = previous,
            newer => self.links[newer as usize].older = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ages;
    use proptest::prelude::*;

    proptest! {
        /// Whoever comes and goes, the order is that of a sorted list; of equals who came first is first.
        #[test]
        fn the_order_is_that_of_a_sorted_list(steps in prop::collection::vec((any::<bool>(), 0..50_u32), 1..100)) {
            let (mut ages, mut owners, mut sorted) = (Ages::with_capacity(4), Vec::new(), Vec::new());
            for (number, (comes, at)) in steps.into_iter().enumerate() {
                if comes || owners.is_empty() {
                    ages.insert(owners.len(), |other| owners[other] > (at, number));
                    owners.push((at, number));
                    sorted.push((at, number));
                    sorted.sort_unstable();
                } else {
                    let (gone, last) = (at as usize % owners.len(), owners.len() - 1);
                    ages.remove(gone);
                    if gone < last {
                        ages.rename(last, gone);
                    }
                    let owner = owners.swap_remove(gone);
                    sorted.retain(|other| *other != owner);
                }
                let listed = std::iter::successors(ages.oldest(), |index| ages.newer_than(*index));
                prop_assert_eq!(listed.map(|index| owners[index]).collect::<Vec<_>>(), sorted.clone());
            }
        }
    }
}
