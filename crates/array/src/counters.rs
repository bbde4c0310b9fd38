//! What is counted of a member.

use drive::Verb;

use crate::command::Command;

/// What one member has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes read from it.
    pub bytes_read: u64,
    /// Bytes written to it.
    pub bytes_written: u64,
    /// Requests that it completed.
    pub requests: u64,
    /// How often it did not answer a command in time, so that it was given up.
    pub timeouts: u64,
    /// At how many places a sector could not be read or written.
    pub bad_places: u64,
    /// How long it had at least one request.
    pub busy_ns: u64,
    /// The longest that a request took from the block layer to the answer, waiting there included.
    pub longest_ns: u64,
    /// The longest that the drive itself took over a request: what a command timeout runs against.
    pub longest_command_ns: u64,
    /// The longest of its flushes, for which a host waits twice as long.
    pub longest_flush_ns: u64,
    /// The longest of its flushes from the block layer to the answer: what `/sys/block` tells of them.
    pub longest_flush_asked_ns: u64,
    /// The longest time without any answer while at least one was due.
    pub longest_silence_ns: u64,
    /// Which of its planned faults it has met, a bit each, the innermost the lowest; of those behind the 63rd nothing is told.
    pub faults_met: u64,
}

impl Counters {
    /// It has answered a command, or nobody waits for that any more.
    pub(crate) fn took(&mut self, command: &Command, now_ns: u64) {
        let took_ns = now_ns - command.issued_ns;
        self.longest_command_ns = self.longest_command_ns.max(took_ns);
        if command.verb == Verb::Flush {
            self.longest_flush_ns = self.longest_flush_ns.max(took_ns);
            self.longest_flush_asked_ns = self.longest_flush_asked_ns.max(now_ns - command.asked_ns);
        }
    }
}
