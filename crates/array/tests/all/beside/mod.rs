//! Linux md beside a load: who waits for whom.

use array::md::{Array, Options};
use array::Layout;
use drive::{BlockDevice, Request, Verb};

use crate::plain::Plain;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const CHUNK: u64 = 512 * KIB;

const MS: u64 = 1_000_000;
const BYTES: u64 = 1025 * MIB;

/// Where a journal lies: on the first two members.
const JOURNAL_AT: u64 = 512 * MIB;

/// When an array has been written to, so that its superblocks say that it is not clean.
const START_NS: u64 = 100_000_000;

/// Requests are as long as those of pages that lie anywhere.
fn options(layout: Layout) -> Options {
    Options { max_request_bytes: 640 << 10, ..Options::new(layout, 4, BYTES).unwrap() }
}

fn array_of(options: Options, member: Plain) -> Array<Plain> {
    Array::new(options, vec![member; 4], 0).unwrap()
}

fn array(layout: Layout) -> Array<Plain> {
    let mut array = array_of(options(layout), Plain::new(BYTES));
    // A whole row: it needs no reads.
    submit(&mut array, 0, Verb::Write, 3000 * CHUNK / 4, 3 * CHUNK);
    array.advance(START_NS, &mut Vec::new());
    array
}

fn submit(array: &mut Array<Plain>, at_ns: u64, verb: Verb, offset_bytes: u64, bytes: u64) {
    array.submit(at_ns, Request { tag: 0, verb, fua: false, offset_bytes, bytes });
}

fn reads(array: &Array<Plain>) -> usize {
    (0..4).map(|member| array.members().device(member).reads().len()).sum()
}

/// Somebody waits for them (`REQ_SYNC`), so they have `STRIPE_PREREAD_ACTIVE` from the beginning.
#[test]
fn a_write_reads_what_it_needs_while_others_still_do() {
    let mut array = array(Layout::Raid5);
    submit(&mut array, START_NS, Verb::Write, 0, 16 * KIB);
    submit(&mut array, START_NS + 50_000, Verb::Write, 9 * CHUNK, 16 * KIB);
    array.advance(START_NS + 60_000, &mut Vec::new());
    assert_eq!(reads(&array), 4, "two each, and none has ended by then");
}

/// The array's own thread handles stripes, and who submits several requests at once is not interrupted by it.
#[test]
fn writes_of_one_moment_that_make_a_row_read_nothing() {
    let written = |times: [u64; 3]| {
        let mut array = array(Layout::Raid5);
        for (chunk, at_ns) in times.into_iter().enumerate() {
            submit(&mut array, START_NS + at_ns, Verb::Write, chunk as u64 * CHUNK, CHUNK);
        }
        array.advance(1_000_000_000, &mut Vec::new());
        reads(&array)
    };
    assert_eq!(written([0, 0, 0]), 0);
    assert!(written([0, 1, 2]) > 0);
}

/// `raise_barrier` waits until nobody waits, so who waits is let in before the next block. A recovery that a tick has charged less than
/// the load stops it behind its first request; whoever asks for a block while others wait first sleeps a jiffy
/// (`schedule_timeout_uninterruptible(1)`), and when the block before ends meanwhile all of them have their turn.
#[test]
fn in_raid10_the_host_has_one_turn_and_then_a_jiffy() {
    // A tick finds the load running, or not.
    assert_eq!(turns(4_000_000 - 1_000), [16, 64, 16, 16, 16, 16]);
    assert_eq!(turns(1_000_000), [16, 16, 16, 16, 16, 128]);
}

/// What a raid10 reads of the member that its rebuild reads, in KiB, from the first of five requests on that come at a time.
fn turns(at_ns: u64) -> Vec<u64> {
    let mut array = array(Layout::Raid10);
    let used = array.options().used_bytes();
    array.recover(3, 0, used).unwrap();
    // Not rebuilt yet: only the third member has it, from which the last is filled.
    for part in 0..5 {
        submit(&mut array, START_NS + at_ns, Verb::Read, (2 * 2000 + 1) * CHUNK + part * 32 * KIB, 16 * KIB);
    }
    array.advance(2_000_000_000, &mut Vec::new());
    let asked = array.members().device(2).reads();
    let lengths: Vec<u64> = asked.iter().map(|range| (range.end - range.start) / KIB).collect();
    let first = lengths.iter().position(|kib| *kib == 16).unwrap();
    let before: u64 = lengths[..first].iter().sum();
    assert_eq!(before, 32 * KIB, "what is asked for when nobody waits, and the block that waited for room");
    lengths[first..first + 6].to_vec()
}

/// Safe mode: a write waits until the superblocks say that the array is not clean; one to two delays of 51 jiffies after the
/// last write, and what the timer is late by, they say that it is.
#[test]
fn a_write_after_a_pause_waits_for_the_superblocks() {
    for layout in [Layout::Raid1, Layout::Raid10, Layout::Raid5] {
        let mut array = array(layout);
        let told = |array: &Array<Plain>| {
            let writes = array.members().device(3).writes();
            writes.iter().filter(|range| range.start < MIB).count()
        };
        assert_eq!(told(&array), 1, "{layout:?}: the first write had to wait");
        array.advance(200_000_000, &mut Vec::new());
        assert_eq!(told(&array), 1, "{layout:?}: not yet");
        array.advance(600_000_000, &mut Vec::new());
        assert_eq!(told(&array), 2, "{layout:?}: it is clean");
        let mut completions = Vec::new();
        submit(&mut array, 700_000_000, Verb::Read, 0, 16 * KIB);
        array.advance_to_completion(u64::MAX, &mut completions);
        assert_eq!(told(&array), 2, "{layout:?}: who reads does not change that");
        submit(&mut array, 800_000_000, Verb::Write, 0, 16 * KIB);
        array.advance(800_100_000, &mut completions);
        let data: usize = (0..4).map(|member| array.members().device(member).writes().len()).sum();
        submit(&mut array, 800_100_000, Verb::Read, 0, 16 * KIB);
        array.advance(800_200_000, &mut completions);
        assert_eq!(completions.len(), 1, "{layout:?}: both wait for the superblocks, the second behind the first");
        array.advance(801_000_000, &mut completions);
        assert!((0..4).map(|member| array.members().device(member).writes().len()).sum::<usize>() > data);
        assert_eq!((completions.len(), told(&array)), (3, 3), "{layout:?}");
    }
}

/// A program that waits at the barrier has not begun its next write; the filesystem's journal, whose writes are forced, is
/// another program, and its write tells the superblocks at once that the array is not clean.
#[test]
fn who_waits_with_a_read_has_not_begun_a_write() {
    let told_meanwhile = |fua| {
        let mut array = array(Layout::Raid10);
        let told =
            |array: &Array<Plain>| array.members().device(0).writes().iter().filter(|range| range.start < MIB).count();
        array.advance(700_000_000, &mut Vec::new());
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        array.advance(700_900_000, &mut Vec::new());
        let before = told(&array);
        submit(&mut array, 701_000_000, Verb::Read, (2 * 2000 + 1) * CHUNK, 16 * KIB);
        array.submit(701_000_000, Request { tag: 1, verb: Verb::Write, fua, offset_bytes: 0, bytes: 16 * KIB });
        let is_read = |array: &Array<Plain>| {
            array.members().device(2).reads().iter().any(|range| range.end - range.start == 16 * KIB)
        };
        while !is_read(&array) {
            array.advance(array.next_event_ns().expect("the read waits"), &mut Vec::new());
        }
        told(&array) - before
    };
    assert_eq!([false, true].map(told_meanwhile), [0, 1]);
}

/// fio asks and looks in one thread. While its write waits at the barrier it sees no answer of a read, and the next request counts from
/// when it comes to ask for it. Others do not wait with it.
#[test]
fn who_waits_at_the_barrier_does_not_look_and_asks_later() {
    let answered = |ends: &[u32]| {
        let mut array = array(Layout::Raid1);
        array.set_programs(ends.to_vec());
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        array.advance(START_NS + MS, &mut Vec::new());
        let elsewhere = 640 * MIB;
        for (tag, verb, offset_bytes) in [(0, Verb::Read, elsewhere), (1, Verb::Write, 0), (2, Verb::Read, elsewhere)] {
            array.submit(START_NS + MS, Request { tag, verb, fua: false, offset_bytes, bytes: 4 * KIB });
        }
        let mut done = Vec::new();
        array.advance(START_NS + 100 * MS, &mut done);
        done.sort_unstable_by_key(|one| one.tag);
        let seen = [0, 1, 2].map(|at: usize| done[at].completed_ns);
        (seen, [0, 1, 2].map(|tag| array.asked_ns(tag)))
    };
    let (apart, asked) = answered(&[1, 2]);
    assert!(apart[0] < apart[1] && apart[2] < apart[1], "{apart:?}");
    assert_eq!(asked, [None; 3]);
    let (together, asked) = answered(&[]);
    let let_in_ns = asked[2].expect("it was kept from asking");
    assert!(apart[0] < let_in_ns && let_in_ns < together[2]);
    assert_eq!((together[0], asked[0], asked[1]), (let_in_ns, None, None));
}

/// A write changes the times of a file, and so waits as long as the journal's blocks are on their way, and with it what the program
/// would do next. Who comes when a transaction is old has it committed, and does not wait.
#[test]
fn who_writes_waits_while_the_journal_writes_its_blocks() {
    // The journal's own, before its blocks: a drive answers that at once.
    const SUPERBLOCK: u64 = 4 * KIB;
    let answered = |verb| {
        let mounted = Options { journal_at_bytes: Some(JOURNAL_AT), ..options(Layout::Raid10) };
        let blocks_at = mounted.data_offset_bytes() + JOURNAL_AT / 2 + SUPERBLOCK;
        let mut array = array_of(mounted, Plain::new(BYTES).overtaking(blocks_at));
        let mut done = Vec::new();
        for (tag, at_ms, verb) in
            [(0, 4900, Verb::Write), (1, 5010, Verb::Write), (2, 5011, verb), (3, 5011, Verb::Read)]
        {
            array.advance(at_ms * MS, &mut done);
            array.submit(at_ms * MS, Request { tag, verb, fua: false, offset_bytes: 8 * CHUNK, bytes: 4 * KIB });
        }
        array.advance(5200 * MS, &mut done);
        done.iter().map(|one| (one.tag, one.completed_ns / MS)).collect::<Vec<_>>()
    };
    assert_eq!(answered(Verb::Read), [(0, 4900), (1, 5010), (2, 5011), (3, 5011)]);
    assert_eq!(answered(Verb::Write), [(0, 4900), (1, 5010), (2, 5110), (3, 5110)], "100 ms for the blocks");
}

/// raid1 has a barrier for each 64 MiB: writes into those that are being filled take turns with it, nothing else does.
#[test]
fn in_raid1_only_writes_to_what_is_being_filled_wait() {
    let waits = |verb, offset_bytes| {
        let mut array = array(Layout::Raid1);
        let used = array.options().used_bytes();
        array.recover(3, 0, used).unwrap();
        submit(&mut array, START_NS + 1_000_000, verb, offset_bytes, 16 * KIB);
        let mut completions = Vec::new();
        // Longer than what is on the way takes, and than the request itself.
        array.advance_to_completion(u64::MAX, &mut completions);
        let asked: u64 = array.members().device(3).writes().iter().map(|range| range.end - range.start).sum();
        (completions[0].completed_ns - START_NS, asked)
    };
    let (elsewhere_ns, _) = waits(Verb::Write, 640 * MIB);
    let (there_ns, _) = waits(Verb::Write, 32 * MIB);
    let (read_ns, _) = waits(Verb::Read, 32 * MIB);
    assert!(there_ns > elsewhere_ns && there_ns > read_ns, "{there_ns} {elsewhere_ns} {read_ns}");
}

const PAGE: u64 = 4 * KIB;

/// A raid5 of three that has lost its last member, with 17 stripes: reads are of the first chunk, on the first member.
fn short_of_stripes() -> Array<Plain> {
    let options = Options { stripe_cache: 17, stripe_cache_most: 17, ..Options::new(Layout::Raid5, 3, BYTES).unwrap() };
    let mut array = Array::new(options, vec![Plain::new(BYTES); 3], 0).unwrap();
    array.lose(2);
    array
}

fn read_pages(array: &mut Array<Plain>, first: u64, pages: u64) {
    submit(array, array.now_ns(), Verb::Read, first * PAGE, pages * PAGE);
}

/// The first page of each read of the first member, in their order.
fn pages_read(array: &Array<Plain>) -> Vec<u64> {
    let begin = array.options().data_offset_bytes();
    array.members().device(0).reads().iter().map(|range| (range.start - begin) / PAGE).collect()
}

/// Each takes 0.12 ms. When five are done a quarter is free, which the first that waits takes; behind it nobody else is let in, and
/// who comes then does not overtake the second.
#[test]
fn who_comes_later_gets_no_stripes_before_who_waits() {
    let mut array = short_of_stripes();
    (0..17).for_each(|page| read_pages(&mut array, page, 1));
    read_pages(&mut array, 17, 5);
    read_pages(&mut array, 22, 10);
    array.advance(6 * 120_000, &mut Vec::new());
    read_pages(&mut array, 40, 1);
    array.advance(100 * MS, &mut Vec::new());
    assert_eq!(pages_read(&array), (0..18).chain([22, 40]).collect::<Vec<_>>());
}

/// While a member is missing reads go through the stripe cache; one that is larger than that has it alone.
#[test]
fn reads_of_a_degraded_array_are_under_way_as_far_as_there_are_stripes() {
    let mut array = short_of_stripes();
    [0, 10, 20].into_iter().for_each(|first| read_pages(&mut array, first, 10));
    array.advance(1, &mut Vec::new());
    assert_eq!(pages_read(&array), [0]);
    read_pages(&mut array, 64, 64);
    let mut done = Vec::new();
    array.advance(100 * MS, &mut done);
    assert_eq!((done.len(), pages_read(&array)), (4, vec![0, 10, 20, 64]));
}

/// With 17 stripes a recovery reads 68 KiB at a time. It waits until a quarter is free, and then from the next tick to the one after it.
fn recovering_with_few_stripes(host: &mut dyn FnMut(&mut Array<Plain>)) -> Vec<u64> {
    let few = Options { stripe_cache: 17, stripe_cache_most: 17, ..options(Layout::Raid6) };
    let mut array = array_of(few, Plain::new(BYTES));
    array.lose(2);
    let used = array.options().used_bytes();
    array.recover(3, 0, used).unwrap();
    host(&mut array);
    array.members().device(0).reads().iter().map(|range| (range.end - range.start) / PAGE).collect()
}

#[test]
fn a_recovery_that_found_no_stripe_sleeps_before_it_takes_more() {
    let read_by = |at_ns| recovering_with_few_stripes(&mut |array| array.advance(at_ns, &mut Vec::new()));
    assert_eq!(read_by(7 * MS), [17], "its drives have been idle for milliseconds");
    assert_eq!(read_by(9 * MS), [17; 2]);
}

/// The second member reads for the host, the first for the recovery alone. Three of 17 pages are free when the recovery wakes, and others wait for them.
#[test]
fn a_recovery_takes_no_stripes_while_the_host_waits_for_some() {
    let read_by = |at_ns| {
        recovering_with_few_stripes(&mut |array| {
            array.advance(8 * MS - 3 * 120_000 - 1000, &mut Vec::new());
            (0..20).for_each(|page| read_pages(array, page, 1));
            array.advance(at_ns, &mut Vec::new());
        })
    };
    assert_eq!(read_by(8 * MS + 50_000), [17]);
    assert!(read_by(20 * MS).len() > 1, "later it goes on");
}

/// A recovery has all 17, and wants more: nobody gets the one that the cache grows by.
#[test]
fn the_host_takes_no_stripe_while_a_recovery_waits_for_some() {
    let growing = Options { stripe_cache: 17, stripe_cache_most: 64, ..options(Layout::Raid6) };
    let mut array = array_of(growing, Plain::new(BYTES));
    let used = array.options().used_bytes();
    array.recover(3, 0, used).unwrap();
    while array.members().device(1).reads().is_empty() {
        array.advance(array.now_ns() + 10_000, &mut Vec::new());
    }
    let chunks = 2 * (used / CHUNK);
    let now_ns = array.now_ns();
    submit(&mut array, now_ns, Verb::Read, (chunks - 10) * CHUNK, PAGE);
    array.advance(array.now_ns() + 10_000, &mut Vec::new());
    assert_eq!(reads(&array), 3, "of the recovery");
    array.advance(array.now_ns() + 3 * MS, &mut Vec::new());
    assert!(reads(&array) > 3);
}
