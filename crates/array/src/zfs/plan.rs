//! What is resilvered and how.

use std::ops::Range;

use super::content::Content;
use super::geometry::{Geometry, Spread};
use super::order::Order;
use super::tunables::{Host, Tunables};
use crate::LayoutError;

/// How much of a resilver is made request by request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// About how many records are made, windows of all strata together; 0: all there are.
    pub records: u64,
    /// Records in a window, at least; where much is under way at a time, six times as much as that.
    pub window_records: u64,
    /// Records at the beginning that are all made: what a shingled drive's cache takes, until it is full.
    pub first_records: u64,
}

impl Sampling {
    /// Every request is made.
    pub const NONE: Self = Self { records: 0, window_records: 0, first_records: 0 };
}

impl Default for Sampling {
    fn default() -> Self {
        Self { records: 1_200_000, window_records: 2048, first_records: 0 }
    }
}

/// What is resilvered and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The layout.
    pub geometry: Geometry,
    /// What the vdev has of each drive: the smallest partition that it was made of.
    pub member_bytes: u64,
    /// Where on a drive that begins: [`PARTITION_AT_BYTES`](super::PARTITION_AT_BYTES), unless the pool has drives as they are.
    pub partition_at_bytes: u64,
    /// What is on it.
    pub content: Content,
    /// Whose place the replacement takes.
    pub lost: usize,
    /// The distributed spare that takes the place instead, dRAID only: then the lost drive stays lost.
    pub spare: Option<u64>,
    /// In which order.
    pub order: Order,
    /// With which module parameters.
    pub tunables: Tunables,
    /// On which machine.
    pub host: Host,
    /// How much of it is made request by request.
    pub sampling: Sampling,
    /// A member that fails on the way, and when, in nanoseconds since the beginning.
    pub second_failure: Option<(usize, u64)>,
    /// For where an aged pool's runs lie.
    pub seed: u64,
}

/// How much of a scan may be under way.
pub(super) struct Flight {
    pub bytes: u64,
    pub flows: u64,
}

impl Plan {
    /// What the vdev has of each drive.
    pub fn partition(&self) -> Range<u64> {
        self.partition_at_bytes..self.partition_at_bytes + self.member_bytes
    }

    pub(super) fn flight(&self) -> Flight {
        let Self { tunables, geometry, host, order, .. } = self;
        let (bytes, flows) = match (order, tunables.top_maxinflight) {
            (Order::Sequential, _) => {
                let limit = tunables.rebuild_vdev_limit_bytes * geometry.width() as u64;
                (limit.min(host.most_cached_bytes() / 2), u64::MAX)
            }
            (_, Some(records)) => (u64::MAX, u64::from(records)),
            (_, None) => (tunables.scan_vdev_limit_bytes * geometry.data_width(), u64::MAX),
        };
        Flight { bytes: bytes.max(1 << 20), flows }
    }

    /// Records that are passed by the time that as much is under way as may be.
    pub(super) fn flight_records(&self) -> u64 {
        let Flight { bytes, flows } = self.flight();
        let record_bytes = self.content.record_bytes.max(1);
        (bytes / record_bytes).min(flows) * self.geometry.blocks_per_column(record_bytes)
    }

    pub(super) fn check(&self, capacities: &[u64]) -> Result<(), LayoutError> {
        let Self { geometry, member_bytes, lost, spare, order, second_failure, .. } = self;
        let width = geometry.width();
        self.host.check()?;
        if capacities.len() != width {
            return Err(LayoutError::value("members", capacities.len(), format!("{width} are expected")));
        }
        if *lost >= width {
            return Err(LayoutError::value("lost member", lost, format!("there are 0 to {}", width - 1)));
        }
        for (at, capacity) in capacities.iter().enumerate() {
            if *capacity < self.partition().end && !(at == *lost && spare.is_some()) {
                let which = if at == *lost { "replacement" } else { "member" };
                let reason = format!("too small: the vdev was made for members of {member_bytes} bytes");
                return Err(LayoutError::value(which, format!("{capacity} bytes"), reason));
            }
        }
        let sequential = !matches!(geometry.spread, Spread::Raidz { .. });
        if *order == Order::Sequential && !sequential {
            let reason = "stripes of variable width can only be found through their pointers: mirrors and dRAID only";
            return Err(LayoutError::value("order", "sequential", reason));
        }
        if let Some(spare) = spare {
            match &geometry.spread {
                Spread::Draid(draid) if *spare < draid.spares => {}
                Spread::Draid(draid) => {
                    let reason = match draid.spares {
                        1 => "the only one is 0".to_owned(),
                        spares => format!("there are 0 to {}", spares - 1),
                    };
                    return Err(LayoutError::value("spare", spare, reason));
                }
                _ => return Err(LayoutError::value("spare", spare, "only dRAID has distributed spares")),
            }
        }
        match second_failure {
            Some((member, _)) if member >= &width || member == lost => {
                Err(LayoutError::value("second failure", member, "it must be another member of the vdev"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::plan;
    use super::*;

    const MIB: u64 = 1 << 20;

    fn geometries() -> [Geometry; 3] {
        [Geometry::mirror(3, 12), Geometry::raidz(2, 6, 12), Geometry::draid(2, 4, 11, 1, 12)].map(Result::unwrap)
    }

    /// `dsl_scan_count_data_disks`: a mirror counts as one drive, the others without parity and spares.
    #[test]
    fn a_scan_has_so_much_in_flight_for_each_drive_of_data() {
        for (tunables, each) in [(Tunables::v2_3(), 16 * MIB), (Tunables::v2_1(), 4 * MIB)] {
            let bytes = |geometry| Plan { tunables, ..plan(geometry, Order::Sorted, 1 << 40) }.flight().bytes;
            assert_eq!(geometries().map(bytes), [1, 4, 8].map(|drives| drives * each));
        }
    }

    /// `vdev_rebuild_thread`: for each drive, parity and spares too, but no more than half of the largest cache.
    #[test]
    fn a_rebuild_has_so_much_in_flight_for_each_drive() {
        let bytes = |memory_bytes| {
            let host = Host { memory_bytes, ..Host::default() };
            geometries().map(|geometry| Plan { host, ..plan(geometry, Order::Sequential, 1 << 40) }.flight().bytes)
        };
        assert_eq!(bytes(16 << 30), [3, 6, 11].map(|drives| drives * 64 * MIB));
        assert_eq!(bytes(1 << 30), [192 * MIB, 256 * MIB, 256 * MIB]);
    }

    /// Of a scan of old it is a number of blocks. Ten children in groups of six pass two blocks for each that one has a part of.
    #[test]
    fn more_blocks_are_passed_than_are_in_flight() {
        let of = |tunables| {
            geometries().map(|geometry| Plan { tunables, ..plan(geometry, Order::Sorted, 1 << 40) }.flight_records())
        };
        assert_eq!(of(Tunables::v0_6()), [32, 32, 64]);
        assert_eq!(of(Tunables::v2_3()), [128, 4 * 128, 2 * 8 * 128]);
    }
}
