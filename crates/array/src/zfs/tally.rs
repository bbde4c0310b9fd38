//! What is counted as a resilver goes on.

use drive::BlockDevice;

use crate::members::{Counters, Members};
use crate::outcome::MemberShare;
use crate::progress::Point;

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
    /// See [`unguarded_bytes`](crate::Outcome::unguarded_bytes).
    pub unguarded_bytes: f64,
    /// For how long cores of the host were at it, all together.
    pub computed_ns: u64,
    pub failed: Option<(u64, usize)>,
    /// When a member was lost on the way.
    pub failed_at_ns: Vec<Option<u64>>,
    /// Whether that was because it erred too often.
    pub is_faulted: Vec<bool>,
    /// Whether a part has stood for more than itself.
    pub is_sampled: bool,
    pub points: Vec<Point>,
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
            unguarded_bytes: 0.0,
            computed_ns: 0,
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

    pub fn share(&self, member: usize, awaited: f64) -> MemberShare {
        let [bytes_read, bytes_written, requests, busy_ns] = self.sums[member].map(|sum| sum.round() as u64);
        let counters = Counters { bytes_read, bytes_written, requests, busy_ns, ..self.last[member] };
        let (failed_at_ns, is_faulted) = (self.failed_at_ns[member], self.is_faulted[member]);
        MemberShare { counters, awaited, failed_at_ns, is_faulted }
    }
}
