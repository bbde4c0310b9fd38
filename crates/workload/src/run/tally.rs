//! Completions counted for each interval and direction.

use sim::LatencyHistogram;

use crate::job::Direction;

/// Quantiles of so few latencies are told exactly, of more to three digits.
const FEW: usize = 512;

/// So many latencies are kept one by one: most intervals need no histogram, which takes longer to be read and emptied
/// than these to be sorted out.
const KEPT: usize = 4096;

/// One interval of one direction. Times and latencies in nanoseconds; latencies are those of the requests that
/// completed in the interval, from submission to completion, and `None` where there were none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Which direction.
    pub direction: Direction,
    /// When the interval began.
    pub start_ns: u64,
    /// How long it was: the last one may be shorter.
    pub duration_ns: u64,
    /// Completions.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Mean latency.
    pub latency_mean_ns: Option<f64>,
    /// Median.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile.
    pub latency_p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub latency_p999_ns: Option<u64>,
    /// The longest.
    pub latency_max_ns: Option<u64>,
}

/// What one direction has done since the interval began.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    direction: Direction,
    bytes: u64,
    kept: Vec<u64>,
    /// All of them, once there are more.
    many: LatencyHistogram,
}

impl Tally {
    /// Nothing done yet.
    pub fn new(direction: Direction) -> Self {
        Self { direction, bytes: 0, kept: Vec::with_capacity(KEPT), many: LatencyHistogram::new() }
    }

    /// Which direction it counts.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Counts one completion.
    pub fn record(&mut self, bytes: u64, latency_ns: u64) {
        self.bytes += bytes;
        if self.kept.len() == KEPT {
            self.spill();
        }
        if self.many.count() > 0 {
            self.many.record(latency_ns);
        } else {
            self.kept.push(latency_ns);
        }
    }

    /// How many completions it takes until quantiles are told to three digits.
    pub fn until_many(&self) -> u64 {
        if self.many.count() > 0 {
            0
        } else {
            (FEW + 1).saturating_sub(self.kept.len()) as u64
        }
    }

    /// Where those count latencies who have [enough](Self::until_many) of them, and tell afterwards of how many bytes.
    pub fn many(&mut self) -> &mut LatencyHistogram {
        &mut self.many
    }

    /// So many bytes belong to what was counted in [`many`](Self::many).
    pub fn add_many(&mut self, bytes: u64) {
        self.spill();
        self.bytes += bytes;
    }

    /// Has anything been counted?
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.many.count() == 0
    }

    /// The row of the interval; counting begins anew.
    pub fn close(&mut self, start_ns: u64, duration_ns: u64) -> Row {
        let row = match self.kept.len() {
            _ if self.many.count() > 0 => self.row_of_many(),
            ..=FEW => self.row_of_kept(|_, latency_ns| latency_ns),
            _ => self.row_of_kept(LatencyHistogram::counted_as_ns),
        };
        self.bytes = 0;
        self.kept.clear();
        if self.many.count() > 0 {
            self.many.reset();
        }
        Row { start_ns, duration_ns, ..row }
    }

    fn spill(&mut self) {
        for latency_ns in self.kept.drain(..) {
            self.many.record(latency_ns);
        }
    }

    fn row_of_many(&self) -> Row {
        Row {
            direction: self.direction,
            start_ns: 0,
            duration_ns: 0,
            count: self.many.count(),
            bytes: self.bytes,
            latency_mean_ns: self.many.mean_ns(),
            latency_p50_ns: self.many.quantile_ns(0.5),
            latency_p99_ns: self.many.quantile_ns(0.99),
            latency_p999_ns: self.many.quantile_ns(0.999),
            latency_max_ns: self.many.max_ns(),
        }
    }

    /// What is told of a latency, `told` says: few are told exactly, more as the histogram would.
    fn row_of_kept(&mut self, told: impl Fn(&LatencyHistogram, u64) -> u64) -> Row {
        let (count, max_ns) = (self.kept.len(), self.kept.iter().copied().max());
        let sum: u128 = self.kept.iter().copied().map(u128::from).sum();
        let mut quantile = |share: f64| {
            let rank = ((count as f64 * share).ceil() as usize).saturating_sub(1);
            (rank < count).then(|| told(&self.many, *self.kept.select_nth_unstable(rank).1).min(max_ns.unwrap_or(0)))
        };
        Row {
            direction: self.direction,
            start_ns: 0,
            duration_ns: 0,
            count: count as u64,
            bytes: self.bytes,
            latency_mean_ns: (count > 0).then(|| sum as f64 / count as f64),
            latency_p50_ns: quantile(0.5),
            latency_p99_ns: quantile(0.99),
            latency_p999_ns: quantile(0.999),
            latency_max_ns: max_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Tally, FEW, KEPT};
    use crate::job::Direction;

    #[test]
    fn few_and_many_agree() {
        let rows = [FEW as u64, FEW as u64 + 1].map(|count| {
            let mut tally = Tally::new(Direction::Read);
            (1..=count).for_each(|latency| tally.record(512, latency * 1000));
            tally.close(5, 10)
        });
        assert_eq!((rows[0].count, rows[1].count, rows[1].bytes), (512, 513, 513 * 512));
        assert_eq!((rows[0].latency_max_ns, rows[1].latency_max_ns), (Some(512_000), Some(513_000)));
        for (few, many) in [
            (rows[0].latency_p50_ns, rows[1].latency_p50_ns),
            (rows[0].latency_p99_ns, rows[1].latency_p99_ns),
            (rows[0].latency_p999_ns, rows[1].latency_p999_ns),
        ] {
            let (few, many) = (few.unwrap() as f64, many.unwrap() as f64);
            assert!((many - few).abs() <= 1000.0 + few / 1000.0, "{few} {many}");
        }
    }

    #[test]
    fn what_is_kept_is_told_as_the_histogram_would() {
        let mut latencies = sim::stream(1, "latencies");
        for count in [FEW + 1, 1000, KEPT] {
            let (mut tally, mut histogram) = (Tally::new(Direction::Write), sim::LatencyHistogram::new());
            for _ in 0..count {
                let latency_ns = latencies.below(1 << 10) * latencies.below(1 << 33);
                tally.record(512, latency_ns);
                histogram.record(latency_ns);
            }
            let row = tally.close(0, 1);
            assert_eq!((row.count, row.latency_mean_ns), (count as u64, histogram.mean_ns()));
            assert_eq!(row.latency_p50_ns, histogram.quantile_ns(0.5));
            assert_eq!(row.latency_p99_ns, histogram.quantile_ns(0.99));
            assert_eq!((row.latency_p999_ns, row.latency_max_ns), (histogram.quantile_ns(0.999), histogram.max_ns()));
        }
    }

    #[test]
    fn an_empty_interval_has_no_latencies() {
        let mut tally = Tally::new(Direction::Write);
        tally.record(512, 7);
        tally.close(0, 1);
        let row = tally.close(1, 1);
        assert_eq!((row.count, row.bytes, row.latency_mean_ns, row.latency_p50_ns), (0, 0, None, None));
    }
}
