//! A fio job in virtual time: what its options mean ([`JobFile`]), and who submits what when ([`Run`]), in a closed
//! loop against any [`drive::BlockDevice`].
//!
//! Every option honoured is listed in `docs/fio-options.md`. An option that is not honoured is refused by name.

mod error;
mod job;
mod pattern;
mod run;

pub use error::JobError;
pub use job::{Access, BlockSizes, Direction, Distribution, Job, JobFile, Pause, Region, Sequencer, Zone};
pub use pattern::Cover;
pub use run::{status_code, verb_code, Failure, RequestColumns, Row, Run};
