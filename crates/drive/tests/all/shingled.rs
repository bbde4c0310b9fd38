//! What a shingled drive does: the persistent cache, its collapse, its recovery, streams, borders, TRIM.

use crate::rig::{profile, Host, GIB};
use drive::{BlockDevice, Profile, Request, Truth, Verb};

const S: u64 = 1_000_000_000;

fn small(name: &str) -> Profile {
    profile(name).scaled(1000).unwrap()
}

fn conserved(truth: &Truth) {
    assert_eq!(truth.bytes_cached, truth.bytes_cleaned + truth.bytes_overwritten + truth.cached_bytes, "{truth:?}");
}

fn random_writes(host: &mut Host, count: u64, seed: u64) -> Vec<u64> {
    let slots = host.drive.capacity_bytes() / 4096;
    let mut offsets = sim::stream(seed, "offsets");
    (0..count).map(|_| host.ask(Verb::Write, offsets.below(slots) * 4096, 4096, true)).collect()
}

#[test]
fn random_writes_collapse_when_the_cache_is_full_and_recover_when_idle() {
    // Large enough that a pass over a few bands does not already reach most of what is cached.
    let mut host = Host::new(&profile("canvio-3tb").scaled(20).unwrap());
    let took_ns = random_writes(&mut host, 34_000, 1);
    let mean = |part: &[u64]| part.iter().sum::<u64>() as f64 / part.len() as f64;
    let (before, after) = (mean(&took_ns[..500]), mean(&took_ns[33_500..]));
    assert!(after > 10.0 * before, "{before} then {after}");
    assert!(took_ns.iter().any(|ns| *ns > S), "single writes wait for a whole pass");
    let full = host.drive.truth();
    assert!(full.forced_passes > 0);
    conserved(&full);
    host.pause(3600 * S);
    let drained = host.drive.truth();
    assert_eq!((drained.cached_bytes, drained.cached_entries, drained.dirty_bands, drained.log_bytes), (0, 0, 0, 0));
    conserved(&drained);
    // The first finds the heads parked.
    let again = random_writes(&mut host, 100, 2).split_off(1);
    assert!(mean(&again) < 2.0 * before);
}

#[test]
fn entries_never_exceed_their_limit() {
    let mut profile = small("st8000as0002");
    let limit = 100;
    profile.shingled.as_mut().unwrap().cache.entries = limit;
    let mut host = Host::new(&profile);
    for seed in 0..20 {
        random_writes(&mut host, 20, seed);
        assert!(host.drive.truth().cached_entries <= limit);
    }
    assert!(host.drive.truth().bands_cleaned > 0);
}

#[test]
fn cleaning_goes_on_in_silence_and_costs_nothing_once_done() {
    let mut host = Host::new(&small("st8000as0002"));
    random_writes(&mut host, 10, 1);
    let dirty = host.drive.truth().dirty_bands;
    assert!(dirty > 5);
    host.pause(S * 3600);
    assert_eq!(host.drive.truth().bands_cleaned, dirty);
    host.pause(S * 3600 * 24 * 365);
    assert_eq!(host.drive.truth().bands_cleaned, dirty);
}

#[test]
fn what_lies_together_in_the_log_is_collected_in_passing() {
    let cleaning_ns = |apart: bool| {
        let mut host = Host::new(&profile("wd40efax"));
        // What others write in between keeps the pieces of the first band half a track from each other.
        let other = |host: &mut Host, index: u64| host.ask(Verb::Write, 100 * GIB + (index << 20), 512 << 10, true);
        let count = 300;
        for index in 0..count {
            host.ask(Verb::Write, index << 15, 1 << 15, true);
            if apart {
                other(&mut host, index);
            }
        }
        if !apart {
            for index in 0..count {
                other(&mut host, index);
            }
        }
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned == 0 {
            host.pause(S / 100);
        }
        host.now_ns - from_ns
    };
    let (together_ns, apart_ns) = (cleaning_ns(false), cleaning_ns(true));
    let collecting_ns = (300.0 * 0.2 * 60.0 / 5400.0 * 1e9) as u64;
    assert!(apart_ns > together_ns + collecting_ns * 8 / 10, "{together_ns} and {apart_ns}");
}

#[test]
fn lazy_cleaning_waits_for_the_high_mark() {
    let mut profile = small("canvio-3tb");
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.when, cleaning.high_mark, cleaning.low_mark) = (drive::CleaningWhen::Lazy, 0.5, 0.2);
    // A pass over many bands would go far below the mark.
    cleaning.bands_per_pass = 1;
    let mut host = Host::new(&profile);
    random_writes(&mut host, 200, 1);
    host.pause(600 * S);
    assert_eq!(host.drive.truth().bands_cleaned, 0);
    random_writes(&mut host, 200, 2);
    host.pause(600 * S);
    let left = host.drive.truth();
    let fill = left.log_bytes as f64 / profile.shingled.as_ref().unwrap().cache.bytes as f64;
    assert!(left.bands_cleaned > 0 && left.cached_entries > 0 && fill < 0.2, "{left:?}");
}

#[test]
fn large_streams_bypass_the_cache_and_small_ones_do_not() {
    let stream = |bytes: u64| {
        let mut host = Host::new(&profile("wd40efax"));
        let total = GIB / 4;
        host.stream(Verb::Write, 0, bytes, total / bytes);
        host.ask(Verb::Flush, 0, 0, false);
        host.drive.truth()
    };
    let large = stream(1 << 20);
    assert!(large.stream_bytes > GIB / 4 - (16 << 20), "{large:?}");
    let little = stream(32 << 10);
    assert_eq!(little.stream_bytes, 0);
    assert_eq!(little.cache_appends, GIB / 4 / (32 << 10), "every write is a packet of its own");
}

#[test]
fn a_stream_that_leaves_its_band_has_the_rest_rewritten() {
    let mut host = Host::new(&profile("wd40efax"));
    host.stream(Verb::Write, 0, 1 << 20, 20);
    host.ask(Verb::Flush, 0, 0, false);
    assert_eq!(host.drive.truth().streams_broken, 0);
    host.pause(60 * S);
    let truth = host.drive.truth();
    assert_eq!((truth.streams_broken, truth.cached_bytes), (1, 0), "{truth:?}");
}

#[test]
fn a_request_over_a_border_belongs_to_both_bands_and_completes_once() {
    let profile = profile("wd40efax");
    let band_bytes = profile.shingled.as_ref().unwrap().tracks_per_band * profile.geometry.outer_track_bytes;
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, band_bytes - 8192, 16_384, true);
    let truth = host.drive.truth();
    assert_eq!((truth.dirty_bands, truth.cached_bytes), (2, 16_384));
    host.ask(Verb::Read, band_bytes - 65_536, 131_072, false);
    host.pause(60 * S);
    assert_eq!(host.drive.truth().bands_cleaned, 2);
}

#[test]
fn trim_drops_what_is_cached_and_spares_the_reading() {
    let profile = small("canvio-3tb");
    let clean = |trimmed: bool| {
        let mut host = Host::new(&profile);
        if trimmed {
            host.ask(Verb::Write, 0, 4096, true);
            host.ask(Verb::Trim, 0, GIB, false);
            let truth = host.drive.truth();
            assert_eq!((truth.cached_bytes, truth.dirty_bands, truth.bytes_overwritten), (0, 0, 4096));
        }
        host.ask(Verb::Write, 4096, 4096, true);
        let from_ns = host.now_ns;
        while host.drive.truth().cached_bytes > 0 {
            host.pause(1_000_000);
        }
        host.now_ns - from_ns
    };
    assert!(clean(false) > clean(true) + S / 10);
}

#[test]
fn a_read_is_assembled_from_cache_and_band() {
    const READS: u64 = 32;
    let mut host = Host::new(&profile("st8000as0002"));
    let mut total_ns = |torn: bool| -> u64 {
        let read = |place: u64| {
            let offset = place * 100 * GIB + (place + 1) * (7 << 20) + if torn { GIB } else { 0 };
            if torn {
                host.ask(Verb::Write, offset + (512 << 10), 4096, true);
            }
            host.ask(Verb::Read, (place + 1) * 200 * GIB, 4096, false);
            host.ask(Verb::Read, offset, 1 << 20, false)
        };
        (0..READS).map(read).sum()
    };
    let (plain_ns, torn_ns) = (total_ns(false), total_ns(true));
    // Where the platter stands evens out over many places.
    assert!(torn_ns > plain_ns + READS * 10_000_000, "{plain_ns} and {torn_ns}: to the log and back takes two seeks");
}

#[test]
fn what_dram_holds_is_not_fetched_from_the_log() {
    let mut host = Host::new(&profile("st8000as0002"));
    host.ask(Verb::Write, 2 * GIB + (512 << 10), 4096, true);
    host.ask(Verb::Write, 2 * GIB + (512 << 10), 4096, false);
    let seeks = host.drive.truth().seeks;
    host.ask(Verb::Read, 2 * GIB, 1 << 20, false);
    let skipped = host.drive.truth().seeks - seeks;
    host.ask(Verb::Flush, 0, 0, false);
    let seeks = host.drive.truth().seeks;
    host.ask(Verb::Read, 2 * GIB + (1 << 20), 4096, false);
    host.ask(Verb::Read, 2 * GIB, 1 << 20, false);
    assert!(skipped <= 2 && host.drive.truth().seeks - seeks >= 3, "{skipped}");
}

#[test]
fn reading_on_does_not_pass_over_what_is_cached() {
    let mut host = Host::new(&profile("st8000as0002"));
    host.ask(Verb::Write, 2 * GIB + (300 << 10), 4096, true);
    host.ask(Verb::Read, 2 * GIB, 256 << 10, false);
    let seeks = host.drive.truth().seeks;
    host.ask(Verb::Read, 2 * GIB + (256 << 10), 256 << 10, false);
    assert_eq!(host.drive.truth().seeks - seeks, 2, "to the log and back");
}

#[test]
fn entries_cut_in_two_do_not_exceed_the_limit() {
    let mut profile = small("canvio-3tb");
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cache.entries, shingled.cache.packet_writes) = (64, 8);
    shingled.cache.entry_counts = drive::EntryCounts::Write;
    shingled.streams.tracked = 0;
    let mut host = Host::new(&profile);
    let mut random = sim::stream(4, "cuts");
    let (mut most, mut trimmed) = (0, 0);
    for round in 0..3000 {
        let slot = random.below(400) * 65_536;
        let (verb, offset, bytes) = match round % 4 {
            0 | 1 => (Verb::Write, slot, 65_536),
            2 => (Verb::Write, slot + 16_384, 4096),
            _ => (Verb::Trim, slot + 40_960, 4096),
        };
        host.ask(verb, offset, bytes, round % 3 == 0);
        let truth = host.drive.truth();
        assert!(truth.cached_entries <= 64, "{truth:?}");
        conserved(&truth);
        most = most.max(truth.cached_entries);
        trimmed += u64::from(verb == Verb::Trim);
    }
    assert!(most > 48 && trimmed > 0, "{most}");
}

#[test]
fn a_packet_that_cuts_an_older_one_and_then_covers_the_rest_is_booked_in_order() {
    let mut profile = small("canvio-3tb");
    profile.shingled.as_mut().unwrap().cache.packet_writes = 4;
    let mut host = Host::new(&profile);
    host.ask(Verb::Write, 0, 80 * 512, true);
    // They do not touch, but share a physical sector.
    host.ask(Verb::Write, 24 * 512, 17 * 512, false);
    host.ask(Verb::Write, 47 * 512, 33 * 512, false);
    host.ask(Verb::Flush, 0, 0, false);
    let truth = host.drive.truth();
    assert_eq!(truth.cached_bytes, 80 * 512);
    conserved(&truth);
    host.pause(600 * S);
    assert_eq!(host.drive.truth().log_bytes, 0);
}

#[test]
fn a_stream_waits_for_the_cleaning_of_its_band() {
    let mut host = Host::new(&profile("wd40efax"));
    host.ask(Verb::Write, 30 << 20, 4096, true);
    // From the log to the band, and back to the log.
    while host.drive.truth().seeks < 2 {
        host.pause(S / 1000);
    }
    assert_eq!(host.drive.truth().bands_cleaned, 0, "it is under way");
    for index in 0..9 {
        host.ask(Verb::Write, index << 20, 1 << 20, true);
    }
    assert_eq!(host.drive.truth().bands_cleaned, 1);
    assert_eq!(host.drive.truth().stream_bytes, 2 << 20);
}

#[test]
fn a_stream_that_goes_on_starves_no_flush_of_what_lies_elsewhere() {
    let profile = profile("wd40efax");
    let mut host = Host::new(&profile);
    let mut begun = 0;
    // The one that goes on fills the memory, and the heads are there.
    let mut go_on = |host: &mut Host, count: u64| {
        host.stream(Verb::Write, GIB + (begun << 20), 1 << 20, count);
        begun += count;
    };
    go_on(&mut host, 200);
    host.stream(Verb::Write, 2000 << 30, 1 << 20, 30);
    go_on(&mut host, 1);
    let flushed_at_ns = host.now_ns;
    host.drive.submit(host.now_ns, Request { tag: 1, verb: Verb::Flush, fua: false, offset_bytes: 0, bytes: 0 });
    // Of several at a time one always waits for room.
    let (mut in_flight, mut is_flushed, mut completions) = (0, false, Vec::new());
    while !is_flushed && begun < 4000 {
        for tag in in_flight..4 {
            let offset_bytes = GIB + (begun << 20);
            let write = Request { tag: 100 + tag, verb: Verb::Write, fua: false, offset_bytes, bytes: 1 << 20 };
            host.drive.submit(host.now_ns, write);
            begun += 1;
        }
        host.now_ns = host.drive.advance_to_completion(u64::MAX, &mut completions);
        is_flushed = completions.iter().any(|completion| completion.tag == 1);
        in_flight = 4 - completions.drain(..).count() as u32;
    }
    let took_ns = host.now_ns - flushed_at_ns;
    let starvation_ns = (profile.queue.starvation_ms * 1e6) as u64;
    assert!(took_ns < 2 * starvation_ns, "{took_ns}");
}

/// Fills the cache with durable writes until one waits for a pass; the times of all that follow.
fn on_the_full_cache(profile: &Profile, count: u64) -> Vec<u64> {
    let mut host = Host::new(profile);
    let mut seed = 0;
    while host.drive.truth().forced_passes == 0 {
        seed += 1;
        random_writes(&mut host, 50, seed);
    }
    random_writes(&mut host, count, 1000)
}

#[test]
fn rationed_writes_come_a_few_a_pass() {
    let mut profile = profile("canvio-3tb").scaled(100).unwrap();
    let waits = |profile: &Profile| on_the_full_cache(profile, 60).iter().filter(|ns| **ns > S).count();
    let rations = [2, 6].map(|appends| {
        let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
        (cleaning.ration_appends, cleaning.ration_until) = (appends, 0.0);
        waits(&profile)
    });
    // A pass after every second write, and after every sixth.
    assert!((28..=31).contains(&rations[0]) && (9..=11).contains(&rations[1]), "{rations:?}");
    profile.shingled.as_mut().unwrap().cleaning.ration_appends = 0;
    assert!(waits(&profile) < rations[1], "without rationing as many as find room");
}

#[test]
fn rationing_ends_with_the_pressure() {
    let mut profile = profile("canvio-3tb").scaled(100).unwrap();
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.ration_appends, cleaning.ration_until) = (2, 0.999);
    let took_ns = on_the_full_cache(&profile, 300);
    let longest = took_ns.split(|ns| *ns > S).map(<[u64]>::len).max().unwrap();
    assert!(longest > 2, "some came without waiting: {longest}");
}

#[test]
fn a_visit_may_cost_space_of_its_own() {
    let mut profile = small("st8000as0002");
    let used = |profile: &Profile| {
        let mut host = Host::new(profile);
        random_writes(&mut host, 10, 1);
        host.drive.truth().log_bytes
    };
    let with = used(&profile);
    let half_a_track = profile.geometry.outer_track_bytes / 2;
    profile.shingled.as_mut().unwrap().cache.append_tracks = 0.0;
    assert_eq!(with - used(&profile), 10 * (half_a_track.div_ceil(4096) * 4096));
}

#[test]
fn a_band_once_begun_is_finished_where_the_drive_does_that() {
    let mut profile = small("st8000as0002");
    let idle_ns = (profile.shingled.as_ref().unwrap().cleaning.idle_ms * 1e6) as u64;
    let cleaned = |profile: &Profile| {
        let mut host = Host::new(profile);
        random_writes(&mut host, 20, 1);
        // Cleaning has just begun when the host comes again.
        host.pause(idle_ns + 20_000_000);
        random_writes(&mut host, 1, 2);
        host.drive.truth().bands_cleaned
    };
    let finishes = [(true, false), (false, true), (false, false)].map(|(band, phase)| {
        let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
        (cleaning.finishes_band, cleaning.finishes_phase) = (band, phase);
        cleaned(&profile)
    });
    assert_eq!(finishes, [1, 0, 0]);
}

#[test]
fn a_pass_is_recorded_in_the_log_with_the_next_visit() {
    let profile = small("st8000as0002");
    let half_a_track = (profile.geometry.outer_track_bytes / 2).div_ceil(4096) * 4096;
    let mut host = Host::new(&profile);
    random_writes(&mut host, 1, 1);
    let alone = host.drive.truth().log_bytes;
    assert_eq!(alone, half_a_track + 4096);
    host.pause(3600 * S);
    assert_eq!(host.drive.truth().log_bytes, 0);
    random_writes(&mut host, 1, 2);
    assert_eq!(host.drive.truth().log_bytes, alone + half_a_track);
    random_writes(&mut host, 1, 3);
    assert_eq!(host.drive.truth().log_bytes, 2 * alone + half_a_track);
}

/// Fills the cache with durable writes of 1 MiB; of those that follow, how many found room at once.
fn without_waiting(profile: &Profile, count: u64) -> usize {
    let mut host = Host::new(profile);
    let slots = profile.capacity_bytes() >> 20;
    let mut offsets = sim::stream(1, "offsets");
    let mut write = |host: &mut Host| {
        let passes = host.drive.truth().forced_passes;
        host.ask(Verb::Write, offsets.below(slots) << 20, 1 << 20, true);
        host.drive.truth().forced_passes == passes
    };
    while write(&mut host) {}
    (0..count).filter(|_| write(&mut host)).count()
}

#[test]
fn who_waited_for_more_room_leaves_some_to_others() {
    let mut profile = profile("st8000as0002").scaled(10).unwrap();
    let mut share = |room_bytes: u64| {
        profile.shingled.as_mut().unwrap().cleaning.room_bytes = room_bytes;
        without_waiting(&profile, 200)
    };
    let (none, some, more) = (share(0), share(1_449_984), share(8 << 20));
    assert!(none < 20 && (25..60).contains(&some) && more > 100, "{none}, {some}, {more}");
}

#[test]
fn a_write_on_the_full_cache_goes_there_in_one_visit() {
    let mut profile = profile("st8000as0002").scaled(100).unwrap();
    profile.shingled.as_mut().unwrap().cleaning.idle_ms = 1e9;
    let mut host = Host::new(&profile);
    let slots = profile.capacity_bytes() >> 21;
    let mut offsets = sim::stream(1, "offsets");
    let mut write = |host: &mut Host| host.ask(Verb::Write, offsets.below(slots) << 21, 2 << 20, true);
    while host.drive.truth().forced_passes == 0 {
        write(&mut host);
    }
    // Two visits would take another half a track each time. What is lost where the log ends is less than one write.
    let cleaning_before = host.drive.truth();
    (0..20).for_each(|_| _ = write(&mut host));
    let after = host.drive.truth();
    assert_eq!(after.cache_appends - cleaning_before.cache_appends, 80, "four packets each");
    let visits = after.cache_visits - cleaning_before.cache_visits;
    assert!((20..=22).contains(&visits), "{visits}: a write that lies in two bands is still one");
}

#[test]
fn a_visit_right_behind_another_has_missed_its_place() {
    let mut profile = profile("st8000as0002");
    let took_ns = |profile: &Profile, bytes: u64| Host::new(profile).ask(Verb::Write, GIB, bytes, true);
    let with = [4 << 20, 8 << 20, 16 << 20].map(|bytes| took_ns(&profile, bytes));
    profile.shingled.as_mut().unwrap().cache.follow_turns = 0.0;
    let without = [4 << 20, 8 << 20, 16 << 20].map(|bytes| took_ns(&profile, bytes));
    let turn_ns = 60e9 / profile.rpm();
    for (index, visits) in [(0, 1.0), (1, 2.0), (2, 4.0)] {
        let lost_turns = (with[index] - without[index]) as f64 / turn_ns;
        assert!((lost_turns - (visits - 1.0) / 2.0).abs() < 0.01, "{visits} visits lose {lost_turns} turns");
    }
}

/// Until the first band has been cleaned, in ms.
fn cleaning_ms(profile: &Profile, write_bytes: u64) -> f64 {
    let mut host = Host::new(profile);
    host.ask(Verb::Write, 0, write_bytes, true);
    let from_ns = host.now_ns;
    while host.drive.truth().bands_cleaned == 0 {
        host.pause(S / 1000);
    }
    (host.now_ns - from_ns) as f64 / 1e6
}

#[test]
fn only_what_would_be_lost_is_put_aside() {
    let mut profile = profile("st8000as0002");
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cleaning.merge_whole, shingled.cleaning.merge_turns) = (false, 0.0);
    let band_bytes = shingled.tracks_per_band * profile.geometry.outer_track_bytes;
    // Phases that are cached as a whole or not at all, and one of both.
    for merge_bytes in [shingled.cleaning.merge_bytes, band_bytes] {
        profile.shingled.as_mut().unwrap().cleaning.merge_bytes = merge_bytes;
        puts_aside_what_would_be_lost(&mut profile, band_bytes);
    }
}

fn puts_aside_what_would_be_lost(profile: &mut Profile, band_bytes: u64) {
    let mut putting_aside = |write_bytes: u64| {
        let mut ms = [true, false].map(|aside| {
            profile.shingled.as_mut().unwrap().cleaning.merge_on_disk = aside;
            cleaning_ms(profile, write_bytes)
        });
        ms[0] -= ms[1];
        ms[0]
    };
    let (little, half, all) = (putting_aside(4096), putting_aside(band_bytes / 2), putting_aside(band_bytes));
    // Where the bands lie differs, too, and so does a turn.
    assert!(all.abs() < 10.1, "all of it is in the cache: {all}");
    assert!(little > 150.0 && (0.3..0.7).contains(&(half / little)), "{little}, {half}");
}

/// What is left of 200 cached writes after a time of silence, and after a time of reads without any.
fn left_over(profile: &Profile, silence_s: u64) -> (u64, u64) {
    let mut silent = Host::new(profile);
    random_writes(&mut silent, 200, 1);
    let mut busy = Host::new(profile);
    random_writes(&mut busy, 200, 1);
    silent.pause(silence_s * S);
    let until_ns = busy.now_ns + 20 * S;
    let mut offsets = sim::stream(9, "reads");
    while busy.now_ns < until_ns {
        busy.ask(Verb::Read, offsets.below(profile.capacity_bytes() / 4096) * 4096, 4096, false);
    }
    conserved(&busy.drive.truth());
    (silent.drive.truth().cached_entries, busy.drive.truth().cached_entries)
}

#[test]
fn cleaning_is_aggressive_or_lazy_and_waits_for_silence_or_not() {
    use drive::{CleaningDriven, CleaningWhen};
    let clean = |when: CleaningWhen, driven: CleaningDriven, mark: f64, rest_s: f64| {
        let mut profile = profile("canvio-3tb").scaled(1000).unwrap();
        let shingled = profile.shingled.as_mut().unwrap();
        shingled.cleaning.bands_per_pass = 1;
        (shingled.cleaning.when, shingled.cleaning.driven) = (when, driven);
        (shingled.cleaning.high_mark, shingled.cleaning.low_mark, shingled.cleaning.rest_s) =
            (mark, mark / 2.0, rest_s);
        if driven == CleaningDriven::Pressure {
            shingled.cleaning.idle_ms = 0.0;
        }
        left_over(&profile, 600)
    };
    let (aggressive, lazy) = (CleaningWhen::Aggressive, CleaningWhen::Lazy);
    let (idle, pressure) = (CleaningDriven::Idle, CleaningDriven::Pressure);
    assert_eq!(clean(aggressive, idle, 0.0, 0.0), (0, 200), "only in silence, then all");
    let (silent, busy) = clean(aggressive, pressure, 0.0, 0.0);
    assert!(silent == 0 && busy < 150, "also while the host reads: {busy}");
    assert_eq!(clean(lazy, idle, 0.5, 0.0), (200, 200), "below the mark nothing");
    assert_eq!(clean(lazy, pressure, 0.5, 0.0), (200, 200), "below the mark nothing");
    let (silent, busy) = clean(lazy, idle, 0.2, 0.0);
    assert!((1..200).contains(&silent) && busy == 200, "down to the low mark, in silence: {silent}, {busy}");
    let (silent, busy) = clean(lazy, pressure, 0.2, 0.0);
    assert!(silent > 0 && busy < 200, "down to the low mark, also while the host reads: {silent}, {busy}");
    assert_eq!(clean(lazy, idle, 0.5, 30.0), (0, 200), "after a long silence all");
    assert_eq!(clean(lazy, idle, 0.5, 3600.0), (200, 200), "not yet");
}

#[test]
fn under_pressure_host_and_cleaning_take_turns_also_when_the_queue_is_never_empty() {
    let mut profile = profile("canvio-3tb").scaled(1000).unwrap();
    profile.interface.bridge = None;
    let cleaning = &mut profile.shingled.as_mut().unwrap().cleaning;
    (cleaning.driven, cleaning.idle_ms) = (drive::CleaningDriven::Pressure, 0.0);
    let mut host = Host::new(&profile);
    random_writes(&mut host, 20, 1);
    let mut offsets = sim::stream(9, "reads");
    let slots = profile.capacity_bytes() / 4096;
    let mut read = |host: &mut Host, tag| {
        let offset_bytes = offsets.below(slots) * 4096;
        host.drive.submit(host.now_ns, drive::Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
    };
    (0..8).for_each(|tag| read(&mut host, tag));
    let mut done = Vec::new();
    for _ in 0..300 {
        host.now_ns = host.drive.next_event_ns().unwrap();
        host.drive.advance(host.now_ns, &mut done);
        done.drain(..).for_each(|completion: drive::Completion| read(&mut host, completion.tag));
    }
    assert!(host.drive.truth().bands_cleaned > 5, "{:?}", host.drive.truth());
}

/// A visit takes a part of a long extent, and with it its share of the writes that the extent gathers, not all.
#[test]
fn nothing_is_cleaned_for_a_visit_that_there_is_room_for() {
    let profile = profile("wd40efax").scaled(500).unwrap();
    let mut host = Host::new(&profile);
    // Four fifths of what the cache has room for. The last of each pair first, so that none of them counts as a stream's.
    (0..256).for_each(|number| _ = host.ask(Verb::Write, (number ^ 1) << 18, 1 << 18, false));
    host.ask(Verb::Flush, 0, 0, false);
    let truth = host.drive.truth();
    assert_eq!((truth.cached_bytes, truth.forced_passes), (256 << 18, 0), "{truth:?}");
}

/// A hundred writes wait in DRAM, each of which takes a packet for itself: a visit to the log has no more than 64 of them.
#[test]
fn a_visit_to_the_log_has_so_many_packets_and_no_more() {
    let mut profile = profile("wd40efax");
    profile.shingled.as_mut().unwrap().cache.packet_writes = 1;
    (profile.dram.write_back, profile.dram.write_segments, profile.dram.destage_idle_ms) = (true, 1000, 1e6);
    let mut host = Host::new(&profile);
    (0..100).for_each(|place| _ = host.ask(Verb::Write, place << 30, 4096, false));
    assert_eq!(host.drive.truth().cache_visits, 0);
    host.ask(Verb::Flush, 0, 0, false);
    let truth = host.drive.truth();
    assert_eq!((truth.cache_appends, truth.cache_visits), (100, 2));
}
