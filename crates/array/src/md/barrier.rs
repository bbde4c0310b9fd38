//! The barrier of raid1 and raid10, which keeps a recovery and the host's requests apart (`raise_barrier`,
//! `wait_barrier`): in raid10 everywhere, in raid1 only writes into the 64 MiB that are being filled.

use std::collections::{HashMap, VecDeque};

use drive::{BlockDevice, Request, Verb};

use super::array::Array;
use super::recovery::{BLOCK_BYTES, RAID10_DEPTH, RAID1_DEPTH};
use super::thread::{Mood, Thread};
use crate::layout::Layout;

/// raid1 has a barrier for each of these (`BARRIER_UNIT_SECTOR_SIZE`). That in Linux a 1024th of them share one is left out.
const BUCKET_BYTES: u64 = 64 << 20;

/// Where it is, who is on which side of it and who waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    /// For the recovery's next block; it is also up as long as any is on its way.
    raised: bool,
    /// Which of raid1's.
    bucket: u64,
    /// The recovery has seen whether anybody waits before it asks for its next block.
    looked: bool,
    /// The first waits, and with it what the same program would have asked for next.
    pub held: VecDeque<Request>,
    /// Requests of the host that are under way, by bucket.
    pending: HashMap<u64, u32>,
}

impl Barrier {
    pub fn enter(&mut self, bucket: u64) {
        *self.pending.entry(bucket).or_default() += 1;
    }

    pub fn leave(&mut self, bucket: u64) {
        if let Some(count) = self.pending.get_mut(&bucket) {
            *count -= 1;
            if *count == 0 {
                self.pending.remove(&bucket);
            }
        }
    }
}

impl<D: BlockDevice> Array<D> {
    /// Which barrier a place of the array, or of the replacement, lies behind.
    pub(super) fn bucket(&self, offset_bytes: u64) -> u64 {
        match self.options.layout {
            Layout::Raid1 => offset_bytes / BUCKET_BYTES,
            _ => 0,
        }
    }

    /// Does a request of the host have to wait where the barrier is up?
    fn concerns(&self, bucket: u64, request: &Request) -> bool {
        match self.options.layout {
            Layout::Raid10 => true,
            Layout::Raid1 => request.verb != Verb::Read && self.bucket(request.offset_bytes) == bucket,
            _ => false,
        }
    }

    fn is_stopped(&self, request: &Request) -> bool {
        let active = self.recovery.as_ref().map_or(0, |recovery| recovery.thread.active_bytes);
        (self.barrier.raised || active > 0) && self.concerns(self.barrier.bucket, request)
    }

    /// A request of the host, behind those that wait.
    pub(super) fn pass_barrier(&mut self, request: Request) {
        if !self.barrier.held.is_empty() || self.is_stopped(&request) {
            self.barrier.held.push_back(request);
        } else {
            self.let_in(request);
        }
    }

    /// Lets in who waits, once the recovery has passed. A recovery that waits for its turn wakes when the first of them is
    /// let in, and has raised the barrier before the same program comes with the next. One that waits until all it asked for is
    /// done wakes behind the program, which goes on as far as it can.
    pub(super) fn lower_barrier(&mut self) {
        if self.barrier.held.front().is_none_or(|first| self.is_stopped(first)) {
            return;
        }
        let has_turn = self.recovery.as_ref().is_some_and(|recovery| recovery.thread.mood == Mood::Asks);
        let mut held = std::mem::take(&mut self.barrier.held);
        if let Some(first) = held.pop_front() {
            self.let_in(first);
        }
        if has_turn {
            self.recover_on();
        }
        for next in held {
            self.pass_barrier(next);
        }
    }

    /// How many bytes the recovery may ask for: it and the host's requests take turns.
    pub(super) fn room_behind_barrier(&mut self, thread: &mut Thread) -> u64 {
        let bucket = self.bucket(thread.position);
        let waiting = self.barrier.held.front().is_some_and(|first| self.concerns(bucket, first));
        if !std::mem::replace(&mut self.barrier.looked, true) && waiting {
            // They have a turn if what is on its way ends meanwhile.
            thread.nap(self.now_ns, self.options.jiffy_ns);
            return 0;
        }
        if !self.barrier.raised && waiting {
            return 0;
        }
        (self.barrier.raised, self.barrier.bucket) = (true, bucket);
        let (depth, end) = match self.options.layout {
            Layout::Raid1 => (RAID1_DEPTH, (bucket + 1) * BUCKET_BYTES),
            _ => (RAID10_DEPTH, u64::MAX),
        };
        // The one that waits for room counts, too.
        let room = ((depth - 1) * BLOCK_BYTES).saturating_sub(thread.active_bytes).min(end - thread.position);
        if self.barrier.pending.contains_key(&bucket) || room == 0 {
            return 0;
        }
        (self.barrier.raised, self.barrier.looked) = (false, false);
        if waiting {
            room.min(BLOCK_BYTES)
        } else {
            room
        }
    }
}
