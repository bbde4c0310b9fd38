//! A pool for tests, which they change as they need it.

use drive::{Drive, Profile};

use super::content::{Content, Files};
use super::geometry::Geometry;
use super::order::Order;
use super::plan::{Plan, Sampling};
use super::tunables::{Host, Tunables};

/// Half of it is full of one file, and the second member lost.
pub(super) fn plan(geometry: Geometry, order: Order, member_bytes: u64) -> Plan {
    Plan {
        geometry,
        member_bytes,
        content: Content { record_bytes: 128 << 10, fill: 0.5, run_records: None, files: Files::One },
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

/// Its members.
pub(super) fn drives(plan: &Plan) -> Vec<Drive> {
    let profile = Profile::parse(include_str!("../../../../drives/hd103uj.toml")).unwrap();
    (0..plan.geometry.width() as u64).map(|member| Drive::new(&profile, member)).collect()
}
