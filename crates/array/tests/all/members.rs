//! What stands between an array and its drives.

use crate::plain::Plain;
use array::members::{Ask, Members};
use drive::faults::{LatentSectors, Schedule, Stall};
use drive::{BlockDevice, Completion, Request, Status, Verb};

const KIB: u64 = 1 << 10;
const MOST_BYTES: u64 = 1280 * KIB;
const MOST_SEGMENTS: u64 = 254;

/// What a drive gets of two writes that follow each other behind a full queue, each of so much in so many pieces of memory.
fn merged(asks: [(u64, u64); 2]) -> Vec<u64> {
    let mut members = Members::new(vec![Plain::new(1 << 30)], 0, MOST_BYTES, 0).with_max_segments(MOST_SEGMENTS);
    let depth = u64::from(members.device(0).queue_depth());
    (0..depth).for_each(|at| members.submit(0, Verb::Write, at * MOST_BYTES, 4 * KIB, at));
    let mut offset_bytes = depth * MOST_BYTES;
    for (bytes, segments) in asks {
        members.ask(0, Ask { verb: Verb::Write, fua: false, offset_bytes, bytes, segments }, depth);
        offset_bytes += bytes;
    }
    members.step(u64::MAX, &mut Vec::new());
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut Vec::new());
    }
    members.device(0).writes()[depth as usize..].iter().map(|range| (range.end - range.start) / KIB).collect()
}

#[test]
fn what_waits_is_merged_as_far_as_the_list_of_segments_goes() {
    assert_eq!(merged([(960 * KIB, 1), (320 * KIB, 1)]), [1280]);
    assert_eq!(merged([(960 * KIB, 240), (320 * KIB, 80)]), [960, 320], "as long as may be, and in too many pieces");
    assert_eq!(merged([(960 * KIB, 240), (64 * KIB, 14)]), [1024]);
    assert_eq!(merged([(960 * KIB, 1), (384 * KIB, 1)]), [960, 384], "too long");
}

/// What a drive gets of blocks of 64 KiB that follow each other, each in so many pieces of memory, behind a plug or not.
fn gathered(segments: u64, is_plugged: bool) -> Vec<u64> {
    let mut members = Members::new(vec![Plain::new(1 << 30)], 0, MOST_BYTES, 0).with_max_segments(MOST_SEGMENTS);
    if is_plugged {
        members.plug();
    }
    for at in 0..23 {
        let (verb, fua, offset_bytes) = (Verb::Write, false, at * 64 * KIB);
        members.ask(0, Ask { verb, fua, offset_bytes, bytes: 64 * KIB, segments }, at);
    }
    members.unplug();
    let mut done = Vec::new();
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut done);
    }
    let mut tokens: Vec<u64> = done.iter().map(|one| one.token).collect();
    tokens.sort_unstable();
    assert_eq!(tokens, (0..23).collect::<Vec<_>>(), "each ends once");
    members.device(0).writes().iter().map(|range| (range.end - range.start) / KIB).collect()
}

#[test]
fn what_is_asked_for_at_once_is_put_together_behind_a_plug() {
    assert_eq!(gathered(1, true), [1280, 192]);
    assert_eq!(gathered(16, true), [960, 512]);
    assert_eq!(gathered(1, false), [64; 23], "the drive has room for each");
}

/// A drive that starves one write: aborted when it is late, it is asked for again at once, beside others. When it is late once more the
/// error handler waits until the drive has nothing else to do, and nothing new is given to it.
#[test]
fn who_is_late_twice_has_the_drive_to_itself() {
    const MS: u64 = 1_000_000;
    let starves = Plain::new(1 << 30).overtaking(0);
    let mut members = Members::new(vec![starves], 0, 8 << 20, 5).with_command_timeout_ns(30 * MS);
    let mut done = Vec::new();
    let mut write = |members: &mut Members<Plain>, at_ns: u64, block: u64, mib: u64| {
        while members.step(at_ns, &mut done) < at_ns {}
        members.submit(0, Verb::Write, block << 20, mib << 20, block);
    };
    write(&mut members, 0, 0, 1);
    write(&mut members, 40 * MS, 100, 1);
    // It keeps the drive busy until 71 ms. The first is late at 30 ms and, asked for again, at 60.
    write(&mut members, 50 * MS, 200, 4);
    write(&mut members, 65 * MS, 300, 1);
    let begins =
        |members: &Members<Plain>| members.device(0).writes().iter().map(|range| range.start >> 20).collect::<Vec<_>>();
    assert_eq!(begins(&members), [0, 0, 100, 200]);
    while members.step(75 * MS, &mut Vec::new()) < 75 * MS {}
    assert_eq!(begins(&members), [0, 0, 100, 200, 0, 300], "it goes first when the drive was reset");
}

/// When each of some requests ends that are asked for at once, in units of 100 us, by its token; and the longest command.
fn ends(drive: Plain, asks: &[(Verb, u64)]) -> (Vec<(u64, u64)>, u64) {
    let mut members = Members::new(vec![drive], 0, MOST_BYTES, 0);
    for (token, (verb, offset_bytes)) in (0..).zip(asks) {
        let bytes = if *verb == Verb::Flush { 0 } else { 20 * KIB };
        members.submit(0, *verb, *offset_bytes, bytes, token);
    }
    let mut done = Vec::new();
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut done);
    }
    let ends = done.iter().map(|one| (one.token, one.completed_ns / 100_000)).collect();
    (ends, members.counters(0).longest_command_ns / 100_000)
}

/// The drive takes 0.2 ms for a write, which it overtakes for 100 ms, and 0.1 ms for a flush.
#[test]
fn a_flush_of_sata_waits_for_what_the_drive_has_and_all_else_waits_for_the_flush() {
    let asks = [(Verb::Write, 3 << 20), (Verb::Write, 1 << 20), (Verb::Flush, 0), (Verb::Read, 2 << 20)];
    let drive = || Plain::new(1 << 30).overtaking(3 << 20);
    assert_eq!(ends(drive(), &asks), (vec![(1, 4), (2, 5), (3, 7), (0, 1002)], 1002), "beside each other");
    let alone = ends(drive().speaking_ata(), &asks);
    assert_eq!(alone.0, [(1, 4), (0, 1002), (2, 1003), (3, 1005)]);
    assert_eq!(alone.1, 1002, "what waits in the host is nothing that the drive takes its time for");
}

#[test]
fn a_flush_of_sata_overtakes_what_waits() {
    let mut asks: Vec<(Verb, u64)> = (0..40).map(|at| (Verb::Read, at << 20)).collect();
    asks.push((Verb::Flush, 0));
    let (ends, _) = ends(Plain::new(1 << 30).speaking_ata(), &asks);
    let order: Vec<u64> = ends.into_iter().map(|(token, _)| token).collect();
    assert_eq!(order, [(0..32).collect::<Vec<_>>(), vec![40], (32..40).collect()].concat());
}

/// Of what is to be forced to the medium, and of other writes that wait for room: what the drive is asked, and when the first ends.
fn forced(drive: Plain) -> (Vec<(Verb, u64)>, usize, u64) {
    let mut members = Members::new(vec![drive], 0, MOST_BYTES, 0);
    (0..33).for_each(|at| members.submit(0, Verb::Write, at << 20, 20 * KIB, at));
    let ask = Ask { verb: Verb::Write, fua: true, offset_bytes: 99 << 20, bytes: 20 * KIB, segments: 1 };
    members.ask(0, ask, 99);
    let mut done = Vec::new();
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut done);
    }
    let asked = members.device(0).asked()[32..].iter().map(|(verb, range)| (*verb, range.start >> 20)).collect();
    let ends = done.iter().find(|one| one.token == 99).unwrap();
    (asked, members.device(0).forced().len(), ends.completed_ns / 100_000)
}

/// Of the drive, 0.2 ms for each write and 0.1 ms for a flush.
#[test]
fn behind_what_is_to_be_durable_a_sata_drive_is_flushed() {
    let flushed = forced(Plain::new(1 << 30).speaking_ata());
    // The other has gone before the first has ended, and the flush waits for it.
    assert_eq!(flushed, (vec![(Verb::Write, 99), (Verb::Write, 32), (Verb::Flush, 0)], 0, 69));
    let forced = forced(Plain::new(1 << 30));
    assert_eq!(forced, (vec![(Verb::Write, 32), (Verb::Write, 99)], 1, 68));
}

const S: u64 = 1_000_000_000;

/// When and how a request ends of a drive that answers nothing from `from_s` on, for so long; the host asks again
/// `max_retries` times.
fn ends_at_s(verb: Verb, from_s: u64, for_s: u64, max_retries: u32) -> (u64, Status) {
    let schedule = Schedule { from_ns: from_s * S, for_ns: for_s * S, every_ns: None };
    let stalls = Stall::around(Plain::new(1 << 30), schedule);
    let mut members = Members::new(vec![stalls], from_s * S, MOST_BYTES, max_retries);
    members.submit(0, verb, 0, if verb == Verb::Flush { 0 } else { 4 * KIB }, 1);
    let mut done = Vec::new();
    while done.is_empty() {
        members.step(u64::MAX, &mut done);
    }
    (done[0].completed_ns / S - from_s, done[0].status)
}

/// In the lab, too: abort after 30 s, reset after 60, offline after 70. ZFS hears of the abort, and what it asks for then goes
/// through all of that.
#[test]
fn a_drive_is_offline_when_it_does_not_tell_that_it_is_ready_after_a_reset() {
    assert_eq!(ends_at_s(Verb::Read, 5, 10_000, 5), (70, Status::Gone));
    assert_eq!(ends_at_s(Verb::Flush, 5, 10_000, 5), (130, Status::Gone), "a flush has twice the time");
    assert_eq!(ends_at_s(Verb::Read, 5, 10_000, 0), (30, Status::Aborted));
    assert_eq!(ends_at_s(Verb::Read, 5, 69, 5), (69, Status::Good));
}

/// Busy for so long with whatever it is asked.
struct Busy(Plain, u64);

impl BlockDevice for Busy {
    fn capacity_bytes(&self) -> u64 {
        self.0.capacity_bytes()
    }

    fn queue_depth(&self) -> u32 {
        self.0.queue_depth()
    }

    fn submit(&mut self, _now_ns: u64, request: Request) {
        self.0.submit(self.1, request);
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.0.next_event_ns()
    }

    fn advance(&mut self, to_ns: u64, completions: &mut Vec<Completion>) {
        self.0.advance(to_ns, completions);
    }
}

/// A shingled drive that makes room tells that it is ready.
#[test]
fn a_drive_that_is_only_busy_is_not_set_offline() {
    let mut members = Members::new(vec![Busy(Plain::new(1 << 30), 100 * S)], 0, MOST_BYTES, 5);
    members.submit(0, Verb::Read, 0, 4 * KIB, 1);
    let mut done = Vec::new();
    while done.is_empty() {
        members.step(u64::MAX, &mut done);
    }
    assert_eq!((done[0].completed_ns / S, done[0].status), (100, Status::Good));
}

/// What the first of two drives gets of two writes that follow each other, the first of so much, with so many to the other drive between.
fn parted(bytes: u64, between: u64) -> Vec<u64> {
    let mut members = Members::new(vec![Plain::new(1 << 30); 2], 0, MOST_BYTES, 0);
    members.plug();
    members.submit(0, Verb::Write, 0, bytes, 0);
    (0..between).for_each(|at| members.submit(1, Verb::Write, at << 20, 4 * KIB, at));
    members.submit(0, Verb::Write, bytes, 4 * KIB, 0);
    members.unplug();
    members.device(0).writes().iter().map(|range| (range.end - range.start) / KIB).collect()
}

/// `BLK_MAX_REQUEST_COUNT`, `BLK_PLUG_FLUSH_SIZE`: when there are 32, or the last is of 128 KiB, they go before the next is gathered.
#[test]
fn no_more_is_gathered_than_a_plug_holds() {
    assert_eq!(parted(4 * KIB, 31), [8]);
    assert_eq!(parted(4 * KIB, 32), [4, 4]);
    assert_eq!(parted(124 * KIB, 1), [128]);
    assert_eq!(parted(128 * KIB, 1), [128, 4]);
}

#[test]
fn what_is_forced_to_the_medium_is_put_together_with_nothing_that_is_not() {
    let mut members = Members::new(vec![Plain::new(1 << 30)], 0, MOST_BYTES, 0);
    members.plug();
    for (at, fua) in [false, true, true, false].into_iter().enumerate() {
        let offset_bytes = at as u64 * 4 * KIB;
        members.ask(0, Ask { verb: Verb::Write, fua, offset_bytes, bytes: 4 * KIB, segments: 1 }, 0);
    }
    members.unplug();
    let device = members.device(0);
    assert_eq!((device.writes().len(), device.forced().len()), (3, 1));
    assert_eq!(device.forced()[0], 4 * KIB..12 * KIB);
}

/// Of parts that are answered one after the other the first that failed decides, whatever becomes of the others.
#[test]
fn a_request_fails_with_the_first_of_its_parts_that_does() {
    let read = |bad_parts: &[u64]| {
        let bad = bad_parts.iter().map(|part| part * 128..part * 128 + 1);
        let device = LatentSectors::around(Plain::new(1 << 30), bad, 0, 1_000_000);
        let mut members = Members::new(vec![device], 0, 64 * KIB, 0);
        members.submit(0, Verb::Read, 0, 192 * KIB, 1);
        let mut done = Vec::new();
        while done.is_empty() {
            members.step(u64::MAX, &mut done);
        }
        done[0].status
    };
    let bad = |part: u64| Status::MediumError { offset_bytes: part * 64 * KIB };
    assert_eq!([&[][..], &[0], &[1], &[1, 2]].map(read), [Status::Good, bad(0), bad(1), bad(1)]);
}

#[test]
fn who_is_always_late_is_asked_once_more_than_there_are_retries() {
    const MS: u64 = 1_000_000;
    for max_retries in 0..4 {
        let mut members = Members::new(vec![Plain::new(1 << 30).overtaking(0)], 0, MOST_BYTES, max_retries)
            .with_command_timeout_ns(30 * MS);
        members.submit(0, Verb::Write, 0, 4 * KIB, 1);
        let mut done = Vec::new();
        members.step(20 * MS, &mut done);
        assert_eq!(members.counters(0).longest_silence_ns, 20 * MS, "nothing was heard of it yet");
        while members.now_ns() < 500 * MS {
            members.step(500 * MS, &mut done);
        }
        assert_eq!(members.device(0).writes().len() as u32, 1 + max_retries);
        assert_eq!(done.iter().map(|one| one.status).collect::<Vec<_>>(), [Status::Aborted]);
    }
}

/// The drive takes 100 ms for a flush. When Linux has waited for 20, twice, the drive takes others, whatever it still does.
#[test]
fn a_flush_that_is_given_up_keeps_nobody_from_a_sata_drive() {
    const MS: u64 = 1_000_000;
    let slow = Plain::new(1 << 30).overtaking(0).speaking_ata();
    let mut members = Members::new(vec![slow], 0, MOST_BYTES, 1).with_command_timeout_ns(10 * MS);
    members.submit(0, Verb::Flush, 0, 0, 0);
    members.submit(0, Verb::Read, 1 << 20, 4 * KIB, 1);
    let mut done = Vec::new();
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut done);
    }
    let ends: Vec<_> = done.iter().map(|one| (one.token, one.completed_ns / MS, one.status)).collect();
    assert_eq!(ends, [(0, 40, Status::Aborted), (1, 40, Status::Good)]);
    assert_eq!(members.counters(0).longest_command_ns, 20 * MS, "nobody waited longer for any");
    assert_eq!(members.in_flight(0), 0);
}

/// It is asked for while the drive still reads. The kernel counts from there; the drive has had it since the read is answered.
#[test]
fn what_a_flush_waited_for_others_is_no_time_of_the_drive() {
    let mut members = Members::new(vec![Plain::new(1 << 30).speaking_ata()], 0, MOST_BYTES, 1);
    members.submit(0, Verb::Read, 0, 4 * KIB, 0);
    members.submit(0, Verb::Flush, 0, 0, 1);
    let mut done = Vec::new();
    while members.next_event_ns().is_some() {
        members.step(u64::MAX, &mut done);
    }
    let ends_ns: Vec<_> = done.iter().map(|one| one.completed_ns).collect();
    let counters = members.counters(0);
    assert!(0 < ends_ns[0] && ends_ns[0] < ends_ns[1], "{ends_ns:?}");
    assert_eq!(counters.longest_flush_ns, ends_ns[1] - ends_ns[0]);
    assert_eq!(counters.longest_flush_asked_ns, ends_ns[1]);
}

/// It stalls for ten minutes with a flush that stands alone. When it is set offline nobody waits for anything of it.
#[test]
fn a_sata_drive_that_is_set_offline_has_no_flush_left() {
    let schedule = Schedule { from_ns: 0, for_ns: 600 * S, every_ns: None };
    let stalls = Stall::around(Plain::new(1 << 30).speaking_ata(), schedule);
    let mut members = Members::new(vec![stalls], 0, MOST_BYTES, 5);
    members.submit(0, Verb::Flush, 0, 0, 0);
    let mut done = Vec::new();
    while done.is_empty() {
        members.step(1000 * S, &mut done);
    }
    assert_eq!((done[0].status, members.in_flight(0)), (Status::Gone, 0));
    let silence_ns = members.counters(0).longest_silence_ns;
    while members.step(1000 * S, &mut done) < 1000 * S {}
    assert_eq!(members.counters(0).longest_silence_ns, silence_ns);
}
