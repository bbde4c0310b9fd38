//! What users felt: the latencies of their requests.

use drive::BlockDevice;
use sim::LatencyHistogram;

use super::Stopped;
use crate::{Direction, Row, Run};

/// All requests of one direction. Latencies in nanoseconds, from the job's asking to the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Felt {
    /// Which.
    pub direction: Direction,
    /// How many.
    pub count: u64,
    /// Their mean latency.
    pub mean_ns: f64,
    /// Half of them took no longer.
    pub p50_ns: u64,
    /// 99 of 100 took no longer.
    pub p99_ns: u64,
    /// 999 of 1000 took no longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Latencies while they are collected, for reads, writes and trims.
#[derive(Debug)]
pub(super) struct Feeling {
    latencies: [LatencyHistogram; 3],
}

impl Feeling {
    pub fn new() -> Self {
        Self { latencies: [(); 3].map(|()| LatencyHistogram::new()) }
    }

    /// Counts what has completed since the last call, from a run that keeps its requests.
    pub fn take(&mut self, run: &mut Run) {
        for chunk in run.take_requests().unwrap_or_default() {
            for (at, verb) in chunk.verb.iter().enumerate() {
                if let Some(latencies) = self.latencies.get_mut(usize::from(*verb)) {
                    latencies.record(chunk.completed_ns[at] - chunk.submitted_ns[at]);
                }
            }
        }
    }

    /// Each direction in which there was anything.
    pub fn felt(&self) -> Vec<Felt> {
        let directions = Direction::ALL.into_iter().zip(&self.latencies);
        let felt = directions.filter_map(|(direction, latencies)| {
            Some(Felt {
                direction,
                count: latencies.count(),
                mean_ns: latencies.mean_ns()?,
                p50_ns: latencies.quantile_ns(0.5)?,
                p99_ns: latencies.quantile_ns(0.99)?,
                p999_ns: latencies.quantile_ns(0.999)?,
                max_ns: latencies.max_ns()?,
            })
        });
        felt.collect()
    }
}

/// Lets a job run for an interval, or as much of it as the device goes on.
pub(super) fn play<D: BlockDevice>(
    run: &mut Run,
    device: &mut D,
    goes_on: impl Fn(&D) -> bool,
    feeling: &mut Feeling,
) -> Vec<Row> {
    let rows = run.advance_while(device, goes_on);
    feeling.take(run);
    rows
}

/// Lets a job run alone for so many, unless nobody waits for it any more.
pub(super) fn play_alone(
    run: &mut Run,
    device: &mut impl BlockDevice,
    intervals: usize,
    feeling: &mut Feeling,
    told: &mut dyn FnMut() -> Result<(), Stopped>,
) -> Result<Vec<Row>, Stopped> {
    let mut rows = Vec::new();
    for _ in 0..intervals {
        rows.extend(play(run, device, |_| true, feeling));
        told()?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of latencies of 1 to 10,000 us, to as many digits as are kept.
    #[test]
    fn quantiles_are_of_all_requests_of_their_direction() {
        let mut feeling = Feeling::new();
        (1..=10_000).for_each(|us| feeling.latencies[1].record(us * 1000));
        let felt = feeling.felt();
        let [Felt { direction: Direction::Write, count: 10_000, mean_ns, p50_ns, p99_ns, p999_ns, max_ns }] = felt[..]
        else {
            panic!("{felt:?}")
        };
        let found = [mean_ns, p50_ns as f64, p99_ns as f64, p999_ns as f64, max_ns as f64];
        for (one, us) in found.into_iter().zip([5000.5, 5000.0, 9900.0, 9990.0, 10_000.0]) {
            assert!((one / (us * 1000.0) - 1.0).abs() < 0.002, "{one} for {us} us");
        }
    }
}
