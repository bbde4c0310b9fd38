//! The transaction group under way, and what it is at.

use std::ops::Range;

use super::own;

/// What `zpool replace` does before, in which users are at work already: it looks at the partition table of each drive, and lays
/// one on the new drive. In the lab's lists of requests users are 0.34 to 0.39 s ahead of the labels in a pool of two drives, 0.47 of
/// four, 0.52 of five and 0.60 of six.
const REPLACE_NS: u64 = 215_000_000;
const LOOK_NS: u64 = 64_000_000;

/// What a transaction group is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Waiting for what a sequential rebuild has asked for while the group was open (`spa_txg_zio`).
    Quiesced,
    /// Writing users' data.
    Data,
    /// Writing the indirect blocks above it.
    Names,
    /// The scan's turn, since then.
    Scan { since_ns: u64 },
    /// Waiting for what the scan has in flight.
    Drain,
    /// Writing what changed of the pool itself: what is allocated, how far a scan is, and the tree above it (the MOS), in passes.
    Own { pass: usize },
    /// A flush, so that all that the uberblocks will name is there.
    Flush,
    /// Half of the labels' configurations, a flush, uberblocks, a flush, and the other half with its flush
    /// (`vdev_config_sync`). Where the configuration is as it was: the uberblocks with theirs.
    Labels { part: u8 },
    /// Nothing to do until then.
    Open { until_ns: u64 },
    /// Whoever puts a drive in lays labels on it (`vdev_label_init`).
    Attach,
}

/// The transaction group under way.
#[derive(Clone, Debug)]
pub(super) struct Txg {
    pub stage: Stage,
    pub began_ns: u64,
    pub parts_left: u64,
    /// What a sequential rebuild has under way of the group that is written and of the open one, by the last bit of their numbers.
    pub rebuilding: [u64; 2],
    /// How many there were before.
    pub number: u64,
    /// The pointers have been followed: what they name is issued from the next group on.
    pub visited: bool,
    /// Where the copies of the pool's own blocks begin.
    pub own_first: own::Copies,
    /// How much groups were given of the room for each copy: what is freed there is not given out again before its end.
    pub own_taken: own::Copies,
    /// Where that room begins.
    pub own_room_at: own::Copies,
    /// What is left of the room behind the data.
    pub behind: Range<u64>,
    /// With which a scan began, of a drive that was put in while users were at work.
    pub begun_in: Option<u64>,
    /// Users had filled it before it was begun.
    pub was_kicked: bool,
    /// All is done that was to be resilvered, and is durable when this group is.
    pub is_last: bool,
}

impl Txg {
    /// Of a drive that is being put in while users are at work: the first group is the next one.
    pub fn before_attach(&mut self, now_ns: u64, drives: usize) {
        self.stage = Stage::Open { until_ns: now_ns + REPLACE_NS + LOOK_NS * drives as u64 };
    }

    pub fn new(now_ns: u64) -> Self {
        Self {
            stage: Stage::Data,
            began_ns: now_ns,
            parts_left: 0,
            rebuilding: [0; 2],
            number: 0,
            visited: false,
            own_first: [0; own::COPIES as usize],
            own_taken: [0; own::COPIES as usize],
            own_room_at: [0; own::COPIES as usize],
            behind: 0..0,
            begun_in: None,
            was_kicked: false,
            is_last: false,
        }
    }

    /// Does the scan begin in it, of a drive that was put in some groups ago?
    pub fn begins_scan(&self) -> bool {
        self.begun_in == Some(self.number)
    }
}
