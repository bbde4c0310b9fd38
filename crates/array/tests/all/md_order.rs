//! In which order members of an md array hear of things, and what hangs on that: superblocks, bitmap, flushes, the stripe cache.

use std::ops::Range;

use crate::plain::{ask, covered_once, request, Plain};
use array::md::{Array, Options};
use array::{Ended, Layout};
use drive::faults::{Faulty, LatentSectors, Schedule, Stall};
use drive::{BlockDevice, Request, Status, Verb};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Where data begins on members as small as these, but for a raid1's: two chunks are kept free, and what lies before them.
const HEADER: u64 = 2 * MIB;
const SUPERBLOCK: Range<u64> = 4 * KIB..4 * KIB + 512;
const CHUNK: u64 = 512 * KIB;
const MS: u64 = 1_000_000;

fn options(layout: Layout, width: usize) -> Options {
    Options::new(layout, width, HEADER + 64 * MIB).unwrap()
}

fn plain_members(options: &Options) -> Vec<Plain> {
    vec![Plain::new(options.member_bytes); options.width]
}

fn array(options: Options) -> Array<Plain> {
    let members = plain_members(&options);
    Array::new(options, members, 0).unwrap()
}

/// A superblock that says how far a recovery is must not be there before what it tells of.
#[test]
fn what_was_written_before_a_superblock_is_flushed_before_it() {
    for layout in [Layout::Raid1, Layout::Raid10, Layout::Raid5, Layout::Raid6] {
        let mut array = array(options(layout, 4));
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        let asked = array.members().device(3).asked();
        let told: Vec<usize> = (0..asked.len()).filter(|at| asked[*at] == (Verb::Write, SUPERBLOCK)).collect();
        assert!(told.len() >= 14, "{layout:?}: {told:?}");
        for at in told {
            assert_eq!(asked[at - 1].0, Verb::Flush, "{layout:?}: request {at}");
        }
    }
}

#[test]
fn a_flush_of_the_host_reaches_every_member() {
    for layout in [Layout::Raid0, Layout::Raid1, Layout::Raid5] {
        let mut array = array(options(layout, 4));
        ask(&mut array, Verb::Flush, 0, 0);
        for member in 0..4 {
            let flushes = array.members().device(member).asked().iter().filter(|(verb, _)| *verb == Verb::Flush);
            assert_eq!(flushes.count(), 1, "{layout:?}, member {member}");
        }
    }
}

/// A member stalls over a write for longer than safe mode waits after the one before.
#[test]
fn an_array_is_not_told_to_be_clean_while_somebody_writes() {
    let stalled = Schedule { from_ns: 12 * MS, for_ns: 2000 * MS, every_ns: None };
    let never = Schedule { from_ns: u64::MAX / 2, for_ns: 1, every_ns: None };
    let devices = plain_members(&options(Layout::Raid1, 2)).into_iter().zip([never, stalled]);
    let devices = devices.map(|(device, schedule)| Stall::around(device, schedule));
    let mut array = Array::new(options(Layout::Raid1, 2), devices.collect(), 0).unwrap();
    let told = |array: &Array<Faulty<Plain, Stall>>| {
        array.members().device(0).inner().writes().iter().filter(|range| **range == SUPERBLOCK).count()
    };
    ask(&mut array, Verb::Write, 0, 4 * KIB);
    array.submit(13 * MS, request(1, Verb::Write, MIB, 4 * KIB));
    // They are told by a flush and a write each, which only the stalled member delays.
    array.advance(2000 * MS, &mut Vec::new());
    let flushes = array.members().device(0).inner().asked().iter().filter(|(verb, _)| *verb == Verb::Flush).count();
    assert_eq!((flushes, told(&array)), (1, 1), "it was told that it is not clean, and is not");
    array.advance(4000 * MS, &mut Vec::new());
    assert_eq!(told(&array), 2, "now it is");
}

/// Who trims changes data, too (`md_write_start`). Without redundancy there is nothing to be told.
#[test]
fn an_array_is_told_that_it_is_not_clean_before_a_write_or_a_trim() {
    let layouts = [Layout::Raid0, Layout::Raid1, Layout::Raid10, Layout::Raid5, Layout::Raid6];
    for (verb, changes) in [(Verb::Read, false), (Verb::Write, true), (Verb::Trim, true)] {
        for layout in layouts {
            let mut array = array(options(layout, 4));
            ask(&mut array, verb, 0, 64 * KIB);
            let expected = usize::from(changes && layout != Layout::Raid0);
            for member in 0..4 {
                let writes = array.members().device(member).writes();
                let told = writes.iter().filter(|range| **range == SUPERBLOCK).count();
                assert_eq!(told, expected, "{layout:?}, {verb:?}, member {member}");
            }
        }
    }
}

/// Bits stand for 64 MiB, are set before data is written and cleared some seconds after the last of it.
#[test]
fn a_region_is_marked_before_it_is_written_and_as_long_as_it_is() {
    for (layout, width) in [(Layout::Raid1, 2), (Layout::Raid5, 3)] {
        marks_of_regions(layout, width);
    }
}

fn marks_of_regions(layout: Layout, width: usize) {
    let bitmap = Options { bitmap: true, ..Options::new(layout, width, HEADER + 256 * MIB).unwrap() };
    let data_members = if layout == Layout::Raid1 { 1 } else { width as u64 - 1 };
    let begin = bitmap.data_offset_bytes();
    let mut array = array(bitmap);
    let marks = |array: &Array<Plain>| {
        let writes = array.members().device(1).writes();
        writes.iter().filter(|range| (8 * KIB..begin).contains(&range.start)).count()
    };
    for (offset_bytes, marked) in [(0, 1), (64 * MIB - 4 * KIB, 1), (64 * MIB, 2), (192 * MIB, 3)] {
        ask(&mut array, Verb::Write, data_members * offset_bytes, 4 * KIB);
        assert_eq!(marks(&array), marked, "{layout:?}: behind a write at {offset_bytes} of a member");
        let asked = array.members().device(0).asked();
        assert!(asked.last().is_some_and(|(_, range)| range.start >= begin), "data comes last");
    }
    // Somebody writes again before the time is over, in one of the three.
    for s in 1..10 {
        array.advance(3000 * MS * s, &mut Vec::new());
        ask(&mut array, Verb::Write, 0, 4 * KIB);
    }
    assert_eq!(marks(&array), 4, "the others were cleared, in one page");
    array.advance(60_000 * MS, &mut Vec::new());
    assert_eq!(marks(&array), 5);
}

/// Writes of different rows take a stripe each, and wait where there is none.
#[test]
fn the_host_has_no_more_under_way_than_there_are_stripes() {
    let options = Options { stripe_cache: 17, stripe_cache_most: 17, ..options(Layout::Raid5, 3) };
    let mut array = array(options);
    ask(&mut array, Verb::Write, 60 * MIB, 4 * KIB);
    let from_ns = array.now_ns();
    (0..60).for_each(|row| array.submit(from_ns, request(row, Verb::Write, u64::from(row) * 2 * CHUNK, 4 * KIB)));
    let (mut most, mut done) = (0, Vec::new());
    while done.len() < 60 {
        let event_ns = array.next_event_ns().expect("some are not answered");
        array.advance(event_ns, &mut done);
        // Each reads one page to make parity anew, and writes two.
        most = most.max((0..3).map(|member| array.members().in_flight(member)).sum::<usize>());
    }
    assert!((17..=34).contains(&most), "{most}");
}

/// `raid5_get_active_stripe` sleeps: a program that waits for a stripe sees none of its answers, and then one after the other.
#[test]
fn who_waits_for_a_stripe_does_not_look() {
    let options = Options { stripe_cache: 17, stripe_cache_most: 17, ..options(Layout::Raid5, 3) };
    let answered = |ends: Vec<u32>| {
        let mut array = array(options.clone());
        array.set_programs(ends);
        ask(&mut array, Verb::Write, 60 * MIB, 4 * KIB);
        let from_ns = array.now_ns();
        (0..18).for_each(|row| array.submit(from_ns, request(row, Verb::Write, u64::from(row) * 2 * CHUNK, 4 * KIB)));
        let mut done = Vec::new();
        array.advance(from_ns + 1000 * MS, &mut done);
        assert_eq!(done.len(), 18);
        done.iter().map(|one| one.completed_ns - from_ns).collect::<Vec<_>>()
    };
    let (apart, together) = (answered((1..=18).collect()), answered(vec![]));
    assert_eq!(together[0], apart[5], "six have to be done before a quarter is free");
    assert!(together[..6].is_sorted_by(|one, next| one < next), "it looks at one at a time: {together:?}");
}

/// Who found no stripe waits until a quarter is free: until no more than 11 of 17 are in use.
#[test]
fn nobody_gets_a_stripe_before_a_quarter_is_free() {
    let options = Options { stripe_cache: 17, stripe_cache_most: 17, ..options(Layout::Raid5, 3) };
    let mut array = array(options);
    // Each is another program's, which does not keep the others from looking.
    array.set_programs((1..=18).collect());
    ask(&mut array, Verb::Write, 60 * MIB, 4 * KIB);
    let reads = |array: &Array<Plain>| (0..3).map(|member| array.members().device(member).reads().len()).sum::<usize>();
    let (from_ns, before) = (array.now_ns(), reads(&array));
    (0..18).for_each(|row| array.submit(from_ns, request(row, Verb::Write, u64::from(row) * 2 * CHUNK, 4 * KIB)));
    let mut done = Vec::new();
    while reads(&array) < before + 18 {
        let event_ns = array.next_event_ns().expect("some are not answered");
        assert!(done.len() < 18);
        array.advance(event_ns, &mut done);
    }
    assert!((6..9).contains(&done.len()), "{} were done when the last began", done.len());
}

/// Two pages of what one request of the recovery reads cannot be read: what is behind the first is read all the same.
#[test]
fn what_lies_behind_an_unreadable_page_is_read_on() {
    let run = |layout, reader: usize| {
        let at = |offset: u64| (HEADER + 10 * MIB + offset) / 512;
        let bad = [at(0)..at(4 * KIB), at(64 * KIB)..at(64 * KIB) + 1];
        let devices = plain_members(&options(layout, 4)).into_iter().enumerate();
        let devices = devices.map(|(member, device)| {
            LatentSectors::around(device, bad.iter().filter(|_| member == reader).cloned(), 0, MS)
        });
        let mut array = Array::new(options(layout, 4), devices.collect(), 0).unwrap();
        let used = array.options().used_bytes();
        array.recover(0, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        let mut anew = array.members().device(reader).inner().writes();
        anew.retain(|range| range.start >= HEADER);
        (array.outcome().unwrap().ended, anew)
    };
    assert_eq!(run(Layout::Raid5, 2), (Ended::WithLosses { lost_bytes: 2 * 4096 }, vec![]));
    // Here the request is made of blocks, of which two lose a page each.
    assert_eq!(run(Layout::Raid10, 1), (Ended::WithLosses { lost_bytes: 2 * 4096 }, vec![]));
    let page = |offset: u64| HEADER + 10 * MIB + offset..HEADER + 10 * MIB + offset + 4 * KIB;
    assert_eq!(run(Layout::Raid6, 2), (Ended::Complete, vec![page(0), page(64 * KIB)]));
}

/// An array whose members cannot read a certain page, those that are named.
fn with_a_bad_page(layout: Layout, width: usize, bad: &[usize]) -> Array<Faulty<Plain, LatentSectors>> {
    let options = options(layout, width);
    let first = options.data_offset_bytes() / 512;
    let devices = plain_members(&options).into_iter().enumerate();
    let sectors = |member: usize| bad.contains(&member).then_some(first..first + 8);
    let devices = devices.map(|(member, device)| LatentSectors::around(device, sectors(member), 0, MS));
    Array::new(options, devices.collect(), 0).unwrap()
}

#[test]
fn what_no_member_can_read_is_not_answered_as_good() {
    for (bad, expected) in [(&[0][..], Status::Good), (&[0, 1], Status::Aborted)] {
        let mut array = with_a_bad_page(Layout::Raid1, 2, bad);
        assert_eq!(ask(&mut array, Verb::Read, 0, 16 * KIB).status, expected, "{bad:?}");
    }
}

/// As many members as there is redundancy for may lack the same page, the lost one among them.
#[test]
fn a_page_is_lost_that_too_many_cannot_read() {
    for (layout, width, bad, ended) in [
        (Layout::Raid1, 3, &[0][..], Ended::Complete),
        (Layout::Raid1, 3, &[0, 1], Ended::WithLosses { lost_bytes: 4096 }),
        (Layout::Raid6, 5, &[1], Ended::Complete),
        (Layout::Raid6, 5, &[1, 3], Ended::WithLosses { lost_bytes: 4096 }),
    ] {
        let mut array = with_a_bad_page(layout, width, bad);
        let used = array.options().used_bytes();
        array.recover(2, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        assert_eq!(array.outcome().unwrap().ended, ended, "{layout:?} {bad:?}");
    }
}

/// The array fails while some wait for superblocks, for a barrier and for stripes: nobody waits for ever.
#[test]
fn everybody_is_answered_when_the_array_fails() {
    for layout in [Layout::Raid1, Layout::Raid10, Layout::Raid5] {
        for after_ns in [0, 50_000, 300_000, 2 * MS] {
            let mut array = array(Options { stripe_cache: 17, stripe_cache_most: 17, ..options(layout, 4) });
            let used = array.options().used_bytes();
            array.recover(3, 0, used).unwrap();
            array.advance(MS, &mut Vec::new());
            for tag in 0..50 {
                let verb = [Verb::Write, Verb::Read, Verb::Flush][tag as usize % 3];
                let (offset_bytes, bytes) =
                    if verb == Verb::Flush { (0, 0) } else { (u64::from(tag) * CHUNK, 8 * KIB) };
                array.submit(MS, request(tag, verb, offset_bytes, bytes));
            }
            let mut done = Vec::new();
            array.advance(MS + after_ns, &mut done);
            let before = done.len();
            (0..3).for_each(|member| array.lose(member));
            assert!(array.has_failed());
            array.advance(1000 * MS, &mut done);
            assert!(done[before..].iter().all(|one| one.status == Status::Gone), "{layout:?}: {done:?}");
            let mut tags: Vec<u32> = done.iter().map(|one| one.tag).collect();
            tags.sort_unstable();
            assert_eq!(tags, (0..50).collect::<Vec<_>>(), "{layout:?}, {after_ns} ns");
        }
    }
}

/// `handle_stripe_dirtying` by hand: of three members a whole page needs one other to be read, and half a page two.
#[test]
fn half_a_page_is_not_overwritten() {
    for (bytes, reads) in [(4 * KIB, 1), (2 * KIB, 2), (6 * KIB, 3)] {
        let mut array = array(options(Layout::Raid5, 3));
        ask(&mut array, Verb::Write, 0, bytes);
        let pages =
            |member: usize| array.members().device(member).reads().iter().map(|r| (r.end - r.start) / 4096).sum();
        assert_eq!((0..3).map(pages).collect::<Vec<u64>>().iter().sum::<u64>(), reads, "{bytes} bytes");
    }
}

#[test]
fn the_last_sector_is_the_last() {
    for layout in [Layout::Raid0, Layout::Raid1, Layout::Raid10, Layout::Raid5, Layout::Raid6] {
        let mut array = array(options(layout, 4));
        let capacity = array.capacity_bytes();
        for verb in [Verb::Read, Verb::Write] {
            assert_eq!(ask(&mut array, verb, capacity - 512, 512).status, Status::Good, "{layout:?}");
            assert_eq!(ask(&mut array, verb, capacity - 512, 1024).status, Status::OutOfRange, "{layout:?}");
        }
    }
}

/// The speed is one of half a minute: after a stall the rebuild makes up for it, and no more than that.
#[test]
fn the_greatest_speed_is_an_average_over_half_a_minute() {
    let speed = 2 * MIB;
    let limited =
        Options { speed_max_bytes_per_s: speed, ..Options::new(Layout::Raid5, 3, HEADER + 512 * MIB).unwrap() };
    let stalled = Schedule { from_ns: 40_000 * MS, for_ns: 10_000 * MS, every_ns: None };
    let devices = plain_members(&limited).into_iter().map(|device| Stall::around(device, stalled));
    let mut array = Array::new(limited.clone(), devices.collect(), 0).unwrap();
    array.recover(0, 0, limited.used_bytes()).unwrap();
    for s in [20, 40, 60] {
        array.finish_recovery(s * 1000 * MS);
        let share = array.recovered_bytes() as f64 / (s * speed) as f64;
        assert!((0.9..1.1).contains(&share), "after {s} s: {share}");
    }
}

/// `read_balance`: a stream stays on the member that has begun it, and another goes to one that has nothing to do.
#[test]
fn two_streams_of_reads_are_served_by_two_copies() {
    let mut array = array(options(Layout::Raid1, 2));
    let mut done = Vec::new();
    for at in 0..20 {
        let now_ns = array.now_ns();
        // Now the one asks first and now the other: both members are idle then, and only where the arm stands decides.
        for stream in [at % 2, 1 - at % 2] {
            array.submit(now_ns, request(stream as u32, Verb::Read, stream * 32 * MIB + at * 64 * KIB, 64 * KIB));
        }
        while done.len() < 2 {
            array.advance_to_completion(u64::MAX, &mut done);
        }
        done.clear();
    }
    let reads = |member: usize| array.members().device(member).reads();
    for member in 0..2 {
        let follow = reads(member).windows(2).filter(|pair| pair[0].end == pair[1].start).count();
        assert!(follow >= 18, "member {member}: {follow} of {} go on where another ended", reads(member).len());
    }
}

#[test]
fn a_forced_write_is_forced_on_the_members() {
    for layout in [Layout::Raid1, Layout::Raid10, Layout::Raid5] {
        for fua in [false, true] {
            let mut array = array(options(layout, 4));
            array.submit(0, Request { fua, ..request(0, Verb::Write, 0, 4 * KIB) });
            array.advance(100 * MS, &mut Vec::new());
            let begin = array.options().data_offset_bytes();
            for member in 0..4 {
                let device = array.members().device(member);
                let is_data = |range: &&Range<u64>| range.start >= begin;
                let (written, all) = (device.forced().iter().filter(is_data).count(), device.writes());
                let expected = if fua { all.iter().filter(is_data).count() } else { 0 };
                assert_eq!(written, expected, "{layout:?}, member {member}");
            }
        }
    }
}

/// A flush has a thread of its own (`md_flush_request`): it does not wait until the array is told not to be clean.
#[test]
fn a_flush_waits_for_no_superblocks() {
    let mut array = array(options(Layout::Raid1, 2));
    array.submit(0, request(0, Verb::Write, 0, 4 * KIB));
    array.submit(0, request(1, Verb::Flush, 0, 0));
    let mut done = Vec::new();
    array.advance_to_completion(u64::MAX, &mut done);
    assert_eq!(done.iter().map(|one| one.tag).collect::<Vec<_>>(), [1]);
}

/// Without a bitmap who writes to copies hands it over at once (`raid1_submit_write`); the array's own thread, which writes the
/// superblocks meanwhile, has no part in it.
#[test]
fn a_write_to_copies_waits_for_no_superblocks_of_a_checkpoint() {
    let mut array = array(Options::new(Layout::Raid1, 2, HEADER + 256 * MIB).unwrap());
    ask(&mut array, Verb::Write, 0, 4 * KIB);
    let used = array.options().used_bytes();
    array.recover(1, used / 2, used).unwrap();
    let now_ns = array.now_ns();
    array.submit(now_ns, request(0, Verb::Write, 0, 4 * KIB));
    array.advance(now_ns, &mut Vec::new());
    let device = array.members().device(0);
    let count = |start: u64| device.writes().iter().filter(|range| range.start == start).count();
    // The first superblock said that the array is not clean; the flush before the second has not ended.
    let begin = array.options().data_offset_bytes();
    assert_eq!((count(SUPERBLOCK.start), count(begin)), (1, 2));
}

/// `md_super_write`: a member writes its superblock when its own flush is done, not when all are.
#[test]
fn each_superblock_follows_its_own_flush() {
    let forced = Schedule { from_ns: 0, for_ns: 50 * MS, every_ns: None };
    let devices = plain_members(&options(Layout::Raid1, 2)).into_iter().enumerate();
    let nowhere = Schedule { from_ns: u64::MAX / 2, ..forced };
    let devices = devices.map(|(at, device)| Stall::around(device, if at == 1 { forced } else { nowhere }));
    let mut array = Array::new(options(Layout::Raid1, 2), devices.collect(), 0).unwrap();
    let used = array.options().used_bytes();
    array.recover(1, 0, used).unwrap();
    array.advance(10 * MS, &mut Vec::new());
    let has_superblock = |member: usize| array.members().device(member).inner().writes().contains(&SUPERBLOCK);
    assert!(has_superblock(0) && !has_superblock(1));
}

/// A program that waits at the barrier asks for nothing else; another one does.
#[test]
fn programs_wait_one_by_one() {
    for (ends, is_asked) in [(vec![], false), (vec![2], false), (vec![1, 2], true)] {
        let mut array = array(Options::new(Layout::Raid1, 2, HEADER + 256 * MIB).unwrap());
        array.set_programs(ends.clone());
        ask(&mut array, Verb::Write, 0, 4 * KIB);
        let used = array.options().used_bytes();
        array.recover(1, 0, used).unwrap();
        array.recover_to(8 * MIB, u64::MAX);
        let now_ns = array.now_ns();
        // The first lies in the 64 MiB that are being filled.
        (0..2).for_each(|tag| array.submit(now_ns, request(tag, Verb::Write, u64::from(tag) * 128 * MIB, 4 * KIB)));
        array.advance(now_ns, &mut Vec::new());
        let elsewhere = array.options().data_offset_bytes() + 128 * MIB;
        let elsewhere = elsewhere..elsewhere + 4 * KIB;
        assert_eq!(array.members().device(0).writes().contains(&elsewhere), is_asked, "{ends:?}");
    }
}

/// Row 0 of four members is `0 1 2 P`: without the second, its data is made of the three others, and what is written there is
/// kept by parity alone.
#[test]
fn what_a_lost_member_held_is_made_of_all_others() {
    let pages = |array: &Array<Plain>, member: usize| {
        let bytes = |ranges: Vec<Range<u64>>| ranges.iter().filter(|range| range.start >= HEADER).count();
        (bytes(array.members().device(member).reads()), bytes(array.members().device(member).writes()))
    };
    for (verb, bytes, expected) in [
        (Verb::Read, 4 * KIB, [(1, 0), (0, 0), (1, 0), (1, 0)]),
        // Made anew of what is there.
        (Verb::Write, 4 * KIB, [(1, 0), (0, 0), (1, 0), (0, 1)]),
        // Half of the page is kept, which only all others tell.
        (Verb::Write, 2 * KIB, [(1, 0), (0, 0), (1, 0), (1, 1)]),
    ] {
        let mut array = array(options(Layout::Raid5, 4));
        array.lose(1);
        assert_eq!(ask(&mut array, verb, CHUNK, bytes).status, Status::Good);
        assert_eq!([0, 1, 2, 3].map(|member| pages(&array, member)), expected, "{verb:?} {bytes}");
    }
}

/// Nothing is read from the replacement, whichever it is; once filled it is a member like any other, and another may fail.
#[test]
fn a_filled_replacement_is_a_member_again() {
    for (layout, width) in [(Layout::Raid1, 2), (Layout::Raid10, 4), (Layout::Raid5, 4)] {
        for replacement in 0..width {
            let mut array = array(options(layout, width));
            let used = array.options().used_bytes();
            array.recover(replacement, 0, used).unwrap();
            array.finish_recovery(u64::MAX);
            assert_eq!(array.members().device(replacement).reads(), [], "{layout:?}, member {replacement}");
            // The one that holds the same, where there are copies.
            array.lose(replacement ^ 1);
            assert!(!array.has_failed(), "{layout:?}, member {replacement}");
            let capacity = array.capacity_bytes();
            for offset_bytes in (0..capacity).step_by(7 * CHUNK as usize) {
                assert_eq!(ask(&mut array, Verb::Read, offset_bytes, 4 * KIB).status, Status::Good);
            }
            assert_ne!(array.members().device(replacement).reads(), [], "{layout:?}, member {replacement}");
        }
    }
}

/// How far it is, is told every five minutes at least (`UPDATE_FREQUENCY`), however slow it is.
#[test]
fn a_slow_rebuild_is_told_of_every_five_minutes() {
    let slow = Options { speed_max_bytes_per_s: MIB, ..Options::new(Layout::Raid5, 3, HEADER + 16384 * MIB).unwrap() };
    let mut array = array(slow);
    let used = array.options().used_bytes();
    array.recover(2, 0, used).unwrap();
    // A sixteenth is a GiB, for which it takes 17 minutes.
    array.finish_recovery(15 * 60 * 1000 * MS + 5000 * MS);
    let told = array.members().device(0).writes().iter().filter(|range| **range == SUPERBLOCK).count();
    assert_eq!(told, 2 + 3, "as the drive is added, as it begins, and after that");
}

/// Where the host has one processor the array's own thread goes before the recovery's at first, and handles what was asked for at
/// each of its looks; where it has several, all that there are stripes for.
#[test]
fn on_one_processor_a_rebuild_begins_with_requests_of_a_window() {
    let long_ones = |processors: u32| {
        let host =
            Options { processors, seed: 1, stripe_cache: 512, stripe_cache_most: 512, ..options(Layout::Raid5, 4) };
        let mut array = array(host);
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        let reads = array.members().device(0).reads();
        covered_once(&reads, HEADER..HEADER + used);
        reads.iter().filter(|range| range.end - range.start > 128 * KIB).count()
    };
    assert_eq!(long_ones(1), 0);
    assert!(long_ones(4) > 60, "of 64 MiB");
}

/// A journal's commit that a flush was to precede, and that then waits for the superblocks, waits in a worker of the kernel's. The
/// one made in its place makes all who wake even, and requests are long from then on.
#[test]
fn a_commit_that_waits_ends_the_requests_of_a_window() {
    let long_ones = |flushes: bool| {
        let processor =
            Options { processors: 1, seed: 2, stripe_cache: 512, stripe_cache_most: 512, ..options(Layout::Raid5, 4) };
        let mut array = array(Options { member_bytes: HEADER + 256 * MIB, ..processor });
        let used = array.options().used_bytes();
        let mut done = Vec::new();
        array.recover(3, 0, used).unwrap();
        array.advance(401 * MS, &mut done);
        if flushes {
            array.submit(401 * MS, request(0, Verb::Flush, 0, 0));
            array.advance_to_completion(u64::MAX, &mut done);
        }
        array.submit(array.now_ns(), Request { fua: true, ..request(1, Verb::Write, 0, 4 * KIB) });
        array.finish_recovery(u64::MAX);
        array.members().device(0).reads().iter().filter(|range| range.end - range.start > 128 * KIB).count()
    };
    assert_eq!(long_ones(false), 0);
    assert!(long_ones(true) > 20);
}
