//! The parts that a profile may choose beyond those that the drives in `drives/` have.

use crate::rig::{profile, Host, GIB};
use drive::{
    BlockDevice, BridgeProfile, CachePlace, CleaningWhen, Completion, Drive, EntryCounts, FlashProfile, Mapping,
    Profile, Request, Status, Verb,
};

const S: u64 = 1_000_000_000;

fn placed(place: CachePlace) -> Profile {
    let mut profile = profile("st8000as0002").scaled(100).expect("scalable");
    let shingled = profile.shingled.as_mut().expect("shingled");
    (shingled.cache.packet_writes, shingled.cache.packet_tracks) = (1, 0.05);
    if let CachePlace::Flash(_) = place {
        (shingled.cache.packet_tracks, shingled.cache.append_turns, shingled.cleaning.collect_turns) = (0.0, 0.0, 0.0);
    }
    shingled.cache.place = place;
    // Hundreds of visits have to fit into an eighth of a small cache, and cleaning has to stay away.
    shingled.cache.append_tracks = 0.0;
    shingled.cleaning.idle_ms = 1000.0;
    profile
}

/// Mean ms of durable small writes within 1 GiB from `from_bytes` on, and of reads of what they wrote.
fn cached_ms(profile: &Profile, from_bytes: u64) -> (f64, f64) {
    const COUNT: u64 = 200;
    let mut host = Host::new(profile);
    let mut random = sim::stream(1, "offsets");
    let offsets: Vec<u64> = (0..COUNT).map(|_| from_bytes + random.below(GIB / 4096) * 4096).collect();
    // From elsewhere in the bands, as a host's other reads have it.
    let mut away = |host: &mut Host| host.ask(Verb::Read, from_bytes + random.below(GIB / 4096) * 4096, 4096, false);
    let mut sums = (0, 0);
    for offset in &offsets {
        away(&mut host);
        sums.0 += host.ask(Verb::Write, *offset, 4096, true);
    }
    assert!(host.drive.truth().cached_bytes > 0);
    for offset in &offsets {
        away(&mut host);
        sums.1 += host.ask(Verb::Read, *offset, 4096, false);
    }
    let ms = |sum: u64| sum as f64 / COUNT as f64 / 1e6;
    (ms(sums.0), ms(sums.1))
}

#[test]
fn a_cache_costs_the_way_to_it() {
    let end = placed(CachePlace::Outer).capacity_bytes() - GIB;
    let (near, far) = (cached_ms(&placed(CachePlace::Outer), 0), cached_ms(&placed(CachePlace::Outer), end));
    assert!(far.0 > near.0 + 3.0 && far.1 > near.1 + 3.0, "outer: {near:?} and {far:?}");
    let (far, near) = (cached_ms(&placed(CachePlace::Inner), 0), cached_ms(&placed(CachePlace::Inner), end));
    assert!(far.0 > near.0 + 3.0 && far.1 > near.1 + 3.0, "inner: {near:?} and {far:?}");
    let spread = placed(CachePlace::Spread { regions: 8 });
    let middle = end / 2;
    for from in [0, middle, end] {
        let (local, one) = (cached_ms(&spread, from), cached_ms(&placed(CachePlace::Outer), from));
        assert!(from == 0 || local.0 < one.0 - 2.0, "spread at {from}: {local:?}, with one place {one:?}");
    }
    let flash = placed(CachePlace::Flash(flash()));
    for from in [0, end] {
        let (write_ms, read_ms) = cached_ms(&flash, from);
        // Command, flash, and 4096 bytes at 100 MB/s.
        assert!((0.5..0.7).contains(&write_ms) && (0.15..0.35).contains(&read_ms), "flash: {write_ms}, {read_ms}");
    }
}

fn flash() -> FlashProfile {
    FlashProfile { flash_read_us: 100.0, flash_write_us: 400.0, flash_rate_mb_s: 100.0 }
}

#[test]
fn each_place_of_a_spread_cache_fills_and_is_cleaned_for_itself() {
    let mut profile = placed(CachePlace::Spread { regions: 4 });
    let shingled = profile.shingled.as_mut().expect("shingled");
    (shingled.cache.bytes, shingled.cache.packet_tracks) = (64 << 20, 0.0);
    shingled.cleaning.bands_per_pass = 1;
    let mut host = Host::new(&profile);
    let end = profile.capacity_bytes();
    host.ask(Verb::Write, end - (4 << 20), 65_536, true);
    let mut random = sim::stream(1, "offsets");
    while host.drive.truth().forced_passes == 0 {
        host.ask(Verb::Write, random.below(8192) * 65_536, 65_536, true);
    }
    let truth = host.drive.truth();
    assert!((14 << 20..18 << 20).contains(&truth.log_bytes), "a quarter is full: {}", truth.log_bytes);
    while host.drive.truth().forced_passes < 40 {
        host.ask(Verb::Write, random.below(8192) * 65_536, 65_536, true);
    }
    // What lies at the other end has been dirty longest, and its place is not the one that wants room.
    let seeks = host.drive.truth().seeks;
    host.ask(Verb::Read, end - (4 << 20), 65_536, false);
    host.ask(Verb::Read, end - (3 << 20), 4096, false);
    assert_eq!(host.drive.truth().seeks - seeks, 2, "it is still cached");
    host.pause(3600 * S);
    let truth = host.drive.truth();
    assert_eq!((truth.cached_bytes, truth.log_bytes, truth.cached_packets), (0, 0, 0));
}

/// A cache in several places is as full as the fullest of them: where that is three fifths full and the others are empty, the
/// mark at a half is passed.
#[test]
fn a_spread_cache_is_as_full_as_its_fullest_place() {
    let mut profile = placed(CachePlace::Spread { regions: 4 });
    let shingled = profile.shingled.as_mut().expect("shingled");
    (shingled.cache.bytes, shingled.cache.packet_tracks) = (64 << 20, 0.0);
    let cleaning = &mut shingled.cleaning;
    (cleaning.when, cleaning.high_mark, cleaning.low_mark) = (CleaningWhen::Lazy, 0.5, 0.2);
    let bands_cleaned = |writes: u64| {
        let mut host = Host::new(&profile);
        let mut random = sim::stream(1, "offsets");
        (0..writes).for_each(|_| _ = host.ask(Verb::Write, random.below(8192) * 65_536, 65_536, true));
        host.pause(600 * S);
        host.drive.truth().bands_cleaned
    };
    assert_eq!(bands_cleaned(100), 0, "two fifths of one place");
    assert!(bands_cleaned(154) > 0);
}

#[test]
fn flash_answers_while_the_heads_are_away_and_is_collected_without_them() {
    let mut host = Host::new(&placed(CachePlace::Flash(flash())));
    host.ask(Verb::Write, GIB, 4096, true);
    let request = |tag, offset_bytes| Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 };
    host.drive.submit(host.now_ns, request(1, 40 * GIB));
    host.drive.submit(host.now_ns, request(2, GIB));
    let mut done: Vec<Completion> = Vec::new();
    host.drive.advance(host.now_ns + 2_000_000_000, &mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [2, 1]);
    let seeks = host.drive.truth().seeks;
    host.now_ns += 2_000_000_000;
    host.pause(60 * S);
    let truth = host.drive.truth();
    assert_eq!((truth.bands_cleaned, truth.cached_bytes), (1, 0));
    // To the band, and for each of its phases to the place for merging and back.
    assert!(truth.seeks - seeks <= 7, "{}", truth.seeks - seeks);
}

/// The heads read one half of it, and the other costs what flash takes.
#[test]
fn what_lies_half_in_flash_takes_the_time_of_both() {
    let took_ns = |flash_read_us: f64| {
        let mut host = Host::new(&placed(CachePlace::Flash(FlashProfile { flash_read_us, ..flash() })));
        host.ask(Verb::Write, GIB, 4096, true);
        host.now_ns = S;
        host.ask(Verb::Read, GIB, 8192, false)
    };
    // A turn more, so that the heads find their half under them as before.
    let turn_us = 60e6 / placed(CachePlace::Outer).rpm();
    let more_us = (took_ns(flash().flash_read_us + turn_us) - took_ns(flash().flash_read_us)) as f64 / 1e3;
    assert!((more_us - turn_us).abs() < 1.0, "{more_us} us more, not {turn_us}");
}

#[test]
fn packets_may_be_limited_beside_entries() {
    let mut profile = placed(CachePlace::Outer);
    let cache = &mut profile.shingled.as_mut().expect("shingled").cache;
    (cache.packets, cache.entries, cache.entry_counts) = (Some(50), 100_000, EntryCounts::Write);
    let mut host = Host::new(&profile);
    let mut random = sim::stream(1, "offsets");
    let mut most = 0;
    for _ in 0..200 {
        host.ask(Verb::Write, random.below(1 << 20) * 4096, 4096, true);
        most = most.max(host.drive.truth().cached_packets);
    }
    assert_eq!(most, 50);
    assert!(host.drive.truth().forced_passes > 0);
}

fn moving() -> Profile {
    let mut profile = profile("st8000as0002").scaled(20).expect("scalable");
    profile.geometry.zones = 8;
    profile.shingled.as_mut().expect("shingled").mapping = Mapping::Dynamic { spare_bands: 2 };
    profile
}

#[test]
fn a_band_that_is_cleaned_lies_elsewhere_and_needs_no_place_for_merging() {
    let mut still = moving();
    still.shingled.as_mut().expect("shingled").mapping = Mapping::Static;
    let clean = |profile: &Profile| {
        let mut host = Host::new(profile);
        host.ask(Verb::Write, GIB, 4096, true);
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned == 0 {
            host.pause(S / 1000);
        }
        (host.now_ns - from_ns, host)
    };
    let ((static_ns, _), (moved_ns, mut host)) = (clean(&still), clean(&moving()));
    assert_eq!(host.drive.truth().bands_moved, 1);
    // The same data is read and written; it is not put aside first, but all of the band moves.
    assert!(moved_ns < static_ns + S / 2, "{moved_ns} and {static_ns}");
    let profile = moving();
    let band_bytes = profile.shingled.as_ref().expect("shingled").tracks_per_band * profile.geometry.outer_track_bytes;
    let ask = |host: &mut Host, offset| {
        let seeks = host.drive.truth().seeks;
        host.ask(Verb::Read, offset, 4096, false);
        host.drive.truth().seeks - seeks
    };
    // Of two bands side by side one has moved: the way between them is a seek now.
    let band = GIB / band_bytes;
    ask(&mut host, (band + 1) * band_bytes);
    assert_eq!(ask(&mut host, (band + 1) * band_bytes + 8192), 0);
    assert_eq!(ask(&mut host, GIB + (1 << 20)), 1);
    // The heads stay with it, also after having read on.
    let mut seeks = 0;
    for place in 1..5 {
        host.pause(S);
        seeks += ask(&mut host, GIB + ((1 + 3 * place) << 20));
    }
    assert!(seeks <= 1, "{seeks}");
}

#[test]
fn a_band_is_read_and_written_as_far_as_it_has_to_be() {
    let mut still = moving();
    let shingled = still.shingled.as_mut().expect("shingled");
    (shingled.mapping, shingled.cleaning.merge_on_disk) = (Mapping::Static, false);
    let idle_ns = (shingled.cleaning.idle_ms * 1e6) as u64;
    let tracks = shingled.tracks_per_band;
    let turns = |profile: &Profile, offset: u64| {
        let mut host = Host::new(profile);
        host.ask(Verb::Write, offset, 4096, true);
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned == 0 {
            host.pause(S / 1000);
        }
        // The last writing is under way. A read waits for it.
        host.ask(Verb::Read, offset + (1 << 20) - 8192, 4096, false);
        // A pass begins after some silence; what it needs beyond passing over the tracks is seeks.
        (host.now_ns - from_ns - idle_ns) as f64 / (60e9 / profile.rpm())
    };
    let (band_bytes, track_bytes) = (tracks * still.geometry.outer_track_bytes, still.geometry.outer_track_bytes);
    let track_turns = 1.0 + still.geometry.track_skew_degrees / 360.0;
    for (profile, offset, passed) in [
        (&still, 3 * band_bytes, tracks),
        (&still, 3 * band_bytes + 12 * track_bytes, tracks - 12),
        (&still, 3 * band_bytes + tracks * track_bytes - 4096, 1),
        (&moving(), 3 * band_bytes, tracks),
        (&moving(), 3 * band_bytes + tracks * track_bytes - 4096, tracks),
    ] {
        let (found, least) = (turns(profile, offset), 2.0 * (passed as f64 * track_turns - 0.2));
        assert!((least..least + 12.0).contains(&found), "{found} turns for {passed} tracks, {:?}", profile.shingled);
    }
}

#[test]
fn cleaning_begins_anew_after_a_loss_of_power() {
    let mut host = Host::new(&profile("wd40efax"));
    let cleaning_ns = |host: &mut Host, done| {
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned < done {
            host.pause(S / 100);
        }
        host.now_ns - from_ns
    };
    host.ask(Verb::Write, 0, 4096, true);
    let whole_ns = cleaning_ns(&mut host, 1);
    host.pause(60 * S);
    host.ask(Verb::Write, 0, 4096, true);
    host.pause(whole_ns * 9 / 10);
    assert_eq!(host.drive.truth().bands_cleaned, 1, "it is under way");
    host.drive.power_loss(host.now_ns);
    host.now_ns = host.drive.power_on(host.now_ns + S);
    // What had been written back before is still in the cache, and is written again.
    let again_ns = cleaning_ns(&mut host, 2);
    assert!(again_ns > whole_ns * 9 / 10, "{again_ns} of {whole_ns}");
}

#[test]
fn reading_on_goes_on_within_a_band_that_moved() {
    let stream_ns = |profile: &Profile| {
        let mut host = Host::new(profile);
        let bands = 3;
        (0..bands).for_each(|band| {
            host.ask(Verb::Write, GIB + band * 40 * (1 << 20), 4096, true);
        });
        host.pause(3600 * S);
        assert_eq!(host.drive.truth().bands_cleaned, bands);
        let from_ns = host.now_ns;
        host.stream(Verb::Read, GIB, 1 << 17, bands * 320);
        host.now_ns - from_ns
    };
    let mut still = moving();
    still.shingled.as_mut().expect("shingled").mapping = Mapping::Static;
    let (moved_ns, static_ns) = (stream_ns(&moving()), stream_ns(&still));
    assert!(moved_ns < static_ns + S / 4, "{moved_ns} and {static_ns}");
}

#[test]
fn platters_that_were_stopped_take_their_time() {
    let mut profile = profile("wd40efrx");
    let mechanics = &mut profile.mechanics;
    (mechanics.park_after_s, mechanics.spin_down_after_s, mechanics.spin_up_s) = (10.0, 600.0, 12.0);
    let mut host = Host::new(&profile);
    host.ask(Verb::Read, GIB, 4096, false);
    host.pause(60 * S);
    assert!(host.ask(Verb::Read, 2 * GIB, 4096, false) < 2 * S, "parked only");
    host.pause(601 * S);
    let took_ns = host.ask(Verb::Read, 3 * GIB, 4096, false);
    assert!((12 * S..13 * S).contains(&took_ns), "{took_ns}");
    assert_eq!((host.drive.truth().spin_ups, host.drive.truth().unparks), (1, 3));
    profile.mechanics.park_after_s = 0.0;
    let mut host = Host::new(&profile);
    host.pause(601 * S);
    assert!(host.ask(Verb::Read, GIB, 4096, false) > 12 * S, "from the first silence on");
}

fn bridged(queue: u64) -> Profile {
    let mut profile = profile("st12000vn0007");
    profile.interface.bridge =
        Some(BridgeProfile { bridge_us: 250.0, max_transfer_bytes: 122_880, bridge_queue: queue });
    profile
}

#[test]
fn a_bridge_costs_its_time_for_each_command_that_it_makes_of_a_request() {
    let took_ns = |profile: &Profile, bytes| {
        let mut host = Host::new(profile);
        host.ask(Verb::Write, GIB, bytes, false)
    };
    let plain = profile("st12000vn0007");
    assert_eq!(plain.queue_depth(), 32);
    assert_eq!(bridged(1).queue_depth(), 1);
    let (one, nine) = (took_ns(&bridged(1), 4096), took_ns(&bridged(1), 1 << 20));
    assert!((one - took_ns(&plain, 4096)).abs_diff(250_000) < 1000, "{one}");
    let overhead_ns = (plain.interface.overhead_us * 1e3) as u64;
    let expected_ns = took_ns(&plain, 1 << 20) + 9 * 250_000 + 8 * overhead_ns;
    assert!(nine.abs_diff(expected_ns) < 10_000, "{nine} instead of {expected_ns}");
    assert!(took_ns(&bridged(8), 1 << 20) < nine - 1_500_000, "several commands are under way at a time");
}

#[test]
fn commands_pass_a_bulk_only_bridge_one_at_a_time() {
    let serve = |profile: &Profile| {
        let mut drive = Drive::new(profile, 1);
        let mut offsets = sim::stream(5, "offsets");
        let capacity = drive.capacity_bytes();
        for tag in 0..16 {
            let offset_bytes = offsets.below(capacity / 4096) * 4096;
            drive.submit(0, Request { tag, verb: Verb::Read, fua: false, offset_bytes, bytes: 4096 });
        }
        let mut done: Vec<Completion> = Vec::new();
        while done.len() < 16 {
            let event_ns = drive.next_event_ns().expect("reads are in flight");
            drive.advance(event_ns, &mut done);
        }
        assert!(done.windows(2).all(|pair| pair[0].completed_ns <= pair[1].completed_ns));
        done
    };
    let alone = serve(&bridged(1));
    assert!(alone.iter().map(|done| done.tag).eq(0..16), "in the order of their arrival");
    let together = serve(&bridged(16));
    assert!(!together.iter().map(|done| done.tag).eq(0..16), "in the order of the shortest way");
    assert!(together[15].completed_ns < alone[15].completed_ns * 8 / 10);
}

#[test]
fn a_bridge_passes_on_what_the_drive_refuses() {
    let mut drive = Drive::new(&bridged(1), 1);
    let capacity = drive.capacity_bytes();
    let request = |tag, offset_bytes, bytes| Request { tag, verb: Verb::Write, fua: false, offset_bytes, bytes };
    drive.submit(0, request(1, capacity - 4096, 1 << 20));
    drive.submit(0, request(2, 0, 0));
    drive.submit(0, Request { verb: Verb::Flush, ..request(3, 0, 0) });
    let mut done = Vec::new();
    drive.advance(S, &mut done);
    let statuses: Vec<(u32, Status)> = done.iter().map(|done| (done.tag, done.status)).collect();
    assert_eq!(statuses, [(1, Status::OutOfRange), (2, Status::Good), (3, Status::Good)]);
    assert_eq!(drive.truth().dram_dirty_bytes, 0);
}

#[test]
fn a_start_replays_what_the_map_does_not_know() {
    let start_ns = |writes: u64| {
        let mut profile = profile("st8000as0002");
        profile.mechanics.spin_up_s = 10.0;
        let cache = &mut profile.shingled.as_mut().expect("shingled").cache;
        (cache.replay_ms, cache.journal_every) = (20.0, 240);
        let mut host = Host::new(&profile);
        let mut random = sim::stream(1, "offsets");
        (0..writes).for_each(|_| {
            host.ask(Verb::Write, random.below(1 << 30) * 4096, 4096, true);
        });
        let lost = host.drive.power_loss(host.now_ns);
        assert!(lost.ranges.is_empty(), "all was durable");
        host.drive.power_on(host.now_ns + S) - host.now_ns - S
    };
    for (writes, replayed) in [(0, 0), (100, 100), (239, 239), (240, 0), (300, 60)] {
        let expected_ns = 10 * S + replayed * 20_000_000;
        assert!(start_ns(writes).abs_diff(expected_ns) < 1000, "{writes}: {}", start_ns(writes));
    }
}

#[test]
fn what_a_start_has_replayed_the_map_knows() {
    let mut profile = profile("st8000as0002");
    profile.mechanics.spin_up_s = 10.0;
    profile.shingled.as_mut().expect("shingled").cache.replay_ms = 20.0;
    let mut host = Host::new(&profile);
    (0..100).for_each(|index| _ = host.ask(Verb::Write, index << 24, 4096, true));
    let starts_ns = [0, 1].map(|_| {
        host.drive.power_loss(host.now_ns);
        let on_ns = host.now_ns + S;
        host.now_ns = host.drive.power_on(on_ns);
        host.now_ns - on_ns
    });
    assert!(starts_ns[0].abs_diff(12 * S) < 1000 && starts_ns[1].abs_diff(10 * S) < 1000, "{starts_ns:?}");
}

#[test]
fn a_stream_goes_on_where_it_ended_within_a_physical_sector() {
    let stream = |shift: u64, bytes: u64| {
        let mut host = Host::new(&profile("wd40efax"));
        for index in 0..256 {
            host.ask(Verb::Write, shift + index * bytes, bytes, true);
        }
        host.drive.truth()
    };
    let (aligned, shifted, ragged) = (stream(0, 1 << 20), stream(512, 1 << 20), stream(0, (1 << 20) + 512));
    assert_eq!(aligned.streams_broken, 0);
    assert_eq!((shifted.streams_broken, ragged.streams_broken), (0, 0));
    assert!(shifted.stream_bytes.abs_diff(aligned.stream_bytes) < 2 << 20, "{shifted:?}");
}

/// A durable write that passes a bridge as nine commands is durable as a whole once it is answered, also where two bands meet in it.
#[test]
fn a_durable_write_is_durable_behind_a_bridge() {
    let mut profile = profile("wd40efax");
    profile.dram.write_back = true;
    let band_bytes = profile.shingled.as_ref().expect("shingled").tracks_per_band * profile.geometry.outer_track_bytes;
    for queue in [1, 8] {
        profile.interface.bridge = bridged(queue).interface.bridge;
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, 3 * band_bytes - (1 << 19), 1 << 20, true);
        assert_eq!(host.drive.power_loss(host.now_ns).ranges, []);
    }
}
