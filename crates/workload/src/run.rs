//! A job file at work on a device.

mod closed_loop;
mod pace;
mod tally;
mod worker;

pub use closed_loop::{Failure, Run};
pub use tally::Row;
