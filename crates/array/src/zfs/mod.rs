//! OpenZFS: mirrors, raidz and dRAID.

mod draid;
mod draid_maps;
mod geometry;
mod raidz;

pub use draid::Draid;
pub use geometry::{Column, Geometry};
