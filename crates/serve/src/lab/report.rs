//! What happened in a lab.

use drive::Verb;

use super::identity::Identity;

/// Why a run of the guest was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The guest is gone: halted, crashed or killed.
    Ended,
    /// The time allowed by the wall clock has passed.
    WallLimit,
    /// The guest has used the processor for long without saying anything.
    Loops,
    /// The guest says nothing, and nothing of it could run.
    Hangs,
    /// The guest's kernel has started again.
    Rebooted,
    /// The guest sleeps for ever, and no drive has anything to tell it.
    Deadlock,
    /// The power was cut, as ordered. The guest is still there: it is to be killed.
    PowerCut,
    /// The caller wants no more.
    Interrupted,
}

/// Counts of one drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads that ended.
    pub reads: u64,
    /// Writes that ended.
    pub writes: u64,
    /// Flushes that ended.
    pub flushes: u64,
    /// Trims that ended.
    pub trims: u64,
    /// Commands without data that ended.
    pub others: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Commands among all of these that the drive ended badly.
    pub errors: u64,
    /// Commands that the host has aborted.
    pub aborted: u64,
    /// Times that the host has reset the drive.
    pub resets: u64,
    /// Most commands at a time, those that the host has given up included.
    pub most_outstanding: u64,
    /// The longest time from a command to its answer.
    pub longest_ns: u64,
}

impl Counters {
    pub(super) fn add(&mut self, verb: Verb, bytes: u64, good: bool, took_ns: u64) {
        let count = match verb {
            Verb::Read if bytes == 0 => &mut self.others,
            Verb::Read => &mut self.reads,
            Verb::Write => &mut self.writes,
            Verb::Flush => &mut self.flushes,
            Verb::Trim => &mut self.trims,
        };
        *count += 1;
        match verb {
            Verb::Read if good => self.read_bytes += bytes,
            Verb::Write if good => self.written_bytes += bytes,
            _ => {}
        }
        self.errors += u64::from(!good);
        self.longest_ns = self.longest_ns.max(took_ns);
    }
}

/// One drive.
#[derive(Clone, Debug)]
pub struct DriveReport {
    /// What the guest saw.
    pub identity: Identity,
    /// What it did, over all runs so far.
    pub counters: Counters,
    /// Of the faults it was given, in their order, whether each made a difference.
    pub faults_met: Vec<bool>,
    /// Bytes that are not zeros, in memory.
    pub memory_bytes: u64,
    /// Bytes that are not zeros, in a file.
    pub file_bytes: u64,
}

/// One run, from the guest's boot to its end.
#[derive(Clone, Debug)]
pub struct LabReport {
    /// Why it was over.
    pub outcome: Outcome,
    /// How long it took in the guest.
    pub virtual_ns: u64,
    /// And outside.
    pub wall_ns: u64,
    /// From the kernel's first message to its first command for a drive, by the wall clock; `None` if there was none.
    pub boot_wall_ns: Option<u64>,
    /// The fingerprint of everything that the drives did, over all runs so far.
    pub trace_hash: u64,
    /// Messages between kernel and clock.
    pub messages: u64,
    /// Interrupts of the guest.
    pub interrupts: u64,
    /// The drives in their order.
    pub drives: Vec<DriveReport>,
}
