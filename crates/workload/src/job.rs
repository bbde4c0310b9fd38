//! A job file: its text, its options, and what they add up to.

mod blocks;
mod distribution;
mod file;
mod ini;
mod known;
mod pattern;
mod regions;
mod section;
mod spec;
mod value;

pub use ini::UNNAMED;
pub use spec::{Access, BlockSizes, Direction, Distribution, Job, JobFile, Pause, Region, Sequencer, Zone};

/// How fio writes numbers and names options, for whoever reads jobs of other arenas.
pub mod notation {
    pub use super::known::canonical;
    pub use super::value::{bytes_of, count, time_ns};
}
