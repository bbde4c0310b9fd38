//! Making a part of the requests of a long resilver, and counting the rest at the rate of that part.
//!
//! The work is cut into strata of equal size; somewhere in each a window is made request by request. The time of a window
//! counts for its stratum. That a stratum is alike throughout is what is assumed; how much windows of neighbouring
//! strata differ says how wrong that may be.

use super::order::Walk;
use super::plan::{Plan, Sampling};
use super::pool::Pool;

/// Strata are no fewer and no more than this.
const STRATA: std::ops::RangeInclusive<u64> = 16..=512;

/// Indirect blocks that the scan of a stratum reads at most.
const SCANNED: u64 = 24;

/// A part of the work that is made, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub first: u64,
    /// From here on its time counts.
    pub counted: u64,
    pub end: u64,
    /// For so much of the work a unit of it stands.
    pub weight: f64,
    /// The indirect blocks that are read: the first, how far apart, how many, and for how many each stands.
    pub scan_first: u64,
    pub scan_step: f64,
    pub scan_count: u64,
    pub scan_weight: f64,
}

impl Window {
    /// Does it stand for more than itself?
    pub fn is_sampled(&self) -> bool {
        self.counted > self.first
    }
}

/// Cuts the work into windows, in its order.
///
/// A window's time counts once `flight_records` have come and gone, so that as many end as begin while it counts. Of
/// `blocks_per_column` blocks one has to be made.
pub(super) fn windows(walk: &Walk, pool: &Pool, plan: &Plan) -> Vec<Window> {
    let steps = walk.steps(pool);
    if pool.records == 0 {
        return Vec::new();
    }
    let Sampling { records, window_records, first_records } = plan.sampling;
    let flight_records = plan.flight_records();
    let steps_per_record = steps as f64 / pool.records as f64;
    let in_steps = |records: u64| (records as f64 * steps_per_record).ceil() as u64;
    let first_records = if first_records > 0 { walk.scattered_records(pool) + first_records } else { 0 };
    let first = in_steps(first_records).min(steps);
    let counted_records = window_records.max(6 * flight_records).max(1);
    let warm_records = (2 * flight_records).max(counted_records / 8);
    let made = records * plan.geometry.blocks_per_column(pool.record_bytes) / (counted_records + warm_records);
    let strata = made.clamp(*STRATA.start(), *STRATA.end());
    let warm = in_steps(warm_records).max(1);
    let window = warm + in_steps(counted_records);
    let rest = steps - first;
    // As much again must lie between windows: else nothing would be won.
    let sampled = records > 0 && rest / strata > window * 2;
    // Anywhere in its stratum: always in the middle, windows might keep step with something on the drives.
    let mut places = sim::stream(plan.seed, "windows");
    let mut windows = Vec::new();
    let whole = |first: u64, end: u64| (first, end, first, first, end);
    let mut parts = Vec::new();
    if !sampled {
        parts.push(whole(0, steps));
    } else {
        if first > 0 {
            parts.push(whole(0, first));
        }
        parts.extend((0..strata).map(|stratum| {
            let from = first + (u128::from(rest) * u128::from(stratum) / u128::from(strata)) as u64;
            let to = first + (u128::from(rest) * u128::from(stratum + 1) / u128::from(strata)) as u64;
            let begins = from + places.below(to - from - window);
            (from, to, begins, begins + warm, begins + window)
        }));
    }
    for (from, to, begins, counted, end) in parts {
        let indirect = |step: u64| step as f64 / steps as f64 * pool.indirects.count() as f64;
        let indirects = indirect(to) - indirect(from);
        let scan_count = if sampled { (indirects.ceil() as u64).clamp(1, SCANNED) } else { pool.indirects.count() };
        windows.push(Window {
            first: begins,
            counted,
            end,
            weight: (to - from) as f64 / (end - counted) as f64,
            scan_first: indirect(from) as u64,
            scan_step: indirects / scan_count as f64,
            scan_count,
            scan_weight: if sampled { indirects / scan_count as f64 } else { 1.0 },
        });
    }
    windows
}

/// Of a window's blocks, those that users would have rewritten by then, had all the time before it been made: they need no
/// resilver. Users are taken to rewrite any record alike.
#[derive(Clone, Debug)]
pub(super) struct Rewritten {
    share: f64,
    draws: sim::Stream,
}

impl Rewritten {
    pub fn new(seed: u64) -> Self {
        Self { share: 0.0, draws: sim::stream(seed, "rewritten records") }
    }

    /// So many writes of records were made, of so many records, in a time that stands for so many times as much.
    pub fn look(&mut self, made: u64, records: u64, stands_for: f64) {
        self.share = 1.0 - (-(made as f64) * stands_for / records.max(1) as f64).exp();
    }

    /// Was the next block?
    pub fn is_next(&mut self) -> bool {
        self.share > 0.0 && self.draws.unit() < self.share
    }
}

/// Time as it would be, had all been made.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    weight: f64,
    since_ns: u64,
    passed_ns: f64,
    /// What each counted window added.
    pub strata_ns: Vec<f64>,
}

impl Clock {
    pub fn new(now_ns: u64) -> Self {
        Self { weight: 1.0, since_ns: now_ns, passed_ns: 0.0, strata_ns: Vec::new() }
    }

    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Since the beginning, in nanoseconds.
    pub fn at(&self, now_ns: u64) -> f64 {
        self.passed_ns + (now_ns - self.since_ns) as f64 * self.weight
    }

    /// From now on a nanosecond stands for so many. Returns what the last ones stood for.
    pub fn turn(&mut self, now_ns: u64, weight: f64) -> f64 {
        let added = (now_ns - self.since_ns) as f64 * self.weight;
        (self.passed_ns, self.since_ns, self.weight) = (self.passed_ns + added, now_ns, weight);
        added
    }

    /// How wrong the sum may be, one standard deviation: strata that are next to each other differ by chance, and by
    /// the slow change over the work, which is counted as if it were chance.
    pub fn deviation_ns(&self) -> f64 {
        let pairs = self.strata_ns.len().saturating_sub(1);
        if pairs == 0 {
            return 0.0;
        }
        let squares: f64 = self.strata_ns.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        (squares / 2.0 * self.strata_ns.len() as f64 / pairs as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::content::{Content, Files};
    use super::super::geometry::Geometry;
    use super::super::order::Order;
    use super::super::tunables::{Host, Tunables};
    use super::*;

    /// What is scattered over a drive behind the first metaslab is cleaned once, when its cache has been written through: of that no
    /// window may make more.
    #[test]
    fn the_whole_beginning_counts_from_where_something_is_scattered() {
        let (geometry, tunables, host) = (Geometry::raidz(1, 4, 12).unwrap(), Tunables::v2_3(), Host::default());
        let content = Content { record_bytes: 128 << 10, fill: 0.5, run_records: None, files: Files::One };
        let sampling = Sampling { records: 1000, window_records: 1000, first_records: 10_000 };
        let plan = |order, sampling| Plan {
            geometry: geometry.clone(),
            member_bytes: 500 << 30,
            content,
            lost: 1,
            spare: None,
            order,
            tunables,
            host,
            sampling,
            second_failure: None,
            seed: 1,
        };
        let mut pool = Pool::new(geometry.clone(), 500 << 30, content, 1 << 30, &tunables, 1).unwrap();
        pool.gather_second_copies();
        let first = |order, sampling| {
            let walk = Walk::new(&pool, order, &tunables, &host);
            windows(&walk, &pool, &plan(order, sampling))[0]
        };
        let sorted = first(Order::Sorted, sampling);
        assert_eq!((sorted.first, sorted.end), (0, pool.records_per_metaslab + 10_000));
        assert_eq!(first(Order::Blocks, sampling).end, 10_000);
        let none = Sampling { first_records: 0, ..sampling };
        assert!(first(Order::Sorted, none).is_sampled(), "a conventional drive has no such cache");
    }
}
