//! The barrier of raid1 and raid10, which keeps a recovery and the host's requests apart (`raise_barrier`,
//! `wait_barrier`): in raid10 everywhere, in raid1 only writes into the 64 MiB that are being filled.

use std::collections::{HashMap, VecDeque};

use drive::{BlockDevice, Request, Verb};

use super::array::Array;
use super::recovery::{BLOCK_BYTES, RAID10_DEPTH, RAID1_DEPTH};
use super::thread::Thread;
use crate::layout::Layout;

/// raid1 has a barrier for each of these (`BARRIER_UNIT_SECTOR_SIZE`). That in Linux a 1024th of them share one is left out.
const BUCKET_BYTES: u64 = 64 << 20;

/// Where it is, who is on which side of it and who waits.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    raised: bool,
    /// Which of raid1's.
    bucket: u64,
    /// The recovery has passed since it was raised.
    passed: bool,
    /// The recovery has slept a jiffy for those that wait before it asks for its next block.
    napped: bool,
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

    fn is_pending(&self) -> bool {
        self.pending.contains_key(&self.bucket)
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

    fn is_stopped(&self, request: &Request) -> bool {
        match self.options.layout {
            Layout::Raid10 => self.barrier.raised,
            Layout::Raid1 => {
                let concerned = request.verb != Verb::Read && self.bucket(request.offset_bytes) == self.barrier.bucket;
                self.barrier.raised && concerned
            }
            _ => false,
        }
    }

    /// A request of the host, behind those that wait.
    pub(super) fn pass_barrier(&mut self, request: Request) {
        if !self.barrier.held.is_empty() || self.is_stopped(&request) {
            self.barrier.held.push_back(request);
        } else {
            self.let_in(request);
        }
    }

    /// Lets in who waits, once the recovery has passed.
    pub(super) fn lower_barrier(&mut self) {
        if !self.barrier.raised {
            return;
        }
        let active = self.recovery.as_ref().map_or(0, |recovery| recovery.thread.active_bytes);
        if active > 0 || (!self.barrier.passed && self.recovery_asks()) {
            return;
        }
        // Who wakes a recovery that waits for its turn has one request let in, and finds the barrier raised at the next.
        (self.barrier.raised, self.barrier.passed) = (self.recovery_asks(), false);
        if let Some(first) = self.barrier.held.pop_front() {
            self.let_in(first);
        }
        while let Some(next) = self.barrier.held.front().copied() {
            if self.is_stopped(&next) {
                break;
            }
            self.barrier.held.pop_front();
            self.let_in(next);
        }
    }

    /// How many bytes the recovery may ask for: it and the host's requests take turns.
    pub(super) fn room_behind_barrier(&mut self, thread: &mut Thread) -> u64 {
        let waiting = !self.barrier.held.is_empty();
        if waiting && !self.barrier.napped {
            // Who asks for the next block while others wait first sleeps a jiffy: they have a turn if this one ends meanwhile.
            self.barrier.napped = true;
            thread.nap(self.now_ns, self.options.jiffy_ns);
            return 0;
        }
        let bucket = self.bucket(thread.position);
        let elsewhere = bucket != self.barrier.bucket && thread.active_bytes > 0;
        if waiting && (!self.barrier.raised || elsewhere) {
            return 0;
        }
        (self.barrier.raised, self.barrier.bucket) = (true, bucket);
        let turn_is_over = self.barrier.passed && waiting;
        if self.barrier.is_pending() || turn_is_over {
            return 0;
        }
        (self.barrier.passed, self.barrier.napped) = (true, false);
        let (depth, end) = match self.options.layout {
            Layout::Raid1 => (RAID1_DEPTH, (bucket + 1) * BUCKET_BYTES),
            _ => (RAID10_DEPTH, u64::MAX),
        };
        match waiting {
            false => (depth * BLOCK_BYTES).saturating_sub(thread.active_bytes).min(end - thread.position),
            true => BLOCK_BYTES,
        }
    }
}
