//! A storage box around what keeps its data: the link to it, its protocol, its caches.
//!
//! In reading order: [`options`] what is stated of a box, `wire` one direction of its link, `cache` what it keeps in memory,
//! [`storage_box`] a request's way through all of it.

mod cache;
pub mod options;
pub mod storage_box;
mod wire;

pub use options::Options;
pub use storage_box::StorageBox;
