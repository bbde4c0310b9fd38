//! Faults, as wrappers around any device: each is a [`BlockDevice`](crate::BlockDevice) itself, so they stack in any order.
//!
//! One file a fault, and `host` for who has had enough of them; what they share is `wrapper`, which keeps track of requests, and `schedule`, which says when.
//! [`Faults`] reads a list of them from TOML (`docs/faults.md`). All of it goes by virtual time: the same requests meet the
//! same faults.

mod entry;
mod error;
mod gone;
mod host;
mod linux;
mod medium;
mod parse;
mod power;
mod schedule;
mod stall;
mod timeout;
mod wrapper;

pub use error::FaultsError;
pub use gone::Gone;
pub use host::Impatient;
pub use linux::{SD_FLUSH_TIMES, SD_MAX_RETRIES, SD_TIMEOUT_NS};
pub use medium::LatentSectors;
pub use parse::Faults;
pub use power::PowerLoss;
pub use schedule::Schedule;
pub use stall::Stall;
pub use timeout::Timeout;
pub use wrapper::{Answer, Fate, Fault, Faulty};
