//! A job file: its text, its options, and what they add up to.

mod blocks;
mod file;
mod ini;
mod known;
mod section;
mod spec;
mod value;

pub use ini::UNNAMED;
pub use spec::{Access, BlockSizes, Direction, Distribution, Job, JobFile, Pause, Region, Sequencer, Zone};
