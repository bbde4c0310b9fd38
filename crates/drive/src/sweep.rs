//! Which of many places the heads reach soonest.
//!
//! Places are kept in the order in which they pass under the heads. Going through them from the heads' own phase on, turn
//! after turn, the first to which the arm can get before it passes is the nearest: nobody else has to be looked at.

use crate::clock::{PHASE_MASK, TURN};
use crate::mechanics::{Head, Mechanics, Way};

/// Where a transfer would begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    pub track: u32,
    pub cylinder: u32,
    pub phase: u32,
}

/// A spot and the index by which its owner knows it.
#[derive(Clone, Copy, Debug)]
struct Passing {
    /// Phase and index in one number to be ordered by.
    key: u64,
    track: u32,
    cylinder: u32,
}

impl Passing {
    fn new(spot: Spot, index: usize) -> Self {
        Self { key: key(spot, index), track: spot.track, cylinder: spot.cylinder }
    }

    fn phase(&self) -> u64 {
        self.key >> 32
    }

    fn index(&self) -> usize {
        (self.key & 0xffff_ffff) as usize
    }
}

fn key(spot: Spot, index: usize) -> u64 {
    u64::from(spot.phase) << 32 | index as u64
}

/// Spots by phase.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    order: Vec<Passing>,
}

impl Sweep {
    pub fn with_capacity(spots: usize) -> Self {
        Self { order: Vec::with_capacity(spots) }
    }

    pub fn insert(&mut self, spot: Spot, index: usize) {
        let at = self.position(spot, index);
        self.order.insert(at, Passing::new(spot, index));
    }

    pub fn remove(&mut self, spot: Spot, index: usize) {
        let at = self.position(spot, index);
        self.order.remove(at);
    }

    /// The owner of a spot knows it by another index from now on.
    pub fn rename(&mut self, spot: Spot, from: usize, to: usize) {
        let at = self.position(spot, from);
        let shares_phase = |other: Option<&Passing>| other.is_some_and(|other| other.phase() == u64::from(spot.phase));
        if shares_phase(self.order.get(at + 1)) || shares_phase(self.order[..at].last()) {
            self.order.remove(at);
            self.insert(spot, to);
        } else {
            self.order[at].key = key(spot, to);
        }
    }

    /// The allowed spot that the heads reach soonest, and in how many ticks; of equals the one with the least index.
    pub fn nearest(
        &self,
        mechanics: &Mechanics,
        head: &Head,
        now: u64,
        way: Way,
        allowed: impl Fn(usize) -> bool,
    ) -> Option<(usize, u64)> {
        let departure = mechanics.departure(head, now, way);
        let phase = now & PHASE_MASK;
        let (passed, ahead) = self.order.split_at(self.order.partition_point(|one| one.phase() < phase));
        let mut turns = 0;
        loop {
            for (part, from) in [(ahead, turns), (passed, turns + TURN)] {
                for one in part {
                    let reach = from + one.phase() - phase;
                    if departure.may_reach(one.cylinder, reach)
                        && departure.ticks_to(u64::from(one.track), u64::from(one.cylinder)) <= reach
                        && allowed(one.index())
                    {
                        return Some((one.index(), reach));
                    }
                }
            }
            if !self.order.iter().any(|one| allowed(one.index())) {
                return None;
            }
            turns += TURN;
        }
    }

    fn position(&self, spot: Spot, index: usize) -> usize {
        let key = key(spot, index);
        self.order.partition_point(|one| one.key < key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::geometry::Geometry;
    use crate::profile::Profile;
    use proptest::prelude::*;

    proptest! {
        /// The sweep finds what trying all of them finds, whatever came and went before.
        #[test]
        fn the_nearest_is_the_minimum_of_all(
            shares in prop::collection::vec((0.0..1.0_f64, any::<bool>()), 1..64),
            gone in 0..64_usize,
            at in 0.0..1.0_f64,
            now in 0..100 * TURN,
            write in any::<bool>(),
        ) {
            let profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
            let clock = Clock::new(profile.geometry.rpm);
            let mechanics = Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock);
            let way = if write { Way::Write } else { Way::Read };
            let blocks = mechanics.geometry.blocks() as f64;
            let head = mechanics.head_at(1 + (at * blocks) as u64, now);
            let mut blocks: Vec<(u64, bool)> =
                shares.iter().map(|(share, allowed)| ((share * blocks) as u64, *allowed)).collect();
            let mut sweep = Sweep::with_capacity(64);
            blocks.iter().enumerate().for_each(|(index, (block, _))| sweep.insert(mechanics.spot(*block), index));
            if gone < blocks.len() {
                sweep.remove(mechanics.spot(blocks[gone].0), gone);
                let last = blocks.len() - 1;
                if gone < last {
                    sweep.rename(mechanics.spot(blocks[last].0), last, gone);
                }
                blocks.swap_remove(gone);
            }
            let begins = |block: u64| {
                let place = mechanics.geometry.place(block);
                mechanics.departure(&head, now, way).access(now, &place, &place).begins
            };
            let least = blocks.iter().enumerate().filter(|(_, (_, allowed))| *allowed);
            let least = least.map(|(index, (block, _))| (begins(*block), index)).min();
            let found = sweep.nearest(&mechanics, &head, now, way, |index| blocks[index].1);
            prop_assert_eq!(found.map(|(index, reach)| (now + reach, index)), least);
        }
    }
}
