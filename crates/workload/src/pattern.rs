//! Where the next request goes and how long it is.

mod cover;
mod covered;
mod skew;
mod source;
mod taus88;

pub use cover::Cover;
pub(crate) use source::{Extent, Source};
