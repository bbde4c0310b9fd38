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
