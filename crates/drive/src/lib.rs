//! One hard drive in virtual time: geometry, mechanics, DRAM cache, command queue, translation layers.

mod request;

pub use request::{BlockDevice, Completion, Request, Status, Verb, SECTOR_BYTES};
