//! OpenZFS: mirrors, raidz and dRAID, and how they are resilvered.
//!
//! In reading order: [`Geometry`] says where a block's columns lie on the members (`raidz`, `draid` with its `draid_maps`), `room` how
//! much of a vdev may be written, `content` what was and `pool` where it lies: in which `metaslabs`, with `groups` what lies
//! between (`filling`: how large groups are), and `places` where what was rewritten does; `files` are whose records these are, `indirects` is what names them, `own` what the pool says of itself and `metadata` where
//! both lie; `order` in which order a resilver goes through it, `tunables` the numbers of OpenZFS;
//! a [`Plan`] says what is resilvered and how. Under way are a `role` for each member and the `phase`,
//! a `queue` before each drive and its `errors`, the transaction group (`txg`), `users` with `memory` what they find there, `sample` how a part
//! stands for the whole, `waiting` whom it waits for and `tally` what is counted; [`Resilver`] is all of it. What it does: `heal` the scan and its
//! blocks, `retry` what of them could not be read, `sync` transaction groups with `labels`, `dmu` what users ask for, `lost` what becomes of a drive that fails, and `report` what came of it.

mod column;
mod content;
mod dmu;
mod draid;
mod draid_maps;
mod errors;
#[cfg(test)]
mod example;
mod files;
mod filling;
mod flow;
mod geometry;
mod groups;
mod heal;
mod indirects;
mod labels;
mod lost;
mod memory;
mod metadata;
mod metaslabs;
mod order;
mod own;
mod phase;
mod places;
mod plan;
mod pool;
mod queue;
mod raidz;
mod report;
mod resilver;
mod retry;
mod role;
mod room;
mod sample;
mod shuffle;
mod sync;
mod tally;
mod tunables;
mod txg;
mod users;
mod waiting;

pub use column::Column;
pub use content::{Content, Files};
pub use draid::Draid;
pub use geometry::Geometry;
pub use labels::{write_configuration, PARTITION_AT_BYTES};
pub use order::Order;
pub use plan::{Plan, Sampling};
pub use report::Report;
pub use resilver::Resilver;
pub use tunables::{Active, Host, Tunables};
