//! The lab: a User-Mode Linux kernel whose clock is ours, with modelled drives.
//!
//! In reading order: [`Lab`](setup) keeps the drives over several boots, `session` is one boot, `clock` what time it is, `watch` and
//! `guest` when it is given up, `bay` a drive's commands and their ends, with its `plug`; `front` says what `blk` and `scsi` have in common; `port`, `ring` and `memory`
//! are how the guest's kernel speaks to them, over `link`; `media` and `blocks` hold the data, `undo` what it was before, `history` what a drive needs to go on in another lab; `trace` and `report` what
//! happened.
//!
//! One thread does it all, because the order in which things happen is the result: whoever runs, guest or drives,
//! the others wait. Two kinds of failure never mix: what a drive does wrong is a [`drive::Status`] and reaches the
//! guest as sense data or a status, what goes wrong with the lab itself is a [`LabError`] and ends it.

mod bay;
mod blk;
mod blocks;
mod clock;
mod error;
mod front;
mod guest;
mod history;
mod identity;
mod link;
mod media;
mod memory;
mod plug;
mod port;
mod report;
mod ring;
mod scsi;
mod session;
mod setup;
mod trace;
mod undo;
mod watch;

pub use error::LabError;
pub use guest::Guest;
pub use history::{History, Kept};
pub use identity::Identity;
pub use report::{Counters, DriveReport, LabReport, Outcome};
pub use setup::{FrontKind, Lab, LabDrive, LabOptions};
pub use watch::Limits;
