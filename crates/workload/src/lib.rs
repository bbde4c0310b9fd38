//! A load in virtual time against any [`drive::BlockDevice`]: what the options of a fio job mean ([`JobFile`]), or what
//! a [`Trace`] holds, and who submits what when ([`Run`]).
//!
//! Every option honoured is listed in `docs/fio-options.md`. An option that is not honoured is refused by name.

mod error;
mod job;
mod pattern;
pub mod rebuild;
mod run;
mod trace;

pub use error::JobError;
pub use job::{
    notation, Access, BlockSizes, Direction, Distribution, Job, JobFile, Pause, Region, Sequencer, Zone, UNNAMED,
};
pub use pattern::Cover;
pub use run::{status_code, verb_code, Failure, RequestColumns, Row, Run};
pub use trace::{Replay, Trace, TraceError, TraceRequest};
