//! A storage box around what keeps its data: the link to it, its protocol, its caches.
//!
//! In reading order: [`options`] what is stated of a box, `wire` one direction of its link or of its software, `cache` what it
//! keeps in memory, `ahead` what it reads before it is asked, `writeback` when what was written leaves, [`storage_box`] a request's way through all of it.

mod ahead;
mod cache;
pub mod options;
pub mod storage_box;
mod wire;
mod writeback;

pub use options::Options;
pub use storage_box::StorageBox;
