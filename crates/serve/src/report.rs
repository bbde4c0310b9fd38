//! How well the modelled times were kept: what the drive took, and how much later than that its answers left.

use sim::LatencyHistogram;

/// An answer may be this much late before it can spoil a measurement.
const TOLERATED_NS: u64 = 1_000_000;
/// ... or this fraction of the time that the drive itself took, whichever is more.
const TOLERATED_PART: u64 = 10;
/// Once more than one answer in so many is spoiled, the run is not to be trusted at its 99th percentile.
const SPOILED_ONE_IN: u64 = 100;

/// Collects the times of answered requests.
#[derive(Debug, Default)]
pub(crate) struct Record {
    lateness: LatencyHistogram,
    modelled: LatencyHistogram,
    spoiled: u64,
    errors: u64,
}

impl Record {
    /// One answer: what the drive took (waiting in the host's queue included), and what the machine added.
    pub(crate) fn add(&mut self, modelled_ns: u64, lateness_ns: u64, good: bool) {
        self.modelled.record(modelled_ns);
        self.lateness.record(lateness_ns);
        self.spoiled += u64::from(lateness_ns > TOLERATED_NS.max(modelled_ns / TOLERATED_PART));
        self.errors += u64::from(!good);
    }

    pub(crate) fn report(&self, connections: u64, refused_connections: u64, store_failures: u64) -> Report {
        Report {
            requests: self.lateness.count(),
            errors: self.errors,
            connections,
            refused_connections,
            store_failures,
            modelled: Percentiles::of(&self.modelled),
            lateness: Percentiles::of(&self.lateness),
            spoiled: self.spoiled,
        }
    }
}

/// Three points of a distribution, in nanoseconds; zeros if it is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Half of the requests took no longer.
    pub p50_ns: u64,
    /// 99 % of the requests took no longer.
    pub p99_ns: u64,
    /// No request took longer.
    pub max_ns: u64,
}

impl Percentiles {
    fn of(histogram: &LatencyHistogram) -> Self {
        Self {
            p50_ns: histogram.quantile_ns(0.5).unwrap_or(0),
            p99_ns: histogram.quantile_ns(0.99).unwrap_or(0),
            max_ns: histogram.max_ns().unwrap_or(0),
        }
    }
}

/// What happened while a drive was served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Requests that the drive has answered.
    pub requests: u64,
    /// How many of them it answered with an error.
    pub errors: u64,
    /// Clients that got as far as using the drive.
    pub connections: u64,
    /// Clients that were turned away: no NBD, too many at once, or gone during the handshake.
    pub refused_connections: u64,
    /// Times when the machine could not keep or return data; the client saw an I/O error.
    pub store_failures: u64,
    /// Response times of the model: from the request's arrival at the drive or its waiting list to the completion.
    pub modelled: Percentiles,
    /// What the machine added to them: moving the data, and answering later than the modelled moment.
    pub lateness: Percentiles,
    /// Answers so late that they spoil a measurement: more than 1 ms and more than a tenth of the modelled time.
    pub spoiled: u64,
}

impl Report {
    /// A sentence for people if the machine was too noisy for the delivered times to be trusted.
    pub fn doubt(&self) -> Option<String> {
        (self.spoiled * SPOILED_ONE_IN > self.requests).then(|| {
            format!(
                "This machine was too noisy to trust the delivered times: {} of {} answers left more than 1 ms and more \
                 than a tenth of their modelled time too late. Repeat on a quieter machine.",
                self.spoiled, self.requests
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(answers: &[(u64, u64)]) -> Report {
        let mut record = Record::default();
        for &(modelled_ns, lateness_ns) in answers {
            record.add(modelled_ns, lateness_ns, true);
        }
        record.report(1, 0, 0)
    }

    #[test]
    fn nothing_answered_is_no_reason_to_doubt() {
        assert_eq!(report(&[]).doubt(), None);
    }

    #[test]
    fn small_or_relatively_small_lateness_is_tolerated() {
        assert_eq!(report(&[(100_000, 999_999), (100_000_000, 9_000_000)]).doubt(), None);
    }

    #[test]
    fn one_spoiled_answer_in_a_hundred_is_the_limit() {
        let mut answers = vec![(5_000_000, 10_000); 99];
        answers.push((5_000_000, 2_000_000));
        assert_eq!(report(&answers).doubt(), None);
        answers.push((5_000_000, 2_000_000));
        let doubt = report(&answers).doubt().expect("two of 101 are too many");
        assert!(doubt.contains("2 of 101"), "{doubt}");
    }

    #[test]
    fn percentiles_are_those_of_the_answers() {
        let report = report(&(1..=1000).map(|i| (i * 1_000_000, i * 1_000)).collect::<Vec<_>>());
        let near = |value: u64, expected: u64| value.abs_diff(expected) <= expected / 500;
        assert!(near(report.lateness.p50_ns, 500_000) && near(report.lateness.p99_ns, 990_000), "{report:?}");
        assert!(near(report.modelled.max_ns, 1_000_000_000), "{report:?}");
    }
}
