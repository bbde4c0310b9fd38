//! What a storage box adds to what is in it, by hand-worked times.

use crate::plain::{covered_once, Plain};
use array::nas::{Options, StorageBox};
use drive::{BlockDevice, Completion, Request, Status, Verb};
use proptest::prelude::*;

const CAPACITY_BYTES: u64 = 64 << 20;
/// What the plain device takes for 4 KiB.
const SERVICE_NS: u64 = 120_000;

fn storage_box(options: Options) -> StorageBox<Plain> {
    StorageBox::new(options, Plain::new(CAPACITY_BYTES), 0).expect("the options are sound")
}

fn request(tag: u32, verb: Verb, offset_bytes: u64, bytes: u64) -> Request {
    Request { tag, verb, fua: false, offset_bytes, bytes }
}

/// Lets everything end and returns it.
fn finish(device: &mut impl BlockDevice) -> Vec<Completion> {
    let mut all = Vec::new();
    while let Some(at_ns) = device.next_event_ns() {
        device.advance(at_ns, &mut all);
    }
    all
}

/// One request alone: how long it took.
fn takes_ns(device: &mut impl BlockDevice, now_ns: u64, request: Request) -> u64 {
    device.advance(now_ns, &mut Vec::new());
    device.submit(now_ns, request);
    let done = finish(device);
    assert_eq!(done.iter().map(|one| (one.tag, one.status)).collect::<Vec<_>>(), [(request.tag, Status::Good)]);
    done[0].completed_ns - now_ns
}

#[test]
fn without_options_a_box_adds_nothing() {
    let mut device = storage_box(Options::default());
    assert_eq!(takes_ns(&mut device, 0, request(1, Verb::Read, 0, 4096)), SERVICE_NS);
    assert_eq!(takes_ns(&mut device, 10_000_000, request(2, Verb::Write, 0, 4096)), SERVICE_NS);
}

#[test]
fn the_round_trip_is_added_to_each_request_and_holds_none_up() {
    let mut device = storage_box(Options { round_trip_ns: 301, ..Options::default() });
    assert_eq!(takes_ns(&mut device, 0, request(1, Verb::Read, 0, 4096)), SERVICE_NS + 301);
    for tag in 0..3 {
        device.submit(10_000_000, request(tag, Verb::Read, 0, 4096));
    }
    let last_ns = finish(&mut device).last().expect("three were asked").completed_ns;
    assert_eq!(last_ns, 10_000_000 + 3 * SERVICE_NS + 301);
}

#[test]
fn reads_share_the_link_to_the_host_and_writes_the_one_from_it() {
    let options = Options { link_bytes_per_s: Some(4096 * 1000), read_cache_bytes: 1 << 20, ..Options::default() };
    let mut device = storage_box(options);
    takes_ns(&mut device, 0, request(1, Verb::Read, 0, 4096));
    for tag in 0..10 {
        device.submit(1_000_000_000, request(tag, Verb::Read, 0, 4096));
    }
    device.submit(1_000_000_000, request(10, Verb::Write, 8192, 4096));
    let done = finish(&mut device);
    let of = |tag: u32| done.iter().find(|one| one.tag == tag).expect("it was asked").completed_ns - 1_000_000_000;
    assert_eq!(of(9), 10_000_000, "ten pages at a thousand a second");
    assert_eq!(of(10), 10_000_000, "its answer waits behind what is on the link: no bytes, but in its order");
}

/// A read of a page is 2 ms in the box and 1 ms on the link; a write 1 ms on the link and half of one in the box.
fn with_ceilings() -> Options {
    Options {
        link_bytes_per_s: Some(4096 * 1000),
        read_ceiling_bytes_per_s: Some(4096 * 500),
        write_ceiling_bytes_per_s: Some(4096 * 2000),
        read_cache_bytes: 8192,
        write_cache_bytes: 1 << 20,
        ..Options::default()
    }
}

#[test]
fn a_request_alone_has_the_box_and_the_link_one_after_the_other() {
    let mut device = storage_box(with_ceilings());
    takes_ns(&mut device, 0, request(1, Verb::Read, 0, 4096));
    assert_eq!(takes_ns(&mut device, 1_000_000_000, request(2, Verb::Read, 0, 4096)), 3_000_000);
    assert_eq!(takes_ns(&mut device, 2_000_000_000, request(3, Verb::Write, 8192, 4096)), 1_500_000);
}

#[test]
fn of_many_requests_the_slower_of_box_and_link_sets_the_rate_of_each_direction() {
    let mut device = storage_box(with_ceilings());
    takes_ns(&mut device, 0, request(1, Verb::Read, 0, 4096));
    for tag in 0..10 {
        device.submit(1_000_000_000, request(tag, Verb::Read, 0, 4096));
    }
    assert_eq!(finish(&mut device).last().expect("ten were asked").completed_ns, 1_021_000_000);
    for tag in 0..10 {
        device.submit(2_000_000_000, request(tag, Verb::Write, 8192, 4096));
    }
    assert_eq!(finish(&mut device).last().expect("ten were asked").completed_ns, 2_010_500_000);
}

#[test]
fn what_was_read_is_read_from_memory_until_newer_pages_have_pushed_it_out() {
    let mut device = storage_box(Options { read_cache_bytes: 8192, ..Options::default() });
    assert_eq!(takes_ns(&mut device, 0, request(1, Verb::Read, 0, 4096)), SERVICE_NS);
    assert_eq!(takes_ns(&mut device, 1_000_000, request(2, Verb::Read, 0, 4096)), 0);
    takes_ns(&mut device, 2_000_000, request(3, Verb::Read, 16384, 8192));
    assert_eq!(takes_ns(&mut device, 3_000_000, request(4, Verb::Read, 0, 4096)), SERVICE_NS);
}

#[test]
fn who_reads_in_sequence_finds_the_next_pages_in_memory_or_on_their_way() {
    let options = Options { read_cache_bytes: 1 << 20, read_ahead_bytes: 128 << 10, ..Options::default() };
    let mut device = storage_box(options);
    device.submit(0, request(0, Verb::Read, 0, 4096));
    device.submit(0, request(1, Verb::Read, 4096, 4096));
    let at_ns: Vec<u64> = finish(&mut device).iter().map(|one| one.completed_ns).collect();
    assert_eq!(at_ns, [SERVICE_NS, SERVICE_NS + 160_000], "three pages ahead of the first, which the second waits for");
    assert_eq!(device.inner().reads(), [0..4096, 4096..16384, 16384..49152]);
    assert_eq!(takes_ns(&mut device, 1_000_000_000, request(2, Verb::Read, 8192, 40960)), 0);
}

#[test]
fn nothing_is_read_ahead_of_who_reads_here_and_there_nor_past_the_end() {
    let options = Options { read_cache_bytes: 1 << 20, read_ahead_bytes: 128 << 10, ..Options::default() };
    let mut device = storage_box(options);
    takes_ns(&mut device, 0, request(0, Verb::Read, 1 << 20, 4096));
    takes_ns(&mut device, 1_000_000, request(1, Verb::Read, 2 << 20, 4096));
    takes_ns(&mut device, 2_000_000, request(2, Verb::Read, CAPACITY_BYTES - 8192, 4096));
    takes_ns(&mut device, 3_000_000, request(3, Verb::Read, CAPACITY_BYTES - 4096, 4096));
    assert_eq!(device.inner().reads().len(), 4);
}

#[test]
fn pages_wait_until_they_are_old_unless_somebody_flushes() {
    let second_ns = 1_000_000_000;
    let options = Options { write_cache_bytes: 1 << 20, dirty_expire_ns: 30 * second_ns, ..Options::default() };
    let mut device = storage_box(options);
    device.advance(2 * second_ns, &mut Vec::new());
    device.submit(2 * second_ns, request(0, Verb::Write, 8192, 4096));
    device.advance(33 * second_ns, &mut Vec::new());
    device.submit(33 * second_ns, request(1, Verb::Write, 0, 4096));
    device.advance(35 * second_ns - 1, &mut Vec::new());
    assert!(device.inner().writes().is_empty());
    device.advance(35 * second_ns, &mut Vec::new());
    assert_eq!(device.inner().writes(), [0..4096, 8192..12288], "the young one goes with the old one");
    device.submit(36 * second_ns, request(2, Verb::Write, 16384, 4096));
    assert_eq!(takes_ns(&mut device, 37 * second_ns, request(3, Verb::Flush, 0, 0)), SERVICE_NS + 100_000);
}

#[test]
fn pages_do_not_wait_once_half_of_the_room_is_full_of_them() {
    let options = Options { write_cache_bytes: 16384, dirty_expire_ns: 30_000_000_000, ..Options::default() };
    let mut device = storage_box(options);
    for tag in 0..2 {
        device.submit(0, request(tag, Verb::Write, u64::from(tag) * 8192, 4096));
    }
    device.advance(1_000_000, &mut Vec::new());
    assert!(device.inner().writes().is_empty());
    device.submit(1_000_000, request(2, Verb::Write, 32768, 4096));
    device.advance(2_000_000, &mut Vec::new());
    assert_eq!(device.inner().writes().len(), 1, "down to half again");
}

#[test]
fn writes_are_acknowledged_from_memory_until_it_is_full() {
    let mut device = storage_box(Options { write_cache_bytes: 16384, ..Options::default() });
    for tag in 0..5 {
        device.submit(0, request(tag, Verb::Write, u64::from(tag) * 1_000_000 / 4096 * 4096, 4096));
    }
    let done = finish(&mut device);
    let at_ns: Vec<u64> = done.iter().map(|one| one.completed_ns).collect();
    assert_eq!(at_ns, [0, 0, 0, 0, SERVICE_NS], "the fifth waits until the first is on the drive");
    assert_eq!(device.inner().writes().len(), 5, "and all of them get there");
}

#[test]
fn a_flush_waits_for_what_was_written_before_it_unless_a_battery_keeps_that() {
    for (battery, expected_ns) in [(false, SERVICE_NS + 100_000), (true, 0)] {
        let mut device = storage_box(Options { write_cache_bytes: 1 << 20, battery, ..Options::default() });
        device.submit(0, request(1, Verb::Write, 0, 4096));
        device.submit(0, request(2, Verb::Flush, 0, 0));
        let done = finish(&mut device);
        assert_eq!(done.iter().map(|one| one.completed_ns).collect::<Vec<_>>(), [0, expected_ns]);
    }
}

#[test]
fn a_durable_write_goes_past_a_cache_without_a_battery() {
    for (battery, expected_ns) in [(false, SERVICE_NS), (true, 0)] {
        let mut device = storage_box(Options { write_cache_bytes: 1 << 20, battery, ..Options::default() });
        let durable = Request { fua: true, ..request(1, Verb::Write, 0, 4096) };
        assert_eq!(takes_ns(&mut device, 0, durable), expected_ns);
    }
}

/// What is written past the cache is newer than what the cache holds of the same place, and so the last that the drives get.
#[test]
fn nothing_older_comes_to_the_drives_behind_a_durable_write() {
    let mut device = storage_box(Options { write_cache_bytes: 1 << 20, ..Options::default() });
    // So many that the last of them have not left when the durable one comes.
    for tag in 0..40 {
        device.submit(0, request(tag, Verb::Write, u64::from(tag) * 16384, 4096));
    }
    device.submit(0, Request { fua: true, ..request(40, Verb::Write, 39 * 16384, 8192) });
    assert_eq!(finish(&mut device).len(), 41);
    let writes = device.inner().writes();
    let there = writes.iter().rev().find(|range| range.contains(&(39 * 16384)));
    assert_eq!(there, Some(&(39 * 16384..39 * 16384 + 8192)));
    assert_eq!(writes.len(), 40, "the older one never left");
}

#[test]
fn small_writes_beside_each_other_leave_as_large_ones() {
    let mut device = storage_box(Options { write_cache_bytes: 8 << 20, ..Options::default() });
    for tag in 0..1024 {
        device.submit(0, request(tag, Verb::Write, u64::from(tag) * 4096, 4096));
    }
    assert!(finish(&mut device).iter().all(|one| one.completed_ns == 0));
    assert!(device.inner().writes().len() < 100, "{} writes", device.inner().writes().len());
    covered_once(&device.inner().writes(), 0..4 << 20);
}

#[test]
fn the_box_works_on_so_many_requests_at_once() {
    let mut device = storage_box(Options { outstanding: 2, round_trip_ns: 1000, ..Options::default() });
    for tag in 0..4 {
        device.submit(0, request(tag, Verb::Read, u64::from(tag) * 4096, 4096));
    }
    let mut all = Vec::new();
    device.advance(500, &mut all);
    assert_eq!(device.inner().reads().len(), 2);
    assert_eq!(finish(&mut device).len(), 4);
}

#[test]
fn nonsense_is_refused() {
    for options in [
        Options { link_bytes_per_s: Some(0), ..Options::default() },
        Options { read_ceiling_bytes_per_s: Some(0), ..Options::default() },
        Options { write_ceiling_bytes_per_s: Some(0), ..Options::default() },
        Options { outstanding: 0, ..Options::default() },
        Options { round_trip_ns: 60_000_000_001, ..Options::default() },
        Options { battery: true, ..Options::default() },
        Options { dirty_expire_ns: 1, ..Options::default() },
        Options { read_ahead_bytes: 8192, ..Options::default() },
        Options { read_ahead_bytes: 8192, read_cache_bytes: 4096, ..Options::default() },
        Options { read_cache_bytes: 4095, ..Options::default() },
        Options { write_cache_bytes: 1 << 50, ..Options::default() },
    ] {
        assert!(StorageBox::new(options, Plain::new(CAPACITY_BYTES), 0).is_err(), "{options:?}");
    }
    let mut device = storage_box(Options::default());
    device.submit(0, request(1, Verb::Read, CAPACITY_BYTES, 4096));
    assert_eq!(finish(&mut device)[0].status, Status::OutOfRange);
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![4 => Just(Verb::Read), 4 => Just(Verb::Write), 1 => Just(Verb::Flush), 1 => Just(Verb::Trim)]
}

#[test]
fn a_flush_ends_although_all_it_waits_for_is_trimmed() {
    let mut device = storage_box(Options { write_cache_bytes: 64 << 10, ..Options::default() });
    device.submit(0, request(0, Verb::Write, 4096, 8192));
    device.submit(0, request(1, Verb::Flush, 0, 0));
    device.submit(0, request(2, Verb::Trim, 0, 64 << 10));
    let mut tags: Vec<u32> = finish(&mut device).iter().map(|one| one.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [0, 1, 2]);
}

proptest! {
    /// Every request is answered once, time never runs backwards, and what was written and flushed is on the drives.
    #[test]
    fn nothing_is_lost_in_a_box(
        asked in prop::collection::vec((verb(), 0u64..200, 1u64..40, 0u64..400_000, any::<bool>()), 1..120),
        write_pages in 0u64..64, read_pages in 0u64..64, outstanding in 1u32..8, link in prop::option::of(1u64<<20..1<<30),
        read_ceiling in prop::option::of(1u64<<20..1<<30), ahead in 0u64..32, waits in any::<bool>(),
    ) {
        let mut device = storage_box(Options {
            link_bytes_per_s: link, read_ceiling_bytes_per_s: read_ceiling, write_ceiling_bytes_per_s: None, round_trip_ns: 7001, outstanding, battery: false,
            read_cache_bytes: read_pages * 4096, read_ahead_bytes: ahead.min(read_pages) * 4096,
            write_cache_bytes: write_pages * 4096, dirty_expire_ns: u64::from(waits && write_pages > 0) * 30_000_000_000,
        });
        let (mut now_ns, mut done) = (0, Vec::new());
        for (tag, (verb, page, pages, pause_ns, fua)) in asked.iter().enumerate() {
            now_ns += pause_ns;
            device.advance(now_ns, &mut done);
            let is_flush = *verb == Verb::Flush;
            let (offset_bytes, bytes) = if is_flush { (0, 0) } else { (page * 4096, pages * 4096) };
            device.submit(now_ns, Request { tag: tag as u32, verb: *verb, fua: *fua, offset_bytes, bytes });
        }
        done.extend(finish(&mut device));
        prop_assert!(done.windows(2).all(|two| two[0].completed_ns <= two[1].completed_ns));
        let mut tags: Vec<u32> = done.iter().map(|one| one.tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..asked.len() as u32).collect::<Vec<_>>());
        let trimmed = asked.iter().any(|(verb, ..)| *verb == Verb::Trim);
        let writes = device.inner().writes();
        for (_, page, pages, ..) in asked.iter().filter(|(verb, ..)| *verb == Verb::Write && !trimmed) {
            for at in (page * 4096..(page + pages) * 4096).step_by(4096) {
                prop_assert!(writes.iter().any(|range| range.contains(&at)), "{at} was never written");
            }
        }
    }
}
