//! What the superblocks say, who writes them, and who waits for that (`md_write_start`, `md_update_sb`, safe mode).
//!
//! The array's own thread writes them. Until they are written it does nothing else, and with parity it does everything,
//! with copies whatever is written. Some time after the last write they say that the array is clean, and the next write
//! waits until they say that it is not.

use std::collections::VecDeque;

use drive::{BlockDevice, Request, Verb};

use super::array::{Array, Role, MARKING, WRITING};
use super::journal::is_of_load;
use super::options::Arrangement;
use super::thread::next_jiffy;
use super::unit::Purpose;
use crate::layout::Layout;

/// Where a superblock of version 1.2 lies,
const OFFSET_BYTES: u64 = 4096;
/// and how long it is with room for 128 members.
const SUPERBLOCK_BYTES: u64 = 512;
/// The array is told to be clean one to two of these after the last write (`DEFAULT_SAFEMODE_DELAY`, less a jiffy).
const SAFE_MODE_DELAY_NS: u64 = 200_000_000;

/// What the superblocks say and what they are about to.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    /// They say that all that was written is on the members, or are about to (`in_sync`).
    clean: bool,
    /// What they are to say has changed since they were last begun (`MD_SB_CHANGE_CLEAN`).
    stale: bool,
    /// How much of the replacement is filled: nobody reads more of it (`recovery_offset`).
    pub filled_bytes: u64,
    /// They are being written.
    pub writing: bool,
    /// Writes of the host wait until they say that the array is not clean (`MD_SB_CHANGE_PENDING`).
    awaited: bool,
    /// The journal has flushed, and not written since.
    flushed: bool,
    pub held: Vec<Request>,
    /// Writes of the host under way.
    writes: u32,
    /// When the thread sees whether there are any.
    looks_ns: u64,
    /// What the thread does when they are written.
    put_off: VecDeque<u32>,
}

impl Superblocks {
    pub fn new() -> Self {
        Self {
            clean: true,
            stale: false,
            filled_bytes: 0,
            writing: false,
            awaited: false,
            flushed: false,
            held: Vec::new(),
            writes: 0,
            looks_ns: u64::MAX,
            put_off: VecDeque::new(),
        }
    }

    /// When the thread has something to do about them, as far as is known.
    pub fn next_own_ns(&self) -> u64 {
        if self.writing {
            u64::MAX
        } else {
            self.looks_ns
        }
    }

    /// A write begins; whether it may go on at once.
    fn write_begins(&mut self) -> bool {
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
}

impl<D: BlockDevice> Array<D> {
    /// Takes a request of the host. A program that waits with one has not asked for the next yet; its filesystem's journal is
    /// another program's.
    pub(super) fn ask(&mut self, request: Request) {
        let follows_flush = request.fua && std::mem::take(&mut self.superblocks.flushed);
        if request.verb == Verb::Flush {
            // It has a thread of its own (`md_flush_request`).
            self.superblocks.flushed = true;
            self.let_in(request);
        } else if is_of_load(&request) && self.load_waits() {
            self.behind.push_back(request);
        } else if let Some(journal) = self.journal_to_wait_for(&request) {
            journal.held = Some(request);
        } else if !self.begin_request(request) && follows_flush {
            self.processor.worker_waits();
        }
    }

    /// What its filesystem lets through comes to the array itself; whether it waits for no superblocks.
    pub(super) fn begin_request(&mut self, request: Request) -> bool {
        let begins = !self.changes_data(request.verb) || self.superblocks.write_begins();
        if begins {
            self.pass_barrier(request);
        } else {
            self.superblocks.held.push(request);
        }
        begins
    }

    fn load_waits(&self) -> bool {
        let for_journal = self.journal.as_ref().is_some_and(|journal| journal.held.is_some());
        for_journal || self.superblocks.held.iter().chain(&self.barrier.held).any(is_of_load)
    }

    /// The load asks for what it would have asked for, as far as it need not wait again.
    pub(super) fn load_goes_on(&mut self) {
        while !self.load_waits() {
            let Some(next) = self.behind.pop_front() else { return };
            self.ask(next);
        }
    }

    /// Does a request of the host make the array dirty? Without redundancy none does.
    pub(super) fn changes_data(&self, verb: Verb) -> bool {
        matches!(verb, Verb::Write | Verb::Trim) && self.options.layout != Layout::Raid0
    }

    /// They are to say that the replacement is filled so far.
    pub(super) fn checkpoint(&mut self, filled_bytes: u64) {
        (self.superblocks.filled_bytes, self.superblocks.stale) = (filled_bytes, true);
        self.tend_superblocks();
    }

    /// What the array's own thread does about the superblocks when it is awake.
    pub(super) fn tend_superblocks(&mut self) {
        let superblocks = &mut self.superblocks;
        if superblocks.writing {
            return;
        }
        if self.now_ns >= superblocks.looks_ns {
            superblocks.looks_ns = u64::MAX;
            if superblocks.writes == 0 && !superblocks.clean {
                (superblocks.clean, superblocks.stale) = (true, true);
            }
        }
        if std::mem::take(&mut superblocks.stale) {
            superblocks.writing = true;
            self.write_superblocks();
        }
    }

    /// Each after what was written before it, and forced to the medium.
    fn write_superblocks(&mut self) {
        let number = self.units.make(Purpose::Superblock);
        for member in (0..self.roles.len()).filter(|member| self.roles[*member] != Role::Missing) {
            let unit = self.units.get_mut(number);
            unit.part(MARKING, Verb::Flush, member, 0, 0);
            unit.part(WRITING, Verb::Write, member, OFFSET_BYTES, SUPERBLOCK_BYTES);
        }
        self.begin(number);
    }

    /// They are written: again, if there is something new; else the thread and those who waited go on.
    pub(super) fn superblocks_written(&mut self) {
        self.superblocks.writing = false;
        if self.superblocks.stale {
            self.tend_superblocks();
            return;
        }
        self.superblocks.awaited = false;
        while let Some(number) = self.superblocks.put_off.pop_front() {
            self.go_on(number);
        }
        for request in std::mem::take(&mut self.superblocks.held) {
            self.pass_barrier(request);
        }
        self.load_goes_on();
    }

    /// Whether what comes next of a unit has to wait for the superblocks, for which it then is put off.
    pub(super) fn put_off(&mut self, number: u32) -> bool {
        let waits = self.superblocks.writing && self.is_the_threads(number);
        if waits {
            self.superblocks.put_off.push_back(number);
        }
        waits
    }

    /// Does the array's own thread do what comes next of a unit: all that goes through the stripe cache, or every write?
    pub(super) fn is_the_threads(&self, number: u32) -> bool {
        let unit = self.units.get(number);
        match (unit.purpose, self.options.arrangement) {
            (Purpose::Superblock, _) => false,
            (Purpose::Recovery, Arrangement::Parity(_)) => true,
            (_, Arrangement::Parity(_)) => unit.stripes > 0,
            (_, Arrangement::Copies { .. }) => {
                let to_do = unit.parts.iter().filter(|part| part.stage >= unit.stage);
                to_do.min_by_key(|part| part.stage).is_some_and(|next| next.verb == Verb::Write)
            }
        }
    }
}
