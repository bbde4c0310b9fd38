//! A small pool with a resilver to do, which tests change as they need it.

use array::zfs::{Content, Files, Geometry, Host, Order, Plan, Sampling, Tunables};

pub const GIB: u64 = 1 << 30;

/// A quarter of 2 GiB a member is full, and the second of them lost.
pub fn plan(geometry: Geometry, order: Order) -> Plan {
    Plan {
        geometry,
        member_bytes: 2 * GIB,
        partition_at_bytes: 0,
        content: Content { record_bytes: 128 << 10, fill: 0.25, run_records: None, files: Files::One },
        lost: 1,
        spare: None,
        order,
        tunables: Tunables::v2_3(),
        host: Host::default(),
        sampling: Sampling::NONE,
        second_failure: None,
        seed: 1,
    }
}
