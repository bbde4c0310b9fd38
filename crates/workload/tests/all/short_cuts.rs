//! A drive without its short cuts, and one that counts what they pass.

use drive::{BlockDevice, Completion, Drive, Forwarded, Reads, Request, Writes};
use sim::LatencyHistogram;

/// What both hand on as it comes.
macro_rules! as_the_drive {
    () => {
        fn capacity_bytes(&self) -> u64 {
            self.drive.capacity_bytes()
        }

        fn queue_depth(&self) -> u32 {
            self.drive.queue_depth()
        }

        fn submit(&mut self, now_ns: u64, request: Request) {
            self.drive.submit(now_ns, request);
        }

        fn next_event_ns(&self) -> Option<u64> {
            self.drive.next_event_ns()
        }

        fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
            self.drive.advance(to_ns, completions);
        }
    };
}

/// A drive that is asked for everything one by one.
pub struct OneByOne {
    pub drive: Drive,
}

impl BlockDevice for OneByOne {
    as_the_drive!();
}

/// Counts how much was forwarded.
pub struct Counting {
    pub drive: Drive,
    pub forwarded: u64,
}

impl BlockDevice for Counting {
    as_the_drive!();

    fn advance_to_completion(&mut self, limit_ns: u64, completions: &mut Vec<Completion>) -> u64 {
        self.drive.advance_to_completion(limit_ns, completions)
    }

    fn forward_reads(&mut self, now_ns: u64, reads: &Reads, latencies: &mut LatencyHistogram) -> Forwarded {
        let forwarded = self.drive.forward_reads(now_ns, reads, latencies);
        self.forwarded += forwarded.count;
        forwarded
    }

    fn forward_writes(
        &mut self,
        now_ns: u64,
        writes: &Writes,
        free_tags: &mut Vec<u32>,
        completions: &mut Vec<Completion>,
    ) -> u64 {
        let now_ns = self.drive.forward_writes(now_ns, writes, free_tags, completions);
        self.forwarded += completions.len() as u64;
        now_ns
    }
}
