//! The barrier of raid1 and raid10, which keeps a recovery and the host's requests apart (`raise_barrier`,
//! `wait_barrier`): in raid10 everywhere, in raid1 only writes into the 64 MiB that are being filled.

use std::collections::HashMap;

use drive::{Request, Verb};

use super::recovery::{BLOCK_BYTES, RAID10_DEPTH, RAID1_DEPTH};
use super::thread::Thread;
use crate::layout::Layout;

/// raid1 has a barrier for each of these (`BARRIER_UNIT_SECTOR_SIZE`). That in Linux a 1024th of them share one is left out.
const BUCKET_BYTES: u64 = 64 << 20;

/// Where it is, who is on which side of it and who waits.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    layout: Layout,
    /// For the recovery's next block, which of raid1's; each is also up as long as any block behind it is on its way.
    raised: Option<u64>,
    /// Bytes of the recovery on their way, by bucket, as far as there are any.
    under_way: Vec<(u64, u64)>,
    /// The recovery has seen whether anybody waits before it asks for its next block.
    looked: bool,
    /// Who waits, one request of each program.
    pub held: Vec<Request>,
    /// Requests of the host that are under way, by bucket.
    pending: HashMap<u64, u32>,
}

impl Barrier {
    pub fn new(layout: Layout) -> Self {
        Self { layout, raised: None, under_way: Vec::new(), looked: false, held: Vec::new(), pending: HashMap::new() }
    }

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

    /// Which barrier a place of the array, or of the replacement, lies behind.
    pub fn bucket(&self, offset_bytes: u64) -> u64 {
        match self.layout {
            Layout::Raid1 => offset_bytes / BUCKET_BYTES,
            _ => 0,
        }
    }

    /// Does a request of the host have to wait where the barrier is up?
    fn concerns(&self, bucket: u64, request: &Request) -> bool {
        match self.layout {
            Layout::Raid10 => true,
            Layout::Raid1 => request.verb != Verb::Read && self.bucket(request.offset_bytes) == bucket,
            _ => false,
        }
    }

    /// Has a request of the host to wait?
    pub fn stops(&self, request: &Request) -> bool {
        let mut up = self.raised.into_iter().chain(self.under_way.iter().map(|(bucket, _)| *bucket));
        up.any(|bucket| self.concerns(bucket, request))
    }

    /// Up to where a block of the recovery lies behind the same barrier.
    pub fn end(&self, offset_bytes: u64) -> u64 {
        match self.layout {
            Layout::Raid1 => (self.bucket(offset_bytes) + 1) * BUCKET_BYTES,
            _ => u64::MAX,
        }
    }

    /// The recovery has asked for so many bytes, all behind one barrier.
    pub fn asked(&mut self, offset_bytes: u64, bytes: u64) {
        let bucket = self.bucket(offset_bytes);
        match self.under_way.iter_mut().find(|(other, _)| *other == bucket) {
            Some((_, under_way)) => *under_way += bytes,
            None => self.under_way.push((bucket, bytes)),
        }
    }

    /// So many bytes that the recovery had asked for are done.
    pub fn done(&mut self, offset_bytes: u64, bytes: u64) {
        let bucket = self.bucket(offset_bytes);
        if let Some(place) = self.under_way.iter().position(|(other, _)| *other == bucket) {
            self.under_way[place].1 -= bytes;
            if self.under_way[place].1 == 0 {
                self.under_way.swap_remove(place);
            }
        }
    }

    /// How many bytes the recovery may ask for: it and the host's requests take turns.
    pub fn room(&mut self, thread: &mut Thread, now_ns: u64, jiffy_ns: u64) -> u64 {
        let bucket = self.bucket(thread.position);
        let waiting = self.held.iter().any(|request| self.concerns(bucket, request));
        if !std::mem::replace(&mut self.looked, true) && waiting {
            // They have a turn if what is on its way ends meanwhile.
            thread.nap(now_ns, jiffy_ns);
            return 0;
        }
        if self.raised.is_none() && waiting {
            return 0;
        }
        self.raised = Some(bucket);
        let depth = if self.layout == Layout::Raid1 { RAID1_DEPTH } else { RAID10_DEPTH };
        let under_way = self.under_way.iter().find(|(other, _)| *other == bucket).map_or(0, |(_, bytes)| *bytes);
        // The one that waits for room counts, too. Behind each of raid1's barriers are so many: at its end a recovery has both.
        let room =
            ((depth - 1) * BLOCK_BYTES).saturating_sub(under_way).min(self.end(thread.position) - thread.position);
        if self.pending.contains_key(&bucket) || room == 0 {
            return 0;
        }
        (self.raised, self.looked) = (None, false);
        if waiting {
            room.min(BLOCK_BYTES)
        } else {
            room
        }
    }
}
