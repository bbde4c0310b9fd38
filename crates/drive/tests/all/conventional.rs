//! What a conventional drive does, seen through the host's eyes.

use crate::rig::{profile, Host, GIB};
use drive::{BlockDevice, Completion, Drive, Reads, Request, Status, Verb};

#[test]
fn random_reads_wait_half_a_turn_on_average() {
    let mut profile = profile("st12000vn0007");
    profile.mechanics.seek = drive::SeekCurve::Table(vec![[0.0, 1.0], [1.0, 1.0]]);
    let mut host = Host::new(&profile);
    let mut offsets = sim::stream(3, "offsets");
    let count = 20_000;
    let sum_ns: u64 =
        (0..count).map(|_| host.ask(Verb::Read, offsets.below(12_000_000_000_000 / 4096) * 4096, 4096, false)).sum();
    let mean_ms = sum_ns as f64 / f64::from(count) / 1e6;
    let turn_ms = 60_000.0 / 7200.0;
    // Command, seek, half a turn, and a sector under the head.
    let expected_ms = 0.06 + 1.0 + turn_ms / 2.0 + turn_ms / 350.0;
    assert!((mean_ms / expected_ms - 1.0).abs() < 0.02, "{mean_ms} ms instead of {expected_ms}");
}

#[test]
fn streams_lose_only_the_skews() {
    let profile = profile("st12000vn0007");
    let geometry = &profile.geometry;
    let heads = geometry.heads as f64;
    let turns = heads + (geometry.track_skew_degrees * (heads - 1.0) + geometry.cylinder_skew_degrees) / 360.0;
    let expected = heads * geometry.outer_track_bytes as f64 / (turns * 60.0 / geometry.rpm);
    for verb in [Verb::Read, Verb::Write] {
        let mut host = Host::new(&profile);
        // Written data first fills DRAM at the speed of the link.
        let warm = 300_u64;
        host.stream(verb, 0, 1 << 20, warm);
        let from_ns = host.now_ns;
        host.stream(verb, warm << 20, 1 << 20, 3000 - warm);
        let rate = ((3000 - warm) << 20) as f64 / (host.now_ns - from_ns) as f64 * 1e9;
        assert!((rate / expected - 1.0).abs() < 0.01, "{verb:?}: {rate} instead of {expected}");
    }
}

/// Whatever the number of requests in flight, and wherever their answers fall between the next ones on their way.
#[test]
fn small_reads_of_a_stream_lose_no_turns_at_any_depth() {
    for name in ["st4000vn008", "st12000vn0007", "wd40efrx", "hd103uj"] {
        for depth in 1..=8 {
            let mut drive = Drive::new(&profile(name), 1);
            let (mut done, mut next) = (Vec::new(), 0..2000_u64);
            let mut read = |drive: &mut Drive, now_ns, tag| {
                if let Some(index) = next.next() {
                    let offset_bytes = index * 4096;
                    drive.submit(now_ns, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
                }
            };
            (0..depth).for_each(|tag| read(&mut drive, 0, tag));
            let mut ended_ns = 0;
            while let Some(at_ns) = drive.next_event_ns() {
                drive.advance(at_ns, &mut done);
                done.drain(..).for_each(|each: Completion| read(&mut drive, at_ns, each.tag));
                ended_ns = at_ns;
            }
            // A turn takes eight milliseconds and more. Beside the commands there are the skews, and the beginning.
            let most_ns = 2000 / u64::from(depth) * 1_000_000 + 100_000_000;
            assert!(ended_ns < most_ns, "{name}, {depth} in flight: {} ms", ended_ns / 1_000_000);
        }
    }
}

#[test]
fn writes_are_acknowledged_in_dram_and_flushed_to_the_platters() {
    let mut host = Host::new(&profile("st12000vn0007"));
    let quick_ns = host.ask(Verb::Write, GIB, 4096, false);
    assert!(quick_ns < 200_000, "{quick_ns}");
    assert_eq!(host.drive.truth().dram_dirty_bytes, 4096);
    assert!(host.ask(Verb::Read, GIB, 4096, false) < 200_000, "dirty data is read from DRAM");
    assert!(host.ask(Verb::Flush, 0, 0, false) > 500_000);
    assert_eq!(host.drive.truth().dram_dirty_bytes, 0);
    assert!(host.ask(Verb::Flush, 0, 0, false) < 200_000, "nothing is left to flush");
}

#[test]
fn durable_writes_and_a_disabled_cache_wait_for_the_platters() {
    let mut profile = profile("st12000vn0007");
    let mut host = Host::new(&profile);
    assert!(host.ask(Verb::Write, 5 * GIB, 4096, true) > 500_000);
    assert_eq!(host.drive.truth().dram_dirty_bytes, 0);
    profile.dram.write_back = false;
    let mut host = Host::new(&profile);
    assert!(host.ask(Verb::Write, 5 * GIB, 4096, false) > 500_000);
}

#[test]
fn idle_data_is_destaged_without_any_request() {
    let mut host = Host::new(&profile("st12000vn0007"));
    host.ask(Verb::Write, GIB, 4096, false);
    host.pause(1_000_000_000);
    assert_eq!(host.drive.truth().dram_dirty_bytes, 0);
    assert_eq!(host.drive.next_event_ns(), None);
}

#[test]
fn part_of_a_physical_sector_costs_a_turn() {
    let mut aligned = Host::new(&profile("st12000vn0007"));
    let mut partial = Host::new(&profile("st12000vn0007"));
    let whole_ns = aligned.ask(Verb::Write, GIB, 4096, true);
    let part_ns = partial.ask(Verb::Write, GIB, 512, true);
    let turn_ns = 60e9 / 7200.0;
    assert!(((part_ns - whole_ns) as f64 / turn_ns - 1.0).abs() < 0.01);
}

/// A drive whose sectors have 512 bytes keeps nothing of what is written beside them.
#[test]
fn a_small_sector_is_written_without_being_read_first() {
    for name in ["hd103uj", "st31000520as"] {
        let profile = profile(name);
        let mut blocks = Host::new(&profile);
        let mut sectors = Host::new(&profile);
        let block_ns = blocks.ask(Verb::Write, GIB, 4096, true);
        let sector_ns = sectors.ask(Verb::Write, GIB + 512, 512, true);
        let turn_ns = 60e9 / profile.rpm();
        assert!(block_ns.abs_diff(sector_ns) as f64 <= 0.01 * turn_ns, "{name}: {sector_ns} for {block_ns} ns");
    }
}

/// Sixteen writes with a sector left out between each two, as a pool's padding leaves it, pass under the head in one go.
#[test]
fn a_sector_that_is_left_out_costs_no_turn() {
    let profile = profile("hd103uj");
    let flushed_ns = |gap_bytes: u64| {
        let mut host = Host::new(&profile);
        (0..16).for_each(|at| {
            host.ask(Verb::Write, GIB + at * (65536 + gap_bytes), 65536, false);
        });
        host.ask(Verb::Flush, 0, 0, false)
    };
    let turn_ns = (60e9 / profile.rpm()) as u64;
    assert!(flushed_ns(512) < flushed_ns(4096) + turn_ns, "{} and {} ns", flushed_ns(512), flushed_ns(4096));
}

#[test]
fn parked_heads_take_their_time() {
    let mut profile = profile("wd40efrx");
    profile.mechanics.park_after_s = 10.0;
    let mut host = Host::new(&profile);
    host.ask(Verb::Read, GIB, 4096, false);
    host.pause(60_000_000_000);
    let parked_ns = host.ask(Verb::Read, 2 * GIB, 4096, false);
    assert!(parked_ns as f64 > profile.mechanics.unpark_ms * 1e6);
    assert_eq!(host.drive.truth().unparks, 2, "once at first, once after the pause");
    assert!(host.ask(Verb::Read, GIB, 4096, false) < 60_000_000);
}

#[test]
fn a_queue_is_served_faster_than_one_at_a_time() {
    let profile = profile("st12000vn0007");
    let serve = |depth: u32| {
        let mut drive = Drive::new(&profile, 1);
        let mut offsets = sim::stream(5, "offsets");
        let mut submit = |drive: &mut Drive, now_ns: u64, tag: u32| {
            let offset_bytes = offsets.below(drive.capacity_bytes() / 4096) * 4096;
            drive.submit(now_ns, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
        };
        (0..depth).for_each(|tag| submit(&mut drive, 0, tag));
        let mut done: Vec<Completion> = Vec::new();
        for _ in 0..2000 {
            while done.is_empty() {
                let event_ns = drive.next_event_ns().unwrap();
                drive.advance(event_ns, &mut done);
            }
            let first = done.remove(0);
            submit(&mut drive, first.completed_ns, first.tag);
        }
        drive.truth().completed as f64 / drive.next_event_ns().unwrap() as f64
    };
    assert!(serve(32) > 2.0 * serve(1));
}

#[test]
fn what_lies_outside_is_refused() {
    let mut drive = Drive::new(&profile("st12000vn0007"), 1);
    let capacity = drive.capacity_bytes();
    let mut done = Vec::new();
    for (tag, (offset_bytes, bytes)) in
        [(capacity, 512), (0, capacity + 512), (100, 512), (0, 100), (u64::MAX - 511, 512)].into_iter().enumerate()
    {
        drive.submit(0, Request { tag: tag as u32, verb: Verb::Write, fua: false, offset_bytes, bytes });
    }
    drive.advance(1_000_000_000, &mut done);
    assert_eq!(done.len(), 5);
    assert!(done.iter().all(|completion| completion.status == Status::OutOfRange));
}

#[test]
fn what_was_read_ahead_is_forgotten_when_it_is_written_or_trimmed() {
    for verb in [Verb::Write, Verb::Trim] {
        let mut host = Host::new(&profile("st12000vn0007"));
        host.ask(Verb::Read, GIB, 4096, false);
        host.pause(5_000_000);
        host.ask(Verb::Read, GIB + 65_536, 4096, false);
        let hits = host.drive.truth().dram_read_hits;
        assert_eq!(hits, 1);
        host.ask(verb, GIB + 65_536, 4096, false);
        host.ask(Verb::Flush, 0, 0, false);
        host.ask(Verb::Read, GIB + 65_536, 4096, false);
        assert_eq!(host.drive.truth().dram_read_hits, hits, "{verb:?}");
    }
}

#[test]
fn a_trim_during_a_read_leaves_nothing_that_was_not_read() {
    let mut host = Host::new(&profile("st12000vn0007"));
    host.drive.submit(0, Request { tag: 1, verb: Verb::Read, fua: false, offset_bytes: GIB, bytes: 1 << 20 });
    host.drive.submit(0, Request { tag: 2, verb: Verb::Trim, fua: false, offset_bytes: GIB + (1 << 20), bytes: 4096 });
    host.drive.submit(0, Request { tag: 3, verb: Verb::Read, fua: false, offset_bytes: GIB, bytes: 4096 });
    let mut done = Vec::new();
    host.drive.advance(1_000_000_000, &mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [2, 1, 3]);
}

#[test]
fn a_trim_drops_its_part_of_a_dirty_extent() {
    let mut host = Host::new(&profile("st12000vn0007"));
    host.ask(Verb::Write, GIB, 1 << 20, false);
    host.ask(Verb::Trim, GIB + 4096, 8192, false);
    assert_eq!(host.drive.truth().dram_dirty_bytes, (1 << 20) - 8192);
    host.ask(Verb::Flush, 0, 0, false);
    assert_eq!(host.drive.truth().dram_dirty_bytes, 0);
}

#[test]
fn a_read_fetches_only_what_dram_does_not_hold() {
    let far = 6_000 * GIB;
    let mut host = Host::new(&profile("st12000vn0007"));
    host.ask(Verb::Read, 0, 4096, false);
    host.ask(Verb::Write, far, 4096, false);
    host.ask(Verb::Write, far + 8192, 1 << 20, false);
    let took_ns = host.ask(Verb::Read, far, 8192 + (1 << 20), false);
    // A seek and a turn at most reach the block between; passing over a MiB would take half a turn more.
    let all = Host::new(&profile("st12000vn0007")).ask(Verb::Read, far, 8192 + (1 << 20), false);
    assert!(took_ns < 60e9 as u64 / 7200 + 15_000_000, "{took_ns}");
    assert!(all > 5_000_000);
    assert_eq!(host.drive.truth().dram_read_hits, 0);
    assert_eq!(host.drive.truth().seeks, 1);
}

#[test]
fn the_ends_of_the_drive_and_sizes_beyond_all_caches_are_served() {
    for profile in [profile("st12000vn0007"), profile("canvio-3tb").scaled(1000).unwrap()] {
        let mut host = Host::new(&profile);
        let capacity = host.drive.capacity_bytes();
        for verb in [Verb::Read, Verb::Write, Verb::Trim] {
            for (offset, bytes) in
                [(capacity - 512, 512), (capacity - 4096, 4096), (capacity, 0), (0, 0), (512, 1536), (0, 5 << 29)]
            {
                host.ask(verb, offset, bytes, verb == Verb::Write);
            }
        }
        host.ask(Verb::Flush, 0, 0, false);
        assert_eq!(host.drive.truth().dram_dirty_bytes, 0);
    }
}

#[test]
fn a_queue_deeper_than_the_drive_says_loses_nothing() {
    let mut drive = Drive::new(&profile("st12000vn0007"), 1);
    let mut offsets = sim::stream(5, "offsets");
    for tag in 0..500 {
        let verb = if tag % 2 == 0 { Verb::Read } else { Verb::Write };
        let offset_bytes = offsets.below(drive.capacity_bytes() / 4096) * 4096;
        drive.submit(0, Request { tag, verb, fua: true, offset_bytes, bytes: 4096 });
    }
    let mut done = Vec::new();
    drive.advance(100_000_000_000, &mut done);
    assert_eq!(done.len(), 500);
}

#[test]
fn a_century_is_no_different() {
    let century_ns = 100 * 365 * 86_400_000_000_000;
    let mut host = Host::new(&profile("st12000vn0007"));
    host.pause(century_ns);
    let took_ns = host.ask(Verb::Read, GIB, 4096, false);
    assert!((100_000..40_000_000).contains(&took_ns), "{took_ns}");
}

#[test]
fn no_answer_comes_before_the_question() {
    let mut profile = profile("wd40efrx");
    profile.interface.overhead_us = 0.0;
    profile.interface.rate_mb_s = 1e6;
    let mut drive = Drive::new(&profile, 1);
    let mut done: Vec<Completion> = Vec::new();
    for now_ns in (0..10_000).map(|step| step * 11) {
        drive.advance(now_ns, &mut done);
        drive.submit(now_ns, Request { tag: 0, verb: Verb::Trim, fua: false, offset_bytes: 0, bytes: 512 });
        assert!(drive.next_event_ns().unwrap() >= now_ns);
        drive.advance(now_ns + 10, &mut done);
        assert!(done.drain(..).all(|done| done.completed_ns >= now_ns));
    }
}

#[test]
fn a_trim_answers_the_durable_write_whose_data_it_drops() {
    let mut host = Host::new(&profile("wd40efrx"));
    for step in 0..1000 {
        let now_ns = step * 1_000_000_007;
        let request = |tag, verb, offset_bytes| Request { tag, verb, fua: true, offset_bytes, bytes: 4096 };
        host.drive.advance(now_ns, &mut Vec::new());
        host.drive.submit(now_ns, request(0, Verb::Read, 3 * GIB + step * GIB / 64));
        host.drive.submit(now_ns, request(1, Verb::Write, 2 * GIB));
        host.drive.submit(now_ns, request(2, Verb::Trim, 2 * GIB));
        assert!(host.drive.next_event_ns().unwrap() > now_ns);
        let mut done = Vec::new();
        host.drive.advance(now_ns + 1_000_000, &mut done);
        let tags: Vec<u32> = done.iter().map(|done| done.tag).collect();
        assert_eq!(tags, [2, 1]);
    }
}

/// Its data is still on the link when a trim, which has none, drops it.
#[test]
fn a_durable_write_is_not_answered_before_all_of_it_has_come() {
    let profile = profile("wd40efrx");
    let bytes = 8 << 20;
    let carried_ns = (bytes as f64 * 1e3 / profile.interface.rate_mb_s) as u64;
    assert!(carried_ns > 10_000_000);
    let mut drive = Drive::new(&profile, 1);
    let request = |tag, verb, offset_bytes, bytes| Request { tag, verb, fua: true, offset_bytes, bytes };
    // The heads are away for a while.
    drive.submit(0, request(2, Verb::Read, 3 * GIB, 4096));
    drive.submit(0, request(0, Verb::Write, 0, bytes));
    drive.submit(0, request(1, Verb::Trim, 0, bytes));
    let mut done = Vec::<Completion>::new();
    while done.len() < 3 {
        drive.advance(drive.next_event_ns().unwrap(), &mut done);
    }
    let written = done.iter().find(|completion| completion.tag == 0).unwrap();
    assert!(written.completed_ns >= carried_ns, "{} ns, and its data takes {carried_ns}", written.completed_ns);
}

#[test]
fn the_link_is_free_while_the_heads_are_on_their_way() {
    let mut host = Host::new(&profile("st12000vn0007"));
    let request = |tag, verb, offset_bytes| Request { tag, verb, fua: false, offset_bytes, bytes: 4096 };
    host.drive.submit(0, request(0, Verb::Read, 6_000 * GIB));
    host.drive.submit(0, request(1, Verb::Write, 0));
    let mut done = Vec::new();
    host.drive.advance(200_000, &mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [1]);
}

/// Whether reads end where tracks do or not, a stream crosses the same skews.
#[test]
fn a_stream_of_whole_tracks_takes_as_long_as_any_other() {
    let profile = profile("st12000vn0007");
    let track_bytes = profile.geometry.outer_track_bytes;
    let stream_ns = |from_bytes: u64, bytes: u64| {
        let mut host = Host::new(&profile);
        host.ask(Verb::Read, from_bytes, 65_536, false);
        host.stream(Verb::Read, from_bytes + 65_536, track_bytes - 65_536, 1);
        let began_ns = host.now_ns;
        host.stream(Verb::Read, from_bytes + track_bytes, bytes, 100 * track_bytes / bytes);
        host.now_ns - began_ns
    };
    let (aligned_ns, astray_ns) = (stream_ns(0, track_bytes), stream_ns(track_bytes / 2 / 4096 * 4096, track_bytes));
    let turn_ns = 60e9 / profile.rpm();
    assert!(aligned_ns.abs_diff(astray_ns) < (turn_ns / 10.0) as u64, "{aligned_ns} and {astray_ns}");
    let skews_turns = 100.0 * profile.geometry.track_skew_degrees / 360.0;
    assert!(aligned_ns as f64 > (100.0 + skews_turns) * turn_ns, "{aligned_ns}");
}

/// The power fails while 2 MiB are on their way: what has passed under the heads is new, the rest is old.
#[test]
fn a_loss_of_power_leaves_what_the_heads_had_written() {
    let profile = profile("st12000vn0007");
    let mut drive = Drive::new(&profile, 1);
    let bytes = 2 << 20;
    drive.submit(0, Request { tag: 1, verb: Verb::Write, fua: true, offset_bytes: GIB, bytes });
    let mut whole = drive.clone();
    let mut done: Vec<Completion> = Vec::new();
    while done.is_empty() {
        let event_ns = whole.next_event_ns().expect("the write is in flight");
        whole.advance(event_ns, &mut done);
    }
    let end_ns = done[0].completed_ns;
    let lost_at = |at_ns: u64| {
        let mut drive = drive.clone();
        drive.advance(at_ns, &mut Vec::new());
        let lost = drive.power_loss(at_ns);
        assert!(lost.ranges.len() <= 1, "{lost:?}");
        lost.ranges.first().cloned().unwrap_or(GIB + bytes..GIB + bytes)
    };
    let turn_ns = (60e9 / profile.rpm()) as u64;
    assert_eq!(lost_at(1), GIB..GIB + bytes);
    assert_eq!(lost_at(end_ns), GIB + bytes..GIB + bytes);
    let mut starts: Vec<u64> = (0..=40)
        .map(|step| end_ns - turn_ns + step * turn_ns / 40)
        .map(lost_at)
        .map(|lost| {
            assert_eq!((lost.end, lost.start % 4096), (GIB + bytes, 0), "a suffix of whole physical sectors");
            lost.start
        })
        .collect();
    assert!(starts.is_sorted());
    starts.dedup();
    assert!(starts.len() > 30, "it goes on all the time: {starts:?}");
    let sector_ns = turn_ns as f64 * 4096.0 / profile.geometry.outer_track_bytes as f64;
    for missing in 1..20 {
        let lost = lost_at(end_ns - ((missing as f64 - 0.5) * sector_ns) as u64);
        assert_eq!(lost.end - lost.start, missing * 4096, "half of the first of {missing} has passed");
    }
}

/// Wherever it begins, a write of small sectors is merged with nothing: of it, too, a suffix is lost.
#[test]
fn a_loss_of_power_leaves_small_sectors_as_the_heads_had_written_them() {
    let mut drive = Drive::new(&profile("hd103uj"), 1);
    let (begin, end) = (GIB + 512, GIB + 512 + (1 << 20));
    drive.submit(0, Request { tag: 1, verb: Verb::Write, fua: true, offset_bytes: begin, bytes: end - begin });
    let mut starts = Vec::new();
    for at_ns in (1..).map(|step| step * 100_000).take_while(|ns| *ns < 40_000_000) {
        let mut cut = drive.clone();
        cut.advance(at_ns, &mut Vec::new());
        let lost = cut.power_loss(at_ns);
        assert!(lost.ranges.iter().all(|range| range.end == end && range.start % 512 == 0), "at {at_ns}: {lost:?}");
        starts.push(lost.ranges.first().map_or(end, |range| range.start));
    }
    assert!(starts.is_sorted() && starts.first() == Some(&begin) && starts.last() == Some(&end));
    starts.dedup();
    assert!(starts.len() > 30, "it goes on all the time: {starts:?}");
}

#[test]
fn what_is_merged_with_the_rest_of_a_physical_sector_is_new_or_old_as_a_whole() {
    let mut drive = Drive::new(&profile("st12000vn0007"), 1);
    drive.submit(0, Request { tag: 1, verb: Verb::Write, fua: true, offset_bytes: GIB + 512, bytes: 1 << 20 });
    for at_ns in (1..).map(|step| step * 100_000).take_while(|ns| *ns < 40_000_000) {
        let mut cut = drive.clone();
        let mut done: Vec<Completion> = Vec::new();
        cut.advance(at_ns, &mut done);
        let lost = cut.power_loss(at_ns);
        match done.len() {
            0 => assert!(lost.ranges.iter().eq([&(GIB + 512..GIB + 512 + (1 << 20))]), "at {at_ns}"),
            _ => assert!(lost.ranges.is_empty(), "it was promised"),
        }
    }
}

/// Others come all the time, and each of them lies nearer: who is far away waits for as long as a profile lets anybody starve, be it a
/// read among durable writes or one such write among reads.
#[test]
fn nobody_starves_behind_what_is_nearer() {
    let profile = profile("st12000vn0007");
    let starvation_ns = (profile.queue.starvation_ms * 1e6) as u64;
    for (far, near) in [(Verb::Read, Verb::Write), (Verb::Write, Verb::Read)] {
        let (mut drive, mut offsets) = (Drive::new(&profile, 1), sim::stream(4, "offsets"));
        let request = |tag, verb, offset_bytes| Request { tag, verb, fua: true, offset_bytes, bytes: 4096 };
        let mut anywhere = || offsets.below(GIB / 4096) * 4096;
        (1..16).for_each(|tag| drive.submit(0, request(tag, near, anywhere())));
        drive.submit(0, request(0, far, profile.capacity_bytes() / 8192 * 4096));
        let mut done: Vec<Completion> = Vec::new();
        let (mut others, mut now_ns) = (0, 0);
        while done.iter().all(|one| one.tag != 0) {
            others += done.len();
            done.drain(..).for_each(|one| drive.submit(now_ns, request(one.tag, near, anywhere())));
            now_ns = drive.next_event_ns().unwrap();
            assert!(now_ns < starvation_ns + 100_000_000, "{far:?}: {others} others went before it");
            drive.advance(now_ns, &mut done);
        }
        assert!(now_ns > starvation_ns && others > 100, "{far:?}: {now_ns} ns, {others} others");
    }
}

/// Reads that pass without going through each complete as they do one by one, and do so only where nothing is slower than the platters:
/// 64 KiB pass in 273 us, and 60 us after the host has asked for them the link carries them in 218 at 300 MB/s and in 164 at 400.
#[test]
fn a_stream_of_reads_passes_in_one_go_no_faster_than_its_link() {
    let mut profile = profile("st12000vn0007");
    let bytes = 64 << 10;
    for (rate_mb_s, passes) in [(50.0, false), (150.0, false), (300.0, false), (400.0, true), (600.0, true)] {
        profile.interface.rate_mb_s = rate_mb_s;
        let mut host = Host::new(&profile);
        host.stream(Verb::Read, 0, bytes, 2);
        // A track has thirty and a half of them: also behind one that crosses to the next, of which the link has its time.
        for index in 2..70 {
            let reads = Reads { offset_bytes: index * bytes, bytes, most: 50, limit_ns: u64::MAX >> 1, least: 1 };
            let mut one_go = host.drive.clone();
            let forwarded = one_go.forward_reads(host.now_ns, &reads, &mut sim::LatencyHistogram::new());
            assert_eq!(forwarded.count > 0, passes, "{rate_mb_s} MB/s: {forwarded:?}");
            let mut one_by_one = Host { drive: host.drive.clone(), now_ns: host.now_ns };
            one_by_one.stream(Verb::Read, index * bytes, bytes, forwarded.count);
            assert_eq!(forwarded.now_ns, one_by_one.now_ns, "{rate_mb_s} MB/s");
            host.ask(Verb::Read, index * bytes, bytes, false);
        }
    }
}

/// Whatever the platters' speed, the latencies of such reads are counted where each would be by itself, also where they lie on either
/// side of a border between two counts.
#[test]
fn reads_that_pass_in_one_go_are_counted_as_each_by_itself() {
    let mut profile = profile("st12000vn0007");
    (profile.geometry.capacity_bytes, profile.geometry.zones) = (1 << 36, 1);
    profile.geometry.inner_track_bytes = profile.geometry.outer_track_bytes;
    let bytes = 256 << 10;
    for step in 0..400 {
        profile.geometry.rpm = 7000.0 + f64::from(step);
        let mut host = Host::new(&profile);
        host.stream(Verb::Read, 0, bytes, 2);
        let reads = Reads { offset_bytes: 2 * bytes, bytes, most: 40, limit_ns: u64::MAX >> 1, least: 1 };
        let (mut found, mut expected) = (sim::LatencyHistogram::new(), sim::LatencyHistogram::new());
        let forwarded = host.drive.clone().forward_reads(host.now_ns, &reads, &mut found);
        assert_eq!(forwarded.count, 40);
        (2..42).for_each(|index| expected.record(host.ask(Verb::Read, index * bytes, bytes, false)));
        for rank in 0..=40 {
            let told = [&found, &expected].map(|latencies| latencies.quantile_ns(f64::from(rank) / 40.0));
            assert_eq!(told[0], told[1], "rank {rank} at {} a minute", profile.geometry.rpm);
        }
    }
}

/// Reads pass at once up to a time, one that completes just then included, and those that leave the drive are not among them.
#[test]
fn reads_pass_in_one_go_to_the_last_that_completes_in_time_and_ends_on_the_drive() {
    let mut profile = profile("st12000vn0007");
    (profile.interface.overhead_us, profile.interface.rate_mb_s) = (0.0, 600.0);
    (profile.geometry.capacity_bytes, profile.geometry.zones) = ((1 << 36) + 512, 8);
    let bytes = 4096;
    let from_bytes = (1 << 36) - 20 * bytes;
    let mut host = Host::new(&profile);
    host.stream(Verb::Read, from_bytes, bytes, 2);
    let mut one_by_one = Host { drive: host.drive.clone(), now_ns: host.now_ns };
    let ends_ns = [(); 18].map(|()| {
        let next = from_bytes + bytes * (2 + (one_by_one.drive.truth().completed - 2));
        one_by_one.ask(Verb::Read, next, bytes, false);
        one_by_one.now_ns
    });
    let passes = |limit_ns: u64| {
        let reads = Reads { offset_bytes: from_bytes + 2 * bytes, bytes, most: 50, limit_ns, least: 1 };
        host.drive.clone().forward_reads(host.now_ns, &reads, &mut sim::LatencyHistogram::new()).count
    };
    assert_eq!(passes(u64::MAX >> 1), 18);
    for (count, ends_ns) in (1..).zip(ends_ns) {
        assert_eq!([ends_ns - 1, ends_ns].map(passes), [count - 1, count]);
    }
}

/// Where the heads read on over less than a read they rest before the next has come, or do not: in one go it is the same.
#[test]
fn a_stream_of_reads_passes_in_one_go_however_far_the_heads_read_on() {
    let mut profile = profile("st12000vn0007");
    let bytes = 64 << 10;
    for ahead_blocks in [0, 1, 2, 4, 8, 12, 15, 16, 17, 64] {
        profile.dram.read_ahead_bytes = ahead_blocks * 4096;
        let mut host = Host::new(&profile);
        host.stream(Verb::Read, 0, bytes, 2);
        let reads = Reads { offset_bytes: 2 * bytes, bytes, most: 50, limit_ns: u64::MAX >> 1, least: 1 };
        let mut one_go = host.drive.clone();
        let forwarded = one_go.forward_reads(host.now_ns, &reads, &mut sim::LatencyHistogram::new());
        let mut one_by_one = Host { drive: host.drive.clone(), now_ns: host.now_ns };
        one_by_one.stream(Verb::Read, 2 * bytes, bytes, forwarded.count);
        assert_eq!(forwarded.now_ns, one_by_one.now_ns, "{ahead_blocks}");
    }
}

/// The heads read on over the second half of what is asked for next: they have to fetch the first alone.
#[test]
fn what_the_heads_read_on_over_is_not_read_again_for_who_begins_before_it() {
    let mut host = Host::new(&profile("st12000vn0007"));
    let bytes = 512 << 10;
    host.ask(Verb::Read, GIB, bytes, false);
    host.pause(100_000_000);
    let mut other = Host { drive: host.drive.clone(), now_ns: host.now_ns };
    let half_ns = other.ask(Verb::Read, GIB - bytes, bytes, false);
    let whole_ns = host.ask(Verb::Read, GIB - bytes, 2 * bytes, false);
    // What the link takes longer.
    assert!(whole_ns < half_ns + 1_500_000, "{whole_ns} and {half_ns}");
}
