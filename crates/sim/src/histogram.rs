//! Latencies, recorded to three significant digits.

use hdrhistogram::Histogram;

const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// A histogram of latencies from 1 ns to 1 h. What lies outside is counted at the nearer end.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: Histogram<u64>,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let counts = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS).expect("constant bounds are valid");
        Self { counts, sum_ns: 0, max_ns: 0 }
    }

    /// Counts one latency.
    pub fn record(&mut self, latency_ns: u64) {
        self.counts.saturating_record(latency_ns.clamp(1, HIGHEST_NS));
        self.sum_ns += u128::from(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Whether two latencies, and all between them, are counted as the same.
    pub fn counts_alike(&self, least_ns: u64, most_ns: u64) -> bool {
        least_ns >= 1 && most_ns <= HIGHEST_NS && self.counts.equivalent(least_ns, most_ns)
    }

    /// The longest of the latencies that are counted as the same as this one: what a quantile tells of it.
    pub fn counted_as_ns(&self, latency_ns: u64) -> u64 {
        self.counts.highest_equivalent(latency_ns.clamp(1, HIGHEST_NS))
    }

    /// Counts groups of latencies, each a latency and how many [count alike](Self::counts_alike), of which in addition the
    /// sum and the maximum over all groups are known.
    pub fn record_groups<const GROUPS: usize>(&mut self, groups: [(u64, u64); GROUPS], sum_ns: u64, max_ns: u64) {
        for (latency_ns, count) in groups {
            self.counts.saturating_record_n(latency_ns.clamp(1, HIGHEST_NS), count);
        }
        self.sum_ns += u128::from(sum_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }

    /// How many latencies were counted.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The exact mean in nanoseconds; `None` while empty.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The latency that a share `quantile` (0..=1) of all does not exceed; `None` while empty. Never above the maximum.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.counts.value_at_quantile(quantile).min(self.max_ns))
    }

    /// The exact largest latency; `None` while empty.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// Forgets everything, keeps the memory.
    pub fn reset(&mut self) {
        self.counts.reset();
        self.sum_ns = 0;
        self.max_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{LatencyHistogram, HIGHEST_NS};

    #[test]
    fn mean_and_max_are_exact_and_quantiles_close() {
        let mut histogram = LatencyHistogram::new();
        for latency_ns in 1..=10_000_u64 {
            histogram.record(latency_ns * 1000);
        }
        assert_eq!(histogram.count(), 10_000);
        assert_eq!(histogram.mean_ns(), Some(5_000_500.0));
        assert_eq!(histogram.max_ns(), Some(10_000_000));
        let p99 = histogram.quantile_ns(0.99).unwrap() as f64;
        assert!((p99 / 9_900_000.0 - 1.0).abs() < 1e-3, "{p99}");
        assert_eq!(histogram.quantile_ns(1.0), Some(10_000_000));
    }

    #[test]
    fn empty_says_nothing_and_reset_empties() {
        let mut histogram = LatencyHistogram::new();
        assert_eq!((histogram.mean_ns(), histogram.quantile_ns(0.5), histogram.max_ns()), (None, None, None));
        histogram.record(5);
        histogram.reset();
        assert_eq!((histogram.count(), histogram.max_ns()), (0, None));
    }

    #[test]
    fn beyond_an_hour_is_counted_at_the_end() {
        let mut histogram = LatencyHistogram::new();
        histogram.record(3 * HIGHEST_NS);
        assert_eq!(histogram.max_ns(), Some(3 * HIGHEST_NS));
        assert!(histogram.quantile_ns(0.5).unwrap() >= HIGHEST_NS);
    }
}
