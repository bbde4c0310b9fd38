//! Who waits for whom, and for how long: what a drive does in one piece is what everybody else has to wait for.

use crate::rig::{profile, Host};
use drive::faults::{Schedule, Stall};
use drive::{BlockDevice, CleaningDriven, Completion, Drive, Profile, Request, Truth, Verb};

const S: u64 = 1_000_000_000;

fn turn_ns(profile: &Profile) -> f64 {
    60e9 / profile.rpm()
}

/// Turns that a read waits for which comes when the first operation of a pass has just begun.
fn turns_behind_the_first_operation(merge_tracks: u64) -> f64 {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    let track_bytes = profile.geometry.outer_track_bytes;
    let shingled = profile.shingled.as_mut().unwrap();
    let idle_ns = (shingled.cleaning.idle_ms * 1e6) as u64;
    (shingled.cleaning.merge_bytes, shingled.cleaning.finishes_phase) = (merge_tracks * track_bytes, false);
    assert!(shingled.tracks_per_band > 14);
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, 0, 4096, true);
    let (seeks, dirty) = (host.drive.truth().seeks, host.drive.truth().dirty_bands);
    host.pause(idle_ns);
    while host.drive.truth().seeks == seeks {
        host.pause(S / 1000);
    }
    assert_eq!((dirty, host.drive.truth().bands_cleaned), (1, 0), "it is under way");
    let took_ns = host.ask(Verb::Read, 64 * track_bytes, 4096, false);
    took_ns as f64 / turn_ns(&profile)
}

#[test]
fn nobody_waits_longer_for_cleaning_than_the_merge_buffer_is_large() {
    for tracks in [3, 6] {
        let passed = turns_behind_the_first_operation(tracks);
        // The tracks with their skews; the way there and back, and a turn of waiting at either end.
        let (least, most) = (tracks as f64 - 0.5, 1.25 * tracks as f64 + 2.5);
        assert!((least..most).contains(&passed), "{passed} turns behind {tracks} tracks");
    }
}

#[test]
fn cleaning_under_pressure_gives_way_after_each_operation() {
    let mut profile = profile("canvio-3tb").scaled(1000).unwrap();
    profile.interface.bridge = None;
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.driven, cleaning.idle_ms, cleaning.finishes_band) = (CleaningDriven::Pressure, 0.0, false);
    let mut host = Host::new(&profile);
    let mut offsets = sim::stream(1, "offsets");
    let slots = profile.capacity_bytes() / 4096;
    for _ in 0..60 {
        host.ask(Verb::Write, offsets.below(slots) * 4096, 4096, true);
    }
    let before = host.drive.truth();
    assert!(before.dirty_bands > 20, "{before:?}");
    for _ in 0..20 {
        host.ask(Verb::Read, offsets.below(slots) * 4096, 4096, false);
    }
    let after = host.drive.truth();
    // A band takes three operations at least: reading, collecting, writing.
    let cleaned = after.bands_cleaned - before.bands_cleaned;
    assert!((1..=20 / 3 + 1).contains(&cleaned), "{cleaned} bands while 20 reads were answered");
}

/// A drive that cleans under pressure, whose bands take three operations each: reading, collecting one piece, writing.
fn in_three_operations() -> Profile {
    let mut profile = profile("canvio-3tb").scaled(1000).unwrap();
    profile.interface.bridge = None;
    let track_bytes = profile.geometry.outer_track_bytes;
    let shingled = profile.shingled.as_mut().unwrap();
    let cleaning = &mut shingled.cleaning;
    (cleaning.driven, cleaning.idle_ms, cleaning.finishes_band) = (CleaningDriven::Pressure, 0.0, false);
    (cleaning.merge_on_disk, cleaning.merge_bytes) = (false, shingled.tracks_per_band * track_bytes);
    profile
}

/// What the host got done, and how many bands were cleaned, while it asked for something at `depth` all the time.
fn without_a_rest(verb: Verb, depth: u32, turns: impl Fn(&Truth) -> u64) -> (u64, u64) {
    let profile = in_three_operations();
    let mut host = Host::new(&profile);
    let mut offsets = sim::stream(2, "offsets");
    let mut anywhere = move || offsets.below(profile.capacity_bytes() / 4096) * 4096;
    (0..80).for_each(|_| _ = host.ask(Verb::Write, anywhere(), 4096, true));
    let mut ask = |host: &mut Host, tag| {
        let request = Request { tag, verb, fua: true, offset_bytes: anywhere(), bytes: 4096 };
        host.drive.submit(host.now_ns, request);
    };
    let (before, mut done) = (host.drive.truth(), Vec::<Completion>::new());
    (0..depth).for_each(|tag| ask(&mut host, tag));
    while turns(&host.drive.truth()) - turns(&before) < 48 {
        host.now_ns = host.drive.next_event_ns().unwrap();
        host.drive.advance(host.now_ns, &mut done);
        done.drain(..).for_each(|completion| ask(&mut host, completion.tag));
    }
    let after = host.drive.truth();
    assert!(after.dirty_bands > 0 && after.forced_passes == 0, "{after:?}");
    (turns(&after) - turns(&before), after.bands_cleaned - before.bands_cleaned)
}

/// Neither starves, however many requests wait: the heads do one thing for the host and one for cleaning.
#[test]
fn under_pressure_host_and_cleaning_work_in_turns_at_any_depth() {
    for depth in [1, 2, 8, 32] {
        let reads = without_a_rest(Verb::Read, depth, |truth| truth.completed - truth.dram_read_hits);
        let writes = without_a_rest(Verb::Write, depth, |truth| truth.cache_visits);
        for (turns, cleaned) in [reads, writes] {
            assert!(turns.abs_diff(3 * cleaned) <= 6, "{depth} in flight: {turns} turns, {cleaned} bands");
        }
    }
}

/// The least that a stream's durable write takes, whatever the angle at which it is asked for, in turns.
fn least_turns(profile: &Profile, before: Option<u64>, offset_bytes: u64) -> f64 {
    let bytes = profile.shingled.as_ref().unwrap().streams.min_run_bytes;
    let took_turns = |phase: f64| {
        let mut host = Host::new(profile);
        if let Some(offset_bytes) = before {
            host.ask(Verb::Write, offset_bytes, bytes, true);
        }
        host.ask(Verb::Read, profile.capacity_bytes() / 8192 * 4096, 4096, false);
        host.pause((phase * turn_ns(profile)) as u64);
        let took_ns = host.ask(Verb::Write, offset_bytes, bytes, true);
        assert_eq!(host.drive.truth().cached_bytes, 0, "it bypasses the cache");
        took_ns as f64 / turn_ns(profile)
    };
    (0..64).map(|phase| took_turns(f64::from(phase) / 64.0)).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_stream_that_enters_within_a_track_merges_it_in_a_turn_and_going_on_costs_none() {
    let mut profile = profile("wd40efax").scaled(20).unwrap();
    let track_bytes = profile.geometry.outer_track_bytes;
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.streams.min_request_bytes, shingled.streams.min_run_bytes) = (65_536, 65_536);
    let band_bytes = shingled.tracks_per_band * track_bytes;
    for track in [0, 1, 5] {
        let begins = 3 * band_bytes + track * track_bytes;
        let within = begins + track_bytes / 8192 * 4096;
        let at_border = least_turns(&profile, None, begins);
        let merged = least_turns(&profile, None, within) - at_border;
        let going_on = least_turns(&profile, Some(within - 65_536), within) - at_border;
        assert!((merged - 1.0).abs() < 0.1 && going_on.abs() < 0.1, "track {track}: {merged} and {going_on} turns");
    }
}

#[test]
fn a_flush_waits_for_what_is_on_its_way_to_the_platters() {
    for name in ["st12000vn0007", "wd40efax"] {
        let mut profile = profile(name).scaled(100).unwrap();
        profile.dram.write_back = true;
        for after_ms in 0..60 {
            let mut host = Host::new(&profile);
            host.ask(Verb::Read, profile.capacity_bytes() / 4096 / 2 * 4096, 4096, false);
            host.ask(Verb::Write, 0, 4096, false);
            host.pause(after_ms * S / 1000);
            host.ask(Verb::Flush, 0, 0, false);
            let lost = host.drive.power_loss(host.now_ns);
            assert!(lost.ranges.is_empty(), "{name}: a flush {after_ms} ms after the write leaves {:?}", lost.ranges);
        }
    }
}

#[test]
fn small_writes_that_go_on_with_a_large_one_do_not_make_a_stream_of_it() {
    let mut host = Host::new(&profile("wd40efax").scaled(100).unwrap());
    host.ask(Verb::Write, 0, 1 << 20, false);
    host.stream(Verb::Write, 1 << 20, 4096, 4096);
    host.ask(Verb::Flush, 0, 0, false);
    assert_eq!(host.drive.truth().stream_bytes, 0, "16 MiB in writes of 4 KiB are no run of large writes");
    host.stream(Verb::Write, 64 << 20, 1 << 20, 32);
    host.ask(Verb::Flush, 0, 0, false);
    assert!(host.drive.truth().stream_bytes > 16 << 20, "{:?}", host.drive.truth());
}

#[test]
fn a_request_that_meets_a_stall_is_worked_on_behind_it() {
    let profile = profile("st12000vn0007").scaled(100).unwrap();
    let mut device = Stall::around(Drive::new(&profile, 1), Schedule { from_ns: S, for_ns: 2 * S, every_ns: None });
    let mut done = Vec::new();
    for (tag, share) in [(0, 1), (1, 3), (2, 2), (3, 4)] {
        let offset_bytes = profile.capacity_bytes() / 5 * share / 4096 * 4096;
        device.submit(S + S / 2, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
    }
    device.advance(10 * S, &mut done);
    let last_ns = done.iter().map(|done| done.completed_ns).max().unwrap();
    assert_eq!(done.len(), 4);
    assert!(last_ns > 3 * S + S / 100, "four seeks behind the stall, and none within it: {last_ns}");
}

#[test]
fn a_trim_keeps_the_physical_sectors_of_which_it_takes_a_part() {
    let mut host = Host::new(&profile("canvio-3tb").scaled(1000).unwrap());
    host.ask(Verb::Write, 0, 12_288, true);
    assert_eq!(host.drive.truth().cached_bytes, 12_288);
    host.ask(Verb::Trim, 512, 12_288 - 1024, false);
    assert_eq!(host.drive.truth().cached_bytes, 8192, "the first and the last hold something of worth");
}

#[test]
fn what_was_trimmed_and_written_again_is_read_when_its_band_is_cleaned() {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cleaning.merge_on_disk, shingled.cleaning.merge_whole) = (false, false);
    let band_bytes = shingled.tracks_per_band * profile.geometry.outer_track_bytes;
    let cleaning_ns = |written_again: bool| {
        let mut host = Host::new(&profile);
        host.ask(Verb::Trim, 0, 4 * band_bytes, false);
        if written_again {
            host.stream(Verb::Write, 0, 1 << 20, (3 * band_bytes) >> 20);
            host.ask(Verb::Flush, 0, 0, false);
            host.pause(3600 * S);
        }
        let cleaned = host.drive.truth().bands_cleaned;
        host.ask(Verb::Write, band_bytes, 4096, true);
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned == cleaned {
            host.pause(S / 1000);
        }
        host.now_ns - from_ns
    };
    assert!(cleaning_ns(true) > cleaning_ns(false) + S / 10);
}

/// What the heads would pass before it is there does not keep them from what is: a long write takes more than a turn to come in.
#[test]
fn what_would_have_passed_before_it_is_there_is_not_next() {
    let profile = profile("wd40efrx");
    for number in 1..64_u32 {
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, 0, 4096, true);
        let write = |tag, offset_bytes, bytes| Request { tag, verb: Verb::Write, fua: true, offset_bytes, bytes };
        host.drive.submit(host.now_ns, write(1, 1 << 30, 4096));
        host.drive.submit(host.now_ns, write(2, u64::from(number) * (20 << 20), 4096));
        host.drive.submit(host.now_ns, write(3, (1 << 30) + (1 << 20), 8 << 20));
        let mut done = Vec::new();
        while done.len() < 3 {
            host.drive.advance(host.drive.next_event_ns().unwrap(), &mut done);
        }
        let order: Vec<u32> = done.iter().map(|completion| completion.tag).collect();
        assert_eq!(order.last(), Some(&3), "{number}: {order:?}");
    }
}

/// What is written behind a flush and right beside what it waits for is none of its concern, also while an older flush waits.
#[test]
fn the_later_of_two_flushes_waits_for_nothing_written_after_it() {
    let profile = profile("st12000vn0007");
    assert!(profile.dram.write_back);
    let flushed_ns = |written_after: u64| {
        let mut drive = Drive::new(&profile, 1);
        let request = |tag, verb, offset_bytes, bytes| Request { tag, verb, fua: false, offset_bytes, bytes };
        // The heads are away for a while.
        drive.submit(0, request(0, Verb::Read, profile.capacity_bytes() / 8192 * 4096, 4096));
        drive.submit(0, request(1, Verb::Write, 0, 4096));
        drive.submit(0, request(2, Verb::Flush, 0, 0));
        drive.submit(0, request(3, Verb::Write, 1 << 30, 4096));
        drive.submit(0, request(4, Verb::Flush, 0, 0));
        if written_after > 0 {
            drive.submit(0, request(5, Verb::Write, (1 << 30) + 4096, written_after));
        }
        let mut done: Vec<Completion> = Vec::new();
        loop {
            if let Some(flushed) = done.iter().find(|completion| completion.tag == 4) {
                return flushed.completed_ns;
            }
            drive.advance(drive.next_event_ns().unwrap(), &mut done);
        }
    };
    assert_eq!(flushed_ns(0), flushed_ns(4 << 20));
}

/// Data in DRAM rests for as long as ever where a band is to be cleaned, which takes a longer silence.
#[test]
fn what_waits_for_a_long_silence_does_not_keep_dram_from_a_short_one() {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    (profile.dram.destage_idle_ms, profile.shingled.as_mut().unwrap().cleaning.idle_ms) = (200.0, 3000.0);
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, 0, 4096, true);
    host.ask(Verb::Write, 1 << 30, 4096, false);
    let dirty = |host: &mut Host, pause_ms: u64| {
        host.pause(pause_ms * S / 1000);
        (host.drive.truth().dram_dirty_bytes, host.drive.truth().dirty_bands)
    };
    assert_eq!([dirty(&mut host, 150), dirty(&mut host, 1000)], [(4096, 1), (0, 2)]);
}

/// A band is being finished, which takes many operations, while a long read from DRAM is on the link and another waits for the heads. A
/// host that lets time pass up to the answer finds the drive as one that looked at each event: what comes after the answer has not begun.
#[test]
fn cleaning_is_no_further_when_an_answer_comes_than_the_heads_are() {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    let track_bytes = profile.geometry.outer_track_bytes;
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.finishes_band, cleaning.merge_bytes, cleaning.idle_ms) = (true, track_bytes, 100.0);
    let mut host = Host::new(&profile);
    host.ask(Verb::Read, 1 << 30, 64 << 20, false);
    host.ask(Verb::Write, 0, 4096, true);
    let seeks = host.drive.truth().seeks;
    while host.drive.truth().seeks == seeks {
        host.pause(S / 1000);
    }
    let hits = host.drive.truth().dram_read_hits;
    let read = |tag, offset_bytes, bytes| Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes };
    host.drive.submit(host.now_ns, read(1, 1 << 30, 64 << 20));
    host.drive.submit(host.now_ns, read(2, 1 << 32, 4096));
    assert_eq!(host.drive.truth().dram_read_hits, hits + 1);
    let mut looking = host.drive.clone();
    let (mut done, mut seen) = (Vec::new(), Vec::new());
    let answered_ns = host.drive.advance_to_completion(host.now_ns + 60 * S, &mut done);
    while seen.is_empty() {
        looking.advance(looking.next_event_ns().unwrap(), &mut seen);
    }
    assert_eq!((done[0].tag, &done), (1, &seen));
    assert!(answered_ns > host.now_ns + S / 20, "some operations lie before");
    assert_eq!((host.drive.truth(), looking.truth().bands_cleaned), (looking.truth(), 0));
}

/// While a durable write is on its way to the platters, whatever comes: a flush does not hasten its answer, and a read of it needs no
/// heads.
#[test]
fn what_is_on_its_way_is_not_durable_and_is_read_from_dram() {
    let profile = profile("st12000vn0007");
    let after = |verb: Option<Verb>, wait_ns: u64| {
        let mut drive = Drive::new(&profile, 1);
        let request = |tag, verb, fua, bytes| Request { tag, verb, fua, offset_bytes: 1 << 40, bytes };
        drive.submit(0, request(0, Verb::Write, true, 4096));
        let mut done = Vec::<Completion>::new();
        drive.advance(wait_ns, &mut done);
        if let Some(verb) = verb {
            drive.submit(wait_ns, request(1, verb, verb == Verb::Write, if verb == Verb::Flush { 0 } else { 4096 }));
        }
        while !done.iter().any(|completion| completion.tag == 0) {
            drive.advance(drive.next_event_ns().unwrap(), &mut done);
        }
        (done.iter().find(|completion| completion.tag == 0).unwrap().completed_ns, drive.truth().dram_read_hits)
    };
    let (alone_ns, _) = after(None, 0);
    for wait_ns in (1..10).map(|tenth| tenth * alone_ns / 10) {
        assert_eq!(after(Some(Verb::Flush), wait_ns).0, alone_ns, "{wait_ns}");
        assert_eq!(after(Some(Verb::Write), wait_ns).0, alone_ns, "{wait_ns}: it waits for no newer one");
        assert_eq!(after(Some(Verb::Read), wait_ns), (alone_ns, 1), "{wait_ns}");
    }
}

/// Who waits for something to be durable keeps nobody from DRAM who does not.
#[test]
fn a_write_is_taken_into_dram_at_once_while_others_wait_to_be_durable() {
    for name in ["st12000vn0007", "wd40efax"] {
        let mut profile = profile(name).scaled(100).unwrap();
        profile.dram.write_back = true;
        let answered_ns = |before: &[(Verb, bool, u64)]| {
            let mut drive = Drive::new(&profile, 1);
            let request = |tag, (verb, fua, bytes), offset_bytes| Request { tag, verb, fua, offset_bytes, bytes };
            // The heads are away for a while.
            drive.submit(0, request(0, (Verb::Read, false, 4096), profile.capacity_bytes() / 8192 * 4096));
            for (tag, one) in (1..).zip(before) {
                drive.submit(0, request(tag, *one, u64::from(tag) << 24));
            }
            drive.submit(S / 1000, request(9, (Verb::Write, false, 4096), 0));
            let mut done = Vec::<Completion>::new();
            while drive.next_event_ns().is_some() {
                drive.advance(drive.next_event_ns().unwrap(), &mut done);
            }
            let at = done.iter().position(|one| one.tag == 9).unwrap();
            assert_eq!(at, before.iter().filter(|(verb, fua, _)| *verb == Verb::Write && !fua).count(), "{name}");
            done[at].completed_ns
        };
        let (write, durable, flush) = ((Verb::Write, false, 4096), (Verb::Write, true, 4096), (Verb::Flush, false, 0));
        let alone_ns = answered_ns(&[]);
        for before in [[write, flush], [durable, write], [durable, flush]] {
            assert_eq!(answered_ns(&before), alone_ns, "{name}: {before:?}");
        }
    }
}

/// DRAM holds a sector within a physical one. What lies on either side of it comes with one passing of that, as where it holds none.
#[test]
fn a_physical_sector_is_read_once_whatever_dram_holds_of_it() {
    let mut profile = profile("st12000vn0007");
    profile.dram.destage_idle_ms = 1e6;
    let took_ns = |written_bytes: u64| {
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, (1 << 30) + 1024, 512, false);
        host.ask(Verb::Write, (1 << 31) + 1024, 512, false);
        host.ask(Verb::Read, 0, 4096, false);
        host.now_ns = S;
        host.ask(Verb::Read, written_bytes, 4096, false)
    };
    // Places side by side, so the second begins a sector's time later.
    let sector_ns = turn_ns(&profile) * 4096.0 / profile.geometry.outer_track_bytes as f64;
    let (beside_ns, within_ns) = (took_ns((1 << 30) + 4096), took_ns(1 << 30));
    assert!((beside_ns as f64 - within_ns as f64 - sector_ns).abs() < 0.2 * sector_ns, "{beside_ns} and {within_ns}");
}

/// DRAM is full of what lies far away, a write waits for room, and reads come all the time, of which each lies nearer.
#[test]
fn who_waits_for_room_does_not_starve_behind_what_is_nearer() {
    let mut profile = profile("st12000vn0007");
    (profile.dram.write_segments, profile.dram.destage_idle_ms) = (16, 1e6);
    let starvation_ns = (profile.queue.starvation_ms * 1e6) as u64;
    let (mut drive, mut offsets) = (Drive::new(&profile, 1), sim::stream(4, "offsets"));
    let request = |tag, verb, offset_bytes| Request { tag, verb, fua: false, offset_bytes, bytes: 4096 };
    let mut read = |tag| request(tag, Verb::Read, offsets.below(1 << 18) * 4096);
    // So many are written out at once that DRAM is no more than half full.
    (1..16).for_each(|tag| drive.submit(0, read(tag)));
    (100..117).for_each(|tag| drive.submit(0, request(tag, Verb::Write, u64::from(tag) * (1 << 36))));
    let mut done: Vec<Completion> = Vec::new();
    let (mut others, mut now_ns) = (0, 0);
    while done.iter().all(|one| one.tag != 116) {
        let reads = done.drain(..).filter(|one| one.tag < 100);
        reads.for_each(|one| {
            others += 1;
            drive.submit(now_ns, read(one.tag));
        });
        now_ns = drive.next_event_ns().unwrap();
        assert!(now_ns < starvation_ns + 100_000_000, "{others} others went before it");
        drive.advance(now_ns, &mut done);
    }
    assert!(now_ns > starvation_ns && others > 100, "{now_ns} ns, {others} others");
}

/// A durable write is on its way to the platters, when another grows together with what lies beside it and has been in DRAM for longer.
/// All of that is as old as its oldest part, so the durable write waits for it, and it goes.
#[test]
fn what_a_durable_write_waits_for_goes_also_where_it_has_grown_meanwhile() {
    let mut profile = profile("st12000vn0007");
    profile.dram.destage_idle_ms = 1e6;
    let mut drive = Drive::new(&profile, 1);
    let write = |tag, fua, block: u64, blocks: u64| Request {
        tag,
        verb: Verb::Write,
        fua,
        offset_bytes: (1 << 40) + block * 4096,
        bytes: blocks * 4096,
    };
    drive.submit(0, write(0, false, 2, 1));
    drive.submit(0, write(1, true, 0, 1));
    let mut done = Vec::<Completion>::new();
    drive.advance(S / 1000, &mut done);
    drive.submit(S / 1000, write(2, false, 0, 3));
    while done.len() < 3 {
        drive.advance(drive.next_event_ns().expect("the durable write is answered some time"), &mut done);
    }
    assert_eq!((done[2].tag, drive.truth().dram_dirty_bytes), (1, 0));
}

/// Behind a read lies a block that is cached: up to there the heads read on, and that the host gives up the block does not keep them.
#[test]
fn a_trim_of_what_reading_on_does_not_come_to_leaves_it_alone() {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    (profile.mechanics.park_after_s, profile.dram.read_ahead_bytes) = (0.0, 1 << 20);
    let mut host = Host::new(&profile);
    let (read, cached) = (1 << 30, (1 << 30) + (256 << 10));
    host.ask(Verb::Write, cached, 4096, true);
    host.ask(Verb::Read, read, 4096, false);
    host.ask(Verb::Trim, cached, 4096, false);
    host.pause(S / 10);
    host.ask(Verb::Read, cached - 4096, 4096, false);
    assert_eq!(host.drive.truth().dram_read_hits, 1, "the last block before it");
    host.ask(Verb::Read, cached + 4096, 4096, false);
    assert_eq!(host.drive.truth().dram_read_hits, 1, "none behind it");
}
