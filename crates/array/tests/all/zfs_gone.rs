//! Drives of a pool that are gone while one is resilvered, for a moment or for good.

use crate::plain::Plain;
use crate::plan::plan;
use array::zfs::{Geometry, Order, Plan, Report, Resilver};
use array::Ended;
use drive::faults::{Faulty, Gone, Schedule};
use drive::{BlockDevice, Completion, Request, Status, Verb};

const LOST: usize = 1;
const NOBODY: usize = usize::MAX;
const GONE_FROM_NS: u64 = 1_000_000_000;
const FOR_EVER_NS: u64 = u64::MAX / 4;
/// Before a scan begins a drive is put in, which takes longer the more there are to be looked at; times count from its beginning.
const REPLACE_NS: u64 = 215_000_000;
const LOOK_NS: u64 = 64_000_000;
/// So short that the drive is back before much else is asked of it, and longer than a dRAID is at a group that lacks it, 16 MiB of each
/// other one.
const A_MOMENT_NS: u64 = 100_000_000;

type Pool = Resilver<Faulty<Plain, Gone>>;

fn raidz(parity: u64) -> Plan {
    plan(Geometry::raidz(parity, 5, 12).unwrap(), Order::Sorted)
}

fn sequential_mirror() -> Plan {
    plan(Geometry::mirror(3, 12).unwrap(), Order::Sequential)
}

/// One of the members is gone from a time on.
fn devices(plan: &Plan, member: usize, from_ns: u64, for_ns: u64) -> Vec<Faulty<Plain, Gone>> {
    let whole = Schedule { from_ns: u64::MAX / 2, for_ns: 1, every_ns: None };
    let gone = Schedule { from_ns, for_ns, every_ns: None };
    let device = |at| Gone::around(Plain::new(plan.member_bytes), if at == member { gone } else { whole });
    (0..plan.geometry.width()).map(device).collect()
}

fn resilvered(plan: &Plan, member: usize, for_ns: u64) -> (Pool, Report) {
    let mut pool = Resilver::new(plan.clone(), devices(plan, member, GONE_FROM_NS, for_ns), 0).unwrap();
    pool.finish();
    let report = pool.report();
    (pool, report)
}

fn failed_at_ns(report: &Report, member: usize) -> u64 {
    let failed: Vec<usize> =
        (0..report.outcome.members.len()).filter(|at| report.outcome.members[*at].failed_at_ns.is_some()).collect();
    assert_eq!(failed, [member]);
    report.outcome.members[member].failed_at_ns.unwrap()
}

#[test]
fn a_drive_that_is_gone_is_survived_or_not() {
    let draid = plan(Geometry::draid(2, 4, 9, 1, 12).unwrap(), Order::Sorted);
    let spare = Plan { spare: Some(0), ..draid.clone() };
    let survivors = [raidz(2), sequential_mirror(), draid, spare];
    let single = plan(Geometry::draid(1, 4, 9, 1, 12).unwrap(), Order::Sequential);
    for (plan, survives) in survivors.into_iter().map(|plan| (plan, true)).chain([(raidz(1), false), (single, false)]) {
        for for_ns in [A_MOMENT_NS, FOR_EVER_NS] {
            let (_, report) = resilvered(&plan, 2, for_ns);
            let at_ns = failed_at_ns(&report, 2);
            let put_in_ns = REPLACE_NS + LOOK_NS * plan.geometry.width() as u64;
            let gone_ns = if plan.order == Order::Sequential { GONE_FROM_NS } else { GONE_FROM_NS - put_in_ns };
            assert!(at_ns.abs_diff(gone_ns) < 200_000_000, "{:?}: {at_ns}", plan.geometry);
            let ended = if survives { Ended::Complete } else { Ended::Failed { at_ns, member: 2 } };
            assert_eq!(report.outcome.ended, ended, "{:?}", plan.geometry);
            assert!(survives || report.outcome.duration_ns == at_ns);
        }
    }
}

#[test]
fn a_mirror_without_the_drive_that_is_read_fails() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let (_, report) = resilvered(&plan, 0, FOR_EVER_NS);
    assert!(matches!(report.outcome.ended, Ended::Failed { member: 0, .. }), "{:?}", report.outcome.ended);
}

/// `zpool` would leave it out, too, until somebody sets it online.
#[test]
fn who_was_gone_is_asked_no_more_even_when_it_is_back() {
    for plan in [raidz(2), sequential_mirror()] {
        let (pool, report) = resilvered(&plan, 2, A_MOMENT_NS);
        let (_, never_back) = resilvered(&plan, 2, FOR_EVER_NS);
        assert_eq!(report, never_back);
        assert!(report.outcome.duration_ns > 2 * GONE_FROM_NS);
        // Its writes are the labels' and the pool's own: nothing of it is repaired.
        let [gone, other] = [2, 0].map(|member| pool.members().counters(member));
        assert!(gone.requests < other.requests && gone.bytes_written < other.bytes_written, "{gone:?} {other:?}");
    }
}

#[test]
fn what_fails_as_ordered_and_what_is_gone_take_the_same_course() {
    let plan = raidz(2);
    let (_, gone) = resilvered(&plan, 2, FOR_EVER_NS);
    let ordered = Plan { second_failure: Some((2, failed_at_ns(&gone, 2))), ..plan };
    let (_, ordered) = resilvered(&ordered, NOBODY, FOR_EVER_NS);
    // What is ordered happens with the next thing that does.
    assert!(failed_at_ns(&ordered, 2).abs_diff(failed_at_ns(&gone, 2)) < 10_000_000);
    let off = gone.outcome.duration_ns.abs_diff(ordered.outcome.duration_ns);
    assert!(off * 100 < ordered.outcome.duration_ns, "{off} of {}", ordered.outcome.duration_ns);
}

#[test]
fn without_the_replacement_nothing_can_be_resilvered() {
    for plan in [raidz(1), raidz(2), sequential_mirror()] {
        for for_ns in [A_MOMENT_NS, FOR_EVER_NS] {
            let (_, report) = resilvered(&plan, LOST, for_ns);
            let at_ns = failed_at_ns(&report, LOST);
            assert_eq!(report.outcome.ended, Ended::Failed { at_ns, member: LOST });
            assert_eq!(report.outcome.duration_ns, at_ns);
            assert!((0.01..0.99).contains(&report.outcome.done), "{}", report.outcome.done);
            assert_eq!(report.outcome.progress.points.last().map(|last| last.at_ns), Some(at_ns));
            assert!(!report.outcome.members[LOST].is_faulted, "it is gone, and has not erred");
        }
    }
}

/// Reads of small pieces all over the pool, one after the other, and some writes that are to last, until the resilver is over.
fn answers(pool: &mut Pool) -> Vec<Completion> {
    let records = pool.capacity_bytes() / (128 << 10);
    let (mut all, mut completions) = (Vec::new(), Vec::new());
    for tag in 0_u32.. {
        let record = u64::from(tag).wrapping_mul(7919) % records;
        let verb = if tag % 4 == 3 { Verb::Write } else { Verb::Read };
        let request = Request { tag, verb, fua: true, offset_bytes: record << 17, bytes: 8 << 10 };
        pool.submit(pool.now_ns(), request);
        while completions.is_empty() {
            pool.advance_to_completion(u64::MAX, &mut completions);
        }
        all.append(&mut completions);
        if pool.is_over() {
            break;
        }
    }
    all
}

#[test]
fn users_go_on_as_long_as_the_pool_does() {
    for (parity, survives) in [(2, true), (1, false)] {
        let plan = raidz(parity);
        let mut pool = Resilver::new(plan.clone(), devices(&plan, 2, GONE_FROM_NS, FOR_EVER_NS), 0).unwrap();
        let answers = answers(&mut pool);
        assert!(answers.len() > 100);
        let bad = answers.iter().filter(|answer| answer.status != Status::Good).count();
        assert!(bad <= usize::from(!survives), "{bad}");
        // Of a suspended pool nothing is told to be done.
        pool.submit(pool.now_ns(), Request { tag: 0, verb: Verb::Write, fua: true, offset_bytes: 0, bytes: 8 << 10 });
        let mut completions = Vec::new();
        while completions.is_empty() {
            pool.advance_to_completion(u64::MAX, &mut completions);
        }
        assert_eq!(completions[0].status, if survives { Status::Good } else { Status::Gone });
    }
}

/// Users were there before: the scan begins some groups behind the drive that is put in.
#[test]
fn who_is_gone_before_the_scan_begins_is_missed_from_its_beginning() {
    let plan = raidz(2);
    let after = |member| {
        let healthy = Resilver::healthy(plan.clone(), devices(&plan, NOBODY, 0, FOR_EVER_NS), 0).unwrap();
        let mut pool =
            Resilver::after(&healthy, plan.clone(), devices(&plan, member, A_MOMENT_NS, A_MOMENT_NS), 0).unwrap();
        answers(&mut pool);
        pool.report()
    };
    let report = after(2);
    assert_eq!((report.outcome.ended.clone(), failed_at_ns(&report, 2)), (Ended::Complete, 0));
    assert!(matches!(after(LOST).outcome.ended, Ended::Failed { member: LOST, .. }));
}
