//! A rebuild gone through request by request.

use super::felt::{play, Feeling};
use super::{Array, Order, RebuildError, Report};
use crate::{Row, Run};

/// A whole rebuild is shown in rows of this; the job alone runs for
const INTERVAL_NS: u64 = 60_000_000_000;
/// so many of them. A rebuild that gets nowhere for
const ALONE_INTERVALS: usize = 10;
/// so many is given up.
const PATIENT_INTERVALS: u32 = 2 * 24 * 60;
/// How often it is told how far a rebuild is.
const TOLD: u64 = 100;

/// Every request of the rebuild and of the job beside it.
pub(super) fn rebuild(order: &Order, told: &mut dyn FnMut(f64)) -> Result<Report, RebuildError> {
    let mut array = order.array()?;
    let used = order.options.used_bytes();
    array.recover(order.replacement, 0, used)?;
    let (mut during, mut feeling, mut alone, mut feeling_alone) =
        (Vec::new(), Feeling::new(), Vec::new(), Feeling::new());
    if let Some(file) = order.job_file()? {
        let mut run = Run::start(file.clone(), order.start_ns, INTERVAL_NS, order.seed).log_requests();
        during = beside(&mut run, &mut array, |run, array| {
            told(array.recovered_bytes() as f64 / used as f64);
            play(run, array, 1, &mut feeling)
        });
        let mut whole = order.array()?;
        let mut run = Run::start(file, order.start_ns, INTERVAL_NS, order.seed).log_requests();
        alone = play(&mut run, &mut whole, ALONE_INTERVALS, &mut feeling_alone);
    } else {
        for time in 1..TOLD {
            array.recover_to(used / TOLD * time, u64::MAX);
            told(time as f64 / TOLD as f64);
        }
        array.finish_recovery(u64::MAX);
    }
    let outcome = array.outcome().expect("a rebuild was begun");
    let requests = outcome.members.iter().map(|member| member.counters.requests).sum();
    Ok(Report {
        outcome,
        during,
        felt_during: feeling.felt(),
        alone,
        felt_alone: feeling_alone.felt(),
        whole: true,
        requests,
    })
}

/// The job goes on until the rebuild is over, or itself.
fn beside(run: &mut Run, array: &mut Array, mut interval: impl FnMut(&mut Run, &mut Array) -> Vec<Row>) -> Vec<Row> {
    let (mut rows, mut recovered, mut patience) = (Vec::new(), 0, PATIENT_INTERVALS);
    while array.recovering() && !run.is_over() && patience > 0 {
        rows.extend(interval(run, array));
        let before = std::mem::replace(&mut recovered, array.recovered_bytes());
        patience = if recovered > before { PATIENT_INTERVALS } else { patience - 1 };
    }
    if patience == 0 {
        array.give_up();
    }
    array.finish_recovery(u64::MAX);
    rows
}
