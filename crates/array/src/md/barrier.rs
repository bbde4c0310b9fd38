//! The barrier of raid1 and raid10, which keeps a recovery and the host's requests apart (`raise_barrier`,
//! `wait_barrier`): in raid10 everywhere, in raid1 only writes into the 64 MiB that are being filled.

use std::collections::HashMap;

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
    /// Who waits, one request of each program.
    pub held: Vec<Request>,
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

    /// A request of the host that has begun.
    pub(super) fn pass_barrier(&mut self, request: Request) {
        if self.is_stopped(&request) {
            self.barrier.held.push(request);
        } else {
            self.let_in(request);
        }
    }

    /// Lets in who waits, once the recovery has passed. Where that waits for its turn, the first that is let in wakes it: if it
    /// goes first, it has raised the barrier before the same program comes with the next. If it waits until all it asked for
    /// is done, it wakes with the program: if it goes first, it sees who waits, and sleeps. A program that goes first goes on as
    /// far as it can.
    pub(super) fn lower_barrier(&mut self) {
        if self.barrier.held.iter().all(|request| self.is_stopped(request)) {
            return;
        }
        let recovery_first = self.processor.recovery_precedes_program();
        if recovery_first {
            self.recover_on();
        }
        let has_turn = self.recovery.as_ref().is_some_and(|recovery| recovery.thread.mood == Mood::Asks);
        for request in std::mem::take(&mut self.barrier.held) {
            self.pass_barrier(request);
        }
        if recovery_first && has_turn {
            self.recover_on();
        }
        self.load_goes_on();
    }

    /// How many bytes the recovery may ask for: it and the host's requests take turns.
    pub(super) fn room_behind_barrier(&mut self, thread: &mut Thread) -> u64 {
        let bucket = self.bucket(thread.position);
        let waiting = self.barrier.held.iter().any(|request| self.concerns(bucket, request));
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
