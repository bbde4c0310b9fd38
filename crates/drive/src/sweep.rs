//! Which of many places the heads reach soonest.
//!
//! The surface is divided into wedges of a turn, and these into rings of cylinders, with a bit for each that holds a place. Going
//! through the wedges in the order in which they pass under the heads, a mask leaves those rings of each to which the arm can
//! get by then: hardly any place but the nearest has to be looked at.

use crate::clock::{PHASE_MASK, TURN};
use crate::mechanics::{Departure, Spot};

/// As many as a number has bits.
const RINGS: usize = 64;
/// More would have to be gone through, in fewer lie more places that are not the nearest.
const WEDGES: usize = 16;
const WEDGE: u64 = TURN / WEDGES as u64;

/// "No spot" in the chain of those that share a ring of a wedge.
const NONE: u32 = u32::MAX;

/// A spot and the index of the next in the same ring of its wedge.
#[derive(Clone, Copy, Debug)]
struct Link {
    spot: Spot,
    next: u32,
}

/// Spots, by wedge and ring, each known by its owner's index.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    /// A ring has 2^this cylinders.
    ring_shift: u32,
    /// By wedge, a bit for each ring with spots.
    rings: [u64; WEDGES],
    /// By wedge and ring, the first spot.
    first: Box<[[u32; RINGS]; WEDGES]>,
    /// By index.
    links: Vec<Link>,
}

impl Sweep {
    /// For about so many spots, and more, on a surface of so many cylinders.
    pub fn with_capacity(spots: usize, cylinders: u64) -> Self {
        Self {
            ring_shift: (cylinders.next_power_of_two() / RINGS as u64).max(1).ilog2(),
            rings: [0; WEDGES],
            first: Box::new([[NONE; RINGS]; WEDGES]),
            links: Vec::with_capacity(spots),
        }
    }

    pub fn insert(&mut self, spot: Spot, index: usize) {
        if self.links.len() <= index {
            self.links.resize(index + 1, Link { spot, next: NONE });
        }
        let (wedge, ring) = self.field(&spot);
        self.rings[wedge] |= 1 << ring;
        let next = std::mem::replace(&mut self.first[wedge][ring], index as u32);
        self.links[index] = Link { spot, next };
    }

    pub fn remove(&mut self, spot: Spot, index: usize) {
        let next = self.links[index].next;
        *self.to(&spot, index) = next;
        let (wedge, ring) = self.field(&spot);
        self.rings[wedge] &= !(u64::from(self.first[wedge][ring] == NONE) << ring);
    }

    /// The owner of a spot knows it by another index from now on.
    pub fn rename(&mut self, spot: Spot, from: usize, to: usize) {
        *self.to(&spot, from) = to as u32;
        self.links[to] = self.links[from];
    }

    /// What leads to a spot.
    fn to(&mut self, spot: &Spot, index: usize) -> &mut u32 {
        let (wedge, ring) = self.field(spot);
        let first = &mut self.first[wedge][ring];
        if *first == index as u32 {
            return first;
        }
        let mut before = *first as usize;
        while self.links[before].next != index as u32 {
            before = self.links[before].next as usize;
        }
        &mut self.links[before].next
    }

    /// A spot's wedge and ring.
    fn field(&self, spot: &Spot) -> (usize, usize) {
        ((u64::from(spot.phase) / WEDGE) as usize % WEDGES, (spot.cylinder >> self.ring_shift) as usize % RINGS)
    }

    /// The spot that the heads reach soonest, and in how many ticks, of those that are allowed by then, if in at most
    /// `within`; of equals the one with the least index.
    pub fn nearest(
        &self,
        departure: &Departure,
        now: u64,
        within: u64,
        allowed: impl Fn(usize, u64) -> bool,
    ) -> Option<(usize, u64)> {
        let side = Side { sweep: self, departure };
        nearest_of([side], now, within, |_, index, reach| allowed(index, reach)).map(|(_, index, reach)| (index, reach))
    }

    /// The bits of the rings from one cylinder to another, or to the last there is.
    #[inline]
    fn rings_of(&self, (first, last): (u64, u64)) -> u64 {
        let most = RINGS as u64 - 1;
        u64::MAX << (first >> self.ring_shift) & u64::MAX >> (most - (last >> self.ring_shift).min(most))
    }
}

/// Spots, and the way to them.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub sweep: &'a Sweep,
    pub departure: &'a Departure<'a>,
}

/// The same of the spots of several sides, on none of which the arm is anywhere sooner than on the first, nor later than on the
/// last: one look at what it reaches does for all. Tells the side, too; of equals the earlier.
#[inline(always)]
pub(crate) fn nearest_of<const SIDES: usize>(
    sides: [Side; SIDES],
    now: u64,
    within: u64,
    allowed: impl Fn(usize, usize, u64) -> bool,
) -> Option<(usize, usize, u64)> {
    // Times count from the beginning of this turn. At the last all have passed, and had the arm there.
    let phase = now & PHASE_MASK;
    let last = phase + sides[SIDES - 1].departure.longest() + TURN;
    let (mut passes, mut nearest) = (phase.saturating_add(within).min(last), (SIDES, NONE));
    let mut wedge_at = phase / WEDGE * WEDGE;
    while wedge_at <= passes {
        let wedge = (wedge_at / WEDGE) as usize % WEDGES;
        wedge_at += WEDGE;
        let reached = sides[0].sweep.rings_of(sides[0].departure.cylinders_within(wedge_at - phase));
        for (number, Side { sweep, departure }) in sides.iter().enumerate() {
            let mut rings = sweep.rings[wedge] & reached;
            while rings != 0 {
                let mut index = sweep.first[wedge][rings.trailing_zeros() as usize];
                while index != NONE {
                    let Link { spot, next } = sweep.links[index as usize];
                    let this = phase + departure.reach(phase, &spot);
                    if (this, (number, index)) < (passes, nearest) && allowed(number, index as usize, this - phase) {
                        (passes, nearest) = (this, (number, index));
                    }
                    index = next;
                }
                rings &= rings - 1;
            }
        }
    }
    let (number, index) = nearest;
    (index != NONE).then(|| (number, index as usize, passes - phase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::geometry::Geometry;
    use crate::mechanics::{Mechanics, Way};
    use crate::profile::{Profile, SeekCurve};
    use proptest::prelude::*;

    proptest! {
        /// The sweep finds what trying all of them finds, whatever came and went before.
        #[test]
        fn the_nearest_is_the_minimum_of_all(
            shares in prop::collection::vec((0.0..1.0_f64, any::<bool>()), 1..64),
            twins: bool,
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
            // Of two in one place the one with the least index.
            let place = |share: f64| if twins { (share * 8.0).floor() / 8.0 } else { share };
            let mut blocks: Vec<(u64, bool)> =
                shares.iter().map(|(share, allowed)| ((place(*share) * blocks) as u64, *allowed)).collect();
            let mut sweep = Sweep::with_capacity(64, mechanics.geometry.cylinders());
            blocks.iter().enumerate().for_each(|(index, (block, _))| sweep.insert(mechanics.spot(*block), index));
            if gone < blocks.len() {
                sweep.remove(mechanics.spot(blocks[gone].0), gone);
                let last = blocks.len() - 1;
                if gone < last {
                    sweep.rename(mechanics.spot(blocks[last].0), last, gone);
                }
                blocks.swap_remove(gone);
            }
            let begins = |block: u64| now + mechanics.departure(&head, now, way).reach(now, &mechanics.spot(block));
            let least = blocks.iter().enumerate().filter(|(_, (_, allowed))| *allowed);
            let least = least.map(|(index, (block, _))| (begins(*block), index)).min();
            let departure = mechanics.departure(&head, now, way);
            let nearest = |within| sweep.nearest(&departure, now, within, |index, _| blocks[index].1);
            let found = nearest(u64::MAX);
            prop_assert_eq!(found.map(|(index, reach)| (now + reach, index)), least);
            if let Some((_, reach)) = found {
                prop_assert_eq!((nearest(reach), nearest(reach - 1)), (found, None), "the limit is part of it");
            }
        }

        /// Of both sides together the nearest is that of trying all. Some places are on both: of equals the read goes first.
        #[test]
        fn of_two_sides_the_nearest_is_the_minimum_of_both(
            shares in prop::collection::vec((0.0..1.0_f64, 0..3_u32, any::<bool>()), 1..64),
            at in 0.0..1.0_f64,
            now in 0..100 * TURN,
        ) {
            let profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
            let clock = Clock::new(profile.geometry.rpm);
            let mechanics = Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock);
            let all = mechanics.geometry.blocks() as f64;
            let head = mechanics.head_at(1 + (at * all) as u64, now);
            let departures = [Way::Read, Way::Write].map(|way| mechanics.departure(&head, now, way));
            let mut sweeps = [(); 2].map(|()| Sweep::with_capacity(64, mechanics.geometry.cylinders()));
            let mut owners = Vec::new();
            for (index, (share, sides, allowed)) in shares.iter().enumerate() {
                let spot = mechanics.spot((share * all) as u64);
                for side in [0, 1].into_iter().filter(|side| *sides == 2 || *sides == *side as u32) {
                    // Their owners know them by other indices on either side.
                    let index = if side == 0 { index } else { shares.len() - 1 - index };
                    sweeps[side].insert(spot, index);
                    owners.push((departures[side].reach(now, &spot), side, index, *allowed));
                }
            }
            let least = owners.iter().filter(|owner| owner.3).map(|(reach, side, index, _)| (*reach, *side, *index)).min();
            let [reads, writes] = [0, 1].map(|side| Side { sweep: &sweeps[side], departure: &departures[side] });
            let owner = |side: usize, index: usize| if side == 0 { index } else { shares.len() - 1 - index };
            let found = nearest_of([reads, writes], now, u64::MAX, |side, index, _| shares[owner(side, index)].2);
            prop_assert_eq!(found.map(|(side, index, reach)| (reach, side, index)), least);
        }
    }

    /// The longest way there is, a write's from one edge to the other, and the platters have just passed: it is found all the same, also
    /// where no read waits.
    #[test]
    fn the_farthest_write_is_found_at_any_angle() {
        let profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        let clock = Clock::new(profile.geometry.rpm);
        let mechanics = Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock);
        let cylinders = mechanics.geometry.cylinders();
        let spot = mechanics.spot(mechanics.geometry.blocks() - 1);
        let (reads, mut writes) = (Sweep::with_capacity(1, cylinders), Sweep::with_capacity(1, cylinders));
        writes.insert(spot, 0);
        for now in (0..256).map(|angle| angle * TURN / 256) {
            let head = mechanics.head_at(1, now);
            let departures = [Way::Read, Way::Write].map(|way| mechanics.departure(&head, now, way));
            let sides = [(&reads, &departures[0]), (&writes, &departures[1])]
                .map(|(sweep, departure)| Side { sweep, departure });
            let found = nearest_of(sides, now, u64::MAX, |_, _, _| true);
            assert_eq!(found, Some((1, 0, departures[1].reach(now, &spot))), "at {now}");
        }
    }

    /// On a drive whose heads take longer to be switched than its arm to get anywhere, what lies under another head and has just passed
    /// is found as well.
    #[test]
    fn what_lies_under_another_head_is_found_at_any_angle() {
        let mut profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        profile.mechanics.seek = SeekCurve::Table(vec![[0.0, 0.1], [1.0, 0.1]]);
        profile.mechanics.head_switch_ms = 20.0;
        let clock = Clock::new(profile.geometry.rpm);
        let mechanics = Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock);
        let spot = mechanics.spot(mechanics.geometry.first_block(1));
        let mut sweep = Sweep::with_capacity(1, mechanics.geometry.cylinders());
        sweep.insert(spot, 0);
        for now in (0..256).map(|angle| angle * TURN / 256) {
            let departure = mechanics.departure(&mechanics.head_at(1, now), now, Way::Write);
            let expected = Some((0, departure.reach(now, &spot)));
            assert_eq!(sweep.nearest(&departure, now, u64::MAX, |_, _| true), expected, "at {now}");
        }
    }
}
