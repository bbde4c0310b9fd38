//! OpenZFS: mirrors, raidz and dRAID, and how they are resilvered.
//!
//! In reading order: [`Geometry`] says where a block lies on the members (`raidz`, `draid` with its `draid_maps`), `room` how
//! much of a vdev may be written and `pool` what was, with `stretch` and `groups` what lies between, `indirects` what names it, `own`
//! what the pool says of itself and `places` where what was rewritten lies, `order` in which order a resilver goes through it,
//! `tunables` the numbers of OpenZFS; [`Resilver`] is the whole under way: `heal` the scan and its blocks, `queue` what stands before
//! each drive, `errors` what is made of their errors, `txg` transaction groups with `labels`, `users` the pool's users with `memory`
//! what they find there, `sample` how a part stands for the whole, `waiting` whom it waits for, `report` what came of it.

mod draid;
mod draid_maps;
mod errors;
mod flow;
mod geometry;
mod groups;
mod heal;
mod indirects;
mod labels;
mod memory;
mod order;
mod own;
mod places;
mod pool;
mod queue;
mod raidz;
mod report;
mod resilver;
mod room;
mod sample;
mod shuffle;
mod stretch;
mod tunables;
mod txg;
mod users;
mod waiting;

pub use draid::Draid;
pub use geometry::{Column, Geometry};
pub use labels::write_configuration;
pub use order::Order;
pub use pool::Content;
pub use report::Report;
pub use resilver::{Plan, Resilver};
pub use sample::Sampling;
pub use tunables::{Active, Host, Tunables};
