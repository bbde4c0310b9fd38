//! What a loss of power takes with it: everything that only memory knew. A drive that comes back knows what its platters,
//! its flash and its map hold, and nothing else.

use crate::rig::{profile, Host, GIB};
use drive::{BlockDevice, CachePlace, Completion, Drive, FlashProfile, Profile, Request, Verb};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

/// The power fails and comes back at once; returns when the drive is ready.
fn fail(host: &mut Host) {
    host.drive.power_loss(host.now_ns);
    host.now_ns = host.drive.power_on(host.now_ns);
}

/// After each of some durable writes of 1 MiB in sequence from `first` on, how much of them has bypassed the cache.
fn bypassing(host: &mut Host, first: u64) -> Vec<u64> {
    let before = host.drive.truth().stream_bytes;
    let mut write = |index: u64| {
        host.ask(Verb::Write, (first + index) * MIB, MIB, true);
        host.drive.truth().stream_bytes - before
    };
    (0..20).map(&mut write).collect()
}

#[test]
fn a_stream_does_not_outlive_the_power() {
    let run = |written: u64, fails: bool| {
        let mut host = Host::new(&profile("wd40efax"));
        (0..written).for_each(|index| _ = host.ask(Verb::Write, index * MIB, MIB, true));
        if fails {
            fail(&mut host);
        }
        bypassing(&mut host, written)
    };
    let fresh = run(0, false);
    assert_eq!(run(16, true), fresh, "what goes on where a stream was is a run like any other");
    assert_eq!(run(0, true), fresh);
    assert_ne!(run(16, false), fresh, "without a loss it goes on");
}

#[test]
fn what_was_read_has_to_be_read_again() {
    for name in ["st12000vn0007", "wd40efax"] {
        let mut host = Host::new(&profile(name));
        // What follows the second is still being read ahead when the power fails.
        for offset in [GIB, GIB, 2 * GIB] {
            host.ask(Verb::Read, offset, 65_536, false);
        }
        let hits = host.drive.truth().dram_read_hits;
        assert!(hits > 0, "{name}");
        fail(&mut host);
        for offset in [GIB, 2 * GIB, 2 * GIB + 65_536] {
            let mut other = Host { drive: host.drive.clone(), now_ns: host.now_ns };
            other.ask(Verb::Read, offset, 65_536, false);
            assert_eq!(other.drive.truth().dram_read_hits, hits, "{name}: {offset}");
        }
    }
}

/// Whatever was asked for when the power failed: only what is asked for afterwards is answered.
#[test]
fn who_waited_when_the_power_failed_is_never_answered() {
    for name in ["st12000vn0007", "st8000as0002", "wd40efax"] {
        for verb in [Verb::Read, Verb::Write, Verb::Flush] {
            for fua in [false, true] {
                let mut host = Host::new(&profile(name));
                // More than memory holds.
                for tag in 100..300 {
                    let (offset_bytes, bytes) = (u64::from(tag) * 64 * MIB, 2 * MIB);
                    let write = Request { tag, verb: Verb::Write, fua, offset_bytes, bytes };
                    let other = Request { tag: tag + 1000, verb, fua, offset_bytes, bytes };
                    [write, other].into_iter().for_each(|request| host.drive.submit(host.now_ns, request));
                }
                let mut done = Vec::<Completion>::new();
                host.drive.advance(host.now_ns + 50_000_000, &mut done);
                assert!(done.len() < 300, "{name}: most of them wait");
                host.now_ns += 50_000_000;
                fail(&mut host);
                assert_eq!(host.drive.truth().dram_dirty_bytes, 0, "{name}");
                // Each asserts that nobody else is answered.
                host.ask(Verb::Write, GIB, 4096, true);
                host.ask(Verb::Write, 3 * GIB, MIB, false);
                host.ask(Verb::Flush, 0, 0, false);
                assert_eq!((host.drive.next_event_ns(), host.drive.truth().dram_dirty_bytes), (None, 0), "{name}");
            }
        }
    }
}

fn in_flash() -> Profile {
    let mut profile = profile("st8000as0002").scaled(100).expect("scalable");
    let shingled = profile.shingled.as_mut().expect("shingled");
    let flash = FlashProfile { flash_read_us: 100.0, flash_write_us: 400.0, flash_rate_mb_s: 100.0 };
    shingled.cache.place = CachePlace::Flash(flash);
    (shingled.cache.packet_tracks, shingled.cache.append_turns, shingled.cleaning.collect_turns) = (0.0, 0.0, 0.0);
    (profile.mechanics.spin_up_s, profile.mechanics.unpark_ms) = (0.0, 0.0);
    profile
}

/// Reads from flash that are asked for together come one after the other, in their order; after a loss of power none of
/// them is left to wait for.
#[test]
fn flash_answers_one_after_the_other() {
    const BYTES: u64 = 256 << 10;
    let mut host = Host::new(&in_flash());
    let offset = |index: u64| GIB + index * 2 * MIB;
    (0..16).for_each(|index| _ = host.ask(Verb::Write, offset(index), BYTES, true));
    let away = |host: &mut Host| (0..40).for_each(|index| _ = host.ask(Verb::Read, (20 + index) * GIB, MIB, false));
    away(&mut host);
    let alone_ns = host.ask(Verb::Read, offset(0), BYTES, false);
    // 0.1 ms, and 100 MB/s.
    let flash_ns = 100_000 + BYTES * 10;
    assert!((flash_ns..flash_ns + 1_000_000).contains(&alone_ns), "{alone_ns}");
    let began_ns = host.now_ns;
    for tag in 0..16 {
        let request = Request { tag, verb: Verb::Read, fua: false, offset_bytes: offset(u64::from(tag)), bytes: BYTES };
        host.drive.submit(host.now_ns, request);
    }
    let mut failing = Host { drive: host.drive.clone(), now_ns: host.now_ns };
    let mut done = Vec::<Completion>::new();
    host.drive.advance(began_ns + 1_000_000_000, &mut done);
    assert!(done.iter().map(|done| done.tag).eq(0..16), "{done:?}");
    for (count, completion) in (1..).zip(&done) {
        let expected_ns = count * flash_ns + alone_ns - flash_ns;
        assert!((completion.completed_ns - began_ns).abs_diff(expected_ns) < 100_000, "{count}: {completion:?}");
    }
    fail(&mut failing);
    let took_ns = failing.ask(Verb::Read, offset(1), BYTES, false);
    assert!(took_ns.abs_diff(alone_ns) < 100_000, "{took_ns}, not {alone_ns}");
}

/// Wherever the heads were when the power failed, they come from the ramp.
#[test]
fn heads_start_from_the_same_place() {
    let profile = profile("st12000vn0007");
    let took_ns = |before: u64, after: u64| {
        let mut host = Host::new(&profile);
        host.ask(Verb::Read, before, 4096, false);
        host.now_ns = S;
        fail(&mut host);
        host.now_ns = 100 * S;
        host.ask(Verb::Read, after, 4096, false)
    };
    for after in [0, profile.capacity_bytes() - 4096] {
        assert_eq!(took_ns(0, after), took_ns(profile.capacity_bytes() - 4096, after));
    }
}

/// Power that is there already changes nothing.
#[test]
fn a_drive_that_is_on_is_not_started() {
    let mut host = Host::new(&profile("wd40efrx"));
    host.ask(Verb::Read, 0, 4096, false);
    let mut started = Host { drive: host.drive.clone(), now_ns: host.now_ns };
    assert_eq!(started.drive.power_on(host.now_ns), host.now_ns);
    let took_ns = [&mut host, &mut started].map(|host| host.ask(Verb::Read, 1 << 40, 4096, false));
    assert_eq!(took_ns[0], took_ns[1]);
}

/// A stream enters a band in the middle of a track, which is merged with what lies there: it is on the platters as a whole or not at all.
#[test]
fn what_a_stream_merges_with_its_first_track_is_new_or_old_as_a_whole() {
    let mut profile = profile("wd40efax").scaled(20).unwrap();
    let track_bytes = profile.geometry.outer_track_bytes;
    let streams = &mut profile.shingled.as_mut().unwrap().streams;
    (streams.min_request_bytes, streams.min_run_bytes, streams.durable) = (65_536, 65_536, true);
    let (offset_bytes, bytes) = (track_bytes / 8192 * 4096, 16 * 65_536);
    let mut drive = Drive::new(&profile, 1);
    drive.submit(0, Request { tag: 1, verb: Verb::Write, fua: true, offset_bytes, bytes });
    let mut done = Vec::<Completion>::new();
    for at_ns in (1..).map(|step| step * 200_000) {
        drive.advance(at_ns, &mut done);
        let lost = drive.clone().power_loss(at_ns).ranges;
        if !done.is_empty() {
            assert!(lost.is_empty(), "it was promised");
            break;
        }
        assert!(lost.iter().eq([&(offset_bytes..offset_bytes + bytes)]), "at {at_ns}: {lost:?}");
    }
    assert_eq!((drive.truth().stream_bytes, drive.truth().cached_bytes), (bytes, 0));
}

/// The power fails when it does, and not when the host last looked.
#[test]
fn what_was_written_before_the_power_failed_is_kept_though_nobody_has_looked() {
    for name in ["st12000vn0007", "wd40efax"] {
        let mut drive = Drive::new(&profile(name), 1);
        drive.submit(0, Request { tag: 0, verb: Verb::Write, fua: true, offset_bytes: GIB, bytes: MIB });
        let mut told = Vec::new();
        for at_ns in (0..300).map(|ms| ms * S / 100) {
            let [mut looked, mut other] = [(); 2].map(|()| drive.clone());
            looked.advance(at_ns, &mut Vec::new());
            let lost = other.power_loss(at_ns).ranges;
            assert_eq!(lost, looked.power_loss(at_ns).ranges, "{name}: {at_ns} ns");
            told.push(lost.is_empty());
        }
        assert!(!told[0] && told[299]);
    }
}

/// A short read and a long one from flash, asked for together: what the long one has to say passes a slow link from when flash gets to it.
#[test]
fn the_link_carries_nothing_that_flash_has_not_come_to() {
    let mut profile = in_flash();
    profile.interface.rate_mb_s = 50.0;
    let mut host = Host::new(&profile);
    let offset = |index: u64| GIB + index * 2 * MIB;
    let bytes = |index: u64| [4096, 256 << 10][index as usize];
    (0..2).for_each(|index| _ = host.ask(Verb::Write, offset(index), bytes(index), true));
    (0..40).for_each(|index| _ = host.ask(Verb::Read, (20 + index) * GIB, MIB, false));
    let mut alone = Host { drive: host.drive.clone(), now_ns: host.now_ns };
    let alone_ns = alone.ask(Verb::Read, offset(1), bytes(1), false);
    for index in 0..2 {
        let (offset_bytes, bytes) = (offset(index), bytes(index));
        let request = Request { tag: index as u32, verb: Verb::Read, fua: false, offset_bytes, bytes };
        host.drive.submit(host.now_ns, request);
    }
    let mut done = Vec::<Completion>::new();
    host.drive.advance(host.now_ns + S, &mut done);
    let behind_ns = done[1].completed_ns - host.now_ns;
    // The short one takes 0.1 ms, and 100 MB/s.
    assert!(behind_ns.abs_diff(alone_ns + 100_000 + 40_960) < 20_000, "{behind_ns} and {alone_ns}");
}

/// What the link was to carry when the power failed is not carried any more.
#[test]
fn the_link_is_free_after_a_loss_of_power() {
    let mut profile = profile("st12000vn0007");
    (profile.mechanics.spin_up_s, profile.mechanics.unpark_ms, profile.interface.rate_mb_s) = (0.0, 0.0, 50.0);
    let mut host = Host::new(&profile);
    host.drive.submit(0, Request { tag: 0, verb: Verb::Write, fua: false, offset_bytes: 0, bytes: 32 * MIB });
    host.pause(S / 1000);
    fail(&mut host);
    let took_ns = host.ask(Verb::Write, 0, 4096, false);
    assert!(took_ns < S / 100, "{took_ns}");
}

/// The map is written out for a cache in flash as for any other.
#[test]
fn the_map_of_a_cache_in_flash_is_written_out_too() {
    let mut profile = in_flash();
    let cache = &mut profile.shingled.as_mut().expect("shingled").cache;
    (cache.journal_every, cache.journal_ms) = (2, 1000.0);
    let mut host = Host::new(&profile);
    let long = [0, 1, 2, 3].map(|place| host.ask(Verb::Write, place * GIB, 4096, true) > S / 2);
    assert_eq!(long, [false, true, false, true]);
}
