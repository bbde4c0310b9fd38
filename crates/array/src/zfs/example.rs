//! A pool for tests, which they change as they need it.

use drive::{Drive, Profile};

use super::content::Content;
use super::geometry::Geometry;
use super::order::Order;
use super::plan::Plan;

/// That of the tests that see the crate from outside.
#[path = "../../tests/all/plan/mod.rs"]
mod small;

/// The same of other members, half of which are full.
pub(super) fn plan(geometry: Geometry, order: Order, member_bytes: u64) -> Plan {
    let small = small::plan(geometry, order);
    Plan { member_bytes, content: Content { fill: 0.5, ..small.content }, ..small }
}

/// Its members.
pub(super) fn drives(plan: &Plan) -> Vec<Drive> {
    let profile = Profile::parse(include_str!("../../../../drives/hd103uj.toml")).unwrap();
    (0..plan.geometry.width() as u64).map(|member| Drive::new(&profile, member)).collect()
}
