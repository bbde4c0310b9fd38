//! Arrays of modelled drives in virtual time: where data and parity lie, and how a lost member is rebuilt.
//!
//! In reading order: [`layout`] the names and shapes of arrays, [`members`] the drives advanced together (with
//! `tournament`, which of them has something to tell next, and `command`, what one is asked for, and `waiting`, what waits for one, and `counters`), [`progress`] and [`outcome`] what
//! a rebuild tells of itself, [`md`] Linux software RAID, [`zfs`] OpenZFS, [`nas`] a storage box around an array.

// Tests within share a plan with those that see the crate from outside.
#[cfg(test)]
extern crate self as array;

mod command;
mod counters;
pub mod layout;
pub mod md;
pub mod members;
pub mod nas;
pub mod outcome;
pub mod progress;
mod tournament;
mod waiting;
pub mod zfs;

pub use layout::{Layout, LayoutError};
pub use members::{Counters, Done, Members};
pub use outcome::{Ended, MemberShare, Outcome};
pub use progress::{Point, Progress};
