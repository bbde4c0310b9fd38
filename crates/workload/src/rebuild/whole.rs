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

/// Every request of the rebuild and of the job beside it.
pub(super) fn rebuild(order: &Order) -> Result<Report, RebuildError> {
    let mut array = order.array()?;
    array.recover(order.replacement, 0, order.options.used_bytes())?;
    let (mut during, mut feeling, mut alone, mut feeling_alone) =
        (Vec::new(), Feeling::new(), Vec::new(), Feeling::new());
    if let Some(file) = order.job_file()? {
        let mut run = Run::start(file.clone(), order.start_ns, INTERVAL_NS, order.seed).log_requests();
        beside(&mut run, &mut array, &mut during, &mut feeling);
        let mut whole = order.array()?;
        let mut run = Run::start(file, order.start_ns, INTERVAL_NS, order.seed).log_requests();
        alone = play(&mut run, &mut whole, ALONE_INTERVALS, &mut feeling_alone);
    } else {
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
fn beside(run: &mut Run, array: &mut Array, rows: &mut Vec<Row>, feeling: &mut Feeling) {
    let (mut recovered, mut patience) = (0, PATIENT_INTERVALS);
    while array.recovering() && !run.is_over() && patience > 0 {
        rows.extend(play(run, array, 1, feeling));
        let before = std::mem::replace(&mut recovered, array.recovered_bytes());
        patience = if recovered > before { PATIENT_INTERVALS } else { patience - 1 };
    }
    if patience == 0 {
        array.give_up();
    }
    array.finish_recovery(u64::MAX);
}
