//! A sector that cannot be read, amid what is read in one request: what is lost, what is read again, and what that takes.

use std::ops::Range;

use crate::plain::Plain;
use crate::plan::plan;
use array::zfs::{Content, Geometry, Order, Plan, Report, Resilver, Sampling, Tunables};
use array::Ended;
use drive::faults::{Faulty, LatentSectors};
use drive::{BlockDevice, Request, Status, Verb, SECTOR_BYTES};

const LABEL_BYTES: u64 = 4 << 20;
const RECORD_BYTES: u64 = 128 << 10;
/// Amid data, whatever the layout.
const BAD_BYTES: u64 = LABEL_BYTES + (60 << 20) + 4096;
const RETRY_NS: u64 = 2_000_000_000;
const NEW: usize = 1;

type Device = Faulty<Plain, LatentSectors>;

/// `bad` is the member with the sector.
fn devices(plan: &Plan, bad: Option<usize>) -> Vec<Device> {
    let sector = BAD_BYTES / SECTOR_BYTES;
    devices_with(plan, bad, &(sector..sector + 1), RETRY_NS)
}

fn devices_with(plan: &Plan, bad: Option<usize>, sectors: &Range<u64>, retry_ns: u64) -> Vec<Device> {
    let device = |member| {
        let sectors = (bad == Some(member)).then(|| sectors.clone());
        LatentSectors::around(Plain::new(plan.member_bytes), sectors, 0, retry_ns)
    };
    (0..plan.geometry.width()).map(device).collect()
}

fn resilvered(plan: &Plan, bad: Option<usize>) -> (Resilver<Device>, Report) {
    resilvered_of(plan, devices(plan, bad))
}

fn resilvered_of(plan: &Plan, devices: Vec<Device>) -> (Resilver<Device>, Report) {
    let mut resilver = Resilver::new(plan.clone(), devices, 0).unwrap();
    resilver.finish();
    let report = resilver.report();
    (resilver, report)
}

/// What a member was asked for from the first request for the bad sector on, and that request.
fn from_the_bad(resilver: &Resilver<Device>, member: usize) -> (Range<u64>, Vec<(Verb, Range<u64>)>) {
    let asked = resilver.members().device(member).inner().asked();
    let reads_bad = |(verb, range): &(Verb, Range<u64>)| *verb == Verb::Read && range.contains(&BAD_BYTES);
    let at = asked.iter().position(reads_bad).expect("the sector is read");
    (asked[at].1.clone(), asked[at + 1..].to_vec())
}

fn within(asked: &[(Verb, Range<u64>)], verb: Verb, whole: &Range<u64>) -> Vec<Range<u64>> {
    let is_within = |one: &&(Verb, Range<u64>)| one.0 == verb && whole.start <= one.1.start && one.1.end <= whole.end;
    asked.iter().filter(is_within).map(|one| one.1.clone()).collect()
}

fn lost_bytes(report: &Report) -> u64 {
    match report.outcome.ended {
        Ended::WithLosses { lost_bytes } => lost_bytes,
        Ended::Complete => 0,
        Ended::Failed { .. } => panic!("{:?}", report.outcome.ended),
    }
}

/// Eight records of 128 KiB are read at once, all fail, and the new drive is read for each. Then each is read alone: seven can be.
#[test]
fn of_a_mirror_a_record_is_lost_and_what_was_read_with_it_is_read_again() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let (resilver, report) = resilvered(&plan, Some(0));
    let (failed, later) = from_the_bad(&resilver, 0);
    assert_eq!(failed.end - failed.start, 8 * RECORD_BYTES);
    let records: Vec<Range<u64>> =
        (failed.start..failed.end).step_by(RECORD_BYTES as usize).map(|start| start..start + RECORD_BYTES).collect();
    let mut again = within(&later, Verb::Read, &failed);
    again.sort_by_key(|range| range.start);
    assert_eq!(again, records, "each once, alone");
    assert!(within(&later, Verb::Write, &failed).is_empty(), "nothing can heal it");
    let (new, whole) = (resilver.members().device(NEW).inner(), failed.clone());
    // In vain: all eight, and the bad one once more. How they are joined is the queue's.
    let in_vain: u64 = within(new.asked(), Verb::Read, &whole).iter().map(|range| range.end - range.start).sum();
    assert_eq!(in_vain, 9 * RECORD_BYTES);
    let mut written = within(new.asked(), Verb::Write, &whole);
    written.sort_by_key(|range| range.start);
    let healed: Vec<Range<u64>> = records.into_iter().filter(|range| !range.contains(&BAD_BYTES)).collect();
    assert_eq!((written, lost_bytes(&report)), (healed, RECORD_BYTES));
}

/// Twice it tries for two seconds: in the request of eight, and in that of one.
#[test]
fn the_drive_tries_for_as_long_each_time() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let [bad, good] = [Some(0), None].map(|bad| resilvered(&plan, bad).1.outcome.duration_ns);
    assert!((bad - good).abs_diff(2 * RETRY_NS) < RETRY_NS / 10, "{}", bad - good);
}

/// A third drive has it: nothing of it is read again where it failed, and all of it written anew.
#[test]
fn what_redundancy_makes_up_for_is_not_read_again() {
    let mut joined = 0;
    for geometry in [Geometry::mirror(3, 12).unwrap(), Geometry::raidz(2, 6, 12).unwrap()] {
        let plan = plan(geometry, Order::Sorted);
        let member = (0..plan.geometry.width()).filter(|member| *member != NEW).find(|member| {
            let (resilver, _) = resilvered(&plan, Some(*member));
            let asked = resilver.members().device(*member).inner().asked();
            asked.iter().any(|(verb, range)| *verb == Verb::Read && range.contains(&BAD_BYTES))
        });
        let member = member.expect("one of them is read there");
        let (resilver, report) = resilvered(&plan, Some(member));
        let (failed, later) = from_the_bad(&resilver, member);
        joined += u64::from(failed.end - failed.start > RECORD_BYTES);
        assert_eq!((lost_bytes(&report), within(&later, Verb::Read, &failed)), (0, Vec::new()));
        let anew: u64 = within(&later, Verb::Write, &failed).iter().map(|range| range.end - range.start).sum();
        // All but the gaps that it was read over: those of a raidz have a sector of each five or six.
        assert!(anew * 6 >= (failed.end - failed.start) * 5, "{anew} of {failed:?}");
        let reads_of = |member: usize| resilver.members().device(member).inner().reads();
        assert!(reads_of(NEW).is_empty(), "who was not whole is not asked");
    }
    assert!(joined > 0, "what failed was a command of several requests");
}

/// One column of each record of a raidz1 is lost, one of some fails: of these all columns are read again, one by one.
#[test]
fn of_a_raidz_without_redundancy_left_a_record_is_lost() {
    let plan = plan(Geometry::raidz(1, 6, 12).unwrap(), Order::Sorted);
    let (resilver, report) = resilvered(&plan, Some(4));
    let (failed, later) = from_the_bad(&resilver, 4);
    let again = within(&later, Verb::Read, &failed);
    // A record of 32 sectors has 6 or 7 on each of six drives, and parity: some thirty in a request of 1 MiB.
    let column_bytes = 6 * 4096..=7 * 4096;
    assert!(again.len() > 10 && again.iter().all(|range| column_bytes.contains(&(range.end - range.start))));
    assert_eq!(again.iter().filter(|range| range.contains(&BAD_BYTES)).count(), 1);
    assert_eq!(lost_bytes(&report), RECORD_BYTES);
    // The other drives' columns of the same records were there, and are read again with them.
    let expected: u64 = again.iter().map(|range| range.end - range.start).sum();
    for member in [0, 2, 3, 5] {
        let twice = read_twice(resilver.members().device(member).inner().reads());
        assert!(twice.abs_diff(expected) * 10 < expected, "{twice} for {expected}");
    }
}

/// How many bytes were read more than once.
fn read_twice(mut reads: Vec<Range<u64>>) -> u64 {
    reads.sort_by_key(|range| range.start);
    let (mut end, mut twice) = (0, 0);
    for range in reads {
        twice += range.end.min(end).saturating_sub(range.start);
        end = end.max(range.end);
    }
    twice
}

/// Without checksums nobody notices: all that failed is lost, and what came is written, also over what could not be read.
#[test]
fn what_is_rebuilt_sequentially_is_lost_as_far_as_a_request_goes() {
    for geometry in [Geometry::mirror(2, 12).unwrap(), Geometry::draid(1, 4, 9, 0, 12).unwrap()] {
        let plan = plan(geometry.clone(), Order::Sequential);
        let found = (0..plan.geometry.width()).filter(|member| *member != NEW).find_map(|member| {
            let (resilver, report) = resilvered(&plan, Some(member));
            (lost_bytes(&report) > 0).then_some((member, resilver, report))
        });
        let (member, resilver, report) = found.expect("one of them has a column of what is lost");
        let (failed, later) = from_the_bad(&resilver, member);
        assert!(within(&later, Verb::Read, &failed).is_empty(), "nothing is read again");
        let written = within(resilver.members().device(NEW).inner().asked(), Verb::Write, &failed);
        assert!(
            geometry.width() > 2 || written.is_empty(),
            "the new drive of a mirror is taken to have it: {written:?}"
        );
        assert!(within(&later, Verb::Write, &failed).iter().any(|range| range.contains(&BAD_BYTES)), "it is healed");
        assert!(lost_bytes(&report) >= failed.end - failed.start, "{} of {failed:?}", lost_bytes(&report));
        assert!(lost_bytes(&report) > 4 * RECORD_BYTES);
    }
}

/// A user reads records that lie side by side, of which one has the bad sector: only that one cannot be had.
#[test]
fn users_are_told_of_the_one_record_alone() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let mut pool = Resilver::new(plan.clone(), devices(&plan, Some(0)), 0).unwrap();
    let first = 440;
    for tag in 0..64 {
        let offset_bytes = (first + u64::from(tag)) * RECORD_BYTES;
        pool.submit(0, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: RECORD_BYTES });
    }
    let mut answers = Vec::new();
    while answers.len() < 64 {
        pool.advance_to_completion(u64::MAX, &mut answers);
    }
    let failed = pool.members().device(0).inner().reads();
    let joined = failed.iter().any(|range| range.contains(&BAD_BYTES) && range.end - range.start > RECORD_BYTES);
    assert!(joined, "amid others");
    assert_eq!(answers.iter().filter(|answer| answer.status != Status::Good).count(), 1);
}

/// A drive that fails takes the second parity with it, and the sector is one too many.
#[test]
fn what_a_failed_drive_lacks_is_no_redundancy() {
    let plan = plan(Geometry::raidz(2, 6, 12).unwrap(), Order::Sorted);
    let lost = |second_failure| lost_bytes(&resilvered(&Plan { second_failure, ..plan.clone() }, Some(4)).1);
    assert_eq!([lost(None), lost(Some((3, 0)))], [0, RECORD_BYTES]);
}

/// A command of thirty columns that fails is thirty errors and one: it takes fifteen seconds until the drive is set faulty, and no second one.
#[test]
fn each_request_of_a_command_that_fails_is_an_error() {
    let small = plan(Geometry::raidz(2, 6, 12).unwrap(), Order::Sorted);
    let plan = Plan { member_bytes: 8 << 30, content: Content { fill: 0.9, ..small.content }, ..small };
    let sector = BAD_BYTES / SECTOR_BYTES;
    let (resilver, report) = resilvered_of(&plan, devices_with(&plan, Some(4), &(sector..sector + 1), RETRY_NS));
    let (failed, _) = from_the_bad(&resilver, 4);
    assert!(failed.end - failed.start > 10 * 7 * 4096, "{failed:?}");
    let faulted: Vec<bool> = report.outcome.members.iter().map(|member| member.is_faulted).collect();
    assert_eq!(faulted, [false, false, false, false, true, false]);
    assert!(report.outcome.members[4].failed_at_ns.is_some_and(|at_ns| at_ns > 15_000_000_000));
}

/// Of one parity all is lost once a second drive cannot be read at all: in a sample, too, it is all.
#[test]
fn what_a_sample_loses_stands_for_the_whole() {
    let tunables = Tunables { faults_errors: false, ..Tunables::v2_3() };
    for (geometry, order) in
        [(Geometry::raidz(1, 4, 12).unwrap(), Order::Sorted), (Geometry::mirror(2, 12).unwrap(), Order::Sequential)]
    {
        let small = plan(geometry, order);
        let sampling = Sampling { records: 1, window_records: 100, first_records: 0 };
        let content = Content { fill: 0.9, ..small.content };
        let plan = Plan { tunables, sampling, content, member_bytes: 60 << 30, ..small };
        let bad = 0;
        let all = 0..plan.member_bytes / SECTOR_BYTES;
        let (resilver, report) = resilvered_of(&plan, devices_with(&plan, Some(bad), &all, 0));
        assert!(resilver.is_sampled());
        let off = lost_bytes(&report) as f64 / resilver.capacity_bytes() as f64;
        assert!((0.95..1.05).contains(&off), "{order:?}: {off}");
        assert!(order == Order::Sorted || report.records == 0);
    }
}
