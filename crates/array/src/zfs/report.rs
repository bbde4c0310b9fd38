//! What a resilver did, and what `zpool status` would have said of it on the way.

use drive::BlockDevice;

use super::order::Order;
use super::resilver::Resilver;
use crate::members::{Counters, Members};
use crate::outcome::{Ended, MemberShare, Outcome};
use crate::progress::{Point, Progress};

/// How many looks at the progress are kept of a whole resilver.
const LOOKS: f64 = 240.0;

/// Sums over what was made, each counted for as much as it stands for.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    last: Vec<Counters>,
    /// Bytes read, bytes written, requests, nanoseconds busy.
    sums: Vec<[f64; 4]>,
    pub examined_bytes: f64,
    pub issued_bytes: f64,
    pub skipped_bytes: f64,
    /// Written to the replacement.
    pub done_bytes: f64,
    pub done_records: f64,
    pub lost_bytes: f64,
    pub failed: Option<(u64, usize)>,
    /// When a member was lost on the way.
    pub failed_at_ns: Vec<Option<u64>>,
    /// Whether that was because it erred too often.
    pub is_faulted: Vec<bool>,
    /// Whether a part has stood for more than itself.
    pub is_sampled: bool,
    points: Vec<Point>,
}

impl Tally {
    /// Of nothing yet: what the members have done before is not counted.
    pub fn new<D: BlockDevice>(members: &Members<D>) -> Self {
        let width = members.len();
        Self {
            last: (0..width).map(|member| members.counters(member)).collect(),
            sums: vec![[0.0; 4]; width],
            examined_bytes: 0.0,
            issued_bytes: 0.0,
            skipped_bytes: 0.0,
            done_bytes: 0.0,
            done_records: 0.0,
            is_sampled: false,
            lost_bytes: 0.0,
            failed: None,
            failed_at_ns: vec![None; width],
            is_faulted: vec![false; width],
            points: Vec::new(),
        }
    }

    /// The same, as a scan begins: who was lost before is missed from its beginning.
    pub fn begun_anew<D: BlockDevice>(&self, members: &Members<D>) -> Self {
        let failed_at_ns = self.failed_at_ns.iter().map(|at_ns| at_ns.map(|_| 0)).collect();
        Self { failed_at_ns, is_faulted: self.is_faulted.clone(), ..Self::new(members) }
    }

    /// Counts what the members did since the last call for so much each.
    pub fn take<D: BlockDevice>(&mut self, members: &Members<D>, weight: f64) {
        for (at, (last, sums)) in self.last.iter_mut().zip(&mut self.sums).enumerate() {
            let now = members.counters(at);
            let added = [
                now.bytes_read - last.bytes_read,
                now.bytes_written - last.bytes_written,
                now.requests - last.requests,
                now.busy_ns - last.busy_ns,
            ];
            for (sum, added) in sums.iter_mut().zip(added) {
                *sum += added as f64 * weight;
            }
            *last = now;
        }
    }

    fn share(&self, member: usize, awaited: f64) -> MemberShare {
        let [bytes_read, bytes_written, requests, busy_ns] = self.sums[member].map(|sum| sum.round() as u64);
        let counters = Counters { bytes_read, bytes_written, requests, busy_ns, ..self.last[member] };
        let (failed_at_ns, is_faulted) = (self.failed_at_ns[member], self.is_faulted[member]);
        MemberShare { counters, awaited, failed_at_ns, is_faulted }
    }
}

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
        };
        Report {
            outcome,
            deviation_ns: self.clock.deviation_ns() as u64,
            simulated_ns: self.now_ns - self.began_ns,
            allocated_bytes: self.pool.allocated_bytes(),
            records: tally.done_records.round() as u64,
        }
    }
}
