//! Commands that wait for the heads, and which of them goes next.

use crate::ages::Ages;
use crate::mechanics::{Head, Mechanics, Spot, Way};
use crate::profile::QueueOrder;
use crate::range::Range;
use crate::sweep::Sweep;

/// A read that waits for the heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub tag: u32,
    pub arrived: u64,
    pub range: Range,
    /// Where the first sector lies that DRAM did not hold when the read came.
    pub spot: Spot,
}

impl Waiting {
    fn age(&self) -> (u64, u32) {
        (self.arrived, self.tag)
    }
}

/// The reads that wait, at most as many as the queue is deep.
#[derive(Clone, Debug)]
pub(crate) struct CommandQueue {
    waiting: Vec<Waiting>,
    sweep: Sweep,
    /// By arrival, and of those that came together by tag.
    ages: Ages,
    order: QueueOrder,
    starvation: u64,
}

impl CommandQueue {
    pub fn new(depth: u32, cylinders: u64, order: QueueOrder, starvation: u64) -> Self {
        let depth = depth as usize;
        let (waiting, ages) = (Vec::with_capacity(depth), Ages::with_capacity(depth));
        Self { waiting, sweep: Sweep::with_capacity(depth, cylinders), ages, order, starvation }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn push(&mut self, waiting: Waiting) {
        let age = waiting.age();
        self.sweep.insert(waiting.spot, self.waiting.len());
        self.ages.insert(self.waiting.len(), |other| self.waiting[other].age() > age);
        self.waiting.push(waiting);
    }

    /// The read that goes next: the oldest if it starves or the order is first come first served, else the one whose
    /// first sector can be reached soonest (of equals the older), if that is `within` so many ticks.
    pub fn choose(&self, mechanics: &Mechanics, head: &Head, now: u64, within: u64) -> Option<Candidate> {
        let oldest = self.ages.oldest()?;
        let since = self.waiting[oldest].arrived;
        if self.order == QueueOrder::Fifo || self.starves(since, now) {
            return Some(Candidate { index: oldest, reach: u64::MAX, starves_since: Some(since) });
        }
        let departure = mechanics.departure(head, now, Way::Read);
        let (index, reach) = match self.waiting.as_slice() {
            [only] => Some((0, departure.reach(now, &only.spot))).filter(|(_, reach)| *reach <= within)?,
            _ => self.sweep.nearest(&departure, now, within, |_, _| true)?,
        };
        Some(Candidate { index, reach, starves_since: None })
    }

    /// Who will come first, and its index, if nobody has come by `now`: what the host has sent is still on its way.
    pub fn on_its_way(&self, now: u64) -> Option<(usize, Waiting)> {
        let first = self.ages.oldest().map(|index| (index, self.waiting[index]));
        first.filter(|(_, read)| read.arrived > now)
    }

    /// Takes out a read; the last takes over its index.
    pub fn take(&mut self, index: usize) -> Waiting {
        let last = self.waiting.len() - 1;
        self.sweep.remove(self.waiting[index].spot, index);
        self.ages.remove(index);
        if index < last {
            self.sweep.rename(self.waiting[last].spot, last, index);
            self.ages.rename(last, index);
        }
        self.waiting.swap_remove(index)
    }

    /// The reads by where they begin.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Whether the oldest has waited too long.
    pub fn has_starving(&self, now: u64) -> bool {
        self.ages.oldest().is_some_and(|oldest| self.starves(self.waiting[oldest].arrived, now))
    }

    pub fn order(&self) -> QueueOrder {
        self.order
    }

    /// Whether who arrived at `arrived` has waited too long.
    pub fn starves(&self, arrived: u64, now: u64) -> bool {
        now.saturating_sub(arrived) > self.starvation
    }
}

/// Who could go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub index: usize,
    /// Ticks until the heads can begin.
    pub reach: u64,
    /// Goes first because it has waited since then, wherever it lies.
    pub starves_since: Option<u64>,
}

impl Candidate {
    /// Whether it goes before another: who has waited too long, the oldest first, then whom the heads reach sooner.
    pub fn precedes(&self, other: &Candidate) -> bool {
        let rank = |one: &Candidate| (one.starves_since.unwrap_or(u64::MAX), one.reach);
        rank(self) <= rank(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::geometry::Geometry;
    use crate::profile::Profile;

    fn waiting(tag: u32, arrived: u64) -> Waiting {
        Waiting { tag, arrived, range: Range { start: 0, end: 8 }, spot: Spot::default() }
    }

    #[test]
    fn of_those_that_came_together_the_least_tag_goes_first() {
        let profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        let clock = Clock::new(profile.geometry.rpm);
        let mechanics = Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock);
        let mut queue = CommandQueue::new(8, mechanics.geometry.cylinders(), QueueOrder::Fifo, 1000);
        for (tag, arrived) in [(7, 20), (5, 20), (9, 10), (6, 20), (8, 10)] {
            queue.push(waiting(tag, arrived));
        }
        let head = mechanics.head_at(1, 0);
        let tags = [(); 5].map(|()| {
            let next = queue.choose(&mechanics, &head, 100, u64::MAX).unwrap();
            queue.take(next.index).tag
        });
        assert_eq!(tags, [8, 9, 5, 6, 7]);
    }

    #[test]
    fn who_comes_at_a_tick_has_come_by_then_and_starves_after_so_many_more() {
        let mut queue = CommandQueue::new(8, 100, QueueOrder::Sptf, 1000);
        queue.push(waiting(0, 20));
        assert!(queue.on_its_way(19).is_some() && queue.on_its_way(20).is_none());
        assert!(!queue.has_starving(1020) && queue.has_starving(1021));
    }
}
