//! A job file or a trace at work on a device.

mod block_layer;
mod closed_loop;
mod flushes;
mod log;
mod pace;
mod replayer;
mod sent;
mod stages;
mod submitter;
mod tally;
mod worker;

pub use closed_loop::{Failure, Run};
pub use log::{status_code, verb_code, RequestColumns};
pub use tally::Row;
