//! ZFS resilvers with a job beside them: who is there before, what counts from when, and what users are told to have felt.

use array::zfs::{Content, Files, Geometry, Host, Order, Plan, Sampling, Tunables};
use drive::faults::Faults;
use drive::{BlockDevice, Drive, Profile};
use workload::rebuild::{resilver, ResilverOrder, Resilvered};
use workload::{Direction, Row};

const CONVENTIONAL: &str = include_str!("../../../../drives/st12000vn0007.toml");
const SHINGLED: &str = include_str!("../../../../drives/wd40efax.toml");
const S: u64 = 1_000_000_000;
const JOB: &str = "[users]\nrw=randread\nbs=16k\niodepth=1\nnorandommap\n";

fn drive(profile: &str, divisor: u32, seed: u64) -> Drive {
    Drive::new(&Profile::parse(profile).unwrap().scaled(divisor).unwrap(), seed)
}

/// A mirror or a raidz of drives of 3 GB, of which the last is replaced, half full.
fn order(geometry: Geometry, load: Option<&str>) -> ResilverOrder {
    let drives: Vec<Drive> = (0..geometry.width() as u64).map(|seed| drive(CONVENTIONAL, 4000, seed)).collect();
    let plan = Plan {
        lost: drives.len() - 1,
        member_bytes: drives[0].capacity_bytes(),
        partition_at_bytes: 0,
        content: Content { record_bytes: 128 << 10, fill: 0.5, run_records: None, files: Files::One },
        geometry,
        spare: None,
        order: Order::Sorted,
        tunables: Tunables::v2_3(),
        host: Host::default(),
        sampling: Sampling::NONE,
        second_failure: None,
        seed: 1,
    };
    ResilverOrder {
        faults: vec![None; drives.len()],
        drives,
        plan,
        start_ns: 0,
        load: load.map(str::to_owned),
        seed: 1,
    }
}

fn mirror(load: Option<&str>) -> ResilverOrder {
    order(Geometry::mirror(2, 12).unwrap(), load)
}

fn of(order: &ResilverOrder) -> Resilvered {
    resilver(order).unwrap()
}

fn reads(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.direction == Direction::Read).collect()
}

/// Whoever is put in later: before a drive failed there was another, like its neighbour, and what users felt of that is the same.
#[test]
fn before_a_drive_fails_its_replacement_is_not_there() {
    for lost in [0, 1] {
        let conventional = mirror(Some(JOB));
        let mut conventional = ResilverOrder { plan: Plan { lost, ..conventional.plan.clone() }, ..conventional };
        let mut shingled = conventional.clone();
        shingled.drives[lost] = drive(SHINGLED, 1000, 9);
        conventional.drives[lost] = drive(CONVENTIONAL, 4000, 9);
        let [one, other] = [&conventional, &shingled].map(of);
        assert_eq!((&one.report.alone, &one.report.felt_alone), (&other.report.alone, &other.report.felt_alone));
        assert_ne!(one.report.outcome.duration_ns, other.report.outcome.duration_ns);
    }
}

/// A minute without a failure, in rows of five seconds; then from the scan's beginning to its end. Where users write that is some groups later.
#[test]
fn what_users_feel_is_felt_before_and_beside_the_scan() {
    for job in [JOB, "[users]\nrw=randrw\nbs=16k\niodepth=1\nnorandommap\n"] {
        let Resilvered { report, .. } = of(&mirror(Some(job)));
        let (alone, during, duration_ns) = (reads(&report.alone), reads(&report.during), report.outcome.duration_ns);
        assert_eq!(alone.len(), 12);
        assert!(alone.iter().all(|row| row.duration_ns == 5 * S));
        let ends: Vec<u64> = during.iter().map(|row| row.start_ns + row.duration_ns).collect();
        assert!(during.len() > 2 && during[0].start_ns < S / 100, "{:?}", during[0]);
        assert!(ends.last().unwrap().abs_diff(duration_ns) < S / 10, "{ends:?} of {duration_ns}");
        // In the first of them the scan begins.
        let follow = during[1..].windows(2).all(|pair| pair[1].start_ns == pair[0].start_ns + pair[0].duration_ns);
        assert!(follow && (1..5 * S).contains(&during[1].start_ns), "{during:?}");
    }
}

/// ZFS answers a program's request before it takes its next, and four programs wait for four.
#[test]
fn each_process_of_a_job_is_a_program() {
    let count = |job: &str| of(&mirror(Some(job))).report.felt_alone[0].count;
    let [one, deep, four] =
        [JOB, "[users]\nrw=randread\nbs=16k\niodepth=4\nnorandommap\n", &format!("{JOB}numjobs=4\n")].map(count);
    assert!(deep * 10 < one * 12, "{deep} for {one}");
    assert!(four * 10 > one * 15, "{four} for {one}");
}

/// However old the drives are, a fault comes as long after the resilver has been ordered; the scan's time counts from its beginning.
#[test]
fn faults_count_from_when_the_drive_is_put_in() {
    let gone = "format_version = 1\n[[faults]]\nkind = \"gone\"\nfrom_s = 4\nfor_s = 1\n";
    let mut new = order(Geometry::raidz(2, 4, 12).unwrap(), None);
    new.faults[1] = Some(Faults::parse(gone).unwrap());
    let old = ResilverOrder { start_ns: 3600 * S, ..new.clone() };
    let failed_at_ns = [&new, &old].map(|order| of(order).report.outcome.members[1].failed_at_ns.expect("it fails"));
    assert!(failed_at_ns[0].abs_diff(failed_at_ns[1]) < S / 10, "{failed_at_ns:?}");
    assert!((3 * S..4 * S).contains(&failed_at_ns[0]), "{failed_at_ns:?}");
}

/// Where nothing stands in for what the others cannot read, each byte that is needed is read once, whatever users read besides. What
/// the pool's own blocks take has a second copy.
#[test]
fn what_is_read_without_redundancy_is_no_more_than_the_resilver_needs() {
    let of_all = |order: &ResilverOrder| -> u64 {
        of(order).report.outcome.members.iter().map(|member| member.counters.bytes_read).sum()
    };
    let unguarded = |order: &ResilverOrder| of(order).report.outcome.unguarded_bytes;
    let draid = || Geometry::draid(1, 3, 6, 0, 12).unwrap();
    for geometry in [Geometry::mirror(2, 12).unwrap(), Geometry::raidz(1, 4, 12).unwrap(), draid()] {
        let (alone, beside) = (order(geometry.clone(), None), order(geometry.clone(), Some(JOB)));
        let (read, needed) = (of_all(&alone) as f64, unguarded(&alone));
        assert!((0.95..1.0).contains(&(needed as f64 / read)), "{geometry:?}: {needed} of {read}");
        // Users have a file of seven eighths of it, and one record may lie otherwise.
        assert!(needed.abs_diff(unguarded(&beside)) < needed / 50, "{geometry:?}");
    }
    for geometry in [Geometry::mirror(3, 12).unwrap(), Geometry::raidz(2, 5, 12).unwrap()] {
        assert_eq!(unguarded(&order(geometry, None)), 0);
    }
}

/// Of two parities one is there until another drive fails.
#[test]
fn what_was_read_before_a_second_failure_had_redundancy() {
    let mut order = order(Geometry::raidz(2, 5, 12).unwrap(), None);
    let whole = of(&order).report.outcome;
    let read: u64 = whole.members.iter().map(|member| member.counters.bytes_read).sum();
    order.plan.second_failure = Some((1, whole.duration_ns / 2));
    let outcome = of(&order).report.outcome;
    assert!(outcome.members[1].failed_at_ns.is_some());
    // A half of three of the four that were read.
    let share = outcome.unguarded_bytes as f64 / read as f64;
    assert!((0.3..0.45).contains(&share), "{share}");
}
