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
    if users.is_some() && order.is_mounted() {
        // Whoever starts them makes something durable first.
        array.was_written();
    }
    array.recover(order.replacement, 0, used)?;
    let mut told_of = |bytes: u64| told(bytes as f64 / used as f64);
    let (mut during, mut feeling, mut alone, mut feeling_alone) =
        (Vec::new(), Feeling::new(), Vec::new(), Feeling::new());
    if let Some((file, healthy)) = users {
        array.set_programs(file.program_ends());
        let begins_ns = order.users_begin_ns(began_ns);
        let mut run = Run::start(file.clone(), begins_ns, INTERVAL_NS, order.seed).log_requests();
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

#[cfg(test)]
mod tests {
    use array::md::Options;
    use array::{Ended, Layout};
    use drive::{BlockDevice, Drive, Profile};

    use super::*;
    use crate::JobFile;

    /// In each interval so many bytes are rebuilt.
    fn ended(bytes: u64) -> (Ended, bool) {
        let profile =
            Profile::parse(include_str!("../../../../drives/st12000vn0007.toml")).unwrap().scaled(1000).unwrap();
        let drives: Vec<Drive> = (0..2).map(|seed| Drive::new(&profile, seed)).collect();
        let options = Options::new(Layout::Raid1, 2, drives[0].capacity_bytes()).unwrap();
        let (used, devices) = (options.used_bytes(), drives.into_iter().map(|drive| Box::new(drive) as _).collect());
        let mut array = Array::new(options, devices, 0).unwrap();
        array.recover(1, 0, used).unwrap();
        let file = JobFile::parse("[users]\nrw=read\ntime_based\nruntime=1000000\n", used).unwrap();
        let mut run = Run::start(file, 0, INTERVAL_NS, 1);
        let mut intervals = 0;
        beside(&mut run, &mut array, |_, array| {
            intervals += 1;
            array.recover_to(intervals * bytes, u64::MAX);
            Ok(Vec::new())
        })
        .unwrap();
        let goes_on = array.recovering();
        array.finish_recovery(u64::MAX);
        (array.outcome().unwrap().ended, goes_on || intervals > u64::from(PATIENT_INTERVALS))
    }

    /// Two days of nothing are too long, and a week of little by little is not.
    #[test]
    fn a_rebuild_that_gets_nowhere_is_given_up_and_a_slow_one_is_not() {
        assert!(matches!(ended(0), (Ended::Failed { .. }, false)));
        assert_eq!(ended(3 << 20), (Ended::Complete, true));
    }
}
