//! How many, which first and how far: what a slip of one, or a wrong order, would break without any other sign.

mod rig;

use drive::{CleaningOrder, EntryCounts, Profile, Verb};
use rig::{profile, Host};

const S: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;

fn band_bytes(profile: &Profile) -> u64 {
    profile.shingled.as_ref().unwrap().tracks_per_band * profile.geometry.outer_track_bytes
}

fn following(tracked: u64) -> Profile {
    let mut profile = profile("wd40efax");
    profile.shingled.as_mut().unwrap().streams.tracked = tracked;
    profile
}

/// Durable writes of 1 MiB in turn to places that go on from each of some offsets, until each is a stream for long.
fn stream(host: &mut Host, from_bytes: &[u64]) {
    for index in 0..24 {
        for first in from_bytes {
            host.ask(Verb::Write, first + index * MIB, MIB, true);
        }
    }
}

#[test]
fn as_many_bands_are_open_as_streams_are_followed() {
    for tracked in [1, 2, 5] {
        let profile = following(tracked);
        let mut host = Host::new(&profile);
        // Near the start of a band, with room for much more.
        let bands: Vec<u64> = (0..=tracked).map(|band| 3 * band * band_bytes(&profile)).collect();
        let (more, all) = bands.split_last().unwrap();
        stream(&mut host, all);
        let truth = host.drive.truth();
        assert!(truth.stream_bytes > tracked * 8 * MIB, "{truth:?}");
        assert_eq!(truth.streams_broken, 0, "{tracked} are followed, and none is left");
        stream(&mut host, &[*more]);
        assert_eq!(host.drive.truth().streams_broken, 1, "for one more the band open longest is completed");
    }
}

#[test]
fn a_band_is_open_at_one_place_only() {
    let profile = following(4);
    assert!(band_bytes(&profile) > 200 * MIB);
    for (second, broken) in [(24 * MIB, 0), (24 * MIB + 4096, 1), (100 * MIB, 1)] {
        let mut host = Host::new(&profile);
        stream(&mut host, &[0]);
        assert_eq!(host.drive.truth().streams_broken, 0);
        // What lies between would be lost: the band is completed before anything behind a gap is written.
        stream(&mut host, &[second]);
        assert_eq!(host.drive.truth().streams_broken, broken, "from {second} on");
    }
}

/// How many entries are left after each band that is cleaned, of 3, 6, 1 and 4 in bands that became dirty in this order.
fn left_over(order: CleaningOrder) -> Vec<u64> {
    let mut profile = profile("wd40efax");
    let shingled = profile.shingled.as_mut().unwrap();
    (shingled.cleaning.order, shingled.cleaning.bands_per_pass) = (order, 1);
    (shingled.cache.entry_counts, shingled.cache.packet_writes) = (EntryCounts::Write, 1);
    let mut host = Host::new(&profile);
    for (band, count) in (0..).zip([3, 6, 1, 4]) {
        let first = 3 * band * band_bytes(&profile);
        (0..count).for_each(|index| _ = host.ask(Verb::Write, first + index * MIB, 4096, true));
    }
    let mut left = vec![host.drive.truth().cached_entries];
    while left.last() != Some(&0) {
        host.pause(S / 100);
        let entries = host.drive.truth().cached_entries;
        if left.last() != Some(&entries) {
            left.push(entries);
        }
    }
    left
}

#[test]
fn bands_are_cleaned_in_their_order() {
    assert_eq!(left_over(CleaningOrder::Fifo), [14, 11, 5, 4, 0]);
    assert_eq!(left_over(CleaningOrder::MostDirty), [14, 8, 4, 1, 0]);
}

#[test]
fn all_of_a_band_is_read_and_written_back_whatever_fits_into_the_merge_buffer() {
    let mut profile = profile("st8000as0002");
    let shingled = profile.shingled.as_mut().unwrap();
    shingled.cleaning.merge_on_disk = false;
    let idle_ns = (shingled.cleaning.idle_ms * 1e6) as u64;
    let (tracks, band_bytes) = (shingled.tracks_per_band, band_bytes(&profile));
    let track_turns = 1.0 + profile.geometry.track_skew_degrees / 360.0;
    for share in [0.15, 0.3, 0.4, 0.6, 0.7, 0.9, 1.0] {
        let merge_bytes = (share * band_bytes as f64) as u64 / 4096 * 4096;
        profile.shingled.as_mut().unwrap().cleaning.merge_bytes = merge_bytes;
        let mut host = Host::new(&profile);
        host.ask(Verb::Write, 3 * band_bytes, 4096, true);
        let from_ns = host.now_ns;
        while host.drive.truth().bands_cleaned == 0 {
            host.pause(S / 1000);
        }
        // The last writing is under way. A read waits for it.
        host.ask(Verb::Read, 4 * band_bytes + MIB, 4096, false);
        let turns = (host.now_ns - from_ns - idle_ns) as f64 / (60e9 / profile.rpm());
        let (passing, phases) = (2.0 * tracks as f64 * track_turns, (1.0 / share).ceil());
        // Each phase goes to the log and back, and waits for its first sector twice.
        let range = passing - 1.0..passing + 3.0 + 9.0 * phases;
        assert!(range.contains(&turns), "{turns} turns, not {range:?}, with room for {share} of a band");
    }
}
