//! What must hold of every pool, whatever it is made of: what is healed, what users wait for, what a group leaves alone.

#[allow(dead_code, reason = "what it was asked is looked at in its own way")]
mod plain;
mod plan;

use std::collections::BTreeSet;

use array::zfs::{Files, Geometry, Host, Order, Plan, Resilver, Tunables};
use drive::{BlockDevice, Completion, Request, Verb};
use plain::Plain;
use plan::{plan, GIB};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const RECORD: u64 = 128 * KIB;
const DATA: std::ops::Range<u64> = 4 * MIB..2 * GIB - MIB / 2;
const US: u64 = 1000;

fn members(plan: &Plan) -> Vec<Plain> {
    vec![Plain::new(plan.member_bytes); plan.geometry.width()]
}

fn healthy(plan: &Plan) -> Resilver<Plain> {
    Resilver::healthy(plan.clone(), members(plan), 0).unwrap()
}

fn request(tag: u32, verb: Verb, offset_bytes: u64, bytes: u64) -> Request {
    Request { tag, verb, fua: false, offset_bytes, bytes }
}

/// One request alone: how long it took.
fn takes_ns(pool: &mut Resilver<Plain>, request: Request) -> u64 {
    let (from_ns, mut done) = (pool.now_ns(), Vec::<Completion>::new());
    pool.submit(from_ns, request);
    while done.is_empty() {
        pool.advance_to_completion(u64::MAX, &mut done);
    }
    done[0].completed_ns - from_ns
}

fn sectors(ranges: impl Iterator<Item = std::ops::Range<u64>>) -> BTreeSet<u64> {
    ranges.filter(|range| DATA.contains(&range.start)).flat_map(|range| range.step_by(4096)).collect()
}

/// The sectors of the lost member that a resilver writes, without what the pool says of itself.
fn healed(plan: &Plan) -> BTreeSet<u64> {
    let mut pool = Resilver::new(plan.clone(), members(plan), 0).unwrap();
    pool.finish();
    let own = pool.own_places().into_iter().filter(|(member, _)| *member == plan.lost).map(|(_, offset)| offset);
    let own: BTreeSet<u64> = own.collect();
    sectors(pool.members().device(plan.lost).writes().into_iter()).difference(&own).copied().collect()
}

/// The tree of pointers, the same sorted, and allocated space from its beginning to its end are three ways through one pool:
/// none leaves out a record, or what names it.
#[test]
fn whatever_the_order_the_same_is_healed() {
    let by_pointers: &[Order] = &[Order::Blocks];
    let all: &[Order] = &[Order::Blocks, Order::Sequential];
    for (geometry, files, others) in [
        (Geometry::mirror(2, 12).unwrap(), Files::One, all),
        (Geometry::mirror(2, 12).unwrap(), Files::Each { bytes: 6 * MIB }, all),
        (Geometry::mirror(2, 12).unwrap(), Files::BehindUsers { bytes: MIB }, all),
        (Geometry::raidz(1, 4, 12).unwrap(), Files::One, by_pointers),
        (Geometry::raidz(2, 5, 12).unwrap(), Files::Each { bytes: 6 * MIB }, by_pointers),
        (Geometry::raidz(2, 5, 12).unwrap(), Files::BehindUsers { bytes: 2 * MIB }, by_pointers),
        (Geometry::draid(1, 2, 6, 0, 12).unwrap(), Files::One, all),
    ] {
        let of = |order| {
            let mut plan = plan(geometry.clone(), order);
            plan.content.files = files;
            healed(&plan)
        };
        let sorted = of(Order::Sorted);
        assert!(sorted.len() as u64 * 4096 > 100 * MIB, "{}", sorted.len());
        for order in others {
            let other = of(*order);
            let (less, more) = (sorted.difference(&other).count(), other.difference(&sorted).count());
            assert_eq!((less, more), (0, 0), "{geometry:?} {files:?} {order:?}");
        }
    }
}

/// Labels before and behind, whole sectors between.
#[test]
fn what_can_be_allocated_leaves_the_labels_out() {
    let labels = 4 * MIB + 512 * KIB;
    let mirror = Geometry::mirror(3, 12).unwrap();
    assert_eq!(mirror.allocatable_bytes(labels + 10 * 4096 + 4095), 10 * 4096);
    assert_eq!(Geometry::raidz(1, 4, 12).unwrap().allocatable_bytes(labels + 10 * 4096), 4 * 10 * 4096);
    // Rows of 16 MiB, of which the last two are kept free; groups of three on five of six.
    let draid = Geometry::draid(1, 2, 6, 1, 12).unwrap();
    assert_eq!(draid.allocatable_bytes(labels + (3 + 2) * 16 * MIB), 3 * 5 * 16 * MIB);
    assert_eq!(draid.allocatable_bytes(labels + (3 + 2) * 16 * MIB - 4096), 3 * (2 * 5 / 3) * 16 * MIB);
}

fn read_bytes(pool: &Resilver<Plain>) -> u64 {
    (0..pool.members().len()).map(|member| pool.members().counters(member).bytes_read).sum()
}

#[test]
fn a_record_is_read_before_a_part_of_it_is_written_and_not_before_all_of_it_is() {
    let plan = Plan { tunables: Tunables::v2_1(), ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let mut pool = healthy(&plan);
    for (offset_bytes, bytes, records) in [(0, RECORD, 0), (RECORD, 8 * KIB, 1), (3 * RECORD + 4 * KIB, RECORD, 2)] {
        let before = read_bytes(&pool);
        takes_ns(&mut pool, request(1, Verb::Write, offset_bytes, bytes));
        assert_eq!(read_bytes(&pool) - before, records * RECORD, "{bytes} bytes at {offset_bytes}");
    }
}

/// In memory is quick; the log is written to both drives, which takes them 0.1 ms and more.
#[test]
fn who_wants_to_be_sure_waits_for_the_drives() {
    let plan = Plan { tunables: Tunables::v2_1(), ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let mut pool = healthy(&plan);
    pool.advance(1_000_000 * US, &mut Vec::new());
    let write = |tag| request(tag, Verb::Write, 0, RECORD);
    assert!(takes_ns(&mut pool, write(1)) < 50 * US);
    assert!(takes_ns(&mut pool, request(2, Verb::Flush, 0, 0)) > 100 * US, "it is logged first");
    assert!(takes_ns(&mut pool, request(3, Verb::Flush, 0, 0)) < 50 * US, "nothing is left to be logged");
    assert!(takes_ns(&mut pool, Request { fua: true, ..write(4) }) > 100 * US);
}

/// A tenth of 64 MiB holds 51 records.
#[test]
fn who_writes_more_than_memory_takes_waits_for_a_group() {
    let host = Host { memory_bytes: 128 * MIB, ..Host::default() };
    let plan = Plan { tunables: Tunables::v2_1(), host, ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let mut pool = healthy(&plan);
    pool.advance(1_000_000 * US, &mut Vec::new());
    let now_ns = pool.now_ns();
    (0..240).for_each(|tag| pool.submit(now_ns, request(tag, Verb::Write, u64::from(tag) * RECORD, RECORD)));
    let mut done = Vec::new();
    pool.advance(now_ns + 50 * US, &mut done);
    assert_eq!(done.len(), 102);
    pool.advance(now_ns + 60_000_000 * US, &mut done);
    assert_eq!(done.len(), 240);
}

/// Nothing that the last group has written is overwritten: were it the last that is whole, the pool would be lost.
#[test]
fn a_group_leaves_what_the_one_before_has_written_of_the_pool_itself() {
    for geometry in [Geometry::mirror(2, 12).unwrap(), Geometry::raidz(1, 4, 12).unwrap()] {
        let mut pool = healthy(&plan(geometry, Order::Sorted));
        pool.advance(40_000_000 * US, &mut Vec::new());
        let own: BTreeSet<(usize, u64)> = pool.own_places().into_iter().collect();
        for member in 0..pool.members().len() {
            let asked = pool.members().device(member).asked();
            let between = asked.split(|(verb, _)| *verb == Verb::Flush);
            let written = between.map(|part| sectors(part.iter().map(|(_, range)| range.clone())));
            let written = written.map(|part| part.into_iter().filter(|at| own.contains(&(member, *at))).collect());
            let groups: Vec<BTreeSet<u64>> = written.filter(|part: &BTreeSet<u64>| !part.is_empty()).collect();
            assert!(groups.len() > 3, "member {member}: {}", groups.len());
            for pair in groups.windows(2) {
                assert!(pair[0].is_disjoint(&pair[1]), "member {member}: {:?}", pair[0].intersection(&pair[1]));
            }
        }
    }
}
