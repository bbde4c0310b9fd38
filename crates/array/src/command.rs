//! A request to a drive, and what it has room for.

/// How long a command may take, unless the host is told otherwise.
pub(crate) use drive::faults::SD_TIMEOUT_NS as COMMAND_TIMEOUT_NS;
use drive::Verb;

use crate::layout::LayoutError;

/// Linux takes whole seconds, and who waits for more than a day waits for ever.
const MOST_TIMEOUT_NS: u64 = 24 * 3600 * NS_PER_S;
const NS_PER_S: u64 = 1_000_000_000;

/// Refuses a host that waits for nothing, or for ever.
pub(crate) fn check_command_timeout(timeout_ns: u64) -> Result<(), LayoutError> {
    if (NS_PER_S..=MOST_TIMEOUT_NS).contains(&timeout_ns) && timeout_ns % NS_PER_S == 0 {
        return Ok(());
    }
    let value = format!("{} s", timeout_ns as f64 / NS_PER_S as f64);
    Err(LayoutError::value("command-timeout", value, "a host waits whole seconds, from one to a day"))
}

/// What a member is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// What to do.
    pub verb: Verb,
    /// It goes to the medium at once.
    pub fua: bool,
    /// Where.
    pub offset_bytes: u64,
    /// How much.
    pub bytes: u64,
    /// In how many pieces of memory it lies, as far as that is known.
    pub segments: u64,
}

/// How long a command may be, in bytes and in pieces of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub bytes: u64,
    pub segments: u64,
}

impl Limits {
    /// What they leave of a command's.
    pub fn beside(self, command: &Command) -> Self {
        Self { bytes: self.bytes - command.bytes, segments: self.segments - command.segments }
    }
}

/// A request as the drive sees it: a part of a whole, or several wholes merged.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub verb: Verb,
    pub fua: bool,
    pub offset_bytes: u64,
    pub bytes: u64,
    pub segments: u64,
    /// When it came to the block layer, and when the drive was given it.
    pub asked_ns: u64,
    pub issued_ns: u64,
    /// If the drive has it still, the host loses patience then, and again as long after.
    pub times_out_ns: u64,
    /// How often the drive has not answered it in time.
    pub timeouts: u32,
    /// It has timed out: whatever the drive still answers, nobody waits for it.
    pub given_up: bool,
    /// The wholes that it belongs to; the first stands alone in most commands.
    pub first: u32,
    pub others: Vec<u32>,
}

impl Command {
    /// For a whole or a part of one; `others` is room for those that are merged with it.
    pub fn new(ask: Ask, asked_ns: u64, first: u32, others: Vec<u32>) -> Self {
        let Ask { verb, fua, offset_bytes, bytes, segments } = ask;
        let times_out_ns = u64::MAX;
        Self {
            verb,
            fua,
            offset_bytes,
            bytes,
            segments,
            asked_ns,
            issued_ns: asked_ns,
            times_out_ns,
            timeouts: 0,
            given_up: false,
            first,
            others,
        }
    }

    /// How long the host waits for the drive, with a timeout of so much.
    pub fn patience_ns(&self, timeout_ns: u64) -> u64 {
        timeout_ns * if self.verb == Verb::Flush { 2 } else { 1 }
    }

    /// Does another go on where it ends, and is there room for it?
    pub fn has_room_for(&self, other: &Self, limits: Limits) -> bool {
        let follows = self.offset_bytes + self.bytes == other.offset_bytes && other.bytes > 0;
        let alike = self.verb == other.verb && self.fua == other.fua;
        let fits = self.bytes + other.bytes <= limits.bytes && self.segments + other.segments <= limits.segments;
        follows && alike && fits
    }

    /// Goes on with another, of which nothing is left.
    pub fn take_in(&mut self, other: &mut Self) {
        self.bytes += other.bytes;
        self.segments += other.segments;
        self.others.push(other.first);
        self.others.append(&mut other.others);
    }
}
