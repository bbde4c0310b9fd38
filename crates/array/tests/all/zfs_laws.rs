//! What must hold of every pool, whatever it is made of: what is healed, what users wait for, what a group leaves alone.

use std::collections::BTreeSet;

use crate::plain::Plain;
use crate::plan::{plan, GIB};
use array::zfs::{write_configuration, Content, Files, Geometry, Host, Order, Plan, Resilver, Tunables};
use drive::{BlockDevice, Completion, Request, Verb};

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
        (Geometry::mirror(2, 12).unwrap(), Files::Each { bytes: Some(6 * MIB) }, all),
        (Geometry::mirror(2, 12).unwrap(), Files::BehindUsers { bytes: Some(MIB) }, all),
        (Geometry::raidz(1, 4, 12).unwrap(), Files::One, by_pointers),
        (Geometry::raidz(2, 5, 12).unwrap(), Files::Each { bytes: Some(6 * MIB) }, by_pointers),
        (Geometry::raidz(2, 5, 12).unwrap(), Files::BehindUsers { bytes: Some(2 * MIB) }, by_pointers),
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

/// Labels before and behind, aligned to their size.
#[test]
fn what_can_be_allocated_leaves_the_labels_out() {
    let labels = 4 * MIB + 512 * KIB;
    let mirror = Geometry::mirror(3, 12).unwrap();
    assert_eq!(mirror.allocatable_bytes(labels + 512 * KIB + 256 * KIB - 1), 512 * KIB);
    assert_eq!(Geometry::raidz(1, 4, 12).unwrap().allocatable_bytes(labels + 512 * KIB), 4 * 512 * KIB);
    // Rows of 16 MiB, of which the last two are kept free; groups of three on five of six.
    let draid = Geometry::draid(1, 2, 6, 1, 12).unwrap();
    assert_eq!(draid.allocatable_bytes(labels + (3 + 2) * 16 * MIB), 3 * 5 * 16 * MIB);
    assert_eq!(draid.allocatable_bytes(labels + (3 + 2) * 16 * MIB - 4096), 3 * (2 * 5 / 3) * 16 * MIB);
}

/// Half of the labels and a flush, then the other half: one of them is always whole (`vdev_config_sync`).
#[test]
fn a_configuration_is_written_to_half_of_the_labels_at_a_time() {
    let mut device = Plain::new(2 * GIB);
    write_configuration(&mut device, MIB..MIB + GIB, 0);
    let configuration = |label: u64| (Verb::Write, MIB + label + 16 * KIB..MIB + label + 128 * KIB);
    let flush = [(Verb::Flush, MIB..MIB)];
    let [first, second] = [[0, GIB - 512 * KIB], [256 * KIB, GIB - 256 * KIB]].map(|labels| labels.map(configuration));
    let expected: Vec<_> = [&first[..], &flush, &second, &flush].concat();
    assert_eq!(device.asked(), expected);
}

#[test]
fn a_pool_in_partitions_asks_for_the_same_further_on() {
    let whole = plan(Geometry::raidz(1, 3, 12).unwrap(), Order::Sorted);
    let at = |partition_at_bytes: u64| {
        let plan = Plan { partition_at_bytes, ..whole.clone() };
        let drives = vec![Plain::new(partition_at_bytes + plan.member_bytes); 3];
        let mut resilver = Resilver::new(plan, drives, 0).unwrap();
        resilver.finish();
        let asked = |member| resilver.members().device(member).asked().to_vec();
        (0..3).map(asked).collect::<Vec<_>>()
    };
    let (whole, further) = (at(0), at(MIB));
    for (asked, moved) in whole.iter().zip(&further) {
        let expected = asked.iter().map(|(verb, place)| match verb {
            Verb::Flush => (*verb, MIB..MIB),
            _ => (*verb, place.start + MIB..place.end + MIB),
        });
        assert!(asked.len() > 100 && expected.eq(moved.iter().cloned()));
    }
    let too_small = Plan { partition_at_bytes: MIB, ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let drives = vec![Plain::new(too_small.member_bytes); 2];
    assert!(Resilver::new(too_small, drives, 0).is_err());
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

/// `vdev_mirror_load`: a drive whose arm stands where it is to read has least to do, and near it, within a MiB, less than one that has to
/// go further. Of drives that have as much to do every other 2 MiB are one's.
#[test]
fn a_mirror_reads_on_where_an_arm_stands_and_else_by_place() {
    let mut pool = healthy(&plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted));
    pool.advance(1_000_000 * US, &mut Vec::new());
    let mut read = |record: u64| {
        let reads = |pool: &Resilver<Plain>| [0, 1].map(|member| pool.members().device(member).reads());
        let before = reads(&pool).map(|reads| reads.len());
        takes_ns(&mut pool, request(1, Verb::Read, record * RECORD, RECORD));
        let after = reads(&pool);
        let member = (0..2).find(|member| after[*member].len() > before[*member]).unwrap();
        (member, (after[member][before[member]].start - 4 * MIB) / (2 * MIB) % 2)
    };
    for record in (0..3000).step_by(499) {
        let (member, place) = read(record);
        assert_eq!(member as u64, place, "far from both: {record}");
    }
    let (member, _) = read(1000);
    let (mut going_on, mut near) = ((1001..1040).map(&mut read).collect::<Vec<_>>(), Vec::new());
    near.extend((1..20).map(|step| read(1039 + 5 * step)));
    for read in [&mut going_on, &mut near] {
        assert!(
            read.iter().all(|read| read.0 == member) && read.iter().any(|read| read.1 != member as u64),
            "{read:?}"
        );
    }
    for step in 1..20 {
        let (member, place) = read(1134 + 9 * step);
        assert_eq!(member as u64, place, "a MiB is not near");
    }
}

#[test]
fn before_anything_fails_nothing_does() {
    let plan = Plan { second_failure: Some((0, 1000)), ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let mut pool = healthy(&plan);
    pool.advance(20_000_000 * US, &mut Vec::new());
    let [one, other] = [0, 1].map(|member| pool.members().counters(member).requests);
    assert_eq!(one, other);
}

/// Parts of twenty files are rewritten. Right behind them lie their twenty indirect blocks and eight of the pool's own; second copies, and third
/// ones of the latter, are elsewhere.
#[test]
fn a_group_writes_what_names_its_data_right_behind_it() {
    let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let plan = Plan { content: Content { files: Files::Each { bytes: Some(6 * MIB) }, ..small.content }, ..small };
    let mut pool = healthy(&plan);
    pool.advance(1_000_000 * US, &mut Vec::new());
    let before = pool.members().device(0).asked().len();
    (0..20).for_each(|tag| pool.submit(pool.now_ns(), request(tag, Verb::Write, u64::from(tag) * 6 * MIB, 16 * KIB)));
    pool.advance(8_000_000 * US, &mut Vec::new());
    let asked = &pool.members().device(0).asked()[before..];
    let written = sectors(asked.iter().filter(|(verb, _)| *verb == Verb::Write).map(|(_, range)| range.clone()));
    assert_eq!(written.len(), 20 * 32 + 2 * 20 + 3 * 8);
    let record = asked.iter().find(|(verb, range)| *verb == Verb::Write && range.end - range.start >= RECORD);
    let first = record.expect("records are written").1.start;
    let begin = (0..).map(|before| first - before * 4096).find(|sector| !written.contains(&(sector - 4096))).unwrap();
    let behind = (0..).take_while(|sector| written.contains(&(begin + sector * 4096))).count();
    assert_eq!(behind, 20 * 32 + 20 + 8);
}

/// `zil_commit`: what was written since the last time, or since a group was, in one block of whole sectors and up to 128 KiB.
#[test]
fn the_log_has_what_was_written_since() {
    let plan = Plan { tunables: Tunables::v2_1(), ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let mut pool = healthy(&plan);
    pool.advance(1_000_000 * US, &mut Vec::new());
    let mut logged = |writes: &[u64], waits_us: u64| {
        for bytes in writes {
            takes_ns(&mut pool, request(1, Verb::Write, 0, *bytes));
        }
        pool.advance(pool.now_ns() + waits_us * US, &mut Vec::new());
        let before = pool.members().device(0).asked().len();
        takes_ns(&mut pool, request(2, Verb::Flush, 0, 0));
        let asked = &pool.members().device(0).asked()[before..];
        asked.iter().map(|(_, range)| range.end - range.start).collect::<Vec<u64>>()
    };
    assert_eq!(logged(&[16 * KIB; 4], 0), [64 * KIB]);
    assert_eq!(logged(&[], 0), []);
    assert_eq!(logged(&[1000], 0), [4 * KIB]);
    assert_eq!(logged(&[128 * KIB; 3], 0), [128 * KIB]);
    assert_eq!(logged(&[16 * KIB], 11_000_000), [], "a group has it");
}

/// `dsl_dir_tempreserve_impl`: of a pool that is full but for a tenth a 24th of what is left, with a 32nd more, may be dirty.
#[test]
fn who_fills_the_last_of_a_pool_waits_though_there_is_memory() {
    let small = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let content = Content { fill: 0.9, ..small.content };
    let plan = Plan { tunables: Tunables::v2_1(), content, ..small };
    let mut pool = healthy(&plan);
    let shown = plan.geometry.usable_bytes(plan.member_bytes, RECORD, &plan.tunables);
    let may_be_dirty = (shown + shown / 32 - pool.capacity_bytes()) / 24 / RECORD;
    pool.advance(1_000_000 * US, &mut Vec::new());
    let now_ns = pool.now_ns();
    (0..2000).for_each(|tag| pool.submit(now_ns, request(tag, Verb::Write, u64::from(tag) * RECORD, RECORD)));
    let mut done = Vec::new();
    pool.advance(now_ns + 50 * US, &mut done);
    // A group begins with what there is, and as much again is taken meanwhile.
    assert!((may_be_dirty..=2 * may_be_dirty + 1).contains(&(done.len() as u64)), "{} of {may_be_dirty}", done.len());
}

/// A part of a record waits in memory for its group; then all of it is written past that, and the group has nothing left of it.
#[test]
fn what_is_written_past_memory_is_written_once() {
    let plan = plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted);
    let mut pool = healthy(&plan);
    pool.advance(1_000_000 * US, &mut Vec::new());
    takes_ns(&mut pool, request(1, Verb::Write, 5 * RECORD, 16 * KIB));
    takes_ns(&mut pool, request(2, Verb::Write, 5 * RECORD, RECORD));
    pool.advance(8_000_000 * US, &mut Vec::new());
    let writes = pool.members().device(0).writes();
    assert_eq!(writes.iter().filter(|range| range.end - range.start >= RECORD).count(), 1);
}

#[test]
fn what_was_in_memory_is_there_when_a_drive_has_failed() {
    let plan = Plan { tunables: Tunables::v2_1(), ..plan(Geometry::mirror(2, 12).unwrap(), Order::Sorted) };
    let mut before = healthy(&plan);
    before.advance(1_000_000 * US, &mut Vec::new());
    let read = |record: u64| request(1, Verb::Read, record * RECORD, RECORD);
    assert!(takes_ns(&mut before, read(7)) > 100 * US);
    let mut pool = Resilver::after(&before, plan.clone(), members(&plan), before.now_ns()).unwrap();
    assert!(takes_ns(&mut pool, read(7)) < 50 * US);
    assert!(takes_ns(&mut pool, read(8)) > 100 * US);
}
