//! What every simulated thing shares: seeded random streams, latency histograms, and memory asked for ahead of time. No I/O.

mod histogram;
mod prefetch;
mod random;

pub use histogram::LatencyHistogram;
pub use prefetch::{prefetch, prefetch_behind};
pub use random::{stream, Stream};
