//! Loss of power and return: the device loses what was in its volatile memory, and takes its time to start.

use super::{Fate, Fault, Faulty, Schedule};
use crate::request::{BlockDevice, Lost, Request, Status};

/// The windows without power.
#[derive(Clone, Debug)]
pub struct PowerLoss {
    schedule: Schedule,
    /// When the power fails or comes back next.
    next_ns: Option<u64>,
    /// Since when there is none.
    off_until_ns: Option<u64>,
    losses: Vec<Lost>,
}

impl PowerLoss {
    /// A device whose power fails. What it lost is in [`BlockDevice::losses`].
    pub fn around<D: BlockDevice>(device: D, schedule: Schedule) -> Faulty<D, Self> {
        let next_ns = schedule.next_window(0).map(|window| window.0);
        Faulty::around(device, Self { schedule, next_ns, off_until_ns: None, losses: Vec::new() })
    }
}

impl Fault for PowerLoss {
    fn receive(&mut self, _now_ns: u64, _request: &Request) -> Fate {
        self.off_until_ns.map_or(Fate::Pass, |_| Fate::Fail(Status::Gone))
    }

    fn next_change_ns(&self) -> Option<u64> {
        self.next_ns
    }

    fn change(&mut self, at_ns: u64, device: &mut dyn BlockDevice) -> Option<Status> {
        if self.off_until_ns.take().is_some() {
            device.power_on(at_ns);
            self.next_ns = self.schedule.next_window(at_ns).map(|window| window.0);
            return None;
        }
        self.off_until_ns = Some(at_ns.saturating_add(self.schedule.for_ns));
        self.next_ns = self.off_until_ns;
        self.losses.push(device.power_loss(at_ns));
        Some(Status::Gone)
    }

    fn losses(&self) -> Option<&[Lost]> {
        Some(&self.losses)
    }
}
