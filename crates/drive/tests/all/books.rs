//! What the drive keeps count of, and where its tracks lie: laws that a slip of one would break without any other sign.

use crate::rig::{profile, Host};
use drive::{Drive, Profile, Verb};

/// In which of many small durable writes the map is written out.
fn journals(profile: &Profile, count: u64) -> Vec<u64> {
    let mut host = Host::new(profile);
    let long_ns = (0.9e6 * profile.shingled.as_ref().unwrap().cache.journal_ms) as u64;
    (1..=count).filter(|index| host.ask(Verb::Write, index << 20, 4096, true) > long_ns).collect()
}

#[test]
fn the_map_is_written_out_with_every_so_manyeth_visit() {
    for every in [1, 7, 30] {
        let mut profile = profile("wd40efax");
        (profile.shingled.as_mut().unwrap().cache.journal_every, profile.mechanics.park_after_s) = (every, 0.0);
        assert_eq!(journals(&profile, 95), (1..=95 / every).map(|time| time * every).collect::<Vec<_>>());
    }
}

/// How long after the last sector of one track the first of the next comes under the heads, in degrees: one sector of
/// each is read, turns apart, and the angle of either is when it had passed.
fn degrees_from_track_to_track(profile: &Profile, track: u64) -> f64 {
    let (turn_ns, track_bytes) = (60e9 / profile.rpm(), profile.geometry.outer_track_bytes);
    let mut host = Host::new(profile);
    let mut passed_ns = |offset_bytes: u64| {
        // Far away in between, so that nothing is read ahead.
        host.ask(Verb::Read, profile.geometry.capacity_bytes / 2 + offset_bytes, 4096, false);
        host.ask(Verb::Read, offset_bytes, 4096, false);
        host.now_ns as f64
    };
    let border = (track + 1) * track_bytes;
    let (last, next) = (passed_ns(border - 4096), passed_ns(border));
    let sector = 4096.0 / track_bytes as f64;
    (((next - last) / turn_ns - sector) * 360.0).rem_euclid(360.0)
}

#[test]
fn each_track_is_turned_against_the_one_before_by_its_skew() {
    let mut profile = profile("st12000vn0007");
    profile.geometry.heads = 3;
    (profile.geometry.track_skew_degrees, profile.geometry.cylinder_skew_degrees) = (50.0, 80.0);
    for track in 0..14 {
        let expected = if (track + 1) % 3 == 0 { 80.0 } else { 50.0 };
        let found = degrees_from_track_to_track(&profile, track);
        assert!((found - expected).abs() < 0.1, "from track {track}: {found}, not {expected}");
    }
}

/// The seed is all that says where the platters stand at first: over many the first read waits half a turn on average, and from none of
/// it to nearly all.
#[test]
fn the_seed_decides_where_the_platters_stand() {
    let profile = profile("st12000vn0007");
    let turn_ns = 60e9 / profile.rpm();
    let first_ns = |seed| Host { drive: Drive::new(&profile, seed), now_ns: 0 }.ask(Verb::Read, 0, 4096, false) as f64;
    let took: Vec<f64> = (0..400).map(first_ns).collect();
    let least = took.iter().copied().fold(f64::INFINITY, f64::min);
    let waited: Vec<f64> = took.iter().map(|took_ns| (took_ns - least) / turn_ns).collect();
    let mean = waited.iter().sum::<f64>() / 400.0;
    // Of 400 the mean is off by 0.29 / 20 mostly.
    assert!((mean - 0.5).abs() < 0.06, "{mean} turns");
    assert!(waited.iter().any(|turns| *turns > 0.95) && waited.iter().all(|turns| *turns < 1.0));
}
