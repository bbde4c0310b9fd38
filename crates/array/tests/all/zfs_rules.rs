//! Rules of OpenZFS that decide how long a resilver takes, each on a small pool.

use std::collections::BTreeSet;

use crate::plain::Plain;
use crate::plan::{plan, GIB};
use array::zfs::{Content, Draid, Geometry, Host, Order, Plan, Report, Resilver, Tunables};
use drive::{BlockDevice, Request, Verb};

const MIB: u64 = 1 << 20;
const LABEL_BYTES: u64 = 4 * MIB;

fn resilver(plan: &Plan) -> Resilver<Plain> {
    Resilver::new(plan.clone(), vec![Plain::new(plan.member_bytes); plan.geometry.width()], 0).unwrap()
}

fn resilvered(plan: &Plan) -> (Resilver<Plain>, Report) {
    let mut resilver = resilver(plan);
    resilver.finish();
    let report = resilver.report();
    (resilver, report)
}

/// The bytes of each read of a member.
fn read_bytes(resilver: &Resilver<Plain>, member: usize) -> Vec<u64> {
    resilver.members().device(member).reads().into_iter().map(|range| range.end - range.start).collect()
}

/// Of two spares the second: each part of it lies on the child that the permutation of its rows names.
#[test]
fn each_spare_has_its_own_places() {
    let geometry = Geometry::draid(1, 3, 9, 2, 12).unwrap();
    let (of_nine, plan) =
        (Draid::new(1, 3, 9, 2, 12).unwrap(), Plan { spare: Some(1), ..plan(geometry, Order::Sequential) });
    let (resilver, _) = resilvered(&plan);
    let (own, mut bytes): (BTreeSet<(usize, u64)>, u64) = (resilver.own_places().into_iter().collect(), 0);
    for member in 0..9 {
        let writes = resilver.members().device(member).writes().into_iter();
        let data = writes.filter(|range| (LABEL_BYTES..2 * GIB - MIB / 2).contains(&range.start));
        for offset in data.flat_map(|range| range.step_by(4096)).filter(|offset| !own.contains(&(member, *offset))) {
            assert_eq!(of_nine.spare_at(1, offset - LABEL_BYTES), member, "{offset}");
            bytes += 4096;
        }
    }
    assert!(bytes > 50 * MIB, "{bytes}");
}

/// Each core rebuilds 16 MiB in a second, which is less than drives read: that decides, and others share in it.
#[test]
fn cores_share_what_is_to_be_rebuilt() {
    let taken_ns = |cores: u32| {
        let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
        let host = Host { cores, rebuilt_bytes_per_s: Some(16.0 * MIB as f64), ..small.host };
        let plan = Plan { host, ..small };
        let (_, report) = resilvered(&plan);
        (report.outcome.duration_ns as f64, report.records as f64 * 128.0 * 1024.0 / (16.0 * MIB as f64) * 1e9)
    };
    for cores in [1, 2, 3] {
        let (took_ns, of_one_ns) = taken_ns(cores);
        let off = took_ns * f64::from(cores) / of_one_ns;
        assert!((1.0..1.15).contains(&off), "{cores}: {off}");
    }
}

/// `zfs_resilver_delay`: two ticks of 4 ms before each block while users are there; when they have gone it goes as fast as ever.
#[test]
fn a_scan_of_old_waits_before_each_block_while_users_are_there() {
    let plan = Plan { tunables: Tunables::v0_6(), ..plan(Geometry::mirror(2, 12).unwrap(), Order::Blocks) };
    let mut resilver = resilver(&plan);
    let mut completions = Vec::new();
    while resilver.is_to_begin() {
        resilver.advance(resilver.now_ns() + 10_000_000, &mut completions);
    }
    let mut blocks = |resilver: &mut Resilver<Plain>, with_users: bool| {
        let records = |resilver: &Resilver<Plain>| resilver.report().records;
        let before = records(resilver);
        for tag in 0..20 {
            if with_users {
                let offset_bytes = u64::from(tag) << 17;
                resilver.submit(
                    resilver.now_ns(),
                    Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 },
                );
            }
            resilver.advance(resilver.now_ns() + 50_000_000, &mut completions);
        }
        records(resilver) - before
    };
    // What was in flight before does not wait.
    blocks(&mut resilver, true);
    let beside = blocks(&mut resilver, true);
    assert!((100..=130).contains(&beside), "one in 8 ms: {beside}");
    resilver.advance(resilver.now_ns() + 600_000_000, &mut Vec::new());
    let alone = blocks(&mut resilver, false);
    assert!(alone > 400, "{alone}");
}

/// Nobody knows by heart where the records of an aged pool are: all that names them is read before the first of them is.
#[test]
fn of_an_aged_pool_all_names_are_read_before_any_record() {
    let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let content = Content { run_records: Some(4), fill: 0.5, ..small.content };
    let plan = Plan { content, member_bytes: 16 * GIB, ..small };
    let mut resilver = resilver(&plan);
    while resilver.report().records < 1000 {
        let to_ns = resilver.now_ns() + 100_000_000;
        resilver.advance(to_ns, &mut Vec::new());
    }
    let reads = read_bytes(&resilver, 0);
    let names = reads.iter().take_while(|bytes| **bytes < 128 << 10).count();
    // 62,000 records and more have 61 blocks of 1024 pointers.
    assert!((55..70).contains(&names), "{names}");
    assert!(reads[names..].iter().all(|bytes| *bytes >= 128 << 10));
}

/// Each of five drives has parity of two records in five: without the second, only of the others all that there is has to be read.
#[test]
fn who_lacks_parity_alone_reads_data_alone() {
    let plan = plan(Geometry::raidz(2, 5, 12).unwrap(), Order::Sorted);
    let mut resilver = resilver(&plan);
    let mut read = |tag: u32| {
        let reads = |resilver: &Resilver<Plain>, member: usize| read_bytes(resilver, member).len();
        let before = [0, 1, 2, 3, 4].map(|member| reads(&resilver, member));
        let offset_bytes = u64::from(tag) << 17;
        resilver.submit(resilver.now_ns(), Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
        resilver.advance(resilver.now_ns() + 10_000_000, &mut Vec::new());
        (0..5).filter(|member| reads(&resilver, *member) > before[*member]).count()
    };
    let members: Vec<usize> = (0..20).map(&mut read).collect();
    assert!(resilver.is_to_begin());
    let of = |many: usize| members.iter().filter(|members| **members == many).count();
    assert_eq!([of(3), of(4)], [8, 12], "{members:?}");
}
