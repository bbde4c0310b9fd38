//! Drives that do not answer in time, and what Linux, md and ZFS make of it.

use crate::plain::Plain;
use crate::plan::plan;
use array::md::{Array, Options};
use array::zfs::{Geometry, Order, Plan, Report, Resilver, Tunables};
use array::{Ended, Layout, Outcome};
use drive::faults::{Faulty, Schedule, Stall, Timeout};
use drive::BlockDevice;

const MIB: u64 = 1 << 20;
const S: u64 = 1_000_000_000;
const FROM_NS: u64 = S / 20;
/// A pool's resilver begins some groups after the drive was put in.
const FROM_OF_ZFS_NS: u64 = S;
const FOR_EVER_NS: u64 = u64::MAX / 4;
/// In which one command is lost.
const A_MOMENT_NS: u64 = S / 20;
/// Who hangs in the tests; the replacement is another.
const HANGS: usize = 2;

/// All but one answer, which `fault` befalls within the window.
fn devices<F>(width: usize, bytes: u64, from_ns: u64, for_ns: u64, fault: Befall<F>) -> Vec<Faulty<Plain, F>> {
    let device = |at| {
        let from_ns = if at == HANGS { from_ns } else { u64::MAX / 2 };
        fault(Plain::new(bytes), Schedule { from_ns, for_ns, every_ns: None })
    };
    (0..width).map(device).collect()
}

type Befall<F> = fn(Plain, Schedule) -> Faulty<Plain, F>;

/// What hangs would be worked on after 100 s, unless the host resets the link before.
fn times_out(device: Plain, schedule: Schedule) -> Faulty<Plain, Timeout> {
    let one_in = if schedule.for_ns == A_MOMENT_NS { 1000 } else { 1 };
    Timeout::around(device, schedule, one_in, Some(100 * S))
}

/// What would be answered after 100 s, on a host that waits for longer.
#[test]
fn who_waits_longer_gives_up_on_nobody() {
    for layout in [Layout::Raid5, Layout::Raid6] {
        for (timeout_ns, timeouts) in [(60 * S, true), (180 * S, false)] {
            let options = Options { command_timeout_ns: timeout_ns, ..Options::new(layout, 4, 65 * MIB).unwrap() };
            let mut array = Array::new(options, devices(4, 65 * MIB, FROM_NS, A_MOMENT_NS, times_out), 0).unwrap();
            let used = array.options().used_bytes();
            array.recover(0, 0, used).unwrap();
            array.finish_recovery(u64::MAX);
            let outcome = array.outcome().unwrap();
            assert_eq!(outcome.ended, Ended::Complete, "{layout:?}, {timeout_ns} ns");
            let counters = outcome.members[HANGS].counters;
            assert_eq!(counters.timeouts > 0, timeouts, "{layout:?}, {timeout_ns} ns");
        }
    }
}

fn rebuilt(layout: Layout, for_ns: u64) -> Outcome {
    rebuilt_of(layout, devices(4, 65 * MIB, FROM_NS, for_ns, times_out))
}

fn rebuilt_of<D: BlockDevice>(layout: Layout, devices: Vec<D>) -> Outcome {
    rebuilt_later(layout, devices, 0)
}

/// After so long a time without work.
fn rebuilt_later<D: BlockDevice>(layout: Layout, devices: Vec<D>, rest_ns: u64) -> Outcome {
    let options = Options::new(layout, 4, 65 * MIB).unwrap();
    let mut array = Array::new(options, devices, 0).unwrap();
    array.advance(rest_ns, &mut Vec::new());
    let used = array.options().used_bytes();
    array.recover(0, 0, used).unwrap();
    array.finish_recovery(u64::MAX);
    array.outcome().unwrap()
}

fn resilvered(plan: &Plan, for_ns: u64) -> Report {
    resilvered_of(plan, devices(plan.geometry.width(), plan.member_bytes, FROM_OF_ZFS_NS, for_ns, times_out))
}

fn resilvered_of<D: BlockDevice>(plan: &Plan, devices: Vec<D>) -> Report {
    let mut pool = Resilver::new(plan.clone(), devices, 0).unwrap();
    pool.finish();
    pool.report()
}

fn failed_at_s(outcome: &Outcome) -> Option<u64> {
    assert!((0..outcome.members.len()).all(|at| at == HANGS || outcome.members[at].failed_at_ns.is_none()));
    outcome.members[HANGS].failed_at_ns.map(|at_ns| at_ns / S)
}

#[test]
fn a_command_that_is_lost_costs_md_half_a_minute() {
    for layout in [Layout::Raid5, Layout::Raid6, Layout::Raid10] {
        let (outcome, usual) = (rebuilt(layout, A_MOMENT_NS), rebuilt(layout, 0));
        assert_eq!((outcome.ended.clone(), failed_at_s(&outcome)), (Ended::Complete, None), "{layout:?}");
        let longer_ns = outcome.duration_ns - usual.duration_ns;
        let reads = layout != Layout::Raid10;
        assert_eq!((29 * S..31 * S).contains(&longer_ns), reads, "{layout:?}: {longer_ns}");
    }
}

/// Who was asked nothing for long was not silent.
#[test]
fn a_drive_that_had_nothing_to_do_is_not_set_offline_as_soon_as_it_is_late() {
    let rest_ns = 400 * S;
    let stalled = devices(4, 65 * MIB, rest_ns + FROM_NS, 45 * S, Stall::around);
    let outcome = rebuilt_later(Layout::Raid6, stalled, rest_ns);
    assert_eq!((outcome.ended.clone(), failed_at_s(&outcome)), (Ended::Complete, None));
    assert!((45 * S..48 * S).contains(&outcome.duration_ns), "{}", outcome.duration_ns);
}

/// Half a minute until the command is aborted, as long until the drive is reset, and ten seconds for that to tell that it is
/// ready: so it is in the lab, too.
#[test]
fn a_drive_that_answers_nothing_is_set_offline_after_seventy_seconds() {
    let outcome = rebuilt(Layout::Raid6, FOR_EVER_NS);
    assert_eq!((outcome.ended.clone(), failed_at_s(&outcome)), (Ended::Complete, Some(70)));
    assert!(outcome.duration_ns < 72 * S, "{}", outcome.duration_ns);
    assert_eq!(outcome.done.to_bits(), 1.0_f64.to_bits());
    let outcome = rebuilt(Layout::Raid5, FOR_EVER_NS);
    assert!(matches!(outcome.ended, Ended::Failed { member: HANGS, .. }), "{:?}", outcome.ended);
    assert!((0.01..0.99).contains(&outcome.done), "{}", outcome.done);
    assert_eq!(outcome.progress.points.last().map(|last| last.at_ns), Some(outcome.duration_ns));
    let timeouts: Vec<u64> = outcome.members.iter().map(|member| member.counters.timeouts).collect();
    assert!(timeouts.iter().enumerate().all(|(at, timeouts)| (at == HANGS) == (*timeouts >= 2)), "{timeouts:?}");
}

/// A reset does not wake it: it keeps what it has been asked, and there is no room for more.
#[test]
fn a_drive_that_stalls_is_set_offline_as_soon_as_one_whose_commands_hang() {
    let stalled = |layout, for_ns| rebuilt_of(layout, devices(4, 65 * MIB, FROM_NS, for_ns, Stall::around));
    for for_ns in [71 * S, 200 * S, FOR_EVER_NS] {
        let outcome = stalled(Layout::Raid6, for_ns);
        assert_eq!((outcome.ended.clone(), failed_at_s(&outcome)), (Ended::Complete, Some(70)), "{for_ns}");
        assert!(outcome.duration_ns < 72 * S, "{}", outcome.duration_ns);
        // Nobody heard how long it took; that it was waited for so long is known.
        assert!(outcome.members[HANGS].counters.longest_command_ns >= 30 * S, "{for_ns}");
        let outcome = stalled(Layout::Raid5, for_ns);
        assert!(matches!(outcome.ended, Ended::Failed { member: HANGS, .. }), "{:?}", outcome.ended);
    }
    let outcome = stalled(Layout::Raid6, 65 * S);
    assert_eq!((outcome.ended.clone(), failed_at_s(&outcome)), (Ended::Complete, None));
    assert!(outcome.duration_ns > 65 * S, "{}", outcome.duration_ns);
}

fn raidz(parity: u64) -> Plan {
    plan(Geometry::raidz(parity, 5, 12).unwrap(), Order::Sorted)
}

/// Each record's part of a command is an error: ten within ten minutes are too many for `zed`, which waits for 15 s then.
#[test]
fn zfs_leaves_out_a_drive_that_errs_too_often_unless_it_is_needed() {
    let survived = resilvered(&raidz(2), FOR_EVER_NS).outcome;
    assert_eq!((survived.ended.clone(), failed_at_s(&survived)), (Ended::Complete, Some(45)));
    assert!(survived.members[HANGS].is_faulted && survived.members[HANGS].counters.timeouts > 0);
    let needed = resilvered(&raidz(1), FOR_EVER_NS).outcome;
    assert!(matches!(needed.ended, Ended::Failed { member: HANGS, .. }), "{:?}", needed.ended);
    assert!((100..110).contains(&failed_at_s(&needed).unwrap()), "{:?}", failed_at_s(&needed));
    assert!(!needed.members[HANGS].is_faulted, "it is offline");
}

#[test]
fn a_pool_that_needs_a_drive_that_stalls_fails_when_that_is_set_offline() {
    let plan = raidz(1);
    for for_ns in [200 * S, FOR_EVER_NS] {
        let devices = devices(plan.geometry.width(), plan.member_bytes, FROM_OF_ZFS_NS, for_ns, Stall::around);
        let outcome = resilvered_of(&plan, devices).outcome;
        assert!(matches!(outcome.ended, Ended::Failed { member: HANGS, .. }), "{:?}", outcome.ended);
        assert!((100..110).contains(&failed_at_s(&outcome).unwrap()), "{:?}", failed_at_s(&outcome));
    }
}

#[test]
fn there_was_no_such_daemon_of_old() {
    let old = Plan { tunables: Tunables::v0_6(), ..raidz(2) };
    let outcome = resilvered(&old, FOR_EVER_NS).outcome;
    assert_eq!(outcome.ended, Ended::Complete);
    assert!((100..110).contains(&failed_at_s(&outcome).unwrap()), "{:?}", failed_at_s(&outcome));
}

/// ZFS has `sd` not ask again: it does so itself where it cannot read elsewhere, and forgets it.
#[test]
fn a_command_that_is_lost_costs_zfs_half_a_minute() {
    for plan in [raidz(1), raidz(2)] {
        let outcome = resilvered(&plan, A_MOMENT_NS).outcome;
        assert_eq!((outcome.ended.clone(), failed_at_s(&outcome)), (Ended::Complete, None), "{:?}", plan.geometry);
        let longer_ns = outcome.duration_ns - resilvered(&plan, 0).outcome.duration_ns;
        // Others go on a little meanwhile.
        assert!((25 * S..35 * S).contains(&longer_ns), "{:?}: {longer_ns}", plan.geometry);
    }
}
