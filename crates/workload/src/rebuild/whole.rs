//! A rebuild gone through request by request.

use super::felt::{play, play_alone, Feeling};
use super::{fill_to, Array, Order, RebuildError, Report, Stopped, Told};
use crate::{Row, Run};

/// A whole rebuild is shown in rows of this; the job alone runs for
const INTERVAL_NS: u64 = 60_000_000_000;
/// so many of them. A rebuild that gets nowhere for
const ALONE_INTERVALS: usize = 10;
/// so many is given up.
const PATIENT_INTERVALS: u32 = 2 * 24 * 60;

/// Every request of the rebuild and of the job beside it.
pub(super) fn rebuild(order: &Order, told: &mut Told) -> Result<Report, RebuildError> {
    let (drives, began_ns) = order.mounted()?;
    // Users work on the healthy array, too, of the same drives.
    let users = order.job_file()?.map(|file| (file, drives.clone()));
    let mut array = order.array_of(drives, began_ns)?;
    let used = order.options.used_bytes();
    array.recover(order.replacement, 0, used)?;
    let mut told_of = |bytes: u64| told(bytes as f64 / used as f64);
    let (mut during, mut feeling, mut alone, mut feeling_alone) =
        (Vec::new(), Feeling::new(), Vec::new(), Feeling::new());
    if let Some((file, healthy)) = users {
        array.set_programs(file.program_ends());
        let mut run = Run::start(file.clone(), began_ns, INTERVAL_NS, order.seed).log_requests();
        during = beside(&mut run, &mut array, |run, array| {
            told_of(array.recovered_bytes())?;
            Ok(play(run, array, Array::recovering, &mut feeling))
        })?;
        fill_to(&mut array, used, &mut told_of)?;
        let mut whole = order.array_of(healthy, began_ns)?;
        whole.set_programs(file.program_ends());
        let mut run = Run::start(file, began_ns, INTERVAL_NS, order.seed).log_requests();
        alone = play_alone(&mut run, &mut whole, ALONE_INTERVALS, &mut feeling_alone, &mut || told_of(used))?;
    } else {
        fill_to(&mut array, used, &mut told_of)?;
    }
    array.finish_recovery(u64::MAX);
    let outcome = array.outcome().expect("a rebuild was begun");
    let requests = outcome.members.iter().map(|member| member.counters.requests).sum();
    Ok(Report {
        outcome,
        began_ns,
        during,
        felt_during: feeling.felt(),
        alone,
        felt_alone: feeling_alone.felt(),
        whole: true,
        requests,
    })
}

/// The job goes on until the rebuild is over, or itself.
fn beside(
    run: &mut Run,
    array: &mut Array,
    mut interval: impl FnMut(&mut Run, &mut Array) -> Result<Vec<Row>, Stopped>,
) -> Result<Vec<Row>, Stopped> {
    let (mut rows, mut recovered, mut patience) = (Vec::new(), 0, PATIENT_INTERVALS);
    while array.recovering() && !run.is_over() && patience > 0 {
        rows.extend(interval(run, array)?);
        let before = std::mem::replace(&mut recovered, array.recovered_bytes());
        patience = if recovered > before { PATIENT_INTERVALS } else { patience - 1 };
    }
    if patience == 0 {
        array.give_up();
    }
    Ok(rows)
}
