//! A stream of writes that passes at once up to some time leaves the drive as one that is asked for one by one: in what it has answered
//! by then, and in what it does afterwards, whenever that time is.

use crate::rig::profile;
use drive::{BlockDevice, CleaningDriven, Completion, Drive, Profile, Request, Truth, Verb, Writes};

/// A host that writes one behind the other, with so many in flight.
#[derive(Clone, Copy, Debug)]
struct Stream {
    bytes: u64,
    depth: u32,
    count: u64,
    fua: bool,
}

/// What the host hears, and what the drive is at some time after.
type Seen = (Vec<Completion>, Vec<Truth>);

/// Plays a stream up to `limit_ns`, when the host asks for something else or for nothing more; returns how many passed at once, too.
fn play(profile: &Profile, stream: &Stream, limit_ns: u64, at_once: bool, reads: bool) -> (Seen, u64) {
    let mut drive = Drive::new(profile, 5);
    let (mut free, mut all): (Vec<u32>, Vec<Completion>) = ((0..stream.depth).collect(), Vec::new());
    let (mut asked, mut now_ns, mut passed) = (0, 0, 0);
    while now_ns < limit_ns && (asked < stream.count || free.len() < stream.depth as usize) {
        let mut done = Vec::new();
        if at_once && asked < stream.count {
            let Stream { bytes, fua, .. } = *stream;
            let writes = Writes { offset_bytes: asked * bytes, bytes, fua, most: stream.count - asked, limit_ns };
            let before = free.len();
            now_ns = drive.forward_writes(now_ns, &writes, &mut free, &mut done);
            asked += (done.len() + before - free.len()) as u64;
            passed += done.len() as u64;
        }
        while asked < stream.count {
            let Some(tag) = free.pop() else { break };
            let offset_bytes = asked * stream.bytes;
            drive
                .submit(now_ns, Request { tag, verb: Verb::Write, fua: stream.fua, offset_bytes, bytes: stream.bytes });
            asked += 1;
        }
        all.append(&mut done);
        now_ns = drive.advance_to_completion(limit_ns, &mut done);
        free.extend(done.iter().map(|done| done.tag));
        all.append(&mut done);
    }
    if reads {
        let offset_bytes = profile.capacity_bytes() / 8192 * 4096;
        drive.submit(now_ns, Request { tag: 99, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
    }
    let truths = (0..100).map(|look| {
        drive.advance(now_ns + look * 23_456_789, &mut all);
        drive.truth()
    });
    let truths = truths.collect();
    ((all, truths), passed)
}

/// A drive that such streams meet: with little room or much, short bands, and its own way to clean.
fn met(random: &mut sim::Stream, stream: &Stream) -> Profile {
    let name = ["wd40efax", "st8000as0002", "canvio-3tb"][random.below(3) as usize];
    let mut profile = profile(name).scaled(100).unwrap();
    profile.dram.write_back = random.below(3) > 0;
    let blocks = stream.bytes / 4096 * u64::from(stream.depth);
    profile.dram.write_bytes = (blocks * [2, 3, 5][random.below(3) as usize] / 3 * 4096).max(2 * stream.bytes);
    profile.dram.destage_bytes = profile.dram.destage_bytes.min(stream.bytes * (1 + random.below(4)));
    profile.dram.destage_idle_ms = 50.0;
    let part = profile.shingled.as_mut().unwrap();
    part.tracks_per_band = 3 + random.below(30);
    (part.streams.tracked, part.streams.durable) = (2, true);
    (part.streams.min_request_bytes, part.streams.min_run_bytes) = (4096, [4096, 1 << 20][random.below(2) as usize]);
    part.cleaning.idle_ms = 100.0;
    if random.below(3) == 0 {
        (part.cleaning.driven, part.cleaning.idle_ms) = (CleaningDriven::Pressure, 0.0);
    }
    profile
}

/// Up to so many times, with somebody who reads behind it or nobody; returns how many writes passed at once.
fn passes_as_one_by_one(
    random: &mut sim::Stream,
    profile: &Profile,
    stream: &Stream,
    limits: u64,
    with_readers: bool,
) -> u64 {
    let (whole, _) = play(profile, stream, u64::MAX / 4, false, false);
    let ends_ns = whole.0.last().unwrap().completed_ns;
    let mut passed_at_once = 0;
    for _ in 0..limits {
        // At any time, or just when one is answered, or a moment before or behind that.
        let answered_ns = whole.0[random.below(whole.0.len() as u64) as usize].completed_ns;
        let limit_ns = if random.below(2) == 0 { 1 + random.below(ends_ns) } else { answered_ns + random.below(3) - 1 };
        let reads = with_readers && random.below(2) == 0;
        let (expected, _) = play(profile, stream, limit_ns, false, reads);
        let (found, passed) = play(profile, stream, limit_ns, true, reads);
        passed_at_once += passed;
        assert!(found == expected, "up to {limit_ns} ns: {stream:?} {profile:?}");
    }
    passed_at_once
}

#[test]
fn a_stream_of_writes_that_passes_at_once_up_to_any_time_leaves_the_same_drive() {
    let mut random = sim::stream(1, "streams of writes");
    let mut passed_at_once = 0;
    for _ in 0..120 {
        let stream = Stream {
            bytes: [65_536, 131_072, 524_288, 1 << 20][random.below(4) as usize],
            depth: [1, 2, 4, 8, 16][random.below(5) as usize],
            count: 150,
            fua: random.below(3) == 0,
        };
        let profile = met(&mut random, &stream);
        passed_at_once += passes_as_one_by_one(&mut random, &profile, &stream, 6, true);
    }
    assert!(passed_at_once > 10_000, "only {passed_at_once} passed at once");
}

/// The same where what leaves DRAM at once is more than all that wait, so that they come in and later ones find room or not.
#[test]
fn a_stream_that_sometimes_finds_room_passes_as_one_by_one() {
    let mut random = sim::stream(2, "streams of writes");
    let mut passed_at_once = 0;
    for _ in 0..800 {
        let stream = Stream {
            bytes: [65_536, 131_072, 524_288, 1 << 20][random.below(4) as usize],
            depth: [1, 2, 3, 4, 8][random.below(5) as usize],
            count: 200,
            fua: random.below(6) == 0,
        };
        let mut profile = met(&mut random, &stream);
        profile.dram.write_back = true;
        profile.dram.write_bytes = stream.bytes * (2 + random.below(40)) + 4096 * random.below(2);
        profile.dram.destage_bytes = stream.bytes * (1 + random.below(16)) / (1 + random.below(2));
        profile.dram.write_segments = 2 + random.below(3) * 10;
        profile.interface.rate_mb_s = [40.0, 150.0, 400.0][random.below(3) as usize];
        profile.interface.overhead_us = [50.0, 3000.0][random.below(2) as usize];
        passed_at_once += passes_as_one_by_one(&mut random, &profile, &stream, 3, false);
    }
    assert!(passed_at_once > 10_000, "only {passed_at_once} passed at once");
}
