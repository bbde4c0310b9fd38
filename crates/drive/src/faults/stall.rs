//! Stalls: for a while the device answers nobody, and then goes on as if nothing had been.

use super::{Answer, Fate, Fault, Faulty, Schedule};
use crate::request::{BlockDevice, Request};

/// The windows in which nothing is answered.
#[derive(Clone, Copy, Debug)]
pub struct Stall(Schedule);

impl Stall {
    /// A device that stalls.
    pub fn around<D: BlockDevice>(device: D, schedule: Schedule) -> Faulty<D, Self> {
        Faulty::around(device, Self(schedule))
    }
}

impl Fault for Stall {
    fn receive(&mut self, now_ns: u64, _request: &Request) -> Fate {
        self.0.end_at(now_ns).map_or(Fate::Pass, Fate::Hold)
    }

    fn answer(&mut self, _request: &Request, answer: Answer) -> Answer {
        Answer { at_ns: self.0.end_at(answer.at_ns).unwrap_or(answer.at_ns), ..answer }
    }

    fn reset(&mut self, now_ns: u64) -> bool {
        self.is_ready(now_ns)
    }

    fn is_ready(&self, now_ns: u64) -> bool {
        self.0.end_at(now_ns).is_none()
    }
}
