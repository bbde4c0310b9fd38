//! What came of a rebuild.

use crate::members::Counters;
use crate::progress::Progress;

/// How a rebuild ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything is where it should be.
    Complete,
    /// So many bytes could not be rebuilt: a sector was unreadable and no redundancy was left.
    WithLosses {
        /// How many.
        lost_bytes: u64,
    },
    /// The array is lost, as more members failed than the layout survives, or the replacement is.
    Failed {
        /// Since the rebuild began.
        at_ns: u64,
        /// The member whose loss was one too many, or the replacement.
        member: usize,
    },
}

/// One member's part in the time that a rebuild took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberShare {
    /// What it did.
    pub counters: Counters,
    /// The share of the time in which the rebuild waited for this member and no other, 0..=1.
    pub awaited: f64,
    /// When the array left it out because of an error, since the rebuild began; `None` of one that is still there.
    pub failed_at_ns: Option<u64>,
}

/// What came of a rebuild. Which member was the bottleneck is the one with the largest [`MemberShare::awaited`].
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the beginning to the end, in nanoseconds.
    pub duration_ns: u64,
    /// How.
    pub ended: Ended,
    /// In the order of the members; the replacement stands in the place of the one it replaces.
    pub members: Vec<MemberShare>,
    /// Its place.
    pub replacement: usize,
    /// How far it was when.
    pub progress: Progress,
}

impl Outcome {
    /// The member that the rebuild waited for longest.
    pub fn slowest(&self) -> usize {
        let shares = self.members.iter().enumerate();
        shares.max_by(|one, other| one.1.awaited.total_cmp(&other.1.awaited)).map_or(0, |(member, _)| member)
    }
}
