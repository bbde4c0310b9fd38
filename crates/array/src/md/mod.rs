//! Linux software RAID, as `drivers/md` of Linux 6.1 does it.
//!
//! In reading order: [`options`] what an array is made of, [`parity`] and [`copies`] where things lie, `unit` what goes
//! to the members together, `thread` how the rebuild holds itself back, [`array`] the array itself, with `foreground`
//! what the host asks, `recovery` how a replacement is filled (`pages` what it reads into, `buddies` where those come from,
//! `run` how they follow each other), `barrier`, `superblocks` and `journal` who waits for whom, `processor` who goes first (`follower` whom
//! a tick finds), and `trouble` what happens when members fail.

pub mod array;
mod barrier;
mod buddies;
pub mod copies;
mod follower;
mod foreground;
mod journal;
pub mod options;
mod pages;
pub mod parity;
mod processor;
mod recovery;
mod run;
mod superblocks;
mod thread;
mod trouble;
mod unit;

pub use array::Array;
pub use copies::Copies;
pub use options::{Arrangement, Options};
pub use parity::{Parity, Rotation};
