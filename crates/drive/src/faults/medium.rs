//! Latent sector errors: sectors that cannot be read until they are written anew, and the device's long attempts at them.

use rangemap::RangeSet;

use super::{Answer, Fate, Fault, Faulty};
use crate::request::{BlockDevice, Request, Status, Verb, SECTOR_BYTES};

/// Unreadable sectors.
#[derive(Clone, Debug)]
pub struct LatentSectors {
    bad: RangeSet<u64>,
    from_ns: u64,
    retry_ns: u64,
    /// Until then the device is at its attempts, and does nothing else.
    busy_until_ns: u64,
}

impl LatentSectors {
    /// A device that cannot read some sectors (of [`SECTOR_BYTES`]) from `from_ns` on, and says so after having tried for
    /// `retry_ns`, during which it does nothing else.
    pub fn around<D: BlockDevice>(
        device: D,
        sectors: impl IntoIterator<Item = std::ops::Range<u64>>,
        from_ns: u64,
        retry_ns: u64,
    ) -> Faulty<D, Self> {
        let bad = sectors.into_iter().filter(|range| !range.is_empty()).collect();
        Faulty::around(device, Self { bad, from_ns, retry_ns, busy_until_ns: 0 })
    }
}

impl Fault for LatentSectors {
    fn receive(&mut self, now_ns: u64, _request: &Request) -> Fate {
        match now_ns < self.busy_until_ns {
            true => Fate::Hold(self.busy_until_ns),
            false => Fate::Pass,
        }
    }

    fn answer(&mut self, request: &Request, answer: Answer) -> Answer {
        let at_ns = answer.at_ns.max(self.busy_until_ns);
        let first = request.offset_bytes / SECTOR_BYTES;
        let sectors = first..first + request.bytes / SECTOR_BYTES;
        if answer.status != Status::Good || sectors.is_empty() || answer.at_ns < self.from_ns {
            return Answer { at_ns, ..answer };
        }
        match request.verb {
            Verb::Write => self.bad.remove(sectors),
            Verb::Read => {
                if let Some(bad) = self.bad.overlapping(&sectors).next() {
                    self.busy_until_ns = at_ns.saturating_add(self.retry_ns);
                    let offset_bytes = bad.start.max(first) * SECTOR_BYTES;
                    return Answer { at_ns: self.busy_until_ns, status: Status::MediumError { offset_bytes } };
                }
            }
            Verb::Flush | Verb::Trim => {}
        }
        Answer { at_ns, ..answer }
    }

    /// It gives up its attempts.
    fn reset(&mut self, now_ns: u64) -> bool {
        self.busy_until_ns = self.busy_until_ns.min(now_ns);
        true
    }
}
