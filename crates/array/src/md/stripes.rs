//! How many stripes are under way at most.

use super::options::Options;

/// The stripe cache of raid5 and raid6.
#[derive(Clone, Copy, Debug)]
pub(super) struct StripeCache {
    pub active: u64,
    pub size: u64,
    most: u64,
    /// Somebody has found none (`R5_INACTIVE_BLOCKED`): nobody gets one before a quarter is free.
    pub blocked: bool,
}

impl StripeCache {
    /// As the options say, and nothing in it.
    pub fn new(options: &Options) -> Self {
        Self { active: 0, size: options.stripe_cache, most: options.stripe_cache_most, blocked: false }
    }

    /// Are there so many? One request gets more than there are at all, lest it waits for ever.
    pub fn has(&self, stripes: u64) -> bool {
        self.active == 0 || self.active + stripes <= self.size
    }

    /// Is a quarter free, for who waits? The kernel counts whole stripes (`is_inactive_blocked`).
    pub fn is_roomy(&self) -> bool {
        self.active < self.size * 3 / 4
    }

    /// Somebody has to wait: the first who does makes it grow.
    pub fn block(&mut self) {
        if !std::mem::replace(&mut self.blocked, true) {
            self.size = (self.size + 1).min(self.most);
        }
    }

    /// As it is after hours of work.
    pub fn grown(&mut self) {
        self.size = self.most.max(self.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    #[test]
    fn a_request_gets_all_that_there_are_and_alone_even_more() {
        let few = Options { stripe_cache: 16, ..Options::new(Layout::Raid5, 3, 1 << 30).unwrap() };
        let with = |active| StripeCache { active, ..StripeCache::new(&few) };
        assert_eq!([11, 12].map(|active| with(active).is_roomy()), [true, false], "a quarter is four");
        let one_more = |active| StripeCache { size: 17, ..with(active) };
        assert_eq!([11, 12].map(|active| one_more(active).is_roomy()), [true, false], "of 17 it leaves less than 12");
        let has = |active, stripes| with(active).has(stripes);
        assert_eq!([has(0, 17), has(1, 15), has(1, 16), has(15, 1), has(16, 1)], [true, true, false, true, false]);
    }

    #[test]
    fn whoever_has_to_wait_first_makes_it_grow_up_to_its_most() {
        let few =
            Options { stripe_cache: 17, stripe_cache_most: 18, ..Options::new(Layout::Raid5, 3, 1 << 30).unwrap() };
        let mut cache = StripeCache::new(&few);
        let sizes = [true, false, true, true].map(|has_to_wait_first| {
            cache.blocked &= !has_to_wait_first;
            cache.block();
            cache.size
        });
        assert_eq!(sizes, [18; 4]);
        cache.grown();
        assert_eq!(cache.size, 18);
    }
}
