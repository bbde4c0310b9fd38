//! What the array's own thread does (`md_check_recovery`): it writes superblocks, and until they are written puts off all else.

use drive::{BlockDevice, Verb};

use super::array::Array;
use super::options::Arrangement;
use super::role::Role;
use super::unit::{Purpose, MARKING, WRITING};

/// Where a superblock of version 1.2 lies,
pub(super) const OFFSET_BYTES: u64 = 4096;
/// and how long it is with room for 128 members.
const SUPERBLOCK_BYTES: u64 = 512;

impl<D: BlockDevice> Array<D> {
    /// The superblocks are to say that the replacement is filled so far.
    pub(super) fn checkpoint(&mut self, filled_bytes: u64) {
        (self.superblocks.filled_bytes, self.superblocks.stale) = (filled_bytes, true);
        self.tend_superblocks();
    }

    /// Somebody has written a moment ago, so they do not say that the array is clean.
    pub fn was_written(&mut self) {
        self.superblocks.was_written(self.now_ns, self.options.jiffy_ns);
    }

    /// What the array's own thread does about the superblocks when it is awake.
    pub(super) fn tend_superblocks(&mut self) {
        if self.superblocks.begin(self.now_ns) {
            self.write_superblocks();
        }
    }

    /// Each after what was written before it on its member, and forced to the medium (`md_super_write`).
    fn write_superblocks(&mut self) {
        self.superblocks.pending = self.roles.iter().filter(|role| **role != Role::Missing).count() as u32;
        for member in 0..self.roles.len() {
            if self.roles[member] == Role::Missing {
                continue;
            }
            let number = self.units.make(Purpose::Superblock);
            let unit = self.units.get_mut(number);
            unit.part(MARKING, Verb::Flush, member, 0, 0);
            unit.part(WRITING, Verb::Write, member, OFFSET_BYTES, SUPERBLOCK_BYTES);
            self.begin(number);
        }
    }

    /// A superblock is written. When all are: again, if there is something new; else the thread and those who waited go on.
    pub(super) fn superblock_written(&mut self) {
        self.superblocks.pending -= 1;
        if self.superblocks.is_writing() {
            return;
        }
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
        let waits = self.superblocks.is_writing() && self.is_the_threads(number);
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
            // Whoever asks hands them over, without a plug where there is no bitmap (`raid1_submit_write`).
            (Purpose::Foreground, Arrangement::Copies { .. }) => false,
            (_, Arrangement::Copies { .. }) => {
                let to_do = unit.parts.iter().filter(|part| part.stage >= unit.stage);
                to_do.min_by_key(|part| part.stage).is_some_and(|next| next.verb == Verb::Write)
            }
        }
    }
}
