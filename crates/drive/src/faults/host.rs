//! A host that does not wait for ever.

use std::collections::VecDeque;

use super::linux::SD_FLUSH_TIMES;
use crate::request::{BlockDevice, Completion, Lost, Request, Verb};
use crate::truth::Truth;

/// A device whose host resets the link whenever a request has waited for too long. What a fault lets wait is then answered as
/// [`Aborted`](crate::Status::Aborted), late or not; whom the device itself lets wait, waits on, for as long again.
#[derive(Clone, Debug)]
pub struct Impatient<D> {
    device: D,
    timeout_ns: u64,
    /// When the host has had enough, and of which tag: the soonest first.
    waiting: VecDeque<(u64, u32)>,
}

impl<D: BlockDevice> Impatient<D> {
    /// A device that is waited for so long.
    pub fn around(device: D, timeout_ns: u64) -> Self {
        Self { device, timeout_ns, waiting: VecDeque::new() }
    }

    /// The device.
    pub fn inner(&self) -> &D {
        &self.device
    }

    fn wait(&mut self, until_ns: u64, tag: u32) {
        let index = self.waiting.partition_point(|(other_ns, _)| *other_ns <= until_ns);
        self.waiting.insert(index, (until_ns, tag));
    }

    /// Lets time pass in which nobody has had enough.
    fn pass(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        let before = completions.len();
        self.device.advance(to_ns, completions);
        for answer in &completions[before..] {
            self.waiting.retain(|(_, tag)| *tag != answer.tag);
        }
    }

    fn late_ns(&self) -> Option<u64> {
        self.waiting.front().map(|(late_ns, _)| *late_ns)
    }
}

impl<D: BlockDevice> BlockDevice for Impatient<D> {
    fn capacity_bytes(&self) -> u64 {
        self.device.capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        self.device.queue_depth()
    }

    fn speaks_ata(&self) -> bool {
        self.device.speaks_ata()
    }

    fn submit(&mut self, now_ns: u64, request: Request) {
        let times = if request.verb == Verb::Flush { SD_FLUSH_TIMES } else { 1 };
        self.wait(now_ns.saturating_add(self.timeout_ns.saturating_mul(times)), request.tag);
        self.device.submit(now_ns, request);
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.device.next_event_ns().into_iter().chain(self.late_ns()).min()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        while let Some(late_ns) = self.late_ns().filter(|late_ns| *late_ns <= to_ns) {
            self.pass(late_ns, completions);
            if self.late_ns() != Some(late_ns) {
                continue;
            }
            self.device.reset(late_ns);
            self.pass(late_ns, completions);
            while self.late_ns() == Some(late_ns) {
                let (_, tag) = self.waiting.pop_front().expect("one is late");
                self.wait(late_ns.saturating_add(self.timeout_ns), tag);
            }
        }
        self.pass(to_ns, completions);
    }

    fn power_loss(&mut self, at_ns: u64) -> Lost {
        self.waiting.clear();
        self.device.power_loss(at_ns)
    }

    fn power_on(&mut self, at_ns: u64) -> u64 {
        self.device.power_on(at_ns)
    }

    fn reset(&mut self, now_ns: u64) {
        self.device.reset(now_ns);
    }

    fn is_ready(&self, now_ns: u64) -> bool {
        self.device.is_ready(now_ns)
    }

    fn losses(&self) -> &[Lost] {
        self.device.losses()
    }

    fn truth(&self) -> Option<Truth> {
        self.device.truth()
    }
}
