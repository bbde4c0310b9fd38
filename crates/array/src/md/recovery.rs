//! The rebuild under way: whom it fills, how far it is and how it ended.

use std::collections::VecDeque;

use super::thread::Thread;
use super::unit::Units;
use crate::members::Counters;
use crate::outcome::Ended;
use crate::progress::Progress;

/// Mirrors are recovered in blocks of this (`RESYNC_BLOCK_SIZE`),
pub(super) const BLOCK_BYTES: u64 = 64 << 10;
/// of which raid1 has so many under way behind each barrier (`RESYNC_DEPTH`),
pub(super) const RAID1_DEPTH: u64 = 32;
/// and raid10 32 MiB of them.
pub(super) const RAID10_DEPTH: u64 = 512;

/// The rebuild under way, or over.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    pub thread: Thread,
    pub replacement: usize,
    pub lost_bytes: u64,
    /// See [`unguarded_bytes`](crate::Outcome::unguarded_bytes).
    pub unguarded_bytes: u64,
    pub from: u64,
    pub began_ns: u64,
    /// How busy the members had been by then: superblocks make a full cache make room.
    pub busy_before_ns: Vec<u64>,
    pub ended: Option<End>,
    /// Units under way, the oldest first.
    pub order: VecDeque<u32>,
    pub awaited_ns: Vec<u64>,
    pub progress: Progress,
    pub next_look_bytes: u64,
}

/// The end of a rebuild, and what the members had done by then: users go on.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub at_ns: u64,
    pub how: Ended,
    pub counters: Vec<Counters>,
}

impl Recovery {
    pub fn done_bytes(&self) -> u64 {
        self.thread.position - self.thread.active_bytes - self.from
    }

    /// Does it read or write a member now, or shall it for what is on its way?
    pub fn is_using(&self, units: &Units, member: usize) -> bool {
        self.order.iter().any(|number| units.get(*number).parts.iter().any(|part| part.member == member))
    }
}
