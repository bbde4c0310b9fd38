//! The journal of an ext4 that is mounted on the array, as the array and its users feel it (`fs/jbd2`).
//!
//! Whoever writes changes the times of a file, and with them a block of the filesystem. A transaction of such changes is committed
//! when it is five seconds old: its blocks are written to the journal, and when they are there one more behind a flush.
//! As long as the blocks are on their way nobody may change them, so whoever writes waits, and with it what the program that
//! writes would do next: it waits in `io_submit`.

use drive::{Request, Verb};
use sim::Stream;

use super::timers::goes_off;

/// Of the journal's requests, of which there is one at a time.
const TAG: u32 = u32::MAX;
/// Of reads of the filesystem's bitmaps, whom nobody tells apart.
pub(super) const BITMAPS_TAG: u32 = TAG - 1;

/// How old a transaction gets (`JBD2_DEFAULT_MAX_COMMIT_AGE`).
const AGE_NS: u64 = 5_000_000_000;
/// A timer that needs not be exact waits for a whole one (`round_jiffies_up`).
const SECOND_NS: u64 = 1_000_000_000;
/// After an hour the kernel's clock may stand anywhere between two whole seconds, and between two ticks at which its timers go off.
const UPTIME_NS: u64 = 3600 * SECOND_NS;
/// A block that tells which blocks follow, and the one with the times of the users' file.
const BLOCKS_BYTES: u64 = 8 << 10;
/// Before the first commit behind a mount the journal's superblock says that there is something in it.
pub(super) const SUPERBLOCK_BYTES: u64 = 4 << 10;
/// What makes them count.
const LAST_BYTES: u64 = 4 << 10;
/// Of a filesystem of one or two GB, as the lab's.
pub(super) const JOURNAL_BYTES: u64 = 16 << 20;

/// Is a request the journal's, by its tag?
pub(super) fn is_of_journal(tag: u32) -> bool {
    tag == TAG
}

/// Is a request the filesystem's own, by its tag?
pub(super) fn is_of_filesystem(tag: u32) -> bool {
    tag >= BITMAPS_TAG
}

/// Is a request the load's? A journal is another program's (`jbd2`), be it this one or one that a job stands for: what is forced to
/// the medium, and what flushes.
pub(super) fn is_of_load(request: &Request) -> bool {
    !is_of_filesystem(request.tag) && !request.fua && request.verb != Verb::Flush
}

/// What a commit is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Idle,
    Superblock,
    /// Nobody changes the blocks (`BH_Shadow`).
    Blocks,
    Flush,
    Last,
}

/// Of one filesystem.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    /// Where it lies, and how much of it has been written.
    begins_bytes: u64,
    written_bytes: u64,
    stage: Stage,
    /// What the stage waits for has ended.
    done: bool,
    /// Nothing has been written since the mount.
    is_empty: bool,
    /// When the transaction that is open gets old, if one is.
    old_ns: Option<u64>,
    jiffy_ns: u64,
    /// How far the kernel's clock was at the beginning of time.
    clock_ns: u64,
    commits_ns: u64,
    /// Programs of the load wait with these, one each, until the blocks are written.
    pub held: Vec<Request>,
}

impl Journal {
    /// Of a filesystem that was mounted so long before `now_ns`, and read: that is a change, too, of the times, which its timer may have
    /// committed by then. What users did since is committed: whoever starts them makes something durable first.
    pub fn new(begins_bytes: u64, now_ns: u64, mounted_before_ns: u64, jiffy_ns: u64, chance: &mut Stream) -> Self {
        let clock_ns = (UPTIME_NS / jiffy_ns + chance.below(UPTIME_NS / jiffy_ns)) * jiffy_ns;
        let mut journal = Self {
            begins_bytes,
            written_bytes: SUPERBLOCK_BYTES,
            is_empty: true,
            stage: Stage::Idle,
            done: false,
            old_ns: None,
            jiffy_ns,
            clock_ns,
            commits_ns: u64::MAX,
            held: Vec::new(),
        };
        let old_clock_ns = (now_ns + clock_ns + AGE_NS).saturating_sub(mounted_before_ns).max(AGE_NS);
        let commits_clock_ns = journal.timer_clock_ns(old_clock_ns);
        if commits_clock_ns > now_ns + clock_ns {
            journal.old_ns = Some(old_clock_ns.saturating_sub(clock_ns));
            journal.commits_ns = commits_clock_ns - clock_ns;
        } else {
            journal.is_empty = false;
            journal.place(BLOCKS_BYTES + LAST_BYTES);
        }
        journal
    }

    /// When it has something to do, as far as is known.
    pub fn next_own_ns(&self) -> u64 {
        match self.stage {
            Stage::Idle => self.commits_ns,
            _ => u64::MAX,
        }
    }

    /// Something of the filesystem changes. Who comes after a transaction's time has it committed (`jbd2_journal_stop`); if
    /// nobody does, a timer has.
    fn changed(&mut self, now_ns: u64) {
        let old_ns = *self.old_ns.get_or_insert(now_ns + AGE_NS);
        self.commits_ns = if now_ns < old_ns { self.timer_ns(old_ns) } else { now_ns };
    }

    /// When the timer goes off that was set when the transaction was opened (`jbd2_get_transaction`).
    fn timer_ns(&self, old_ns: u64) -> u64 {
        self.timer_clock_ns(old_ns + self.clock_ns) - self.clock_ns
    }

    /// The same by the kernel's clock.
    fn timer_clock_ns(&self, old_ns: u64) -> u64 {
        let expires_ns = (old_ns / SECOND_NS + 1) * SECOND_NS;
        goes_off((old_ns - AGE_NS) / self.jiffy_ns, expires_ns / self.jiffy_ns) * self.jiffy_ns
    }

    /// The load writes; whether it may go on at once.
    pub fn load_writes(&mut self, now_ns: u64) -> bool {
        self.changed(now_ns);
        self.stage != Stage::Blocks
    }

    /// The requests of the load that have waited for the blocks, when they are written.
    pub fn released(&mut self) -> Vec<Request> {
        if self.stage == Stage::Blocks {
            return Vec::new();
        }
        std::mem::take(&mut self.held)
    }

    /// What it asked for has ended.
    pub fn ended(&mut self) {
        self.done = true;
    }

    /// Its next request, if it is time.
    pub fn next(&mut self, now_ns: u64) -> Option<Request> {
        let done = std::mem::take(&mut self.done);
        if done && self.stage == Stage::Last {
            self.stage = Stage::Idle;
            if self.old_ns.is_some_and(|old_ns| now_ns >= old_ns) {
                // It looks before it sleeps (`kjournald2`).
                self.commits_ns = now_ns;
            }
        }
        let begins = self.stage == Stage::Idle && now_ns >= self.commits_ns;
        let (stage, verb, fua, bytes) = match self.stage {
            Stage::Idle if begins && self.is_empty => (Stage::Superblock, Verb::Write, false, SUPERBLOCK_BYTES),
            Stage::Idle if begins => (Stage::Blocks, Verb::Write, false, BLOCKS_BYTES),
            Stage::Superblock if done => (Stage::Blocks, Verb::Write, false, BLOCKS_BYTES),
            Stage::Blocks if done => (Stage::Flush, Verb::Flush, false, 0),
            Stage::Flush if done => (Stage::Last, Verb::Write, true, LAST_BYTES),
            _ => return None,
        };
        if begins {
            (self.old_ns, self.commits_ns, self.is_empty) = (None, u64::MAX, false);
        }
        self.stage = stage;
        let offset_bytes = match stage {
            Stage::Flush => 0,
            Stage::Superblock => self.begins_bytes,
            _ => self.place(bytes),
        };
        Some(Request { tag: TAG, verb, fua, offset_bytes, bytes })
    }

    /// Behind what was written last, or at the beginning.
    fn place(&mut self, bytes: u64) -> u64 {
        if self.written_bytes + bytes > JOURNAL_BYTES {
            self.written_bytes = SUPERBLOCK_BYTES;
        }
        self.written_bytes += bytes;
        self.begins_bytes + self.written_bytes - bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1000 * MS;

    fn mounted() -> Journal {
        let mut journal = Journal::new(1 << 30, 0, 0, 10 * MS, &mut sim::stream(1, "where a second begins"));
        journal.clock_ns = 450 * MS;
        (journal.old_ns, journal.commits_ns, journal.is_empty) = (None, u64::MAX, false);
        journal
    }

    /// By hand: opened at tick 45 of the kernel's, old at 545, and to be committed at 600, a whole second. The next multiple of 64 is 640.
    #[test]
    fn a_timer_commits_what_nobody_else_does() {
        let mut journal = mounted();
        assert!(journal.load_writes(0));
        assert_eq!(journal.next_own_ns(), 5950 * MS);
        assert!(journal.load_writes(4 * S));
        assert_eq!(journal.next_own_ns(), 5950 * MS, "it counts from the first change");
        assert_eq!(journal.next(5949 * MS), None);
        assert!(journal.next(5950 * MS).is_some());
    }

    #[test]
    fn who_writes_when_a_transaction_is_old_has_it_committed_and_does_not_wait() {
        let mut journal = mounted();
        assert!(journal.load_writes(0) && journal.load_writes(5 * S));
        assert_eq!(journal.next_own_ns(), 5 * S);
    }

    #[test]
    fn the_first_commit_is_as_much_sooner_as_the_mount_was_and_begins_with_the_superblock() {
        let mut journal = Journal::new(1 << 30, 0, 1500 * MS, 10 * MS, &mut sim::stream(1, "where a second begins"));
        let commits_ns = journal.next_own_ns();
        assert!((3500 * MS..=(4500 + 640) * MS).contains(&commits_ns), "{commits_ns}");
        let superblock = journal.next(commits_ns).expect("it is time");
        assert_eq!(
            (superblock.verb, superblock.fua, superblock.offset_bytes, superblock.bytes),
            (Verb::Write, false, 1 << 30, 4096)
        );
        assert!(journal.load_writes(commits_ns), "the blocks may still be changed");
        journal.ended();
        assert_eq!(journal.next(commits_ns).map(|blocks| blocks.bytes), Some(8192));
    }

    /// Its one change was committed, so the superblock is not written again, and nothing is open until somebody writes.
    #[test]
    fn of_a_mount_that_was_long_ago_nothing_is_left_to_commit() {
        let mut journal = Journal::new(1 << 30, 0, 61 * S, 10 * MS, &mut sim::stream(1, "where a second begins"));
        assert_eq!(journal.next_own_ns(), u64::MAX);
        assert!(journal.load_writes(2 * S) && journal.load_writes(7 * S));
        let blocks = journal.next(7 * S).expect("it is time");
        assert_eq!((blocks.offset_bytes, blocks.bytes), ((1 << 30) + (16 << 10), 8 << 10));
    }

    #[test]
    fn who_writes_waits_for_the_blocks_and_for_nothing_behind_them() {
        let mut journal = mounted();
        journal.changed(0);
        let asked = |journal: &mut Journal| {
            let request = journal.next(6 * S).expect("it goes on");
            assert!(!is_of_load(&request));
            (
                request.verb,
                request.fua,
                request.offset_bytes - if request.bytes > 0 { 1 << 30 } else { 0 },
                request.bytes,
            )
        };
        assert_eq!(asked(&mut journal), (Verb::Write, false, 4096, 8192));
        assert!(!journal.load_writes(6 * S));
        assert_eq!(journal.next(6 * S), None, "they are on their way");
        journal.ended();
        assert_eq!(asked(&mut journal), (Verb::Flush, false, 0, 0));
        assert!(journal.load_writes(6 * S));
        journal.ended();
        assert_eq!(asked(&mut journal), (Verb::Write, true, 12288, 4096));
        assert!(journal.load_writes(6 * S));
    }

    #[test]
    fn a_commit_that_took_long_is_followed_by_the_next_at_once() {
        for (ends_ns, expected_ns) in [(7 * S, 11_710 * MS), (12 * S, 12 * S)] {
            let mut journal = mounted();
            journal.changed(0);
            for _ in 0..3 {
                journal.next(6 * S).expect("it goes on");
                journal.ended();
            }
            journal.changed(6 * S + 1);
            let next = journal.next(ends_ns);
            assert_eq!(next.is_some(), expected_ns == ends_ns);
            assert!(next.is_some() || journal.next_own_ns() == expected_ns);
        }
    }

    #[test]
    fn who_waits_for_the_blocks_is_let_go_when_they_are_written() {
        let mut journal = mounted();
        journal.changed(0);
        journal.next(6 * S).expect("it is time");
        journal.held.push(Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes: 0, bytes: 4096 });
        assert_eq!(journal.released(), []);
        journal.ended();
        journal.next(6 * S).expect("a flush follows");
        assert_eq!(journal.released().len(), 1);
    }

    /// Of 16 MiB less a superblock commits of 12 KiB take all, 1365 of them.
    #[test]
    fn a_journal_is_full_before_it_begins_anew() {
        let mut journal = mounted();
        let mut places = (0..1366).map(|_| journal.place(BLOCKS_BYTES + LAST_BYTES));
        assert_eq!(places.by_ref().nth(1364), Some((1 << 30) + (16 << 20) - (12 << 10)));
        assert_eq!(places.next(), Some((1 << 30) + 4096));
    }
}
