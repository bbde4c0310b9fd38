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
    /// The share of the time in which the rebuild waited for this member and no other, 0..=1: of md its oldest stripe, or
    /// copy, of ZFS all that it had asked for.
    pub awaited: f64,
    /// When the array left it out because of an error, since the rebuild began; `None` of one that is still there.
    pub failed_at_ns: Option<u64>,
    /// Of ZFS: whether that was because it erred too often, so that it was set faulty.
    pub is_faulted: bool,
}

/// What came of a rebuild.
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
    /// Which share of it was done at the end, 0..=1.
    pub done: f64,
    /// What it asked the other members for where nothing stood in for what they could not read; what was asked for again counts once.
    pub unguarded_bytes: u64,
}
