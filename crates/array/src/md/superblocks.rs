//! What the superblocks say, who writes them, and who waits for that (`md_write_start`, `md_update_sb`, safe mode).
//!
//! The array's own thread writes them. Until they are written it does nothing else, and with parity it does everything,
//! with copies whatever is written. Some time after the last write they say that the array is clean, and the next write
//! waits until they say that it is not.

use std::collections::VecDeque;

use drive::Request;

use super::timers::next_jiffy;

/// The array is told to be clean one to two of these after the last write (`DEFAULT_SAFEMODE_DELAY`, less a jiffy).
const SAFE_MODE_DELAY_NS: u64 = 200_000_000;

/// What the superblocks say and what they are about to.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    /// They say that all that was written is on the members, or are about to (`in_sync`).
    clean: bool,
    /// What they are to say has changed since they were last begun (`MD_SB_CHANGE_CLEAN`).
    pub stale: bool,
    /// How much of the replacement is filled: nobody reads more of it (`recovery_offset`).
    pub filled_bytes: u64,
    /// So many of them are being written.
    pub pending: u32,
    /// Writes of the host wait until they say that the array is not clean (`MD_SB_CHANGE_PENDING`).
    pub awaited: bool,
    /// The journal has flushed, and not written since.
    pub flushed: bool,
    pub held: Vec<Request>,
    /// Writes of the host under way.
    writes: u32,
    /// When the thread sees whether there are any.
    looks_ns: u64,
    /// What the thread does when they are written.
    pub put_off: VecDeque<u32>,
}

impl Superblocks {
    pub fn new() -> Self {
        Self {
            clean: true,
            stale: false,
            filled_bytes: 0,
            pending: 0,
            awaited: false,
            flushed: false,
            held: Vec::new(),
            writes: 0,
            looks_ns: u64::MAX,
            put_off: VecDeque::new(),
        }
    }

    /// Are any being written?
    pub fn is_writing(&self) -> bool {
        self.pending > 0
    }

    /// When the thread has something to do about them, as far as is known.
    pub fn next_own_ns(&self) -> u64 {
        if self.is_writing() {
            u64::MAX
        } else {
            self.looks_ns
        }
    }

    /// A write begins; whether it may go on at once.
    pub fn write_begins(&mut self) -> bool {
        self.writes += 1;
        if self.clean {
            (self.clean, self.stale, self.awaited) = (false, true, true);
        }
        !self.awaited
    }

    /// A write has ended: the timer is set anew.
    pub fn write_ended(&mut self, now_ns: u64, jiffy_ns: u64) {
        self.writes -= 1;
        let delay = SAFE_MODE_DELAY_NS / jiffy_ns + 1;
        let at = (now_ns / jiffy_ns).next_multiple_of(delay) + delay;
        self.looks_ns = next_jiffy(at * jiffy_ns, jiffy_ns);
    }

    /// Something was written a moment ago, and they were told.
    pub fn was_written(&mut self, now_ns: u64, jiffy_ns: u64) {
        self.clean = false;
        self.writes += 1;
        self.write_ended(now_ns, jiffy_ns);
    }

    /// The thread looks at them; whether it has to write them now.
    pub fn begin(&mut self, now_ns: u64) -> bool {
        if self.is_writing() {
            return false;
        }
        if now_ns >= self.looks_ns {
            self.looks_ns = u64::MAX;
            if self.writes == 0 {
                // It is not clean yet: the one that set the timer was the last to begin.
                debug_assert!(!self.clean);
                (self.clean, self.stale) = (true, true);
            }
        }
        std::mem::take(&mut self.stale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// `md_write_end` by hand: with 250 ticks a second the delay is 50 and one of them, up to a multiple of which it is rounded before it
    /// is added; with 100 it is 21. A timer goes off at the tick behind.
    #[test]
    fn an_array_is_clean_one_to_two_delays_after_the_last_write() {
        let ticks = [(4, 0, 0), (4, 1, 51), (4, 51, 51), (4, 52, 102), (10, 42, 42), (10, 43, 63)];
        for (jiffy_ms, ended, rounded) in ticks {
            let mut superblocks = Superblocks::new();
            superblocks.write_begins();
            superblocks.write_ended(ended * jiffy_ms * MS + MS / 2, jiffy_ms * MS);
            let delay = if jiffy_ms == 4 { 51 } else { 21 };
            assert_eq!(superblocks.next_own_ns(), (rounded + delay + 1) * jiffy_ms * MS, "{ended} of {jiffy_ms} ms");
        }
    }

    /// Nobody looks before they are written.
    #[test]
    fn while_superblocks_are_written_there_is_nothing_to_do_about_them() {
        let mut superblocks = Superblocks::new();
        superblocks.write_begins();
        assert!(superblocks.begin(0));
        superblocks.write_ended(0, MS);
        superblocks.pending = 2;
        assert_eq!((superblocks.next_own_ns(), superblocks.begin(1000 * MS)), (u64::MAX, false));
        superblocks.pending = 0;
        assert!(superblocks.next_own_ns() < 1000 * MS && superblocks.begin(1000 * MS));
    }
}
