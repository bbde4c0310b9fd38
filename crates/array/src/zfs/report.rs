//! What a resilver did, and what `zpool status` would have said of it on the way.

use drive::BlockDevice;

use super::order::Order;
use super::resilver::Resilver;
use crate::outcome::{Ended, Outcome};
use crate::progress::{Point, Progress};

/// How many looks at the progress are kept of a whole resilver.
const LOOKS: f64 = 240.0;

/// What came of a resilver.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// As of any rebuild; with a distributed spare, `replacement` is the place of the drive that stays lost.
    pub outcome: Outcome,
    /// One standard deviation of the duration, of making only a part request by request; 0 where all was made.
    pub deviation_ns: u64,
    /// Time that was made request by request.
    pub simulated_ns: u64,
    /// Bytes of the vdev that are allocated: what `zpool status` calls scanned when all is.
    pub allocated_bytes: u64,
    /// Records of users that were rebuilt.
    pub records: u64,
    /// The share of their time in which the host's cores verified and rebuilt.
    pub cores_busy: f64,
}

impl<D: BlockDevice> Resilver<D> {
    /// A look now and then of what is gone through as a whole; windows of a sample are looked at as they end.
    pub(super) fn look_at_progress(&mut self) {
        let is_whole = self.windows.front().is_some_and(|window| !window.is_sampled());
        let looks = (self.tally.done_records / self.pool.records.max(1) as f64 * LOOKS) as usize;
        let last_ns = self.tally.points.last().map_or(0, |last| last.at_ns);
        if is_whole && looks >= self.tally.points.len() && self.clock.at(self.now_ns) as u64 > last_ns {
            self.note_progress();
        }
    }

    /// A look at how far it is, as `zpool status` would have shown it.
    pub(super) fn note_progress(&mut self) {
        let at_ns = self.clock.at(self.now_ns);
        let (shown_bytes_per_s, left_s) = self.status(at_ns / 1e9);
        self.tally.points.push(Point {
            at_ns: at_ns as u64,
            done_bytes: self.tally.done_bytes as u64,
            shown_bytes_per_s,
            left_ns: left_s.map(|left_s| (left_s * 1e9) as u64),
        });
    }

    /// The rate and the seconds left that `print_scan_scrub_resilver_status` (before 0.8 `print_scan_status`, of sequential
    /// rebuilds `print_rebuild_status_impl`) would have printed after so many seconds.
    fn status(&self, elapsed_s: f64) -> (f64, Option<f64>) {
        let total = self.pool.allocated_bytes() as f64;
        let elapsed_s = elapsed_s.floor().max(1.0);
        let issued = self.plan.tunables.status_counts_issued && self.plan.order != Order::Sequential;
        let (done, total) = if issued {
            (self.tally.issued_bytes, total - self.tally.skipped_bytes)
        } else {
            (self.tally.examined_bytes, total)
        };
        let rate = done / elapsed_s;
        let left_s = (total - done).max(0.0) / rate.max(1.0);
        let says = if self.plan.tunables.status_counts_issued {
            rate >= f64::from(10 << 20) && done <= total
        } else {
            left_s < 30.0 * 86_400.0
        };
        (rate, says.then_some(left_s))
    }

    /// Which share of what is allocated has been gone through, 0..=1.
    pub fn done(&self) -> f64 {
        let whole = self.is_over() && self.tally.failed.is_none();
        let gone_through = self.tally.examined_bytes / self.pool.allocated_bytes().max(1) as f64;
        if whole {
            1.0
        } else {
            gone_through.min(1.0)
        }
    }

    /// Whether a part has stood for more than itself.
    pub fn is_sampled(&self) -> bool {
        self.tally.is_sampled
    }

    /// What came of it so far; of a resilver that is over, the whole.
    pub fn report(&self) -> Report {
        let duration_ns = self.elapsed_ns();
        let lost_bytes = self.tally.lost_bytes.round() as u64;
        let ended = match self.tally.failed {
            Some((at_ns, member)) => Ended::Failed { at_ns, member },
            None if lost_bytes > 0 => Ended::WithLosses { lost_bytes },
            None => Ended::Complete,
        };
        let mut tally = self.tally.clone();
        tally.take(self.members(), self.clock.weight());
        let mut waiting = self.waiting.clone();
        waiting.pass(self.now_ns, self.clock.weight());
        let awaited = |member: usize| waiting.alone_ns(member) / duration_ns.max(1) as f64;
        let members = (0..self.pool.geometry.width()).map(|member| tally.share(member, awaited(member))).collect();
        let outcome = Outcome {
            duration_ns,
            ended,
            members,
            replacement: self.plan.lost,
            progress: Progress { points: tally.points },
            done: self.done(),
            unguarded_bytes: tally.unguarded_bytes.round() as u64,
        };
        let simulated_ns = self.now_ns - self.began_ns;
        let core_ns = simulated_ns.max(1) as f64 * f64::from(self.plan.host.cores);
        Report {
            outcome,
            deviation_ns: self.clock.deviation_ns() as u64,
            simulated_ns,
            allocated_bytes: self.pool.allocated_bytes(),
            records: tally.done_records.round() as u64,
            cores_busy: (tally.computed_ns as f64 / core_ns).min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::{drives, plan};
    use super::super::{Geometry, Plan, Tunables};
    use super::*;

    /// By hand: of what is allocated a half was examined in 8.9 s, a quarter issued, and an eighth skipped. Seconds are whole.
    #[test]
    fn a_status_is_of_what_was_issued_or_examined() {
        for (order, tunables, done, left_s) in [
            // Of seven eighths, less what was issued.
            (Order::Sorted, Tunables::v2_3(), 0.25, 20.0),
            (Order::Sequential, Tunables::v2_3(), 0.5, 8.0),
            (Order::Blocks, Tunables::v0_6(), 0.5, 8.0),
        ] {
            let plan = Plan { tunables, ..plan(Geometry::mirror(2, 12).unwrap(), order, 2 << 30) };
            let drives = drives(&plan);
            let mut resilver = Resilver::new(plan, drives, 0).unwrap();
            let total = resilver.pool.allocated_bytes() as f64;
            let tally = &mut resilver.tally;
            (tally.examined_bytes, tally.issued_bytes, tally.skipped_bytes) = (total / 2.0, total / 4.0, total / 8.0);
            assert_eq!(resilver.status(8.9), (done * total / 8.0, Some(left_s)), "{order:?}");
        }
    }

    /// With less than 10 MiB in a second nothing is said of what is left; before 0.8 with more than 30 days.
    #[test]
    fn a_status_says_nothing_of_a_time_that_is_too_long_to_be_known() {
        let of = |order, tunables, examined: &dyn Fn(f64) -> f64| {
            let plan = Plan { tunables, ..plan(Geometry::mirror(2, 12).unwrap(), order, 2 << 30) };
            let drives = drives(&plan);
            let mut resilver = Resilver::new(plan, drives, 0).unwrap();
            let bytes = examined(resilver.pool.allocated_bytes() as f64);
            (resilver.tally.examined_bytes, resilver.tally.issued_bytes) = (bytes, bytes);
            resilver.status(8.0).1.is_some()
        };
        let ten = |less: f64| of(Order::Sorted, Tunables::v2_3(), &move |_| f64::from(80 << 20) - less);
        assert_eq!([ten(0.0), ten(8.0)], [true, false]);
        let days = |days: f64| of(Order::Blocks, Tunables::v0_6(), &move |total| total / (1.0 + days * 86_400.0 / 8.0));
        assert_eq!([days(29.0), days(31.0)], [true, false]);
    }
}
