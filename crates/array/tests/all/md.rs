//! Linux md: layouts against hand-worked tables, conservation of every rebuild, what failures do.

use crate::plain::{covered_once, Plain};
use array::md::{Arrangement, Array, Copies, Options, Parity, Rotation};
use array::{Ended, Layout};
use drive::faults::{Gone, LatentSectors, Schedule};
use drive::{BlockDevice, Request, Status, Verb};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Where data begins on members as small as these, but for a raid1's: two chunks are kept free, and what lies before them.
const HEADER: u64 = 2 * MIB;

fn options(layout: Layout, width: usize) -> Options {
    Options::new(layout, width, HEADER + 64 * MIB).unwrap()
}

fn plain_members(count: usize) -> Vec<Plain> {
    (0..count).map(|_| Plain::new(HEADER + 64 * MIB)).collect()
}

fn rebuilt(options: Options, replacement: usize) -> Array<Plain> {
    let width = options.width;
    let mut array = Array::new(options, plain_members(width), 0).unwrap();
    let used = array.options().used_bytes();
    array.recover(replacement, 0, used).unwrap();
    array.finish_recovery(u64::MAX);
    array
}

fn table(parity: Parity, rows: u64) -> Vec<String> {
    (0..rows)
        .map(|row| {
            let mut members = vec!["?".to_owned(); parity.width];
            members[parity.p(row)] = "P".into();
            if let Some(q) = parity.q(row) {
                members[q] = "Q".into();
            }
            for index in 0..parity.data_members() {
                members[parity.data(row, index)] = format!("{}", row * parity.data_members() as u64 + index as u64);
            }
            members.join(" ")
        })
        .collect()
}

/// The tables of md(4) and of the comments in `raid5_compute_sector`, worked by hand.
#[test]
fn parity_rotates_as_in_the_tables() {
    let raid5 = |rotation| Parity { width: 4, parities: 1, chunk_bytes: 64 * KIB, rotation };
    let raid6 = |rotation| Parity { width: 5, parities: 2, chunk_bytes: 64 * KIB, rotation };
    assert_eq!(table(raid5(Rotation::LeftSymmetric), 5), ["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11", "12 13 14 P"]);
    assert_eq!(table(raid5(Rotation::LeftAsymmetric), 4), ["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11"]);
    assert_eq!(table(raid5(Rotation::RightSymmetric), 4), ["P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P"]);
    assert_eq!(table(raid5(Rotation::RightAsymmetric), 4), ["P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P"]);
    assert_eq!(table(raid5(Rotation::ParityFirst), 2), ["P 0 1 2", "P 3 4 5"]);
    assert_eq!(table(raid5(Rotation::ParityLast), 2), ["0 1 2 P", "3 4 5 P"]);
    assert_eq!(
        table(raid6(Rotation::LeftSymmetric), 5),
        ["Q 0 1 2 P", "3 4 5 P Q", "7 8 P Q 6", "11 P Q 9 10", "P Q 12 13 14"]
    );
    assert_eq!(table(raid6(Rotation::LeftAsymmetric), 3), ["Q 0 1 2 P", "3 4 5 P Q", "6 7 P Q 8"]);
    assert_eq!(
        table(raid6(Rotation::RightAsymmetric), 5),
        ["P Q 0 1 2", "3 P Q 4 5", "6 7 P Q 8", "9 10 11 P Q", "Q 12 13 14 P"]
    );
    assert_eq!(table(raid6(Rotation::ParityFirst), 1), ["P Q 0 1 2"]);
}

#[test]
fn copies_lie_as_in_the_tables() {
    let rows = |copies: Copies, chunks: u64| -> Vec<Vec<(usize, u64)>> {
        (0..chunks)
            .map(|chunk| {
                let mut places = Vec::new();
                copies.find(chunk * 64, &mut places);
                places.iter().map(|place| (place.member, place.offset_bytes / 64)).collect()
            })
            .collect()
    };
    let copies = Copies { width: 3, near: 2, far: 1, offset: false, chunk_bytes: 64, member_bytes: 640 };
    assert_eq!(rows(copies, 3), [[(0, 0), (1, 0)], [(2, 0), (0, 1)], [(1, 1), (2, 1)]]);
    let far = Copies { width: 4, near: 1, far: 2, offset: false, chunk_bytes: 64, member_bytes: 640 };
    assert_eq!(
        rows(far, 5),
        [[(0, 0), (1, 5)], [(1, 0), (2, 5)], [(2, 0), (3, 5)], [(3, 0), (0, 5)], [(0, 1), (1, 6)]]
    );
    let offset = Copies { width: 4, near: 1, far: 2, offset: true, chunk_bytes: 64, member_bytes: 640 };
    assert_eq!(
        rows(offset, 5),
        [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(2, 0), (3, 1)], [(3, 0), (0, 1)], [(0, 2), (1, 3)]]
    );
}

#[test]
fn a_rebuild_reads_and_writes_everything_once() {
    for (layout, width) in [(Layout::Raid5, 3), (Layout::Raid5, 7), (Layout::Raid6, 4), (Layout::Raid6, 90)] {
        let array = rebuilt(options(layout, width), 1);
        let used = array.options().used_bytes();
        for member in 0..width {
            let (reads, mut writes) = (array.members().device(member).reads(), array.members().device(member).writes());
            // What is before it are superblocks, told how far the rebuild is.
            writes.retain(|range| range.start >= HEADER);
            if member == 1 {
                assert!(reads.is_empty());
                covered_once(&writes, HEADER..HEADER + used);
            } else {
                covered_once(&reads, HEADER..HEADER + used);
                assert!(writes.is_empty());
            }
        }
        assert_eq!(array.outcome().unwrap().ended, Ended::Complete);
    }
}

#[test]
fn a_rebuild_of_copies_reads_one_and_writes_all_once() {
    let raid10 = |near, far, offset, width| {
        let options = options(Layout::Raid10, width);
        Options { arrangement: Arrangement::Copies { near, far, offset }, ..options }
    };
    let kinds = [
        options(Layout::Raid1, 2),
        options(Layout::Raid1, 3),
        raid10(2, 1, false, 4),
        raid10(2, 1, false, 5),
        raid10(1, 2, false, 4),
        raid10(1, 2, true, 4),
        raid10(2, 1, false, 90),
    ];
    for options in kinds {
        let array = rebuilt(options.clone(), 1);
        let begin = options.data_offset_bytes();
        let mut writes = array.members().device(1).writes();
        writes.retain(|range| range.start >= begin);
        let written: u64 = writes.iter().map(|range| range.end - range.start).sum();
        let read: u64 =
            (0..options.width).flat_map(|member| array.members().device(member).reads()).map(|r| r.end - r.start).sum();
        // What is no place of any copy (the last row of an odd array) is left out.
        assert!(
            written <= options.used_bytes() && written + 2 * options.chunk_bytes > options.used_bytes(),
            "{options:?}: {written}"
        );
        covered_once(&writes, begin..begin + written);
        assert_eq!((read, array.outcome().unwrap().ended), (written, Ended::Complete), "{options:?}");
    }
}

/// md writes what has been read, whatever was asked for before it (`raid5d`, `raid1d`, `raid10d`).
#[test]
fn a_read_that_others_overtake_is_written_after_them() {
    for (layout, width) in [(Layout::Raid1, 2), (Layout::Raid10, 4), (Layout::Raid5, 4), (Layout::Raid6, 5)] {
        let mut members = plain_members(width);
        let options = options(layout, width);
        let begin = options.data_offset_bytes();
        members[0] = members[0].clone().overtaking(begin);
        let mut array = Array::new(options, members, 0).unwrap();
        let used = array.options().used_bytes();
        array.recover(1, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        let mut writes = array.members().device(1).writes();
        writes.retain(|range| range.start >= begin);
        assert!(writes[0].start >= begin + 64 * KIB, "{layout:?}: {:?}", &writes[..4]);
        assert!(writes.iter().any(|range| range.start == begin));
        covered_once(&writes, begin..begin + used);
    }
}

/// A block of 64 KiB whose pages follow each other in memory is one segment, and one whose pages lie the other way round, as they
/// do when they are used for the second time, has sixteen.
#[test]
fn requests_for_copies_have_as_many_blocks_as_there_are_segments_for() {
    for (max_segments, kib) in [(254, 15 * 64), (168, 10 * 64), (1024, 1280)] {
        let array = rebuilt(Options { max_segments, ..options(Layout::Raid1, 2) }, 1);
        let lengths: Vec<u64> =
            array.members().device(0).reads().iter().map(|range| (range.end - range.start) / KIB).collect();
        assert_eq!(lengths[0], 1280, "{max_segments} segments");
        assert!(lengths[1..6].contains(&kib), "{max_segments} segments: {:?}", &lengths[..6]);
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let refusal = |layout, width, bytes| Options::new(layout, width, bytes).unwrap_err().to_string();
    assert!(refusal(Layout::Raid6, 3, 64 * MIB).contains("4 or more"));
    assert!(refusal(Layout::Raid5, 3, MIB).contains("a chunk of 512 KiB must fit behind"));
    let of_pair = refusal(Layout::Raid1, 2, MIB);
    assert!(of_pair.contains("1024 KiB of each member are md's own, and 512 KiB must fit"), "{of_pair}");
    assert!(refusal(Layout::Raid5, 200, 64 * MIB).contains("at most 128"));
    assert!(refusal(Layout::Raidz(1), 4, 64 * MIB).contains("not a layout of md"));
    let four_copies =
        Options { arrangement: Arrangement::Copies { near: 2, far: 2, offset: false }, ..options(Layout::Raid10, 3) };
    assert!(four_copies.check().unwrap_err().to_string().contains("4 copies"));
    let odd = Options { chunk_bytes: 100 * KIB, ..options(Layout::Raid5, 3) };
    assert!(odd.check().unwrap_err().to_string().contains("power of two"));

    let mut small = plain_members(4);
    small[2] = Plain::new(MIB);
    let error = Array::new(options(Layout::Raid6, 4), small, 0).map(drop).unwrap_err();
    assert!(error.to_string().contains("member 2 has only 1048576 bytes"));
    let mut array = Array::new(options(Layout::Raid0, 3), plain_members(3), 0).unwrap();
    assert!(array.recover(0, 0, MIB).unwrap_err().to_string().contains("no redundancy"));
}

fn write_once(array: &mut Array<Plain>, offset_bytes: u64, bytes: u64) -> Status {
    array.submit(array.now_ns(), Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes, bytes });
    let mut completions = Vec::new();
    array.advance_to_completion(u64::MAX, &mut completions);
    assert_eq!(completions.len(), 1);
    completions[0].status
}

/// Reads and writes of each member, without superblocks.
fn counts(array: &Array<Plain>) -> Vec<(usize, usize)> {
    (0..array.options().width)
        .map(|member| {
            let device = array.members().device(member);
            let superblock = |range: &std::ops::Range<u64>| range.start == 4 * KIB;
            (device.reads().len(), device.writes().iter().filter(|range| !superblock(range)).count())
        })
        .collect()
}

/// `handle_stripe_dirtying`, counted by hand: 8 members of raid6 read 3 to modify one page, 5 to make parity anew.
#[test]
fn parity_is_modified_or_made_anew_whichever_reads_less() {
    let fresh = |layout, width| Array::new(options(layout, width), plain_members(width), 0).unwrap();
    let mut array = fresh(Layout::Raid6, 8);
    write_once(&mut array, 0, 4 * KIB);
    // Row 0 is `Q 0 1 2 3 4 5 P`.
    assert_eq!(counts(&array), [(1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 1)]);
    let mut array = fresh(Layout::Raid5, 3);
    write_once(&mut array, 0, 4 * KIB);
    // Two reads to modify, one to make anew.
    assert_eq!(counts(&array), [(0, 1), (1, 0), (0, 1)]);
    let mut array = fresh(Layout::Raid5, 4);
    write_once(&mut array, 0, 4 * KIB);
    // Two either way: it is made anew (`PARITY_ENABLE_RMW`).
    assert_eq!(counts(&array), [(0, 1), (1, 0), (1, 0), (0, 1)]);
    let mut array = fresh(Layout::Raid5, 5);
    write_once(&mut array, 0, 4 * 512 * KIB);
    assert_eq!(counts(&array), [(0, 1), (0, 1), (0, 1), (0, 1), (0, 1)]);
    let never = Options { read_modify_write: false, ..options(Layout::Raid5, 8) };
    let mut array = Array::new(never, plain_members(8), 0).unwrap();
    write_once(&mut array, 0, 4 * KIB);
    assert_eq!(counts(&array).iter().map(|(reads, _)| reads).sum::<usize>(), 6);
}

#[test]
fn a_bitmap_is_marked_once_before_the_write() {
    let mut array = Array::new(Options { bitmap: true, ..options(Layout::Raid1, 2) }, plain_members(2), 0).unwrap();
    write_once(&mut array, 0, 4 * KIB);
    write_once(&mut array, 8 * KIB, 4 * KIB);
    assert_eq!(counts(&array), [(0, 3), (0, 3)]);
    assert!((8 * KIB..HEADER).contains(&array.members().device(0).writes()[1].start));
    // Some seconds later the mark is cleared.
    array.advance(20_000_000_000, &mut Vec::new());
    assert_eq!(counts(&array), [(0, 4), (0, 4)]);
}

#[test]
fn unreadable_sectors_are_made_up_for_as_long_as_there_is_redundancy() {
    let run = |layout, width| {
        let devices: Vec<_> = (0..width)
            .map(|member| {
                let sectors = if member == 2 { (HEADER + 10 * MIB) / 512 } else { 0 };
                let bad = (member == 2).then_some(sectors..sectors + 8);
                LatentSectors::around(Plain::new(HEADER + 64 * MIB), bad, 0, 1_000_000_000)
            })
            .collect();
        let mut array = Array::new(options(layout, width), devices, 0).unwrap();
        let used = array.options().used_bytes();
        array.recover(0, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        array.outcome().unwrap()
    };
    assert_eq!(run(Layout::Raid5, 4).ended, Ended::WithLosses { lost_bytes: 4096 });
    let outcome = run(Layout::Raid6, 4);
    assert_eq!(outcome.ended, Ended::Complete);
    // Beside it seventeen superblocks: as the new drive is added, as its recovery begins, and each sixteenth of the way.
    assert_eq!(outcome.members[2].counters.bytes_written, 4096 + 17 * 512);
    let counters = outcome.members[2].counters;
    assert!(counters.longest_command_ns >= 1_000_000_000);
    assert!((1..counters.longest_command_ns).contains(&counters.longest_flush_ns), "a read took longest: {counters:?}");
}

#[test]
fn a_second_failure_is_survived_or_not() {
    let run = |layout, width, member| {
        let devices: Vec<_> = (0..width)
            .map(|at| {
                let from_ns = if at == member { 50_000_000 } else { u64::MAX / 2 };
                Gone::around(Plain::new(HEADER + 64 * MIB), Schedule { from_ns, for_ns: u64::MAX / 4, every_ns: None })
            })
            .collect();
        let mut array = Array::new(options(layout, width), devices, 0).unwrap();
        let used = array.options().used_bytes();
        array.recover(0, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        let outcome = array.outcome().unwrap();
        let failed: Vec<_> = (0..width).filter(|at| outcome.members[*at].failed_at_ns.is_some()).collect();
        assert_eq!(failed, [member]);
        let failed_at_ns = outcome.members[member].failed_at_ns.unwrap();
        // It counts from when the superblocks have been told.
        assert!(failed_at_ns >= 49_000_000, "{failed_at_ns}");
        if let Ended::Failed { at_ns, .. } = outcome.ended {
            assert_eq!(at_ns, failed_at_ns);
        }
        outcome.ended
    };
    assert!(matches!(run(Layout::Raid5, 4, 2), Ended::Failed { member: 2, .. }));
    assert_eq!(run(Layout::Raid6, 5, 2), Ended::Complete);
    assert!(matches!(run(Layout::Raid6, 5, 0), Ended::Failed { member: 0, .. }));
    assert!(matches!(run(Layout::Raid10, 4, 1), Ended::Failed { member: 1, .. }));
    assert_eq!(run(Layout::Raid10, 4, 2), Ended::Complete);
}

/// A rebuild yields to others above its least speed, and never exceeds its greatest.
#[test]
fn the_speed_limits_hold() {
    let slow = Options { speed_max_bytes_per_s: 4 * MIB, ..options(Layout::Raid5, 4) };
    let array = rebuilt(slow, 0);
    let outcome = array.outcome().unwrap();
    let speed = array.options().used_bytes() as f64 / (outcome.duration_ns as f64 / 1e9);
    // md divides by a second more than has passed, of about 15.
    assert!((3.5e6..4.5e6).contains(&speed), "{speed}");
    let free = rebuilt(options(Layout::Raid5, 4), 0);
    assert!(free.outcome().unwrap().duration_ns * 5 < outcome.duration_ns);
    // The status said about the truth, as long as the speed stayed.
    let point = outcome.progress.points[outcome.progress.points.len() / 2];
    let wrong = point.left_ns.unwrap() as f64 / (outcome.duration_ns - point.at_ns) as f64 - 1.0;
    assert!(wrong.abs() < 0.2, "{point:?}");
}

#[test]
fn members_may_differ_in_size_and_the_same_again_is_the_same() {
    let run = || {
        let mut devices = plain_members(5);
        devices[3] = Plain::new(HEADER + 200 * MIB);
        let mut array = Array::new(options(Layout::Raid6, 5), devices, 0).unwrap();
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        array.finish_recovery(u64::MAX);
        array.outcome().unwrap()
    };
    assert_eq!(run(), run());
}

/// The host reads what it asked for, whole or degraded, before and behind the front of the rebuild.
#[test]
fn reads_go_to_the_member_or_to_all_others() {
    let mut array = Array::new(options(Layout::Raid5, 4), plain_members(4), 0).unwrap();
    let used = array.options().used_bytes();
    array.recover(0, used / 2, used).unwrap();
    let before = array.members().counters(0).bytes_read;
    array.submit(0, Request { tag: 7, verb: Verb::Read, fua: false, offset_bytes: 0, bytes: 64 * KIB });
    array.finish_recovery(1_000_000);
    // Chunk 0 lies on member 0, below the front of this rebuild.
    assert_eq!(array.members().counters(0).bytes_read - before, 64 * KIB);
    let behind = array.capacity_bytes() / 512 / KIB * 512 * KIB - 512 * KIB;
    let mut degraded = Array::new(options(Layout::Raid5, 4), plain_members(4), 0).unwrap();
    let chunk = (0..4).map(|back| behind - back * 512 * KIB).find(|at| {
        let parity = Parity { width: 4, parities: 1, chunk_bytes: 512 * KIB, rotation: Rotation::LeftSymmetric };
        let (row, index, _) = parity.locate(*at);
        parity.data(row, index) == 0
    });
    degraded.recover(0, 0, used).unwrap();
    degraded.submit(0, Request { tag: 7, verb: Verb::Read, fua: false, offset_bytes: chunk.unwrap(), bytes: 64 * KIB });
    let mut completions = Vec::new();
    degraded.advance_to_completion(u64::MAX, &mut completions);
    assert_eq!(completions[0].status, Status::Good);
    assert_eq!(degraded.members().counters(0).bytes_read, 0);
}

/// What the host does behind the end of a rebuild is no part of it.
#[test]
fn a_rebuild_that_is_over_counts_no_more() {
    let mut array = rebuilt(options(Layout::Raid1, 2), 1);
    let (outcome, now_ns) = (array.outcome(), array.now_ns());
    let bytes = array.members().counters(0).bytes_written;
    array.submit(now_ns, Request { tag: 7, verb: Verb::Write, fua: false, offset_bytes: 0, bytes: 64 * KIB });
    array.advance_to_completion(u64::MAX, &mut Vec::new());
    assert!(array.members().counters(0).bytes_written >= bytes + 64 * KIB);
    assert_eq!(array.outcome(), outcome);
}

/// When the superblocks know of the new drive, which takes a flush and a write of 0.1 ms each, the recovery begins: its time counts from
/// there, and what its drives have to do.
#[test]
fn a_rebuild_counts_from_when_the_superblocks_know_of_the_drive() {
    const TOLD_NS: u64 = 200_000;
    for (layout, width) in [(Layout::Raid5, 4), (Layout::Raid1, 2), (Layout::Raid10, 4)] {
        let array = rebuilt(options(layout, width), 1);
        let outcome = array.outcome().unwrap();
        assert_eq!(outcome.duration_ns, array.now_ns() - TOLD_NS, "{layout:?}");
        for member in 0..width {
            let busy_ns = array.members().counters(member).busy_ns;
            assert_eq!(outcome.members[member].counters.busy_ns, busy_ns - TOLD_NS, "{layout:?}: member {member}");
        }
    }
}

/// Who reads a page of the array: the one member whose count of bytes has grown.
fn reader(array: &mut Array<Plain>, offset_bytes: u64) -> usize {
    let read = |array: &Array<Plain>| -> Vec<u64> {
        (0..array.options().width).map(|member| array.members().counters(member).bytes_read).collect()
    };
    let before = read(array);
    array.submit(array.now_ns(), Request { tag: 0, verb: Verb::Read, fua: false, offset_bytes, bytes: 4 * KIB });
    array.advance(array.now_ns(), &mut Vec::new());
    let grown = read(array).iter().zip(&before).map(|(now, then)| now - then).collect::<Vec<_>>();
    assert_eq!(grown.iter().sum::<u64>(), 4 * KIB);
    grown.iter().position(|bytes| *bytes > 0).unwrap()
}

/// `read_balance`: as long as one copy's drive is at work another's is asked, as near as the arm of either is.
#[test]
fn a_copy_whose_drive_is_idle_is_read_first() {
    for (layout, width) in [(Layout::Raid1, 2), (Layout::Raid10, 4)] {
        let mut array = Array::new(options(layout, width), plain_members(width), 0).unwrap();
        assert_eq!([0, 64 * KIB].map(|at| reader(&mut array, at)), [0, 1], "{layout:?}");
    }
}

/// Of far copies the outermost is read, wherever the arms stand: here one stands far inside, and the other's just before its copy.
#[test]
fn of_far_copies_the_outer_one_is_read() {
    let far =
        Options { arrangement: Arrangement::Copies { near: 1, far: 2, offset: false }, ..options(Layout::Raid10, 4) };
    let mut array = Array::new(far, plain_members(4), 0).unwrap();
    write_once(&mut array, 0, 512 * KIB);
    let far_inside = 4 * 60 * 512 * KIB;
    for at in [far_inside, 4 * KIB] {
        assert_eq!(reader(&mut array, at), 0);
        array.advance(array.now_ns() + 1_000_000_000, &mut Vec::new());
    }
}

/// What is written to fill the replacement moves no arm that raid1 knows of (`sync_request_write`): it still stands at the beginning.
#[test]
fn a_filled_copy_of_a_raid1_is_read_where_nothing_was_read_yet() {
    let mut array = rebuilt(options(Layout::Raid1, 2), 1);
    assert_eq!(reader(&mut array, 0), 1);
}

#[test]
fn a_copy_is_filled_from_the_first_that_is_whole() {
    for (replacement, source) in [(0, 1), (1, 0), (2, 0)] {
        let array = rebuilt(options(Layout::Raid1, 3), replacement);
        let readers: Vec<_> = (0..3).filter(|member| array.members().counters(*member).bytes_read > 0).collect();
        assert_eq!(readers, [source], "of {replacement}");
    }
}

#[test]
fn a_replacement_that_failed_is_not_read() {
    let devices = (0..4).map(|at| {
        let from_ns = if at == 0 { 50_000_000 } else { u64::MAX / 2 };
        Gone::around(Plain::new(HEADER + 64 * MIB), Schedule { from_ns, for_ns: 10_000_000_000, every_ns: None })
    });
    let mut array = Array::new(options(Layout::Raid5, 4), devices.collect(), 0).unwrap();
    let used = array.options().used_bytes();
    array.recover(0, 0, used).unwrap();
    array.finish_recovery(u64::MAX);
    assert!(matches!(array.outcome().unwrap().ended, Ended::Failed { member: 0, .. }));
    let before = array.members().counters(0).requests;
    for tag in 0..8 {
        let offset_bytes = u64::from(tag) * 512 * KIB;
        // The drive is back by then, and has nothing of it.
        array.submit(60_000_000_000, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4 * KIB });
    }
    let mut done = Vec::new();
    array.advance(70_000_000_000, &mut done);
    assert!(done.len() == 8 && done.iter().all(|one| one.status == Status::Good), "{done:?}");
    assert_eq!(array.members().counters(0).requests, before);
}

/// Drives that are alike answer together: a rebuild waits for each alone at no time, but for the replacement, while that is written.
#[test]
fn only_who_answers_alone_holds_a_rebuild_up() {
    let awaited = rebuilt(options(Layout::Raid5, 4), 3)
        .outcome()
        .unwrap()
        .members
        .iter()
        .map(|one| one.awaited)
        .collect::<Vec<_>>();
    assert_eq!(awaited[..3], [0.0; 3]);
    assert!((0.1..0.9).contains(&awaited[3]), "{awaited:?}");
}

/// Two copies beside each other: of four members a pair must not be lost, of five nobody's neighbour, since chunks go around.
#[test]
fn copies_survive_as_long_as_one_of_each_is_left() {
    let lost = |width: usize, one: usize, other: usize| {
        let mut array = Array::new(options(Layout::Raid10, width), plain_members(width), 0).unwrap();
        array.lose(one);
        assert!(!array.has_failed());
        array.lose(other);
        array.has_failed()
    };
    for other in 1..4 {
        for one in 0..other {
            assert_eq!(lost(4, one, other), one / 2 == other / 2, "{one} and {other} of 4");
        }
    }
    for other in 1..5 {
        for one in 0..other {
            assert_eq!(lost(5, one, other), other - one == 1 || other - one == 4, "{one} and {other} of 5");
        }
    }
}

/// The most that a rebuild has on its way beside somebody who reads all the time.
fn most_on_its_way(speed_min_bytes_per_s: u64) -> u64 {
    let options = Options { speed_min_bytes_per_s, ..options(Layout::Raid5, 4) };
    let mut array = Array::new(options, plain_members(4), 0).unwrap();
    let used = array.options().used_bytes();
    array.recover(3, 0, used).unwrap();
    let on_its_way = (0..400).map(|ms| {
        let read = Request { tag: 0, verb: Verb::Read, fua: false, offset_bytes: 0, bytes: 64 * KIB };
        array.submit(ms * 1_000_000, read);
        array.members().counters(1).bytes_read - array.recovered_bytes()
    });
    on_its_way.skip(50).max().unwrap()
}

/// Above its least speed it waits for what it has asked for between two looks, 128 KiB, as long as others are at work.
#[test]
fn a_rebuild_gives_way_to_others_above_its_least_speed() {
    assert_eq!(most_on_its_way(MIB), 128 * KIB);
    assert!(most_on_its_way(1 << 40) >= MIB, "else what there are stripes for");
}
