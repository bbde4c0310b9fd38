//! What users rewrite: where transaction groups put it, and what it changes of a resilver.

use crate::plain::Plain;
use crate::plan::{plan, GIB};
use array::zfs::{Content, Geometry, Host, Order, Plan, Resilver, Tunables};
use drive::{BlockDevice, Request, Verb};

const S: u64 = 1_000_000_000;

fn devices(plan: &Plan) -> Vec<Plain> {
    vec![Plain::new(plan.member_bytes); plan.geometry.width()]
}

/// Of a record so much that it is read, changed, and written with its group.
fn ask(resilver: &mut Resilver<Plain>, verb: Verb, record: u64) {
    let request = Request { tag: 1, verb, fua: false, offset_bytes: record << 17, bytes: 16 << 10 };
    resilver.submit(resilver.now_ns(), request);
}

fn pass(resilver: &mut Resilver<Plain>, ns: u64) {
    resilver.advance(resilver.now_ns() + ns, &mut Vec::new());
}

/// Where records lie that are in no memory any more.
fn places(resilver: &mut Resilver<Plain>, records: std::ops::Range<u64>) -> Vec<u64> {
    let sides = |resilver: &Resilver<Plain>| [0, 1].map(|side| resilver.members().device(side).reads());
    let place = |record| {
        let before = sides(resilver).map(|reads| reads.len());
        ask(resilver, Verb::Read, record);
        pass(resilver, S / 100);
        let read = sides(resilver).into_iter().zip(before).find_map(|(reads, before)| reads.get(before).cloned());
        read.expect("it is read from one of both").start
    };
    records.map(place).collect()
}

#[test]
fn of_a_group_32_blocks_get_places_as_they_come_and_then_always_the_least() {
    let geometry = Geometry::mirror(2, 12).unwrap();
    let host = Host { memory_bytes: 4 * GIB, cache_bytes: Some(64 << 20), ..Host::default() };
    let plan = Plan { host, ..plan(geometry, Order::Sorted) };
    let filled = |tunables: Tunables| {
        let mut resilver = Resilver::healthy(Plan { tunables, ..plan.clone() }, devices(&plan), 0).unwrap();
        (0..32).rev().chain((32..400).rev()).for_each(|record| ask(&mut resilver, Verb::Write, record));
        pass(&mut resilver, 15 * S);
        places(&mut resilver, 0..200)
    };
    let now = filled(Tunables::v2_3());
    assert!(now[..32].windows(2).all(|pair| pair[0] > pair[1]), "as they came");
    assert!(now[32..].windows(2).all(|pair| pair[0] < pair[1]), "the least first");
    let of_old = filled(Tunables { def_queue_depth: None, ..Tunables::v2_3() });
    assert!(of_old[32..].windows(2).all(|pair| pair[0] > pair[1]), "as they came, all of them");
}

/// Also where a group has given places to some of its blocks only, and where it is not yet begun.
#[test]
fn what_users_had_rewritten_lies_elsewhere_whenever_a_drive_fails() {
    let host = Host { memory_bytes: 4 * GIB, cache_bytes: Some(64 << 20), ..Host::default() };
    let plan = Plan { host, ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let healthy = || Resilver::healthy(plan.clone(), devices(&plan), 0).unwrap();
    let filled = places(&mut healthy(), 0..200);
    let mut before = healthy();
    (0..200).for_each(|record| ask(&mut before, Verb::Write, record));
    let written = |before: &Resilver<Plain>| -> u64 {
        before.members().device(0).writes().iter().map(|range| (range.end - range.start) >> 17).sum()
    };
    let others = written(&before);
    for so_far in [0, 20, 100, 180, 200] {
        while written(&before) < others + so_far {
            pass(&mut before, S / 1000);
        }
        let mut resilver = Resilver::after(&before, plan.clone(), devices(&plan), before.now_ns()).unwrap();
        let is_still = |record: &u64| filled.contains(&places(&mut resilver, *record..record + 1)[0]);
        let still: Vec<u64> = [0, 31, 32, 120, 150].into_iter().filter(is_still).collect();
        assert_eq!(still, [], "with {so_far} records written");
    }
}

/// Users fill a fifth of what may be dirty in 3 s and three tenths in 4.
#[test]
fn a_scan_makes_way_for_a_group_that_users_have_filled() {
    let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let content = Content { fill: 0.5, ..small.content };
    let host = Host { memory_bytes: GIB, ..Host::default() };
    let plan = Plan { member_bytes: 20 * GIB, content, host, ..small };
    let groups = |kicks_ahead: bool, memory_bytes: u64| {
        let tunables = Tunables { kicks_ahead, ..Tunables::v2_3() };
        let host = Host { memory_bytes, ..host };
        let mut resilver = Resilver::new(Plan { tunables, host, ..plan.clone() }, devices(&plan), 0).unwrap();
        for record in 0..2000 {
            ask(&mut resilver, Verb::Write, record);
            pass(&mut resilver, S / 62);
        }
        assert!(!resilver.is_over());
        resilver.members().device(0).asked().iter().filter(|(verb, _)| *verb == Verb::Flush).count() / 2
    };
    let (with, without, unhurried) = (groups(true, GIB), groups(false, GIB), groups(false, 8 * GIB));
    assert!(with > without && without > unhurried, "{with} groups, {without}, and with room for all {unhurried}");
}

/// The scan's writes of a large read: one by one while somebody waits for more than data, else all but two in one request. What is to
/// be done with a group is done before the scan's turn in it. Users read so much that the new drive has written one when the next comes.
#[test]
fn a_scan_writes_in_haste_until_the_group_that_notes_the_new_drive_has_users_data() {
    let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let plan = Plan { member_bytes: 20 * GIB, content: Content { fill: 0.5, ..small.content }, ..small };
    let mut resilver = Resilver::new(plan.clone(), devices(&plan), 0).unwrap();
    for number in 0..2400 {
        ask(&mut resilver, if number % 10 == 0 { Verb::Write } else { Verb::Read }, number);
        (1..5).for_each(|read| ask(&mut resilver, Verb::Read, read * 10_000 + number));
        pass(&mut resilver, S / 160);
    }
    let asked = resilver.members().device(1).asked();
    let groups: Vec<Vec<u64>> = asked
        .split(|(verb, _)| *verb == Verb::Flush)
        .map(|asked| asked.iter().map(|(_, range)| range.end - range.start).collect())
        .filter(|group: &Vec<u64>| group.iter().sum::<u64>() > 50 << 20)
        .collect();
    let joined = |group: &Vec<u64>| group.iter().filter(|bytes| **bytes > 512 << 10).count();
    let shares: Vec<f64> = groups.iter().map(|group| joined(group) as f64 / group.len() as f64).collect();
    assert!(shares.len() > 1 && shares[0] < 0.02, "in haste: {shares:?}");
    assert!(shares[1..].iter().all(|share| *share > 0.2), "{shares:?}");
}

/// Each drive's partition table is looked at before, while users are at work.
#[test]
fn a_drive_of_a_wide_pool_is_put_in_later() {
    let labels_after_ns = |geometry: Geometry| {
        let plan = plan(geometry, Order::Sorted);
        let mut resilver = Resilver::new(plan.clone(), devices(&plan), 0).unwrap();
        while resilver.members().device(1).writes().is_empty() {
            pass(&mut resilver, S / 1000);
        }
        resilver.now_ns()
    };
    let [two, six] =
        [Geometry::mirror(2, 12), Geometry::raidz(1, 6, 12)].map(|geometry| labels_after_ns(geometry.unwrap()));
    assert!((330..390).contains(&(two / 1_000_000)), "{two}");
    assert!((500..640).contains(&(six / 1_000_000)), "{six}");
}
