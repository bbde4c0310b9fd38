//! Flushes, and writes behind which one follows (`block/blk-flush.c`): one flush is under way at a time, and all who want one
//! meanwhile, or while such writes are under way, share the next.

use std::collections::VecDeque;

use drive::Request;

/// `FLUSH_PENDING_TIMEOUT`: nobody waits longer than this for the writes of others.
const PENDING_NS: u64 = 5_000_000_000;

/// Those of one drive.
#[derive(Clone, Debug, Default)]
pub(super) struct Flushes {
    /// Writes behind which a flush follows: they overtake all others.
    writes: VecDeque<Request>,
    /// Of these so many have not ended.
    unended: u32,
    /// By their tags, those who wait for a flush that is not under way, and since when.
    wanted: Vec<u32>,
    wanted_since_ns: u64,
    /// One of those who share the flush that is under way.
    under_way: Option<u32>,
}

impl Flushes {
    /// Takes a part of a write behind which a flush follows.
    pub fn write(&mut self, request: Request) {
        self.unended += 1;
        self.writes.push_back(Request { fua: false, ..request });
    }

    /// The next of these.
    pub fn next_write(&mut self) -> Option<Request> {
        self.writes.pop_front()
    }

    /// One has ended.
    pub fn write_ended(&mut self) {
        self.unended -= 1;
    }

    /// Somebody wants a flush.
    pub fn want(&mut self, now_ns: u64, tag: u32) {
        if self.wanted.is_empty() {
            self.wanted_since_ns = now_ns;
        }
        self.wanted.push(tag);
    }

    /// Is one to go?
    pub fn is_due(&self, now_ns: u64) -> bool {
        let waits_for_writes = self.unended > 0 && now_ns < self.wanted_since_ns + PENDING_NS;
        !self.wanted.is_empty() && self.under_way.is_none() && !waits_for_writes
    }

    /// It goes: who shares it.
    pub fn take(&mut self) -> Vec<u32> {
        self.under_way = self.wanted.first().copied();
        std::mem::take(&mut self.wanted)
    }

    /// A command of these has ended.
    pub fn ended(&mut self, riders: &[u32]) {
        self.under_way = self.under_way.filter(|tag| !riders.contains(tag));
    }
}
