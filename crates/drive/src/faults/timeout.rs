//! Timeouts: some commands get lost in the device and are never answered, or long after the host has given up.

use super::{Fate, Fault, Faulty, Schedule};
use crate::request::{BlockDevice, Request};

/// Commands that hang.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    schedule: Schedule,
    one_in: u64,
    /// They are worked on after so long, unless the host resets the link before; `None`: never.
    after_ns: Option<u64>,
    seen: u64,
}

impl Timeout {
    /// A device in which one in `one_in` commands that come within the windows hangs, the first to begin with: for
    /// `after_ns`, or until the host resets the link.
    pub fn around<D: BlockDevice>(
        device: D,
        schedule: Schedule,
        one_in: u64,
        after_ns: Option<u64>,
    ) -> Faulty<D, Self> {
        Faulty::around(device, Self { schedule, one_in, after_ns, seen: 0 })
    }
}

impl Fault for Timeout {
    fn receive(&mut self, now_ns: u64, _request: &Request) -> Fate {
        if self.schedule.end_at(now_ns).is_none() {
            return Fate::Pass;
        }
        self.seen += 1;
        match (self.seen - 1) % self.one_in {
            0 => self.after_ns.map_or(Fate::Hang, |after_ns| Fate::Hold(now_ns.saturating_add(after_ns))),
            _ => Fate::Pass,
        }
    }

    /// The question is a command as any other: where all hang, it does.
    fn is_ready(&self, now_ns: u64) -> bool {
        self.one_in > 1 || self.schedule.end_at(now_ns).is_none()
    }

    fn release(&mut self, _now_ns: u64, _request: &Request) -> Fate {
        Fate::Pass
    }
}
