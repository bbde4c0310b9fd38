//! Rules of md that nothing but the time, or who goes before whom, tells of.

use std::ops::Range;

use crate::plain::{ask, request, Plain};
use array::md::{Array, Options};
use array::Layout;
use drive::faults::{Faulty, LatentSectors, Schedule, Stall};
use drive::{BlockDevice, Status, Verb};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const MS: u64 = 1_000_000;
/// What is kept free at the beginning of members as small as these.
const HEADER: u64 = 2 * MIB;
const SUPERBLOCK: Range<u64> = 4 * KIB..4 * KIB + 512;

fn options(layout: Layout, width: usize, data_mib: u64) -> Options {
    Options::new(layout, width, HEADER + data_mib * MIB).unwrap()
}

fn array(options: Options) -> Array<Plain> {
    let members = vec![Plain::new(options.member_bytes); options.width];
    Array::new(options, members, 0).unwrap()
}

/// How far the time is when a rebuild is looked at does not say how long it took.
#[test]
fn no_time_passes_once_a_rebuild_is_as_far_as_was_asked_for() {
    for layout in [Layout::Raid1, Layout::Raid5] {
        let mut array = array(options(layout, 4, 64));
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        array.recover_to(8 * MIB, u64::MAX);
        let (bytes, at_ns) = (array.recovered_bytes(), array.now_ns());
        array.recover_to(bytes, u64::MAX);
        assert_eq!(array.now_ns(), at_ns, "{layout:?}: it was so far");
        let mut limited = array.clone();
        array.finish_recovery(u64::MAX);
        limited.finish_recovery(3_600_000 * MS);
        assert!(!limited.recovering());
        assert_eq!(limited.now_ns(), array.now_ns(), "{layout:?}: it was over");
    }
}

/// Bits that are not needed any more are looked for five seconds behind the first mark, and again every five seconds while there are any,
/// whatever is marked meanwhile; what has been written to for the last time five seconds before is cleared.
#[test]
fn marks_are_cleared_five_seconds_after_they_were_made_or_at_the_next_look() {
    let mut array = array(Options { bitmap: true, ..options(Layout::Raid1, 2, 256) });
    let begin = array.options().data_offset_bytes();
    let marks = |array: &Array<Plain>| {
        let writes = array.members().device(1).writes();
        writes.iter().filter(|range| (8 * KIB..begin).contains(&range.start)).count()
    };
    let mut cleared_ms = Vec::new();
    let mut pass_to = |array: &mut Array<Plain>, to_ms: u64| {
        while array.now_ns() < to_ms * MS {
            let before = marks(array);
            array.advance(array.now_ns() + MS, &mut Vec::new());
            cleared_ms.extend((before < marks(array)).then_some(array.now_ns() / MS));
        }
    };
    // The regions 0, 1 and 2.
    for (at_ms, region) in [(0, 0), (4000, 1), (12_000, 2)] {
        pass_to(&mut array, at_ms);
        ask(&mut array, Verb::Write, region * 64 * MIB, 4 * KIB);
    }
    pass_to(&mut array, 30_000);
    assert_eq!(cleared_ms.len(), 3, "{cleared_ms:?}");
    for (found, expected) in cleared_ms.into_iter().zip([5000, 10_000, 17_000]) {
        assert!((expected..expected + 10).contains(&found), "{found} ms, not {expected}");
    }
}

#[test]
fn superblocks_are_forced_to_the_medium() {
    for layout in [Layout::Raid1, Layout::Raid5] {
        let mut array = array(options(layout, 4, 64));
        ask(&mut array, Verb::Write, 0, 4 * KIB);
        array.advance(1000 * MS, &mut Vec::new());
        for member in 0..4 {
            let device = array.members().device(member);
            let told = device.writes().iter().filter(|range| **range == SUPERBLOCK).count();
            assert_eq!((told, device.forced()), (2, &[SUPERBLOCK, SUPERBLOCK][..]), "{layout:?}, member {member}");
        }
    }
}

/// The host's request is with no member yet, and something will happen all the same.
#[test]
fn who_waits_for_superblocks_or_the_barrier_is_waited_for() {
    for (layout, recovers) in [(Layout::Raid1, false), (Layout::Raid10, true)] {
        let mut array = array(options(layout, 4, 64));
        if recovers {
            ask(&mut array, Verb::Write, 0, 4 * KIB);
            let used = array.options().used_bytes();
            array.recover(3, 0, used).unwrap();
            array.recover_to(8 * MIB, u64::MAX);
        }
        array.submit(array.now_ns(), request(0, Verb::Write, 0, 4 * KIB));
        array.advance(array.now_ns(), &mut Vec::new());
        let mut done = Vec::new();
        while done.is_empty() {
            array.advance(array.next_event_ns().expect("the write is not answered"), &mut done);
        }
    }
}

fn reads(array: &Array<Plain>, member: usize, range: &Range<u64>) -> bool {
    array.members().device(member).reads().contains(range)
}

/// In raid1 nobody waits at the barrier but who writes where it is up.
#[test]
fn a_read_of_a_raid1_goes_past_the_barrier() {
    let mut array = array(options(Layout::Raid1, 2, 256));
    let used = array.options().used_bytes();
    array.recover(1, 0, used).unwrap();
    array.recover_to(8 * MIB, u64::MAX);
    let (now_ns, begin) = (array.now_ns(), array.options().data_offset_bytes());
    array.submit(now_ns, request(0, Verb::Read, 32 * MIB, 12 * KIB));
    array.advance(now_ns, &mut Vec::new());
    assert!(reads(&array, 0, &(begin + 32 * MIB..begin + 32 * MIB + 12 * KIB)));
}

/// Nor does its recovery, but where somebody writes into the 64 MiB that are to be filled.
#[test]
fn the_recovery_of_a_raid1_waits_for_no_write_elsewhere() {
    for (written_mib, waits) in [(0, false), (127, false), (128, true), (191, true), (192, false)] {
        let mut array = array(options(Layout::Raid1, 2, 256));
        ask(&mut array, Verb::Write, 0, 4 * KIB);
        let (now_ns, used) = (array.now_ns(), array.options().used_bytes());
        array.submit(now_ns, request(0, Verb::Write, written_mib * MIB, 4 * KIB));
        array.recover(1, 128 * MIB, used).unwrap();
        array.advance(now_ns, &mut Vec::new());
        assert_eq!(array.members().device(0).reads().is_empty(), waits, "a write {written_mib} MiB from the front");
    }
}

/// Each barrier is down again when what was filled behind it is: also where one ends and the next begins within what is asked for together.
#[test]
fn behind_a_recovery_no_barrier_is_up() {
    for layout in [Layout::Raid1, Layout::Raid10] {
        let mut array = array(options(layout, 4, 256));
        let used = array.options().used_bytes();
        array.recover(3, 64 * KIB, used).unwrap();
        array.finish_recovery(u64::MAX);
        for offset_bytes in (0..array.capacity_bytes()).step_by(32 << 20) {
            assert_eq!(ask(&mut array, Verb::Write, offset_bytes, 4 * KIB).status, Status::Good, "{layout:?}");
        }
    }
}

/// `raise_barrier`: of 32 blocks of 64 KiB one is yet to come, where raid10 has 512.
#[test]
fn a_recovery_of_copies_has_so_many_blocks_on_their_way() {
    for (layout, width, blocks) in [(Layout::Raid1, 2, 31), (Layout::Raid10, 4, 511)] {
        // In so few requests that a drive has room for all.
        let long = Options {
            chunk_bytes: 8 * MIB,
            max_request_bytes: 8 * MIB,
            max_segments: 65_535,
            ..options(layout, width, 2048)
        };
        let mut array = array(long);
        let used = array.options().used_bytes();
        array.recover(1, 1024 * MIB, used).unwrap();
        array.advance(0, &mut Vec::new());
        let reads = array.members().device(0).reads();
        let asked_kib = reads.iter().map(|range| (range.end - range.start) / KIB).sum::<u64>();
        assert_eq!(asked_kib, blocks * 64, "{layout:?}");
    }
}

/// With parity the array's own thread reads nothing while it writes superblocks, but what has no part in the stripe cache goes past it.
#[test]
fn a_read_of_a_whole_array_waits_for_no_superblocks() {
    for layout in [Layout::Raid5, Layout::Raid6] {
        let mut array = array(options(layout, 4, 64));
        // Another program than the one that waits with its write.
        array.set_programs(vec![1, 2]);
        array.submit(0, request(0, Verb::Write, 0, 4 * KIB));
        array.advance(0, &mut Vec::new());
        let flushes = array.members().device(0).asked().iter().filter(|(verb, _)| *verb == Verb::Flush).count();
        assert_eq!(flushes, 1, "the superblocks are about to be written");
        array.submit(0, request(1, Verb::Read, 0, 12 * KIB));
        array.advance(0, &mut Vec::new());
        let asked = (0..4).any(|member| reads(&array, member, &(HEADER..HEADER + 12 * KIB)));
        assert!(asked, "{layout:?}");
    }
}

/// A quarter of the stripes may be free and yet too few for who comes next. Of 200 the three want 60, 128 and 128.
#[test]
fn who_waits_for_stripes_gets_no_more_than_there_are() {
    let mut array = array(Options { stripe_cache: 200, stripe_cache_most: 200, ..options(Layout::Raid5, 3, 64) });
    ask(&mut array, Verb::Write, 32 * MIB, 4 * KIB);
    array.set_programs(vec![1, 2, 3]);
    let from_ns = array.now_ns();
    for (tag, (offset_bytes, bytes)) in (0..).zip([(0, 240 * KIB), (MIB, 512 * KIB), (2 * MIB, 512 * KIB)]) {
        array.submit(from_ns, request(tag, Verb::Write, offset_bytes, bytes));
    }
    let third = |array: &Array<Plain>| {
        let of_row = HEADER + MIB..HEADER + MIB + 512 * KIB;
        (0..3)
            .any(|member| array.members().device(member).asked().iter().any(|(_, range)| of_row.contains(&range.start)))
    };
    let mut done = Vec::new();
    while !third(&array) {
        array.advance(array.next_event_ns().expect("the third waits"), &mut done);
    }
    assert_eq!(done.iter().map(|one| one.tag).collect::<Vec<_>>(), [0, 1]);
}

/// The thread does not look whether the array could be clean while it writes superblocks, here for longer than safe mode waits.
#[test]
fn safe_mode_waits_until_superblocks_are_written() {
    let stalled = Schedule { from_ns: 50 * MS, for_ns: 2000 * MS, every_ns: None };
    let members = vec![Plain::new(HEADER + 64 * MIB); 2].into_iter();
    let devices = members.map(|device| Stall::around(device, stalled)).collect();
    let mut array = Array::new(options(Layout::Raid1, 2, 64), devices, 0).unwrap();
    ask(&mut array, Verb::Write, 0, 4 * KIB);
    array.advance(49 * MS, &mut Vec::new());
    let used = array.options().used_bytes();
    array.recover(1, used / 2, used).unwrap();
    array.submit(49 * MS, request(0, Verb::Read, 0, 4 * KIB));
    array.advance(60 * MS, &mut Vec::new());
    let mut looks = 0;
    while array.now_ns() < 2000 * MS && looks < 10_000 {
        let event_ns = array.next_event_ns().unwrap_or(2000 * MS).min(2000 * MS);
        array.advance(event_ns, &mut Vec::new());
        looks += 1;
    }
    assert!(looks < 10_000, "nothing happens, again and again");
}

/// Three of 128 stripes, of which there are 200, and one of a single stripe: it waits behind those that wait. All in rows whose data begins on
/// the first member.
#[test]
fn who_waits_for_stripes_is_not_overtaken() {
    let mut array = array(Options { stripe_cache: 200, stripe_cache_most: 200, ..options(Layout::Raid5, 3, 64) });
    ask(&mut array, Verb::Write, 32 * MIB, 4 * KIB);
    let from_ns = array.now_ns();
    (0..3).for_each(|tag| array.submit(from_ns, request(tag, Verb::Write, u64::from(tag) * 3 * MIB, 512 * KIB)));
    let mut done = Vec::new();
    while done.is_empty() {
        array.advance(array.next_event_ns().expect("three wait"), &mut done);
    }
    array.submit(array.now_ns(), request(3, Verb::Write, 15 * MIB, 4 * KIB));
    while done.len() < 4 {
        array.advance(array.next_event_ns().expect("some wait"), &mut done);
    }
    let begun = |row: u64| {
        let asked = array.members().device(0).asked();
        asked.iter().position(|(_, range)| {
            range.start >= HEADER + row * 512 * KIB && range.start < HEADER + (row + 1) * 512 * KIB
        })
    };
    assert!(begun(6) < begun(15), "{:?}", [0, 3, 6, 15].map(begun));
}

/// Two writes side by side in a row, in different chunks: neither touches the other's member.
#[test]
fn writes_that_only_touch_are_no_concern_of_each_other() {
    for swapped in [false, true] {
        let mut array = array(options(Layout::Raid5, 3, 64));
        ask(&mut array, Verb::Write, 32 * MIB, 4 * KIB);
        let at = |page: u64, tag: u32| request(tag, Verb::Write, u64::from(tag) * 512 * KIB + page * 4 * KIB, 4 * KIB);
        let now_ns = array.now_ns();
        let pages = if swapped { [1, 0] } else { [0, 1] };
        array.submit(now_ns, at(pages[0], 0));
        array.submit(now_ns, at(pages[1], 1));
        array.advance(now_ns + 1000 * MS, &mut Vec::new());
        // Row 0 is `0 1 P`.
        let written = |member: usize| {
            let writes = array.members().device(member).writes();
            writes
                .iter()
                .filter(|range| (HEADER..HEADER + MIB).contains(&range.start))
                .map(|r| (r.end - r.start) / 4096)
                .sum::<u64>()
        };
        assert_eq!([0, 1, 2].map(written), [1, 1, 2]);
    }
}

/// Of these pages of one member, counted from where data begins, none can be read.
fn with_bad_pages(options: &Options, member: usize, pages: &[u64]) -> Array<Faulty<Plain, LatentSectors>> {
    let sector = |page: u64| (options.data_offset_bytes() + page * 4 * KIB) / 512;
    let devices = (0..options.width).map(|at| {
        let bad: Vec<Range<u64>> = pages.iter().map(|page| sector(*page)..sector(*page) + 8).collect();
        LatentSectors::around(Plain::new(options.member_bytes), bad.into_iter().filter(|_| at == member), 0, MS)
    });
    Array::new(options.clone(), devices.collect(), 0).unwrap()
}

/// The pages of each member that were read and are no superblocks, in order.
fn pages_read(array: &Array<Faulty<Plain, LatentSectors>>) -> Vec<Vec<u64>> {
    let begin = array.options().data_offset_bytes();
    let of = |member: usize| {
        let reads = array.members().device(member).inner().reads();
        let reads = reads.into_iter().filter(|range| range.start >= begin);
        let mut pages: Vec<u64> = reads.flat_map(|r| (r.start - begin) / 4096..(r.end - begin) / 4096).collect();
        pages.sort_unstable();
        pages
    };
    (0..array.options().width).map(of).collect()
}

/// Row 0 of four members is `0 1 2 P`.
#[test]
fn each_page_that_cannot_be_read_is_made_of_all_others_and_what_is_behind_is_read_on() {
    for (bad, bytes) in [(vec![0], 8 * KIB), (vec![1], 12 * KIB), (vec![0, 2], 16 * KIB), (vec![0, 1], 8 * KIB)] {
        for (layout, width) in [(Layout::Raid5, 4), (Layout::Raid1, 2)] {
            let mut array = with_bad_pages(&options(layout, width, 64), 0, &bad);
            assert_eq!(ask(&mut array, Verb::Read, 0, bytes).status, Status::Good);
            let read = pages_read(&array);
            let missing = (0..bytes / 4096).filter(|page| !bad.contains(page)).find(|page| !read[0].contains(page));
            assert_eq!(missing, None, "{layout:?} {bad:?}: {read:?}");
            assert!(read[1..].iter().all(|pages| *pages == bad), "{layout:?} {bad:?}: {read:?}");
        }
    }
}

/// Two of three chunks are overwritten, and the third, of which parity would be made, cannot be read: it is made of all that was there.
#[test]
fn what_is_about_to_be_overwritten_is_read_where_it_is_needed() {
    let mut array = with_bad_pages(&options(Layout::Raid5, 4, 64), 2, &[0]);
    for tag in 0..2 {
        array.submit(0, request(tag, Verb::Write, u64::from(tag) * 512 * KIB, 4 * KIB));
    }
    array.advance(1000 * MS, &mut Vec::new());
    let read = pages_read(&array);
    assert!([0, 1, 3].into_iter().all(|member| read[member] == [0]), "{read:?}");
}
