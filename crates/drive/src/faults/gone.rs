//! Disappearance and return: the cable, the backplane, the bridge. The device keeps its power.

use super::{Fate, Fault, Faulty, Schedule};
use crate::request::{BlockDevice, Request, Status};

/// The windows in which the device is not there.
#[derive(Clone, Copy, Debug)]
pub struct Gone {
    schedule: Schedule,
    next_ns: Option<u64>,
}

impl Gone {
    /// A device that disappears. What is in flight then is answered with [`Status::Gone`], and may have been done or not.
    pub fn around<D: BlockDevice>(device: D, schedule: Schedule) -> Faulty<D, Self> {
        let next_ns = schedule.next_window(0).map(|window| window.0);
        Faulty::around(device, Self { schedule, next_ns })
    }
}

impl Fault for Gone {
    fn receive(&mut self, now_ns: u64, _request: &Request) -> Fate {
        self.schedule.end_at(now_ns).map_or(Fate::Pass, |_| Fate::Fail(Status::Gone))
    }

    fn next_change_ns(&self) -> Option<u64> {
        self.next_ns
    }

    fn change(&mut self, at_ns: u64, _device: &mut dyn BlockDevice) -> Option<Status> {
        self.next_ns = self.schedule.next_window(at_ns + 1).map(|window| window.0);
        Some(Status::Gone)
    }
}
