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
    use super::super::content::Content;
    use super::super::example;
    use super::super::geometry::Geometry;
    use super::super::order::Order;
    use super::*;

    fn plan(order: Order, sampling: Sampling) -> Plan {
        Plan { sampling, ..example::plan(Geometry::raidz(1, 4, 12).unwrap(), order, 500 << 30) }
    }

    /// The pool and its windows.
    fn cut(plan: &Plan) -> (Pool, Vec<Window>) {
        let Plan { geometry, member_bytes, content, tunables, host, seed, order, .. } = plan;
        let mut pool = Pool::new(geometry.clone(), *member_bytes, *content, 1 << 30, tunables, *seed).unwrap();
        pool.gather_second_copies();
        let windows = windows(&Walk::new(&pool, *order, tunables, host), &pool, plan);
        (pool, windows)
    }

    /// What is scattered over a drive behind the first metaslab is cleaned once, when its cache has been written through: of that no
    /// window may make more.
    #[test]
    fn the_whole_beginning_counts_from_where_something_is_scattered() {
        let sampling = Sampling { records: 1000, window_records: 1000, first_records: 10_000 };
        let (pool, sorted) = cut(&plan(Order::Sorted, sampling));
        assert_eq!((sorted[0].first, sorted[0].end), (0, pool.records_per_metaslab + 10_000));
        assert_eq!(cut(&plan(Order::Blocks, sampling)).1[0].end, 10_000);
        let none = Sampling { first_records: 0, ..sampling };
        assert!(cut(&plan(Order::Sorted, none)).1[0].is_sampled(), "a conventional drive has no such cache");
    }

    /// Of 100,000 records in windows of 1000 with an eighth as many before: 32 in flight are few. All that a window stands for is its
    /// stratum, with its share of the indirect blocks.
    #[test]
    fn windows_lie_somewhere_in_their_strata_and_stand_for_all_of_them() {
        let sampling = Sampling { records: 100_000, window_records: 1000, first_records: 0 };
        let plan = Plan { tunables: super::super::Tunables::v0_6(), ..plan(Order::Blocks, sampling) };
        let (pool, windows) = cut(&plan);
        assert_eq!(windows.len(), 100_000 / 1125);
        let stratum = pool.records / windows.len() as u64;
        let into =
            |(number, window): (usize, &Window)| window.first - pool.records * number as u64 / windows.len() as u64;
        let into: Vec<u64> = windows.iter().enumerate().map(into).collect();
        assert!(into.iter().all(|into| *into <= stratum + 1 - 1125), "{into:?} of {stratum}");
        let quarters: std::collections::BTreeSet<u64> = into.iter().map(|into| into * 4 / stratum).collect();
        assert_eq!(quarters.len(), 4, "anywhere: {into:?}");
        assert!(windows
            .iter()
            .all(|window| (window.counted - window.first, window.end - window.counted) == (125, 1000)));
        let stands_for: f64 = windows.iter().map(|window| window.weight * 1000.0).sum();
        assert!((stands_for / pool.records as f64 - 1.0).abs() < 1e-9, "{stands_for}");
        let read: f64 = windows.iter().map(|window| window.scan_weight * window.scan_count as f64).sum();
        assert!((read / pool.indirects.count() as f64 - 1.0).abs() < 1e-9, "{read}");
        for (number, window) in windows.iter().enumerate() {
            let of_stratum = pool.indirects.count() as f64 * number as f64 / windows.len() as f64;
            assert!((window.scan_first as f64 - of_stratum).abs() < 2.0, "{window:?}");
        }
        let other = Plan { seed: 2, ..plan };
        assert_ne!(cut(&other).1, windows);
    }

    /// 16 MiB for each of three drives' worth of data are 384 records of 128 KiB: six times as many are counted, behind twice as many.
    #[test]
    fn a_window_is_long_beside_what_is_in_flight() {
        let sampling = Sampling { records: 60_000, window_records: 100, first_records: 0 };
        let (_, windows) = cut(&plan(Order::Sorted, sampling));
        let all =
            windows.iter().all(|window| (window.counted - window.first, window.end - window.counted) == (768, 2304));
        assert!(all, "{:?}", windows[0]);
        assert_eq!(windows.len(), 60_000 / (768 + 2304));
    }

    /// Of an aged pool that memory cannot sort at once each batch goes past all slots.
    #[test]
    fn where_steps_are_more_than_records_the_beginning_has_more_of_them() {
        let sampling = Sampling { records: 60_000, window_records: 100, first_records: 10_000 };
        let content = Content { run_records: Some(5), ..plan(Order::Sorted, sampling).content };
        let plan = Plan { content, ..plan(Order::Sorted, sampling) };
        let (pool, windows) = cut(&plan);
        let steps = Walk::new(&pool, plan.order, &plan.tunables, &plan.host).steps(&pool) as f64;
        assert!((windows[0].end as f64 - steps * 10_000.0 / pool.records as f64).abs() <= 1.0, "{:?}", windows[0]);
    }

    /// Unless as much again lies between windows all is made: sixteen of them take 3000 records each and 768 before, which is half of 120,576. So
    /// many lie on drives of 10.4 GiB.
    #[test]
    fn a_sample_of_nearly_all_is_none() {
        let is_sampled = |gib: u64, records| {
            let sampling = Sampling { records, window_records: 3000, first_records: 0 };
            let (pool, windows) = cut(&Plan { member_bytes: gib << 30, ..plan(Order::Sorted, sampling) });
            (pool.records > 120_576, windows[0].is_sampled())
        };
        assert_eq!(
            [is_sampled(10, 1), is_sampled(11, 1), is_sampled(11, 0)],
            [(false, false), (true, true), (true, false)]
        );
    }

    /// Two and two differ: half of the square of that is what one of them varies by, and there are four.
    #[test]
    fn neighbours_that_differ_tell_how_wrong_the_sum_may_be() {
        let of = |strata_ns: &[f64]| Clock { strata_ns: strata_ns.to_vec(), ..Clock::new(0) }.deviation_ns();
        assert!((of(&[10.0, 12.0, 10.0, 12.0]) - 8.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!([of(&[]), of(&[5.0]), of(&[5.0, 5.0])], [0.0; 3]);
    }

    /// As many writes as records, in any order, leave a share of 1/e as it was.
    #[test]
    fn who_writes_anywhere_writes_some_twice() {
        let mut rewritten = Rewritten::new(1);
        assert!((0..1000).all(|_| !rewritten.is_next()));
        rewritten.look(100, 1000, 10.0);
        let left = (0..10_000).filter(|_| !rewritten.is_next()).count();
        assert!((3530..3830).contains(&left), "{left}");
    }
}
