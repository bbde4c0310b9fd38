//! What every simulated thing shares: seeded random streams and latency histograms. No I/O.

mod histogram;
mod random;

pub use histogram::LatencyHistogram;
pub use random::{stream, Stream};
