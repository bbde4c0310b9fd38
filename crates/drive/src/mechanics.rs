//! The arm and the spindle: how long it takes from where the heads are to the end of a transfer.

use crate::clock::{Clock, PHASE_MASK, TURN};
use crate::geometry::{Geometry, Place};
use crate::profile::{MechanicsProfile, SeekCurve};
use crate::truth::Truth;

/// Heads that have not moved yet: where they can park they are parked, as after any rest.
pub(crate) const NEVER: u64 = u64::MAX;

/// Points at which the seek curve is tabulated; between them it is a straight line.
const CURVE_STEPS: u64 = 4096;

/// Ticks from one entry to the next in the table of what the arm reaches, and for how many it is made.
const REACH_STEP: u64 = TURN / 256;
const REACH_STEPS: u64 = 1024;

/// Where a transfer would begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    pub track: u32,
    pub cylinder: u32,
    pub phase: u32,
}

/// Where the heads are, and since when they have been at rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Of the last block that passed under them, or of one on the track that they found.
    pub place: Place,
    pub rested_at: u64,
}

/// Whether the heads come to read or to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
}

/// A transfer's course, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The first sector comes under the head.
    pub begins: u64,
    /// The last sector has passed.
    pub ends: u64,
}

/// Blocks that the heads pass over in one go, worked out once for as often as they do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretch {
    first: Spot,
    /// Where the last of them lies.
    last: Place,
    ticks: u64,
}

/// The moving parts.
#[derive(Clone, Debug)]
pub(crate) struct Mechanics {
    pub geometry: Geometry,
    /// Seek time at `i / CURVE_STEPS` of the full stroke; the first point is the next cylinder.
    curve: Vec<u64>,
    /// Cylinders to a position on the curve, in 1/2^16 of a step.
    curve_scale: u64,
    /// Cylinders that lie within the arm's reach before 1, 2, 3, ... times `REACH_STEP` ticks have passed.
    within: Vec<u32>,
    write_settle: u64,
    head_switch: u64,
    park_after: u64,
    unpark: u64,
    spin_down_after: u64,
    spin_up: u64,
}

impl Mechanics {
    pub fn new(profile: &MechanicsProfile, geometry: Geometry, clock: &Clock) -> Self {
        let span = |ms: f64| clock.span(ms * 1e6);
        let curve =
            (0..=CURVE_STEPS).map(|step| span(seek_ms(&profile.seek, step as f64 / CURVE_STEPS as f64))).collect();
        let stroke = (geometry.cylinders() - 1).max(1);
        let after = |s: f64| if s > 0.0 { span(s * 1e3) } else { u64::MAX };
        let spin_down_after = after(profile.spin_down_after_s);
        let mut this = Self {
            curve,
            curve_scale: (CURVE_STEPS << 32) / stroke,
            within: Vec::new(),
            write_settle: span(profile.write_settle_ms),
            head_switch: span(profile.head_switch_ms),
            // Heads leave platters that stop.
            park_after: after(profile.park_after_s).min(spin_down_after),
            unpark: span(profile.unpark_ms),
            spin_down_after,
            spin_up: span(profile.spin_up_s * 1e3),
            geometry,
        };
        this.within = (1..=REACH_STEPS).map(|step| this.cylinders_within(step * REACH_STEP, stroke)).collect();
        this
    }

    /// As many of `stroke` cylinders as the arm crosses in less than so many ticks.
    fn cylinders_within(&self, ticks: u64, stroke: u64) -> u32 {
        let (mut low, mut high) = (0, stroke);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.seek_ticks(middle) < ticks {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low as u32
    }

    /// Seek time over `cylinders` cylinders, at least one.
    #[inline]
    fn seek_ticks(&self, cylinders: u64) -> u64 {
        let position = (cylinders - 1) * self.curve_scale;
        let (step, part) = ((position >> 32) as usize, (position & 0xffff_ffff) >> 16);
        let low = self.curve[step];
        match self.curve.get(step + 1) {
            Some(high) => low + (((high - low) * part) >> 16),
            None => low,
        }
    }

    /// Whether heads that rest have been put on the ramp.
    pub fn is_parked(&self, head: &Head, now: u64) -> bool {
        let never_moved = head.rested_at == NEVER && self.park_after < u64::MAX;
        never_moved || now.saturating_sub(head.rested_at) > self.park_after
    }

    /// Whether the platters of parked heads have been stopped.
    fn stands(&self, head: &Head, now: u64) -> bool {
        let rested_at = if head.rested_at == NEVER { 0 } else { head.rested_at };
        now.saturating_sub(rested_at) > self.spin_down_after
    }

    /// From power on until the heads can move.
    pub fn start_ticks(&self) -> u64 {
        self.spin_up.max(self.unpark)
    }

    /// The heads about to move at `now`.
    #[inline]
    pub fn departure(&self, head: &Head, now: u64, way: Way) -> Departure<'_> {
        let settle = if way == Way::Write { self.write_settle } else { 0 };
        let from_ramp = self.is_parked(head, now).then(|| {
            let starts = if self.stands(head, now) { self.spin_up } else { self.unpark };
            settle + starts
        });
        let within = if from_ramp.is_some() { &[] } else { self.within.as_slice() };
        Departure { mechanics: self, track: head.place.track, cylinder: head.place.cylinder, settle, within, from_ramp }
    }

    /// Where a transfer from a block on begins.
    pub fn spot(&self, block: u64) -> Spot {
        self.spot_at(&self.geometry.place(block))
    }

    #[inline]
    fn spot_at(&self, place: &Place) -> Spot {
        Spot { track: place.track as u32, cylinder: place.cylinder as u32, phase: self.geometry.phase(place) as u32 }
    }

    /// The way over `first..end`.
    #[inline(always)]
    pub fn stretch(&self, first: u64, end: u64) -> Stretch {
        self.stretch_from(&self.geometry.place(first), end - first)
    }

    /// The way over so many blocks behind others.
    pub fn stretch_behind(&self, others: &Stretch, blocks: u64) -> Stretch {
        self.stretch_from(&self.geometry.last(&others.last, 2), blocks)
    }

    /// The way over so many blocks from a place on.
    #[inline(always)]
    pub fn stretch_from(&self, place: &Place, blocks: u64) -> Stretch {
        let last = self.geometry.last(place, blocks);
        Stretch { first: self.spot_at(place), ticks: self.geometry.transfer_ticks(place, &last), last }
    }

    /// The heads at rest where a transfer up to, not including, `end_block` left them.
    pub fn head_at(&self, end_block: u64, rested_at: u64) -> Head {
        Head { place: self.geometry.place(end_block - 1), rested_at }
    }
}

/// Heads that are about to move: what is the same wherever they go.
pub(crate) struct Departure<'a> {
    mechanics: &'a Mechanics,
    track: u64,
    cylinder: u64,
    settle: u64,
    /// Cylinders that the arm crosses before 1, 2, 3, ... times `REACH_STEP` ticks have passed after settling; all behind the last.
    within: &'a [u32],
    /// From the ramp every way takes the same.
    from_ramp: Option<u64>,
}

impl Departure<'_> {
    /// The first and the last cylinder that the arm may reach within so many ticks; none beyond is reached.
    #[inline]
    pub fn cylinders_within(&self, ticks: u64) -> (u64, u64) {
        let step = ticks.saturating_sub(self.settle) / REACH_STEP;
        let within = u64::from(self.within.get(step as usize).copied().unwrap_or(u32::MAX));
        (self.cylinder.saturating_sub(within), self.cylinder + within)
    }

    /// Within so many ticks the arm gets everywhere.
    pub fn longest(&self) -> u64 {
        self.from_ramp
            .unwrap_or(self.mechanics.curve[CURVE_STEPS as usize].max(self.mechanics.head_switch) + self.settle)
    }

    /// From the decision to move, at `now`, until a spot comes under the head.
    #[inline]
    pub fn reach(&self, now: u64, spot: &Spot) -> u64 {
        let ticks = self.ticks_to(u64::from(spot.track), u64::from(spot.cylinder));
        ticks + (u64::from(spot.phase).wrapping_sub(now + ticks) & PHASE_MASK)
    }

    /// From the decision to move until the head can find a sector of a track.
    #[inline]
    pub fn ticks_to(&self, track: u64, cylinder: u64) -> u64 {
        if let Some(ticks) = self.from_ramp {
            return ticks;
        }
        let distance = cylinder.abs_diff(self.cylinder);
        if distance > 0 {
            self.mechanics.seek_ticks(distance) + self.settle
        } else if track != self.track {
            self.mechanics.head_switch + self.settle
        } else {
            0
        }
    }
}

/// The arm at work: moves the heads and counts what they do.
pub(crate) struct Arm<'a> {
    pub mechanics: &'a Mechanics,
    pub head: &'a mut Head,
    pub truth: &'a mut Truth,
}

impl Arm<'_> {
    /// Moves over blocks of the surface.
    pub fn transfer(&mut self, begin: u64, first: u64, end: u64, way: Way) -> Access {
        self.pass_over(begin, &self.mechanics.stretch(first, end), way)
    }

    /// The same where the way is known.
    #[inline(always)]
    pub fn pass_over(&mut self, begin: u64, stretch: &Stretch, way: Way) -> Access {
        let departure = self.depart(begin, u64::from(stretch.first.cylinder), way);
        let begins = begin + departure.reach(begin, &stretch.first);
        let ends = begins + stretch.ticks;
        *self.head = Head { place: stretch.last, rested_at: ends };
        Access { begins, ends }
    }

    /// Moves to the track of a block, without waiting for it, and stays there for `ticks`; returns when that is over.
    pub fn visit(&mut self, begin: u64, block: u64, ticks: u64) -> u64 {
        let place = self.mechanics.geometry.place(block);
        let ends = begin + self.depart(begin, place.cylinder, Way::Write).ticks_to(place.track, place.cylinder) + ticks;
        *self.head = Head { place, rested_at: ends };
        ends
    }

    /// Begins to move, to some place in a cylinder.
    #[inline]
    fn depart(&mut self, begin: u64, cylinder: u64, way: Way) -> Departure<'_> {
        let departure = self.mechanics.departure(self.head, begin, way);
        if departure.from_ramp.is_some() {
            self.truth.unparks += 1;
            self.truth.spin_ups += u64::from(self.mechanics.stands(self.head, begin));
        }
        self.truth.seeks += u64::from(cylinder != self.head.place.cylinder);
        departure
    }
}

/// The factors of `single + root sqrt(x) + line x` through the three figures of a data sheet, x being the share of the full
/// stroke. The average is that of all seeks between two cylinders, as vendors measure it: over them sqrt(x) is 8/15, and x a third.
pub(crate) fn curve(single_track_ms: f64, average_ms: f64, full_stroke_ms: f64) -> (f64, f64) {
    let (mean_root, mean_share) = (8.0 / 15.0, 1.0 / 3.0);
    let full = full_stroke_ms - single_track_ms;
    let root = (average_ms - single_track_ms - full * mean_share) / (mean_root - mean_share);
    (root, full - root)
}

fn seek_ms(seek: &SeekCurve, share: f64) -> f64 {
    match seek {
        SeekCurve::Points { single_track_ms, average_ms, full_stroke_ms } => {
            let (root, line) = curve(*single_track_ms, *average_ms, *full_stroke_ms);
            single_track_ms + root * share.sqrt() + line * share
        }
        SeekCurve::Table(points) => {
            let after = points.partition_point(|point| point[0] <= share).clamp(1, points.len() - 1);
            let ([x0, y0], [x1, y1]) = (points[after - 1], points[after]);
            y0 + (y1 - y0) * (share - x0) / (x1 - x0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn mechanics(seek: Option<SeekCurve>) -> (Mechanics, Clock) {
        let mut profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        profile.mechanics.seek = seek.unwrap_or(profile.mechanics.seek);
        let clock = Clock::new(profile.geometry.rpm);
        (Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock), clock)
    }

    /// Seek time in ms over a share of the full stroke.
    fn over(mechanics: &Mechanics, clock: &Clock, share: f64) -> f64 {
        let stroke = (mechanics.geometry.cylinders() - 1) as f64;
        clock.ns(mechanics.seek_ticks(((share * stroke) as u64).max(1))) as f64 / 1e6
    }

    #[test]
    fn the_curve_goes_through_its_ends_and_its_mean_over_all_seeks_is_the_average() {
        let (mechanics, clock) = mechanics(None);
        for (share, expected_ms) in [(0.0, 0.8), (1.0, 16.5)] {
            let found_ms = over(&mechanics, &clock, share);
            assert!((found_ms - expected_ms).abs() < 0.01, "{share}: {found_ms} instead of {expected_ms}");
        }
        // Of n cylinders 2 (n - d) pairs lie d apart.
        let steps = 10_000;
        let mean_ms: f64 = (0..steps)
            .map(|step| (f64::from(step) + 0.5) / f64::from(steps))
            .map(|share| 2.0 * (1.0 - share) * over(&mechanics, &clock, share) / f64::from(steps))
            .sum();
        assert!((mean_ms - 8.5).abs() < 0.01, "{mean_ms} instead of 8.5");
    }

    #[test]
    fn a_table_goes_through_its_points() {
        let points = vec![[0.0, 1.0], [0.25, 6.0], [0.5, 7.0], [1.0, 19.0]];
        let (mechanics, clock) = mechanics(Some(SeekCurve::Table(points.clone())));
        for [share, expected_ms] in points {
            assert!((over(&mechanics, &clock, share) - expected_ms).abs() < 0.01);
        }
    }

    /// The heads take for each distance what the curve has for it: on a straight one every cylinder more costs the same, and
    /// the first point is the next cylinder.
    #[test]
    fn the_way_takes_what_the_curve_has_for_its_distance() {
        let (mechanics, clock) = mechanics(Some(SeekCurve::Table(vec![[0.0, 2.0], [1.0, 1002.0]])));
        let cylinders = mechanics.geometry.cylinders();
        let heads = mechanics.geometry.tracks() / cylinders;
        let cylinder_ms = 1000.0 / (cylinders - 1) as f64;
        let head = mechanics.head_at(1, 0);
        let departure = mechanics.departure(&head, 0, Way::Read);
        // Whole steps of the table and parts of them, of all sizes.
        for distance in (1..64).chain((64..cylinders).step_by(997)).chain([cylinders - 1]) {
            let expected_ms = 2.0 + cylinder_ms * (distance - 1) as f64;
            let found_ms = clock.ns(departure.ticks_to(distance * heads, distance)) as f64 / 1e6;
            let off_ms = (found_ms - expected_ms).abs();
            assert!(off_ms < cylinder_ms / 4.0, "{distance}: {found_ms} instead of {expected_ms}");
        }
    }

    #[test]
    fn longer_seeks_never_take_less() {
        let (mechanics, _) = mechanics(None);
        let stroke = mechanics.geometry.cylinders() - 1;
        let times: Vec<u64> = (0..1000).map(|step| mechanics.seek_ticks(1 + step * (stroke - 1) / 999)).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    /// Writing takes the settling more, to whatever other track, and nothing where the head is; back is as far as there.
    #[test]
    fn a_write_settles_wherever_the_heads_have_moved() {
        let (mechanics, _) = mechanics(None);
        let heads = 16;
        for (from, to, settles) in [(0, 0, false), (0, 1, true), (heads, 5 * heads, true), (7, 1000 * heads, true)] {
            let ticks = |from: u64, to: u64, way| {
                let head = mechanics.head_at(mechanics.geometry.first_block(from) + 1, 0);
                mechanics.departure(&head, 0, way).ticks_to(to, mechanics.geometry.cylinder(to))
            };
            let more = ticks(from, to, Way::Write) - ticks(from, to, Way::Read);
            assert_eq!(more, if settles { mechanics.write_settle } else { 0 }, "from {from} to {to}");
            assert_eq!(ticks(from, to, Way::Read), ticks(to, from, Way::Read), "from {from} to {to} and back");
        }
    }

    /// Heads that are put on the ramp after a second, over platters that stop after two.
    fn resting() -> (Mechanics, Clock) {
        let mut profile = Profile::parse(include_str!("../../../drives/st12000vn0007.toml")).unwrap();
        let clock = Clock::new(profile.geometry.rpm);
        let resting = &mut profile.mechanics;
        (resting.park_after_s, resting.unpark_ms) = (1.0, 300.0);
        (resting.spin_down_after_s, resting.spin_up_s) = (2.0, 8.0);
        (Mechanics::new(&profile.mechanics, Geometry::new(&profile.geometry, 0), &clock), clock)
    }

    /// From the ramp, over platters that turn or stand, a write takes the settling more, as from anywhere.
    #[test]
    fn a_write_settles_from_the_ramp_too() {
        let (mechanics, clock) = resting();
        let head = mechanics.head_at(1, 0);
        for (rested_ms, starts_ms) in [(1_500.0, 300.0), (2_500.0, 8_000.0)] {
            let now = clock.span(rested_ms * 1e6);
            let ticks = |way| mechanics.departure(&head, now, way).ticks_to(0, 0);
            assert_eq!(ticks(Way::Read), clock.span(starts_ms * 1e6));
            assert_eq!(ticks(Way::Write) - ticks(Way::Read), mechanics.write_settle);
        }
    }

    /// Heads rest from the end of their work on, be that a transfer or a long stay at a track; and of those that leave the ramp
    /// only some have platters that stand.
    #[test]
    fn rest_begins_when_the_work_ends() {
        let (mechanics, clock) = resting();
        let (mut head, mut truth) = (mechanics.head_at(1, 0), Truth::default());
        let mut arm = Arm { mechanics: &mechanics, head: &mut head, truth: &mut truth };
        let (stay, rest) = (clock.span(5e9), clock.span(1e9));
        let visited = arm.visit(0, 0, stay);
        assert!(visited >= stay && !mechanics.is_parked(arm.head, visited + rest));
        assert!(mechanics.is_parked(arm.head, visited + rest + 1));
        let unparked = arm.transfer(visited + rest + 1, 0, 8, Way::Read);
        assert_eq!((arm.truth.unparks, arm.truth.spin_ups), (1, 0));
        arm.transfer(unparked.ends + 2 * rest + 1, 0, 8, Way::Read);
        assert_eq!((arm.truth.unparks, arm.truth.spin_ups), (2, 1));
        assert_eq!(arm.truth.seeks, 0, "all of it lies in one cylinder");
    }

    /// Who looks for the nearest leaves out what lies beyond the arm's reach: nothing to which it gets sooner, even by a tick.
    #[test]
    fn what_the_arm_gets_to_lies_within_its_reach() {
        let (mechanics, _) = mechanics(None);
        let last = mechanics.geometry.cylinders() - 1;
        let heads = mechanics.geometry.tracks() / mechanics.geometry.cylinders();
        for (at, way) in [(0, Way::Read), (last / 3, Way::Read), (last / 3, Way::Write), (last, Way::Write)] {
            let head = mechanics.head_at(mechanics.geometry.first_block(at * heads) + 1, 0);
            let departure = mechanics.departure(&head, 0, way);
            for distance in (1..100).chain((100..last).step_by(997)).chain([last]) {
                let there = [at.checked_sub(distance), Some(at + distance).filter(|cylinder| *cylinder <= last)];
                for cylinder in there.into_iter().flatten() {
                    let ticks = departure.ticks_to(cylinder * heads, cylinder);
                    let (first, end) = departure.cylinders_within(ticks + 1);
                    assert!((first..=end).contains(&cylinder), "from {at} to {cylinder}: only {first} to {end}");
                }
            }
        }
    }

    #[test]
    fn the_next_cylinder_takes_the_first_point() {
        let (mechanics, clock) = mechanics(None);
        assert_eq!(mechanics.seek_ticks(1), clock.span(0.8e6));
    }
}
